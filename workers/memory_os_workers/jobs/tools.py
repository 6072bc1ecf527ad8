"""What the functions of one worker share: the way to the service, the threads, and the model once it is needed."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memory_os.config import Settings
from memory_os.errors import EmbeddingError, EmbeddingUnavailable, MemoryOSError, ServiceUnavailable, WorkerUnfit

from memory_os_workers.jobs.connection import WorkClient

if TYPE_CHECKING:
    import numpy as np
    from memory_os.documents.prepare import Prepared
    from memory_os.embedding import Embedder
    from memory_os.llm import ModelClient
    from memory_os.wiki import Curated
    from numpy.typing import NDArray

_T = TypeVar("_T")


class Tools:
    """One worker's. `fingerprint` is the service's, known after `greet`.

    `unfit` is told of a WorkerUnfit: the worker should end, for every job would only fail here.
    """

    def __init__(self, settings: Settings, service: WorkClient) -> None:
        values = settings.values
        embedding = values.embedding.model_copy(update={"threads": values.workers.threads})
        self.settings = dataclasses.replace(settings, values=values.model_copy(update={"embedding": embedding}))
        self.service = service
        self.fingerprint = ""
        self.name = ""
        self.unfit: Callable[[WorkerUnfit], None] = lambda error: None
        self._embedder: Embedder | None = None
        self._model: ModelClient | None = None
        self._asking = ThreadPoolExecutor(values.workers.concurrency, "ask")
        # One: two encoders at a time on the same cores are no faster, and twice as large.
        self._embedding = ThreadPoolExecutor(1, "embed")
        self._preparing = ThreadPoolExecutor(1, "prepare")
        self._curating = ThreadPoolExecutor(values.workers.concurrency, "curate")

    async def ask(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """A call of the service, on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._asking, call, *arguments)

    async def refused(self) -> WorkerUnfit | None:
        """Why the service would not take this worker any more, if it was renewed since `greet`."""
        try:
            hello = await self.ask(self.service.hello, self.name)
        except WorkerUnfit as error:
            return error
        except MemoryOSError:
            return None
        return None if hello["fingerprint"] == self.fingerprint else self._of_another_pipeline(str(hello["fingerprint"]))

    def _of_another_pipeline(self, theirs: str) -> WorkerUnfit:
        from memory_os.embedding import fingerprint_of

        return WorkerUnfit(
            f"The service embeds with {theirs}, this worker with {fingerprint_of(self.settings.values.embedding)}.",
            cure="Install the same version of memory-os for both, and give both the same `embedding` settings.",
        )

    async def embed(
        self, texts: dict[str, str]
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, EmbeddingError]]:
        """Vectors by hash, shape (dimension,), and the fault of each text that fails. The model is loaded at the first call.

        Raises WorkerUnfit if it can't be, EmbeddingUnavailable while it is away.
        """
        return await asyncio.get_running_loop().run_in_executor(self._embedding, self._embed, texts)

    async def prepare(self, name: str) -> Prepared:
        """One file of the vault, or by its absolute path, read and cut. Raises DocumentUnreadable if it is gone."""
        return await asyncio.get_running_loop().run_in_executor(self._preparing, self._prepare, name)

    async def curate(self, name: str) -> Curated:
        """One raw file of the wiki. Raises WikiError and what a model raises.

        Not on the worker's loop: it reads and writes the whole wiki, waits for locks, and may read a PDF for minutes.
        """
        from memory_os.llm import ModelClient
        from memory_os.wiki import Neighbour, Wiki

        from memory_os_workers.jobs.own_loop import on_own_loop
        from memory_os_workers.jobs.usage import ServiceUsage

        async def near(text: str) -> list[Neighbour]:
            found = await self.ask(self.service.request, "/v1/wiki/related", {"text": text})
            return [Neighbour(str(one["page"]), float(one["similarity"])) for one in found["neighbours"]]

        async def work() -> Curated:
            # A client's connections belong to the loop that opened them.
            model = ModelClient.open(self.settings, ServiceUsage(self))
            try:
                return await Wiki(self.settings).curate(name, model, near)
            finally:
                await model.close()

        return await on_own_loop(self._curating, work)

    async def understand(self, reading: dict[str, Any]) -> dict[str, Any]:
        """What a model reads in a session's turns (`Reading.as_dict`), or why it can't: what the service takes."""
        from memory_os.understanding.asking import delivery_of
        from memory_os.understanding.reading import Reading

        return await delivery_of(self._client(), Reading.from_dict(reading))

    async def think(self, thinking: dict[str, Any]) -> dict[str, Any]:
        """What a model thinks about a person (`Thinking.as_dict`), or why it can't: what the service takes."""
        from memory_os.understanding.asking import thought_of
        from memory_os.understanding.thinking import Thinking

        return await thought_of(self._client(), Thinking.from_dict(thinking))

    async def reflect(self, memories: dict[str, Any]) -> dict[str, Any]:
        """What a model sees in several memories (`Memories.as_dict`), or why not: what the service takes."""
        from memory_os.understanding.asking import reflection_of
        from memory_os.understanding.thinking import Memories

        return await reflection_of(self._client(), Memories.from_dict(memories))

    def _client(self) -> ModelClient:
        from memory_os.llm import ModelClient

        from memory_os_workers.jobs.usage import ServiceUsage

        if self._model is None:
            self._model = ModelClient.open(self.settings, ServiceUsage(self))
        return self._model

    def _embed(self, texts: dict[str, str]) -> tuple[dict[str, NDArray[np.float32]], dict[str, EmbeddingError]]:
        from memory_os.embedding import fingerprint_of, load_embedder
        from memory_os.embedding.apart import embedded_apart
        from memory_os.embedding.cache import shared

        if self.fingerprint != fingerprint_of(self.settings.values.embedding):
            raise self._of_another_pipeline(self.fingerprint)
        if self._embedder is None:
            try:
                self._embedder = shared(load_embedder(self.settings), self.settings, self.fingerprint)
            except EmbeddingUnavailable:
                raise
            except EmbeddingError as error:
                raise WorkerUnfit(f"This worker has no model: {error.message}", cure=error.cure) from error
        return embedded_apart(texts, self._embedder.embed_passages)

    def _prepare(self, name: str) -> Prepared:
        from memory_os.documents.prepare import prepare_file

        return prepare_file(Path(self.settings.vault), name, time.time())

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
        for threads in (self._asking, self._embedding, self._preparing, self._curating):
            threads.shutdown(wait=False, cancel_futures=True)


async def greet(tools: Tools, worker: str, ended: asyncio.Event) -> str:
    """The service's home id, as soon as it answers; empty when the worker ends before. Raises what it refuses with."""
    wait_s = 0.2
    while not ended.is_set():
        try:
            hello = await tools.ask(tools.service.hello, worker)
        except ServiceUnavailable:
            try:
                await asyncio.wait_for(ended.wait(), wait_s)
            except TimeoutError:
                wait_s = min(5.0, 2 * wait_s)
        else:
            tools.name, tools.fingerprint = worker, str(hello["fingerprint"])
            return str(hello["home_id"])
    return ""
