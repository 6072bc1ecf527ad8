"""Migrations as sqlite-utils runs them, without its import (0.2 s) where nothing is to be applied.

A layer's `schema.py` registers its steps; the names of those that were applied stand in the library's own table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

    Step = Callable[[Database], None]

__all__ = ["Migrations"]

# The library's own, see `sqlite_utils.Migrations.migrations_table`.
_TABLE = "_sqlite_migrations"


class Migrations:
    """One layer's steps in order; used as a decorator: `@layer()`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._steps: list[Step] = []

    def __call__(self) -> Callable[[Step], Step]:
        def register(step: Step) -> Step:
            self._steps.append(step)
            return step

        return register

    def outstanding(self, connection: sqlite3.Connection) -> bool:
        """Whether some step was not applied to this database yet."""
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_TABLE,)).fetchone() is None:
            return True
        rows = connection.execute(f"SELECT name FROM {_TABLE} WHERE migration_set = ?", (self.name,))
        applied = {name for (name,) in rows}
        return any(step.__name__ not in applied for step in self._steps)

    def apply(self, connection: sqlite3.Connection) -> None:
        """Apply what is outstanding, each step in a transaction with its record."""
        if not self.outstanding(connection):
            return
        import sqlite_utils

        steps = sqlite_utils.Migrations(self.name)
        for step in self._steps:
            steps()(step)
        steps.apply(sqlite_utils.Database(connection))
