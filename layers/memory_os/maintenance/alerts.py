"""Telling somebody that a duty fails, and that it works again: by a command of theirs, or a webhook.

The payload is JSON: `{"home", "duty", "event", "state", "message", "at"}`, `event` being `failed`, `degraded` or
`recovered`. It names no memory and no secret. One alert an episode, one when it is over.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from typing import IO, Any
from urllib.parse import urlsplit

from memory_os.config import AlertSettings
from memory_os.errors import AlertError
from memory_os.loopback import is_loopback, is_loopback_host
from memory_os.maintenance.duty import DutyOutcome
from memory_os.redact import redact

# An alert is one line for somebody; what takes longer than this is no alert route.
TIMEOUT_S = 10.0
_MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Alert:
    """What is told. `at` in epoch seconds."""

    home: str
    duty: str
    event: str
    message: str
    at: float

    @classmethod
    def of(cls, outcome: DutyOutcome, home: str) -> Alert:
        event = "recovered" if outcome.state == "ok" else outcome.state
        message, _ = redact(outcome.error or outcome.result)
        return cls(home, outcome.name, event, message[:_MESSAGE_CHARS], outcome.at)

    def payload(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({"source": "memory-os", **values}, ensure_ascii=False).encode("utf-8", "replace")


class Alerts:
    """The routes of the configuration. Without one nothing is sent, and `status` alone tells."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings

    @property
    def configured(self) -> bool:
        return bool(self._settings.command or self._settings.webhook)

    @property
    def egress(self) -> list[str]:
        """Whom beyond this machine failures are told to; the rest of the address may be a secret."""
        host = urlsplit(self._settings.webhook).hostname or ""
        return [f"alerts of failing duties to {host}"] if host and not is_loopback_host(host) else []

    def send(self, alert: Alert) -> None:
        """Tell every route. Raises AlertError naming the first that failed, after all were tried."""
        faults: list[AlertError] = []
        for route, tell in ((self._settings.command, self._command), (self._settings.webhook, self._webhook)):
            try:
                if route:
                    tell(alert.payload())
            except AlertError as error:
                faults.append(error)
        if faults:
            raise faults[0]

    def _command(self, payload: bytes) -> None:
        """The user's command, without a shell; the payload comes on its standard input."""
        program = self._settings.command[0]
        try:
            done = subprocess.run(
                self._settings.command, input=payload, capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise AlertError(f"alerts.command {program!r} did not end within {TIMEOUT_S:g} s.") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise AlertError(f"alerts.command {program!r} can't be run: {reason}.", cure="Check its path.") from error
        if done.returncode:
            raise AlertError(f"alerts.command {program!r} ended with exit code {done.returncode}.")

    def _webhook(self, payload: bytes) -> None:
        request = urllib.request.Request(  # noqa: S310 - the configuration takes https, and http on loopback
            self._settings.webhook, payload, {"Content-Type": "application/json"}, method="POST"
        )
        try:
            # A redirect could lead to a plain address, or into this machine. What stays on the machine takes no proxy.
            direct = [urllib.request.ProxyHandler({})] if is_loopback(self._settings.webhook) else []
            with urllib.request.build_opener(_NoRedirects, *direct).open(request, timeout=TIMEOUT_S):
                return
        except urllib.error.HTTPError as error:
            error.close()
            raise AlertError(f"alerts.webhook answered {error.code}.") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            # The address may carry a token: it is named nowhere.
            reason = getattr(error, "reason", None) or type(error).__name__
            raise AlertError(f"alerts.webhook can't be reached: {reason}.") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Any:
        return None
