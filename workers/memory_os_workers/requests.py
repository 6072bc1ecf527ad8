"""What a request body may be: one JSON object of bounded size, whose fields have the types the API states."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from memory_os.errors import BadRequest

# A message of 1 MB of text (4 bytes a character at worst), and the rest of a recall beside it.
BODY_MAX_BYTES = 4 * 1024 * 1024

_NUMBER = (int, float)
_Types = type | tuple[type, ...]

RECALL_FIELDS: dict[str, _Types] = {
    "v": int,
    "turn_id": str,
    "session_id": str,
    "parent_session_id": str,
    "platform": str,
    "user": str,
    "profile": str,
    "project": str,
    "user_message": str,
    "first_turn": bool,
    "before": str,
    "visible": dict,
    "at": _NUMBER,
    "layers": list,
    "dry_run": bool,
}

_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; an empty body is an empty object. Raises BadRequest."""
    if not body.strip():
        return {}
    try:
        # Decoded here: Python's reader would let halves of characters through.
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise BadRequest(f"The body is not valid JSON: {reason}.", cure="Send one JSON object in UTF-8.") from None
    if not isinstance(value, dict):
        raise BadRequest(f"The body must be a JSON object, not a {type(value).__name__}.")
    if _ESCAPED_SURROGATE.search(body):
        return dict(_without_lone_surrogates(value))
    return value


def checked(payload: dict[str, Any], fields: Mapping[str, _Types]) -> dict[str, Any]:
    """The payload, if every named field that is there (and not null) has its type. Raises BadRequest."""
    for name, wanted in fields.items():
        value = payload.get(name)
        if value is None:
            continue
        # In Python a bool is an int; in JSON it isn't.
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise BadRequest(f"`{name}` must be {_named(wanted)}, not {type(value).__name__}.")
    if payload.get("v", 1) not in (1, None):
        raise BadRequest(
            f"This service speaks version 1 of its API, the caller version {payload['v']}.",
            cure="`memory-os stop`, then start again after the upgrade.",
        )
    return payload


def _named(wanted: _Types) -> str:
    names = {str: "a string", int: "a whole number", bool: "true or false", dict: "an object", list: "a list"}
    return "a number" if isinstance(wanted, tuple) else names[wanted]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that can be counted with")
    return number


def _without_lone_surrogates(value: Any) -> Any:
    """Half a character can be sent in JSON and stored nowhere; it becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(one) for one in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(one) for key, one in value.items()}
    return value
