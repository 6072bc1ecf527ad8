"""Maintenance: what memory does for its own health, each duty with a dry run, an effect, and an undo or the reason for none."""

from memory_os.maintenance.copies import backups
from memory_os.maintenance.duty import Duty, DutyOutcome
from memory_os.maintenance.maintenance import Maintenance

__all__ = ["Duty", "DutyOutcome", "Maintenance", "backups"]
