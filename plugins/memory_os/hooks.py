"""The eight hooks. Each is synchronous, takes any keyword, returns in its budget and never raises.

What one does beyond reading its arguments is: pre_llm_call asks for memory under a deadline, post_llm_call and the
mirror of the `memory` tool write one spool file, all others queue a line for the courier.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import Any

from . import courier, mirror, offswitch, recall, spool, turn, window
from .paths import Home, current_home
from .state import Identity, shared

_log = logging.getLogger(__name__)
_Hook = Callable[..., Any]

# The wire takes 4 MB; no question needs more of a message than this to be understood.
_QUESTION_MAX_BYTES = 1_000_000
_ARGUMENTS_MAX_CHARS = 2000

# Calls that look for something: compared by the service with what the turn had been given.
_RETRIEVAL_TOOLS = frozenset(
    {"session_search", "fabric_recall", "fabric_search", "qdrant_search", "search_files", "read_file", "fact_store"}
)
_FACT_READS = frozenset({"search", "probe", "related", "reason", "list"})


def guarded(hook: _Hook) -> _Hook:
    """No fault of ours reaches the host: counted, logged once a kind, and the turn goes on."""

    @functools.wraps(hook)
    def call(**arguments: Any) -> Any:
        try:
            return hook(**arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the one boundary to the host
            note_fault(f"hook:{hook.__name__}:{type(error).__name__}", error)
            return None

    return call


def note_fault(name: str, error: BaseException) -> None:
    """Count a fault; log it with its traceback the first time."""
    if shared().counts.add(name):
        _log.warning("memory-os: %s: %s", name, error, exc_info=error)


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
    _remember(home, _text(session_id), identity)
    text = turn.user_text(user_message)
    if not identity.kept or not text or offswitch.is_off(home, _text(session_id), turn.session_key()):
        return None
    payload = {
        "v": 1,
        "turn_id": _text(turn_id),
        "session_id": _text(session_id),
        "parent_session_id": identity.parent_session_id,
        "task_id": _text(more.get("task_id")),
        "platform": identity.platform,
        "user": identity.user,
        "profile": identity.profile,
        "project": identity.project,
        "user_message": _cut(text),
        "first_turn": bool(more.get("is_first_turn")),
        "visible": window.visible(conversation_history, user_message).as_json(),
        "at": time.time(),
    }
    context = recalled(home, payload)
    return {"context": context} if context else None


@guarded
def post_llm_call(
    session_id: Any = "", turn_id: Any = "", user_message: Any = None, assistant_response: Any = None, **more: Any
) -> None:
    """Put the turn on disk, once, and tell the service without waiting."""
    home = current_home()
    session, this_turn = _text(session_id), _text(turn_id)
    identity = shared().turns.get((str(home.hermes), this_turn))
    if identity is None:
        identity = turn.identify(home, session_id=session, platform=_text(more.get("platform")), turn_id=this_turn)
    text = turn.user_text(user_message)
    if not identity.kept or turn.unattended(session, identity.platform) or not text:
        return
    if offswitch.is_off(home, session, turn.session_key()):
        return
    if this_turn and not shared().captured.add((str(home.hermes), this_turn), True):
        return
    if not capture_turn(home, identity, session, this_turn, text, assistant_response, model=_text(more.get("model"))):
        shared().captured.drop((str(home.hermes), this_turn))


@guarded
def on_session_start(session_id: Any = "", **more: Any) -> None:
    """Wake the service while the host still builds its prompt."""
    _announce("session_start", session_id, more)


@guarded
def on_session_end(session_id: Any = "", turn_id: Any = "", **more: Any) -> None:
    """The end of a turn, not of a session: a turn that was interrupted or failed has no answer to wait for."""
    home = current_home()
    shared().turns.drop((str(home.hermes), _text(turn_id)))


@guarded
def on_session_finalize(session_id: Any = "", **more: Any) -> None:
    """The session is over. May run on the gateway's event loop, may repeat, may never come: queue and return."""
    _announce("session_finalize", session_id, more)


@guarded
def on_session_reset(session_id: Any = "", **more: Any) -> None:
    """A new session began in the same chat. May run on the gateway's event loop: queue and return."""
    _announce("session_reset", session_id, more)


@guarded
def pre_tool_call(tool_name: Any = "", args: Any = None, **more: Any) -> None:
    """Tell the service about a search, so that it can see what was looked for although it stood in the prompt."""
    if is_retrieval(_text(tool_name), args):
        _observe_tool("pre_tool", _text(tool_name), args, more)


@guarded
def post_tool_call(tool_name: Any = "", args: Any = None, result: Any = None, **more: Any) -> None:
    """Mirror what the host's `memory` tool wrote; tell the service how a search ended."""
    name = _text(tool_name)
    if name == "memory" and more.get("status", "ok") == "ok":
        home, session = current_home(), _text(more.get("session_id"))
        found = mirror.writes(args, result)
        if found:
            mirror_memory(home, session, turn.identity_of(home, session), found)
    elif is_retrieval(name, args):
        size = len(result) if isinstance(result, str) else 0
        _observe_tool("post_tool", name, args, more, status=_text(more.get("status")), result_chars=size)


HOOKS: dict[str, _Hook] = {
    hook.__name__: hook
    for hook in (
        pre_llm_call,
        post_llm_call,
        on_session_start,
        on_session_end,
        on_session_finalize,
        on_session_reset,
        pre_tool_call,
        post_tool_call,
    )
}


# -- shared with the façade ----------------------------------------------------------------------------------------


def recalled(home: Home, payload: dict[str, Any]) -> str:
    """The block for a recall request; empty when there is none or it came too late, which is put on record."""
    try:
        answer = recall.ask(home, payload)
    except recall.Missed as missed:
        record_missed(home, "recall", missed.reason, missed.seconds)
        return ""
    context = answer.get("context")
    return context if isinstance(context, str) else ""


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
            "parent_session_id": identity.parent_session_id,
            "platform": identity.platform,
            "user": identity.user,
            "profile": identity.profile,
            "project": identity.project,
            "model": model,
            "user_message": text,
            "assistant_response": turn.plain_text(answer)[: turn.MESSAGE_MAX_CHARS],
        },
    )


def mirror_memory(home: Home, session_id: str, identity: Identity, writes: list[mirror.Write]) -> None:
    """Spool what the `memory` tool wrote in a session that may be captured."""
    if not identity.kept or turn.unattended(session_id, identity.platform):
        return
    for write in writes:
        write_record(
            home,
            {
                "type": "memory_write",
                "session_id": session_id,
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


def record_missed(home: Home, what: str, reason: str, seconds: float) -> None:
    """Put on record that an answer did not come in time, so that `status` can count it."""
    record = {"v": 1, "type": "missed", "at": time.time(), "what": what, "reason": reason}
    try:
        spool.write(home, {**record, "milliseconds": round(seconds * 1000)})
    except OSError as error:
        note_fault(f"spool_missed:{error.errno}", error)


# -- parts ---------------------------------------------------------------------------------------------------------


def is_retrieval(tool: str, arguments: Any) -> bool:
    """Whether a tool call looks for something."""
    if tool != "fact_store":
        return tool in _RETRIEVAL_TOOLS
    return isinstance(arguments, dict) and arguments.get("action") in _FACT_READS


def _remember(home: Home, session_id: str, identity: Identity) -> None:
    state = shared()
    key = (str(home.hermes), session_id)
    state.hooked.put(key, True)
    state.sessions.put(key, identity)
    if identity.turn_id:
        state.turns.put((str(home.hermes), identity.turn_id), identity)


def _announce(event: str, session_id: Any, more: dict[str, Any]) -> None:
    session, platform = _text(session_id), _text(more.get("platform"))
    if turn.unattended(session, platform):
        return
    fields = {name: _text(more[name]) for name in ("reason", "old_session_id", "new_session_id") if name in more}
    courier.observe(current_home(), event, session_id=session, platform=platform, **fields)


def _observe_tool(event: str, tool: str, arguments: Any, more: dict[str, Any], **fields: Any) -> None:
    home, session = current_home(), _text(more.get("session_id"))
    identity = turn.identity_of(home, session)
    if not identity.kept or turn.unattended(session, identity.platform):
        return
    given = {str(key): str(value)[:_ARGUMENTS_MAX_CHARS] for key, value in _pairs(arguments)}
    courier.observe(
        home,
        event,
        tool=tool,
        arguments=given,
        session_id=session,
        turn_id=_text(more.get("turn_id")),
        user=identity.user,
        profile=identity.profile,
        **fields,
    )


def _pairs(arguments: Any) -> list[tuple[Any, Any]]:
    return list(arguments.items())[:20] if isinstance(arguments, dict) else []


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
