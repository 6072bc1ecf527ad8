"""Whether memory helped: figures by day and layer, from the ledger alone. Every figure can be counted again by hand.

A day is a UTC day. `turns` are those recall was asked for; a turn's tokens count for its layers in equal parts by line.
`used`, `ignored` and `contradicted` are lines. `per_100` are rediscoveries of 100 turns that had lines. `late`
are turns that went on before their answer came: they had none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_os.ground_truth.enforcement import proposal
from memory_os.ground_truth.outcomes import under_review
from memory_os.recall.ledger import LATE
from memory_os.recall.rendering import day_of
from memory_os.store import Row, Store

_LISTED = 20
_TEXT_CHARS = 200
_OUTCOMES = ("used", "ignored", "contradicted")
MODE_SINCE = "ground_truth_mode"


@dataclass
class Figures:
    """One day's, or all days'. Tokens and milliseconds of rediscoveries are what they cost."""

    turns: int = 0
    injections: int = 0
    lines: int = 0
    tokens: int = 0
    small_talk: int = 0
    late: int = 0
    used: int = 0
    ignored: int = 0
    contradicted: int = 0
    look_ups: int = 0
    rediscoveries: int = 0
    held: int = 0
    pointed: int = 0
    checks: int = 0
    rediscovery_tokens: int = 0
    rediscovery_ms: float = 0.0
    misses: int = 0
    layers: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def per_100(self) -> float:
        return 100 * self.rediscoveries / self.injections if self.injections else 0.0

    def as_dict(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["layers"] = {name: _rounded(self.layers[name]) for name in sorted(self.layers)}
        plain["rediscovery_ms"] = round(self.rediscovery_ms, 1)
        return {**plain, "rediscoveries_per_100": round(self.per_100, 1)}

    def layer(self, name: str) -> dict[str, float]:
        return self.layers.setdefault(name, dict.fromkeys(("turns", "lines", "tokens", *_OUTCOMES), 0))


class Report:
    """Reads memory.db. `scope` narrows everything to one person; empty: all of this home."""

    def __init__(self, store: Store, mode: str) -> None:
        self._store = store
        self._mode = mode

    def begin(self, now: float) -> float:
        """Since when this mode runs: the first call in a mode says so."""
        known = self._store.meta(MODE_SINCE).partition(" ")
        if known[0] == self._mode and known[2]:
            return float(known[2])
        self._store.set_meta(MODE_SINCE, f"{self._mode} {now}")
        return now

    def figures(self, since: float, now: float, scope: str = "") -> dict[str, Any]:
        """Everything a report shows, as plain data."""
        days: dict[str, Figures] = {}
        total = Figures()
        self._count(since, scope, days, total)
        return {
            "since": since,
            "until": now,
            "days": {day: days[day].as_dict() for day in sorted(days)},
            "total": total.as_dict(),
            "misses": self._misses(since, scope),
            "trust": self._trust(since, scope),
            "reviews": [_review(row) for row in under_review(self._store, scope)[:_LISTED]],
            **self.mode_figures(now),
        }

    def mode_figures(self, now: float) -> dict[str, Any]:
        """The mode, since when, the rate since then, and what is proposed."""
        began = self.begin(now)
        turns, again = self._rate(began)
        rate = 100 * again / turns if turns else 0.0
        return {
            "mode": self._mode,
            "mode_since": began,
            "mode_rediscoveries_per_100": round(rate, 1),
            "proposal": proposal(self._mode, began, now, turns, rate),
        }

    def _rate(self, since: float) -> tuple[int, int]:
        turns = self._store.value("SELECT count(*) FROM recalls WHERE at >= ? AND tokens > 0", (since,))
        again = self._store.value(
            "SELECT count(*) FROM tool_calls WHERE at >= ? AND verdict = 'rediscovery'", (since,)
        )
        return int(turns), int(again)

    # -- counting --------------------------------------------------------------------------------------------------

    def _count(self, since: float, scope: str, days: dict[str, Figures], total: Figures) -> None:
        def both(at: float) -> tuple[Figures, Figures]:
            return days.setdefault(day_of(at), Figures()), total

        for row in self._rows("recalls", since, scope):
            for figures in both(row["at"]):
                figures.turns += 1
                figures.injections += row["tokens"] > 0
                figures.tokens += row["tokens"]
                figures.small_talk += row["reason"] == "small talk"
                figures.late += row["outcome"] == LATE
        self._count_lines(since, scope, days, total)
        for row in self._rows("tool_calls", since, scope):
            for figures in both(row["at"]):
                _add_look_up(figures, row)
        for row in self._store.rows(
            "SELECT m.at FROM misses m JOIN tool_calls t ON t.id = m.call_id WHERE m.at >= ? AND (? = '' OR t.scope = ?)",
            (since, scope, scope),
        ):
            for figures in both(row["at"]):
                figures.misses += 1

    def _count_lines(self, since: float, scope: str, days: dict[str, Figures], total: Figures) -> None:
        """Lines by layer, with what became of each. A line whose passage is gone belongs to layer `gone`."""
        rows = self._store.rows(
            "SELECT r.turn_id, r.at, r.tokens, u.outcome, coalesce(p.layer, u.layer, 'gone') AS layer,"
            " (SELECT count(*) FROM recall_lines n WHERE n.turn_id = r.turn_id AND n.shown = 1) AS of_turn"
            " FROM recalls r JOIN recall_lines l ON l.turn_id = r.turn_id AND l.shown = 1"
            " LEFT JOIN passages p ON p.id = l.passage_id"
            " LEFT JOIN line_uses u ON u.turn_id = l.turn_id AND u.passage_id = l.passage_id"
            " WHERE r.at >= ? AND (? = '' OR r.scope = ?)",
            (since, scope, scope),
        )
        seen: set[tuple[str, str]] = set()
        for row in rows:
            first = (row["turn_id"], row["layer"]) not in seen
            seen.add((row["turn_id"], row["layer"]))
            for figures in (days.setdefault(day_of(row["at"]), Figures()), total):
                _add_line(figures, row, first=first)

    def _rows(self, table: str, since: float, scope: str) -> list[Row]:
        return self._store.rows(
            f"SELECT * FROM {table} WHERE at >= ? AND (? = '' OR scope = ?)", (since, scope, scope)
        )

    # -- lists -----------------------------------------------------------------------------------------------------

    def _misses(self, since: float, scope: str) -> list[dict[str, Any]]:
        """What a search found and recall had not given, newest first: each is a fault of recall's."""
        rows = self._store.rows(
            "SELECT m.at, m.turn_id, t.tool, t.query, p.handle, p.layer, p.text FROM misses m"
            " JOIN tool_calls t ON t.id = m.call_id JOIN passages p ON p.id = m.passage_id"
            " WHERE m.at >= ? AND (? = '' OR t.scope = ?) ORDER BY m.at DESC LIMIT ?",
            (since, scope, scope, _LISTED),
        )
        return [{**_dict(row), "text": row["text"][:_TEXT_CHARS]} for row in rows]

    def _trust(self, since: float, scope: str) -> list[dict[str, Any]]:
        """Facts whose trust moved, the largest movement first."""
        rows = self._store.rows(
            "SELECT f.handle, f.text, sum(m.outcome = 'used') AS used, sum(m.outcome = 'contradicted') AS contradicted,"
            " (SELECT mean_before FROM trust_moves WHERE fact_id = f.id AND at >= :since ORDER BY at, id LIMIT 1) AS before,"
            " (SELECT mean_after FROM trust_moves WHERE fact_id = f.id AND at >= :since ORDER BY at DESC, id DESC LIMIT 1)"
            " AS after FROM trust_moves m JOIN facts f ON f.id = m.fact_id"
            " WHERE m.at >= :since AND (:scope = '' OR f.scope = :scope) GROUP BY f.id",
            {"since": since, "scope": scope},
        )
        moved = sorted(rows, key=lambda row: -abs(row["after"] - row["before"]))
        return [
            {**_dict(row), "text": row["text"][:_TEXT_CHARS], "before": round(row["before"], 3), "after": round(row["after"], 3)}
            for row in moved[:_LISTED]
        ]


def _add_look_up(figures: Figures, row: Row) -> None:
    figures.look_ups += 1
    figures.checks += row["verdict"] == "check"
    figures.held += row["action"] == "held"
    figures.pointed += row["action"] == "pointed"
    if row["verdict"] == "rediscovery":
        figures.rediscoveries += 1
        figures.rediscovery_tokens += row["result_tokens"]
        figures.rediscovery_ms += row["milliseconds"] or 0.0


def _add_line(figures: Figures, row: Row, *, first: bool) -> None:
    layer = figures.layer(row["layer"])
    layer["turns"] += first
    layer["lines"] += 1
    layer["tokens"] += row["tokens"] / row["of_turn"]
    figures.lines += 1
    if row["outcome"] in _OUTCOMES:
        layer[row["outcome"]] += 1
        setattr(figures, row["outcome"], getattr(figures, row["outcome"]) + 1)


def _review(row: Row) -> dict[str, Any]:
    return {**{key: row[key] for key in ("handle", "at", "tool", "evidence")}, "text": row["text"][:_TEXT_CHARS]}


def _dict(row: Row) -> dict[str, Any]:
    return {key: row[key] for key in row.keys()}  # noqa: SIM118


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {key: round(value) for key, value in figures.items()}


def day_labels(since: float, now: float) -> Sequence[str]:
    """Every UTC day from `since` to `now`, so that a plot shows the empty ones as well."""
    days: Iterable[float] = range(int(since // 86_400), int(now // 86_400) + 1)
    return [time.strftime("%Y-%m-%d", time.gmtime(day * 86_400)) for day in days]
