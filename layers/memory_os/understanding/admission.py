"""What of a model's items is kept. Pure policy; no words of a language decide, but for names that stand for nobody.

An item that fails is dropped under a short reason; nothing is rewritten.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_os.documents.instruction import instruction_like
from memory_os.facts.likeness import units
from memory_os.redact import MARK, redact
from memory_os.text.language import differ, function_words, language_of
from memory_os.text.smalltalk import is_small_talk
from memory_os.understanding.transcript import Turn

# Of an item's words, what must stand in its turn. A model may say it in its own words, but not of something else.
GROUNDED = 0.3
# From this share on the item's words are the turn's, whatever language a short sentence looks like.
SAME_WORDS = 0.6
_LEAST_UNITS = 3
_LEAST_SIGNS = 4

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?|\b(?:19|20)\d{2}\b")
_TEMPLATE = re.compile(
    r"<[\w .-]{2,30}>|\{\{?[\w .-]{2,30}\}?\}|\[(?:name|person|user|company|city|date|placeholder)[\w ]*\]",
    re.IGNORECASE,
)
# Names of nobody, as forms and examples have them.
_NOBODY = (
    "john doe", "jane doe", "joe bloggs", "john q. public", "max mustermann", "erika mustermann", "lieschen müller",
    "fulano de tal", "fulano", "beltrano", "sicrano", "вася пупкин", "василий пупкин", "فلان الفلاني", "فلان بن فلان",
    "张三", "李四", "王五", "張三", "山田太郎", "山田花子", "名無しの権兵衛", "foo bar",
)  # fmt: skip
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an item is held against. `injected`: lines that recall gave to its turn; `boot`: entries of the host's files."""

    turn: Turn
    injected: Sequence[str] = ()
    boot: Sequence[str] = ()
    project: str = ""
    platform: str = ""
    _said: list[frozenset[str]] = field(default_factory=list, compare=False)

    @property
    def said(self) -> frozenset[str]:
        """The units of everything said in the turn."""
        if not self._said:
            self._said.append(units(f"{self.turn.question}\n{self.turn.answer}"))
        return self._said[0]


def refused(text: str, evidence: Evidence, *, subject: str = "", more: str = "", asks: bool = False) -> str:
    """Why an item is not kept, or "". `subject`: its words count as known everywhere; `more`: its other texts; `asks`: it
    is a question, and may read like one."""
    whole = f"{text}\n{more}".strip()
    for reason, wrong in (
        ("trivial", _is_trivial(text, subject)),
        ("a question", not asks and text.rstrip().endswith(("?", "？", "؟"))),
        ("secret", MARK in whole or redact(whole)[1] > 0),
        ("placeholder", _names_nobody(whole)),
        ("reads like an order", instruction_like(whole)),
        ("not in the turn", not _is_grounded(text, evidence)),
        ("number not in the turn", not _has_numbers_of(whole, evidence.turn)),
        ("another language", _is_foreign(text, evidence)),
        ("boot file", any(restates(text, line, subject) for line in evidence.boot)),
        ("injected", _is_echo(text, evidence, subject)),
    ):
        if wrong:
            return reason
    return ""


def restates(text: str, source: str, subject: str = "") -> bool:
    """Whether a text says nothing that the source does not say: each of its words stands there.

    Each, since one word more may be the one that changed.
    """
    said = units(text) - units(subject)
    return bool(said) and said <= units(source)


def _is_echo(text: str, evidence: Evidence, subject: str) -> bool:
    """Said by our own lines, and not by the person themselves."""
    return any(restates(text, line, subject) for line in evidence.injected) and not restates(
        text, evidence.turn.question, subject
    )


def _is_trivial(text: str, subject: str) -> bool:
    said = units(text) - units(subject)
    least = _LEAST_SIGNS if _UNSPACED.search(text) else _LEAST_UNITS
    return len(units(text)) < least or not said or is_small_talk(text)


def _is_grounded(text: str, evidence: Evidence) -> bool:
    """By content words: articles and the like stand in every turn."""
    said = units(text)
    content = said - function_words(tuple(said)) or said
    return len(content & evidence.said) >= GROUNDED * len(content)


def _share(text: str, evidence: Evidence) -> float:
    said = units(text)
    return len(said & evidence.said) / len(said) if said else 0.0


def _has_numbers_of(text: str, turn: Turn) -> bool:
    """A number that nobody said is invented; a day may be reckoned from the turn's own."""
    there = set(_numbers(f"{turn.question}\n{turn.answer}"))
    return all(number in there for number in _numbers(_DATE.sub(" ", _digits(text))))


def _numbers(text: str) -> list[str]:
    return [match.group().replace(",", ".") for match in _NUMBER.finditer(_digits(text))]


def _digits(text: str) -> str:
    """Digits of every script as ASCII."""
    return "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() else char for char in unicodedata.normalize("NFKC", text)
    )


def _is_foreign(text: str, evidence: Evidence) -> bool:
    """In another language than both sides of its turn. Languages that share a script are told apart by words only."""
    if _share(text, evidence) >= SAME_WORDS:
        return False
    language = language_of(text)
    said = [language_of(one) for one in (evidence.turn.question, evidence.turn.answer) if one]
    return bool(said) and all(differ(language, one) for one in said if one) and any(said)


def _names_nobody(text: str) -> bool:
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return bool(_TEMPLATE.search(text)) or any(_stands(name, plain) for name in _NOBODY)


def _stands(name: str, text: str) -> bool:
    if _UNSPACED.match(name):
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
