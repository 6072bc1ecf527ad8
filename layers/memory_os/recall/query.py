"""One recall's question: who asks, what, and what they can already see."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_os.errors import BadRequest
from memory_os.memory import Layer, Scope
from memory_os.sessions.scopes import scope_for
from memory_os.text import plain_text, query_terms
from memory_os.text.dates import UNDATED, Dated, dates_in
from memory_os.text.fence import strip_fence
from memory_os.text.language import language_of
from memory_os.text.names import names

# The encoder reads some 500 tokens. Of a long message (a pasted log) the question is at one of the ends.
_HEAD_CHARS = 1200
_TAIL_CHARS = 500
# Digits, marks and Chinese or Japanese characters cost more than two Latin letters do: with more of them than this share,
# less of a text fits, and what doesn't fit would be its end.
_CROWDED_SHARE = 0.2
_CROWDED_BY = 3


# A pasted log is full of things that look like names; the first few are the ones a person asked about.
_NAMES_MAX = 8
# Candidates of a turn whose language and probability are worked out.
TURN_DEPTH = 32
# A service that was stopped answers late, not hours late; a time further back is another clock's.
_ASKED_WITHIN_S = 3600.0


@dataclass(frozen=True, slots=True)
class Visible:
    """What already stands in the window: hashes of its messages, handles of lines injected before."""

    hashes: frozenset[str] = frozenset()
    handles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Query:
    """A question with all that the arms need. `asked_at` is the asking process's clock, 0 unknown.

    `layers` and `sources` (passages of these sources alone) empty mean all; `depth`: how many of the best candidates are wanted.
    """

    text: str
    scope: Scope
    turn_id: str = ""
    session_id: str = ""
    platform: str = ""
    first_turn: bool = False
    visible: Visible = field(default_factory=Visible)
    layers: tuple[Layer, ...] = ()
    sources: tuple[str, ...] = ()
    depth: int = TURN_DEPTH
    now: float = 0.0
    asked_at: float = 0.0
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    language: str = ""
    dated: Dated = UNDATED

    @classmethod
    def of(
        cls,
        text: str,
        scope: Scope,
        *,
        now: float,
        asked_at: float = 0.0,
        turn_id: str = "",
        session_id: str = "",
        platform: str = "",
        first_turn: bool = False,
        visible: Visible | None = None,
        layers: Sequence[Layer] = (),
        sources: Sequence[str] = (),
        depth: int = TURN_DEPTH,
    ) -> Query:
        """Strip our own fence, cut a pasted megabyte to its ends, find terms and language."""
        clean = _ends(strip_fence(text).strip())
        dated = dates_in(clean)
        return cls(
            text=clean,
            scope=scope,
            turn_id=turn_id,
            session_id=session_id,
            platform=platform,
            first_turn=first_turn,
            visible=visible or Visible(),
            layers=tuple(layers),
            sources=tuple(sources),
            depth=depth,
            now=now,
            asked_at=asked_at,
            terms=tuple(query_terms(clean)),
            names=tuple(name for name in names(clean) if name not in dated.words)[:_NAMES_MAX],
            language=language_of(clean),
            dated=dated,
        )


def query_of(payload: Mapping[str, Any], aliases: Mapping[str, str]) -> Query:
    """The query of a hook's request body. Raises BadRequest for a body of another shape."""
    visible = payload.get("visible") or {}
    if not isinstance(visible, Mapping):
        raise BadRequest("recall: `visible` must be an object.")
    now = time.time()
    return Query.of(
        plain_text(payload.get("user_message")),
        scope_of(payload, aliases),
        now=now,
        asked_at=_asked_at(payload, now),
        turn_id=_text(payload, "turn_id"),
        session_id=_text(payload, "session_id"),
        platform=_text(payload, "platform"),
        first_turn=bool(payload.get("first_turn")),
        layers=layers_of(_strings(payload.get("layers"))),
        visible=Visible(
            hashes=frozenset(_strings(visible.get("hashes"))),
            handles=frozenset(_strings(visible.get("handles"))),
        ),
    )


def layers_of(names: Sequence[str]) -> tuple[Layer, ...]:
    """Layers by name; `documents` and `qdrant` (as a block labels them) mean files and wiki pages, `vectors` the files alone.

    Raises BadRequest for another.
    """
    known: dict[str, tuple[Layer, ...]] = {layer.value: (layer,) for layer in Layer}
    known |= dict.fromkeys(("documents", "qdrant"), (Layer.VECTORS, Layer.WIKI))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadRequest(f"There is no layer {unknown[0]!r}.", cure=f"Use some of {', '.join(sorted(known))}.")
    return tuple(dict.fromkeys(layer for name in names for layer in known[name]))


def scope_of(payload: Mapping[str, Any], aliases: Mapping[str, str]) -> Scope:
    """The asking person's scope. `aliases` joins the senders that are one person."""
    return scope_for(_text(payload, "user"), _text(payload, "profile"), aliases)


def _ends(text: str) -> str:
    sample = text[:_HEAD_CHARS] + text[-_TAIL_CHARS:]
    crowded = sum(char >= "\u2e80" or not (char.isalpha() or char.isspace()) for char in sample)
    by = _CROWDED_BY if crowded > _CROWDED_SHARE * len(sample) else 1
    head, tail = _HEAD_CHARS // by, _TAIL_CHARS // by
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def _asked_at(payload: Mapping[str, Any], now: float) -> float:
    """When the question was put, if its process says so credibly; else 0."""
    at = payload.get("at")
    return float(at) if isinstance(at, (int, float)) and now - _ASKED_WITHIN_S < at <= now else 0.0


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
