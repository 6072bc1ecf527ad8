"""SCHEMA.md: the closed vocabulary of tags and the sections of each type of page. The user may edit it; it is checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_os.errors import WikiError
from memory_os.fabric.names import slug
from memory_os.wiki.tree import FOLDERS
from memory_os.wiki.wikilinks import subject_key

__all__ = ["DEFAULT_SCHEMA", "Schema", "parse_schema"]

TAGS_MAX = 400
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t#]*$")
_TAG = re.compile(r"^[ \t]*[-*][ \t]+`([^`]*)`[ \t]*(?:[:—–-]+[ \t]*(.*))?$")
_TYPE = re.compile(r"^[ \t]*[-*][ \t]+`?([A-Za-z]+)`?[ \t]*:[ \t]*(.*)$")

DEFAULT_SCHEMA = """\
# Schema of this wiki

Curation keeps to this file, and `memory-os wiki lint` checks it. Edit it as you like: tags may be in any script.

## Tags

A closed vocabulary: a page has no other tags. One tag a line, in back-ticks; lower case, hyphens for spaces.

- `software`: programs, libraries, services
- `infrastructure`: machines, networks, deployment, storage
- `data`: formats, databases, models of data
- `security`: access, secrets, threats
- `method`: ways of working, techniques, processes
- `project`: something with a goal and an end
- `organisation`: companies, teams, institutions
- `person`: people
- `place`: where something is
- `event`: something that happened, or will
- `science`: findings and theories
- `health`: body and mind
- `finance`: money, prices, contracts
- `law`: rules, licences, rights
- `culture`: language, art, history

## Types

The sections of a page, in their order. A statement of another section goes into the first.

- concept: Definition, Details, Use
- entity: Overview, Facts, History
- comparison: Subjects, Differences, Conclusion

## Rules

- A page has front matter, one subject, and at least one link to another page.
- Each statement names its source. Statements that contradict each other stand side by side until you decide.
- Nothing in `raw/` is ever changed.
"""


@dataclass(frozen=True, slots=True)
class Schema:
    """`tags`: tag -> what it is for. `sections`: type -> headings, in order, the first for whatever fits none."""

    tags: Mapping[str, str]
    sections: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = field(default=())

    def section(self, kind: str, wanted: str) -> str:
        """The heading of this type that `wanted` means; the first where it means none."""
        names = self.sections[kind]
        key = slug(wanted)
        return next((name for name in names if slug(name) == key), names[0])

    def tag(self, wanted: str) -> str | None:
        """The tag of the vocabulary that `wanted` means, or None: `#Machine Learning` is `machine-learning`."""
        key = subject_key(wanted.replace("#", " "))
        return next((tag for tag in self.tags if subject_key(tag) == key), None) if key else None


def parse_schema(text: str) -> Schema:
    """Read SCHEMA.md. Raises WikiError that names the line for what can't be used."""
    tags: dict[str, str] = {}
    sections: dict[str, tuple[str, ...]] = {}
    part = ""
    for number, line in enumerate(text.splitlines(), 1):
        heading = _HEADING.match(line)
        if heading is not None:
            part = slug(heading[2]) if len(heading[1]) <= 2 else part
        elif part == "tags" and (match := _TAG.match(line)):
            _take_tag(tags, match[1].strip(), match[2] or "", number)
        elif part == "types" and (match := _TYPE.match(line)):
            _take_type(sections, match[1].lower(), match[2], number)
    if not tags:
        raise _wrong("has no tags", "List them under `## Tags`, one a line: - `tag`: what it is for.")
    missing = [kind for kind in FOLDERS if kind not in sections]
    if missing:
        raise _wrong(
            f"names no sections for {', '.join(missing)}", "List them under `## Types`: - concept: Definition, Details."
        )
    return Schema(tags, sections)


def _take_tag(tags: dict[str, str], tag: str, meaning: str, number: int) -> None:
    if not tag or slug(tag) != tag:
        form = f"Write `{slug(tag)}`." if slug(tag) else "Use letters, digits and hyphens."
        raise _wrong(f"line {number}: `{tag}` is no tag", form)
    if tag in tags:
        raise _wrong(f"line {number}: `{tag}` stands there twice", "Take one out.")
    if len(tags) >= TAGS_MAX:
        raise _wrong(f"has more than {TAGS_MAX} tags", "A vocabulary this large closes nothing.")
    tags[tag] = " ".join(meaning.split())[:200]


def _take_type(sections: dict[str, tuple[str, ...]], kind: str, names: str, number: int) -> None:
    if kind not in FOLDERS:
        raise _wrong(f"line {number}: there is no type {kind!r}", f"Types: {', '.join(FOLDERS)}.")
    found = tuple(dict.fromkeys(" ".join(name.split()) for name in names.split(",") if name.strip()))
    reserved = {"contradictions", "links", "sources", "related"}
    if not found or any(not slug(name) or slug(name) in reserved for name in found):
        raise _wrong(f"line {number}: {kind} needs names of sections", f"Other than {', '.join(sorted(reserved))}.")
    sections[kind] = found


def _wrong(what: str, cure: str) -> WikiError:
    return WikiError(f"SCHEMA.md {what}.", cure=cure)
