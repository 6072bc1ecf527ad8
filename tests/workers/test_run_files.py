"""The files in run/: lock, token, records of a start; real files, real sockets."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.config import Settings, Values, load_settings
from memory_os.errors import ServiceError, ServiceRunning, SocketPathTooLong, StoreCorrupt
from memory_os_workers import run_files
from memory_os_workers.entry import UPGRADING


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = load_settings({"HERMES_HOME": str(tmp_path)})
    run_files.prepare_home(found)
    return found


def test_one_lock_has_one_holder_and_can_be_taken_again(settings: Settings) -> None:
    first, second = run_files.InstanceLock(settings), run_files.InstanceLock(settings)
    first.acquire()
    with pytest.raises(ServiceRunning, match=str(os.getpid())):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    second.release()


@given(st.text("xü路", min_size=1, max_size=140))
def test_a_socket_path_is_measured_in_bytes(name: str) -> None:
    home = Path("/tmp") / name
    found = Settings(hermes_home=home, home=home, values=Values())
    if len(os.fsencode(found.socket)) <= 103:
        assert run_files.checked_socket_path(found) == found.socket
    else:
        with pytest.raises(SocketPathTooLong, match=r"service\.socket"):
            run_files.checked_socket_path(found)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_socket_in_a_folder_that_others_can_write_to_is_refused(settings: Settings, tmp_path: Path, mode: int) -> None:
    """They could put one of their own in its place while no service runs."""
    settings.config_file.write_text(f"service: {{socket: '{tmp_path}/s/s.sock'}}\n")
    elsewhere = load_settings({"HERMES_HOME": str(tmp_path)})
    (tmp_path / "s").mkdir()
    (tmp_path / "s").chmod(mode)
    with pytest.raises(ServiceError, match="others can write"):
        run_files.bind_socket(elsewhere)
    (tmp_path / "s").chmod(0o755)
    run_files.bind_socket(elsewhere).close()


def test_a_record_left_behind_is_told_once(settings: Settings) -> None:
    run_files.announce(settings, 1.0)
    assert run_files.take_unclean_end(settings) == {}
    assert run_files.left_behind(settings)["started_at"] == 1.0
    run_files.announce(settings, 2.0)  # the one of 1.0 never withdrew
    assert run_files.take_unclean_end(settings)["started_at"] == 1.0
    assert run_files.take_unclean_end(settings) == {}
    run_files.withdraw(settings, run_files.socket_identity(settings.socket))
    run_files.announce(settings, 3.0)
    assert run_files.take_unclean_end(settings) == {}, "a clean end leaves nothing to tell"


def test_what_another_service_announced_stays(settings: Settings) -> None:
    run_files.announce(settings, 1.0)
    run_files.write_json(settings.run_dir / "service.json", {"pid": os.getppid(), "socket": "/elsewhere.sock"})
    run_files.withdraw(settings, None)
    assert run_files.left_behind(settings)["socket"] == "/elsewhere.sock"
    run_files.announce(settings, 2.0)
    run_files.withdraw(settings, None)
    assert not run_files.left_behind(settings)


def test_a_failure_is_left_read_and_cleared(settings: Settings) -> None:
    run_files.record_failure(settings, StoreCorrupt("It is damaged.", cure="Restore it."))
    left = run_files.last_failure(settings)
    assert (left["error"], left["cure"], left["code"]) == ("It is damaged.", "Restore it.", "store_corrupt")
    run_files.clear_failure(settings)
    run_files.clear_failure(settings)
    assert run_files.last_failure(settings) == {}


def test_while_the_package_is_replaced_nothing_is_a_failure(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / UPGRADING).write_text(f"{os.getpid()}\n")
    run_files.record_failure(settings, StoreCorrupt("A module is missing."))
    assert run_files.last_failure(settings) == {}
    (tmp_path / UPGRADING).write_text("2147483647\n")
    run_files.record_failure(settings, StoreCorrupt("It is damaged."))
    assert run_files.last_failure(settings)["error"] == "It is damaged.", "that setup.sh was killed"


def test_a_failure_on_a_home_that_cannot_be_written_is_not_a_second_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    home = tmp_path / "file" / "home"
    run_files.record_failure(Settings(hermes_home=home, home=home, values=Values()), StoreCorrupt("x"))
    assert (tmp_path / "file").read_text("utf-8") == ""


def test_the_token_is_made_once_private_and_checked(settings: Settings) -> None:
    token = run_files.service_token(settings)
    path = settings.run_dir / "token"
    assert len(token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run_files.service_token(settings) == token
    path.write_text("", "ascii")
    with pytest.raises(ServiceError, match="token"):
        run_files.service_token(settings)


def test_half_written_spool_files_do_not_count(settings: Settings) -> None:
    for name in ("1-a.json", "2-b.json", ".3-c.json.part", ".4.json", "notes.txt"):
        (settings.spool_dir / name).write_text("{}", "utf-8")
    (settings.spool_dir / "rejected").mkdir()
    assert sorted(run_files.spool_files(settings)) == ["1-a.json", "2-b.json"]
    assert run_files.spool_depth(settings) == 2


@pytest.mark.parametrize("content", ["", "[]", "{", "7", "\x00"])
def test_a_file_that_holds_no_object_reads_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content, "utf-8")
    assert run_files.read_json(tmp_path / "a.json") == {}


@pytest.mark.parametrize(
    ("number", "cure"), [(errno.ENOSPC, "Free"), (errno.EROFS, "owner and mode"), (errno.ENOTDIR, "Check the path")]
)
def test_what_cannot_be_written_says_what_to_do(number: int, cure: str) -> None:
    error = run_files.cannot_write(Path("/x"), OSError(number, os.strerror(number)))
    assert os.strerror(number) in error.message
    assert cure in error.cure
