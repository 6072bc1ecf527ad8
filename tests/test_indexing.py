"""The collection follows memory.db: new, changed, gone, lost, of another pipeline; nothing is encoded twice."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from memory_os.embedding import Embedder
from memory_os.errors import (
    EmbeddingError,
    EmbeddingUnavailable,
    FingerprintMismatch,
    VectorsError,
    VectorsGone,
    VectorsUnavailable,
)
from memory_os.index import Index
from memory_os.index.closed import take_points_along
from memory_os.indexing import Indexing
from memory_os.memory import State
from memory_os.vectors.room import FREE_MIN_BYTES, free_bytes
from support.library import DAY, Library, real_embedder


class Counting(Embedder):
    """The real embedder; `texts` are those it encoded, `before` runs while it is at it, `fails_on` is a word it fails on."""

    def __init__(self) -> None:
        real = real_embedder()
        super().__init__(real._encoder, real._calibration)
        self.texts: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self.fails_on = "nothing"

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        self.before()
        if any(self.fails_on in text for text in texts):
            raise EmbeddingError("The embedding model failed: too odd a text.")
        return super().embed_passages(texts)


@pytest.fixture
def encoder() -> Counting:
    return Counting()


@pytest.fixture
def library(tmp_path: Path, encoder: Counting) -> Iterator[Library]:
    opened = Library.open(tmp_path, dense=False)
    opened.connect(encoder)
    yield opened
    opened.close()


def points(library: Library) -> set[str]:
    assert library.indexing.collection is not None
    return set(library.indexing.collection.ids())


def wanted(library: Library) -> set[str]:
    return {row["id"] for row in library.store.rows("SELECT id FROM passages WHERE archived = 0")}


def counter(library: Library, name: str) -> int:
    return int(library.store.value("SELECT value FROM counters WHERE name = ?", (name,)) or 0)


def reopened(library: Library, encoder: Embedder) -> Library:
    """As after a restart of the service."""
    library.indexing.close()
    library.indexing = Indexing(library.store, library.index)
    library.connect(encoder)
    return library


# -- following -----------------------------------------------------------------------------------------------------


def test_each_text_is_encoded_once(library: Library, encoder: Counting) -> None:
    for number in range(5):
        library.remember(f"note {number}", f"note:{number}")
    library.remember("note 0", "note:twin")
    assert library.embed() == 6
    assert len(encoder.texts) == 5, "the twin has the same day, title and text"
    assert points(library) == wanted(library)
    assert library.embed() == 0


def test_work_is_done_in_the_batches_asked_for(library: Library) -> None:
    for number in range(5):
        library.remember(f"note {number}")
    assert [library.indexing.work(2) for _ in range(4)] == [2, 2, 1, 0]


def test_a_removed_memory_leaves_the_collection(library: Library) -> None:
    library.remember("stays", "note:1")
    library.remember("goes", "note:2")
    library.embed()
    library.index.remove("note:2")
    assert library.embed() == 1
    assert points(library) == wanted(library)
    assert library.index.embeddings.deleted_points() == []


def test_a_memory_forgotten_while_it_is_encoded_leaves_nothing(library: Library, encoder: Counting) -> None:
    library.remember("a secret", "note:1")
    encoder.before = lambda: library.index.remove("note:1")
    library.embed()
    assert points(library) == set()
    assert library.store.value("SELECT count(*) FROM embeddings") == 0


def test_a_memory_changed_while_it_is_encoded_gets_the_vector_of_what_it_says_now(
    library: Library, encoder: Counting
) -> None:
    library.remember("It is about bees.", "note:1")

    def change() -> None:
        encoder.before = lambda: None
        library.remember("It is about the deploy port of the gateway.", "note:1")

    encoder.before = change
    library.embed()
    assert library.index.embeddings.pending_count() == 0
    (row,) = library.store.rows("SELECT pk FROM passages")
    question = real_embedder().embed_query("Which port has the gateway?")
    assert float(library.index.embeddings.of_passages([row["pk"]])[row["pk"]] @ question) > 0.3
    assert library.indexing.collection is not None
    ((_, score),) = library.indexing.collection.dense(question, ["default/local"])
    assert score > 0.3


def test_a_failing_encoder_leaves_its_batch_waiting(library: Library, encoder: Counting) -> None:
    def fail() -> None:
        raise EmbeddingError("The embedding model failed.")

    library.remember("note")
    encoder.before = fail
    with pytest.raises(EmbeddingError):
        library.indexing.work(5)
    encoder.before = lambda: None
    assert library.embed() == 1
    assert points(library) == wanted(library)


# -- archived and over -----------------------------------------------------------------------------------------------


def test_what_is_archived_has_no_point_and_brought_back_it_has_without_encoding(library: Library, encoder: Counting) -> None:
    library.remember("stays", "note:1")
    put_away = library.remember("put away", "note:2").id
    never = library.remember("put away before it was ever encoded", "note:3").id
    library.index.update(never, archived=True)
    library.embed()
    assert points(library) == wanted(library) == {library.index.of_source("note:1")[0].id, put_away}
    library.index.update(put_away, archived=True)
    assert library.embed() == 1
    assert points(library) == wanted(library) and put_away not in points(library)
    assert (library.index.embeddings.pending_count(), library.index.embeddings.deleted_points()) == (0, [])
    encoded = len(encoder.texts)
    library.index.update(put_away, archived=False)
    library.embed()
    assert put_away in points(library) and len(encoder.texts) == encoded, "its embedding stayed"
    library.index.update(never, archived=False)
    library.embed()
    assert points(library) == wanted(library) and len(points(library)) == 3


def test_put_away_and_brought_back_before_anybody_looked_it_keeps_its_point(library: Library) -> None:
    one = library.remember("there and back", "note:1").id
    library.embed()
    library.index.update(one, archived=True)
    assert take_points_along(library.store, time.time()) == 1
    library.index.update(one, archived=False)
    library.embed()
    assert points(library) == {one}
    assert library.index.embeddings.deleted_points() == []


def test_a_time_that_passes_takes_the_point_along_though_nobody_writes(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    ends = library.remember("holds till tomorrow", "fact:1", valid_to=now + DAY).id
    begins = library.remember("holds from tomorrow", "fact:2", valid_from=now + DAY).id
    over = library.remember("held till yesterday", "fact:3", valid_to=now - DAY).id
    library.embed()
    assert points(library) == {ends, begins}
    monkeypatch.setattr("memory_os.indexing.time.time", lambda: now + 2 * DAY)
    library.embed()
    assert points(library) == {begins}
    assert "from tomorrow" in library.ask("What holds from tomorrow?", now=now + 2 * DAY).context
    library.index.replace("fact:1", [])
    library.remember("held till yesterday", "fact:3", valid_to=now + 9 * DAY)
    library.embed()
    assert points(library) == {begins, over}, "its end was put off"


@pytest.mark.parametrize("opened", [reopened, lambda library, encoder: library.indexing.rebuild()], ids=["start", "reindex"])
def test_a_memory_from_before_heals_at_its_next_start_and_by_a_reindex(
    library: Library, encoder: Counting, opened: Callable[..., object]
) -> None:
    for number in range(6):
        library.remember(f"note {number}", f"note:{number}")
    library.embed()
    encoded = len(encoder.texts)
    with library.store.write() as db:  # as every version before left it: archived, with its point
        db.execute("UPDATE passages SET archived = 1, indexed = 1 WHERE source IN ('note:1', 'note:4')")
    opened(library, encoder)
    library.embed()
    assert points(library) == wanted(library) and len(points(library)) == 4
    assert (len(encoder.texts), library.index.embeddings.pending_count(), library.index.embeddings.deleted_points()) == (encoded, 0, [])
    assert library.indexing.audit() == 0
    assert counter(library, "vectors_audited") == 0, "nothing was wrong"


def test_a_lost_collection_is_derived_without_what_is_archived(library: Library, encoder: Counting, tmp_path: Path) -> None:
    gone = library.remember("put away", "note:1").id
    library.remember("stays", "note:2")
    library.embed()
    library.index.update(gone, archived=True)
    library.indexing.close()
    library.settings.vectors_dir.rename(tmp_path / "lost")
    reopened(library, encoder)
    library.embed()
    assert points(library) == wanted(library) and len(points(library)) == 1


# -- audit ---------------------------------------------------------------------------------------------------------


def test_missing_and_stray_points_are_put_right_at_the_next_start(library: Library, encoder: Counting) -> None:
    for number in range(4):
        library.remember(f"note {number}", f"note:{number}")
    library.embed()
    assert library.indexing.collection is not None
    lost = sorted(points(library))[:2]
    library.indexing.collection.delete(lost)
    with library.store.write() as db:  # a passage that went without a trace
        stray = db.execute("SELECT id FROM passages WHERE id NOT IN (?, ?) LIMIT 1", lost).fetchone()[0]
        db.execute("DELETE FROM passages WHERE id = ?", (stray,))
    encoded = len(encoder.texts)
    reopened(library, encoder)
    assert library.embed() == 2
    assert stray not in points(library)
    assert points(library) == wanted(library)
    assert len(encoder.texts) == encoded, "memory.db had the vectors"
    assert counter(library, "vectors_audited") == 3


def test_one_missing_and_one_stray_are_seen_though_the_numbers_agree(library: Library, encoder: Counting) -> None:
    library.remember("in", "note:1")
    library.remember("out", "note:2")
    library.embed()
    collection = library.indexing.collection
    assert collection is not None
    collection.delete([library.index.of_source("note:1")[0].id])
    library.index.remove("note:2")
    library.index.embeddings.forget_deleted_points(library.index.embeddings.deleted_points())
    assert collection.count() == library.index.count() == 1
    reopened(library, encoder)
    library.embed()
    assert points(library) == wanted(library)


def test_a_start_does_not_wait_for_the_comparison(library: Library, encoder: Counting) -> None:
    library.remember("note")
    library.embed()
    assert library.indexing.collection is not None
    library.indexing.collection.delete(sorted(points(library)))
    reopened(library, encoder)
    assert library.index.embeddings.pending_count() == 0 == len(points(library)), "not compared yet"
    assert library.indexing.work(1) == 1
    assert points(library) == wanted(library)


def test_a_fault_that_lasts_keeps_no_recall_alive(library: Library) -> None:
    library.indexing.collection, library.indexing.fault = None, VectorsError("damaged")
    lengths = []
    for _ in range(3):
        with pytest.raises(VectorsError, match="damaged") as raised:
            library.indexing.audit()
        lengths.append(len(raised.traceback))
    assert lengths[0] == lengths[2]


def test_a_sound_collection_is_left_alone(library: Library, encoder: Counting) -> None:
    library.remember("note")
    library.embed()
    reopened(library, encoder)
    assert library.indexing.audit() == 0
    assert counter(library, "vectors_audited") == 0
    assert library.index.embeddings.pending_count() == 0


# -- room on the disk ----------------------------------------------------------------------------------------------


def test_without_room_nothing_is_written_and_it_goes_on_by_itself(library: Library, encoder: Counting) -> None:
    library.remember("The staging gateway listens on port 8443.", "note:1")
    library.embed()
    library.indexing.free_bytes = lambda folder: FREE_MIN_BYTES - 1
    library.remember("The archive has its own port, 9017.", "note:2")
    library.index.remove("note:1")
    assert [library.indexing.work(5) for _ in range(3)] == [0, 0, 0]
    health = library.indexing.health()
    assert health.state is State.DEGRADED
    assert "67 MB free" in health.detail and "by itself" in health.cure
    assert counter(library, "vectors_without_room") == 1
    assert "9017" in library.ask("Which port has the archive?").context, "words find it"
    with pytest.raises(VectorsError, match="free"):
        library.indexing.rebuild()
    library.indexing.free_bytes = free_bytes
    assert library.embed() == 2
    assert library.indexing.health().state is State.OK
    assert points(library) == wanted(library)


def test_without_room_no_collection_is_made_until_there_is(library: Library, encoder: Counting, tmp_path: Path) -> None:
    library.indexing.close()
    library.settings.vectors_dir.rename(tmp_path / "elsewhere")
    library.indexing = Indexing(library.store, library.index)
    library.indexing.free_bytes = lambda folder: 0
    library.connect(encoder)
    library.remember("The staging gateway listens on port 8443.")
    assert library.indexing.work(5) == 0
    assert library.indexing.health().state is State.DEGRADED
    assert library.ask("Which port does the staging gateway use?").outcome == "degraded"
    assert not library.settings.vectors_dir.exists()
    library.indexing.free_bytes = free_bytes
    assert library.embed() == 1
    assert library.ask("Which port does the staging gateway use?").outcome == "injected"


# -- rebuilding ----------------------------------------------------------------------------------------------------


def test_a_lost_folder_is_derived_again_without_encoding(library: Library, encoder: Counting, tmp_path: Path) -> None:
    for number in range(3):
        library.remember(f"note {number}")
    library.embed()
    library.indexing.close()
    library.settings.vectors_dir.rename(tmp_path / "lost")
    encoded = len(encoder.texts)
    reopened(library, encoder)
    assert library.embed() == 3
    assert points(library) == wanted(library)
    assert len(encoder.texts) == encoded


def test_reindexing_encodes_nothing_and_recall_goes_on(library: Library, encoder: Counting) -> None:
    for number in range(40):
        library.remember(f"note {number} about the staging gateway", f"note:{number}")
    library.remember("The staging gateway listens on port 8443.", "note:port")
    library.embed()
    encoded = len(encoder.texts)
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int, what: str) -> None:
        seen.append((done, total))
        assert library.ask("Which port does the staging gateway use?").lines

    assert library.indexing.rebuild(progress) == 41
    assert len(encoder.texts) == encoded
    assert seen[-1] == (41, 41)
    assert len(seen) > 1
    assert points(library) == wanted(library)
    assert library.ask("Which port does the staging gateway use?").outcome == "injected"
    assert counter(library, "reindexed") == 1


def test_a_rebuild_that_fails_leaves_the_old_collection(library: Library, encoder: Counting) -> None:
    library.remember("The staging gateway listens on port 8443.")
    library.embed()

    def stop(done: int, total: int, what: str) -> None:
        raise VectorsError("The disk is full.")

    with pytest.raises(VectorsError, match="disk is full"):
        library.indexing.rebuild(stop)
    assert library.ask("Which port does the staging gateway use?").outcome == "injected"
    library.embed()
    assert points(library) == wanted(library)
    assert library.indexing.rebuild() == 1


def test_a_rebuild_goes_on_past_texts_the_model_fails_on_and_names_them(library: Library, encoder: Counting) -> None:
    for number in range(70):
        library.remember(f"note {number} about the staging gateway", f"note:{number}")
    odd = {library.remember(f"a riddle of the sphinx {number}", f"riddle:{number}").handle for number in range(2)}
    encoder.fails_on = "riddle"
    seen: list[tuple[int, int]] = []
    assert library.indexing.rebuild(lambda done, total, what: seen.append((done, total))) == 70
    assert seen[-1] == (72, 72)
    assert set(library.indexing.left_out()) == odd
    health = library.indexing.health()
    assert (health.state, health.figures["left_out"], health.figures["waiting"]) == (State.DEGRADED, 2, 2)
    assert "2 passages" in health.detail and all(one in health.detail for one in odd) and "too odd a text" in health.detail
    assert len(points(library)) == 70
    assert "riddle of the sphinx" in library.ask("Which riddle has the sphinx?").context, "words find it"
    encoder.fails_on = "nothing"
    assert library.embed() == 2
    assert points(library) == wanted(library)
    assert library.indexing.left_out() == {} and library.indexing.health().state is State.OK


def test_a_rebuild_with_a_model_that_fails_on_everything_leaves_the_old_collection(library: Library, encoder: Counting) -> None:
    library.remember("The staging gateway listens on port 8443.")
    library.embed()
    with library.store.write() as db:
        db.execute("UPDATE embeddings SET fingerprint = 'an-earlier-model'")
    encoder.fails_on = "gateway"
    with pytest.raises(EmbeddingUnavailable, match=r"embeds nothing now: .*too odd"):
        library.indexing.rebuild()
    assert points(library) == wanted(library)
    assert library.index.embeddings.pending_count() == 0


def test_without_a_model_nothing_is_rebuilt(tmp_path: Path) -> None:
    library = Library.open(tmp_path, dense=False)
    assert library.indexing.work(5) == 0
    with pytest.raises(VectorsError, match="not loaded yet"):
        library.indexing.rebuild()
    assert library.indexing.health().state is State.OFF
    library.close()


def _another_model(folder: Path) -> None:
    current = json.loads((folder / "current.json").read_text())
    current["stamp"]["model"] = "another-model/768"
    (folder / "current.json").write_text(json.dumps(current))


def _half_a_stamp(folder: Path) -> None:
    (folder / "current.json").write_text('{"shard": "know')


def _no_shard(folder: Path) -> None:
    shard = json.loads((folder / "current.json").read_text())["shard"]
    (folder / shard).rename(folder.parent / "elsewhere")


@pytest.mark.parametrize("harm", [_another_model, _half_a_stamp, _no_shard])
def test_a_collection_that_does_not_fit_degrades_with_its_cure_and_a_rebuild_heals_it(
    library: Library, encoder: Counting, harm: Callable[[Path], None]
) -> None:
    library.remember("The staging gateway listens on port 8443.")
    library.remember("Grandmother paints lighthouses.")
    library.embed()
    library.indexing.close()
    harm(library.settings.vectors_dir)
    reopened(library, encoder)
    health = library.indexing.health()
    assert health.state is State.DEGRADED
    assert "`memory-os reindex`" in health.cure
    recalled = library.ask("Which port does the staging gateway use?")
    assert recalled.outcome == "degraded"
    assert "8443" in recalled.context, "words still find it"
    assert health.detail in recalled.reason
    assert counter(library, "vectors_unavailable") == 1
    encoded = len(encoder.texts)
    assert library.indexing.rebuild() == 2
    assert library.indexing.health().state is State.OK
    assert library.ask("Which port does the staging gateway use?").outcome == "injected"
    assert len(encoder.texts) == encoded


def test_another_pipeline_is_named(library: Library, encoder: Counting) -> None:
    library.indexing.close()
    _another_model(library.settings.vectors_dir)
    reopened(library, encoder)
    assert isinstance(library.indexing.fault, FingerprintMismatch)
    assert "another-model/768" in library.indexing.health().detail


def test_vectors_of_an_earlier_model_are_encoded_anew(library: Library, encoder: Counting) -> None:
    library.remember("note")
    library.embed()
    with library.store.write() as db:
        db.execute("UPDATE embeddings SET fingerprint = 'an-earlier-model'")
    encoder.texts.clear()
    assert library.indexing.rebuild() == 1
    assert len(encoder.texts) == 1


def test_a_second_service_is_refused_and_the_first_goes_on(library: Library, encoder: Counting) -> None:
    library.remember("The staging gateway listens on port 8443.")
    library.embed()
    second = Indexing(library.store, Index(library.store, library.index.fingerprint))
    second.open(library.settings.vectors_dir, encoder)
    assert second.health().state is State.DEGRADED
    assert "in use" in second.health().detail
    second.close()
    assert library.ask("Which port does the staging gateway use?").outcome == "injected"


def test_a_folder_that_is_let_go_is_opened_by_the_service_that_was_refused(library: Library, encoder: Counting) -> None:
    library.remember("The staging gateway listens on port 8443.")
    library.embed()
    second = Indexing(library.store, Index(library.store, library.index.fingerprint))
    second.open(library.settings.vectors_dir, encoder)
    for _ in range(2):
        with pytest.raises(VectorsUnavailable, match="in use"):
            second.work(8)
    assert counter(library, "vectors_unavailable") == 1
    library.indexing.close()
    second.work(8)
    assert second.health().state is State.OK
    second.close()


def test_a_folder_deleted_while_it_is_in_use_is_derived_again(
    library: Library, encoder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_os.indexing._VERIFY_EVERY_S", 0.0)
    library.remember("The staging gateway listens on port 8443.")
    library.embed()
    shutil.rmtree(library.settings.vectors_dir)
    with pytest.raises(VectorsGone, match="was deleted"):
        library.indexing.rebuild()
    encoder.texts.clear()
    library.remember("The dehumidifier drains into the blue bucket.")
    with pytest.raises(VectorsGone, match="was deleted"):
        while library.indexing.work(8):  # what is written meanwhile goes where nobody finds it
            pass
    while library.indexing.work(8):
        pass
    assert library.indexing.health().state is State.OK
    assert points(library) == wanted(library)
    assert len(points(library)) == 2
    assert len(encoder.texts) == 1


def test_a_folder_deleted_before_the_end_is_none_of_the_ends_business(library: Library) -> None:
    library.remember("The staging gateway listens on port 8443.")
    library.indexing.work(8)
    shutil.rmtree(library.settings.vectors_dir)
    library.indexing.close()
    assert library.indexing.collection is None


def test_figures_say_what_waits(library: Library) -> None:
    library.remember("note")
    assert library.indexing.health().figures["waiting"] == 1
    library.embed()
    health = library.indexing.health()
    assert (health.state, health.figures["waiting"], health.figures["points"]) == (State.OK, 0, 1)


def test_closing_twice_is_fine_and_asking_after_says_so(library: Library) -> None:
    library.indexing.close()
    library.indexing.close()
    with pytest.raises((VectorsError, sqlite3.Error), match="not open"):
        library.indexing.audit()
