"""Capture: what the plugin spooled becomes memory. Each record may come twice; the second time changes nothing.

Before anything is stored, our own block is stripped from it, secrets are redacted, and a wish not to be remembered is
obeyed for the whole turn. The plugin filters too; what is kept is decided here.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from memory_os.config import Settings
from memory_os.errors import BadRequest
from memory_os.facts import Fact, Facts, Statement
from memory_os.memory import Author, Scope, content_hash
from memory_os.recall.ledger import Missed
from memory_os.redact import redact
from memory_os.sessions import CapturedTurn, Sessions
from memory_os.sessions.archive import sane_time
from memory_os.sessions.cleaning import clean, is_background, storable
from memory_os.sessions.delegation import delegated_text, delegation_id
from memory_os.sessions.scopes import scope_for
from memory_os.sessions.taken_back import take_back
from memory_os.store import Store, tombstones
from memory_os.text import plain_text
from memory_os.text.fence import strip_fence
from memory_os.text.optout import wants_no_memory
from memory_os.text.withdrawal import orders_forgetting, takes_back

__all__ = ["Capture", "Captured", "strip_fence", "wants_no_memory"]

VERSION = 1
_TARGETS = {"memory": "general", "user": "user_pref"}
# What a recall that got no answer in time is counted as, by what waited.
_MISSED = ("recall", "tool")


@dataclass(frozen=True, slots=True)
class Captured:
    """What became of a record. `outcome`: stored, known (it came before), skipped (with the reason), counted."""

    outcome: str
    reason: str = ""


class Capture:
    """Takes spool records, one at a time, from any thread."""

    def __init__(self, store: Store, sessions: Sessions, facts: Facts, settings: Settings) -> None:
        self.store = store
        self.sessions = sessions
        self.facts = facts
        self.settings = settings
        # Told before the miss is counted: a record whose correction failed comes again.
        self.came_late: Callable[[Missed], None] = lambda _: None

    def take(self, record: Mapping[str, Any]) -> Captured:
        """Store one record. Raises BadRequest for one that no version of the plugin writes; StoreError stays retryable."""
        if record.get("v") != VERSION:
            raise BadRequest(f"A spool record of version {record.get('v')!r}; this service reads {VERSION}.")
        kind = record.get("type")
        if kind == "turn":
            captured = self._turn(record)
        elif kind == "memory_write":
            captured = self._memory_write(record)
        elif kind == "delegation":
            captured = self._delegation(record)
        elif kind == "compaction":
            captured = self._compaction(record)
        elif kind == "missed":
            captured = self._missed(record)
        else:
            raise BadRequest(f"A spool record of an unknown type {str(kind)[:40]!r}.")
        if captured.outcome == "skipped":
            self.store.count("capture_skipped", reason=f"{kind}: {captured.reason}")
        return captured

    # -- turns -----------------------------------------------------------------------------------------------------

    def _turn(self, record: Mapping[str, Any]) -> Captured:
        turn = _turn_of(record, self.settings.profile)
        refused = self._refused(turn.platform, turn.session_id, turn.at, _string(record, "session_key"))
        if refused:
            return Captured("skipped", refused)
        if not turn.user_text.strip() and not turn.assistant_text.strip():
            return Captured("skipped", "nothing was said")
        if wants_no_memory(clean("user", turn.user_text).text):
            return Captured("skipped", "asked not to be remembered")
        if self._takes_back(turn, _string(record, "before")):
            return Captured("skipped", "took back what was said before")
        return Captured("stored") if self.sessions.add_turn(turn) else Captured("known")

    def _takes_back(self, turn: CapturedTurn, before: str) -> bool:
        """Obey "forget that", where it is all that was said and the turn before it is surely the one that is meant."""
        said = clean("user", turn.user_text)
        if not before or not orders_forgetting(said.text):
            return False
        scope = scope_for(turn.user, turn.profile, self.settings.values.scopes.aliases)
        order = (said.hash, clean("assistant", turn.assistant_text).hash)
        with self.store.write() as db:
            return take_back(self.sessions.archive, db, turn.session_id, scope, before, order, turn.at)

    def _refused(self, platform: str, session_id: str, at: float, session_key: str) -> str:
        """Why nothing of this session is kept, or ""."""
        if not self.settings.values.capture.enabled:
            return "capture.enabled is false"
        if is_background(platform, session_id):
            return "not a person's turn"
        # Here too, since nothing else may ever look: without an import of history a period that is over stood open.
        self.sessions.off.observe(time.time())
        return "memory is off in this session" if self.sessions.off.is_off(session_id, at, key=session_key) else ""

    # -- delegated work, and what the host is about to compact --------------------------------------------------------

    def _delegation(self, record: Mapping[str, Any]) -> Captured:
        """What a subagent did: said by the agent, in its parent's session. It shares the fate of the turn it served."""
        turn = _turn_of(record, self.settings.profile)
        refused = self._refused(turn.platform, turn.session_id, turn.at, _string(record, "session_key"))
        if refused:
            return Captured("skipped", refused)
        if wants_no_memory(clean("user", _string(record, "asked")).text):
            return Captured("skipped", "asked not to be remembered")
        told = delegated_text(_string(record, "task"), _string(record, "result"), _string(record, "status"))
        if not told:
            return Captured("skipped", "nothing was said")
        name = delegation_id(_string(record, "turn_id"), _string(record, "child_session_id") or turn.turn_id)
        stored = self.sessions.add_turn(replace(turn, turn_id=name, user_text="", assistant_text=told))
        return Captured("stored" if stored else "known")

    def _compaction(self, record: Mapping[str, Any]) -> Captured:
        """Turns of the window that nobody captured. Whose they are is sure only at this machine, where one person speaks."""
        session_id, key, at = _string(record, "session_id"), _string(record, "session_key"), _time(record)
        refused = self._refused(_string(record, "platform"), session_id, at, key)
        if not refused and _string(record, "user") != "local":
            refused = "others may have said it"
        if not refused and self.sessions.off.was_ever_off(session_id, key):
            refused = "memory was off in this session"
        if refused:
            return Captured("skipped", refused)
        turns = [_turn_of({**record, **one, "turn_id": ""}, self.settings.profile) for one in _pairs(record.get("turns"))]
        stored = sum(self._missing(turn, after) for turn, after in zip_longest(turns, turns[1:]))
        if stored:
            self.store.count("compaction_captured", stored, reason=session_id)
        return Captured("stored") if stored else Captured("known")

    def _missing(self, turn: CapturedTurn, after: CapturedTurn | None) -> bool:
        """Store one turn of the window, unless it is known, was forgotten, or was not to be remembered."""
        said = clean("user", turn.user_text)
        took_back = after is not None and takes_back(clean("user", after.user_text).text)
        if not said.text or took_back or takes_back(said.text) or wants_no_memory(said.text):
            return False
        hashes = (said.hash, clean("assistant", turn.assistant_text).hash)
        scope = scope_for(turn.user, turn.profile, self.settings.values.scopes.aliases).key
        if self.sessions.knows(turn.session_id, scope, hashes):
            return False
        return self.sessions.add_turn(replace(turn, turn_id=f"compacted:{turn.session_id}:{said.hash}"))

    # -- the host's memory tool ------------------------------------------------------------------------------------

    def _memory_write(self, record: Mapping[str, Any]) -> Captured:
        """Mirror an entry of MEMORY.md or USER.md into facts: added, replaced (the old one is history) or removed."""
        action, target = _string(record, "action"), _string(record, "target") or "memory"
        if action not in ("add", "replace", "remove") or target not in _TARGETS:
            raise BadRequest(f"A memory write with action {action[:40]!r} on {target[:40]!r}.")
        at = _time(record)
        session_id = _string(record, "session_id")
        refused = self._refused(_string(record, "platform"), session_id, at, _string(record, "session_key"))
        if refused:
            return Captured("skipped", refused)
        content = strip_fence(_string(record, "content")).strip()
        scope = self._scope(record)
        old = self._mirrored(_string(record, "old_text"), target, scope, at) if action != "add" else None
        if action == "remove":
            return self._remove(old, at)
        if not content:
            return Captured("skipped", "an empty entry")
        if self._was_forgotten(content, scope, at):
            return Captured("skipped", "forgotten since")
        statement = Statement(
            content, scope, category=_TARGETS[target], author=Author.AGENT, origin=f"memory:{target}", session_id=session_id
        )
        try:
            kept = self.facts.state(statement, at) if old is None else self.facts.correct(old, statement, at)
        except BadRequest as refusal:
            return Captured("skipped", refusal.message)
        return Captured("known" if kept.merged else "stored")

    def _remove(self, old: Fact | None, at: float) -> Captured:
        if old is None:
            return Captured("known", "no fact mirrors that entry")
        self.facts.retire(old, at)
        return Captured("stored")

    def _mirrored(self, old_text: str, target: str, scope: Scope, at: float) -> Fact | None:
        """The fact that mirrors an entry, by its text or, as the host's tool takes it, by a unique part of it."""
        wanted = strip_fence(old_text).strip()
        if not wanted:
            return None
        found = self.facts.find(wanted, scope)
        if found is not None:
            return found
        candidates = [
            fact
            for fact in self.facts.current(scope, at, category=_TARGETS[target])
            if fact.origin == f"memory:{target}" and wanted in fact.text
        ]
        return candidates[0] if len(candidates) == 1 else None

    def _was_forgotten(self, text: str, scope: Scope, at: float) -> bool:
        """By the text as a fact keeps it: without its secrets."""
        with self.store.write() as db:
            said = content_hash(redact(text)[0])
            return any(tombstones.is_forgotten(db, one, said, at) for one in scope.own)

    def _scope(self, record: Mapping[str, Any]) -> Scope:
        profile = _string(record, "profile") or self.settings.profile
        return scope_for(_string(record, "user"), profile, self.settings.values.scopes.aliases)

    # -- what came too late ----------------------------------------------------------------------------------------

    def _missed(self, record: Mapping[str, Any]) -> Captured:
        what = _string(record, "what")
        if what not in _MISSED:
            raise BadRequest(f"A missed {what[:40]!r}; known are {' and '.join(_MISSED)}.")
        milliseconds = record.get("milliseconds")
        milliseconds = float(milliseconds) if isinstance(milliseconds, (int, float)) else None
        reason = _string(record, "reason") + ("" if milliseconds is None else f" after {milliseconds:.0f} ms")
        turn_id = _string(record, "turn_id")
        if what == "recall" and turn_id:
            session_id, platform = _string(record, "session_id"), _string(record, "platform")
            scope = self._scope(record).key
            self.came_late(Missed(turn_id, session_id, scope, platform, _time(record), reason, milliseconds or 0.0))
        self.store.count("recall_missed" if what == "recall" else "tool_missed", reason=reason)
        return Captured("counted")


def _turn_of(record: Mapping[str, Any], profile: str) -> CapturedTurn:
    session_id, at = _string(record, "session_id"), _time(record)
    user_text = plain_text(record.get("user_message"))
    assistant_text = plain_text(record.get("assistant_response"))
    return CapturedTurn(
        turn_id=_string(record, "turn_id") or _derived_id(record),
        session_id=session_id,
        parent_session_id=_string(record, "parent_session_id"),
        platform=_string(record, "platform"),
        user=_string(record, "user") or "local",
        profile=_string(record, "profile") or profile,
        project=_string(record, "project"),
        model=_string(record, "model"),
        at=at,
        user_text=user_text,
        assistant_text=assistant_text,
    )


def _pairs(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _derived_id(record: Mapping[str, Any]) -> str:
    """A turn without an id (a host that gives none) is known by what it holds, so that it still is stored once."""
    parts = [repr(record.get(name)) for name in ("session_id", "at", "user_message", "assistant_response")]
    return f"derived:{hashlib.sha256(chr(10).join(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _string(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return storable(value) if isinstance(value, str) else ""


def _time(record: Mapping[str, Any]) -> float:
    value = record.get("at")
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    return sane_time(number)
