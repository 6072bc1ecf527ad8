"""What stays on this machine: the one idea of it, for every address that the configuration or a request gives."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

__all__ = ["is_loopback", "is_loopback_host"]


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine; False for what is no URL. Another machine in the same network is another one."""
    try:
        return is_loopback_host(urlsplit(url).hostname or "")
    except ValueError:
        return False


def is_loopback_host(host: str) -> bool:
    """`localhost` and names below it (RFC 6761), 127.0.0.0/8 and ::1, without brackets or port. No name is looked up."""
    host = host.lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
