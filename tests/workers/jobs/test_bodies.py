"""Bodies of `/v1/workers/*` that nobody should send: a 400 that names the field, and nothing half-done."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from memory_os.config import load_settings
from memory_os.documents.prepare import CONTEXT_MAX, PIECE_MAX, PIECES_MAX, prepare
from memory_os.engine import Engine
from memory_os_workers.api import build_app
from memory_os_workers.jobs import bodies
from memory_os_workers.jobs.bodies import read_as
from memory_os_workers.run_files import prepare_home
from memory_os_workers.service import Service

from workers.running import raw

_LETTER = {"job": "j", "function": "noop", "payload": [1], "error": "E", "message": "m", "attempts": 1}
_CALL = {"at": 1.0, "job": "probe", "model": "m"}
_HUGE = 10**400


@dataclass
class Served:
    """A service without a model, in this process."""

    service: Service
    engine: Engine
    socket: Path

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return raw(self.socket, "POST", path, data)

    @property
    def raw_folder(self) -> Path:
        folder = self.engine.settings.vault / "wiki" / "raw"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def counted(self, name: str) -> int:
        row = self.engine.store.row("SELECT value FROM counters WHERE name = ?", (name,))
        return 0 if row is None else int(row["value"])


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="mos-") as folder:
        ready, loop = threading.Event(), asyncio.new_event_loop()
        found: list[Served] = []
        ending = asyncio.Event()

        async def run() -> None:
            settings = load_settings({}, hermes_home=Path(folder) / "home")
            prepare_home(settings)
            service = Service(settings)
            service._engine = Engine.open(settings)
            runner = web.AppRunner(build_app(service), access_log=None)
            await runner.setup()
            await web.UnixSite(runner, f"{folder}/s").start()
            found.append(Served(service, service._engine, Path(folder) / "s"))
            ready.set()
            await ending.wait()
            await runner.cleanup()
            await service.shut_down()

        thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
        thread.start()
        assert ready.wait(60)
        try:
            yield found[0]
        finally:
            loop.call_soon_threadsafe(ending.set)
            thread.join()
            loop.close()


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("workers/hello", {"worker": 7}, "worker"),
    ("workers/hello", {"worker": "a\0b"}, "worker"),
    ("workers/texts", {}, "hashes"),
    ("workers/texts", {"hashes": "abc"}, "hashes"),
    ("workers/texts", {"hashes": ["a", 5]}, "hashes.1"),
    ("workers/texts", {"hashes": ["a"] * 10_001}, "hashes"),
    ("workers/embeddings", {"vectors": {"h": 5}}, "vectors.h"),
    ("workers/embeddings", {"vectors": {"h": "A" * 100_001}}, "vectors.h"),
    ("workers/document", {}, "name"),
    ("workers/document", {"name": "a\0b", "gone": True}, "name"),
    ("workers/document", {"name": "x" * 5000, "gone": True}, "name"),
    ("workers/document", {"name": "a", "gone": 1}, "gone"),
    ("workers/dead_letter", {"job": "j"}, "function"),
    ("workers/dead_letter", {**_LETTER, "attempts": True}, "attempts"),
    ("workers/dead_letter", {**_LETTER, "attempts": 2**63}, "attempts"),
    ("workers/dead_letter", {**_LETTER, "attempts": -1}, "attempts"),
    ("workers/dead_letter", {**_LETTER, "attempts": _HUGE}, "attempts"),
    ("workers/dead_letter", {**_LETTER, "function": "rm"}, "function"),
    ("workers/dead_letter", {**_LETTER, "function": "embed", "payload": [5]}, "payload"),
    ("workers/dead_letter", {**_LETTER, "function": "curate", "payload": [["a"]]}, "payload"),
    ("workers/dead_letter", {**_LETTER, "payload": [{"a": 1}]}, "payload"),
    ("workers/duty", {"name": ["decay"]}, "name"),
    ("workers/curated", {"raw": 5}, "raw"),
    ("workers/curated", {"status": "odd"}, "status"),
    ("workers/curated", {"created": "a page"}, "created"),
    ("workers/turns", {"watermark": 2**63}, "watermark"),
    ("workers/turns", {"watermark": -1}, "watermark"),
    ("workers/turns", {"watermark": 1.5}, "watermark"),
    ("workers/turns", {"watermark": True}, "watermark"),
    ("workers/turns", {"session": {"a": 1}}, "session"),
    ("workers/understood", {"scope": "a/b"}, "session_id"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "turns": [], "items": [], "dropped": "many"}, "dropped"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "turns": [], "items": [], "withdrawn": [["t"]]}, "withdrawn"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "turns": [], "items": [], "withdrawn": 5}, "withdrawn"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "turns": [], "items": [], "facts": {"F1": "x"}}, "facts.F1"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "turns": [], "items": [], "facts": [1]}, "facts"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "failed": "f", "retry_at": "soon"}, "retry_at"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "failed": "f", "retry_at": 1e300}, "retry_at"),
    ("workers/understood", {"scope": "a/b", "session_id": "s", "failed": "f", "retry_at": -1}, "retry_at"),
    ("workers/person", {"question": 5}, "question"),
    ("workers/thought", {"scope": "a/b"}, "question"),
    ("workers/thought", {"scope": "a/b", "question": "q", "lines": ["text"]}, "lines.0"),
    ("workers/thought", {"scope": "a/b", "question": "q", "lines": [{"facts": [1]}]}, "lines.0.text"),
    ("workers/thought", {"scope": "a/b", "question": "q", "lines": [{"text": "t", "facts": [_HUGE]}]}, "lines.0.facts.0"),
    ("workers/thought", {"scope": "a/b", "question": "q", "lines": [], "depth": "deep"}, "depth"),
    ("workers/thought", {"scope": "a/b", "question": "q", "failed": "f", "retry_at": [1]}, "retry_at"),
    ("workers/memories", {"scope": 5}, "scope"),
    ("workers/reflected", {}, "scope"),
    ("workers/reflected", {"scope": "a/b", "seen": ["x"]}, "seen.0"),
    ("workers/reflected", {"scope": "a/b", "seen": [2**70]}, "seen.0"),
    ("workers/reflected", {"scope": "a/b", "products": [5]}, "products.0"),
    ("workers/reflected", {"scope": "a/b", "products": [{"kind": "link", "text": "t", "confidence": 2}]}, "products.0.confidence"),
    ("workers/reflected", {"scope": "a/b", "failed": "f", "retry_at": {"a": 1}}, "retry_at"),
    ("workers/spent", {"since": "today"}, "since"),
    ("workers/spent", {"since": _HUGE}, "since"),
    ("workers/spent", {"since": True}, "since"),
    ("workers/usage", {}, "call"),
    ("workers/usage", {"call": {"at": "x"}}, "call.at"),
    ("workers/usage", {"call": {**_CALL, "at": _HUGE}}, "call.at"),
    ("workers/usage", {"call": {**_CALL, "units": -5.0}}, "call.units"),
    ("workers/usage", {"call": {**_CALL, "input_tokens": 2**64}}, "call.input_tokens"),
    ("workers/usage", {"call": {**_CALL, "outcome": {}}}, "call.outcome"),
    ("dlq/requeue", {"ids": [2**64]}, "ids.0"),
    ("dlq/drop", {"ids": [True]}, "ids.0"),
    ("dlq/drop", {"ids": []}, "ids"),
    ("dlq/drop", {"ids": [1.0]}, "ids.0"),
]  # fmt: skip


def test_what_no_worker_sends_is_a_400_that_names_the_field(served: Served) -> None:
    wrong = []
    for route, body, field in BAD:
        status, answer = served.post(f"/v1/{route}", body)
        if (status, answer.get("code")) != (400, "bad_request") or field not in answer["error"]:
            wrong.append((route, str(body)[:80], status, answer))
    assert not wrong
    assert served.service.errors == 0
    assert served.engine.dead_letters.count() == 0
    for table in ("person_thoughts", "person_lines", "reflection_state", "understanding_sessions", "understood_turns"):
        assert served.engine.store.value(f"SELECT count(*) FROM {table}") == 0, table


@pytest.mark.parametrize(
    "body", [b'{"since": NaN}', b'{"since": Infinity}', b'{"since": 1e400}', b'{"job": "\xed\xa0\x80"}', b"[" * 100_000]
)
def test_what_is_no_json_is_a_400_too(served: Served, body: bytes) -> None:
    status, answer = served.post("/v1/workers/spent", body)
    assert (status, answer["code"]) == (400, "bad_request")


def test_half_a_character_in_a_text_costs_nothing(served: Served) -> None:
    told = {"scope": "a/lone", "session_id": "s\ud83d", "failed": "no \ud83d answer"}
    assert served.post("/v1/workers/understood", told)[0] == 200


def document(served: Served, name: str, **changes: Any) -> dict[str, Any]:
    """A real file, read and cut; with some of it changed."""
    path = served.engine.settings.vault / name
    prepared = prepare(name, path.read_bytes(), path.lstat().st_mtime_ns, 1.8e9).as_dict()
    return {"name": name, "document": {**prepared, **changes}}


def test_what_no_file_gives_is_refused_and_a_real_one_is_taken(served: Served) -> None:
    (served.raw_folder / "note.md").write_text("# Note\n\nThe relay hums at night.\n", "utf-8")
    name = "wiki/raw/note.md"
    piece = {"text": "t", "context": "", "flagged": ""}
    for changes, problem in (
        ({"pieces": [{**piece, "text": "x" * (PIECE_MAX + 1)}]}, "piece 0"),
        ({"pieces": [piece, {**piece, "context": "x" * (CONTEXT_MAX + 1)}]}, "piece 1"),
        ({"pieces": [piece] * (PIECES_MAX + 1)}, "at most"),
        ({"size": 2**63}, "size"),
        ({"secrets": True}, "secrets"),
        ({"day": _HUGE}, "day"),
        ({"importance": -1}, "importance"),
        ({"title": "x" * 3000}, "title"),
        ({"notes": ["n"] * 1001}, "notes"),
    ):
        status, answer = served.post("/v1/workers/document", document(served, name, **changes))
        assert (status, answer["code"]) == (400, "bad_request") and problem in answer["error"], (changes.keys(), answer)
    assert served.engine.store.value("SELECT count(*) FROM passages") == 0
    status, answer = served.post("/v1/workers/document", document(served, name))
    assert (status, answer["status"], answer["chunks"]) == (200, "ok", 1)
    served.engine.documents.forget(f"document:{name}")


def test_a_worker_brings_files_of_followed_folders_only(served: Served, tmp_path: Path) -> None:
    outside, followed = tmp_path / "outside.md", tmp_path / "followed"
    followed.mkdir()
    outside.write_text("The vault code is 7333.\n", "utf-8")
    (followed / "inside.md").write_text("The heron nests early.\n", "utf-8")
    (served.raw_folder / "link.md").symlink_to(outside)
    (served.raw_folder.parent / "up").symlink_to(tmp_path)
    (served.engine.settings.vault / "loose.md").write_text("Not of the wiki.\n", "utf-8")
    served.engine.ingest(followed)
    (followed / "later.md").write_text("The heron left.\n", "utf-8")
    before, refused = served.counted("documents_not_followed"), 0
    for name in (
        str(outside), "/etc/hostname", "loose.md", "wiki/raw/link.md", "wiki/up/outside.md", "wiki/raw/../../loose.md",
        "wiki//raw/note.md", f"{followed}/../outside.md", f"{followed}-more",
    ):  # fmt: skip
        try:
            body = document(served, name)
        except FileNotFoundError:
            continue
        for sent in (body, {"name": name, "gone": True}):
            status, answer = served.post("/v1/workers/document", sent)
            refused += 1
            assert (status, answer["code"]) == (400, "document"), (name, answer)
            assert "followed" in answer["error"]
    assert refused >= 14 and served.counted("documents_not_followed") - before == refused
    assert served.post("/v1/workers/document", document(served, f"{followed}/later.md"))[1]["status"] == "ok"
    # What was to be followed and is gone is nobody's fault.
    assert served.post("/v1/workers/document", {"name": f"{tmp_path}/gone/a.md", "gone": True})[0] == 200


def test_dead_letters_are_dropped_and_requeued_together_or_not_at_all(served: Served) -> None:
    numbers = [served.post("/v1/workers/dead_letter", {**_LETTER, "job": f"j{one}"})[1]["id"] for one in range(2)]
    for route in ("drop", "requeue"):
        status, answer = served.post(f"/v1/dlq/{route}", {"ids": [numbers[0], 10**9]})
        assert (status, answer["code"]) == (400, "bad_request")
        assert served.engine.dead_letters.count() == 2
    dropped = served.post("/v1/dlq/drop", {"ids": [numbers[0], numbers[0], numbers[1]]})[1]["dropped"]
    assert [one["id"] for one in dropped] == numbers


def test_what_our_own_workers_send_passes() -> None:
    from dataclasses import asdict

    from memory_os.llm.messages import Call
    from memory_os.understanding.reading import Read
    from memory_os.wiki.curated import Curated

    told = Read("a/b", "s", turns=["t"], withdrawn=["t"], facts={"F1": 3}, dropped=1).as_dict()
    kept = read_as(bodies.Understood, told).model_dump(exclude_unset=True)
    assert {name: told[name] for name in kept} == kept and "failed" not in kept
    curated = Curated("a.md", created=["concepts/a.md"], flagged=True).as_dict()
    assert read_as(bodies.Curated, curated).created == ["concepts/a.md"]
    call = Call(at=1.0, job="extraction", model="m", units=2)
    assert Call(**read_as(bodies.Usage, {"call": asdict(call)}).call.model_dump()) == call
    for function, payload in (("embed", [["h"]]), ("maintain", ["decay", "5"]), ("understand", ["s", "a/b", 7]), ("wait", [1, 0.1])):
        assert read_as(bodies.DeadLetter, {**_LETTER, "function": function, "payload": payload}).payload == payload


def test_a_vector_that_memory_cannot_hold_is_refused() -> None:
    from memory_os_workers.jobs.connection import vectors_of

    def encoded(values: list[float]) -> dict[str, str]:
        return {"h": base64.b64encode(np.array(values, "<f4").tobytes()).decode()}

    assert vectors_of(encoded([1.0, -1.0]), 2)["h"].tolist() == [1.0, -1.0]
    for values in ([70_000.0, 0.0], [float("nan"), 0.0], [float("-inf"), 0.0], [1.0]):
        with pytest.raises(ValueError, match="h has no vector"):
            vectors_of(encoded(values), 2)
