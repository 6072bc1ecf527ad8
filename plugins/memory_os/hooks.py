"""The hooks. Each is synchronous, takes any keyword, returns in its budget and never raises.

What one does beyond reading its arguments is: pre_llm_call asks for memory under a deadline, post_llm_call and the
mirror of the `memory` tool write one spool file, a session's start and a finished search queue a line for the courier
(`lookups`: as the host's tool middleware where it has one).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import courier, delegation, lookups, mirror, recall, spool, turn, window
from .faults import guarded, note_fault
from .paths import Home, current_home
from .state import Identity, shared

_Hook = Callable[..., Any]

# The wire takes 4 MB; no question needs more of a message than this to be understood.
_QUESTION_MAX_BYTES = 1_000_000


@guarded
def pre_llm_call(
    session_id: Any = "", turn_id: Any = "", user_message: Any = None, conversation_history: Any = None, **more: Any
) -> dict[str, str] | None:
    """Recall for this turn; `{"context": block}`, or None when nothing is to be said."""
    home = current_home()
    identity = turn.identify(
        home,
        session_id=_text(session_id),
        platform=_text(more.get("platform")),
        sender_id=_text(more.get("sender_id")),
        turn_id=_text(turn_id),
        parent_session_id=_text(more.get("parent_session_id")),
    )
    text = turn.user_text(user_message) if identity.kept else ""
    visible = window.visible(conversation_history, user_message) if text else window.Window()
    identity = replace(identity, asked=turn.edges(text), before=visible.before)
    _remember(home, _text(session_id), identity)
    if not text or turn.is_off(home, identity, _text(session_id)):
        return None
    _note_compaction(home, identity, visible)
    shared().asked.put((str(home.hermes), identity.user, identity.key), identity.turn_id)
    context = recalled(home, question(identity, text, visible, first_turn=bool(more.get("is_first_turn"))))
    return {"context": context} if context else None


@guarded
def post_llm_call(
    session_id: Any = "", turn_id: Any = "", user_message: Any = None, assistant_response: Any = None, **more: Any
) -> None:
    """Put the turn on disk, once, and tell the service without waiting."""
    home = current_home()
    session, this_turn = _text(session_id), _text(turn_id)
    identity = turn.identity_of(home, session, turn_id=this_turn, platform=_text(more.get("platform")))
    text = turn.user_text(user_message)
    if not identity.kept or turn.unattended(session, identity.platform) or not text:
        return
    if turn.is_off(home, identity, session):
        return
    if this_turn and not shared().captured.add((str(home.hermes), this_turn), True):
        return
    if not capture_turn(home, identity, session, this_turn, text, assistant_response, model=_text(more.get("model"))):
        shared().captured.drop((str(home.hermes), this_turn))


@guarded
def on_session_start(session_id: Any = "", **more: Any) -> None:
    """Wake the service while the host still builds its prompt."""
    if not turn.unattended(_text(session_id), _text(more.get("platform"))):
        courier.nudge(current_home())


@guarded
def on_session_end(session_id: Any = "", turn_id: Any = "", **more: Any) -> None:
    """The end of a turn, not of a session: a turn that was interrupted or failed has no answer to wait for."""
    home = current_home()
    shared().turns.drop((str(home.hermes), _text(turn_id)))


@guarded
def on_session_finalize(session_id: Any = "", **more: Any) -> None:
    """Tell the service, which waits for nothing more then. It may repeat, never come, or run on the event loop."""
    _session_over(_text(session_id), _text(more.get("platform")))


@guarded
def on_session_reset(**more: Any) -> None:
    """A new session began for whoever had the old one. May run on the gateway's event loop: nothing that waits."""
    turn.follow(current_home(), _text(more.get("old_session_id")), _text(more.get("new_session_id")), same_chat=False)
    _session_over(_text(more.get("old_session_id")), _text(more.get("platform")))


def _session_over(session_id: str, platform: str) -> None:
    if session_id and not turn.unattended(session_id, platform):
        courier.observe(current_home(), "session_over", session_id=session_id)


@guarded
def subagent_start(child_session_id: Any = "", child_goal: Any = None, **more: Any) -> None:
    """Keep what a subagent is to do; the hook of its end is not told."""
    delegation.begun(current_home(), _text(child_session_id), child_goal)


@guarded
def subagent_stop(
    parent_session_id: Any = "", parent_turn_id: Any = "", child_session_id: Any = "", child_summary: Any = None, **more: Any
) -> None:
    """Put delegated work and its result on disk, as the parent's."""
    home, session, child = current_home(), _text(parent_session_id), _text(child_session_id)
    identity = turn.identity_of(home, session, turn_id=_text(parent_turn_id))
    delegated(home, identity, session, child, delegation.ended(home, child), child_summary, _text(more.get("child_status")))


@guarded
def pre_tool_call(tool_name: Any = "", args: Any = None, **more: Any) -> dict[str, str] | None:
    """On a host with tool middleware nothing, at once; else a search for what was given may be answered here."""
    call = None if shared().middleware else lookups.concerning(tool_name, args, more)
    answer = lookups.held(call) if call is not None and call.mode == lookups.HOLD else ""
    return {"action": "block", "message": answer} if answer else None


@guarded
def post_tool_call(tool_name: Any = "", args: Any = None, result: Any = None, **more: Any) -> None:
    """Mirror what the host's `memory` tool wrote; where no middleware does it, tell the service of a search."""
    name = _text(tool_name)
    if name == "memory" and more.get("status", "ok") == "ok":
        home, session = current_home(), _text(more.get("session_id"))
        found = mirror.writes(args, result)
        if found:
            mirror_memory(home, session, turn.identity_of(home, session, turn_id=_text(more.get("turn_id"))), found)
    elif not shared().middleware and more.get("status", "ok") != "blocked":
        call = lookups.concerning(tool_name, args, more)
        if call is not None and call.mode != lookups.POINT:
            lookups.finished(call, result, _seconds(more.get("duration_ms")))


@guarded
def transform_tool_result(tool_name: Any = "", args: Any = None, result: Any = None, **more: Any) -> str | None:
    """Where no middleware does it: put the pointer before a result that repeats what was given."""
    call = None if shared().middleware else lookups.concerning(tool_name, args, more)
    if call is None or call.mode != lookups.POINT:
        return None
    told = lookups.finished(call, result, _seconds(more.get("duration_ms")))
    return told if isinstance(told, str) and told != result else None


HOOKS: dict[str, _Hook] = {
    hook.__name__: hook
    for hook in (
        pre_llm_call,
        post_llm_call,
        on_session_start,
        on_session_end,
        on_session_finalize,
        on_session_reset,
        subagent_start,
        subagent_stop,
        pre_tool_call,
        post_tool_call,
        transform_tool_result,
    )
}


# -- shared with the façade ----------------------------------------------------------------------------------------


def question(identity: Identity, text: str, visible: window.Window, *, first_turn: bool) -> dict[str, Any]:
    """The body of a recall request for the turn of `identity`."""
    return {
        "v": 1,
        "turn_id": identity.turn_id,
        "session_id": identity.session_id,
        "parent_session_id": identity.parent_session_id,
        "platform": identity.platform,
        "user": identity.user,
        "profile": identity.profile,
        "project": identity.project,
        "user_message": _cut(text),
        "first_turn": first_turn,
        "visible": visible.as_json(),
        "before": visible.before,
        "at": time.time(),
    }


def recalled(home: Home, payload: dict[str, Any]) -> str:
    """The block for a recall request; empty when there is none or it came too late, which is put on record."""
    try:
        answer = recall.ask(home, payload)
    except recall.Missed as missed:
        record_missed(home, "recall", missed.reason, missed.seconds, **_asked_for(payload))
        # Told at once: the service may have found something, and is not to hold a tool call for what this turn never got.
        courier.nudge(home)
        return ""
    context = answer.get("context")
    shown = context if isinstance(context, str) else ""
    visible = payload["visible"].get("handles")
    lookups.remember(home, payload["turn_id"], answer.get("mode"), given=bool(shown or visible))
    return shown


def capture_turn(
    home: Home, identity: Identity, session_id: str, turn_id: str, text: str, answer: Any, *, model: str = ""
) -> bool:
    """Spool one finished turn; False if the disk refused it."""
    return write_record(
        home,
        {
            "type": "turn",
            "turn_id": turn_id,
            "session_id": session_id,
            **identity.origin(),
            "model": model,
            "before": identity.before,
            "user_message": text,
            "assistant_response": turn.plain_text(answer)[: turn.MESSAGE_MAX_CHARS],
        },
    )


def delegated(
    home: Home, identity: Identity, session_id: str, child_session_id: str, task: Any, result: Any, status: str = ""
) -> None:
    """Spool what a subagent did for a session that may be captured."""
    if not identity.kept or turn.unattended(session_id, identity.platform) or turn.is_off(home, identity, session_id):
        return
    record = delegation.record(identity, session_id, child_session_id, task, result, status)
    if record is not None:
        write_record(home, record)


def mirror_memory(home: Home, session_id: str, identity: Identity, writes: list[mirror.Write]) -> None:
    """Spool what the `memory` tool wrote in a session that may be captured."""
    if not identity.kept or turn.unattended(session_id, identity.platform) or turn.is_off(home, identity, session_id):
        return
    for write in writes:
        write_record(
            home,
            {
                "type": "memory_write",
                "session_id": session_id,
                "session_key": identity.key,
                "platform": identity.platform,
                "user": identity.user,
                "profile": identity.profile,
                "action": write.action,
                "target": write.target,
                "content": write.content,
                "old_text": write.old_text,
            },
        )


def write_record(home: Home, record: dict[str, Any]) -> bool:
    """Spool and nudge. A disk that refuses is logged once and counted; the count reaches the service by a nudge."""
    written = True
    try:
        spool.write(home, {"v": 1, "at": time.time(), **record})
    except OSError as error:
        note_fault(f"spool_{record['type']}:{error.errno}", error)
        written = False
    courier.nudge(home)
    return written


def whose(identity: Identity) -> dict[str, str]:
    """Whose session it is, as the service asks it."""
    return {"session_id": identity.session_id, "user": identity.user, "profile": identity.profile}


def record_missed(home: Home, what: str, reason: str, seconds: float, **turn_of_it: str) -> None:
    """Put on record that an answer did not come in time, so that `status` can count it.

    With the turn it was for, the ledger does not claim that what was found stood in the prompt. The record lies before
    the turn's own in the spool, so nobody judges that turn before.
    """
    record = {"v": 1, "type": "missed", "at": time.time(), "what": what, "reason": reason, **turn_of_it}
    try:
        spool.write(home, {**record, "milliseconds": round(seconds * 1000)})
    except OSError as error:
        note_fault(f"spool_missed:{error.errno}", error)


# -- parts ---------------------------------------------------------------------------------------------------------


def _remember(home: Home, session_id: str, identity: Identity) -> None:
    state = shared()
    key = (str(home.hermes), session_id)
    state.hooked.put(key, True)
    state.sessions.put(key, identity)
    if identity.turn_id:
        state.turns.put((str(home.hermes), identity.turn_id), identity)


def _note_compaction(home: Home, identity: Identity, visible: window.Window) -> None:
    """The host has put a summary in the place of turns: what they hold is read now, by whoever tells no provider before."""
    if not visible.summary:
        return
    key = (str(home.hermes), identity.session_id)
    if shared().compacted.get(key) != visible.summary:
        shared().compacted.put(key, visible.summary)
        courier.observe(home, "compaction", **whose(identity))


def _asked_for(payload: dict[str, Any]) -> dict[str, str]:
    return {name: payload[name] for name in ("turn_id", "session_id", "platform", "user", "profile")}


def _seconds(milliseconds: Any) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) else 0.0


def _cut(text: str) -> str:
    """At most a megabyte of UTF-8, no character halved."""
    if len(text) * 4 <= _QUESTION_MAX_BYTES:
        return text
    return text.encode("utf-8", "replace")[:_QUESTION_MAX_BYTES].decode("utf-8", "ignore")


def _text(value: Any) -> str:
    """An id or a name as the host gave it; numbers are taken, everything else is empty."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
