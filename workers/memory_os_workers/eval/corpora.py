"""What is measured on: files of corpora (texts, and questions about them), and a person's own questions in YAML.

A corpus file has one JSON object a line, gzip or plain: `{"set", "corpus", "documents": [{"id", "session", "time", "speaker",
"text"}], "queries": [{"query", "evidence": [document ids], "category"}]}`. What has a speaker is said, the rest is written.
"""

from __future__ import annotations

import calendar
import gzip
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memory_os.errors import BadRequest, said_by
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_YEAR = re.compile(r"\b(\d{4})\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b(?!\s*:)(?!\s*[ap]m\b)", re.IGNORECASE)
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})(?::\d{2})?\s*([ap]m)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id. `at` is in seconds since the epoch, 0.0 when unknown; no `speaker`: nobody said it."""

    id: str
    session: str
    at: float
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: ids of documents, or, of a person's own memory, words that must stand in what is found."""

    text: str
    evidence: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Corpus:
    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


def load_corpora(path: Path) -> list[Corpus]:
    """All corpora of a file. Raises BadRequest naming the line that is of another shape."""
    corpora = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            corpora.append(_corpus(json.loads(line), f"{path.stem.partition('.')[0]}-{number}"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadRequest(
                f"{path}, line {number}, is no corpus: {type(error).__name__}: {error}.", cure="docs/eval.md shows one."
            ) from error
    if not corpora:
        raise BadRequest(f"{path} holds no corpus.")
    return corpora


def load_questions(path: Path) -> list[Question]:
    """A person's own questions: a list of `{question, expect}`, `expect` being words or a list of them. Raises BadRequest."""
    try:
        data = YAML(typ="safe").load(path.read_text("utf-8"))
        questions = [_own(entry, number) for number, entry in enumerate(_entries(data), 1)]
    except (OSError, YAMLError, TypeError, ValueError) as error:
        raise BadRequest(f"{path} can't be used: {said_by(error)}.", cure="docs/eval.md shows such a file.") from error
    if not questions:
        raise BadRequest(f"{path} holds no question.")
    return questions


def crossed(documents: Sequence[Corpus], asking: Sequence[Corpus]) -> list[Corpus]:
    """The first one's documents with the other's questions, corpus by corpus in their order. Raises BadRequest."""
    if len(documents) != len(asking):
        raise BadRequest(f"The files hold {len(documents)} and {len(asking)} corpora; they must be parallel.")
    pairs = []
    for corpus, other in zip(documents, asking, strict=True):
        ids = {document.id for document in corpus.documents}
        known = tuple(question for question in other.questions if question.evidence <= ids)
        if not known:
            raise BadRequest(f"No question of {other.name} has its evidence among the documents of {corpus.name}.")
        pairs.append(replace(corpus, name=f"{other.name} of {corpus.name}", questions=known))
    return pairs


def seconds_of(text: str) -> float:
    """UTC seconds of a date as people write it ("1:56 pm on 8 May, 2023", "March-15-2024", ISO 8601); 0.0 for none."""
    clock = _CLOCK.search(text)
    hour, minute = (int(clock[1]) % 24, int(clock[2])) if clock else (12, 0)
    if clock and clock[3]:
        hour = hour % 12 + 12 * (clock[3].lower() == "pm")
    iso = _ISO.search(text)
    if iso:
        date = (int(iso[1]), int(iso[2]), int(iso[3]))
    else:
        rest = _CLOCK.sub(" ", text)
        year, month, day = _YEAR.search(rest), _MONTH.search(rest), _DAY.search(rest)
        if not (year and month):
            return 0.0
        date = (int(year[1]), _MONTHS.index(month[1].lower()) + 1, int(day[1]) if day else 1)
    return float(calendar.timegm((*date, hour, minute, 0)))


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return plain.decode("utf-8").splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} can't be read: {error}.") from error


def _corpus(data: Mapping[str, Any], name: str) -> Corpus:
    documents = tuple(
        Document(
            str(one["id"]), str(one.get("session") or ""), seconds_of(str(one.get("time") or "")),
            str(one.get("speaker") or ""), str(one["text"]),
        )
        for one in data["documents"]
    )  # fmt: skip
    ids = {document.id for document in documents}
    questions = []
    for one in data["queries"]:
        evidence = frozenset(map(str, one["evidence"]))
        if not evidence <= ids:
            raise ValueError(f"evidence {sorted(evidence - ids)[0]!r} is no document")
        if evidence:
            questions.append(Question(str(one["query"]), evidence, str(one.get("category") or "")))
    return Corpus(str(data.get("corpus") or name), documents, tuple(questions))


def _entries(data: Any) -> list[Any]:
    """Raises ValueError saying what stands there instead."""
    if isinstance(data, dict):
        if "questions" not in data:
            raise ValueError(f"it has no `questions`, only {_keys(data)}")
        data = data["questions"]
    if not isinstance(data, list):
        raise ValueError("it is no list of entries with `question` and `expect`")
    return data


def _own(entry: Any, number: int) -> Question:
    """Raises ValueError naming the entry by its place (from 1) and its words."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"entry {number} is no mapping with `question` and `expect`, but {str(entry)[:60]!r}")
    place = f"entry {number}"
    if "question" in entry:
        place += f" ({' '.join(str(entry['question']).split())[:60]})"
    missing = [f"`{key}`" for key in ("question", "expect") if key not in entry]
    if missing:
        raise ValueError(f"{place} has no {' and no '.join(missing)}, only {_keys(entry)}")
    expected = entry["expect"]
    words = expected if isinstance(expected, list) else [expected]
    if not words or any(isinstance(word, (dict, list)) or word is None or not str(word).strip() for word in words):
        raise ValueError(f"{place} expects nothing: `expect` is a word or a list of words")
    return Question(str(entry["question"]), frozenset(str(word).strip() for word in words), str(entry.get("category") or ""))


def _keys(entry: Mapping[Any, Any]) -> str:
    return ", ".join(f"`{str(key)[:40]}`" for key in list(entry)[:6]) or "nothing"
