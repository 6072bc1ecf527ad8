"""Chats without memory: by the settings, or by the user's `/memory-os off`.

The switch is a file the plugin also reads and writes, so that it works without the service: `off/<digest>` in our
home, of the session id or of the host's key for the chat; switched on again, it is gone, or renamed to
`<digest>.ended-<nanoseconds>`. We keep note of the time between: what was said in it must not come in later from
state.db, when memory is on again.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from memory_os.config import Settings
from memory_os.store import Store

_OPEN = "SELECT digest, since FROM off_periods WHERE until IS NULL"
_ENDED = re.compile(r"^([0-9a-f]{32})\.ended-(\d{1,20})$")


class OffSwitch:
    """Asked for every turn and every recall: one or two `stat`s and one indexed row."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self._folder = settings.home / "off"
        self._by_settings = frozenset(settings.values.recall.off_sessions)

    def is_off(self, session_id: str, at: float | None = None, *, key: str = "") -> bool:
        """Whether a chat, by its session id or the host's key for it, is without memory: now, or at a past time."""
        if session_id in self._by_settings:
            return True
        names = [digest(name) for name in (session_id, key) if name]
        times = [since for since in map(self._since, names) if since is not None]
        if any(at is None or at >= since for since in times):
            return True
        return at is not None and any(self._was_off(name, at) for name in names)

    def was_ever_off(self, session_id: str, key: str = "") -> bool:
        """Whether a chat was without memory at any time: then what stands in its window may have been said meanwhile."""
        if self.is_off(session_id, key=key):
            return True
        names = [digest(name) for name in (session_id, key) if name]
        if any(path.name.partition(".")[0] in names for path in self._folder.glob("*")):
            return True
        marks = ",".join("?" * len(names))
        return self.store.row(f"SELECT 1 FROM off_periods WHERE digest IN ({marks})", tuple(names)) is not None

    def observe(self, now: float) -> None:
        """Note which chats are off, and until when those were that no longer are."""
        present = self._markers()
        with self.store.write() as db:
            known = {row["digest"]: row["since"] for row in db.execute(_OPEN)}
            for name, since in present.items():
                if name not in known:
                    db.execute("INSERT INTO off_periods(digest, since) VALUES(?, ?)", (name, since))
            for name in known.keys() - present.keys():
                db.execute("UPDATE off_periods SET until = ? WHERE digest = ? AND until IS NULL", (now, name))
            for path, name, until in self._ended():
                since = path.stat().st_mtime
                db.execute("DELETE FROM off_periods WHERE digest = ? AND since = ?", (name, since))
                db.execute("INSERT INTO off_periods(digest, since, until) VALUES(?, ?, ?)", (name, since, until))
                path.unlink(missing_ok=True)

    def _was_off(self, name: str, at: float) -> bool:
        found = self.store.row(
            "SELECT 1 FROM off_periods WHERE digest = ? AND since <= ? AND (until IS NULL OR until >= ?)", (name, at, at)
        )
        return found is not None

    def _since(self, name: str) -> float | None:
        try:
            return (self._folder / name).stat().st_mtime
        except FileNotFoundError:
            return None

    def _markers(self) -> dict[str, float]:
        names = [path.name for path in self._files() if "." not in path.name]
        times = {name: self._since(name) for name in names}
        return {name: since for name, since in times.items() if since is not None}

    def _ended(self) -> list[tuple[Path, str, float]]:
        found = [(path, _ENDED.match(path.name)) for path in self._files()]
        return [(path, match[1], int(match[2]) / 1e9) for path, match in found if match]

    def _files(self) -> list[Path]:
        return sorted(self._folder.iterdir()) if self._folder.is_dir() else []


def digest(name: str) -> str:
    """An id as a file name: ids may be any string a client sent, slashes included."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
