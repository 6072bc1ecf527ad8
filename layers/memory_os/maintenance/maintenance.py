"""Memory's own health: every duty when it is due, once, whoever asks; its state kept; its failure told.

The service's loop and the worker's schedule both ask what is due. A duty runs once at a time, and one that fails is
counted, told to the alert route once an episode, and stops no other.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

from memory_os.errors import AlertError, BadRequest, MemoryOSError
from memory_os.maintenance.alerts import Alert, Alerts
from memory_os.maintenance.canary import Canary
from memory_os.maintenance.copies import Copies
from memory_os.maintenance.decay import Decay
from memory_os.maintenance.duplicates import Duplicates
from memory_os.maintenance.duties import carers, followers, heartbeat, keepers
from memory_os.maintenance.duty import Duty, DutyOutcome, Report, Run
from memory_os.maintenance.full_backup import FullBackup
from memory_os.maintenance.rotation import Rotation
from memory_os.maintenance.states import DutyStates

if TYPE_CHECKING:
    from memory_os.engine import Engine


_log = logging.getLogger(__name__)


class Maintenance:
    """Thread-safe. `halted` lets long duties end at their next step."""

    def __init__(self, engine: Engine) -> None:
        values = engine.settings.values
        self._store = engine.store
        self._home = str(engine.settings.home)
        self.halted = threading.Event()
        self.alerts = Alerts(values.alerts)
        self.canary = Canary(engine)
        self.facts = engine.facts
        self.duplicates = Duplicates(engine.facts)
        self.full = FullBackup(engine, type(engine).open)
        self.states = DutyStates(engine.store)
        self._off = frozenset(values.maintenance.off)
        duties = (
            heartbeat(self.canary),
            *followers(engine, self.halted.is_set),
            *keepers(
                engine,
                Rotation(engine.recaller.ledger, self.states, engine.settings.logs_dir),
                Copies(engine.store, engine.settings.backups_dir),
            ),
            *carers(Decay(engine.store, values.maintenance.archive_after_days), self.duplicates, self.full),
        )
        self._duties = {duty.name: duty for duty in duties}
        self._running = {duty.name: threading.Lock() for duty in duties}

    @property
    def names(self) -> list[str]:
        return list(self._duties)

    def due(self, now: float) -> list[str]:
        """What should run now: its time has come, it isn't switched off, and nobody is at it."""
        return [
            duty.name
            for duty in self._duties.values()
            if self._may_run(duty.name) and not self._running[duty.name].locked() and self.states.is_due(duty, now)
        ]

    def run_due(self, now: float) -> dict[str, DutyOutcome]:
        """Run what is due, one after the other. Returns what came of each."""
        done: dict[str, DutyOutcome] = {}
        for name in self.due(now):
            if self.halted.is_set():
                break
            outcome = self.run_if_due(name, now)
            if outcome is not None:
                done[name] = outcome
        return done

    def run_if_due(self, name: str, now: float) -> DutyOutcome | None:
        """Run a duty unless somebody else has done so meanwhile, or is at it. Raises BadRequest for an unknown name."""
        duty, lock = self._duty(name), self._running[name]
        if not self._may_run(name) or not lock.acquire(blocking=False):
            return None
        try:
            return self._run(duty, Run(now, halted=self.halted.is_set)) if self.states.is_due(duty, now) else None
        finally:
            lock.release()

    def run(self, name: str, now: float, dry_run: bool = False) -> DutyOutcome:
        """Run a duty now, due or not. A failure is in the outcome. Raises BadRequest for an unknown or a running one."""
        duty, lock = self._duty(name), self._running[name]
        if not lock.acquire(blocking=False):
            raise BadRequest(f"{name} is running already.", cure="`memory-os maintain` shows when it is done.")
        try:
            return self._run(duty, Run(now, dry_run, halted=self.halted.is_set))
        finally:
            lock.release()

    def undo(self, run_id: int, now: float) -> str:
        """Take back what a run changed. Raises BadRequest for one that is unknown or taken back already."""
        row = self._store.row("SELECT * FROM duty_runs WHERE id = ?", (run_id,))
        duty = None if row is None else self._duties.get(row["duty"])
        if row is None or duty is None or duty.undo is None:
            raise BadRequest(f"There is no run {run_id} to take back.", cure="`memory-os maintain` lists the runs.")
        if row["undone_at"] is not None:
            raise BadRequest(f"Run {run_id} was taken back already.")
        with self._running[duty.name], self._store.write() as db:
            said = duty.undo(run_id, now)
            db.execute("UPDATE duty_runs SET undone_at = ? WHERE id = ?", (now, run_id))
        return said

    def status(self) -> dict[str, Any]:
        """Every duty: what it does, last run, result, error, duration in ms, next due (epoch seconds), its undo."""
        duties = {}
        for duty in self._duties.values():
            known = self.states.of(duty.name) or {}
            duties[duty.name] = {
                "does": duty.does,
                "every_s": duty.every_s,
                "state": "off" if duty.name in self._off else known.get("state") or "not run yet",
                **{key: known.get(key) for key in ("last_at", "result", "error", "milliseconds", "due_at", "failures")},
                "running": self._running[duty.name].locked(),
                "undo": duty.no_undo or "memory-os maintain --undo RUN",
            }
        return {
            "duties": duties, "reviews": self.duplicates.open_reviews(), "alerts": self.alerts.configured,
            "full_backup_pending": self.full.pending, "holding_forgotten": self.full.holding(),
        }  # fmt: skip

    def overview(self, now: float) -> dict[str, Any]:
        """`status` with what is due, the latest runs that can be taken back, the canary's flights, and the backups."""
        runs = [{key: row[key] for key in ("id", "duty", "at", "result", "undone_at", "steps")} for row in self.states.runs()]
        return {
            **self.status(), "due": self.due(now), "runs": runs, "canary": self.canary.history(),
            "backups": self.full.listed(),
        }  # fmt: skip

    def _may_run(self, name: str) -> bool:
        """By itself. A full backup that went with something forgotten is made again also where the duty is switched off."""
        return name not in self._off or (name == "full_backup" and self.full.pending)

    def _duty(self, name: str) -> Duty:
        duty = self._duties.get(name)
        if duty is None:
            raise BadRequest(f"There is no duty {name!r}.", cure=f"Duties: {', '.join(self._duties)}.")
        return duty

    def _run(self, duty: Duty, run: Run) -> DutyOutcome:
        started = time.perf_counter()
        run_id, report, error = 0, Report(""), ""
        try:
            run_id = 0 if run.dry_run else self.states.begin(duty, run.now)
            report = duty.act(Run(run.now, run.dry_run, run_id, run.halted))
        except (MemoryOSError, sqlite3.Error, OSError) as fault:
            error = str(fault)
        except Exception as fault:  # noqa: BLE001 - kept as the run's failure; it must stop no other duty
            _log.exception("the duty %s met a fault nobody foresaw", duty.name)
            error = f"{type(fault).__name__}: {fault}"
        if report.state == "failed":
            error = report.line
        state = "failed" if error else "dry run" if run.dry_run else report.state
        kept = run_id if run_id and self._kept(run_id) else 0
        outcome = DutyOutcome(
            duty.name, run.now, state, "" if error else report.line, error,
            round((time.perf_counter() - started) * 1e3, 1), kept, report.details,
        )  # fmt: skip
        if not run.dry_run:
            self._finish(duty, outcome)
        return outcome

    def _kept(self, run_id: int) -> bool:
        """Whether the run changed something; one that did not leaves no row."""
        if self.states.changed(run_id):
            return True
        self.states.drop(run_id)
        return False

    def _finish(self, duty: Duty, outcome: DutyOutcome) -> None:
        alerted = bool((self.states.of(duty.name) or {}).get("alerted"))
        if outcome.state == "failed":
            self._store.count(f"{duty.name}_failed", reason=outcome.error)
        self.states.finish(duty, outcome)
        bad = outcome.state != "ok"
        if bad == alerted or not self.alerts.configured:
            return
        try:
            self.alerts.send(Alert.of(outcome, self._home))
        except AlertError as error:
            # Not told yet: the next run that fails tries again.
            self._store.count("alert_failed", reason=error.message)
            return
        self.states.set_alerted(duty, bad)
