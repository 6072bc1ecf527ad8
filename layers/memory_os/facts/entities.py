"""What a fact is about: names found in a text of any script, and whether a text mentions a name.

No list of words of any language: only marks that writers set themselves (quotes, brackets, @, capitals, file names).
In scripts without capitals an entity becomes known by being named once, explicitly or in quotes; facts that mention it
later are then linked to it.
"""

from __future__ import annotations

import re
import unicodedata

MAX_ENTITIES = 8
MAX_ENTITY_CHARS = 80

_QUOTED = re.compile(
    r"\"([^\"\n]{1,60})\"|“([^”\n]{1,60})”|„([^“”\n]{1,60})[“”]|«([^»\n]{1,60})»|`([^`\n]{1,60})`"
    r"|「([^」\n]{1,60})」|『([^』\n]{1,60})』|《([^》\n]{1,60})》|【([^】\n]{1,60})】"
)
_AT_NAME = re.compile(r"(?<![\w@.])@[\w][\w.-]{0,60}\w|(?<![\w@.])@\w")
_FILE = re.compile(
    r"(?<![\w/])~?[./]*(?:[\w@-]+/)*[\w@-]{2,}\.[A-Za-z][A-Za-z0-9]{0,7}(?!\w)"
    r"|(?<![\w/])~?/?(?:[\w@.-]+/)+[\w@.-]*[\w@-]"
)
# Letters with case only, so that Latin glued to Chinese or Japanese stands apart.
_UNCASED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f"
_CASED_WORD = re.compile(rf"[^\W\d_{_UNCASED}](?:[^\W{_UNCASED}]|[-'’](?=\w))*")
# What ends a sentence, or opens a list item or a quotation: a capital behind it says nothing.
_SENTENCE_END = re.compile(r"[.!?…。！？؟:\n•\"“„«]\s*$")
_NUMBER = re.compile(r"\d\s?$")
_UNIT_CHARS = 3
_UNSPACED = re.compile(f"[{_UNCASED}]")


def entity_key(name: str) -> str:
    """What two spellings of a name share: width, case, spaces, and a leading @ or # don't count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split()).lstrip("@#")


def mentions(text: str, name: str) -> bool:
    """Whether the name stands in the text as a whole word (in scripts without spaces: at all)."""
    key = entity_key(name)
    if not key:
        return False
    left = "" if _UNSPACED.match(key[0]) else rf"(?<![^\W{_UNCASED}])"
    right = "" if _UNSPACED.match(key[-1]) else rf"(?![^\W{_UNCASED}])"
    return re.search(left + re.escape(key) + right, entity_key(text)) is not None


def distinct(names: list[str] | tuple[str, ...]) -> list[str]:
    """The names in order, each once by key, at most MAX_ENTITIES; empty and over-long ones are left out."""
    found: dict[str, str] = {}
    for name in names:
        clean = " ".join(name.split())
        if entity_key(clean) and len(clean) <= MAX_ENTITY_CHARS:
            found.setdefault(entity_key(clean), clean)
    return list(found.values())[:MAX_ENTITIES]


def detect_entities(text: str) -> list[str]:
    """Names marked in the text itself, in the order they stand there."""
    spans: list[tuple[int, int, str]] = []
    for pattern in (_QUOTED, _AT_NAME, _FILE):
        for match in pattern.finditer(text):
            name = next((group for group in match.groups() if group), match.group())
            spans.append((match.start(), match.end(), name.strip()))
    spans += _capitalised_runs(text)
    spans.sort(key=lambda span: (span[0], -span[1]))
    names: list[str] = []
    covered = 0
    for start, end, name in spans:
        if start >= covered:
            names.append(name)
            covered = end
    return distinct(names)


def _capitalised_runs(text: str) -> list[tuple[int, int, str]]:
    """CamelCase and ALLCAPS words anywhere; runs of Capitalised words that don't merely open a sentence."""
    runs: list[tuple[int, int]] = []
    for match in _CASED_WORD.finditer(text):
        word = match.group()
        if len(word) <= _UNIT_CHARS and _NUMBER.search(text, max(0, match.start() - 2), match.start()):
            continue  # "4 GB": a unit, no name
        if not _is_marked(word) and not (word[0].isupper() and _capital_tells(text, match.start(), match.end())):
            continue
        if runs and text[runs[-1][1] : match.start()] == " ":
            runs[-1] = (runs[-1][0], match.end())
        else:
            runs.append((match.start(), match.end()))
    return [(start, end, text[start:end]) for start, end in runs if end - start > 1]


def _is_marked(word: str) -> bool:
    """Marked by its own letters: an inner capital (CamelCase, ALLCAPS, iPhone), or an inner underscore."""
    return len(word) > 1 and (any(char.isupper() for char in word[1:]) or "_" in word.strip("_"))


def _capital_tells(text: str, start: int, end: int) -> bool:
    """Whether a capital marks a name here: not at the head of a sentence, unless glued to a script without capitals."""
    if _UNSPACED.match(text, end):
        return True
    return bool(text[:start].strip()) and not _SENTENCE_END.search(text, max(0, start - 4), start)
