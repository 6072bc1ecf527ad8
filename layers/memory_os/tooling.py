"""What every agent-facing tool shares: who calls, typed arguments whose errors say what to change, lean pages."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memory_os.errors import BadRequest
from memory_os.memory import Author, Layer, Passage, Scope
from memory_os.text import token_estimate

# A tool result is read by a model that pays for each token: the default page, and the most a caller may ask for.
PAGE_TOKENS = 800
PAGE_TOKENS_MAX = 4000


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a tool runs. Built from the host's call, never from the model's arguments."""

    scope: Scope = field(default_factory=Scope)
    session_id: str = ""
    turn_id: str = ""
    platform: str = ""
    project: str = ""
    author: Author = Author.AGENT  # USER where a person typed it: whose words are stored
    now: float = field(default_factory=time.time)


class Searcher(Protocol):
    """How the engine lends its search to the layers' tools: by words and by meaning, best first, what is unrelated left out."""

    def __call__(
        self, text: str, caller: Caller, layers: Sequence[Layer], limit: int, sources: Sequence[str] | None = None, /
    ) -> list[Passage]:
        """At most `limit` passages, of `sources` alone where they are given: a filter afterwards would leave none of them."""


class Arguments:
    """A model's arguments, read by type. Models send numbers as strings and lists as strings; both are taken."""

    def __init__(self, tool: str, values: Mapping[str, Any]) -> None:
        self.tool = tool
        self.values = values

    def text(self, name: str, default: str = "", *, required: bool = False, longest: int = 20_000) -> str:
        """A string, stripped. Raises BadRequest if missing and required, of another type, or too long."""
        value = self.values.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            if required:
                raise BadRequest(f"{self.tool}: `{name}` is required.", cure=f"Call again with {name}=<text>.")
            return default
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self._wrong(name, "a string", value)
        if len(value) > longest:
            raise BadRequest(f"{self.tool}: `{name}` has {len(value)} characters; at most {longest} are taken.")
        return value.strip()

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> str:
        value = self.text(name, default or "", required=default is None)
        if value not in options and value != default:
            raise BadRequest(f"{self.tool}: `{name}` is {value!r}; use one of {', '.join(options)}.")
        return value

    def integer(self, name: str, default: int, *, low: int, high: int) -> int:
        """A whole number, held inside [low, high]."""
        return int(self.number(name, default, low=low, high=high))

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        value = self.values.get(name)
        if value is None or value == "":
            return default
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self._wrong(name, "a number", value) from None
        if not math.isfinite(number):
            raise self._wrong(name, "a finite number", value)
        return min(max(number, low), high)

    def boolean(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "yes", "1"):
            return True
        if str(value).lower() in ("false", "no", "0"):
            return False
        raise self._wrong(name, "true or false", value)

    def strings(self, name: str) -> list[str]:
        """A list of strings; one string is split at commas."""
        value = self.values.get(name)
        if value is None or value == "":
            return []
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, (list, tuple)) or any(isinstance(part, (dict, list)) for part in parts):
            raise self._wrong(name, "a list of strings", value)
        return [str(part).strip() for part in parts if str(part).strip()]

    def _wrong(self, name: str, wanted: str, value: object) -> BadRequest:
        return BadRequest(f"{self.tool}: `{name}` must be {wanted}, not {str(value)[:80]!r}.")


def page(items: Sequence[Mapping[str, Any]], arguments: Arguments) -> dict[str, Any]:
    """As many items as fit the token cap (at least one), and a `cursor` when there are more.

    Reads `cursor` and `max_tokens` from the arguments.
    """
    start = arguments.integer("cursor", 0, low=0, high=10**9)
    cap = arguments.integer("max_tokens", PAGE_TOKENS, low=100, high=PAGE_TOKENS_MAX)
    shown: list[Mapping[str, Any]] = []
    spent = 0
    for item in items[start:]:
        cost = token_estimate(str(dict(item)))
        if shown and spent + cost > cap:
            break
        shown.append(item)
        spent += cost
    following = start + len(shown)
    result: dict[str, Any] = {"results": shown, "total": len(items)}
    if following < len(items):
        result["cursor"] = str(following)
    return result
