"""`/memory-os …` inside a chat, and `hermes memory-os …`, which is the service's own command line."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from . import answers, faults, launch, offswitch, paths, tools, turn
from .client import CallFailed, request
from .paths import Home, current_home
from .state import Identity, shared

_USAGE = (
    "/memory-os status · what runs and what it holds\n"
    "/memory-os recall <text> · exactly what would be recalled for this\n"
    "/memory-os report · the last seven days: lines used and ignored, searches for what was given, misses\n"
    "/memory-os explain · why the last block had its lines\n"
    "/memory-os forget <id> · delete one memory everywhere (ids stand in recalled lines)\n"
    "/memory-os off | on · no memory in this chat, or memory again"
)
_VERBS = ("recall", "report", "explain", "forget", "off", "on")
# A person waits for it; a service that is well answers in milliseconds.
_SECONDS = 2.0


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
        faults.note_fault(f"command:{type(error).__name__}", error)
        return "memory-os: that did not work. `memory-os doctor` in a terminal looks for the cause."


class Asker:
    """Who typed the command: their identity (None where this host does not say), their session and chat."""

    def __init__(self, identity: Identity | None, session_id: str, key: str) -> None:
        self.identity = identity
        self.session_id = session_id
        self.key = key


class Refused(Exception):
    """The service answered with an error; its text is for the person who asked."""


def answer(raw: str, home: Home, asker: Asker) -> str:
    """One command's answer as text. Raises OSError for the switch on a read-only home."""
    verb, _, rest = raw.strip().partition(" ")
    try:
        return _answer(verb or "status", rest.strip(), home, asker)
    except Refused as refused:
        return str(refused)
    except CallFailed as failure:
        if not failure.nobody:
            return f"memory-os: no answer from the service ({failure.reason})."
        started = launch.start(home)
        reason = "" if started else launch.why_not_running(home) or "`memory-os doctor` looks for the cause."
        return f"memory-os: the service does not run. {reason or 'It is being started: ask again in a few seconds.'}"


def _answer(verb: str, rest: str, home: Home, asker: Asker) -> str:
    if verb == "status":
        return _status(home, asker)
    if verb not in _VERBS or (verb in ("recall", "forget") and not rest):
        return _USAGE
    identity = asker.identity
    if identity is None:
        return "This Hermes does not tell a command who asks, so only `status` is answered here. Ask the agent."
    if verb in ("off", "on"):
        return _switch(home, asker, verb)
    if verb == "explain":
        return _explain(home, asker, identity)
    if verb == "report":
        return _report(home, asker, identity)
    return _recall(home, asker, identity, rest) if verb == "recall" else _forget(home, asker, identity, rest)


def _asker(home: Home) -> Asker:
    session, key = turn.session_variable("HERMES_SESSION_ID"), turn.session_key()
    platform = turn.session_variable("HERMES_SESSION_PLATFORM")
    sender = turn.session_variable("HERMES_SESSION_USER_ID")
    if not platform and not sender and not key and turn.in_gateway():
        return Asker(None, session, key)
    if not platform and session:
        return Asker(turn.identity_of(home, session), session, key)
    return Asker(turn.identify(home, session_id=session, platform=platform, sender_id=sender), session, key)


def _status(home: Home, asker: Asker) -> str:
    """For whoever sits at this machine with details; they hold paths and are nobody else's."""
    local = asker.identity is not None and asker.identity.user == "local"
    return answers.status(_ask(home, "GET", "/v1/status"), str(home.root) if local else "")


def _recall(home: Home, asker: Asker, identity: Identity, query: str) -> str:
    """A dry run of the recall that a turn with this text would make. Nothing is recorded."""
    if turn.is_off(home, identity, asker.session_id):
        return "Memory is off in this chat: nothing would be recalled."
    caller = tools.caller_of(home, asker.session_id, identity=identity)
    wanted = {"v": 1, **caller, "turn_id": "", "user_message": query, "at": time.time(), "dry_run": True}
    return answers.recall(_ask(home, "POST", "/v1/recall", wanted))


def _report(home: Home, asker: Asker, identity: Identity) -> str:
    """The last week: all of this home for the person at this machine, their own for anybody else."""
    caller = tools.caller_of(home, asker.session_id, identity=identity)
    return answers.report(_ask(home, "POST", "/v1/report", {**caller, "everyone": identity.user == "local"}))


def _explain(home: Home, asker: Asker, identity: Identity) -> str:
    """The asker's own last turn in this chat; `last` of the whole service only for the person at this machine."""
    from urllib.parse import quote

    # A gateway tells a command the sender and the chat, and no session; in a group the session's last turn is anybody's.
    theirs = shared().asked.get((str(home.hermes), identity.user, asker.key)) or ""
    this_turn = identity.turn_id or theirs or ("last" if identity.user == "local" else "")
    if not this_turn:
        return "Nothing was recalled for you in this process yet."
    return answers.explain(_ask(home, "GET", f"/v1/explain?turn={quote(this_turn, safe='')}"))


def _forget(home: Home, asker: Asker, identity: Identity, memory: str) -> str:
    found = json.loads(
        tools.call("memory_forget", {"id": memory}, tools.caller_of(home, asker.session_id, identity=identity), home)
    )
    if found.get("error"):
        cure = str(found.get("cure") or "")
        # The tool's own advice names its arguments.
        cure = "`/memory-os recall <text>` shows lines with their ids." if "query=" in cure else cure
        return f"{found['error']} {cure}".strip()
    return answers.forgotten(found)


def _switch(home: Home, asker: Asker, verb: str) -> str:
    name = asker.key or asker.session_id
    if not name:
        return "There is no session yet; say something first."
    if verb == "off":
        offswitch.turn_off(home, name)
        return "Memory is off in this chat: nothing is recalled and nothing kept, until `/memory-os on`."
    offswitch.turn_on(home, asker.key, asker.session_id)
    return "Memory is on in this chat."


def _ask(home: Home, method: str, target: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """One call of the service. Raises CallFailed, or Refused with what the service says is wrong."""
    status, found = request(home.socket(), method, target, body, time.monotonic() + _SECONDS)
    if not isinstance(found, dict):
        raise CallFailed("garbage", "not an object")
    if status != 200:
        raise Refused(f"{found.get('error') or f'The service answered {status}.'} {found.get('cure') or ''}".strip())
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
    if launch.is_upgrading(python):
        sys.exit("memory-os is being upgraded; try again in a minute.")
    command = launch.command_line(python, *(args.arguments or ["--help"]))
    try:
        finished = subprocess.run(command, env=launch.service_environment(home), check=False)
    except OSError as error:
        sys.exit(f"memory-os: {python} can't be run: {error.strerror}. Run `./setup.sh` of memory-os again.")
    sys.exit(finished.returncode)
