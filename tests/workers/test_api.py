"""Every route of the running service, and everything a client can do wrong."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from memory_os.config import load_settings
from memory_os.engine import Engine
from memory_os_workers import api
from memory_os_workers.api import build_app
from memory_os_workers.run_files import prepare_home
from memory_os_workers.service import Service

from workers.running import PATIENCE_S, Home, raw

RECALL = {"v": 1, "turn_id": "t1", "session_id": "s1", "platform": "cli", "user": "local", "profile": "default"}


def _post(home: Home, path: str, body: Any) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return raw(home.settings.socket, "POST", path, data)


def test_health_says_who_answers(served: Home) -> None:
    status, found = raw(served.settings.socket, "GET", "/v1/health")
    assert status == 200
    assert found["ok"] is found["ready"] is found["open"] is True
    assert found["home"] == str(served.settings.home)


def test_status_has_the_process_the_background_and_the_layers(served: Home) -> None:
    found = raw(served.settings.socket, "GET", "/v1/status")[1]
    assert found["service"]["memory_bytes"] > 10_000_000
    assert found["background"]["spool_depth"] == 0
    assert found["layers"]
    assert found["pending_embeddings"] >= 0


@pytest.mark.parametrize("message", ["", "when do we deploy?", "いつですか", "متى الموعد", "когда?", "何时部署", "x" * 900_000])
def test_recall_answers_any_text(served: Home, message: str) -> None:
    status, found = _post(served, "/v1/recall", {**RECALL, "user_message": message, "visible": {}, "at": time.time()})
    assert status == 200, found
    assert isinstance(found["context"], str)
    assert found["outcome"] in ("injected", "nothing", "skipped", "off", "degraded")


def test_half_an_emoji_does_not_cost_the_recall(served: Home) -> None:
    body = json.dumps(RECALL)[:-1].encode() + b', "user_message": "when \\ud83d do we deploy"}'
    assert _post(served, "/v1/recall", body)[0] == 200


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"null", b"\xff\xfe", b'{"v": 1, "at": NaN}', b'{"user_message": 5}', b'{"first_turn": "no"}']
)
@pytest.mark.parametrize("path", ["/v1/recall"])
def test_what_is_no_recall_is_a_400_that_says_why(served: Home, path: str, body: bytes) -> None:
    status, found = _post(served, path, body)
    assert status == 400
    assert found["code"] == "bad_request" and found["error"]


@pytest.mark.parametrize("path", ["/v1/tools/fact_store", "/v1/forget"])
def test_arguments_must_be_an_object(served: Home, path: str) -> None:
    status, found = _post(served, path, {"arguments": [1], "caller": {}})
    assert (status, found["code"]) == (400, "bad_request")
    assert "arguments" in found["error"]


def test_an_unknown_tool_is_the_callers_mistake(served: Home) -> None:
    status, found = _post(served, "/v1/tools/no_such_tool", {"arguments": {}, "caller": {}})
    assert status == 400
    assert "no_such_tool" in found["error"]


def test_unknown_paths_and_methods_are_json_too(served: Home) -> None:
    assert raw(served.settings.socket, "GET", "/v2/health")[0] == 404
    status, found = raw(served.settings.socket, "POST", "/v1/health")
    assert status == 405 and found["code"] == "http"


def test_a_body_over_4_mb_is_a_413(served: Home) -> None:
    status, found = _post(served, "/v1/recall", b'{"user_message": "' + b"x" * (4 * 1024 * 1024) + b'"}')
    assert (status, found["code"]) == (413, "too_large")


def test_a_chunked_body_over_4_mb_is_a_413_too(served: Home) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(served.settings.socket))
        connection.sendall(b"POST /v1/recall HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        block = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(70):
                connection.sendall(block)
            connection.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before the end, as it may
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_a_browser_is_refused_on_the_socket_as_well(served: Home) -> None:
    status, found = raw(served.settings.socket, "GET", "/v1/status", headers={"Origin": "http://127.0.0.1"})
    assert (status, found["code"]) == (403, "forbidden")


def test_ingest_streams_its_progress_and_ends_with_the_result(served: Home, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"note {number}.md").write_text(f"# Note {number}\n\nThe relay number {number} hums.\n", "utf-8")
    lines = list(served.client.stream("/v1/ingest", {"path": str(tmp_path)}))
    assert "result" in lines[-1]
    steps = [line["progress"] for line in lines[:-1]]
    assert steps and steps[-1]["done"] == steps[-1]["total"] == 5
    assert [step["done"] for step in steps] == sorted(step["done"] for step in steps)


@pytest.mark.parametrize("path", ["notes", "", None, 7])
def test_ingest_wants_an_absolute_path(served: Home, path: object) -> None:
    status, found = _post(served, "/v1/ingest", {"path": path})
    assert status == 400
    assert "absolute" in found["error"]


def test_an_import_from_an_impossible_path_is_the_callers_mistake(served: Home) -> None:
    status, found = _post(served, "/v1/import/holographic", {"path": "/" + "x" * 5000})
    assert status == 400
    assert "can't be looked up" in found["error"]


def test_a_fault_of_ours_is_a_500_without_insides_and_is_counted(home: Home) -> None:
    home.serve()
    before = raw(home.settings.socket, "GET", "/v1/status")[1]["service"]["errors"]
    import sqlite3

    with sqlite3.connect(home.settings.database) as db:
        db.execute("DROP TABLE recalls")
    status, found = raw(home.settings.socket, "GET", "/v1/explain?turn=last")
    assert status == 500
    assert found["code"] == "internal"
    assert "Traceback" not in json.dumps(found) and "recalls" not in json.dumps(found)
    after = home.client.get("/v1/health")
    assert after["ok"]
    log = (home.settings.logs_dir / "service.log").read_text("utf-8")
    assert "Traceback" in log and "no such table" in log
    with sqlite3.connect(home.settings.database) as db:
        counted = db.execute("SELECT value FROM counters WHERE name = 'api_error'").fetchone()
    assert before == 0 and counted == (1,)


def test_stop_answers_first_and_then_ends(home: Home) -> None:
    process = home.serve()
    status, found = _post(home, "/v1/stop", {})
    assert (status, found["pid"]) == (200, process.pid)
    assert process.wait(PATIENCE_S) == 0


def test_long_work_keeps_nobody_from_forgetting_or_curating(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path)
    prepare_home(settings)
    done = threading.Event()

    async def run(folder: str) -> list[int]:
        service = Service(settings)
        service._engine = Engine.open(settings)
        service.executors.long.submit(done.wait)
        runner = web.AppRunner(build_app(service), access_log=None)
        await runner.setup()
        path = Path(folder) / "s.sock"
        await web.UnixSite(runner, str(path)).start()
        try:
            asked = [
                asyncio.to_thread(raw, path, "POST", route, json.dumps(body).encode())
                for route, body in (
                    ("/v1/forget", {"arguments": {"query": "x"}, "caller": {}}),
                    ("/v1/wiki/related", {"text": "x"}),
                )
            ]
            async with asyncio.timeout(PATIENCE_S):
                return [status for status, _ in await asyncio.gather(*asked)]
        finally:
            done.set()
            await runner.cleanup()
            await service.shut_down()

    with tempfile.TemporaryDirectory(prefix="mos-") as folder:
        statuses = asyncio.run(run(folder))
    assert all(status in (200, 400) for status in statuses) and statuses[1] == 200


def test_a_workers_body_has_a_limit_of_its_own_which_the_error_names(tmp_path: Path) -> None:
    async def refused(request: web.Request) -> web.StreamResponse:
        raise web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2)

    async def asked(path: str) -> str:
        app = web.Application()
        app[api._SERVICE] = Service(load_settings({}, hermes_home=tmp_path))
        request = make_mocked_request("POST", path, app=app)
        answer = await api._answers(request, refused)
        assert isinstance(answer, web.Response) and answer.status == 413
        await app[api._SERVICE].shut_down()
        return str(answer.text)

    assert str(4 * 2**20) in asyncio.run(asked("/v1/recall"))
    assert str(128 * 2**20) in asyncio.run(asked("/v1/workers/document"))
