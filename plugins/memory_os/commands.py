"""`/memory-os …` inside a chat, and `hermes memory-os …`, which is the service's own command line."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from . import hooks, launch, offswitch, paths, tools, turn
from .client import CallFailed, request
from .paths import Home, current_home
from .state import Identity

_USAGE = (
    "/memory-os status · what runs and what it holds\n"
    "/memory-os recall <text> · what would be recalled for this\n"
    "/memory-os report · the shared entries by type, agent, status, tier and age\n"
    "/memory-os explain · why the last block had its lines\n"
    "/memory-os forget <id> · delete one memory everywhere (ids stand in recalled lines)\n"
    "/memory-os off | on · no memory in this chat, or memory again"
)
_SECONDS = 8.0


async def slash(raw_args: Any = "") -> str:
    """The slash command. Async, so that a gateway's event loop never waits for the service; CLI and TUI await it too.

    What a host says of the sender stands in context variables, which is why they are read before the thread starts.
    """
    import asyncio  # registering must stay cheap

    try:
        home = current_home()
        asker = _asker(home)
        return await asyncio.to_thread(answer, str(raw_args or ""), home, asker)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host
        hooks.note_fault(f"command:{type(error).__name__}", error)
        return "memory-os: that did not work. `memory-os doctor` in a terminal looks for the cause."


class Asker:
    """Who typed the command: their identity (None where this host does not say), their session and chat."""

    def __init__(self, identity: Identity | None, session_id: str, key: str) -> None:
        self.identity = identity
        self.session_id = session_id
        self.key = key


def answer(raw: str, home: Home, asker: Asker) -> str:
    """One command's answer as text. Raises OSError for the switch on a read-only home."""
    verb, _, rest = raw.strip().partition(" ")
    rest = rest.strip()
    try:
        if verb in ("", "status"):
            return _status(home)
        if verb not in ("recall", "report", "explain", "forget", "off", "on"):
            return _USAGE
        if asker.identity is None:
            return "This Hermes does not tell a command who asks, so only `status` is answered here. Ask the agent."
        if verb in ("off", "on"):
            return _switch(home, asker, verb)
        if verb == "explain":
            return _explain(home, asker.identity)
        return _tool(verb, rest, home, asker)
    except CallFailed as failure:
        reason = launch.last_failure(home).get("error") if failure.nobody else ""
        return f"memory-os: no answer from the service ({failure.reason}). {reason or ''}".strip()


def _asker(home: Home) -> Asker:
    session, key = turn.session_variable("HERMES_SESSION_ID"), turn.session_key()
    platform = turn.session_variable("HERMES_SESSION_PLATFORM")
    sender = turn.session_variable("HERMES_SESSION_USER_ID")
    if not platform and not sender and not key and turn.in_gateway():
        return Asker(None, session, key)
    if not platform and session:
        return Asker(turn.identity_of(home, session), session, key)
    return Asker(turn.identify(home, session_id=session, platform=platform, sender_id=sender), session, key)


def _status(home: Home) -> str:
    status = _get(home, "/v1/status")
    lines = [f"memory-os for {home.root}"]
    for name, value in status.items():
        if isinstance(value, dict) and "state" in value:
            detail = str(value.get("detail") or "")
            lines.append(f"{name}: {value['state']}{f' · {detail}' if detail else ''}")
        elif isinstance(value, dict):
            lines.extend(f"{name} {key}: {_short(inner)}" for key, inner in value.items())
        elif value not in (None, "", []):
            lines.append(f"{name}: {_short(value)}")
    return "\n".join(lines[:60])


def _short(value: Any) -> str:
    if isinstance(value, dict) and "state" in value:
        return " · ".join(str(part) for part in (value["state"], value.get("detail")) if part)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]}…"


def _explain(home: Home, identity: Identity) -> str:
    """The asker's own last turn; `last` of the whole service only for the person at this machine."""
    from urllib.parse import quote

    this_turn = identity.turn_id or ("last" if identity.user == "local" else "")
    if not this_turn:
        return "Nothing was recalled for you in this process yet."
    found = _get(home, f"/v1/explain?turn={quote(this_turn, safe='')}")
    return json.dumps(found, ensure_ascii=False, indent=1)[:6000]


def _tool(verb: str, rest: str, home: Home, asker: Asker) -> str:
    wanted = {
        "recall": ("qdrant_search", {"query": rest, "limit": 8}),
        "report": ("fabric_report", {}),
        "forget": ("memory_forget", {"id": rest}),
    }
    name, arguments = wanted[verb]
    if verb in ("recall", "forget") and not rest:
        return _USAGE
    caller = tools.caller_of(home, asker.session_id, identity=asker.identity)
    return _readable(tools.call(name, arguments, caller, home))


def _switch(home: Home, asker: Asker, verb: str) -> str:
    name = asker.key or asker.session_id
    if not name:
        return "There is no session yet; say something first."
    if verb == "off":
        offswitch.turn_off(home, name)
        return "Memory is off in this chat: nothing is recalled and nothing kept, until `/memory-os on`."
    offswitch.turn_on(home, asker.key, asker.session_id)
    return "Memory is on in this chat."


def _readable(result: str) -> str:
    found = json.loads(result)
    if isinstance(found, dict) and found.get("error"):
        return f"{found['error']} {found.get('cure') or ''}".strip()
    if isinstance(found, dict) and isinstance(found.get("results"), list):
        return "\n".join(_line(each) for each in found["results"]) or "Nothing."
    return json.dumps(found, ensure_ascii=False, indent=1)[:6000]


def _line(item: Any) -> str:
    if not isinstance(item, dict):
        return f"- {item}"
    label = " ".join(str(item[name]) for name in ("id", "date") if item.get(name))
    return f"- {label}: {item.get('text') or item.get('summary') or json.dumps(item, ensure_ascii=False)}"


def _get(home: Home, target: str) -> dict[str, Any]:
    status, found = request(home.socket(), "GET", target, None, time.monotonic() + _SECONDS)
    if status != 200 or not isinstance(found, dict):
        raise CallFailed(f"status_{status}")
    return found


# -- hermes memory-os … --------------------------------------------------------------------------------------------


def add_arguments(parser: Any) -> None:
    """Take everything after `hermes memory-os` as it is."""
    parser.add_argument("arguments", nargs="...", help="e.g. status, doctor, recall 'text', ingest PATH")


def run_cli(args: Any) -> None:
    """Run the service's command line with our terminal and end with its exit code. Raises SystemExit."""
    import subprocess

    home, python = current_home(), paths.launch_config().python
    if not python:
        sys.exit("memory-os: launch.json is missing beside the plugin. Run `./setup.sh` of memory-os again.")
    command = launch.command_line(python, *(args.arguments or ["--help"]))
    try:
        finished = subprocess.run(command, env=launch.service_environment(home), check=False)
    except OSError as error:
        sys.exit(f"memory-os: {python} can't be run: {error.strerror}. Run `./setup.sh` of memory-os again.")
    sys.exit(finished.returncode)
