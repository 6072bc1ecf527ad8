"""One fabric entry: what a Markdown file with front matter says, and the file that says it."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory_os.fabric import frontmatter
from memory_os.fabric.frontmatter import Value

TYPES = ("task", "decision", "review", "resolution", "research", "code-session", "session", "note")
# A reader's judgement of another instance's entry: that file stays its owner's, so the judgement is a file of its own.
CURATION = "curation"
TIERS = ("hot", "warm", "cold")
TRAINING_VALUES = ("high", "normal", "low")

# Icarus wrote `project_id`, `session_id`, `timestamp`; its readers still look for them, so they are what we write.
_ALSO = {
    "project": ("project_id", "project"),
    "session": ("session_id", "session"),
    "created": ("timestamp", "created", "created_at", "date"),
}
_TEXTS = (
    "platform", "status", "outcome", "tier", "review_of", "revises", "curates", "customer_id", "assigned_to",
    "training_value", "verified", "evidence", "source_tool",
)  # fmt: skip
_ISO = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d{2}:?\d{2})?"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SUMMARY_CHARS = 400
# Later times can't be shown by every zone's calendar.
_YEAR_9000 = 221_845_392_000.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says. `created_at` is in seconds since the epoch; a missing text is empty, never None."""

    id: str
    agent: str
    type: str
    summary: str
    body: str
    created_at: float
    platform: str = ""
    status: str = ""
    outcome: str = ""
    tier: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    session: str = ""
    review_of: str = ""
    revises: str = ""
    curates: str = ""
    customer_id: str = ""
    assigned_to: str = ""
    training_value: str = ""
    verified: str = ""
    evidence: str = ""
    source_tool: str = ""
    artifact_paths: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """How other entries name this one."""
        return f"{self.agent}:{self.id}" if self.agent else self.id


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file as read. `replaced`: undecodable bytes; `problem`: what its front matter lacked, or empty."""

    entry: Entry
    replaced: int = 0
    problem: str = ""
    excluded: bool = False


def parse(data: bytes, *, path: str, modified: float) -> Parsed:
    """Read a file's bytes. Never raises: what can't be read as meant is read as text, and named in `problem`.

    A file without an id (a person's own note) gets one from its path, so it stays the same entry while it is edited.
    """
    text, replaced = _decoded(data)
    split = frontmatter.split(text)
    fields = split.fields
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    body = clean(split.body)
    folder_tier = "cold" if path.startswith("cold/") else ""
    values = {name: _text(fields.get(name)) for name in _TEXTS}
    values["tier"] = word(values["tier"]) or folder_tier
    values["status"] = word(values["status"])
    values["training_value"] = word(values["training_value"])
    entry = Entry(
        id=_text(fields.get("id")) or hashlib.sha256(path.encode()).hexdigest()[:12],
        agent=_text(fields.get("agent")),
        type=_kind(_text(fields.get("type"))),
        summary=_text(fields.get("summary") or fields.get("title")) or _first_line(body) or stem,
        body=body,
        created_at=_created(fields, modified),
        project=_first(fields, "project"),
        session=_first(fields, "session"),
        tags=_list(fields.get("tags")),
        artifact_paths=_list(fields.get("artifact_paths")),
        links=_list(fields.get("links")),
        **values,
    )
    return Parsed(entry, replaced, split.problem, excluded=_text(fields.get("fabric")).lower() == "false")


def render(entry: Entry) -> bytes:
    """The file of an entry: UTF-8, `\\n`, one line a field, empty fields left out. `parse` gives the entry back."""
    lines = [
        frontmatter.line("id", entry.id),
        frontmatter.line("agent", entry.agent),
        frontmatter.line("type", entry.type),
        frontmatter.line("summary", entry.summary),
        frontmatter.line("timestamp", iso(entry.created_at)),
    ]
    texts = [("project_id", entry.project), ("session_id", entry.session)]
    texts += [(name, getattr(entry, name)) for name in _TEXTS]
    lines += [frontmatter.line(name, _boolean(name, value)) for name, value in texts if value]
    lists = (("tags", entry.tags), ("artifact_paths", entry.artifact_paths), ("links", entry.links))
    lines += [frontmatter.line(name, value) for name, value in lists if value]
    return ("---\n" + "\n".join(lines) + "\n---\n\n" + entry.body + "\n").encode("utf-8")


def clean(text: str) -> str:
    """A text as an entry holds it: no lone surrogates, `\\n` line ends, no white space around it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", text).strip()


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def iso(at: float) -> str:
    """UTC with milliseconds: two entries of one second keep their order."""
    return datetime.fromtimestamp(round(at, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str) -> float | None:
    """Seconds since the epoch of an ISO date or time (UTC unless it says otherwise), or of a number of (milli)seconds."""
    text = text.strip()
    match = _ISO.fullmatch(text)
    try:
        if match:
            year, month, day, clock, fraction, zone = match.groups()
            zone = "+00:00" if not zone or zone in "Zz" else zone
            whole = datetime.fromisoformat(f"{year}-{month}-{day}T{clock or '00:00'}{zone}").timestamp()
            seconds = round(whole + float(f"0.{fraction}" if fraction else 0), 6)
        else:
            number = float(text)
            seconds = number / 1000 if number > 1e11 else number
    except (ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < _YEAR_9000 else None


def _decoded(data: bytes) -> tuple[str, int]:
    """Text and how many undecodable places were replaced. UTF-16 is known by its byte order mark."""
    encoding = "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        return data.decode(encoding), 0
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        return text, text.count("\ufffd")


def _text(value: Value) -> str:
    """Any value as one text: lists by commas, mappings as `key: value`. A field never spans lines."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list):
        return ", ".join(filter(None, (_text(one) for one in value)))
    return "; ".join(f"{one_line(key)}: {_text(inner)}" for key, inner in value.items())


def _list(value: Value) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(filter(None, (_text(one) for one in parts)))


def _kind(text: str) -> str:
    """A type of ours in its one spelling; any other as its owner wrote it."""
    known = word(text)
    return known if known in TYPES else text or "note"


def word(text: str) -> str:
    """A keyword as compared: `In Progress` and `in_progress` are `in-progress`."""
    return "-".join(re.split(r"[\s_-]+", text.casefold())).strip("-")


def _first(fields: Mapping[str, Value], name: str) -> str:
    return next(filter(None, (_text(fields.get(one)) for one in _ALSO[name])), "")


def _created(fields: Mapping[str, Value], modified: float) -> float:
    for name in _ALSO["created"]:
        found = moment(_text(fields.get(name)))
        if found is not None:
            return found
    return modified


def _first_line(body: str) -> str:
    for one in body.split("\n"):
        found = one.strip().lstrip("#>*- ").strip()
        if found and any(unicodedata.category(char)[0] in "LN" for char in found):
            return one_line(found)[:_SUMMARY_CHARS]
    return ""


def _boolean(name: str, value: str) -> str | bool:
    return value == "true" if name == "verified" and value in ("true", "false") else value


def fields_json(values: tuple[str, ...]) -> str:
    return json.dumps(values, ensure_ascii=False)


def fields_list(text: str) -> tuple[str, ...]:
    loaded: Any = json.loads(text)
    return tuple(str(one) for one in loaded)
