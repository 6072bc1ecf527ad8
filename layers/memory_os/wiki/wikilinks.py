"""Wikilinks in a text, and what a name means in any script. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Wikilink", "subject_key", "unlinked", "wikilinks", "without_code"]

_LINK = re.compile(r"(?<!\\)!?\[\[([^\[\]|#^\n]*)([#^][^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
# Signs that some write and others leave out: Arabic and Hebrew vowels, the Arabic stretching line, Russian stress.
_OPTIONAL = re.compile("[\u0301\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u0640\u064b-\u065f\u0670]")


@dataclass(frozen=True, slots=True)
class Wikilink:
    """`[[target#heading|shown]]`; `[[#heading]]`, a link within the page, has an empty target."""

    target: str
    shown: str


def wikilinks(text: str) -> Iterator[Wikilink]:
    """The links of a text, code left out."""
    for match in _LINK.finditer(without_code(text)):
        yield Wikilink(match[1].strip(), (match[3] or match[1]).strip())


def unlinked(text: str, dead: set[str]) -> str:
    """The text with links to these targets as plain words."""

    def plain(match: re.Match[str]) -> str:
        return (match[3] or match[1]).strip() if match[1].strip() in dead else match.group()

    return _LINK.sub(plain, text)


def without_code(text: str) -> str:
    """Code fences and spans blanked: a link in code is none."""
    return _SPAN.sub("", _FENCE.sub("", text))


def subject_key(name: str) -> str:
    """What makes two names one subject: letters, marks, digits, `+` and `#` (C is not C++), folded; the rest is a space.

    Empty for a name without any of them.
    """
    folded = _OPTIONAL.sub("", unicodedata.normalize("NFKC", name).casefold()).replace("ё", "е")
    kept = "".join(char if char in "+#" or unicodedata.category(char)[0] in "LMN" else " " for char in folded)
    return " ".join(kept.split())
