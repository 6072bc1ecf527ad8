"""Reading the database of Hermes's bundled holographic provider (`$HERMES_HOME/memory_store.db`).

That provider moves a score by +0.05 for `helpful` and -0.10 for `unhelpful` from a start of 0.50, and counts only the
helpful ones; the unhelpful ones follow from the score. So its history becomes evidence rather than a bare number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from memory_os.errors import HostError
from memory_os.facts.fact import CATEGORIES, Statement
from memory_os.facts.trust import ADJUSTMENT_MAX, Evidence
from memory_os.memory import Author, Scope

ORIGIN = "holographic"

_START, _HELPFUL, _UNHELPFUL = 0.5, 0.05, 0.10
_COLUMNS = ("fact_id", "content", "category", "tags", "trust_score", "helpful_count", "created_at", "updated_at")
# The host's provider may be writing; it holds the file for milliseconds.
_BUSY_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class HolographicFact:
    """One fact as the provider holds it; times are epoch seconds."""

    text: str
    category: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    evidence: Evidence
    created_at: float

    def statement(self, scope: Scope) -> Statement:
        return Statement(self.text, scope, self.category, self.tags, self.entities, Author.AGENT, origin=ORIGIN)


def read_holographic(path: Path) -> Iterator[HolographicFact]:
    """All its facts in order of id; none if the file is absent. Raises HostError if it can't be read."""
    try:
        if not path.exists():
            return
    except OSError as error:
        raise HostError(f"{str(path)[:200]} can't be looked up: {error.strerror}.", cure="Check the path.") from error
    try:
        with closing(_open(path)) as connection:
            entities = _entities(connection)
            rows = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM facts ORDER BY fact_id").fetchall()
    except sqlite3.Error as error:
        raise HostError(
            f"{path} can't be read as a holographic memory: {error}.", cure="Nothing was taken over; try again later."
        ) from error
    for row in rows:
        yield _fact_of(row, entities.get(row["fact_id"], []))


def evidence_of(trust_score: float, helpful: int, at: float) -> Evidence:
    """Pseudo-counts behind a score: the helpful ones as counted, and what must have moved it the rest of the way."""
    helpful = max(helpful, 0)
    excess = _START + _HELPFUL * helpful - min(max(trust_score, 0.0), 1.0)
    # A score at its ceiling lost what went over it.
    if trust_score >= 1.0 and excess > 0:
        excess = 0.0
    support = helpful + max(-excess, 0.0) / _HELPFUL
    against = max(excess, 0.0) / _UNHELPFUL
    return Evidence(min(support, ADJUSTMENT_MAX), min(against, ADJUSTMENT_MAX), at)


def _open(path: Path) -> sqlite3.Connection:
    """Read-only. Without a log beside it nobody has it open, and `immutable` keeps SQLite from leaving one there."""
    quiet = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro{quiet}", uri=True, timeout=_BUSY_TIMEOUT_S)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _entities(connection: sqlite3.Connection) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for row in connection.execute(
        "SELECT fe.fact_id, e.name FROM fact_entities fe JOIN entities e USING(entity_id) ORDER BY 1, e.entity_id"
    ):
        found.setdefault(row["fact_id"], []).append(str(row["name"]))
    return found


def _fact_of(row: sqlite3.Row, entities: list[str]) -> HolographicFact:
    category = str(row["category"] or "")
    tags = str(row["tags"] or "").split(",")
    created = _epoch(row["created_at"])
    return HolographicFact(
        text=str(row["content"] or ""),
        category=category if category in CATEGORIES else "general",
        tags=tuple(tag.strip() for tag in tags if tag.strip()),
        entities=tuple(entities),
        evidence=evidence_of(
            float(row["trust_score"] if row["trust_score"] is not None else _START),
            int(row["helpful_count"] or 0),
            max(_epoch(row["updated_at"]), created),
        ),
        created_at=created,
    )


def _epoch(value: object) -> float:
    """SQLite's CURRENT_TIMESTAMP (UTC) or a number, as epoch seconds; 0 for anything else."""
    if isinstance(value, (int, float)):
        return float(value)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
