"""When each duty ran last and how, in memory.db, so that neither a restart nor a second scheduler runs one twice."""

from __future__ import annotations

import sqlite3
from typing import Any

from memory_os.maintenance.duty import DAY_S, RETRY_S, Duty, DutyOutcome
from memory_os.store import Row, Store

# A duty that comes more often is due after every start anyway, and would write memory.db once a minute for nothing.
KEPT_FROM_S = 600.0
# Runs and the canary's history are kept for half a year: long enough to see when something began.
RUNS_KEPT_DAYS = 180.0


class DutyStates:
    """One row a duty; those that come every few minutes are held in memory. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: dict[str, dict[str, Any]] = {}

    def is_due(self, duty: Duty, now: float) -> bool:
        """Whether it is time. A clock that was set back must not put a duty off for years."""
        known = self.of(duty.name)
        if known is None:
            self._remember(duty, {"due_at": now + duty.first_after_s})
            return duty.first_after_s <= 0
        last, due = known["last_at"], known["due_at"]
        return bool(now >= due or (last is not None and now < last) or due - now > duty.every_s + duty.first_after_s)

    def of(self, name: str) -> dict[str, Any] | None:
        if name in self._recent:
            return self._recent[name]
        row = self._store.row("SELECT * FROM duties WHERE name = ?", (name,))
        return None if row is None else dict(row)

    def begin(self, duty: Duty, now: float) -> int:
        """A row for the run's steps. Returns its id, or 0 for a duty that can't be undone."""
        if duty.undo is None:
            return 0
        with self._store.write() as db:
            cursor = db.execute("INSERT INTO duty_runs(duty, at, state) VALUES(?, ?, 'running')", (duty.name, now))
            return int(cursor.lastrowid or 0)

    def finish(self, duty: Duty, outcome: DutyOutcome) -> None:
        """Keep what came of a run, and when the next is due."""
        before = self.of(duty.name) or {}
        failed = outcome.state == "failed"
        wait = min(duty.every_s, RETRY_S) if failed else duty.every_s
        self._remember(
            duty,
            {
                "last_at": outcome.at, "due_at": outcome.at + wait, "state": outcome.state, "result": outcome.result,
                "error": outcome.error, "milliseconds": outcome.milliseconds,
                "failures": (before.get("failures", 0) or 0) + 1 if failed else 0,
            },
        )  # fmt: skip
        if outcome.run:
            with self._store.write() as db:
                db.execute(
                    "UPDATE duty_runs SET state = ?, result = ? WHERE id = ?",
                    (outcome.state, outcome.result or outcome.error, outcome.run),
                )

    def drop(self, run_id: int) -> None:
        """Forget a run that changed nothing."""
        with self._store.write() as db:
            db.execute("DELETE FROM duty_runs WHERE id = ?", (run_id,))

    def changed(self, run_id: int) -> bool:
        """Whether a run has steps that could be taken back."""
        return bool(self._store.value("SELECT 1 FROM duty_steps WHERE run_id = ? LIMIT 1", (run_id,)))

    def set_alerted(self, duty: Duty, alerted: bool) -> None:
        self._remember(duty, {"alerted": int(alerted)})

    def runs(self, limit: int = 50) -> list[Row]:
        """The latest runs that changed something, newest first, with how many steps each has."""
        return self._store.rows(
            "SELECT r.*, (SELECT count(*) FROM duty_steps s WHERE s.run_id = r.id) AS steps FROM duty_runs r"
            " ORDER BY r.id DESC LIMIT ?",
            (limit,),
        )

    def rotate(self, now: float, *, dry_run: bool = False) -> int:
        """Delete runs and proofs older than half a year. Returns how many."""
        before = now - RUNS_KEPT_DAYS * DAY_S
        count = 0
        for table in ("duty_runs", "canary_runs"):
            count += int(self._store.value(f"SELECT count(*) FROM {table} WHERE at < ?", (before,)))
        if count and not dry_run:
            with self._store.write() as db:
                for table in ("duty_runs", "canary_runs"):
                    db.execute(f"DELETE FROM {table} WHERE at < ?", (before,))
        return count

    def _remember(self, duty: Duty, values: dict[str, Any]) -> None:
        if duty.every_s < KEPT_FROM_S:
            self._recent[duty.name] = {**_EMPTY, **self._recent.get(duty.name, {}), **values}
            return
        known = {**_EMPTY, **(self.of(duty.name) or {}), **values, "name": duty.name}
        with self._store.write() as db:
            _put(db, known)


_EMPTY: dict[str, Any] = {
    "last_at": None, "due_at": 0.0, "state": "", "result": "", "error": "", "milliseconds": None, "failures": 0,
    "alerted": 0,
}  # fmt: skip


def _put(db: sqlite3.Connection, values: dict[str, Any]) -> None:
    names = ("name", *_EMPTY)
    db.execute(
        f"INSERT OR REPLACE INTO duties({', '.join(names)}) VALUES({', '.join(f':{name}' for name in names)})", values
    )
