"""The memory-provider role: shows the tools to the model, and stands in for the hooks where they are not enabled.

Where the general role serves a session, this façade neither recalls nor captures (state.hooks_serve decides it).
"""

from __future__ import annotations

import threading
import uuid
from pathlib import Path
from typing import Any

from . import (
    compaction,
    faults,
    hooks,
    host,
    mirror,
    offswitch,
    paths,
    schemas,
    status_lines,
    tools,
    toolset,
    turn,
    window,
)
from .paths import Home, home_of
from .state import Identity, hooks_serve

# Switches after which the same conversation goes on.
_SAME_CHAT = ("compression", "branch")
_FENCE_LINES = ("<memory-context>", "</memory-context>")


def make_provider() -> Any:
    """A provider object of the host's own class. Raises ImportError outside Hermes."""
    base = host.find("agent.memory_provider", "MemoryProvider")
    if base is None:
        raise ImportError("memory providers exist only inside Hermes")
    return type("MemoryOsProvider", (Facade, base), {})()


class Facade:
    """One agent's view. The host makes one an agent (in its API server one a request), on any thread."""

    def __init__(self) -> None:
        self._home: Home | None = None
        self._session_id = ""
        self._platform = ""
        self._sender = ""
        self._key = ""
        self._writes = True
        self._turn_id = ""
        self._turns = 0
        self._window = window.Window()
        self._lock = threading.Lock()

    # -- what the host asks ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return paths.PLUGIN_KEY

    def is_available(self) -> bool:
        """Whether setup has been run for this folder. No network, no service."""
        return toolset.facade_usable()

    def unavailable_reason(self) -> str:
        return "memory-os is not set up: run its ./setup.sh"

    def initialize(self, session_id: str, **known: Any) -> None:
        given = known.get("hermes_home")
        self._home = home_of(Path(given)) if isinstance(given, str) and given else paths.current_home()
        self._session_id = str(session_id or "")
        self._platform = str(known.get("platform") or "")
        self._sender = str(known.get("user_id") or "")
        # The host's worker threads don't carry the session's context variables.
        self._key = str(known.get("gateway_session_key") or turn.session_key())
        self._writes = known.get("agent_context", "primary") == "primary"

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [dict(schema) for schema in schemas.SCHEMAS]

    def handle_tool_call(self, tool_name: str, args: Any, **more: Any) -> str:
        """The host gives no ids here; the session is the one this object was made for or switched to."""
        home = self._where()
        caller = tools.caller_of(home, self._session_id, identity=self._identity(home))
        return tools.call(tool_name, args, caller, home)

    def system_prompt_block(self) -> str:
        return ""

    def get_status_config(self, provider_config: Any = None) -> dict[str, Any]:
        """Asked by `hermes memory status`."""
        return dict(status_lines.of(self._home or paths.current_home()))

    def backup_paths(self) -> list[str]:
        """Our folder if it lies outside the Hermes home, whose backup carries it otherwise."""
        home = self._home or paths.current_home()
        return [] if home.root.is_relative_to(home.hermes) else [str(home.root)]

    # -- turns, where no hook sees them -----------------------------------------------------------------------------

    def on_turn_start(self, turn_number: int, message: Any, **more: Any) -> None:
        with self._lock:
            self._turn_id = f"{self._session_id}:provider:{uuid.uuid4().hex[:12]}"
            self._turns += 1
            author = more.get("author_id")
            if author:
                self._sender = str(author)

    def prefetch(self, query: Any, *, session_id: str = "") -> str:
        try:
            return self._prefetch(query, session_id or self._session_id)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host
            faults.note_fault(f"facade:prefetch:{type(error).__name__}", error)
            return ""

    def queue_prefetch(self, query: Any, *, session_id: str = "") -> None:
        """Nothing: a warm recall is faster than what a guess of the next question would save."""

    def sync_turn(
        self, user_content: Any, assistant_content: Any, *, session_id: str = "", messages: Any = None
    ) -> None:
        try:
            self._sync_turn(user_content, assistant_content, session_id or self._session_id, messages)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host
            faults.note_fault(f"facade:sync_turn:{type(error).__name__}", error)

    def on_memory_write(self, action: str, target: str, content: str, metadata: Any = None) -> None:
        home = self._where()
        if self._writes and not hooks_serve(str(home.hermes), self._session_id):
            found = mirror.of_provider(action, target, content, metadata)
            hooks.mirror_memory(home, self._session_id, self._identity(home), found)

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        """Delegated work and its result are the parent's to remember."""
        home = self._where()
        if self._writes and not hooks_serve(str(home.hermes), self._session_id):
            identity = self._identity(home)
            hooks.delegated(home, identity, self._session_id, str(child_session_id or ""), task, result)

    def on_pre_compress(self, messages: Any, **_: Any) -> str:
        """What is about to be compacted is captured and read first; the host's summary is told what is kept of it.

        No hook stands before a compaction, so this is the façade's also where the hooks serve.
        """
        try:
            return self._before_compaction(messages)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to the host
            faults.note_fault(f"facade:on_pre_compress:{type(error).__name__}", error)
            return ""

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        reason: str = "",
        **_: Any,
    ) -> None:
        """Follow /new, /resume, /branch, rewinding and compaction: what was visible may not be any more."""
        old = str(parent_session_id or self._session_id)
        self._session_id = str(new_session_id or self._session_id)
        turn.follow(self._where(), old, self._session_id, same_chat=reason in _SAME_CHAT)
        self._window = window.Window()
        if reset:
            self._turns = 0

    def on_session_end(self, messages: Any) -> None:
        """Nothing: every turn is on disk already."""

    def shutdown(self) -> None:
        """Nothing: no connection is kept."""

    # -- parts -------------------------------------------------------------------------------------------------------

    def _before_compaction(self, messages: Any) -> str:
        home, session_id = self._where(), self._session_id
        identity = self._identity(home)
        if not (self._writes and identity.kept) or turn.unattended(session_id, identity.platform):
            return ""
        if turn.is_off(home, identity, session_id):
            return ""
        found = compaction.record(identity, session_id, messages)
        if found is not None:
            hooks.write_record(home, found)
        return compaction.known(home, {**hooks.whose(identity), "session_id": session_id})

    def _prefetch(self, query: Any, session_id: str) -> str:
        home = self._where()
        text = turn.user_text(query)
        if hooks_serve(str(home.hermes), session_id) or not self._may_act(home, session_id, text):
            return ""
        identity = self._identity(home, session_id)
        first = self._turns <= 1 and not self._window.hashes
        context = hooks.recalled(home, hooks.question(identity, text, self._window, first_turn=first))
        # The host puts its own fence around this, and would drop everything inside one of ours.
        return "\n".join(line for line in context.split("\n") if line.strip() not in _FENCE_LINES).strip()

    def _sync_turn(self, user_content: Any, answer: Any, session_id: str, messages: Any) -> None:
        home = self._where()
        text = turn.user_text(user_content)
        if hooks_serve(str(home.hermes), session_id) or not self._may_act(home, session_id, text):
            return
        if isinstance(messages, list):
            # All of it is in the window at the next question, this turn's own message included.
            self._window = window.visible([*messages, {"role": "assistant", "content": ""}])
        turn_id = self._turn_id or f"{session_id}:provider:{uuid.uuid4().hex[:12]}"
        hooks.capture_turn(home, self._identity(home, session_id), session_id, turn_id, text, answer)

    def _may_act(self, home: Home, session_id: str, text: str) -> bool:
        if not self._writes or not text or turn.unattended(session_id, self._platform):
            return False
        return not offswitch.is_off(home, session_id, self._key)

    def _identity(self, home: Home, session_id: str = "") -> Identity:
        """Who is at the session: what the hooks saw, else what this object was told, which needs no thread's context."""
        session_id = session_id or self._session_id
        known = {"platform": self._platform, "sender_id": self._sender, "key": self._key}
        if hooks_serve(str(home.hermes), session_id):
            return turn.identity_of(home, session_id, **known)
        return turn.identify(home, session_id=session_id, turn_id=self._turn_id, **known)

    def _where(self) -> Home:
        return self._home or paths.current_home()
