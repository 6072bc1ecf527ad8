from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.fabric.card import Card, current
from memory_os.fabric.pending import CLOSED, answers, is_open, pending, unfinished


def card(ref: str, kind: str = "task", **fields: object) -> Card:
    agent, _, entry_id = ref.partition(":")
    base = Card(key=ref, ref=ref, id=entry_id, path=f"{ref}.md", agent=agent, type=kind, summary=ref, created_at=1.0)
    return replace(base, **fields)  # type: ignore[arg-type]


TASK = card("lead:t1", assigned_to="builder")


def tasks(*more: Card) -> list[str]:
    return [one.ref for one in pending([TASK, *more], "builder").tasks]


def test_a_task_waits_for_whom_it_was_given_to() -> None:
    assert tasks() == ["lead:t1"]
    work = pending([TASK], "lead")
    assert (work.tasks, [one.ref for one in work.waiting]) == ([], ["lead:t1"])
    assert pending([replace(TASK, assigned_to="Builder, scout")], "builder").tasks
    assert pending([replace(TASK, assigned_to="")], "anyone").tasks


@pytest.mark.parametrize(
    "answer",
    [
        card("builder:a1", "task", status="completed", review_of="lead:t1"),
        card("builder:a1", "resolution", review_of="lead:t1"),
        card("builder:a1", "note", status="done", review_of="t1"),
        card("builder:a1", "task", status="completed", revises="lead:t1"),
    ],
)
def test_an_answer_takes_a_task_out(answer: Card) -> None:
    assert tasks(answer) == []


@pytest.mark.parametrize(
    "other",
    [
        card("builder:a1", "note", review_of="lead:t1"),
        card("builder:a1", "review", review_of="lead:t1"),
        card("builder:a1", "task", status="in-progress", review_of="lead:t1"),
        card("builder:a1", "resolution", review_of="lead:t2"),
        card("builder:a1", "resolution"),
    ],
)
def test_what_is_no_answer_leaves_it(other: Card) -> None:
    assert "lead:t1" in tasks(other)


def test_an_open_revision_stands_in_its_place() -> None:
    revision = card("lead:t2", "task", status="blocked", revises="lead:t1", assigned_to="builder", created_at=2.0)
    assert tasks(revision) == ["lead:t2"]


@pytest.mark.parametrize("status", sorted(CLOSED))
def test_closed_words_close(status: str) -> None:
    assert pending([replace(TASK, status=status)], "builder").mine == []


def test_a_foreign_word_leaves_a_task_open_and_a_note_closed() -> None:
    assert is_open(replace(TASK, status="erledigen"))
    assert not is_open(card("a:1", "note", status="erledigen"))


def test_a_review_waits_for_the_author_until_a_revision() -> None:
    work = card("builder:d1", "decision")
    review = card("scout:r1", "review", review_of="builder:d1", created_at=2.0)
    revision = card("builder:d2", "decision", revises="builder:d1", created_at=3.0)
    assert [one.ref for one in pending([work, review], "builder").reviews] == ["scout:r1"]
    assert pending([work, review], "scout").reviews == []
    assert pending([work, review, revision], "builder").reviews == []
    assert pending([work, review, replace(revision, created_at=1.5)], "builder").reviews == [review]
    assert pending([work, replace(review, status="approved")], "builder").reviews == []
    assert pending([work, review, card("builder:x", "resolution", review_of="scout:r1")], "builder").reviews == []


def test_a_review_answers_where_one_was_wanted() -> None:
    wanted = card("lead:d1", "decision", status="needs-review")
    assert pending([wanted], "builder").tasks == [wanted]
    assert pending([wanted, card("builder:r", "review", review_of="lead:d1")], "builder").tasks == []


def test_customers_are_kept_apart() -> None:
    one, two = (card(f"lead:c{i}", customer_id=f"c{i}", assigned_to="builder") for i in (1, 2))
    assert pending([TASK, one, two], "builder", customer_id="c1").mine == [one]
    assert len(pending([TASK, one, two], "builder").tickets) == 2


def test_two_that_revise_each_other_leave_the_later() -> None:
    first = card("a:1", revises="a:2", created_at=1.0)
    second = card("a:2", revises="a:1", created_at=2.0)
    assert pending([first, second], "a").tasks == [second]
    assert current([first, second]) == [second]


REFS = ["a:1", "a:2", "b:3", "b:4"]
CARDS = st.lists(
    st.builds(
        card,
        st.sampled_from(REFS),
        st.sampled_from(["task", "review", "resolution", "note"]),
        status=st.sampled_from(["", "open", "completed", "needs-review"]),
        review_of=st.sampled_from(["", *REFS]),
        revises=st.sampled_from(["", *REFS]),
        assigned_to=st.sampled_from(["", "a", "b"]),
        created_at=st.floats(0, 10),
    ),
    max_size=4,
    unique_by=lambda one: one.key,
)


@given(CARDS)
def test_pending_is_open_unanswered_and_named_once(cards: list[Card]) -> None:
    work = pending(cards, "a")
    shown = [one.key for one in (*work.mine, *work.waiting)]
    assert len(shown) == len(set(shown))
    for one in (*work.tasks, *work.waiting):
        assert is_open(one)
        assert not any(answers(other, one) for other in cards)
        assert one.key in unfinished(cards)


@given(CARDS)
def test_nothing_answers_itself(cards: list[Card]) -> None:
    assert not any(answers(one, one) for one in cards)
