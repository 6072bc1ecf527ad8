"""Where the queue is: URLs, secrets that are never shown, and faults that name their cure."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.errors import ConfigError, QueueAuth, QueueAway, QueueFull
from memory_os_workers.jobs.address import bundled_socket, is_queue_fault, queue_address, socket_fits, typed
from redis.exceptions import ConnectionError as Gone
from redis.exceptions import ResponseError


def _settings(home: Path, url: str = "", password: str = "", socket: str = "") -> Settings:
    home.joinpath("memory-os").mkdir(exist_ok=True)
    text = f"service: {{socket: {socket}}}\n" if socket else ""
    home.joinpath("memory-os", "config.yaml").write_text(text, "utf-8")
    variables = {"MEMORY_OS_REDIS_URL": url, "MEMORY_OS_REDIS_PASSWORD": password}
    return load_settings({"HERMES_HOME": str(home), **{key: value for key, value in variables.items() if value}})


def test_without_a_url_the_bundled_server_is_meant(tmp_path: Path) -> None:
    address = queue_address(_settings(tmp_path))
    assert address.bundled and address.local
    assert address.socket == tmp_path / "memory-os" / "run" / "queue.sock"


def test_a_short_socket_path_of_the_service_gives_the_queue_a_short_one(tmp_path: Path) -> None:
    settings = _settings(tmp_path, socket="/tmp/x/a.sock")
    assert bundled_socket(settings) == Path("/tmp/x/a.queue.sock")
    assert socket_fits(settings)
    assert not socket_fits(_settings(tmp_path, socket=f"/tmp/{'x' * 80}/{'y' * 20}.sock"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user@queue.example:6380/2", "redis://queue.example:6380/2"),
        ("rediss://queue.example", "rediss://queue.example:6379"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock"),
    ],
)
def test_an_address_is_shown_without_user_and_password(tmp_path: Path, url: str, shown: str) -> None:
    assert queue_address(_settings(tmp_path, url)).shown == shown


def test_a_url_gives_what_the_client_needs(tmp_path: Path) -> None:
    plain = queue_address(_settings(tmp_path, "redis://me@h:6380/2", "p@ss")).redis_settings()
    assert (plain.host, plain.port, plain.database, plain.username, plain.password) == ("h", 6380, 2, "me", "p@ss")
    assert plain.ssl is False


def test_tls_checks_the_certificate_and_its_name(tmp_path: Path) -> None:
    secure = queue_address(_settings(tmp_path, "rediss://h:6380?ssl_ca_certs=/etc/ca.pem")).redis_settings()
    assert (secure.ssl, secure.ssl_cert_reqs, secure.ssl_check_hostname) == (True, "required", True)
    assert secure.ssl_ca_certs == "/etc/ca.pem"


def test_an_address_does_not_tell_its_password(tmp_path: Path) -> None:
    settings = _settings(tmp_path, "redis://h", "hidden")
    address = queue_address(settings)
    assert address.redis_settings().password == "hidden"
    assert "hidden" not in repr(address) + repr(settings)


@pytest.mark.parametrize("url", ["http://h", "queue.example", "redis://h:port"])
def test_a_url_that_is_none_names_the_key(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"servers\.redis_url"):
        queue_address(_settings(tmp_path, url)).redis_settings()


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (ResponseError("OOM command not allowed when used memory > 'maxmemory'."), QueueFull, "maxmemory"),
        (ResponseError("NOAUTH Authentication required."), QueueAuth, "asks for a password"),
        (ResponseError("WRONGPASS invalid username-password pair"), QueueAuth, "refuses the password"),
        (ResponseError("MISCONF Errors writing to the AOF file"), QueueAway, "takes no writes"),
        (Gone("Error 111 connecting to h:1."), QueueAway, "can't be reached"),
    ],
)
def test_every_fault_of_the_server_is_one_sentence_with_its_cure(error: Exception, kind: type, word: str) -> None:
    found = typed(error, "redis://h:1")
    assert isinstance(found, kind) and word in str(found)
    assert found.cure
    assert typed(found, "elsewhere") is found


def test_the_bundled_server_is_nobodys_to_start() -> None:
    error = ConnectionError("Error 2 connecting to queue.sock. No such file or directory.")
    bundled, own = typed(error, "unix://queue.sock", bundled=True), typed(error, "unix://queue.sock")
    assert "redis_url" in own.cure and "redis_url" not in bundled.cure and "queue.log" in bundled.cure
    assert ".." not in str(bundled)


def test_faults_of_the_queue_are_told_from_others() -> None:
    assert is_queue_fault(Gone("x")) and is_queue_fault(QueueAway("x")) and is_queue_fault(TimeoutError())
    assert not is_queue_fault(ValueError("x")) and not is_queue_fault(ConfigError("x"))
