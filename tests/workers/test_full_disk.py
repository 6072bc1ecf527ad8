"""The very first start on a real small disk: too little room for the model, and then enough."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.conftest import remove
from workers.running import Home, wait_until

_BALLAST_MB = 48


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Home]:
    """A home on a file system of 64 MB of its own, of which a file takes so much that the model has no room."""
    folder = Path(tempfile.mkdtemp(prefix="mos-"))
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)], check=True, capture_output=True)
    except (subprocess.CalledProcessError, FileNotFoundError):
        folder.rmdir()
        pytest.skip("this user may not mount")
    home = Home(folder / "home")
    home.settings.home.mkdir(parents=True)
    (folder / "ballast").write_bytes(b"x" * _BALLAST_MB * 2**20)
    try:
        yield home
    finally:
        home.close()
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)
        remove(folder)


@pytest.mark.timeout(600)
def test_a_model_without_room_is_said_at_once_and_made_when_there_is_room(small: Home) -> None:
    small.serve()
    wait_until(lambda: bool(small.client.get("/v1/status")["service"]["model_error"]))
    status = small.command("status")
    assert "words only" in status.stdout and "is full" in status.stdout and "Free some disk space" in status.stdout
    assert "is full" in small.command("doctor").stdout
    assert not list(small.settings.models_dir.iterdir())  # nothing half-written takes the last room
    told = {"arguments": {"action": "add", "content": "The relay hums on pier 9."}, "caller": {}}
    assert "error" not in small.client.post("/v1/tools/fact_store", told)
    asked = {"v": 1, "turn_id": "t", "session_id": "s", "user": "local", "platform": "cli", "profile": "default",
             "user_message": "Where does the relay hum?"}  # fmt: skip
    assert "pier 9" in small.client.post("/v1/recall", asked)["context"]
    (small.hermes_home.parent / "ballast").unlink()
    wait_until(lambda: bool((small.client.health() or {}).get("ready")))
    assert small.client.get("/v1/status")["service"]["model_error"] == ""
    # The queue, whose worker needs the model as well.
    wait_until(lambda: small.client.get("/v1/status")["pipeline"]["children"] != {})
    assert small.client.get("/v1/status")["pipeline"]["findings"] == []
