"""What was spent on models: a log that outlives the process, asked before each call.

The service keeps it in memory.db (`StoreUsage`); a worker elsewhere reports to the service.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from memory_os.llm.messages import Call
from memory_os.store import Store
from memory_os.store.migrations import Migrations
from memory_os.store.tombstones import FORGETTINGS

if TYPE_CHECKING:
    from sqlite_utils import Database

usage = Migrations("llm")
# Long enough for a month's figures; a row is 100 bytes.
KEEP_DAYS = 40


@usage()
def m001_model_calls(db: Database) -> None:
    db.execute(
        "CREATE TABLE model_calls(id INTEGER PRIMARY KEY, at REAL NOT NULL, job TEXT NOT NULL, model TEXT NOT NULL,"
        " endpoint TEXT NOT NULL,"
        " input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, units REAL NOT NULL, seconds REAL NOT NULL,"
        " outcome TEXT NOT NULL, fault TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX model_calls_at ON model_calls(at, job)")


class UsageLog(Protocol):
    """Where units are counted. `job` "" means all jobs together; `since` in epoch seconds."""

    async def spent(self, job: str, since: float) -> float: ...

    async def record(self, call: Call) -> None: ...


@runtime_checkable
class Remembers(Protocol):
    """A log that can also be read: a new client then starts with what earlier ones met."""

    def recent(self, endpoint: str, limit: int) -> list[Call]: ...


@runtime_checkable
class KnowsForgetting(Protocol):
    """A log of a memory in which things are forgotten: an answer from before may quote them."""

    async def forgettings(self) -> int:
        """How often something was forgotten there. Raises where that can't be asked."""
        ...


class MemoryUsage:
    """The log of one process, for tools that have no service."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def spent(self, job: str, since: float) -> float:
        return sum(call.units for call in self.calls if call.at >= since and job in ("", call.job))

    async def record(self, call: Call) -> None:
        self.calls.append(call)


class StoreUsage:
    """The log in memory.db. Rows older than `KEEP_DAYS` leave with each write."""

    def __init__(self, store: Store) -> None:
        # Here and not at the start of the service: a home without a model has no such table.
        store.migrate(usage)
        self._store = store

    async def spent(self, job: str, since: float) -> float:
        return await asyncio.to_thread(self.spent_now, job, since)

    async def record(self, call: Call) -> None:
        await asyncio.to_thread(self.record_now, call)

    async def forgettings(self) -> int:
        return await asyncio.to_thread(self.forgettings_now)

    def recent(self, endpoint: str, limit: int) -> list[Call]:
        """The latest calls to an endpoint, oldest first. One short query."""
        columns = [one.name for one in fields(Call)]
        rows = self._store.rows(
            f"SELECT {', '.join(columns)} FROM model_calls WHERE endpoint = ? ORDER BY id DESC LIMIT ?",
            (endpoint, limit),
        )
        return [Call(**dict(row)) for row in reversed(rows)]

    def spent_now(self, job: str, since: float) -> float:
        where = "at >= ?" if job == "" else "at >= ? AND job = ?"
        values = (since,) if job == "" else (since, job)
        return float(self._store.value(f"SELECT total(units) FROM model_calls WHERE {where}", values) or 0.0)

    def forgettings_now(self) -> int:
        return int(self._store.meta(FORGETTINGS, "0"))

    def record_now(self, call: Call) -> None:
        row = asdict(call)
        columns = ", ".join(row)
        with self._store.write() as db:
            db.execute(f"INSERT INTO model_calls({columns}) VALUES({', '.join('?' * len(row))})", tuple(row.values()))
            db.execute("DELETE FROM model_calls WHERE at < ?", (call.at - KEEP_DAYS * 86_400,))
