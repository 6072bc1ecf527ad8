"""A page: front matter, sections of statements with their sources, contradictions, links. Read from any text, written
in one form. Pure.

A page that the user wrote or changed is read by the same rules and never written: only its `related` block is ours.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_os.fabric.frontmatter import Split, line, split
from memory_os.wiki.tree import stem
from memory_os.wiki.wikilinks import without_code

__all__ = [
    "Contradiction",
    "Page",
    "Statement",
    "hash_of",
    "one_line",
    "read_page",
    "related_in",
    "render",
    "with_related",
]

CONTRADICTIONS, LINKS, SOURCES = "Contradictions", "Links", "Sources"
_BOOKKEEPING = {CONTRADICTIONS, LINKS, SOURCES}
FIELDS = ("title", "type", "tags", "created", "updated", "sources", "confidence", "aliases", "summary")
RELATED_OPEN, RELATED_CLOSE = "<!-- memory-os:related -->", "<!-- /memory-os:related -->"

_RELATED = re.compile(rf"(?:\r?\n)*{re.escape(RELATED_OPEN)}.*?{re.escape(RELATED_CLOSE)}", re.DOTALL)
_RELATED_LINK = re.compile(r"^- \[\[([^\]|]+)(?:\|[^\]]*)?\]\][ \t]*\r?$", re.MULTILINE)
_SECTION = re.compile(r"^##[ \t]+(.*?)[ \t#]*$")
_STATEMENT = re.compile(r"^([ \t]*)[-*][ \t]+(.*?)((?:[ \t]*\[\^\d+\])*)[ \t]*$")
_MARKS = re.compile(r"\[\^(\d+)\]")
_DAY = re.compile(r"^[-*][ \t]+(\d{4}-\d\d-\d\d)[ \t]*$")
_PLAIN_NAME = re.compile(r"[^\[\]|#^`\n]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing said, on one line. `sources`: raw files, as `raw/a.md`."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements that can't both hold, as noticed on `day` (ISO)."""

    day: str
    first: Statement
    second: Statement


@dataclass(frozen=True, slots=True)
class Page:
    """`path`: relative to the wiki. `links`: stems of other pages. `problems`: what in the front matter is not as it must be."""

    path: str
    title: str
    kind: str
    tags: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    sources: tuple[str, ...] = ()
    confidence: float = 0.5
    aliases: tuple[str, ...] = ()
    summary: str = ""
    sections: Mapping[str, tuple[Statement, ...]] = field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()
    links: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        return stem(self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """Its title and aliases."""
        return (self.title, *self.aliases)

    @property
    def statements(self) -> list[Statement]:
        """All of its sections, in order."""
        return [one for section in self.sections.values() for one in section]


def one_line(text: str, longest: int) -> str:
    """Text on one line, without what would be read as structure of the page, cut at a word."""
    bare = _MARKS.sub("", _CONTROLS.sub(" ", text).replace("<!--", "").replace("-->", ""))
    flat = " ".join(bare.split())
    if len(flat) <= longest:
        return flat
    cut = flat[: longest - 1]
    return (cut.rpartition(" ")[0] if " " in cut[longest // 2 :] else cut).rstrip() + "…"


def hash_of(text: str) -> str:
    """Of everything but the related block and the line ends: differs as soon as the user's or our words differ."""
    bare = _RELATED.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n").rstrip()
    return hashlib.sha256(bare.encode("utf-8", "surrogatepass")).hexdigest()


# -- reading -------------------------------------------------------------------------------------------------------


def read_page(path: str, text: str) -> Page:
    """What a file says. Never raises: what can't be read is in `problems`."""
    found = split(text)
    kind = _text(found.fields.get("type"))
    title = _text(found.fields.get("title")) or stem(path)
    sources = _texts(found.fields.get("sources"))
    sections, contradictions, links = _body(_RELATED.sub("", found.body), sources)
    return Page(
        path=path,
        title=title,
        kind=kind,
        tags=_texts(found.fields.get("tags")),
        created=_text(found.fields.get("created"))[:10],
        updated=_text(found.fields.get("updated"))[:10],
        sources=sources,
        confidence=_confidence(found.fields.get("confidence")),
        aliases=_texts(found.fields.get("aliases")),
        summary=_text(found.fields.get("summary")),
        sections=sections,
        contradictions=contradictions,
        links=links,
        problems=tuple(_problems(path, found)),
    )


def _problems(path: str, found: Split) -> list[str]:
    """Why the front matter is not complete and right, each in a few words."""
    if not found.found:
        return ["has no front matter"]
    fields = found.fields
    problems = [found.problem] if found.problem else []
    problems += [f"has no `{name}`" for name in FIELDS if name not in fields]
    problems += [f"`{name}` is empty" for name in ("title", "summary") if name in fields and not _text(fields[name])]
    problems += [
        f"`{name}` is no list" for name in ("tags", "sources", "aliases") if isinstance(fields.get(name), dict)
    ]
    problems += [
        f"`{name}` is no day" for name in ("created", "updated") if name in fields and not is_day(_text(fields[name]))
    ]
    if "confidence" in fields and not _is_share(fields["confidence"]):
        problems.append("`confidence` is no number from 0 to 1")
    if len(_text(fields.get("summary"))) > 300:
        problems.append("`summary` is longer than 300 characters")
    folder = {"concept": "concepts", "entity": "entities", "comparison": "comparisons"}.get(_text(fields.get("type")))
    if "type" in fields and folder is None:
        problems.append("`type` is neither concept, entity nor comparison")
    elif folder is not None and not path.startswith(f"{folder}/"):
        problems.append(f"is a {_text(fields['type'])} outside {folder}/")
    return problems


def is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def _is_share(value: object) -> bool:
    try:
        return isinstance(value, str) and 0 <= float(value) <= 1
    except ValueError:
        return False


def _confidence(value: object) -> float:
    return float(value) if isinstance(value, str) and _is_share(value) else 0.5


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(text for one in value[:200] if (text := _text(one))))


def _body(
    body: str, sources: tuple[str, ...]
) -> tuple[dict[str, tuple[Statement, ...]], tuple[Contradiction, ...], tuple[str, ...]]:
    """Sections with their statements, contradictions, and the stems of the list of links."""
    parts: dict[str, list[str]] = {}
    current: list[str] = parts.setdefault("", [])
    for text in without_code(body).splitlines():
        heading = _SECTION.match(text)
        if heading is not None:
            current = parts.setdefault(heading[1], [])
        elif text.strip() and not text.startswith("# "):
            current.append(text)
    # What stands above the first section is the summary again, in pages of ours.
    sections = {
        name: tuple(_statement(text, sources) for text in lines)
        for name, lines in parts.items()
        if name and name not in _BOOKKEEPING
    }
    links = _RELATED_LINK.findall("\n".join(parts.get(LINKS, [])))
    return sections, _contradictions(parts.get(CONTRADICTIONS, []), sources), tuple(dict.fromkeys(links))


def _statement(text: str, sources: tuple[str, ...]) -> Statement:
    match = _STATEMENT.match(text)
    if match is None:
        return Statement(text.strip())
    marks = (int(mark) for mark in _MARKS.findall(match[3]))
    return Statement(match[2].strip(), tuple(sources[mark - 1] for mark in marks if 0 < mark <= len(sources)))


def _contradictions(lines: list[str], sources: tuple[str, ...]) -> tuple[Contradiction, ...]:
    found: list[Contradiction] = []
    day, sides = "", list[Statement]()
    for text in lines:
        if (match := _DAY.match(text)) is not None:
            day, sides = match[1], []
        elif text.startswith((" ", "\t")) and day:
            sides.append(_statement(text, sources))
            if len(sides) == 2:
                found.append(Contradiction(day, sides[0], sides[1]))
                sides = []
    return tuple(found)


# -- writing -------------------------------------------------------------------------------------------------------


def render(page: Page, titles: Mapping[str, str]) -> str:
    """The page as we write it, without its related block. `titles`: stem -> title, for the list of links."""
    numbers = {source: number for number, source in enumerate(page.sources, 1)}
    out = ["---", *_front(page), "---", "", f"# {page.title}", "", page.summary, ""]
    for name, statements in page.sections.items():
        if statements:
            out += [f"## {name}", "", *(f"- {_said(one, numbers)}" for one in statements), ""]
    if page.contradictions:
        out += [f"## {CONTRADICTIONS}", ""]
        for one in page.contradictions:
            out += [f"- {one.day}", f"    - {_said(one.first, numbers)}", f"    - {_said(one.second, numbers)}"]
        out.append("")
    if page.links:
        out += [f"## {LINKS}", "", *(f"- {wikilink(one, titles.get(one, one))}" for one in page.links), ""]
    out += [f"## {SOURCES}", "", *(f"[^{number}]: {_reference(source)}" for source, number in numbers.items()), ""]
    return "\n".join(out)


def wikilink(target: str, title: str) -> str:
    """`[[redis|Redis]]`; a title can't hold what ends a link."""
    shown = re.sub(r"[\[\]|\n]+", " ", title).strip()
    return f"[[{target}|{shown}]]" if shown and shown != target else f"[[{target}]]"


def _front(page: Page) -> list[str]:
    return [
        line("title", page.title),
        f"type: {page.kind}",
        line("tags", page.tags),
        f"created: {page.created}",
        f"updated: {page.updated}",
        line("sources", page.sources),
        f"confidence: {page.confidence:.2f}",
        line("aliases", page.aliases),
        line("summary", page.summary),
    ]


def _said(statement: Statement, numbers: Mapping[str, int]) -> str:
    marks = [f"[^{numbers[one]}]" for one in statement.sources if one in numbers]
    return " ".join([statement.text, *marks])


def _reference(source: str) -> str:
    return f"[[{source}]]" if _PLAIN_NAME.fullmatch(source) else f"`{source.replace('`', chr(39))}`"


def related_in(text: str) -> tuple[str, ...]:
    """The stems in the related block, its first line (the maps) left out."""
    match = _RELATED.search(text)
    return tuple(dict.fromkeys(_RELATED_LINK.findall(match.group()))) if match else ()


def with_related(text: str, stems: tuple[str, ...], titles: Mapping[str, str], maps: tuple[str, ...]) -> str:
    """The text with its related block set; every other byte as it was. `maps`: links to the index pages it is on."""
    newline = "\r\n" if "\r\n" in text else "\n"
    listed = [f"- {wikilink(one, titles.get(one, one))}" for one in stems]
    block = [RELATED_OPEN, "## Related", "", *listed, *([""] if listed else []), *maps, RELATED_CLOSE]
    match = _RELATED.search(text)
    if match is None:
        gap = newline if text.endswith(newline) else newline * 2
        return f"{text}{gap}{newline.join(block)}{newline}"
    lead = match.group()[: match.group().index(RELATED_OPEN)]
    return text[: match.start()] + lead + newline.join(block) + text[match.end() :]
