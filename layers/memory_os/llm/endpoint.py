"""One place where a model is: address, name and key, whoever configured it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from memory_os.loopback import is_loopback

Dialect = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`provider` is how it was configured (`hermes`, `openai`, `anthropic`), `dialect` what it speaks.

    `api_key` is shown by nothing: not in the repr, not in `public`.
    """

    provider: str
    dialect: Dialect
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    # Headers that the host sends there too, e.g. of an access proxy; they may be secrets.
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    proxy: str = field(default="", repr=False)

    @property
    def public(self) -> str:
        """The address without credentials, query and path: what may be shown."""
        return public_address(self.base_url)

    @property
    def local(self) -> bool:
        """Whether text sent there stays on this machine."""
        return is_loopback(self.base_url)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.api_key, *(value for _, value in self.headers))


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why there is no endpoint, and what to do about it."""

    reason: str
    cure: str = ""


def public_address(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or "?"
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"


def address_error(url: str) -> str:
    """Why a URL can't be an endpoint, or ""."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        return "is no URL"
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        return "must be http:// or https:// with a host"
    return ""
