"""The pipeline measured in a scratch home: the real service, the bundled queue, its worker, the plugin's hooks.

What each figure is compared with is measured in the same run: the encoder alone, before and after; recall while nothing
else goes on; one worker beside two.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.config import Settings
from memory_os.documents.prepare import prepare_file
from memory_os.embedding import Embedder, load_embedder
from memory_os.engine import Engine
from memory_os.errors import ServiceUnavailable
from memory_os.index import embed_text

from memory_os_workers.bench.memories import Generated, generate
from memory_os_workers.bench.notes import write_notes, write_small_notes
from memory_os_workers.bench.queues import measure_queue
from memory_os_workers.bench.scratch import (
    Figure,
    Plugin,
    elapsed_ms,
    fill_home,
    p95,
    registered_plugin,
    running_service,
    scratch_home,
)
from memory_os_workers.jobs import names

Say = Callable[[str], None]

_TIMEOUT_S = 1800.0
_POLL_S = 0.1
_MEMORIES = 2000
_LOOKS = 5
# Between two questions, so that recall does not have the machine for itself. A person leaves more.
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many files are taken in as fast as may be (`bulk`), while recalls are timed (`beside`), are compared (`known`);
    how many turns are recalled for while idle, and how many jobs that do nothing.
    """

    bulk: int = 500
    beside: int = 1000
    known: int = 10_000
    turns: int = 200
    jobs: int = 2000


def run_ingest_bench(models: Path, sizes: Sizes, say: Say) -> list[Figure]:
    """All figures. `models` is a folder of prepared models to copy, if it is there."""
    with scratch_home(models) as settings:
        say(f"taking in {sizes.known:,} small files, then comparing them with memory")
        compared = _compared(settings, sizes.known)
    with scratch_home(models) as settings:
        data = generate(_MEMORIES)
        say(f"filling a scratch home with {_MEMORIES:,} memories")
        fill_home(settings, data.texts)
        files = _Files(settings)
        files.make("bulk", sizes.bulk)
        files.make("beside", sizes.beside)
        encoder = _Encoder(settings, files.texts("bulk"))
        say("measuring the encoder alone")
        encoder.measure(0)
        with running_service(settings), registered_plugin(settings) as plugin:
            queue = measure_queue(settings, sizes.jobs, say)
            say(f"taking in {sizes.bulk:,} files")
            taken = files.take_in("bulk")
            say("measuring the encoder alone again")
            encoder.measure(1)
            say(f"recalling while idle, then while {sizes.beside:,} files are taken in")
            recalls = _recalls(plugin, data, files, sizes.turns)
            plugin.courier.wait_empty(60.0)
    return [*_throughput(len(encoder.texts), taken, encoder), *recalls, *compared, *queue]


def _throughput(passages: int, taken: _Taken, encoder: _Encoder) -> list[Figure]:
    end_to_end, alone = passages / taken.seconds, encoder.per_second
    return [
        Figure("the encoder alone", alone, "passages/s"),
        Figure("files to vectors, end to end", end_to_end, "passages/s"),
        Figure("of the encoder's own throughput", 100 * end_to_end / alone, "%", at_least=90),
        Figure("from the drop to the first passage", taken.first_s, "s"),
    ]


# -- comparing -----------------------------------------------------------------------------------------------------------


def _compared(settings: Settings, count: int) -> list[Figure]:
    """Seconds of a look at so many files that did not change."""
    raw = settings.vault / "wiki" / "raw"
    write_small_notes(raw, count)
    engine = Engine.open(settings)
    try:
        engine.documents.ingest(raw)
        times = [elapsed_ms(engine.documents.refresh) / 1000 for _ in range(_LOOKS)]
        unchanged = engine.documents.scan().unchanged
    finally:
        engine.close()
    if unchanged != count:
        raise ServiceUnavailable(f"Of {count} files that did not change only {unchanged} were found unchanged.")
    return [Figure(f"{count:,} files compared, nothing changed", statistics.median(times), "s", 2.0)]


# -- throughput ------------------------------------------------------------------------------------------------------------


class _Encoder:
    """The encoder of a worker, with nothing around it, on the texts that are taken in; a half of them at a time."""

    def __init__(self, settings: Settings, texts: list[str]) -> None:
        values = settings.values
        embedding = values.embedding.model_copy(update={"threads": values.workers.threads})
        own = dataclasses.replace(settings, values=values.model_copy(update={"embedding": embedding}))
        self.texts = texts
        self._embedder: Embedder = load_embedder(own)
        self._seconds = 0.0
        self._embedder.embed_passages(texts[: names.EMBED_JOB_MAX])

    def measure(self, half: int) -> None:
        texts = self.texts[half::2]
        started = time.perf_counter()
        for at in range(0, len(texts), names.EMBED_JOB_MAX):
            self._embedder.embed_passages(texts[at : at + names.EMBED_JOB_MAX])
        self._seconds += time.perf_counter() - started

    @property
    def per_second(self) -> float:
        return len(self.texts) / self._seconds


@dataclass(frozen=True, slots=True)
class _Taken:
    """Seconds from the drop until the first passage was in memory, and until all had their vectors."""

    first_s: float
    seconds: float


class _Files:
    """Folders of notes, moved into the vault as one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made = settings.hermes_home / "made"
        self._counts: dict[str, int] = {}

    def make(self, label: str, count: int) -> None:
        write_notes(self._made / label, label, count)
        self._counts[label] = count

    def texts(self, label: str) -> list[str]:
        """What the encoder is to read of them."""
        paths = sorted((self._made / label).iterdir())
        prepared = (prepare_file(self._settings.vault, str(path), time.time()) for path in paths)
        return [embed_text(passage) for one in prepared for passage in one.passages({}, time.time())]

    def drop(self, label: str) -> None:
        raw = self._settings.vault / "wiki" / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        (self._made / label).rename(raw / label)

    def take_in(self, label: str) -> _Taken:
        """Drop them, and wait until the last has its vectors."""
        started = time.perf_counter()
        self.drop(label)
        first = 0.0
        for documents, waiting in self.progress(label):
            first = first or (time.perf_counter() - started if documents else 0.0)
            if documents == self._counts[label] and not waiting:
                break
            time.sleep(_POLL_S)
        return _Taken(first, time.perf_counter() - started)

    def is_in(self, label: str) -> bool:
        documents, waiting = next(self.progress(label))
        return documents == self._counts[label] and not waiting

    def progress(self, label: str) -> Iterator[tuple[int, int]]:
        """Documents of them in memory, and passages that wait for their vector; again and again."""
        uri = f"file:{self._settings.database}?mode=ro"
        deadline = time.monotonic() + _TIMEOUT_S
        with closing(sqlite3.connect(uri, uri=True)) as database:
            while time.monotonic() < deadline:
                below = f"wiki/raw/{label}/%"
                (documents,) = database.execute(
                    "SELECT count(*) FROM documents WHERE path LIKE ? AND status = 'ok'", (below,)
                ).fetchone()
                (waiting,) = database.execute("SELECT count(*) FROM passages WHERE indexed = 0").fetchone()
                yield int(documents), int(waiting)
        raise ServiceUnavailable("The files were not taken in within half an hour.", cure="See logs/service.log.")


# -- recall ----------------------------------------------------------------------------------------------------------------


def _recalls(plugin: Plugin, data: Generated, files: _Files, turns: int) -> list[Figure]:
    """p95 through the hook, the same questions while files are taken in, and while idle before and after."""
    plugin.ask("Is everything warm?", 0)
    questions = data.questions[:turns]
    idle, busy = _Recalls(plugin, questions, first=1), _Recalls(plugin, questions, first=1_000_001)
    idle.ask(turns // 2)
    files.drop("beside")
    while not files.is_in("beside"):
        busy.ask(1)
    idle.ask(turns - turns // 2)
    return [
        Figure("recall in the hook while idle, p95", p95(idle.times), "ms"),
        Figure("recall in the hook while files are taken in, p95", p95(busy.times), "ms"),
        Figure("of the idle p95", p95(busy.times) / p95(idle.times), "times", 2.0),
        Figure("turns with a block while idle", idle.share, "%"),
        Figure("turns with a block while files are taken in", busy.share, "%"),
    ]


class _Recalls:
    """Turns one after the other, and what they took in ms. `first`: the number of the first, for no two may share one."""

    def __init__(self, plugin: Plugin, questions: list[str], *, first: int) -> None:
        self.times: list[float] = []
        self._given = 0
        self._plugin, self._questions, self._first = plugin, questions, first

    @property
    def share(self) -> float:
        return 100 * self._given / len(self.times)

    def ask(self, turns: int) -> None:
        for turn in range(len(self.times), len(self.times) + turns):
            question = self._questions[turn % len(self._questions)]
            answer: list[Any] = []
            number = self._first + turn
            self.times.append(elapsed_ms(lambda: answer.append(self._plugin.ask(question, number))))  # noqa: B023
            self._given += bool((answer[0] or {}).get("context"))
            time.sleep(_PAUSE_S)
