"""What can go wrong in one attempt, and of which class it is. Pure: a status, headers and a body in, a `Fault` out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

from memory_os.redact import redact


class FaultClass(Enum):
    """What may be done about it: wait and repeat, ask for a correction, split, or nothing."""

    TRANSIENT = "transient"
    CONTENT = "content"
    TOO_LONG = "too_long"
    AUTH = "auth"
    REFUSED = "refused"


class Fault(Exception):
    """One failed attempt. `reason` is a short name for counting, `message` a sentence without secrets.

    `retry_after`: seconds the provider asked for, or None. `processed`: whether it may have worked on the input before it
    failed, so that the input counts as spent. `text`: what the model said instead. `limit`: tokens that would fit, or 0.
    `parameter`: the request field the provider doesn't know, or "". `heard`: pieces of output that
    had come, after `seconds`.
    """

    def __init__(
        self,
        kind: FaultClass,
        reason: str,
        message: str = "",
        *,
        retry_after: float | None = None,
        processed: bool = False,
        text: str = "",
        limit: int = 0,
        parameter: str = "",
    ) -> None:
        super().__init__(message or reason)
        self.kind = kind
        self.reason = reason
        self.message = message or reason
        self.retry_after = retry_after
        self.processed = processed
        self.text = text
        self.limit = limit
        self.parameter = parameter
        self.heard = 0
        self.seconds = 0.0


# Fields that some endpoints refuse by name. Asked without it, or with its other name, they answer.
_PARAMETERS = ("response_format", "stream_options", "max_completion_tokens", "max_tokens", "tool_choice", "temperature")
_UNKNOWN_PARAMETER = re.compile(
    r"unsupported|not supported|unavailable|unknown|unrecognized|unexpected|not permitted|extra inputs|does not support|invalid param",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum context|too many (?:input )?tokens|prompt is too long|input is too long"
    r"|exceeds? the (?:available )?context|reduce the length|token limit|max(?:imum)? (?:input )?(?:tokens|length)"
    r"|too large to process",  # llama.cpp, of a text to embed, with status 500
    re.IGNORECASE,
)
_LIMIT = re.compile(r"(?:maximum|limit|context|window|size)[^0-9]{0,60}?(\d{3,8})", re.IGNORECASE)
# Not "billing": a plain rate limit may link to the page where more can be bought.
_NO_QUOTA = re.compile(r"insufficient[ _](?:quota|credits|balance|funds)|exceeded your current quota", re.IGNORECASE)
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 529})
_MESSAGE_CHARS = 200


def of_status(status: int, headers: Mapping[str, str], body: str, now: float) -> Fault:
    """The fault behind an HTTP error. `body` as text, `now` in epoch seconds for a Retry-After that is a date."""
    code, message = _explained(body)
    said = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in (401, 407) or status == 402 or (status in (403, 429) and _NO_QUOTA.search(f"{code} {message}")):
        return Fault(FaultClass.AUTH, "payment" if status != 401 else "key_refused", said)
    if status == 403:
        return Fault(FaultClass.AUTH, "forbidden", said)
    too_long = status == 413 or (status not in _TRANSIENT_STATUS and _TOO_LONG.search(f"{code} {message}"))
    if (status in _TRANSIENT_STATUS or status >= 500) and not too_long:
        return Fault(FaultClass.TRANSIENT, _transient_reason(status), said, retry_after=wait_asked(headers, now))
    if too_long:
        return Fault(FaultClass.TOO_LONG, "context_too_long", said, limit=_limit_in(message))
    parameter = _unknown_parameter(message) if status in (400, 422) else ""
    reason = "parameter" if parameter else "not_found" if status == 404 else "refused"
    return Fault(FaultClass.REFUSED, reason, said, parameter=parameter)


def of_event(error: object) -> Fault:
    """The fault behind an error that arrives inside an answer of status 200."""
    code, message = _explained(json.dumps({"error": error}, ensure_ascii=False, default=str))
    said = message or "the provider broke off"
    if code.isdigit() and int(code) >= 400:
        found = of_status(int(code), {}, json.dumps({"error": error}, ensure_ascii=False, default=str), 0.0)
        return Fault(found.kind, found.reason, said, limit=found.limit, processed=True)
    if _TOO_LONG.search(f"{code} {said}"):
        return Fault(FaultClass.TOO_LONG, "context_too_long", said, limit=_limit_in(said))
    if _NO_QUOTA.search(f"{code} {said}") or code in ("authentication_error", "permission_error"):
        return Fault(FaultClass.AUTH, "key_refused", said)
    return Fault(FaultClass.TRANSIENT, "error_in_stream", said, processed=True)


def wait_asked(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that Retry-After asks for, given as seconds or as an HTTP date (RFC 9110, 10.2.3); None without one."""
    given = next((value.strip() for name, value in headers.items() if name.lower() == "retry-after"), "")
    milliseconds = next((value for name, value in headers.items() if name.lower() == "retry-after-ms"), "")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        if not given:
            return None
        if re.fullmatch(r"\d+(?:\.\d+)?", given):
            return float(given)
        return max(0.0, parsedate_to_datetime(given).timestamp() - now)
    except (ValueError, OverflowError, TypeError):
        return None


def clean(text: str, *secrets: str) -> str:
    """A provider's words for a log or a message: one short line, no secret of ours or of anybody's."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    line = " ".join(redact(text)[0].split())
    return line if len(line) <= _MESSAGE_CHARS else f"{line[:_MESSAGE_CHARS]}…"


def _transient_reason(status: int) -> str:
    return "rate_limited" if status == 429 else "timeout" if status == 408 else "server_error"


def _explained(body: str) -> tuple[str, str]:
    """(code, message) of an error body; of a page that is no JSON only that it is one."""
    try:
        told: Any = json.loads(body)
    except ValueError:
        stripped = body.strip()
        return "", "a page that is no JSON" if stripped.startswith("<") else clean(stripped)
    error = told.get("error", told) if isinstance(told, dict) else told
    if isinstance(error, dict):
        code = next((str(error[name]) for name in ("code", "type", "status") if error.get(name)), "")
        return code, clean(str(error.get("message") or error.get("detail") or ""))
    return "", clean(str(error))


def _unknown_parameter(message: str) -> str:
    """The request field that the provider refuses by name. Of several, the one it names first is the refused one."""
    if not _UNKNOWN_PARAMETER.search(message):
        return ""
    named = [(message.find(name), name) for name in _PARAMETERS if name in message]
    return min(named)[1] if named else ""


def _limit_in(message: str) -> int:
    match = _LIMIT.search(message.replace(",", ""))
    return int(match[1]) if match else 0
