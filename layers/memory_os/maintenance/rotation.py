"""What only grows is cut: the ledger of recalls and tool calls, the history of duties, the service's raw output."""

from __future__ import annotations

from pathlib import Path

from memory_os import constants
from memory_os.maintenance.duty import Report, Run
from memory_os.maintenance.states import DutyStates
from memory_os.recall.ledger import Ledger

# `logs/service.log` is rotated by its writer. `service.out` is the process's own output: it can only be cut in place.
OUTPUT = "service.out"
OUTPUT_MAX_BYTES = 2 * 1024 * 1024
_KEPT_BYTES = 256 * 1024


class Rotation:
    def __init__(self, ledger: Ledger, states: DutyStates, logs: Path) -> None:
        self._ledger = ledger
        self._states = states
        self._logs = logs

    def act(self, run: Run) -> Report:
        recalls = self._ledger.expired(run.now) if run.dry_run else self._ledger.rotate(run.now)
        runs = self._states.rotate(run.now, dry_run=run.dry_run)
        cut = self._cut(self._logs / OUTPUT, dry_run=run.dry_run)
        verb = "would go" if run.dry_run else "gone"
        return Report(f"{recalls} recalls, {runs} runs of duties, {cut / 1e6:.1f} MB of output {verb}")

    def _cut(self, path: Path, *, dry_run: bool) -> int:
        """Keep the end of an output that grew too long: an earlier copy beside it, the file itself emptied in place."""
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return 0
        if size <= OUTPUT_MAX_BYTES or dry_run:
            return size if size > OUTPUT_MAX_BYTES else 0
        with path.open("rb+") as stream:
            stream.seek(-_KEPT_BYTES, 2)
            end = stream.read()
            earlier = path.with_name(f"{path.name}.1")
            earlier.touch(constants.FILE_MODE)
            earlier.write_bytes(end)
            # The process appends: what it writes from here on stands at the new end.
            stream.truncate(0)
        return size
