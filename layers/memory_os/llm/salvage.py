"""What can be kept of an answer that should have been JSON. Pure.

Models wrap it in prose or fences, think aloud first, invent fields, leave one item wrong, or are cut off in the middle.
Complete items are kept; nothing is guessed into an incomplete one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from memory_os.text import token_estimate

SUMMARY_TOKENS = 200
# Each start costs a decode; an answer with more opening brackets than this before its JSON is prose about brackets.
_STARTS = 32
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
# How JSON begins; a bracket in prose is followed by something else.
_OPENING = re.compile(r"""\{(?=\s*["}])|\[(?=\s*[\[{"\]\d-])""")
# Whole strings, so that brackets within them don't count; a lone quote is a string that was cut off.
_TOKENS = re.compile(r"""[{}\[\],]|"(?:[^"\\]|\\.)*+"|\"""", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_DROPS = 8
# No answer nests deeper; a model that repeats itself does.
_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Salvaged:
    """`value` fits the schema. `whole`: the answer was complete and all of it fitted; otherwise `lost` items were left out
    or the end was cut off (`cut`)."""

    value: BaseModel
    whole: bool
    lost: int = 0
    cut: bool = False


def exact(text: str, schema: type[BaseModel]) -> BaseModel:
    """The first complete JSON value in `text` that fits, invented fields dropped. Raises ValueError (pydantic's included)."""
    problem: ValueError | None = None
    for value in _complete(text):
        try:
            return _validated(_shaped(value, schema), schema)
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError("there is no complete JSON object in the answer")


def salvaged(text: str, schema: type[BaseModel]) -> Salvaged | None:
    """What fits of an answer that does not fit as a whole: of cut JSON the complete items, of wrong items the others."""
    for value, cut in [*((one, False) for one in _complete(text)), *((one, True) for one in _cut(text))]:
        found = _without_wrong_items(_shaped(value, schema), schema)
        if found is not None and (not (cut or found[1]) or _holds_something(found[0])):
            return Salvaged(found[0], whole=not cut and not found[1], lost=found[1], cut=cut)
    return None


def ends_early(text: str) -> bool:
    """Whether JSON begins in a text and its end is missing."""
    body = _THINKING.sub("", text)
    opening = _next_opening(body, 0)
    return opening >= 0 and _scanned(body[opening:])[1]


def summary(error: Exception, limit: int = SUMMARY_TOKENS) -> str:
    """What was wrong, for the model that did it, within `limit` tokens: places and reasons, none of its own words."""
    if not isinstance(error, ValidationError):
        lines = [str(error)]
    else:
        lines = [
            f"{'.'.join(str(part) for part in one['loc']) or 'the object'}: {one['msg']}" for one in error.errors()
        ]
    kept: list[str] = []
    for line in lines:
        short = line[:200]
        if token_estimate("\n".join([*kept, short])) > limit:
            break
        kept.append(short)
    return "\n".join(kept)


def _complete(text: str) -> Iterator[Any]:
    """Complete JSON objects and lists in a text, outermost first; what comes before, between and after is skipped.

    Parts of a value whose end is missing are not given: an item of a cut list must not pass for the whole answer.
    """
    body = _THINKING.sub("", text)
    opening = _next_opening(body, 0)
    for _ in range(_STARTS):
        if opening < 0:
            return
        try:
            value, end = _DECODER.raw_decode(body, opening)
        except (ValueError, RecursionError):
            if _scanned(body[opening:])[1]:
                return
            opening = _next_opening(body, opening + 1)
            continue
        yield value
        opening = _next_opening(body, end)


def _cut(text: str) -> Iterator[Any]:
    """The JSON of an answer whose end is missing, closed after its last complete item; the outermost start first."""
    body = _THINKING.sub("", text)
    opening = -1
    for _ in range(_STARTS):
        opening = _next_opening(body, opening + 1)
        if opening < 0:
            return
        closed, _ = _scanned(body[opening:])
        try:
            yield _DECODER.decode(closed)
        except (ValueError, RecursionError):
            continue


def _next_opening(text: str, position: int) -> int:
    match = _OPENING.search(text, position)
    return match.start() if match else -1


def _scanned(text: str) -> tuple[str, bool]:
    """(`text` up to its last complete item, the open brackets closed, or ""; whether its end is missing).

    An item is complete when its closing bracket, or the comma after it, is there. A half-written object is no item.
    """
    stack: list[str] = []
    end, closing = 0, ""
    for match in _TOKENS.finditer(text):
        mark = match[0]
        if mark in "{[":
            stack.append("}" if mark == "{" else "]")
            if len(stack) > _DEPTH:
                return "", True
        elif mark in "}]" and stack.pop() != mark:
            return text[:end] + closing, False
        elif mark == '"':  # a string without an end
            break
        if not stack:
            return text[:end] + closing, False
        if mark in "}]," and _between_items(stack):
            end = match.start() if mark == "," else match.end()
            closing = "".join(reversed(stack))
    return text[:end] + closing, True


def _between_items(stack: list[str]) -> bool:
    """Whether this is a place in the outermost list or object, and not inside one of its items."""
    return len(stack) == 1 or (stack[-1] == "]" and stack.count("]") == 1)


def _shaped(value: Any, schema: type[BaseModel]) -> Any:
    """A bare list for a schema whose only list it must be, and an object wrapped once too often, brought into shape."""
    if isinstance(value, list):
        lists = [name for name, one in schema.model_fields.items() if _is_list(one.annotation)]
        return {_key(schema, lists[0]): value} if len(lists) == 1 else value
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        names = _names(schema)
        if name not in names and isinstance(inner, dict) and names & inner.keys():
            return inner
    return value


def _key(schema: type[BaseModel], name: str) -> str:
    alias = schema.model_fields[name].alias
    return alias or name


def _names(schema: type[BaseModel]) -> set[str]:
    return {_key(schema, name) for name in schema.model_fields} | set(schema.model_fields)


def _is_list(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", annotation) in (list, tuple, set)


def _validated(value: Any, schema: type[BaseModel]) -> BaseModel:
    """Validate; fields the schema forbids are inventions and leave first.

    An object with other fields only is no empty answer, though all fields of the schema may be optional.
    """
    if isinstance(value, dict) and value and not _names(schema) & value.keys():
        raise ValueError(f"none of the fields {', '.join(sorted(_names(schema)))} is there")
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        extra = [one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"]
        if not extra:
            raise
        for place in extra:
            value = _without(value, place)
        return schema.model_validate(value)


def _without_wrong_items(value: Any, schema: type[BaseModel]) -> tuple[BaseModel, int] | None:
    """The value without the list items that don't fit, and how many those were; None when it fits in no way."""
    lost = 0
    for _ in range(_DROPS):
        try:
            return _validated(value, schema), lost
        except ValidationError as error:
            places = {_item(one["loc"]) for one in error.errors() if one["type"] != "extra_forbidden"} - {()}
            if not places:
                return None
            # From the last item to the first, so that the places of the others stay what they are.
            for place in sorted(places, key=lambda one: [(str(type(part)), part) for part in one], reverse=True):
                value = _without(value, place)
            lost += len(places)
        except ValueError:
            return None
    return None


def _item(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The innermost-first list item that a place lies in: what stands up to its first index."""
    first = next((index for index, part in enumerate(place) if isinstance(part, int)), None)
    return () if first is None else place[: first + 1]


def _without(value: Any, place: tuple[int | str, ...]) -> Any:
    """A copy of nested dicts and lists without the entry at `place`."""
    if not place:
        return value
    head, *rest = place
    if isinstance(value, dict) and head in value:
        if rest:
            return {**value, head: _without(value[head], tuple(rest))}
        return {key: one for key, one in value.items() if key != head}
    if isinstance(value, list) and isinstance(head, int) and head < len(value):
        inner = [_without(value[head], tuple(rest))] if rest else []
        return [*value[:head], *inner, *value[head + 1 :]]
    return value


def _holds_something(value: BaseModel) -> bool:
    """Whether anything but empty lists and defaults came out: an empty result of a cut answer is no result."""
    return any(bool(one) for one in value.model_dump(exclude_defaults=True).values())
