"""Front matter: the YAML block a Markdown file may open with. Whatever stands in it, the body is kept."""

from __future__ import annotations

import datetime
import json
import math
import re
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

__all__ = ["FrontMatter", "read_front_matter"]

_BLOCK = re.compile(r"\A\ufeff?(?:[ \t]*\n)*---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# A longer block is no front matter, it is text: parsing it would take seconds.
_MAX_CHARS = 16_000
_BRACKET = re.compile(r"[\[\]{}]")
_DEPTH_MAX = 50
_DATE_KEYS = ("date", "created", "updated")
_NAME_KEYS = ("aliases", "alias")
_SUMMARY_KEYS = ("summary", "description")
# Keys that describe the file, those of our own wiki's pages among them. Others hold knowledge and are searched as text.
_DESCRIPTIVE = frozenset(
    {
        *_DATE_KEYS, *_NAME_KEYS, *_SUMMARY_KEYS, "title", "importance", "tags", "type", "id", "slug", "layout", "draft",
        "lang", "sources", "confidence", "modified", "lastmod", "publish", "permalink", "cssclass", "cssclasses",
    }
)  # fmt: skip
# A key at the margin, which opens an entry of the block; what is indented, an item or a comment belongs to the last one.
_ENTRY = re.compile(r"""(?P<key>"[^"\\]*"|'[^']*'|[^\s"'#\-\[\]{}?:|>&*!%@`,][^:#]*?|-[^\s:][^:#]*?)[ \t]*:(?:[ \t]+(?P<value>.*))?""")
# A plain value that YAML takes for something else: `title: Redis: the cache`, `title: @home`.
_UNQUOTED = re.compile(r"""[^"'\[{|>&*!#\s].*:(?:\s.*)?|[@`].*""")
_IMPORTANCE_WORDS = {"low": 0.25, "normal": 0.5, "medium": 0.5, "high": 0.75, "critical": 1.0}
_DAY_S = 86_400.0
_SUMMARY_MAX = 300


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What we read from the block. `problem` says why it, or a value in it, was passed over; `text` is for searching."""

    title: str = ""
    created_at: float | None = None
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    summary: str = ""
    text: str = ""
    problem: str = ""


def read_front_matter(text: str, now: float) -> tuple[FrontMatter, str]:
    """The front matter and the body after it. A block that can't be read is kept as text in front of the body."""
    match = _BLOCK.match(text[:_MAX_CHARS])
    if match is None:
        return FrontMatter(), text
    block, body = match.group(1), text[match.end() :]
    parsed = _parsed(block)
    if isinstance(parsed, str):
        return FrontMatter(problem=parsed, text=block.strip()), body
    values = {str(key).casefold(): value for key, value in parsed.items()}
    problems: list[str] = []
    return (
        FrontMatter(
            title=_scalar_text(values.get("title"))[:200],
            created_at=_created_at(values, now, problems),
            importance=_importance(values.get("importance"), problems),
            tags=_tags(values.get("tags")),
            aliases=tuple(name for key in _NAME_KEYS for name in _tags(values.get(key))),
            summary=next(filter(None, (_scalar_text(values.get(key)) for key in _SUMMARY_KEYS)), "")[:_SUMMARY_MAX],
            text=_knowledge(block, set(values)),
            problem="; ".join(problems),
        ),
        body,
    )


def _parsed(block: str) -> dict[Any, Any] | str:
    """The block's keys and values, or why there are none. Values that should be quoted and aren't are read as if they were."""
    if _is_bottomless(block):
        return "front matter is nested too deeply"
    found = _loaded(block)
    quoted = _quoted(block) if isinstance(found, str) else block
    again = found if quoted == block else _loaded(quoted)
    return found if isinstance(again, str) else again


def _quoted(block: str) -> str:
    lines = block.split("\n")
    for number, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        if entry and entry["value"] and _UNQUOTED.fullmatch(entry["value"]):
            lines[number] = f"{entry['key']}: {json.dumps(entry['value'].strip(), ensure_ascii=False)}"
    return "\n".join(lines)


def _knowledge(block: str, keys: set[str]) -> str:
    """The entries of a block that say more than what file this is, as they stand there."""
    if keys <= _DESCRIPTIVE:
        return ""
    kept: list[str] = []
    opened: set[str] = set()
    key = ""
    for line in block.split("\n"):
        entry = _ENTRY.fullmatch(line)
        if entry:
            key = entry["key"].strip("\"'").casefold()
            opened.add(key)
        if key not in _DESCRIPTIVE:
            kept.append(line)
    # Written in another way (a flow mapping, merged keys): all of it, rather than lose a word.
    return ("\n".join(kept) if opened == keys else block).strip()


def _loaded(block: str) -> dict[Any, Any] | str:
    try:
        yaml = YAML(typ="safe", pure=True)
        yaml.composer.warn_double_anchors = False
        loaded = yaml.load(block)
    except (YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        return f"front matter is not YAML ({type(error).__name__})"
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        return f"front matter is a {type(loaded).__name__}, not keys and values"
    return loaded


def _is_bottomless(block: str) -> bool:
    """Whether brackets open so deep that the parser, whose time grows with the square of it, would be at it for long."""
    depth = 0
    for mark in _BRACKET.findall(block):
        depth += 1 if mark in "[{" else -1
        if depth > _DEPTH_MAX:
            return True
    return False


def _scalar_text(value: Any) -> str:
    """A scalar on one line; anything nested is no title. (Never str() of a nested value: aliases can make it huge.)"""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime.date)):
        return ""
    try:
        return " ".join(str(value).split())
    except ValueError:  # an integer of more digits than Python prints
        return ""


def _tags(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list):
        return ()
    named = (_scalar_text(part).lstrip("#") for part in parts[:50])
    return tuple(name[:60] for name in named if name)


def _created_at(values: dict[Any, Any], now: float, problems: list[str]) -> float | None:
    """Epoch seconds of the first date that can be one: after 1970 and not in the future."""
    for key in _DATE_KEYS:
        if values.get(key) in (None, "", [], {}):
            continue
        moment = _moment(values[key])
        if moment is not None and 0 < moment <= now + _DAY_S:
            return moment
        problems.append(f"`{key}` is no date")
    return None


def _moment(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _numeric_moment(value)
    if isinstance(value, str):
        value = _iso(value.strip())
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if not isinstance(value, datetime.datetime):
        return None
    try:
        return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def _numeric_moment(value: float) -> float | None:
    """20261130, or seconds or milliseconds since the epoch."""
    if not math.isfinite(value) or value > 1e14:
        return None
    if float(value).is_integer() and 19_700_101 <= value <= 29_991_231:
        return _moment(_iso(f"{int(value)}"))
    if value >= 1e11:
        return value / 1000
    return float(value) if value >= 1e8 else None


def _iso(text: str) -> datetime.datetime | None:
    for candidate in (text, text[:10].replace("/", "-")):
        try:
            return datetime.datetime.fromisoformat(candidate)
        except ValueError:
            continue
    return None


def _importance(value: Any, problems: list[str]) -> float:
    """0…1 as it stands, up to 10 as tenths, or one of five words; 0.5 otherwise."""
    if value is None:
        return 0.5
    if isinstance(value, str) and value.strip().lower() in _IMPORTANCE_WORDS:
        return _IMPORTANCE_WORDS[value.strip().lower()]
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if 0 <= number <= 1:
        return number
    if 1 < number <= 10:
        return number / 10
    problems.append("`importance` is neither a number from 0 to 1 nor low, normal, high or critical")
    return 0.5
