"""What is handed out: what becomes a job, how many of a kind at a time, and which of them the queue still has.

What is to be done is asked of memory and the disk each time, so a job that is lost is handed out again. Every call may raise a
QueueError, and what memory.db raises.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memory_os.config import Settings

from memory_os_workers.jobs import names
from memory_os_workers.jobs.queue import Queue

if TYPE_CHECKING:
    from memory_os.documents.scan import Seen
    from memory_os.engine import Engine

# So few texts are a live turn: the service embeds them at once, for a worker would only come later.
OWN_MAX = 16
# Jobs that may wait at a time: enough for dozens of workers, little enough that what comes next is not behind a week's work.
EMBED_JOBS_MAX = 128
DOCUMENT_JOBS_MAX = 1000
# A file that comes is read (and curated) before texts of earlier ones are embedded: its words find it within a minute, whatever waits.
# While many come, the little that the encoder is given overtakes them in turn.
_FILES_AHEAD_S, _ENCODER_AHEAD_S = 1800, 3600

# Runs a function on a thread of the pipeline's.
InThread = Callable[..., Awaitable[Any]]
_Jobs = Sequence[tuple[str, list[Any]]]


class HandingOut:
    """One service's. The sets hold the ids of jobs that the queue has, waiting or running; `more_…`: more wait than fit now."""

    def __init__(self, engine: Engine, settings: Settings, in_thread: InThread) -> None:
        self._engine = engine
        self._settings = settings
        self._in_thread = in_thread
        # Up to this pk passages are a backlog that workers embed; what is newer was just said.
        self.backlog = 0
        self.embedding: dict[str, frozenset[str]] = {}
        self.preparing: set[str] = set()
        self.more_documents = False
        self.curating: set[str] = set()
        self.more_to_curate = False
        self.asking: set[str] = set()
        self.more_to_ask = False
        # Of a worker's places, one is left to whatever else comes.
        self._places = max(1, settings.values.workers.concurrency - 1)

    def take_back(self) -> None:
        """No queue, or nobody to work on it: the service embeds everything itself."""
        self.backlog = 0
        self.embedding.clear()

    async def forget_finished(self, queue: Queue) -> None:
        """Let go of the ids that the queue no longer has."""
        asked = {*self.embedding, *self.preparing, *self.curating, *self.asking}
        # What is handed out while the queue answers is not among those.
        gone = asked - await queue.waiting(asked)
        self.embedding = {job: hashes for job, hashes in self.embedding.items() if job not in gone}
        self.preparing -= gone
        self.curating -= gone
        self.asking -= gone

    def room_for_documents(self) -> bool:
        """Whether so much of what was handed out is done that more files are worth a look."""
        return len(self.preparing) < DOCUMENT_JOBS_MAX // 2

    def room_for_models(self, queue: Queue, out: set[str]) -> bool:
        """Whether a job that asks a model would leave a place of each worker free. `out`: `curating` or `asking`."""
        return len(out) < self._most_places(queue)

    async def embed(self, queue: Queue) -> None:
        """Move `backlog` where it belongs, and queue texts up to it."""
        own = await self._in_thread(lambda: self._engine.index.embeddings.unembedded(OWN_MAX + 1, after=self.backlog))
        # More files on their way than a few are a backlog from their first passage on: what they give comes in drops.
        many_files = len(self.preparing) > OWN_MAX
        if own and (many_files or len(own) > OWN_MAX):
            self.backlog = max(own.values())
        # Behind the files that still come, an encoder would idle until the last of them is cut: it gets all but one of a
        # worker's places, and the files the rest.
        most = self._most_places(queue) if many_files else EMBED_JOBS_MAX
        if not self.backlog or len(self.embedding) > (most - 1 if many_files else most // 2):
            return
        room = most - len(self.embedding)
        hashes = await self._in_thread(self._to_embed, room * names.EMBED_JOB_MAX)
        batches = [hashes[at : at + names.EMBED_JOB_MAX] for at in range(0, len(hashes), names.EMBED_JOB_MAX)]
        ids = await queue.enqueue_all([("embed", [batch]) for batch in batches], ahead_s=_ENCODER_AHEAD_S * many_files)
        self.embedding.update(zip(ids, map(frozenset, batches), strict=True))

    async def prepare(self, queue: Queue, wanted: Sequence[Seen]) -> None:
        """Queue these files to be read and cut, but none that is a dead letter."""
        jobs: list[tuple[str, list[Any]]] = [("ingest", [one.name, one.stamp]) for one in wanted]
        dead = await self._in_thread(lambda: {one.job for one in self._engine.dead_letters.all()})
        fresh = self._fresh(queue, jobs, self.preparing | dead)
        room = max(0, DOCUMENT_JOBS_MAX - len(self.preparing))
        self.more_documents = len(fresh) > room
        self.preparing.update(await queue.enqueue_all(fresh[:room], ahead_s=_FILES_AHEAD_S))

    async def curate(self, queue: Queue, files: Iterable[tuple[str, str]]) -> None:
        """Queue these raw files (name, state): as many as leave a place of each worker free, for a model may take minutes over one."""
        fresh = self._fresh(queue, [("curate", [name, stamp]) for name, stamp in files], self.curating)
        room = max(0, self._most_places(queue) - len(self.curating))
        self.more_to_curate = len(fresh) > room
        self.curating.update(await queue.enqueue_all(fresh[:room], ahead_s=_FILES_AHEAD_S))

    async def ask(self, queue: Queue, jobs: _Jobs) -> None:
        """Queue what a model is to be asked about turns and people, as with files no more than leave a place free."""
        fresh = self._fresh(queue, jobs, self.asking)
        room = max(0, self._most_places(queue) - len(self.asking))
        self.more_to_ask = len(fresh) > room
        # As far ahead as files to be curated: whichever came first.
        self.asking.update(await queue.enqueue_all(fresh[:room], ahead_s=_FILES_AHEAD_S))

    def files_to_curate(self) -> list[tuple[str, str]]:
        """Raw files of the wiki that wait, with their states, where there is a model to ask; dead letters left out."""
        from memory_os.wiki import curates

        if not self._engine.wiki.tree.there or not curates(self._settings):
            return []
        dead = {tuple(one.payload) for one in self._engine.dead_letters.all() if one.function == "curate"}
        states = [(one.name, f"{one.size}-{one.mtime_ns}") for one in self._engine.wiki.waiting()]
        return [one for one in states if one not in dead]

    def _most_places(self, queue: Queue) -> int:
        """How many jobs of a kind may be handed out so that every worker has a place left."""
        return self._places * max(1, len(queue.figures.workers))

    def _fresh(self, queue: Queue, jobs: _Jobs, out: set[str]) -> list[tuple[str, list[Any]]]:
        return [one for one in jobs if names.job_id(queue.home_id, *one) not in out]

    def _to_embed(self, limit: int) -> list[str]:
        elsewhere = self._engine.dead_letters.hashes().union(*self.embedding.values())
        found = self._engine.index.embeddings.unembedded(limit, elsewhere=elsewhere)
        return [one for one, newest in found.items() if newest <= self.backlog]
