"""A scratch home that has learnt a corpus the way it would have: what was said through capture, the rest through ingest."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from memory_os.config import Settings, load_settings
from memory_os.embedding import Embedder
from memory_os.engine import Engine
from memory_os.errors import BadRequest

from memory_os_workers.eval.corpora import Corpus, Document

Progress = Callable[[int, int, str], None]

_ROLES = ("user", "assistant")
_DAY_S = 86_400.0
# Time between two turns of a talk whose turns have one time.
_TURN_S = 60.0
_EMBED_BATCH = 64


@dataclass(frozen=True, slots=True)
class Learnt:
    """An open engine, and which of the corpus's documents each source of a passage is. `now`: the day after the last of it."""

    engine: Engine
    sources: dict[str, str]
    now: float


@contextmanager
def scratch(like: Settings, embedder: Embedder) -> Iterator[tuple[Engine, Path]]:
    """An empty engine in a folder of its own, with the recall settings of `like`. Nothing of the user's is read or written."""
    with tempfile.TemporaryDirectory(prefix="mos-eval-") as name:
        folder = Path(name)
        places = {"HERMES_HOME": name, "FABRIC_DIR": f"{name}/fabric", "VAULT_PATH": f"{name}/vault"}
        settings = load_settings(places)
        values = settings.values.model_copy(update={"recall": like.values.recall, "embedding": like.values.embedding})
        settings = replace(settings, values=values)
        with closing(Engine.open(settings)) as engine:
            engine.load_models(embedder)
            yield engine, folder


def learn(engine: Engine, folder: Path, corpus: Corpus, progress: Progress) -> Learnt:
    """Take a corpus in and embed it. Raises BadRequest when nothing of it became a memory."""
    said = [document for document in corpus.documents if document.speaker]
    written = [document for document in corpus.documents if not document.speaker]
    sources = {**_capture(engine, said), **_ingest(engine, folder, written)}
    if not sources:
        raise BadRequest(f"Nothing of {corpus.name} became a memory.")
    _embed(engine, corpus.name, progress)
    latest = max((document.at for document in corpus.documents), default=0.0)
    return Learnt(engine, sources, latest + _DAY_S if latest else time.time())


def copy_memory(database: Path, engine: Engine, progress: Progress) -> None:
    """A copy of a person's memory into the scratch home's empty one, with its embeddings. Raises BadRequest."""
    if not database.exists():
        raise BadRequest(f"There is no memory yet at {database}.")
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as theirs, engine.store.write() as ours:
        for table in ("passages", "embeddings"):
            known = [row[1] for row in ours.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join(row[1] for row in theirs.execute(f"PRAGMA table_info({table})") if row[1] in known)
            rows = theirs.execute(f"SELECT {columns} FROM {table}")
            marks = ",".join("?" * len(columns.split(", ")))
            ours.executemany(f"INSERT INTO {table}({columns}) VALUES({marks})", rows)
        words = theirs.execute("SELECT rowid, body, neighbours FROM passages_fts")
        ours.executemany("INSERT INTO passages_fts(rowid, body, neighbours) VALUES(?, ?, ?)", words)
    engine.index.embeddings.mark_all_unindexed()
    _embed(engine, "your memory", progress)


def _embed(engine: Engine, name: str, progress: Progress) -> None:
    total, done = engine.index.embeddings.pending_count(), 0
    while count := engine.index_pending(_EMBED_BATCH):
        done += count
        progress(min(done, total), total, f"embedding {name}")


def _capture(engine: Engine, documents: Sequence[Document]) -> dict[str, str]:
    """Every message of the talks, as turns. Who opens a session is its user. Source of the passages -> document."""
    expected: dict[tuple[str, str], str] = {}
    for number, (at, user, assistant) in enumerate(_turns(documents)):
        turn = f"eval:{number}"
        engine.capture.take(
            {
                "v": 1, "type": "turn", "turn_id": turn, "session_id": (user or assistant or documents[0]).session,
                "platform": "cli", "user": "local", "profile": "default", "at": at,
                "user_message": _spoken(user), "assistant_response": _spoken(assistant),
            }
        )  # fmt: skip
        expected |= {(turn, role): one.id for role, one in zip(_ROLES, (user, assistant), strict=True) if one}
    rows = engine.store.rows("SELECT id, turn_id, role FROM messages")
    return {f"message:{row['id']}": expected[row["turn_id"], row["role"]] for row in rows}


def _turns(documents: Sequence[Document]) -> Iterator[tuple[float, Document | None, Document | None]]:
    """(time, what the user said, what was answered): each document in one turn, alone where two of one side follow."""
    openers: dict[str, str] = {}
    waiting: Document | None = None
    asked = 0.0
    # Undated ones stand before the first that has a date: what is remembered of a talk is when it was.
    first = next((document.at for document in documents if document.at), time.time())
    clock = first - len(documents) * _TURN_S
    for document in documents:
        opener = openers.setdefault(document.session, document.speaker)
        clock = document.at if document.at and document.at > clock else clock + _TURN_S
        answers = waiting is not None and document.speaker != opener and waiting.session == document.session
        if answers:
            yield clock, waiting, document
            waiting = None
            continue
        if waiting is not None:
            yield asked, waiting, None
        waiting, asked = (document if document.speaker == opener else None), clock
        if waiting is None:
            yield clock, None, document
    if waiting is not None:
        yield asked, waiting, None


def _spoken(document: Document | None) -> str:
    """Roles of Hermes are not spelled out; names are."""
    if document is None:
        return ""
    return document.text if document.speaker in _ROLES else f"{document.speaker}: {document.text}"


def _ingest(engine: Engine, folder: Path, documents: Sequence[Document]) -> dict[str, str]:
    """Every text as a file, taken in like any folder."""
    if not documents:
        return {}
    library = folder / "documents"
    library.mkdir()
    names = {f"{number:06d}.txt": document for number, document in enumerate(documents)}
    for name, document in names.items():
        (library / name).write_text(document.text, "utf-8")
    engine.ingest(library)
    rows = engine.store.rows("SELECT DISTINCT source FROM passages")
    by_name = {str(row["source"]).rpartition("/")[2]: str(row["source"]) for row in rows}
    return {by_name[name]: document.id for name, document in names.items() if name in by_name}
