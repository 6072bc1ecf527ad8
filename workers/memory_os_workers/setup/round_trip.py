"""Writing a memory, recalling it, deleting it, through the running service, in a scope that nobody uses.

The words are made up for each run, so that a hit proves this run's write and nothing else.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.constants import SCRATCH_PROFILE
from memory_os.errors import ServiceError

from memory_os_workers import run_files
from memory_os_workers.client import ServiceClient
from memory_os_workers.starting import Patience

# A cold service loads its model in about a second, and makes it in six; two busy cores need longer.
READY_WAIT_S = 300.0
# One document is embedded within a second, unless many wait before it or the machine has other work.
EMBEDDED_WAIT_S = 60.0
_POLL_S = 0.1
# Forgetting clears the free pages of memory.db and its backups too.
FORGET_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Trip:
    """One layer's round trip, in milliseconds."""

    layer: str
    written_ms: float
    recalled_ms: float
    forgotten_ms: float

    @property
    def line(self) -> str:
        return (
            f"written in {self.written_ms:.0f} ms, recalled in {self.recalled_ms:.0f} ms,"
            f" forgotten in {self.forgotten_ms:.0f} ms"
        )


class Scratch:
    """A user of a profile that no Hermes home has, and what is written for it."""

    def __init__(self, client: ServiceClient) -> None:
        self.client = client
        self.user = f"doctor:{secrets.token_hex(6)}"
        self.session = f"doctor-{secrets.token_hex(6)}"
        self.place, self.word = made_up_word(), made_up_word()
        self.caller = {
            "user": self.user,
            "profile": SCRATCH_PROFILE,
            "session_id": self.session,
            "platform": "cli",
        }

    @property
    def statement(self) -> str:
        return f"The memory check keeps the word {self.word} in the drawer {self.place}."

    @property
    def question(self) -> str:
        return f"Which word does the memory check keep in the drawer {self.place}?"

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.client.post(f"/v1/tools/{name}", {"arguments": arguments, "caller": self.caller})

    def recall(self) -> str:
        """The block that a new session of this user would get. Nothing is recorded."""
        answer = self.client.post(
            "/v1/recall",
            {
                "v": 1,
                "turn_id": f"{self.session}:recall",
                "session_id": f"{self.session}-next",
                "platform": "cli",
                "user": self.user,
                "profile": SCRATCH_PROFILE,
                "user_message": self.question,
                "first_turn": False,
                "visible": {},
                "at": time.time(),
                "dry_run": True,
            },
        )
        return str(answer.get("context", ""))

    def forget_all(self) -> None:
        self._forget({"all_mine": True}, self.caller)

    def forget_shared(self, handle: str) -> None:
        """What is shared by fabric or documents only the person at the machine may delete."""
        self._forget({"id": handle}, {**self.caller, "user": "local"})

    def _forget(self, which: dict[str, Any], caller: dict[str, str]) -> None:
        body = {"arguments": {**which, "confirm": True}, "caller": caller}
        self.client.post("/v1/forget", body, timeout=FORGET_TIMEOUT_S)


def prove(client: ServiceClient) -> Trip:
    """The round trip that setup prints: a fact. Raises ServiceError naming the step that failed."""
    wait_until_ready(client)
    return facts_trip(client)


def wait_until_ready(client: ServiceClient) -> None:
    """Wait for the model, as long as its loading makes progress. Raises ServiceError with the reason if it can't be loaded."""
    patience = Patience(client.settings.logs_dir / "service.log", wait_s=READY_WAIT_S)
    while True:
        health = client.health()
        if health is not None and health.get("ready"):
            return
        if health is not None and (reason := str(client.get("/v1/status")["service"]["model_error"])):
            raise ServiceError(f"The embedding model is not ready: {reason}", cure=f"See {client.settings.logs_dir}.")
        patience.look(None if health is None else int(health["pid"]), "the embedding model to be loaded")
        time.sleep(_POLL_S)


def facts_trip(client: ServiceClient) -> Trip:
    scratch = Scratch(client)
    return _trip(
        "facts",
        write=lambda: scratch.tool("fact_store", action="add", content=scratch.statement),
        recall=scratch.recall,
        forget=scratch.forget_all,
        word=scratch.word,
    )


def sessions_trip(client: ServiceClient) -> Trip:
    scratch = Scratch(client)

    def write() -> None:
        _spool_turn(scratch)
        client.post("/v1/spool")

    return _trip("sessions", write, scratch.recall, scratch.forget_all, scratch.word)


def fabric_trip(client: ServiceClient) -> Trip:
    scratch = Scratch(client)
    written: dict[str, Any] = {}

    def write() -> None:
        summary = f"Memory check of {scratch.place}"
        written.update(scratch.tool("fabric_write", type="note", summary=summary, content=scratch.statement))

    def forget() -> None:
        scratch.forget_shared(str(written["handle"]))

    return _trip("fabric", write, lambda: str(scratch.tool("fabric_search", query=scratch.place)), forget, scratch.word)


def documents_trip(client: ServiceClient) -> Trip:
    """A document outside the vault: ingested, searched, its file deleted and the folder ingested again."""
    scratch = Scratch(client)
    with tempfile.TemporaryDirectory(prefix="memory-os-doctor-") as name:
        folder = Path(name).resolve()
        path = folder / f"{scratch.place}.md"
        path.write_text(f"# Memory check {scratch.place}\n\n{scratch.statement}\n", "utf-8")

        def ingest() -> None:
            for _ in client.stream("/v1/ingest", {"path": str(folder)}):
                pass

        def forget() -> None:
            path.unlink()
            ingest()

        def recall() -> str:
            return str(scratch.tool("qdrant_search", query=scratch.question).get("results", []))

        def write() -> None:
            """Search by vector finds a passage once it is embedded, which happens beside the requests."""
            ingest()
            deadline = time.monotonic() + EMBEDDED_WAIT_S
            while scratch.word not in recall():
                if time.monotonic() > deadline:
                    waiting = client.get("/v1/status").get("pending_embeddings", 0)
                    raise ServiceError(
                        f"vectors: no vector after {EMBEDDED_WAIT_S:g} s; {waiting} passages wait for theirs.",
                        cure="After an import of a long history this takes a while: try again later.",
                    )
                time.sleep(_POLL_S)

        try:
            return _trip("vectors", write, recall, forget, scratch.word)
        finally:
            if path.exists():  # the write failed half-way
                forget()


TRIPS: dict[str, Callable[[ServiceClient], Trip]] = {
    "2 sessions": sessions_trip,
    "3 facts": facts_trip,
    "4 fabric": fabric_trip,
    "5 vectors": documents_trip,
}


def made_up_word() -> str:
    """Five syllables: no word of any language, and no string that looks like a secret."""
    return "".join(secrets.choice("bdfgklmnprstvz") + secrets.choice("aeiou") for _ in range(5))


def _trip(
    layer: str, write: Callable[[], Any], recall: Callable[[], str], forget: Callable[[], None], word: str
) -> Trip:
    """Time the three; the word must be found after the write and gone after the deletion. Raises ServiceError."""
    started = time.perf_counter()
    write()
    written = time.perf_counter()
    try:
        if word not in recall():
            raise ServiceError(f"{layer}: what was written is not recalled.", cure="`memory-os status` shows why.")
        recalled = time.perf_counter()
    finally:
        forgetting = time.perf_counter()
        forget()
    forgotten = time.perf_counter()
    if word in recall():
        raise ServiceError(f"{layer}: what was forgotten is still recalled.", cure="Report this with logs/service.log.")
    return Trip(
        layer, (written - started) * 1000, (recalled - written) * 1000, (forgotten - forgetting) * 1000
    )


def _spool_turn(scratch: Scratch) -> None:
    """A captured turn on disk, as the plugin leaves it."""
    turn = {
        "v": 1,
        "type": "turn",
        "turn_id": f"{scratch.session}:turn",
        "session_id": scratch.session,
        "parent_session_id": "",
        "platform": "cli",
        "user": scratch.user,
        "profile": SCRATCH_PROFILE,
        "project": "",
        "model": "",
        "at": time.time(),
        "user_message": scratch.statement,
        "assistant_response": "Noted.",
    }
    spool = scratch.client.settings.spool_dir
    run_files.write_json(spool / f"{time.time_ns():020d}-{secrets.token_hex(4)}.json", turn)
