"""The shared index: passages in, full text and embeddings out, each reader only what is theirs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_os.index import Index, Replaced, embed_text
from memory_os.memory import SHARED_SCOPE, Author, Layer, Passage
from memory_os.store import open_store
from memory_os.text import query_terms

NOW = 1_790_000_000.0
MINE = "default/local"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    store = open_store(tmp_path / "memory.db")
    yield Index(store, "test/1")
    store.close()


def note(text: str, source: str = "message:1", **more: object) -> Passage:
    values: dict[str, object] = {"layer": Layer.SESSIONS, "scope": MINE, "author": Author.USER, "created_at": NOW - 60}
    return Passage(source=source, text=text, **{**values, **more})  # type: ignore[arg-type]


def found(index: Index, words: str, scopes: Sequence[str] = (MINE,), *, now: float = NOW, **more: object) -> list[str]:
    hits = index.lexical(query_terms(words), scopes, now=now, **more)  # type: ignore[arg-type]
    passages = index.passages([hit.pk for hit in hits])
    return [passages[hit.pk].text for hit in hits]


def vector(seed: int) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=4).astype(np.float32)
    return made / np.linalg.norm(made)


def embed(index: Index) -> None:
    """What the background does, with vectors of no meaning."""
    for one in index.embeddings.pending(100):
        index.embeddings.keep({one.embed_hash: vector(1)})
        index.embeddings.mark_indexed([one.pk])


# -- writing -------------------------------------------------------------------------------------------------------


def test_a_passage_is_found_at_once_and_comes_back_whole(index: Index) -> None:
    passage = note(
        "The gateway listens on 8443.", context="Which port?", title="Gateway", kind="said", session_id="s", ordinal=0,
        valid_from=1.0, valid_to=NOW + 9, trust=0.6, importance=0.7, flagged="",
    )  # fmt: skip
    assert index.replace("message:1", [passage]) == Replaced(added=1, removed=0, kept=0)
    (hit,) = index.lexical(["8443"], [MINE], now=NOW)
    assert index.passages([hit.pk]) == {hit.pk: passage}
    assert index.of_source("message:1") == [passage]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The staging gateway listens on port 8443.", "gateway port"),
        ("Die Heizung wird am Freitag gewartet.", "heizung"),
        ("A fatura vence no dia quinze.", "fatura"),
        ("Релиз перенесли на октябрь.", "релиз"),
        ("ينتهي عقد الإيجار في يونيو", "عقد"),
        ("项目周会改到周三", "周会"),
        ("鴨川沿いの旅館に三泊する", "旅館"),
    ],
)
def test_full_text_in_seven_languages(index: Index, text: str, words: str) -> None:
    index.replace("message:1", [note(text)])
    assert found(index, words) == [text]


def test_its_own_words_weigh_more_than_its_neighbours(index: Index) -> None:
    index.replace("message:1", [note("We use NATS now.", context="What about the queue?")])
    index.replace("message:2", [note("The queue lost messages.", "message:2")])
    index.replace("message:3", [note("Something else entirely.", "message:3")])
    assert found(index, "queue") == ["The queue lost messages.", "We use NATS now."]


def test_replacing_keeps_what_is_unchanged(index: Index) -> None:
    first, second = note("one"), note("two", ordinal=1)
    index.replace("message:1", [first, second])
    embed(index)
    changed = replace(second, text="deux")
    assert index.replace("message:1", [first, changed]) == Replaced(added=1, removed=0, kept=1)
    assert [one.passage.text for one in index.embeddings.pending(9)] == ["deux"]
    assert found(index, "two") == []


def test_a_passage_without_a_time_is_the_same_as_it_is_stored(index: Index) -> None:
    passage = note("one", created_at=0.0)
    index.replace("message:1", [passage])
    assert index.replace("message:1", [passage]).kept == 1
    assert index.of_source("message:1")[0].created_at > 0


def test_a_day_before_1970_is_a_time_that_can_be_indexed(index: Index) -> None:
    index.replace("document:old.md", [note("moon landing", "document:old.md", created_at=-14_000_000.0)])
    assert index.embeddings.pending(1)[0].passage.created_at > 0
    assert index.replace("document:old.md", [note("moon landing", "document:old.md", created_at=-14_000_000.0)]).kept == 1


def test_removing_takes_text_embedding_and_point(index: Index) -> None:
    passage = note("forget me")
    index.replace("message:1", [passage])
    embed(index)
    assert index.remove("message:1") == 1
    assert found(index, "forget") == []
    assert index.store.value("SELECT count(*) FROM embeddings") == 0
    assert index.embeddings.deleted_points() == [passage.id]
    index.replace("message:1", [passage])
    assert index.embeddings.deleted_points() == []


def test_an_embedding_two_passages_share_stays_for_the_other(index: Index) -> None:
    index.replace("message:1", [note("the same")])
    index.replace("message:2", [note("the same", "message:2")])
    embed(index)
    index.remove("message:1")
    assert index.store.value("SELECT count(*) FROM embeddings") == 1


def test_another_trust_or_title_of_the_same_words_costs_no_embedding(index: Index) -> None:
    passage = note("tea", layer=Layer.FACTS, trust=0.5)
    index.replace("message:1", [passage])
    embed(index)
    index.replace("message:1", [replace(passage, trust=0.7)])
    (one,) = index.embeddings.pending(9)
    assert one.embed_hash in index.embeddings.of_hashes([one.embed_hash])


def test_what_only_moved_down_in_its_source_costs_no_embedding(index: Index) -> None:
    before = [note(f"section {number}", ordinal=number) for number in range(5)]
    index.replace("message:1", before)
    embed(index)
    after = [note("a section put before them", ordinal=0), *(note(one.text, ordinal=one.ordinal + 1) for one in before)]
    index.replace("message:1", after)
    assert list(index.embeddings.unembedded(10).values()) == [index.store.value("SELECT pk FROM passages WHERE ordinal = 0")]
    embed(index)
    index.replace("message:1", before)
    assert index.embeddings.unembedded(10) == {}
    assert index.store.value("SELECT count(*) FROM embeddings") == len(before)


def test_what_is_asked_each_second_goes_through_what_waits_and_not_through_all(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any]] = []
    rows = index.store.rows
    monkeypatch.setattr(index.store, "rows", lambda sql, values=(): asked.append((sql, values)) or rows(sql, values))
    index.embeddings.pending(16)
    index.embeddings.pending(16, backlog=5)
    index.embeddings.unembedded(17, after=3)
    index.embeddings.unembedded(17, elsewhere=["h"])
    assert len(asked) == 4
    for sql, values in asked:
        plan = [str(row["detail"]) for row in rows(f"EXPLAIN QUERY PLAN {sql}", values)]
        through = [line for line in plan if line.split()[:2] in (["SCAN", "p"], ["SEARCH", "p"])]
        assert through and all("passages_unindexed" in line for line in through), plan


def test_a_text_forgotten_while_it_is_embedded_leaves_no_vector(index: Index) -> None:
    index.replace("message:1", [note("a secret")])
    (one,) = index.embeddings.pending(1)
    index.remove("message:1")
    index.embeddings.keep({one.embed_hash: vector(1)})
    index.embeddings.mark_indexed([one.pk])
    assert index.store.value("SELECT count(*) FROM embeddings") == 0


def test_a_passage_changed_while_it_is_embedded_waits_still(index: Index) -> None:
    """SQLite would give the newest row's number to its successor, which then passed for embedded."""
    index.replace("message:1", [note("before")])
    (one,) = index.embeddings.pending(1)
    index.replace("message:1", [note("after")])
    index.embeddings.keep({one.embed_hash: vector(1)})
    index.embeddings.mark_indexed([one.pk])
    assert [waiting.passage.text for waiting in index.embeddings.pending(9)] == ["after"]
    index.remove("message:1")
    index.replace("message:2", [note("another", "message:2")])
    index.embeddings.mark_indexed([one.pk])
    assert index.embeddings.pending_count() == 1


def test_what_was_put_away_stays_so_when_it_is_rewritten(index: Index) -> None:
    passage = note("one")
    index.replace("message:1", [passage])
    index.update(passage.id, archived=True)
    index.replace("message:1", [replace(passage, text="uno")])
    assert index.store.value("SELECT archived FROM passages") == 1


def test_an_edit_keeps_the_retrievals_counted(index: Index) -> None:
    passage = note("one")
    index.replace("message:1", [passage])
    index.used([passage.id, passage.id])
    index.replace("message:1", [replace(passage, text="uno")])
    row = index.store.row("SELECT uses, last_used_at FROM passages")
    assert row is not None
    assert row["uses"] == 2
    assert row["last_used_at"] is not None


def test_a_retrieval_taken_back_leaves_no_trace_of_its_time(index: Index) -> None:
    index.replace("message:1", [note("one")])
    (one,) = [passage.id for passage in index.of_source("message:1")]

    def row() -> tuple[int, float | None]:
        found = index.of_source("message:1")[0]
        return found.uses, found.last_used_at

    nothing = index.used([])
    index.unused([one], index.used([one]))
    assert row() == (0, None) and nothing.before == {}
    index.used([one])
    before = row()
    late = index.used([one])
    assert row() == (2, late.at)
    index.unused([one], late)
    assert row() == before
    late, since = index.used([one]), index.used([one])
    index.unused([one], late)
    assert row() == (2, since.at), "somebody was shown it since"
    index.unused([one])
    assert row() == (1, since.at), "nobody knows the one before"


def test_update_changes_what_is_not_text(index: Index) -> None:
    passage = note("one", trust=0.5)
    index.replace("message:1", [passage])
    embed(index)
    index.update(passage.id, trust=0.8, importance=0.2)
    stored = index.of_source("message:1")[0]
    assert (stored.trust, stored.importance) == (0.8, 0.2)
    assert index.embeddings.pending_count() == 0
    index.update(passage.id)
    index.update(passage.id, archived=True)
    assert found(index, "one") == []


# -- reading -------------------------------------------------------------------------------------------------------


def test_what_is_expired_not_yet_valid_or_archived_is_in_no_answer(index: Index) -> None:
    passages = {
        "now": note("word now", "m:1", valid_from=NOW - 1, valid_to=NOW + 1), "expired": note("word", "m:2", valid_to=NOW),
        "coming": note("word", "m:3", valid_from=NOW + 1), "archived": note("word", "m:4"),
    }  # fmt: skip
    for passage in passages.values():
        index.replace(passage.source, [passage])
    index.update(passages["archived"].id, archived=True)
    assert found(index, "word") == ["word now"]
    visible = index.visible([passage.id for passage in passages.values()], [MINE], now=NOW)
    assert set(visible) == {passages["now"].id}


def test_the_limit_counts_only_what_may_be_seen(index: Index) -> None:
    for number in range(30):
        index.replace(f"m:{number}", [note("word", f"m:{number}", scope="default/telegram:1")])
    index.replace("m:mine", [note("word and many others beside it, so that it ranks last", "m:mine")])
    assert len(found(index, "word", limit=1)) == 1


def test_layers_can_be_chosen(index: Index) -> None:
    index.replace("m:1", [note("word in a session", "m:1")])
    index.replace("f:1", [note("word in a fact", "f:1", layer=Layer.FACTS)])
    assert found(index, "word", layers=[Layer.FACTS]) == ["word in a fact"]
    assert index.count(Layer.FACTS) == 1


def test_equal_scores_have_an_order(index: Index) -> None:
    for number in range(5):
        index.replace(f"m:{number}", [note("the very same words", f"m:{number}")])
    pks = [hit.pk for hit in index.lexical(["same"], [MINE], now=NOW)]
    assert pks == sorted(pks, reverse=True)


def test_a_handle_opens_only_for_its_reader(index: Index) -> None:
    passage = note("mine", "m:1")
    index.replace("m:1", [passage])
    assert index.by_handle(passage.handle, [MINE]) == passage
    assert index.by_handle(passage.id, [MINE]) == passage
    assert index.by_handle(passage.handle, ["default/telegram:1", SHARED_SCOPE]) is None


def test_no_terms_no_ids_no_scopes_no_answer(index: Index) -> None:
    index.replace("m:1", [note("word", "m:1")])
    assert index.lexical([], [MINE], now=NOW) == []
    assert index.lexical(["word"], [], now=NOW) == []
    assert index.visible([], [MINE], now=NOW) == {}
    assert index.passages([]) == {}
    assert index.embeddings.of_passages([]) == {}


USERS = ["default/local", "default/telegram:1", "default/telegram:2", "work/local", SHARED_SCOPE]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(owners=st.lists(st.sampled_from(USERS), min_size=1, max_size=12), reader=st.sampled_from(USERS[:4]))
def test_nobody_reads_anothers_passages(index: Index, owners: list[str], reader: str) -> None:
    with index.store.write() as db:
        db.execute("DELETE FROM passages")
        db.execute("DELETE FROM passages_fts")
    passages = [note(f"shared word {n}", f"m:{n}", scope=owner) for n, owner in enumerate(owners)]
    for passage in passages:
        index.replace(passage.source, [passage])
    readable = (reader, SHARED_SCOPE)
    allowed = {passage.id for passage in passages if passage.scope in readable}
    assert {hit.id for hit in index.lexical(["word"], readable, now=NOW, limit=99)} == allowed
    assert set(index.visible([passage.id for passage in passages], readable, now=NOW)) == allowed
    assert sum(index.searchable(readable)) == len(allowed)
    assert {p.id for p in passages if index.by_handle(p.id, readable)} == allowed


# -- embeddings ----------------------------------------------------------------------------------------------------


def test_the_newest_waits_shortest(index: Index) -> None:
    for number in range(3):
        index.replace(f"m:{number}", [note(f"text {number}", f"m:{number}")])
    assert [one.passage.text for one in index.embeddings.pending(2)] == ["text 2", "text 1"]
    assert index.embeddings.pending_count() == 3


def test_vectors_come_back_as_they_went_within_half_precision(index: Index) -> None:
    index.replace("m:1", [note("text", "m:1")])
    (one,) = index.embeddings.pending(1)
    index.embeddings.keep({one.embed_hash: vector(7)})
    np.testing.assert_allclose(index.embeddings.of_passages([one.pk])[one.pk], vector(7), atol=1e-3)
    assert index.embeddings.of_passages([one.pk])[one.pk].dtype == np.float32


def test_vectors_of_another_pipeline_are_none_of_ours(index: Index) -> None:
    index.replace("m:1", [note("text", "m:1")])
    (one,) = index.embeddings.pending(1)
    index.embeddings.keep({one.embed_hash: vector(7)})
    other = Index(index.store, "test/2")
    assert other.embeddings.of_passages([one.pk]) == {}
    assert other.embeddings.of_hashes([one.embed_hash]) == {}


def test_losing_the_collection_keeps_the_embeddings(index: Index) -> None:
    index.replace("m:1", [note("text", "m:1")])
    embed(index)
    index.embeddings.mark_all_unindexed()
    (one,) = index.embeddings.pending(1)
    assert one.embed_hash in index.embeddings.of_hashes([one.embed_hash])


def test_the_encoder_reads_the_day_the_title_and_the_neighbour() -> None:
    passage = note("At noon then.", created_at=1_790_000_000.0, title="Meeting", context="user: when?")
    assert embed_text(passage) == "21 September 2026 · Meeting\nuser: when?\nAt noon then."


def test_frequency_counts_own_words_only(index: Index) -> None:
    index.replace("m:1", [note("about cache", "m:1", context="queue")])
    index.replace("m:2", [note("queue", "m:2")])
    assert (index.frequency("queue"), index.frequency("nothing")) == (1, 0)


def test_what_was_just_said_does_not_wait_behind_files(index: Index) -> None:
    """A backlog is embedded elsewhere: documents, and sessions of long ago; not the turn of a moment ago."""
    now = time.time()
    index.replace("document:a.md", [note("A file.", "document:a.md", layer=Layer.VECTORS, scope=SHARED_SCOPE, created_at=now)])
    index.replace("message:1", [note("Said a year ago.", "message:1", created_at=now - 3e7)])
    index.replace("message:2", [note("Said just now.", "message:2", created_at=now)])
    backlog = max(one.pk for one in index.embeddings.pending(10))
    assert [one.passage.text for one in index.embeddings.pending(10, backlog)] == ["Said just now."]
