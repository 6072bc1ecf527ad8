"""The two searches: what each contributes, how each fared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from memory_os.memory import Passage, State
from memory_os.recall import Query
from memory_os.recall.arms import LARGE, SMALL, Found
from support.library import LOCAL, NOW, Library

from recall.notes import NOTES

PATIENT_S = 30.0


def search(library: Library, text: str) -> Found:
    return library.recall.arms.search(Query.of(text, LOCAL, now=NOW), PATIENT_S)


def by_note(library: Library, found: Found) -> dict[str, object]:
    passages = library.index.passages([one.pk for one in found.candidates])
    return {passages[one.pk].source.removeprefix("note:"): one for one in found.candidates}


def test_both_arms_run_and_say_so(memory: Library) -> None:
    found = search(memory, "Which port does the staging gateway use?")
    assert {name: arm.state for name, arm in found.outcomes.items()} == {"lexical": State.OK, "dense": State.OK}
    assert found.searched == (len(NOTES), 0)


def test_each_candidate_has_both_scores_whichever_arm_found_it(memory: Library) -> None:
    candidates = by_note(memory, search(memory, "Which port does the staging gateway use?"))
    port, cat = candidates["port"], candidates["cat_pt"]
    assert port.cosine > 0.4  # type: ignore[attr-defined]
    assert 0.5 < port.coverage <= 1  # type: ignore[attr-defined]
    assert (cat.bm25, cat.coverage) == (0.0, 0.0)  # type: ignore[attr-defined]
    assert all(one.compared for one in candidates.values())  # type: ignore[attr-defined]


def test_a_passage_without_its_vector_yet_is_known_as_such(fresh: Library) -> None:
    fresh.remember(NOTES["port"], "note:port")
    fresh.embed()
    fresh.remember("The other gateway has no port yet.", "note:new")
    candidates = by_note(fresh, search(fresh, "gateway port"))
    assert candidates["port"].compared  # type: ignore[attr-defined]
    assert not candidates["new"].compared  # type: ignore[attr-defined]


def test_an_empty_answer_is_an_answer(fresh: Library) -> None:
    found = search(fresh, "anything")
    assert found.candidates == []
    assert {arm.state for arm in found.outcomes.values()} == {State.EMPTY}


def test_a_failing_full_text_is_degraded_and_meaning_goes_on(fresh: Library) -> None:
    fresh.remember(NOTES["port"], "note:port")
    fresh.embed()
    with fresh.store.write() as db:
        db.execute("DROP TABLE passages_terms")
        db.execute("DROP TABLE passages_fts")
    found = search(fresh, "Which port does the staging gateway use?")
    assert found.outcomes["lexical"].state is State.DEGRADED
    assert "passages_fts" in found.outcomes["lexical"].reason
    assert list(by_note(fresh, found)) == ["port"]


def test_coverage_is_the_share_of_the_words_by_their_rarity(words_only: Library) -> None:
    for number in range(80):
        words_only.remember(f"The gateway forwards entry {number}.")
    words_only.remember("The gateway speaks quic.", "note:quic")
    candidates = by_note(words_only, search(words_only, "gateway quic"))
    assert candidates["quic"].coverage > 0.9  # type: ignore[attr-defined]
    common = [one.coverage for name, one in candidates.items() if name != "quic"]  # type: ignore[attr-defined]
    assert all(coverage < 0.2 for coverage in common)


def test_a_term_said_for_the_first_time_counts_from_then_on(words_only: Library) -> None:
    words_only.remember("Nothing of interest.")
    assert search(words_only, "quic").candidates == []
    words_only.remember("The gateway speaks quic.", "note:quic")
    assert list(by_note(words_only, search(words_only, "quic"))) == ["quic"]


def test_a_passage_that_goes_while_it_is_being_found_is_no_candidate(
    words_only: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    words_only.remember("The gateway speaks quic.", "note:quic")
    words_only.remember("The gateway speaks http.", "note:http")
    read = words_only.index.passages

    def too_late(pks: Sequence[int]) -> dict[int, Passage]:
        words_only.index.remove("note:quic")
        return read(pks)

    monkeypatch.setattr(words_only.index, "passages", too_late)
    assert list(by_note(words_only, search(words_only, "gateway"))) == ["http"]


@pytest.mark.parametrize(("count", "large_from", "depth"), [(30, 5000, 30), (240, 5000, SMALL.lexical), (240, 240, LARGE.lexical)])
def test_arms_are_read_to_their_depth_and_no_further(
    words_only: Library, monkeypatch: pytest.MonkeyPatch, count: int, large_from: int, depth: int
) -> None:
    monkeypatch.setattr("memory_os.recall.arms.LARGE_FROM", large_from)
    with words_only.store.write():
        for number in range(count):
            words_only.remember(f"gateway {number}")
    assert len(search(words_only, "gateway").candidates) == depth


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What did Tarek say about the kiln?", 1.0),
        ("What did Imke say about the kiln?", 0.0),
        ("What did Imke tell Tarek?", 0.5),
        ("What was said about the kiln?", 0.0),
        ("O que o Tarek comprou?", 1.0),
        ("Что купил Тарек?", 1.0),
        ("Was hat Tarek über den Ofen gesagt?", 0.0),
        ("窑在哪里？", 0.0),
        ("窯はどこですか？", 0.0),
        ("ماذا قال طارق؟", 0.0),
    ],
)
def test_the_share_of_names_nobody_here_ever_mentioned(words_only: Library, question: str, unknown: float) -> None:
    """German capitals and scripts without any say nothing about names."""
    words_only.remember("Imke said the kiln is in the shed", "note:kiln")
    assert search(words_only, question).unknown == unknown
