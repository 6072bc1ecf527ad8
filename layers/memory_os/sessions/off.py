"""Chats without memory: by the settings, or by the user's `/memory-os off`.

The switch is a file the plugin also reads and writes, so that it works without the service: `off/<digest>` in our
home, of the session id or of the host's key for the chat; switched on again, it is gone, or renamed to
`<digest>.ended-<nanoseconds>`. We keep note of the time between: what was said in it must not come in later from
state.db, when memory is on again. A renamed marker stays for some weeks, for an older memory.db that is restored.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memory_os import constants
from memory_os.config import Settings
from memory_os.store import Store

_OPEN = "SELECT digest FROM off_periods WHERE until IS NULL"
# How long a renamed marker stays once it is noted. Where memory.db is lost and an older copy restored, nothing else knows what
# was said meanwhile; the oldest full backup kept is four weeks old.
ENDED_KEPT_S = 35 * 86_400.0
_DIGEST = re.compile(r"[0-9a-f]{32}")
_ENDED = re.compile(r"^([0-9a-f]{32})\.ended-(\d{1,20})$")


@dataclass(frozen=True, slots=True)
class _Ended:
    """A renamed marker: a chat that was off between two times (epoch seconds)."""

    path: Path
    digest: str
    since: float
    until: float


class OffSwitch:
    """Asked for every turn and every recall: one or two `stat`s; of a past time, a small folder and some indexed rows too."""

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
        """Note which chats are off, and until when those were that no longer are. Writes only where something changed."""
        noted = self._markers().keys() == {row["digest"] for row in self.store.rows(_OPEN)}
        ahead = self.store.value("SELECT 1 FROM off_periods WHERE until IS NULL AND since > ? LIMIT 1", (now,))
        if noted and not ahead and all(self._is_noted(one) and not _is_outdated(one, now) for one in self._ended()):
            return
        with self.store.write() as db:
            # Looked at again, inside: another may have switched and noted it meanwhile.
            ended, present = self._ended(), self._markers()
            for one in ended:
                _end(db, one)
            known = {row["digest"] for row in db.execute(_OPEN)}
            for name in present.keys() - known:
                db.execute("INSERT INTO off_periods(digest, since) VALUES(?, ?)", (name, present[name]))
            # Switched off by a clock that was set back since: from when on it was off is not known, so from the beginning.
            db.execute("UPDATE off_periods SET since = 0 WHERE until IS NULL AND since > ?", (now,))
            for name in known - present.keys():
                db.execute("UPDATE off_periods SET until = ? WHERE digest = ? AND until IS NULL", (now, name))
        for one in ended:
            if _is_outdated(one, now):
                one.path.unlink(missing_ok=True)

    def _is_noted(self, one: _Ended) -> bool:
        found = self.store.row("SELECT 1 FROM off_periods WHERE digest = ? AND until = ?", (one.digest, one.until))
        return found is not None

    def _was_off(self, name: str, at: float) -> bool:
        """By what is noted, and by the renamed markers that are yet to be."""
        ended = [one for one in self._ended() if one.digest == name]
        if any(one.since <= at <= one.until for one in ended):
            return True
        periods = self.store.rows("SELECT since, until FROM off_periods WHERE digest = ? AND since <= ?", (name, at))
        return any(
            at <= (_end_of(row["since"], ended) if row["until"] is None else row["until"]) for row in periods
        )

    def _since(self, name: str) -> float | None:
        try:
            return (self._folder / name).stat().st_mtime
        except FileNotFoundError:
            return None

    def _markers(self) -> dict[str, float]:
        names = [path.name for path in self._files() if "." not in path.name]
        times = {name: self._since(name) for name in names}
        return {name: since for name, since in times.items() if since is not None}

    def _ended(self) -> list[_Ended]:
        """The renamed markers, the earliest end first."""
        found = []
        for path in self._files():
            match, since = _ENDED.match(path.name), self._since(path.name)
            if match and since is not None:
                until = int(match[2]) / 1e9
                # It ended before it began: the clock was set back meanwhile.
                found.append(_Ended(path, match[1], since if since <= until else 0.0, until))
        return sorted(found, key=lambda one: one.until)

    def _files(self) -> list[Path]:
        return sorted(self._folder.iterdir()) if self._folder.is_dir() else []


def digest(name: str) -> str:
    """An id as a file name: ids may be any string a client sent, slashes included."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def carry_periods(db: sqlite3.Connection, periods: Iterable[tuple[str, float, float | None]]) -> None:
    """Add periods that another copy of this memory knows (digest, since, until), in the caller's transaction.

    An end that only one of the two knows counts, of two ends the later one.
    """
    for name, since, until in periods:
        values = {"digest": name, "since": since, "until": until}
        db.execute(
            "UPDATE off_periods SET until = max(coalesce(until, :until), :until)"
            " WHERE digest = :digest AND since = :since AND :until IS NOT NULL",
            values,
        )
        db.execute(
            "INSERT INTO off_periods(digest, since, until) SELECT :digest, :since, :until WHERE NOT EXISTS"
            " (SELECT 1 FROM off_periods WHERE digest = :digest AND since = :since)",
            values,
        )


def open_periods(store: Store) -> list[tuple[str, float]]:
    """The chats that are noted as off: digest, since (epoch seconds)."""
    return [(row["digest"], row["since"]) for row in store.rows("SELECT digest, since FROM off_periods WHERE until IS NULL")]


def switch_off_again(home: Path, periods: Iterable[tuple[str, float]]) -> int:
    """Write the markers of chats (digest, since) of which this home has none, neither off nor on again. Returns how many."""
    folder, count = home / "off", 0
    for name, since in periods:
        if _DIGEST.fullmatch(name) and not any(folder.glob(f"{name}*")):
            folder.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
            marker = folder / name
            marker.touch(constants.FILE_MODE)
            # Exact to the nanosecond, so that the marker's time is read back as the same number.
            time_ns = int(since) * 10**9 + round((since - int(since)) * 1e9)
            os.utime(marker, ns=(time_ns, time_ns))
            count += 1
    return count


def _end_of(since: float, ended: Iterable[_Ended]) -> float:
    """When a period that is noted without an end was over: a chat has one at a time."""
    return next((one.until for one in ended if one.until >= since), math.inf)


def _is_outdated(one: _Ended, now: float) -> bool:
    return one.until < now - ENDED_KEPT_S


def _end(db: sqlite3.Connection, one: _Ended) -> None:
    """Again it changes nothing: the marker outlives the commit."""
    values = {"digest": one.digest, "since": one.since, "until": one.until}
    closed = db.execute(
        "UPDATE off_periods SET until = :until WHERE digest = :digest AND until IS NULL AND since <= :until", values
    ).rowcount
    if not closed:
        db.execute(
            "INSERT INTO off_periods(digest, since, until) SELECT :digest, :since, :until WHERE NOT EXISTS"
            " (SELECT 1 FROM off_periods WHERE digest = :digest AND until = :until)",
            values,
        )
