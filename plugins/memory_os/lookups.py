"""Tool calls that look for what the prompt already holds: told to the service, pointed at, or answered in its place.

Works as the host's tool middleware, which reaches every tool on both lines (`session_search` and `memory` too); a host
without it gets a block from pre_tool_call and a note from transform_tool_result. Whatever goes wrong here, the call runs,
and what the tool raises is the host's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import courier, turn
from .client import CallFailed, request
from .faults import note_fault
from .paths import Home, current_home
from .state import Identity, shared

# The tool waits for the service's word so long, and no longer.
CHECK_SECONDS = 0.015
OBSERVE, POINT, HOLD = "observe", "point", "hold"

# Parts of the names of tools that search, under whatever prefix they go; the service knows better which call is one.
_SEARCHES = ("session_search", "fabric_recall", "fabric_search", "qdrant_search", "peer_search", "memory_search", "fact_store")
_FILES = ("read_file", "search_files")
_TERMINALS = frozenset({"terminal", "execute_code", "process", "shell", "bash"})
_FACT_READS = frozenset({"", "search", "probe", "related", "reason", "list"})
_ARGUMENTS_MAX_CHARS = 4000
_RESULT_MAX_CHARS = 16_000
_MEMBERS_MAX = 20


@dataclass(frozen=True)
class Call:
    """One call that concerns us, as the service is told of it."""

    home: Home
    mode: str
    body: dict[str, Any]


def remember(home: Home, turn_id: str, mode: Any, *, given: bool) -> None:
    """What the recall of a turn said: the mode, and whether there is anything to look for."""
    state = shared()
    if mode in (OBSERVE, POINT, HOLD):
        state.modes[str(home.hermes)] = mode
    if given and turn_id:
        state.given.put((str(home.hermes), turn_id), True)


def run(tool_name: Any = "", args: Any = None, next_call: Any = None, **more: Any) -> Any:
    """The middleware: hold the call, or run it and tell of it. Raises what the tool raises, nothing of ours."""
    call = _quietly(None, concerning, tool_name, args, more)
    if call is not None and call.mode == HOLD:
        answer = _quietly("", held, call)
        if answer:
            return answer
    started = time.monotonic()
    result = next_call()
    if call is None:
        return result
    return _quietly(result, finished, call, result, time.monotonic() - started)


def concerning(tool_name: Any, args: Any, more: dict[str, Any]) -> Call | None:
    """The call, if it may be a look-up or shows the state of the system in a turn that was given something."""
    name = tool_name if isinstance(tool_name, str) else ""
    looks = is_retrieval(name, args)
    if not looks and name not in _TERMINALS:
        return None
    home, session, this_turn = current_home(), _text(more.get("session_id")), _text(more.get("turn_id"))
    state = shared()
    if not looks and state.given.get((str(home.hermes), this_turn)) is None:
        return None
    identity: Identity = turn.identity_of(home, session, turn_id=this_turn)
    if not identity.kept or turn.unattended(session, identity.platform) or turn.is_off(home, identity, session):
        return None
    mode = state.modes.get(str(home.hermes), OBSERVE) if state.given.get((str(home.hermes), this_turn)) else OBSERVE
    return Call(home, mode, _body(name, args, session, this_turn, _text(more.get("tool_call_id")), identity))


def held(call: Call) -> str:
    """What is said in the place of running it; empty: it runs."""
    answer = _asked(call, {})
    text = answer.get("text") if answer.get("action") == HOLD else ""
    return text if isinstance(text, str) else ""


def finished(call: Call, result: Any, seconds: float) -> Any:
    """The result, preceded by the pointer where the service says so."""
    text = turn.plain_text(result) if isinstance(result, (str, list, dict)) else ""
    told = {"result": _ends(text), "result_chars": len(text), "milliseconds": round(seconds * 1000, 1)}
    if call.mode != POINT:
        courier.observe(call.home, "post_tool", **call.body, **told)
        return result
    answer = _asked(call, told)
    if not answer:
        courier.observe(call.home, "post_tool", **call.body, **told)
    pointer = answer.get("text") if answer.get("action") == POINT else ""
    return f"{pointer}\n{result}" if isinstance(pointer, str) and pointer and isinstance(result, str) else result


def is_retrieval(tool: str, arguments: Any) -> bool:
    """Whether a call looks for something, by its name and, of facts, by its action."""
    folded = tool.casefold().replace("-", "_")
    if "fact_store" in folded:
        action = arguments.get("action", "") if isinstance(arguments, dict) else ""
        return isinstance(action, str) and action.casefold() in _FACT_READS
    return any(name in folded for name in (*_SEARCHES, *_FILES))


def _asked(call: Call, more: dict[str, Any]) -> dict[str, Any]:
    """The service's word within its time; nothing when it has none by then, which is counted."""
    until = time.monotonic() + CHECK_SECONDS
    try:
        status, answer = request(call.home.socket(), "POST", "/v1/check", {**call.body, **more}, until)
    except CallFailed as failure:
        shared().counts.add(f"tool_check:{failure.reason}")
        return {}
    return answer if status == 200 and isinstance(answer, dict) else {}


def _body(name: str, args: Any, session: str, this_turn: str, call_id: str, identity: Identity) -> dict[str, Any]:
    return {
        "tool": name,
        "arguments": {str(key): _plain(value) for key, value in _pairs(args)},
        "session_id": session,
        "turn_id": this_turn,
        "tool_call_id": call_id,
        "user": identity.user,
        "profile": identity.profile,
    }


def _pairs(args: Any) -> list[tuple[Any, Any]]:
    return list(args.items())[:_MEMBERS_MAX] if isinstance(args, dict) else []


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [str(one)[:_ARGUMENTS_MAX_CHARS] for one in value[:_MEMBERS_MAX]]
    return str(value)[:_ARGUMENTS_MAX_CHARS]


def _ends(text: str) -> str:
    """Of a megabyte, both ends."""
    if len(text) <= _RESULT_MAX_CHARS:
        return text
    half = _RESULT_MAX_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _quietly(otherwise: Any, work: Callable[..., Any], *arguments: Any) -> Any:
    """The outcome of our own work, or what is right without it."""
    try:
        return work(*arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host
        note_fault(f"lookups:{work.__name__}:{type(error).__name__}", error)
        return otherwise
