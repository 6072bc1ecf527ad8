"""What an entry is worth and whether it still stands, worked out from what others say of it, and brought into its passages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memory_os.fabric.card import Card, card_of, replaces, retired
from memory_os.fabric.passages import importance, source_of
from memory_os.index import Index
from memory_os.store import Store

__all__ = ["Standing"]


class Standing:
    """For the agent of this instance. Joins the caller's transaction, if there is one."""

    def __init__(self, store: Store, index: Index, agent: str) -> None:
        self._store = store
        self._index = index
        self._agent = agent

    def reconsider(self, touched: Iterable[str], now: float) -> None:
        """Bring value, tier and validity of these entries (by key, ref or id) into their passages."""
        for name in sorted(touched):
            rows = self._store.rows("SELECT * FROM fabric_entries WHERE key = ? OR ref = ? OR id = ?", (name,) * 3)
            for card in map(card_of, rows):
                if not card.curates:
                    self._restand(card, now)

    def value_of(self, card: Card) -> str:
        """An entry's training value here: our own judgement, else its owner's, else the newest of anybody's."""
        rows = self._store.rows(
            "SELECT agent, training_value FROM fabric_entries WHERE curates IN (?, ?) AND curates != '' AND training_value != ''"
            " ORDER BY created_at DESC, key",
            (card.ref, card.id),
        )
        ours = [row["training_value"] for row in rows if row["agent"] == self._agent and card.agent != self._agent]
        return next(filter(None, (*ours, card.training_value, *(row["training_value"] for row in rows))), "")

    def _restand(self, card: Card, now: float) -> None:
        wanted = importance(self.value_of(card), card.tier)
        since = self._retired_at(card, now)
        stored = self._index.of_source(source_of(card.key))
        if any(one.valid_to is not None for one in stored) and since is None:
            self._index.replace(source_of(card.key), [replace(one, valid_to=None, importance=wanted) for one in stored])
            return
        for one in stored:
            if (one.importance, one.valid_to) != (wanted, since):
                self._index.update(one.id, importance=wanted, valid_to=since)

    def _retired_at(self, card: Card, now: float) -> float | None:
        """Since when a revision stands in this entry's place. Of two that revise each other the later stays."""
        if retired(card):
            return min(card.created_at, now)
        rows = self._store.rows(
            "SELECT * FROM fabric_entries WHERE revises IN (?, ?) AND revises != '' AND key != ? ORDER BY created_at",
            (card.ref, card.id, card.key),
        )
        for one in map(card_of, rows):
            if replaces(one, card):
                return min(one.created_at, now)
        return None
