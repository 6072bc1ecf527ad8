"""Edits of Hermes's config.yaml that leave every other byte as the user wrote it. Text in, text out.

The host's own commands rewrite the file (0.19 drops all comments) or first download an interpreter (0.22), so the edit
is made here: a line is inserted where ruamel.yaml says the value stands, and the result must parse to exactly the
expected data. A layout too unusual for that goes through ruamel.yaml's round trip, which keeps the comments.
"""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memory_os.errors import HostError, said_by
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

_CURE = "Mend it (`hermes config edit`), then run setup again."


@dataclass(frozen=True, slots=True)
class Enabled:
    """The new text and what it took: the plugin listed, un-denied, made the memory provider."""

    text: str
    listed: bool
    undenied: bool
    provider: bool


def enable_plugin(text: str, key: str, *, as_provider: bool = True) -> Enabled:
    """List `key` in plugins.enabled; make it the memory provider if the user has none. Raises HostError."""
    data = parse(text)
    listed = key not in _names(data, "plugins", "enabled")
    undenied = key in _names(data, "plugins", "disabled")
    provider = as_provider and not _provider(data)
    if listed:
        text = _edited(text, "plugins", "enabled", lambda names: [*(names or []), key], _add_item(key))
    if undenied:
        text = _edited(text, "plugins", "disabled", lambda names: _without(names, key), _drop_item(key))
    if provider:
        text = _edited(text, "memory", "provider", lambda _: key, _put_scalar(key))
    return Enabled(text, listed, undenied, provider)


def disable_plugin(text: str, key: str, *, denied_before: bool = False, was_provider: bool = True) -> str:
    """Take `key` out again, whatever else has been edited since. Raises HostError."""
    data = parse(text)
    if key in _names(data, "plugins", "enabled"):
        text = _edited(text, "plugins", "enabled", lambda names: _without(names, key), _drop_item(key))
    if denied_before and key not in _names(data, "plugins", "disabled"):
        text = _edited(text, "plugins", "disabled", lambda names: [*(names or []), key], _add_item(key))
    if was_provider and _provider(data) == key:
        text = _edited(text, "memory", "provider", lambda _: "", _put_scalar('""'))
    return text


def drop_emptied(text: str, before: str) -> str:
    """Take out the sections that were not in `before` and that `disable_plugin` has left without content."""
    then, now = parse(before), parse(text)
    for section, key in (("plugins", "enabled"), ("memory", "provider")):
        if section in then or now.get(section) not in ({key: []}, {key: ""}):
            continue
        rest = re.sub(rf"(?m)^{section}:[ \t]*\r?\n[ \t]+{key}:[ \t]*(\[\]|\"\")[ \t]*(\r?\n|\Z)", "", text, count=1)
        expected = {name: value for name, value in parse(text).items() if name != section}
        text = rest if _parses_to(rest, expected) else text
    return text


def parse(text: str) -> dict[str, Any]:
    """The file's data, plain. Raises HostError if it is no YAML mapping."""
    document = _load(text)
    if document is None:
        return {}
    if not isinstance(document, CommentedMap):
        raise HostError("Hermes's config.yaml does not hold keys and values.", cure=_CURE)
    plain: dict[str, Any] = _plain(document)
    return plain


def provider_of(text: str) -> str:
    """The memory provider the user has chosen, or ""."""
    return _provider(parse(text))


def is_enabled(text: str, key: str) -> bool:
    """Whether the host would load `key`: listed, and not denied."""
    data = parse(text)
    return key in _names(data, "plugins", "enabled") and key not in _names(data, "plugins", "disabled")


# Given the lines, the section's mapping (None if the section has no value) and the key: the edited lines, or None.
_Surgery = Callable[[list[str], CommentedMap, str, str], list[str] | None]


def _edited(text: str, section: str, key: str, change: Callable[[Any], Any], surgery: _Surgery) -> str:
    expected = copy.deepcopy(parse(text))
    inner = expected.get(section)
    if inner is not None and not isinstance(inner, dict):
        raise HostError(f"`{section}` in Hermes's config.yaml is not a mapping.", cure=_CURE)
    expected[section] = {**(inner or {}), key: change((inner or {}).get(key))}
    for attempt in (_by_lines, _by_round_trip):
        result = attempt(text, section, key, expected, surgery)
        if result is not None and _parses_to(result, expected):
            return result
    raise HostError(f"`{section}.{key}` in Hermes's config.yaml could not be set safely.", cure=_CURE)


def _by_lines(text: str, section: str, key: str, expected: dict[str, Any], surgery: _Surgery) -> str | None:
    document = _load(text)
    if document is None or section not in document:
        newline = "\r\n" if "\r\n" in text else "\n"
        lead = "" if not text or text.endswith("\n") else newline
        return text + lead + _block(section, {key: expected[section][key]}).replace("\n", newline)
    # Lines as the file has them: CRLF is set aside, and put back at the end.
    crlf = text.count("\r\n") == text.count("\n") > 0
    edited = surgery((text.replace("\r\n", "\n") if crlf else text).split("\n"), document, section, key)
    if edited is None:
        return None
    return ("\r\n" if crlf else "\n").join(edited)


def _by_round_trip(text: str, section: str, key: str, expected: dict[str, Any], surgery: _Surgery) -> str | None:
    document = _load(text)
    if not isinstance(document, CommentedMap):
        return None
    if not isinstance(document.get(section), CommentedMap):
        document[section] = CommentedMap()
    value = expected[section][key]
    current = document[section].get(key)
    if isinstance(current, CommentedSeq):
        for index in reversed([i for i, item in enumerate(current) if item not in value]):
            del current[index]
        current.extend(item for item in value if item not in current)
    else:
        document[section][key] = value
    stream = io.StringIO()
    _yaml().dump(document, stream)
    return stream.getvalue()


def _add_item(item: str) -> _Surgery:
    def surgery(lines: list[str], document: CommentedMap, section: str, key: str) -> list[str] | None:
        inner = document[section]
        if not isinstance(inner, CommentedMap):
            return _under_empty(lines, document, section, [f"  {key}:", f"    - {item}"]) if inner is None else None
        if key not in inner:
            return _first_child(lines, inner, [f"{key}:", f"  - {item}"])
        names = inner[key]
        if names is None:
            return _with_value(lines, inner, key, f"[{item}]")
        if not isinstance(names, CommentedSeq):
            return None
        if not names or names.fa.flow_style():
            line, column = inner.lc.value(key)
            return _in_flow(lines, line, column, lambda body: f"{body.rstrip()}, {item}" if body.strip() else item)
        line, column = names.lc.item(len(names) - 1)
        return [*lines[: line + 1], lines[line][:column] + item, *lines[line + 1 :]]

    return surgery


def _drop_item(item: str) -> _Surgery:
    def surgery(lines: list[str], document: CommentedMap, section: str, key: str) -> list[str] | None:
        inner = document[section]
        names = inner[key]
        if names.fa.flow_style():
            line, column = inner.lc.value(key)
            kept = lambda body: ", ".join(part.strip() for part in body.split(",") if part.strip() != item)  # noqa: E731
            return _in_flow(lines, line, column, kept)
        line, _ = names.lc.item(names.index(item))
        rest = [*lines[:line], *lines[line + 1 :]]
        return rest if len(names) > 1 else _with_value(rest, inner, key, "[]")

    return surgery


def _put_scalar(value: str) -> _Surgery:
    def surgery(lines: list[str], document: CommentedMap, section: str, key: str) -> list[str] | None:
        inner = document[section]
        if not isinstance(inner, CommentedMap):
            return _under_empty(lines, document, section, [f"  {key}: {value}"]) if inner is None else None
        if key not in inner:
            return _first_child(lines, inner, [f"{key}: {value}"])
        line, _ = inner.lc.key(key)
        old = re.match(rf"(\s*{re.escape(key)}\s*:)[ \t]*(\"[^\"]*\"|'[^']*'|[^\s#'\"]*)([ \t]+#.*|\s*)$", lines[line])
        if old is None:
            return None
        return [*lines[:line], f"{old[1]} {value}{old[3]}", *lines[line + 1 :]]

    return surgery


def _first_child(lines: list[str], inner: CommentedMap, added: list[str]) -> list[str] | None:
    if not inner or inner.fa.flow_style():
        return None
    line, column = inner.lc.key(next(iter(inner)))
    return [*lines[:line], *(" " * column + text for text in added), *lines[line:]]


def _under_empty(lines: list[str], document: CommentedMap, section: str, added: list[str]) -> list[str] | None:
    line, _ = document.lc.key(section)
    if not re.match(rf"{re.escape(section)}\s*:\s*(#.*)?$", lines[line]):
        return None
    return [*lines[: line + 1], *added, *lines[line + 1 :]]


def _with_value(lines: list[str], inner: CommentedMap, key: str, value: str) -> list[str] | None:
    line, _ = inner.lc.key(key)
    empty = re.match(rf"(\s*{re.escape(key)}\s*:)([ \t]+#.*|\s*)$", lines[line])
    return None if empty is None else [*lines[:line], f"{empty[1]} {value}{empty[2]}", *lines[line + 1 :]]


def _in_flow(lines: list[str], line: int, column: int, change: Callable[[str], str]) -> list[str] | None:
    found = re.match(r"\[([^\[\]#\"']*)\](.*)$", lines[line][column:], re.DOTALL)
    if found is None:
        return None
    return [*lines[:line], f"{lines[line][:column]}[{change(found[1])}]{found[2]}", *lines[line + 1 :]]


def _parses_to(text: str, expected: dict[str, Any]) -> bool:
    try:
        return parse(text) == expected
    except HostError:
        return False


def _block(section: str, value: dict[str, Any]) -> str:
    (key, inner), *_ = value.items()
    body = "".join(f"    - {item}\n" for item in inner) if isinstance(inner, list) else ""
    return f"{section}:\n  {key}:\n{body}" if body else f"{section}:\n  {key}: {inner}\n"


def _load(text: str) -> Any:
    try:
        return _yaml().load(text.removeprefix("\ufeff"))
    except YAMLError as error:
        raise HostError(f"Hermes's config.yaml is not valid YAML ({said_by(error)}).", cure=_CURE) from error


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.allow_duplicate_keys = True
    return yaml


def _names(data: dict[str, Any], section: str, key: str) -> list[Any]:
    value = (data.get(section) or {}).get(key) if isinstance(data.get(section), dict) else None
    if value is None:
        return []
    if not isinstance(value, list):
        raise HostError(f"`{section}.{key}` in Hermes's config.yaml is {value!r}, not a list.", cure=_CURE)
    return value


def _provider(data: dict[str, Any]) -> str:
    memory = data.get("memory")
    return str(memory.get("provider") or "") if isinstance(memory, dict) else ""


def _without(names: list[Any], key: str) -> list[Any]:
    return [name for name in names if name != key]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
