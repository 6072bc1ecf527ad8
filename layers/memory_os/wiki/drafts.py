"""What the model is asked for, and what of its answer is taken. Pure: an answer is untrusted text like any other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from memory_os.documents.instruction import directive_like, instruction_like
from memory_os.wiki.page import one_line
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import FOLDERS
from memory_os.wiki.wikilinks import subject_key, unlinked, wikilinks

__all__ = ["Addition", "Drafts", "Verdict", "admitted", "drafts_schema", "gathered"]

TITLE_MAX, SUMMARY_MAX, STATEMENT_MAX, NAME_MAX = 120, 200, 600, 80
PAGES_MAX, STATEMENTS_MAX, TAGS_MAX, NAMES_MAX, LINKS_MAX = 12, 40, 6, 10, 12
# What models put where they have nothing to say: words of programs, not of a language.
_NOTHING = frozenset({"", "none", "null", "nil", "nan", "n a", "undefined", "string", "text", "true", "false", "tbd"})
# Names under which a model might send a place of its own for the page; files are named by us.
_PLACES = ("path", "file", "filename", "file_name", "folder", "location")


def _short(longest: int, **more: Any) -> Any:
    """A text field: the length is told to the model, and cut by us. A longer text is no reason to refuse all."""
    return Field(json_schema_extra={"minLength": 1, "maxLength": longest}, **more)


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class StatementDraft(_Lenient):
    section: str = _short(60, default="")
    text: str = _short(STATEMENT_MAX)


class PageDraft(BaseModel):
    """One page as the model proposes it. Extra fields are kept to be looked at: a path of its own refuses the page."""

    # What the model must send is more than what we insist on: a held output is then about something.
    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "additionalProperties": False,
            "required": ["title", "type", "summary", "tags", "statements", "confidence"],
        },
    )

    title: str = _short(TITLE_MAX)
    type: str = Field(default="concept", json_schema_extra={"enum": list(FOLDERS)})
    summary: str = _short(SUMMARY_MAX, default="")
    tags: list[str] = Field(default_factory=list)
    aliases: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": NAMES_MAX})
    confidence: float = Field(default=0.5, json_schema_extra={"minimum": 0, "maximum": 1})
    statements: list[StatementDraft] = Field(
        default_factory=list, json_schema_extra={"minItems": 1, "maxItems": STATEMENTS_MAX}
    )
    links: list[str] = Field(default_factory=list, json_schema_extra={"maxItems": LINKS_MAX})

    @field_validator("tags", "aliases", "links", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return [] if value is None else value


class Drafts(_Lenient):
    """All pages a part of a raw file is worth; none is a good answer."""

    pages: list[PageDraft] = Field(default_factory=list, json_schema_extra={"maxItems": PAGES_MAX})


class Pair(_Lenient):
    existing: int
    new: int


class Verdict(_Lenient):
    """How new statements stand to those of a page, by their numbers."""

    same_subject: bool = False
    confidence: float = Field(default=0.0, json_schema_extra={"minimum": 0, "maximum": 1})
    duplicates: list[Pair] = Field(default_factory=list)
    contradictions: list[Pair] = Field(default_factory=list)


def drafts_schema(schema: Schema) -> type[Drafts]:
    """`Drafts` whose JSON schema names the vocabulary, for models whose output can be held to it."""
    items: Any = {"items": {"type": "string", "enum": sorted(schema.tags)}, "maxItems": TAGS_MAX}
    page = create_model(
        "Page", __base__=PageDraft, tags=(list[str], Field(default_factory=list, json_schema_extra=items))
    )
    pages: Any = (list[page], Field(default_factory=list, json_schema_extra={"maxItems": PAGES_MAX}))
    return create_model("Wiki", __base__=Drafts, pages=pages)


@dataclass(frozen=True, slots=True)
class Addition:
    """What one raw file has to say on one subject. `statements`: (section, text). `links`: names of other subjects."""

    title: str
    kind: str
    tags: tuple[str, ...] = ()
    summary: str = ""
    aliases: tuple[str, ...] = ()
    confidence: float = 0.5
    statements: tuple[tuple[str, str], ...] = ()
    links: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.title, *self.aliases)


@dataclass(slots=True)
class Notes:
    """What was left out or quoted and why, each once, and how many statements. `flagged`: something read like orders to a
    model."""

    lines: list[str] = field(default_factory=list)
    flagged: bool = False
    orders_left_out: int = 0
    orders_quoted: int = 0

    def add(self, text: str) -> None:
        if text not in self.lines:
            self.lines.append(text)


def admitted(drafts: Drafts, schema: Schema, notes: Notes) -> list[Addition]:
    """The drafts as far as they can be used; what is left out goes to `notes`."""
    if len(drafts.pages) > PAGES_MAX:
        notes.add(f"only the first {PAGES_MAX} pages of a part were taken")
    found = (_addition(draft, schema, notes) for draft in drafts.pages[:PAGES_MAX])
    return [one for one in found if one is not None]


def _addition(draft: PageDraft, schema: Schema, notes: Notes) -> Addition | None:
    title = one_line(_plain(draft.title), TITLE_MAX).lstrip("#*_` ").rstrip("*_` ")
    if _says_nothing(title):
        notes.add("a page without a title was left out")
        return None
    place = next((str(value) for key, value in (draft.model_extra or {}).items() if key in _PLACES and value), "")
    if _leaves(place):
        notes.add(f"{title}: refused, it was to be written to {one_line(place, 100)!r}")
        return None
    statements = _statements(draft, schema, title, notes)
    summary = one_line(_plain(draft.summary), SUMMARY_MAX)
    if _says_nothing(summary):
        summary = one_line(statements[0][1], SUMMARY_MAX) if statements else ""
    if not summary:
        notes.add(f"{title}: left out, nothing is said about it")
        return None
    if any(instruction_like(text) for text in (title, summary)):
        notes.flagged = True
        notes.orders_left_out += 1
        notes.add("a page whose title or summary reads like orders to a model was left out")
        return None
    kind = draft.type.strip().lower() if draft.type.strip().lower() in FOLDERS else "concept"
    if kind != draft.type:
        notes.add(f"{title}: {one_line(draft.type, 40)!r} is no type, taken as {kind}")
    section, summary = schema.section(kind, ""), _quoted(summary, title, notes)
    return Addition(
        title=title,
        kind=kind,
        tags=_tags(draft.tags, schema, title, notes),
        summary=summary,
        aliases=_names(draft.aliases, NAMES_MAX, {subject_key(title)}),
        confidence=_share(draft.confidence),
        statements=tuple(statements) or ((section, summary),),
        links=_names(draft.links, LINKS_MAX, {subject_key(title)}),
    )


def _says_nothing(text: str) -> bool:
    return subject_key(text) in _NOTHING


def _leaves(place: str) -> bool:
    """Whether a place the model named lies outside the wiki's page folders: absolute, upward, or elsewhere."""
    parts = place.replace("\\", "/").split("/")
    return bool(place) and (parts[0] in ("", "~") or ".." in parts or ":" in parts[0] or "\x00" in place)


def _statements(draft: PageDraft, schema: Schema, title: str, notes: Notes) -> list[tuple[str, str]]:
    kind = draft.type.strip().lower() if draft.type.strip().lower() in FOLDERS else "concept"
    found: dict[str, tuple[str, str]] = {}
    for one in draft.statements:
        text = one_line(_plain(one.text), STATEMENT_MAX).lstrip("#>-*+ ")
        if instruction_like(text):
            notes.flagged = True
            notes.orders_left_out += 1
            notes.add(f"{title}: a statement that reads like orders to a model was left out")
        elif not _says_nothing(text) and subject_key(text) not in found:
            found[subject_key(text)] = (schema.section(kind, one.section), _quoted(text, title, notes))
    if len(found) > STATEMENTS_MAX:
        notes.add(f"{title}: only the first {STATEMENTS_MAX} statements of a part were taken")
    return list(found.values())[:STATEMENTS_MAX]


def _quoted(text: str, title: str, notes: Notes) -> str:
    """What tells its reader to do something, in quotation marks: these are the file's words, and no statement of ours."""
    if text.startswith("“") or not directive_like(text):
        return text
    notes.orders_quoted += 1
    notes.add(f"{title}: what tells its reader to do something stands as a quotation")
    return f"“{text}”"


def _tags(given: Iterable[str], schema: Schema, title: str, notes: Notes) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in given:
        tag = schema.tag(one)
        if tag is None:
            notes.add(f"{title}: tag {one_line(one, 40)!r} is not in SCHEMA.md and was dropped")
        else:
            found[tag] = None
    return tuple(found)[:TAGS_MAX]


def _names(given: Iterable[str], most: int, known: set[str]) -> tuple[str, ...]:
    """Names on one line, each subject once, those in `known` left out."""
    found: dict[str, str] = {}
    for one in given:
        name = one_line(_plain(one), NAME_MAX).lstrip("#*_`[ ").rstrip("*_`] ")
        key = subject_key(name)
        if not _says_nothing(name) and key not in known and not instruction_like(name):
            found.setdefault(key, name)
    return tuple(found.values())[:most]


def _plain(text: str) -> str:
    """Links of the model's own as words: what links where is decided with the other pages at hand."""
    return unlinked(text, {link.target for link in wikilinks(text)})


def _share(value: float) -> float:
    """A share from 0 to 1; percentages are read as such."""
    if not math.isfinite(value):
        return 0.5
    return round(min(max(value / 100 if 1 < value <= 100 else value, 0.0), 1.0), 2)


def gathered(additions: Iterable[Addition]) -> list[Addition]:
    """One addition a title, in the order of their first. (That two titles mean one subject is for a comparison to say.)"""
    found: list[Addition] = []
    for one in additions:
        key = subject_key(one.title)
        place = next((number for number, other in enumerate(found) if subject_key(other.title) == key), None)
        if place is None:
            found.append(one)
        else:
            found[place] = _joined(found[place], one)
    return found


def _joined(first: Addition, other: Addition) -> Addition:
    statements = {subject_key(text): (section, text) for section, text in (*other.statements, *first.statements)}
    ordered = {subject_key(text): statements[subject_key(text)] for _, text in (*first.statements, *other.statements)}
    return replace(
        first,
        tags=tuple(dict.fromkeys((*first.tags, *other.tags)))[:TAGS_MAX],
        aliases=_names((*first.aliases, *other.aliases), NAMES_MAX, {subject_key(first.title)}),
        confidence=round((first.confidence + other.confidence) / 2, 2),
        statements=tuple(ordered.values()),
        links=_names((*first.links, *other.links), LINKS_MAX, {subject_key(first.title)}),
    )
