"""Layer 7, watching: each look-up of an agent is compared with what its turn was given, before it runs and after.

`check` is asked while a tool call waits, so it reads memory and at most one row; everything is written behind the answer.
It raises nothing: a fault is counted and the call runs.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_os.config import Settings
from memory_os.errors import MemoryOSError
from memory_os.ground_truth.attribution import Action as Seen
from memory_os.ground_truth.calls import TERMINAL_TOOLS, Call, Places, look_up
from memory_os.ground_truth.detection import Given, Kind, Verdict, judge, with_result
from memory_os.ground_truth.enforcement import Action, action_for, held_answer, pointer
from memory_os.ground_truth.turns import Turn, Turns
from memory_os.ground_truth.units import share, units
from memory_os.index import Index, passage_of
from memory_os.memory import SHARED_SCOPE, Passage
from memory_os.recall.flow import Recalled
from memory_os.recall.query import Query
from memory_os.redact import redact
from memory_os.store import Store
from memory_os.text import plain_text, query_terms, token_estimate

F32 = NDArray[np.float32]

# The tool waits for it: what the encoder has not said by then stays unsaid.
_LIKENESS_S = 0.008
_QUESTION_MAX_CHARS = 300
_READ_MAX_CHARS = 2000
_RESULT_MAX_CHARS = 20_000
_WINDOW_MAX = 60
_HANDLE = re.compile(r"\b([wfsbd]:[a-z2-7]{8})\b")
# Of a call's units that a passage must have to be what was looked for.
_MISSED_SHARE = 0.75
_MISSES_LOOKED_AT = 5
_FAULTS = (MemoryOSError, sqlite3.Error, OSError, ValueError, RuntimeError)


@dataclass(frozen=True, slots=True)
class _Finished:
    """A look-up to be put on record."""

    call: Call
    verdict: Verdict
    action: str
    payload: Mapping[str, Any]
    scope: str
    readable: Sequence[str]
    given: Sequence[Given]
    result: str
    check_ms: float


class Watch:
    """Thread-safe. `embed` is set once the model is loaded."""

    def __init__(self, store: Store, index: Index, settings: Settings) -> None:
        self._store = store
        self._index = index
        self.mode: str = settings.values.ground_truth.mode
        self.turns = Turns()
        self.embed: Callable[[str], F32] | None = None
        self.comparable: Callable[[float], float] = float
        self._places = _places(settings)
        self._encoder = ThreadPoolExecutor(1, "likeness")
        self._writer = ThreadPoolExecutor(1, "look-ups")

    # -- a turn ----------------------------------------------------------------------------------------------------

    def began(self, query: Query, recalled: Recalled) -> None:
        """Remember what a turn was given."""
        if not query.turn_id:
            return
        lines = [given_of(line.scored.passage, line.text, line.scored.candidate.cosine) for line in recalled.lines]
        window = sorted(query.visible.handles)[-_WINDOW_MAX:]
        if lines or window:
            self.turns.add(Turn(query.turn_id, query.scope.key, query.text, lines, window, query.scope.readable))

    def check(self, payload: Mapping[str, Any], scope: str) -> dict[str, Any]:
        """Before a call, or with its `result` after it: `{"verdict", "action", "text"}`; `run` whenever in doubt."""
        started = time.perf_counter()
        try:
            if payload.get("result") is not None:
                return self._after(payload, scope, started)
            return self._before(payload, scope, started)
        except _FAULTS as error:
            self.fault(error)
            return {"verdict": "", "action": Action.RUN.value, "text": ""}

    def observe(self, payload: Mapping[str, Any], scope: str) -> str:
        """A finished tool call that nobody waits for. Returns its verdict, "" for what looks nothing up."""
        if payload.get("event") != "post_tool":
            return ""
        try:
            return str(self._after(payload, scope, time.perf_counter())["verdict"])
        except _FAULTS as error:
            self.fault(error)
            return ""

    def wait_written(self) -> None:
        """Wait until everything observed so far is on record."""
        self._writer.submit(lambda: None).result()

    def close(self) -> None:
        self._encoder.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)

    # -- before and after ------------------------------------------------------------------------------------------

    def _before(self, payload: Mapping[str, Any], scope: str, started: float) -> dict[str, Any]:
        call = look_up(_tool(payload), _arguments(payload), self._places)
        turn = self.turns.get(plain_text(payload.get("turn_id")), scope)
        # An acting tool, a subagent, a turn that expired: nothing was given here, nothing is held.
        if call is None or turn is None:
            return {"verdict": "", "action": Action.RUN.value, "text": ""}
        given = self._given(turn)
        verdict = self._judged(call, turn.user_message, given)
        action = action_for(self.mode, verdict, held=turn.held, call_key=call.key)
        if action is not Action.HOLD or not turn.hold(call.key, verdict.handle):
            return {"verdict": verdict.kind.value, "action": Action.RUN.value, "text": ""}
        text = held_answer(verdict.handle, given)
        self._record(_Finished(call, verdict, "held", payload, scope, turn.readable, given, "", _since(started)))
        return {"verdict": verdict.kind.value, "action": Action.HOLD.value, "text": text}

    def _after(self, payload: Mapping[str, Any], scope: str, started: float) -> dict[str, Any]:
        nothing = {"verdict": "", "action": Action.RUN.value, "text": ""}
        tool, arguments = _tool(payload), _arguments(payload)
        result = plain_text(payload.get("result"))[:_RESULT_MAX_CHARS]
        turn = self.turns.get(plain_text(payload.get("turn_id")), scope)
        call = look_up(tool, arguments, self._places)
        if turn is not None:
            if not turn.first_time(plain_text(payload.get("tool_call_id"))):
                return nothing
            turn.saw(Seen(tool, _as_text(arguments), result if _shows_state(tool, call) else ""))
        if call is None:
            return nothing
        given = self._given(turn) if turn is not None else self._from_ledger(plain_text(payload.get("turn_id")), scope)
        verdict = with_result(self._judged(call, turn.user_message if turn else "", given), result, given)
        pointed = turn is not None and self.mode == "point" and action_for(self.mode, verdict, held=(), call_key="") is Action.POINT
        # Of a turn that is no longer known, neither are the other names of its person.
        readable = (scope, SHARED_SCOPE) if turn is None else turn.readable
        done = "pointed" if pointed else ""
        self._record(_Finished(call, verdict, done, payload, scope, readable, given, result, _since(started)))
        text = pointer(verdict.handle, given) if pointed else ""
        return {"verdict": verdict.kind.value, "action": (Action.POINT if pointed else Action.RUN).value, "text": text}

    def _judged(self, call: Call, user_message: str, given: Sequence[Given]) -> Verdict:
        vectors = _Vectors(self, call.question, given)
        return judge(call, user_message, given, likeness=vectors.cosine, changed_at=_changed_at(call.paths))

    def _given(self, turn: Turn) -> list[Given]:
        """The turn's lines, and those of earlier turns that are still in the window."""
        if turn.given is None:
            shown = {line.handle for line in turn.lines}
            window = [handle for handle in turn.window if handle not in shown]
            turn.given = [*turn.lines, *self._by_handles(window, turn.readable)]
        return turn.given

    def _by_handles(self, handles: Sequence[str], scopes: Sequence[str]) -> list[Given]:
        named, readable = (",".join("?" * len(values)) for values in (handles, scopes))
        rows = self._store.rows(
            f"SELECT * FROM passages WHERE handle IN ({named}) AND scope IN ({readable})", (*handles, *scopes)
        )
        return [given_of(passage_of(row), row["text"], visible_only=True) for row in rows]

    def _from_ledger(self, turn_id: str, scope: str) -> list[Given]:
        """For a turn that this process no longer knows."""
        rows = self._store.rows(
            "SELECT p.* FROM recall_lines l JOIN recalls r ON r.turn_id = l.turn_id JOIN passages p ON p.id = l.passage_id"
            " WHERE l.turn_id = ? AND l.shown = 1 AND r.scope = ? ORDER BY l.rank",
            (turn_id, scope),
        )
        return [given_of(passage_of(row), row["text"]) for row in rows]

    # -- records ---------------------------------------------------------------------------------------------------

    def _record(self, finished: _Finished) -> None:
        self._writer.submit(self._write, finished)

    def _write(self, finished: _Finished) -> None:
        try:
            missed = self._missed(finished)
            with self._store.write() as db:
                cursor = db.execute(
                    "INSERT INTO tool_calls(at, session_id, turn_id, scope, tool, query, verdict, milliseconds, action,"
                    " handle, reason, call_key, result_tokens, check_ms) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    _row_of(finished),
                )
                if missed is not None:
                    db.execute(
                        "INSERT INTO misses(at, turn_id, call_id, passage_id) VALUES(?, ?, ?, ?)",
                        (time.time(), plain_text(finished.payload.get("turn_id")), cursor.lastrowid, missed.id),
                    )
            if finished.verdict.kind is Kind.REDISCOVERY:
                self._store.count("rediscoveries", reason=finished.call.tool)
        except _FAULTS as error:
            self.fault(error)

    def _missed(self, finished: _Finished) -> Passage | None:
        """What a look-up found that recall had not given, though it answers the call: a fault of recall's."""
        asked = units(finished.call.question)
        if finished.verdict.kind is not Kind.NEW or not asked or not finished.result.strip():
            return None
        shown = {line.handle for line in finished.given}
        for passage in self._found(finished):
            if passage.handle in shown or passage.flagged:
                continue
            if share(asked, units(f"{passage.title} {passage.text}")) >= _MISSED_SHARE:
                return passage
        return None

    def _found(self, finished: _Finished) -> list[Passage]:
        """Passages that stand in a result: named by their handles, else the question's best hits whose text is there."""
        scopes = finished.readable
        handles = list(dict.fromkeys(_HANDLE.findall(finished.result)))[:_MISSES_LOOKED_AT]
        if handles:
            named = (self._index.by_handle(handle, scopes) for handle in handles)
            return [passage for passage in named if passage is not None]
        hits = self._index.lexical(query_terms(finished.call.question), scopes, limit=_MISSES_LOOKED_AT, now=time.time())
        passages = self._index.passages([hit.pk for hit in hits])
        said = _plain(finished.result)
        return [passages[hit.pk] for hit in hits if hit.pk in passages and _plain(passages[hit.pk].text)[:80] in said]

    def fault(self, error: BaseException) -> None:
        try:
            self._store.count("ground_truth_failed", reason=f"{type(error).__name__}: {error}")
        except (MemoryOSError, sqlite3.Error):
            # The database is full or gone: whoever writes next says so.
            return

    def encode(self, question: str) -> F32 | None:
        """The vector of a question, within the time there is, or None."""
        if self.embed is None:
            return None
        try:
            vector = self._encoder.submit(self.embed, question)
        except RuntimeError:  # closed meanwhile
            return None
        try:
            return vector.result(_LIKENESS_S)
        except (FutureTimeout, MemoryOSError, RuntimeError):
            vector.cancel()  # nobody waits for it any more; those behind it are not to wait for nothing
            return None

    def vector_of(self, line: Given) -> F32 | None:
        """The stored vector of a line's passage."""
        row = self._store.row(
            "SELECT e.vector FROM passages p JOIN embeddings e ON e.hash = p.embed_hash AND e.fingerprint = ? WHERE p.id = ?",
            (self._index.fingerprint, line.passage_id),
        )
        return None if row is None else np.frombuffer(row["vector"], "<f2").astype(np.float32)


class _Vectors:
    """The call's question and the lines as vectors, only when asked for, and only once."""

    def __init__(self, watch: Watch, question: str, given: Sequence[Given]) -> None:
        self._watch = watch
        self._question = question
        self._given = given
        self._asked: F32 | None = None
        self._tried = False

    def cosine(self, line: int) -> float | None:
        if not self._tried:
            self._tried = True
            self._asked = self._watch.encode(self._question[:_QUESTION_MAX_CHARS])
        if self._asked is None:
            return None
        vector = self._watch.vector_of(self._given[line])
        return None if vector is None else self._watch.comparable(float(self._asked @ vector))


def given_of(passage: Passage, text: str, cosine: float = 0.0, *, visible_only: bool = False) -> Given:
    return Given(
        handle=passage.handle, text=text, at=passage.created_at, layer=passage.layer.value, passage_id=passage.id,
        cosine=cosine, title=passage.title, visible_only=visible_only,
    )  # fmt: skip


def _places(settings: Settings) -> Places:
    folders = {settings.vault, settings.fabric_dir, settings.memories_dir}
    address = settings.values.servers.qdrant_url.partition("://")[2].strip("/")
    return Places(tuple(sorted(map(str, folders))), (address,) if address else ())


def _tool(payload: Mapping[str, Any]) -> str:
    return plain_text(payload.get("tool_name") or payload.get("tool"))


def _arguments(payload: Mapping[str, Any]) -> object:
    return payload.get("arguments") or payload.get("args") or {}


def _as_text(arguments: object) -> str:
    if isinstance(arguments, Mapping):
        return " ".join(plain_text(value) for value in arguments.values())[:_READ_MAX_CHARS]
    return plain_text(arguments)[:_READ_MAX_CHARS]


def _shows_state(tool: str, call: Call | None) -> bool:
    """Whether a result speaks of the system itself: a terminal's, unless it only read our own memory back."""
    return tool.casefold() in TERMINAL_TOOLS and call is None


def _changed_at(paths: Sequence[str]) -> float:
    """When the newest of these files was changed; 0 for what isn't there."""
    newest = 0.0
    for path in paths[:4]:
        try:
            newest = max(newest, Path(path.strip("'\"")).expanduser().stat().st_mtime)
        except (OSError, RuntimeError, ValueError):
            continue
    return newest


def _row_of(finished: _Finished) -> tuple[Any, ...]:
    payload, call = finished.payload, finished.call
    took = payload.get("milliseconds")
    # Redacted before it is cut: half a secret has no shape to be known by.
    question = redact(call.question[:_READ_MAX_CHARS])[0][:_QUESTION_MAX_CHARS]
    return (
        time.time(), plain_text(payload.get("session_id")), plain_text(payload.get("turn_id")), finished.scope, call.tool,
        question, finished.verdict.kind.value, float(took) if isinstance(took, (int, float)) else None, finished.action,
        finished.verdict.handle, finished.verdict.reason, hashlib.sha256(call.key.encode("utf-8", "replace")).hexdigest()[:16],
        _tokens(payload, finished.result), finished.check_ms,
    )  # fmt: skip


def _tokens(payload: Mapping[str, Any], result: str) -> int:
    """What the result costs: of a cut one, by the length it had."""
    length = payload.get("result_chars")
    whole = length if isinstance(length, int) and length > len(result) else len(result)
    return round(token_estimate(result) * whole / len(result)) if result else 0


def _plain(text: str) -> str:
    return " ".join(text.replace('\\"', '"').replace("\\n", " ").split())


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
