"""What is still to be done: which entries are open, and which answer closes them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_os.fabric.card import Card, replaces

CLOSED = frozenset(
    (
        "completed", "complete", "done", "closed", "resolved", "fixed", "cancelled", "canceled", "abandoned",
        "superseded", "archived", "approved", "accepted", "rejected", "wontfix", "merged", "verified", "rolled-back",
    )
)  # fmt: skip
OPEN = frozenset(("open", "todo", "in-progress", "blocked", "waiting", "pending", "needs-review", "changes-requested"))
REVIEW_WANTED = "needs-review"
# What fabric_write takes; any other word in an entry of somebody else's is kept and read by the sets above.
STATUSES = (
    "open",
    "in-progress",
    "blocked",
    REVIEW_WANTED,
    "changes-requested",
    "completed",
    "cancelled",
    "superseded",
)


@dataclass(frozen=True, slots=True)
class PendingWork:
    """`tasks`: open and mine, or nobody's; `reviews`: of my work, unanswered; `tickets`: open for a customer;
    `waiting`: mine, given to others. Newest first."""

    tasks: list[Card]
    reviews: list[Card]
    tickets: list[Card]
    waiting: list[Card]

    @property
    def mine(self) -> list[Card]:
        return sorted([*self.tasks, *self.reviews, *self.tickets], key=_newest)


def is_open(card: Card) -> bool:
    """By its own words: a task is open until it says otherwise; another entry only if it says so."""
    if card.status in CLOSED:
        return False
    return card.type == "task" or card.status in OPEN


def answers(answer: Card, asked: Card) -> bool:
    """Whether `answer` closes `asked`. A revision stands in its place (and is itself open, if it says so); a
    resolution, a completed entry, or a review where a review was wanted, settles it."""
    if answer.key == asked.key:
        return False
    if asked.named(answer.revises):
        return replaces(answer, asked)
    if not asked.named(answer.review_of):
        return False
    if answer.type == "resolution" or answer.status in CLOSED:
        return True
    return answer.type == "review" and asked.status == REVIEW_WANTED


def pending(cards: Sequence[Card], agent: str, *, customer_id: str = "") -> PendingWork:
    """What waits for `agent`, of one customer or of all."""
    names = {name: card for card in reversed(cards) for name in (card.id, card.ref)}
    replies = _replies(cards)
    work = PendingWork([], [], [], [])
    for card in cards:
        if (customer_id and card.customer_id != customer_id) or _answered(card, replies):
            continue
        if card.type == "review":
            reviewed = names.get(card.review_of)
            if reviewed is not None and _same_agent(reviewed.agent, agent) and _waits(card, reviewed, replies):
                work.reviews.append(card)
        elif is_open(card):
            _place(card, agent, work)
    for group in (work.tasks, work.reviews, work.tickets, work.waiting):
        group.sort(key=_newest)
    return work


def unfinished(cards: Sequence[Card]) -> set[str]:
    """The keys of all open and unanswered work, whoever has it."""
    replies = _replies(cards)
    return {card.key for card in cards if is_open(card) and not _answered(card, replies)}


def assigned(card: Card, agent: str) -> bool:
    return any(_same_agent(one, agent) for one in card.assigned_to.split(","))


def _place(card: Card, agent: str, work: PendingWork) -> None:
    if assigned(card, agent) or not card.assigned_to:
        (work.tickets if card.customer_id else work.tasks).append(card)
    elif _same_agent(card.agent, agent):
        work.waiting.append(card)


def _replies(cards: Sequence[Card]) -> dict[str, list[Card]]:
    """Entries by the name of the entry they point at."""
    found: dict[str, list[Card]] = {}
    for card in cards:
        for target in {card.review_of, card.revises} - {""}:
            found.setdefault(target, []).append(card)
    return found


def _to(card: Card, replies: dict[str, list[Card]]) -> list[Card]:
    return [*replies.get(card.ref, ()), *(replies.get(card.id, ()) if card.id != card.ref else ())]


def _answered(card: Card, replies: dict[str, list[Card]]) -> bool:
    return any(answers(one, card) for one in _to(card, replies))


def _waits(review: Card, reviewed: Card, replies: dict[str, list[Card]]) -> bool:
    """A review of one's work waits until it is settled: it says so itself, it was one's own, or a revision followed."""
    if review.status in CLOSED or _same_agent(review.agent, reviewed.agent):
        return False
    revisions = [one for one in _to(reviewed, replies) if reviewed.named(one.revises)]
    return not any(one.created_at >= review.created_at for one in revisions)


def _same_agent(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _newest(card: Card) -> tuple[float, str]:
    return (-card.created_at, card.key)
