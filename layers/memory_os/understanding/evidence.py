"""What an extracted item is held against: what its turn holds, what recall gave to it, what stands in every prompt."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_os.config import Settings
from memory_os.store import Store
from memory_os.understanding.person import Person
from memory_os.understanding.reader import Reader, injected_lines
from memory_os.understanding.scopes import scope_of_key
from memory_os.understanding.transcript import Turn
from memory_os.workspace import Workspace

if TYPE_CHECKING:
    from memory_os.understanding.admission import Evidence

__all__ = ["Gathering"]

_SOUL_CHARS = 100_000


class Gathering:
    def __init__(self, store: Store, reader: Reader, person: Person, workspace: Workspace, settings: Settings) -> None:
        self._store = store
        self._reader = reader
        self._person = person
        self._workspace = workspace
        self._settings = settings

    def of_turns(self, scope: str, session_id: str, turn_ids: Sequence[str]) -> dict[str, Evidence]:
        """What each of these turns holds now. Those that were forgotten, or read by somebody else, are not among it."""
        wanted = set(turn_ids)
        newest = int(self._store.value("SELECT coalesce(max(id), 0) FROM messages"))
        turns = [one for one in self._reader.turns(scope, session_id, newest) if one.id in wanted]
        boot, ours = self._boot(), self._ours(scope)
        with self._store.write() as db:
            return {one.id: _evidence(db, one, scope, boot, ours) for one in turns}

    def _ours(self, scope_key: str) -> list[str]:
        """What a first turn is given besides recalled lines: CREATIVE.md, and the card of the person."""
        scope = scope_of_key(scope_key)
        creative = self._workspace.lines() if scope == self._workspace.scope else []
        return [*creative, *self._person.texts(scope)]

    def _boot(self) -> list[str]:
        """What Hermes puts into every prompt: the entries of its memory files, the lines of SOUL.md."""
        try:
            soul = self._settings.soul_file.read_text("utf-8", "replace")[:_SOUL_CHARS]
        except OSError:
            soul = ""
        return [*self._workspace.entries(), *(line for line in soul.splitlines() if line.strip())]


def _evidence(db: sqlite3.Connection, turn: Turn, scope: str, boot: Sequence[str], ours: Sequence[str]) -> Evidence:
    # Imported with the first delivery: the start of the service has no time for it.
    from memory_os.understanding.admission import Evidence

    row = db.execute(
        "SELECT project, platform FROM messages WHERE turn_id = ? AND scope = ? ORDER BY role DESC", (turn.id, scope)
    ).fetchone()
    project, platform = ("", "") if row is None else (row["project"], row["platform"])
    return Evidence(turn, [*injected_lines(db, turn.id), *ours], boot, project, platform)
