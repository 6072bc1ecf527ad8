"""The eighteen tools: how a call reaches the service, and on whose behalf."""

from __future__ import annotations

import json
import time
from typing import Any

from . import faults, hooks, launch, turn
from .client import CallFailed, request
from .paths import Home, current_home

# A search that takes longer has failed; the model should go on without it.
CALL_SECONDS = 10.0
# Of which this much may go to a service that has to be started first.
_START_SECONDS = 6.0
_POLL_SECONDS = 0.05


def handle(name: str, args: Any, more: dict[str, Any]) -> str:
    """A call as the host makes it in the general role; `more` are the ids it gives."""
    try:
        home = current_home()
        caller = caller_of(home, str(more.get("session_id") or ""), turn_id=str(more.get("turn_id") or ""))
        return call(name, args, caller, home)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host, which wants a string
        faults.note_fault(f"tool:{name}:{type(error).__name__}", error)
        return _error("The memory plugin failed on this call.", "Go on without it.")


def call(name: str, arguments: Any, caller: dict[str, Any], home: Home) -> str:
    """Run one tool in the service. Always a JSON string; a failure is `{"error", "cure"}`."""
    started = time.monotonic()
    body = {"arguments": arguments if isinstance(arguments, dict) else {}, "caller": caller}
    try:
        status, answer = _request(home, f"/v1/tools/{name}", body, started + CALL_SECONDS)
    except CallFailed as failure:
        hooks.record_missed(home, "tool", failure.reason, time.monotonic() - started)
        return _error(*_explain(home, failure))
    if status == 200:
        return json.dumps(answer, ensure_ascii=False)
    known = answer if isinstance(answer, dict) else {}
    return _error(str(known.get("error") or f"The memory service answered {status}."), str(known.get("cure") or ""))


def caller_of(home: Home, session_id: str, *, turn_id: str = "", identity: Any = None) -> dict[str, Any]:
    """On whose behalf a tool runs: the session's user as the hooks saw it, never what the model says."""
    known = identity or turn.identity_of(home, session_id, turn_id=turn_id)
    return {
        "user": known.user,
        "profile": known.profile,
        "session_id": session_id,
        "turn_id": turn_id or known.turn_id,
        "platform": known.platform,
        "project": known.project,
    }


def _request(home: Home, target: str, body: dict[str, Any], until: float) -> tuple[int, Any]:
    """POST, starting the service first where nobody listens."""
    wait_until = min(until, time.monotonic() + _START_SECONDS)
    launched = False
    since = time.time()
    while True:
        try:
            return request(home.socket(), "POST", target, body, until)
        except CallFailed as failure:
            if not failure.nobody or time.monotonic() > wait_until:
                raise
            launched = launch.start(home) or launched or launch.is_young(home)
            if not launched or launch.failed_since(home, since):
                raise
        time.sleep(_POLL_SECONDS)


def _explain(home: Home, failure: CallFailed) -> tuple[str, str]:
    if failure.reason == "timeout":
        return "The memory service did not answer in time.", "Go on without it, or ask for less."
    if failure.nobody:
        why = launch.why_not_running(home)
        return f"The memory service is not running. {why}".strip(), "The user can run `memory-os doctor`."
    return f"The memory service could not be used ({failure.reason}).", "The user can run `memory-os doctor`."


def _error(message: str, cure: str) -> str:
    return json.dumps({"error": message, "cure": cure}, ensure_ascii=False)
