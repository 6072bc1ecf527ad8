"""YAML front matter: found, read as text, written, and changed in one line with every other byte kept.

Values are read as they are written: `id: 12e45678` is a text, not infinity, and `2026-13-45` breaks nothing. A block
that is no valid YAML is read line by line, because older writers left `summary: fix: the port` unquoted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from memory_os.errors import FabricError

Value = str | list[Any] | dict[str, Any] | None

# Found alike in UTF-8 text and in bytes read as Latin-1 (where a byte order mark is three characters).
_BLOCK = re.compile(
    r"\A(?:\ufeff|\xef\xbb\xbf)?(?:[ \t]*(?:\r\n|\n))*---[ \t]*(?P<eol>\r\n|\n)(?P<front>.*?)^(?:---|\.\.\.)[ \t]*(?=\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PLAIN_LINE = re.compile(r'([A-Za-z_][A-Za-z0-9_]*): ("(?:[^"\\\x00-\x1f]|\\.)*"|\[.*\]|[A-Za-z][A-Za-z0-9_-]*)')
_LOOSE_LINE = re.compile(r"([A-Za-z_][\w -]{0,60}?)[ \t]*:(?:[ \t]+(.*))?")
_LOOSE_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# YAML 1.1 readers (other tools on the same folder) take these plain words for truth values.
_NOT_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
# What a double-quoted YAML scalar can't hold as it is: line separators, controls, byte order marks.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

# The YAML reader takes time by the square of the nesting, and seconds for a long block; entries have neither.
_MAX_YAML_CHARS = 64_000
_MAX_BRACKETS = 300
# Past this, nested values are cut: aliases can make a short block mean a very long one.
_MAX_NODES = 2000
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Split:
    """A file's fields and body. `problem` says what was wrong with the block, or is empty."""

    body: str
    fields: dict[str, Value] = field(default_factory=dict)
    problem: str = ""
    found: bool = False


def split(text: str) -> Split:
    """Separate front matter from body. A block that is a list or prose is no front matter: then all is body."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    match = _BLOCK.match(text)
    if match is None:
        return Split(text.removeprefix("\ufeff"))
    front, body = match["front"], text[match.end() :]
    fields = _fast(front)
    if fields is not None:
        return Split(body, fields, found=True)
    if len(front) > _MAX_YAML_CHARS or front.count("[") + front.count("{") > _MAX_BRACKETS:
        return Split(body, _loose(front), "front matter is too long or too deep to be read as YAML", True)
    try:
        loaded = _tree(YAML(typ="safe", pure=True).compose(front), [_MAX_NODES])
    except (YAMLError, ValueError, RecursionError) as error:
        return Split(body, _loose(front), f"front matter is no valid YAML: {' '.join(str(error).split())[:120]}", True)
    if loaded is None:
        return Split(body, found=True)
    if not isinstance(loaded, dict):
        return Split(text.removeprefix("\ufeff"))
    return Split(body, loaded, found=True)


def scalar(value: str | bool) -> str:
    """A value as it stands after the colon: a plain word where that is safe everywhere, else double-quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if _WORD.fullmatch(value) and value.lower() not in _NOT_WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda char: f"\\u{ord(char.group()):04x}", quoted)


def line(name: str, value: str | bool | tuple[str, ...]) -> str:
    """One line of front matter, without its line end."""
    if isinstance(value, tuple):
        return f"{name}: [{', '.join(_quoted(one) for one in value)}]"
    return f"{name}: {scalar(value)}"


def set_field(data: bytes, name: str, value: str) -> bytes:
    """The file with one field changed, or added at the end of its block, and every other byte as it was.

    Raises FabricError if the file has no front matter, or if the change would touch anything else.
    """
    text = data.decode("latin-1")
    match = _BLOCK.match(text)
    if match is None:
        raise FabricError("The entry has no front matter.", cure="Add a block between two `---` lines at its top.")
    front = match["front"]
    present = re.search(rf"^{re.escape(name)}[ \t]*:[^\r\n]*", front, re.MULTILINE)
    written = f"{name}: {scalar(value)}".encode().decode("latin-1")
    changed = (
        front[: present.start()] + written + front[present.end() :] if present else f"{front}{written}{match['eol']}"
    )
    result = (text[: match.start("front")] + changed + text[match.end("front") :]).encode("latin-1")
    before, after = (split(one.decode("utf-8", "replace")) for one in (data, result))
    hidden = present is None and name in before.fields  # behind a quoted key, say: a second line would be a duplicate
    if hidden or after.body != before.body or after.fields != {**before.fields, name: value}:
        raise FabricError(f"`{name}` can't be changed without touching other fields.", cure="Edit the entry by hand.")
    return result


def _quoted(value: str) -> str:
    return _UNPRINTABLE.sub(lambda char: f"\\u{ord(char.group()):04x}", json.dumps(value, ensure_ascii=False))


def _fast(front: str) -> dict[str, Value] | None:
    """The block if each line is a word, a JSON string or a JSON list of strings (as this and Icarus write): 100 x faster."""
    fields: dict[str, Value] = {}
    for one in front.split("\n")[:-1]:
        match = _PLAIN_LINE.fullmatch(one)
        if match is None:
            return None
        raw = match[2]
        try:
            value = json.loads(raw) if raw[0] in '"[' else (None if raw in _NULLS else raw)
        except ValueError:
            return None
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            return None
        fields[match[1]] = value
    return fields


def _tree(node: Node | None, budget: list[int], depth: int = 0) -> Value:
    """Nodes as texts, lists and mappings; tags and types are left aside."""
    budget[0] -= 1
    if node is None or budget[0] < 0 or depth > _MAX_DEPTH:
        return None
    if isinstance(node, ScalarNode):
        plain = node.style in (None, "")
        return None if plain and node.value in _NULLS else str(node.value)
    if isinstance(node, SequenceNode):
        return [_tree(one, budget, depth + 1) for one in node.value]
    if isinstance(node, MappingNode):
        return {str(_tree(key, budget, depth + 1)): _tree(value, budget, depth + 1) for key, value in node.value}
    return None


def _loose(front: str) -> dict[str, Value]:
    """`key: value` lines of a broken block, and the `- item` lines below a key without a value."""
    fields: dict[str, Value] = {}
    last = ""
    for one in front.split("\n"):
        item = _LOOSE_ITEM.fullmatch(one)
        if item and last:
            held = fields.get(last)
            fields[last] = [*(held if isinstance(held, list) else []), _unquoted(item[1])]
            continue
        match = _LOOSE_LINE.fullmatch(one)
        if match is None:
            continue
        last = match[1]
        raw = (match[2] or "").strip()
        if raw.startswith("[") and raw.endswith("]"):
            fields[last] = [_unquoted(part) for part in raw[1:-1].split(",") if part.strip()]
        else:
            fields[last] = None if raw in _NULLS else _unquoted(raw)
    return fields


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text.strip("\"'")
