"""An entry's card: what is known of it without its body. Policies and tools read cards, not files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_os.fabric.entry import fields_list
from memory_os.store import Row


@dataclass(frozen=True, slots=True)
class Card:
    """One row of `fabric_entries`, its summary without secrets. `key` is unique; `ref` (`agent:id`) is what entries call each other."""

    key: str
    ref: str
    id: str
    path: str
    agent: str
    type: str
    summary: str
    created_at: float
    status: str = ""
    outcome: str = ""
    tier: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    review_of: str = ""
    revises: str = ""
    curates: str = ""
    customer_id: str = ""
    assigned_to: str = ""
    training_value: str = ""
    verified: str = ""

    def named(self, reference: str) -> bool:
        """Whether `reference` means this entry: `agent:id`, or the id alone."""
        return bool(reference) and reference in (self.ref, self.id)


# An entry that says this of itself is history: found by its id, not recalled.
RETIRED = frozenset(("superseded", "archived", "rolled-back", "rolled_back"))


def retired(card: Card) -> bool:
    """By its own words."""
    return card.status in RETIRED or card.verified.lower() in RETIRED


def replaces(later: Card, card: Card) -> bool:
    """Whether `later` is a revision of `card`. Of two that revise each other the later one stays."""
    if later.key == card.key or not card.named(later.revises):
        return False
    return not (later.named(card.revises) and card.created_at > later.created_at)


def current(cards: Sequence[Card]) -> list[Card]:
    """The entries that stand: neither retired nor revised."""
    revisions: dict[str, list[Card]] = {}
    for card in cards:
        if card.revises:
            revisions.setdefault(card.revises, []).append(card)
    return [
        card
        for card in cards
        if not retired(card)
        and not any(replaces(one, card) for name in (card.ref, card.id) for one in revisions.get(name, ()))
    ]


def card_of(row: Row | dict[str, Any]) -> Card:
    return Card(
        key=row["key"], ref=row["ref"], id=row["id"], path=row["path"], agent=row["agent"], type=row["type"],
        summary=row["summary"], created_at=row["created_at"], status=row["status"], outcome=row["outcome"],
        tier=row["tier"], tags=fields_list(row["tags"]), project=row["project"], review_of=row["review_of"],
        revises=row["revises"], curates=row["curates"], customer_id=row["customer_id"],
        assigned_to=row["assigned_to"], training_value=row["training_value"], verified=row["verified"],
    )  # fmt: skip
