"""The library over one home, with the real model and the real collection: what tests of recall and indexing share."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from memory_os.config import Settings, load_settings
from memory_os.embedding import FINGERPRINT, Embedder, load_embedder, prepare_model
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.memory import Author, Layer, Passage, Scope
from memory_os.recall import Query, Recall, Recalled, Visible
from memory_os.store import Store, open_store

NOW = 1_790_000_000.0
DAY = 86_400.0
LOCAL = Scope()


@cache
def model_files() -> Path:
    """The model's files, written once for the whole run (some 6 s)."""
    folder = Path(tempfile.mkdtemp(prefix="mos-model-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return prepare_model(folder / "models")


@cache
def real_embedder() -> Embedder:
    return load_embedder(settings_of(model_files().parent / "hermes"))


def settings_of(home: Path, config: str = "") -> Settings:
    """Settings of a home that has the model's files, without writing them again."""
    folder = home / "memory-os"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "models").exists():
        (folder / "models").symlink_to(model_files())
    if config:
        (folder / "config.yaml").write_text(config, "utf-8")
    return load_settings({}, hermes_home=home)


def passage(
    text: str, source: str, *, layer: Layer = Layer.SESSIONS, scope: str = LOCAL.key, author: Author = Author.USER,
    created_at: float = NOW - 10 * DAY, **more: object,
) -> Passage:  # fmt: skip
    return Passage(layer, source, text, scope, author, created_at=created_at, **more)  # type: ignore[arg-type]


# What a recall says that had no time: it passed the deadline, or one before it is still with the model.
_NO_TIME = ("passed the deadline", "a question has been out for")
_PATIENCE_S = 120.0
_T = TypeVar("_T")


def in_time(recall: Callable[[], _T], reason: Callable[[_T], str]) -> _T:
    """A recall that had its time: one that a machine with other work made late is asked again."""
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        found = recall()
        if not any(told in reason(found) for told in _NO_TIME) or time.monotonic() > give_up:
            return found
        time.sleep(0.02)


@dataclass
class Library:
    """Store, index, collection and recall of one home. `remember` writes, `embed` lets the vectors follow."""

    settings: Settings
    store: Store
    index: Index
    indexing: Indexing
    recall: Recall
    written: int = 0

    @classmethod
    def open(cls, home: Path, config: str = "", *, dense: bool = True) -> Library:
        settings = settings_of(home, config)
        store = open_store(settings.database)
        index = Index(store, FINGERPRINT)
        opened = cls(settings, store, index, Indexing(store, index), Recall(store, index, settings.values.recall))
        if dense:
            opened.connect(real_embedder())
        return opened

    def connect(self, embedder: Embedder) -> None:
        """What `Engine.load_models` does."""
        self.indexing.open(self.settings.vectors_dir, embedder, self.settings.values.servers)
        self.recall.arms.embed = embedder.embed_query
        self.recall.arms.dense = self.indexing.dense

    def remember(self, text: str, source: str = "", **fields: object) -> Passage:
        self.written += 1
        one = passage(text, source or f"note:{self.written}", **fields)  # type: ignore[arg-type]
        self.index.replace(one.source, [one])
        return one

    def embed(self) -> int:
        done = 0
        while count := self.indexing.work(64):
            done += count
        return done

    def ask(
        self, text: str, *, scope: Scope = LOCAL, turn: str = "turn", hashes: Sequence[str] = (),
        handles: Sequence[str] = (), now: float = NOW, patient: bool = True, **fields: object,
    ) -> Recalled:  # fmt: skip
        """One turn's recall. `patient` asks again when the machine was too busy for the deadline."""
        visible = Visible(frozenset(hashes), frozenset(handles))
        values: dict[str, object] = {"session_id": "session", **fields}
        query = Query.of(text, scope, now=now, turn_id=turn, visible=visible, **values)  # type: ignore[arg-type]
        if not patient:
            return self.recall.for_turn(query)
        return in_time(lambda: self.recall.for_turn(query), lambda recalled: recalled.reason)

    def close(self) -> None:
        self.recall.close()
        self.indexing.close()
        self.store.close()
