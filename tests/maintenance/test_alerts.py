"""Alerts: by a real command and a real HTTP server, once an episode and once on recovery, and never a secret."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from memory_os.config import AlertSettings, load_settings
from memory_os.engine import Engine
from memory_os.errors import AlertError, ConfigError
from memory_os.maintenance import alerts
from memory_os.maintenance.alerts import Alert, Alerts
from memory_os.maintenance.duty import DutyOutcome

from .conftest import NOW, Home

ALERT = Alert("/home/x", "backup", "failed", "no room", NOW)


def recorder(folder: Path) -> list[str]:
    """A command that adds what it is told to a file, and one argument no shell must touch."""
    script = folder / "tell.py"
    script.write_text(
        "import sys, pathlib\n"
        "with pathlib.Path(sys.argv[1]).open('ab') as out: out.write(sys.stdin.buffer.read() + b'\\n')\n"
        "assert sys.argv[2] == '$(touch x); *'\n"
    )
    return [sys.executable, str(script), str(folder / "told"), "$(touch x); *"]


def told(folder: Path) -> list[dict[str, Any]]:
    path = folder / "told"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


class Webhook(BaseHTTPRequestHandler):
    got: ClassVar[list[dict[str, Any]]] = []
    answer: ClassVar[int] = 204

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append(json.loads(body))
        self.send_response(self.answer)
        if self.answer == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def webhook() -> Iterator[str]:
    Webhook.got, Webhook.answer = [], 204
    server = HTTPServer(("127.0.0.1", 0), Webhook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook?token=s3cret"
    server.shutdown()
    thread.join()
    server.server_close()


def failing(engine: Engine) -> Path:
    """Make the daily backup fail until the returned file is gone."""
    blocking = engine.settings.backups_dir
    blocking.write_text("a file in the way")
    return blocking


def test_once_an_episode_and_once_when_it_is_over(home: Home, tmp_path: Path) -> None:
    engine = home("hermes", f"alerts: {{command: {json.dumps(recorder(tmp_path))}}}")
    run = engine.maintenance.run
    run("backup", NOW)
    assert told(tmp_path) == []
    (engine.settings.backups_dir / next(engine.settings.backups_dir.iterdir()).name).unlink()
    engine.settings.backups_dir.rmdir()
    blocking = failing(engine)
    for number in range(3):
        run("backup", NOW + number)
    blocking.unlink()
    for number in range(3, 5):
        run("backup", NOW + number)
    assert [(one["event"], one["duty"]) for one in told(tmp_path)] == [("failed", "backup"), ("recovered", "backup")]
    failing_again = told(tmp_path)[0]
    assert failing_again["source"] == "memory-os"
    assert failing_again["home"] == str(engine.settings.home)
    assert not (tmp_path / "x").exists()


def test_an_episode_outlives_a_restart(tmp_path: Path) -> None:
    (tmp_path / "hermes" / "memory-os").mkdir(parents=True)
    config = tmp_path / "hermes" / "memory-os" / "config.yaml"
    config.write_text(f"alerts: {{command: {json.dumps(recorder(tmp_path))}}}")
    for number in range(2):
        engine = Engine.open(load_settings({}, hermes_home=tmp_path / "hermes"))
        if number == 0:
            failing(engine)
        engine.maintenance.run("backup", NOW + number)
        engine.close()
    assert [one["event"] for one in told(tmp_path)] == ["failed"]


def test_what_could_not_be_told_is_told_with_the_next_failure(home: Home, tmp_path: Path, webhook: str) -> None:
    engine = home("hermes", f"alerts: {{webhook: '{webhook}'}}")
    failing(engine)
    Webhook.answer = 500
    engine.maintenance.run("backup", NOW)
    counted = engine.store.row("SELECT * FROM counters WHERE name = 'alert_failed'")
    assert counted is not None
    assert "500" in counted["last_reason"]
    assert "s3cret" not in counted["last_reason"]
    Webhook.answer = 204
    engine.maintenance.run("backup", NOW + 1)
    engine.maintenance.run("backup", NOW + 2)
    assert len(Webhook.got) == 2


def test_degraded_is_told_too_and_a_dry_run_is_not(home: Home, webhook: str) -> None:
    engine = home("hermes", f"alerts: {{webhook: '{webhook}'}}")
    engine.dead_letters.add("embed:x", "embed", [["x"]], "ValueError", "no such text", 3)
    engine.maintenance.run("dead_letters", NOW, dry_run=True)
    assert Webhook.got == []
    engine.maintenance.run("dead_letters", NOW)
    assert [one["event"] for one in Webhook.got] == ["degraded"]


def test_a_webhook_is_sent_json_and_follows_no_redirect(webhook: str) -> None:
    Alerts(AlertSettings(webhook=webhook)).send(ALERT)
    assert Webhook.got[0]["message"] == "no room"
    Webhook.answer = 302
    with pytest.raises(AlertError, match="302"):
        Alerts(AlertSettings(webhook=webhook)).send(ALERT)
    assert len(Webhook.got) == 2


def test_no_secret_leaves(webhook: str) -> None:
    outcome = DutyOutcome("backup", NOW, "failed", "", "token=ghp_0123456789abcdefghijABCDEFGHIJ012345 was refused")
    Alerts(AlertSettings(webhook=webhook)).send(Alert.of(outcome, "/home/x"))
    assert "ghp_0123456789" not in json.dumps(Webhook.got)
    assert "was refused" in Webhook.got[0]["message"]


@pytest.mark.parametrize("text", ["Платёж отклонён", "فشل", "磁盘已满", "ディスクがいっぱい", "Größe", "não há espaço", "full"])
def test_in_every_script(webhook: str, text: str) -> None:
    Alerts(AlertSettings(webhook=webhook)).send(Alert("/h", "backup", "failed", text, NOW))
    assert Webhook.got[0]["message"] == text


def test_a_command_that_hangs_fails_or_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "TIMEOUT_S", 0.3)
    waiting = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    for command, said in (
        (waiting, "did not end"),
        ([sys.executable, "-c", "raise SystemExit(7)"], "exit code 7"),
        ([str(tmp_path / "none")], "can't be run"),
    ):
        monkeypatch.setattr(alerts, "TIMEOUT_S", 0.3 if command is waiting else 30)
        with pytest.raises(AlertError, match=said):
            Alerts(AlertSettings(command=command)).send(ALERT)


def test_one_route_that_fails_does_not_silence_the_other(webhook: str, tmp_path: Path) -> None:
    with pytest.raises(AlertError, match="can't be run"):
        Alerts(AlertSettings(command=[str(tmp_path / "none")], webhook=webhook)).send(ALERT)
    assert len(Webhook.got) == 1


@pytest.mark.parametrize("address", ["http://example.org/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "example.org", "https://", "http://[::1"])
def test_only_https_or_loopback(tmp_path: Path, address: str) -> None:
    (tmp_path / "memory-os").mkdir()
    (tmp_path / "memory-os" / "config.yaml").write_text(f"alerts: {{webhook: '{address}'}}")
    with pytest.raises(ConfigError, match=r"alerts\.webhook"):
        load_settings({}, hermes_home=tmp_path)


def test_status_says_what_leaves_the_machine(home: Home) -> None:
    remote = home("remote", "alerts: {webhook: 'https://hooks.example.org/services/s3cret'}")
    (line,) = [one for one in remote.status()["egress"] if "alerts" in one]
    assert "hooks.example.org" in line
    assert "s3cret" not in line
    local = home("local", "alerts: {webhook: 'http://127.0.0.1:9/x'}")
    assert [one for one in local.status()["egress"] if "alerts" in one] == []


def test_a_server_that_speaks_no_http_is_an_alert_that_failed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"SSH-2.0-x\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/s3cret"
        with pytest.raises(AlertError, match="can't be reached") as met:
            Alerts(AlertSettings(webhook=address)).send(ALERT)
        thread.join()
    assert "s3cret" not in str(met.value)


def test_a_command_that_is_none_is_an_alert_that_failed() -> None:
    with pytest.raises(AlertError, match="can't be run"):
        Alerts(AlertSettings(command=["true\0"])).send(ALERT)
