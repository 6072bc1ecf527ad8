"""The model in this process fails, runs out of memory or hangs: turns go on by words, it is named, and all is embedded later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from memory_os.embedding.calibration import CalibratedEmbedder
from memory_os.embedding.watched import F32, QUESTION_HANGS_S
from memory_os.engine import Engine
from memory_os.errors import EmbeddingError
from support.library import real_embedder, settings_of
from workers.running import wait_until

SAID = (
    "The pallet 41 stands in hall 7.", "Die Palette 42 steht in Halle 8.", "A palete 43 está no pavilhão 9.",
    "Паллета 44 стоит в зале 10.", "المنصة 45 في القاعة 11.", "托盘46在12号大厅。", "パレット47は13番ホールにある。",
)  # fmt: skip
ASKED = ("Where does pallet 41 stand?", "Wo steht Palette 42?", "Onde está a palete 43?", "Где стоит паллета 44?", "أين المنصة 45",
         "托盘46在哪里？", "パレット47はどこ？")  # fmt: skip


class Model:
    """The real one, unless something happens in it."""

    def __init__(self) -> None:
        self._real = real_embedder()._encoder
        self.dimension = self._real.dimension
        self.happens: Callable[[], None] = lambda: None

    def embed_query(self, text: str) -> F32:
        self.happens()
        return self._real.embed_query(text)

    def embed_queries(self, texts: Sequence[str]) -> F32:
        self.happens()
        return self._real.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> F32:
        self.happens()
        return self._real.embed_passages(texts)


class Desk:
    def __init__(self, home: Path) -> None:
        self.model = Model()
        self.engine = Engine.open(settings_of(home))
        self.engine.load_models(CalibratedEmbedder(self.model, real_embedder()._calibration))
        self._turns = 0

    def say(self) -> None:
        for text in SAID:
            self.engine.call_tool("fact_store", {"action": "add", "content": text}, {"user": "local", "platform": "cli"})

    def ask(self, text: str) -> str:
        """What the turn is given; on a machine that is busy a recall may be over before it has looked."""
        for _ in range(20):
            self._turns += 1
            asked = {"v": 1, "turn_id": f"t{self._turns}", "session_id": "s", "user": "local", "platform": "cli",
                     "user_message": text}  # fmt: skip
            recalled = self.engine.recall(asked)
            if "deadline" not in recalled["reason"]:
                break
        return str(recalled["context"])

    def embed(self) -> None:
        """As the background does: until nothing waits."""
        while self.engine.index_pending(4):
            pass

    def told(self) -> str:
        layer = self.engine.status()["layers"]["5 vectors"]
        return f"{layer['detail']} {layer['cure']}" if layer["state"] == "degraded" else ""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    one = Desk(tmp_path)
    yield one
    one.engine.close()


def _raise(error: Exception) -> Callable[[], None]:
    def happens() -> None:
        raise error

    return happens


@pytest.mark.parametrize("error", [RuntimeError("onnxruntime: bad allocation"), MemoryError()], ids=["fails", "no memory"])
def test_a_model_that_fails_costs_meaning_and_no_text(desk: Desk, error: Exception) -> None:
    desk.model.happens = _raise(error)
    desk.say()
    with pytest.raises(EmbeddingError):
        desk.embed()
    for said, asked in zip(SAID, ASKED, strict=True):
        assert said in desk.ask(asked), asked
    assert type(error).__name__ in desk.told()
    assert desk.engine.status()["counters"]["embedding_failed"]["value"] >= 1
    desk.model.happens = lambda: None
    desk.embed()
    desk.ask(ASKED[0])
    assert desk.told() == "" and desk.engine.index.embeddings.pending_count() == 0
    collection = desk.engine.indexing.collection
    assert collection is not None and len(list(collection.ids())) == len(SAID), "each once"


def test_a_question_that_hangs_in_the_model_holds_up_none_that_comes_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.engine.embedder is not None
    watch, now = desk.engine.embedder.watch, [0.0]
    monkeypatch.setattr(watch, "_clock", lambda: now[0])
    desk.say()
    desk.embed()
    inside, release = threading.Event(), threading.Event()

    def hang() -> None:
        inside.set()
        assert release.wait(60)

    desk.model.happens = hang
    assert SAID[0] in desk.ask(ASKED[0]) and inside.is_set()
    desk.model.happens = lambda: None
    now[0] += QUESTION_HANGS_S + 1
    for said, asked in zip(SAID, ASKED, strict=True):
        assert said in desk.ask(asked), asked
    assert "hangs" in desk.told()
    release.set()
    wait_until(lambda: not watch.health().hangs_s)
    assert watch.embed_query(ASKED[1]).shape == (watch.dimension,) and desk.told() == ""
