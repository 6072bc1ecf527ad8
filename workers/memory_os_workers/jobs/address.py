"""Where the queue is: a configured Redis or Valkey, or the Valkey that is bundled; and what its faults mean.

A password stands in `MEMORY_OS_REDIS_PASSWORD`, in config.yaml or in `run/queue.password`; it is never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory_os import constants
from memory_os.config import Settings
from memory_os.errors import ConfigError, MemoryOSError, QueueAuth, QueueAway, QueueError, QueueFull, said_by
from memory_os.loopback import is_loopback_host

if TYPE_CHECKING:
    from arq.connections import RedisSettings

_CONNECT_TIMEOUT_S = 2
_TLS_OPTIONS = ("ssl_keyfile", "ssl_certfile", "ssl_ca_certs")


@dataclass(frozen=True, slots=True)
class Address:
    """`shown`: for people, without user and password. `bundled`: the service runs the server itself."""

    shown: str
    bundled: bool
    local: bool
    url: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    socket: Path | None = None

    def redis_settings(self) -> RedisSettings:
        """For ARQ. Raises ConfigError for a URL it can't use."""
        from arq.connections import RedisSettings

        if self.socket is not None:
            return RedisSettings(
                unix_socket_path=str(self.socket),
                password=self.password or None,
                conn_timeout=_CONNECT_TIMEOUT_S,
                conn_retries=0,
            )
        return RedisSettings(conn_timeout=_CONNECT_TIMEOUT_S, conn_retries=0, **_connection(self.url, self.password))


def queue_address(settings: Settings) -> Address:
    """The address for this configuration. Raises ConfigError for a URL that is none."""
    url = settings.values.servers.redis_url
    if not url:
        return bundled_address(settings)
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ConfigError(
            f"servers.redis_url must begin with redis://, rediss:// or unix://, not {parts.scheme or 'nothing'}.",
            cure="For example `redis://127.0.0.1:6379/0`.",
        )
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ConfigError(f"servers.redis_url has a port that is none: {error}.") from error
    if parts.scheme == "unix":
        shown = f"unix://{parts.path}"
    else:
        shown = f"{parts.scheme}://{host or 'localhost'}:{port or 6379}{parts.path if parts.path != '/' else ''}"
    local = parts.scheme == "unix" or not host or is_loopback_host(host)
    password = settings.values.servers.redis_password.get_secret_value()
    return Address(shown=shown, bundled=False, local=local, url=url, password=password)


def bundled_address(settings: Settings) -> Address:
    """The Valkey beside the service: its socket lies beside the service's own, which may have a short path of its own."""
    path = bundled_socket(settings)
    try:
        password = (settings.run_dir / "queue.password").read_text("ascii", "replace").strip()
    except OSError:
        password = ""
    return Address(shown=f"unix://{path}", bundled=True, local=True, password=password, socket=path)


def bundled_socket(settings: Settings) -> Path:
    """`run/queue.sock`, or beside a `service.socket` that is set."""
    socket = settings.socket
    if settings.values.service.socket is None:
        return socket.with_name("queue.sock")
    return socket.with_name(f"{socket.stem}.queue.sock")


def socket_fits(settings: Settings) -> bool:
    return len(str(bundled_socket(settings)).encode()) <= constants.SOCKET_PATH_MAX


def _connection(url: str, password: str) -> Mapping[str, Any]:
    """The fields of RedisSettings that a URL gives; a TLS certificate is verified, its name too."""
    from redis.asyncio.connection import parse_url

    try:
        parsed: dict[str, Any] = dict(parse_url(url))
    except ValueError as error:
        raise ConfigError(f"servers.redis_url can't be used: {error}.") from error
    secure = url.startswith("rediss:")
    fields: dict[str, Any] = {
        "username": parsed.get("username"),
        "password": password or parsed.get("password"),
        "database": int(parsed.get("db", 0)),
        "ssl": secure,
    }
    if "path" in parsed:
        return {**fields, "unix_socket_path": parsed["path"]}
    fields |= {"host": parsed.get("host", "localhost"), "port": int(parsed.get("port", 6379))}
    if secure:
        fields |= {name: parsed[name] for name in _TLS_OPTIONS if parsed.get(name)}
        fields["ssl_check_hostname"] = True
    return fields


def typed(error: BaseException, shown: str, *, bundled: bool = False) -> QueueError:
    """The fault of a Redis client as one sentence with its cure. `bundled`: the service looks after that server itself."""
    if isinstance(error, QueueError):
        return error
    text = said_by(error).rstrip(".")
    upper = text.upper()
    if upper.startswith("OOM") or "USED MEMORY > 'MAXMEMORY'" in upper:
        return QueueFull(
            f"The queue at {shown} is full: its memory limit is reached.",
            cure="Raise its `maxmemory`; until then the service does the work itself.",
        )
    # What the servers say to a missing password, a wrong one, and one they did not ask for.
    if "NOAUTH" in upper or "AUTHENTICATION REQUIRED" in upper:
        return QueueAuth(f"The queue at {shown} asks for a password.", cure="Set `MEMORY_OS_REDIS_PASSWORD`.")
    if "WRONGPASS" in upper or "INVALID PASSWORD" in upper or "INVALID USERNAME" in upper:
        return QueueAuth(f"The queue at {shown} refuses the password.", cure="Correct `MEMORY_OS_REDIS_PASSWORD`.")
    if "WITHOUT ANY PASSWORD CONFIGURED" in upper:
        return QueueAuth(
            f"The queue at {shown} has no password, and one is configured.",
            cure="Give the server a `requirepass`, or unset `MEMORY_OS_REDIS_PASSWORD`.",
        )
    if "MISCONF" in upper or "READONLY" in upper:
        return QueueAway(f"The queue at {shown} takes no writes: {text}.", cure="Look at the server's log and disk.")
    cure = "Start the server, or correct `servers.redis_url`; until then the service does the work itself."
    if bundled:
        cure = "A running service starts it again by itself and does the work meanwhile; logs/queue.log tells of its end."
    return QueueAway(f"The queue at {shown} can't be reached: {text}.", cure=cure)


def is_queue_fault(error: BaseException) -> bool:
    """Whether an error comes from Redis or the way to it."""
    from redis.exceptions import RedisError

    return isinstance(error, (RedisError, OSError, TimeoutError, QueueError)) and (
        isinstance(error, QueueError) or not isinstance(error, MemoryOSError)
    )
