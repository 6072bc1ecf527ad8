"""An encoder behind an OpenAI-compatible endpoint: OpenAI, OpenRouter, Ollama, vLLM, llama.cpp, LiteLLM, another memory-os.

The calls are those of the model client, with its time-outs, retries, breaker and typed faults, on an event loop of their
own: whoever embeds is a plain thread. A question waits for no retry, because a turn waits for it; recall then goes by words.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory_os.config import EmbeddingSettings, EndpointSettings, ModelSettings, Settings
from memory_os.embedding.prefixes import prefixes_of
from memory_os.errors import (
    ContextTooLong,
    EmbeddingError,
    EmbeddingInvalid,
    EmbeddingUnavailable,
    ModelContent,
    ModelError,
)
from memory_os.redact import redact

if TYPE_CHECKING:
    from memory_os.llm import ModelClient

F32 = NDArray[np.float32]

# Seconds a question may take; recall's own deadline is shorter, but the thread it leaves behind is not to pile up.
QUESTION_S = 3.0
# What a re-embedding of all memory costs stands in no proportion to a day's questions; it is not held up halfway.
_NO_BUDGET = 1e12
# Goes along with every batch: another model under the same name has another direction for it, whatever its dimension.
_PROBE = "dimension"
# Characters of a text that every model takes.
_SHORTEST = 200
# The same model in another quantisation or build stays above .97; of another model the cosine is near 0.
_SAME_MODEL = 0.9
_ANOTHER = "Give the endpoint its model back; or name the new one in `embedding.model`, then run `memory-os reindex`."


class EndpointEncoder:
    """Thread-safe. Unit vectors, shape (n, dimension). Raises EmbeddingUnavailable, EmbeddingInvalid, EmbeddingError.

    `probe` is the vector of a fixed text, shape (dimension,): it tells this model from another.
    """

    def __init__(self, settings: Settings, probe: F32 | None = None) -> None:
        """`probe` as it is known from an earlier start: nothing is asked then."""
        self._embedding = settings.values.embedding
        self._prefixes = prefixes_of(self._embedding)
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="embedding-endpoint", daemon=True)
        thread.start()
        self._questions = self._opened(settings, _for_questions(settings.values.models, self._embedding))
        self._passages = self._opened(settings, _for_passages(settings.values.models, self._embedding))
        weakref.finalize(self, _end, self._loop, thread, (self._questions, self._passages))
        self.probe: F32 = self._asked(self._passages, [_PROBE])[0] if probe is None else probe
        self.dimension = int(self.probe.shape[0])

    def embed_query(self, text: str) -> F32:
        vector: F32 = self._of_this_dimension(self._asked(self._questions, _sent(self._prefixes.query, [text])))[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> F32:
        return self._checked(_sent(self._prefixes.query, texts))

    def embed_passages(self, texts: Sequence[str]) -> F32:
        return self._checked(_sent(self._prefixes.passage, texts))

    def _checked(self, texts: Sequence[str]) -> F32:
        """What is kept. A question's vector serves once; these would stand among those of another model for good."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        vectors = self._of_this_dimension(self._asked(self._passages, [_PROBE, *texts]))
        if float(vectors[0] @ self.probe) < _SAME_MODEL:
            raise EmbeddingInvalid(f"Another model than before answers as {self._embedding.model}.", cure=_ANOTHER)
        return vectors[1:]

    def _of_this_dimension(self, vectors: F32) -> F32:
        if vectors.shape[1] == self.dimension:
            return vectors
        raise EmbeddingInvalid(
            f"{self._embedding.model} answers with {vectors.shape[1]} dimensions, not {self.dimension} as before.", cure=_ANOTHER
        )

    def _asked(self, client: ModelClient, texts: Sequence[str]) -> F32:
        # An endpoint refuses an empty text; its vector is as good as any other's.
        wanted = [text if text.strip() else "-" for text in texts]
        try:
            vectors = self._in_parts(client, wanted)
        except ModelError as error:
            raise _fault_of(error)(f"{self._embedding.model} can't embed: {error.message}", cure=error.cure) from error
        return unit_vectors(vectors, self._embedding.model)

    def _in_parts(self, client: ModelClient, texts: list[str]) -> list[list[float]]:
        """Fewer at a time where so many are refused, and of a text that is too long by itself its beginning: what one model
        can't take at once (8 texts, 512 tokens) another can, and no endpoint says which. Raises ModelError."""
        try:
            return asyncio.run_coroutine_threadsafe(client.embed(texts), self._loop).result().vectors
        except (ContextTooLong, ModelContent) as error:
            if len(texts) > 1:
                half = len(texts) // 2
                return self._in_parts(client, texts[:half]) + self._in_parts(client, texts[half:])
            if isinstance(error, ModelContent) or len(texts[0]) <= _SHORTEST:
                raise
        return self._in_parts(client, [texts[0][: max(len(texts[0]) // 2, _SHORTEST)]])

    def _opened(self, settings: Settings, models: ModelSettings) -> ModelClient:
        from memory_os.llm import ModelClient
        from memory_os.llm.endpoint import Unresolved
        from memory_os.llm.resolve import Resolved, own_endpoint
        from memory_os.llm.usage import MemoryUsage

        endpoint = own_endpoint(_address(self._embedding), "embedding", settings)
        if isinstance(endpoint, Unresolved):
            raise EmbeddingError(f"{endpoint.reason}.", cure=endpoint.cure)

        async def opened() -> ModelClient:
            return ModelClient(models, Resolved(endpoint), MemoryUsage())

        return asyncio.run_coroutine_threadsafe(opened(), self._loop).result()


def _fault_of(error: ModelError) -> type[EmbeddingError]:
    """Too long is a fault of the text; what the endpoint answers is its own; all else is that it can't be asked."""
    if isinstance(error, ContextTooLong):
        return EmbeddingError
    return EmbeddingInvalid if isinstance(error, ModelContent) else EmbeddingUnavailable


def unit_vectors(vectors: Sequence[Sequence[float]] | F32, model: str) -> F32:
    """Vectors at unit length, shape (n, dimension). Raises EmbeddingInvalid for what is no direction."""
    found = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(found, axis=-1, keepdims=True) if found.ndim == 2 else np.zeros(1)
    if found.ndim != 2 or not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise EmbeddingInvalid(f"{model} answers with vectors that are none.", cure="Check that it is an embedding model.")
    unit: F32 = found / lengths
    return unit


def _sent(prefix: str, texts: Sequence[str]) -> list[str]:
    """As they leave the process: a secret in a question has not been through capture."""
    return [prefix + redact(text)[0] for text in texts]


def _address(embedding: EmbeddingSettings) -> EndpointSettings:
    return EndpointSettings(
        provider="openai", base_url=embedding.base_url, model=embedding.model, api_key_variable=embedding.api_key_variable
    )


def _for_passages(models: ModelSettings, embedding: EmbeddingSettings) -> ModelSettings:
    return models.model_copy(
        update={"embedding_model": embedding.model, "budget_per_day": _NO_BUDGET, "job_budgets": {}}
    )


def _for_questions(models: ModelSettings, embedding: EmbeddingSettings) -> ModelSettings:
    brief = models.patience.embedding.model_copy(
        update={"whole": QUESTION_S, "first": QUESTION_S, "between": QUESTION_S, "deadline": QUESTION_S}
    )
    patience = models.patience.model_copy(update={"embedding": brief})
    return _for_passages(models, embedding).model_copy(update={"patience": patience, "local_patience": 1.0, "retry_budget": 1.0})


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, clients: Sequence[ModelClient]) -> None:
    """Close the connections, then the loop. A daemon's: the end of the process waits for no answer."""

    async def close() -> None:
        for client in clients:
            await client.close()
        loop.stop()

    if thread.is_alive() and not loop.is_closed():
        asyncio.run_coroutine_threadsafe(close(), loop)
        thread.join(2.0)
    if not thread.is_alive():
        loop.close()
