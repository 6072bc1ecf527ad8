"""What a fact is: its row, its versions, its passage in the index."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from memory_os.errors import BadRequest
from memory_os.facts.trust import Evidence
from memory_os.memory import Author, Layer, Passage, Scope, handle_of, passage_id
from memory_os.store import Row

CATEGORIES = ("user_pref", "project", "tool", "general")

# A fact is a sentence or a few; longer text belongs to the fabric or the documents.
TEXT_MAX_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as somebody states it. `evidence` is the turn, `origin` the way it came (a tool, a file, a database)."""

    text: str
    scope: Scope
    category: str = "general"
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    author: Author = Author.AGENT
    evidence: str = ""
    origin: str = ""
    session_id: str = ""
    valid_from: float | None = None
    valid_to: float | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One stored fact. Times are epoch seconds; `valid_from`/`valid_to` are open when None."""

    id: int
    scope: str
    text: str
    category: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    author: Author
    evidence: str
    origin: str
    session_id: str
    created_at: float
    valid_from: float | None
    valid_to: float | None
    superseded_by: int | None
    removed_at: float | None
    counts: Evidence

    @property
    def source(self) -> str:
        """What the index calls it."""
        return source_of(self.id)

    @property
    def passage_id(self) -> str:
        return passage_id(self.source, 0, self.scope)

    @property
    def handle(self) -> str:
        return handle_of(Layer.FACTS, self.passage_id)

    @property
    def live(self) -> bool:
        """Neither corrected nor removed (it may still be outside its time)."""
        return self.superseded_by is None and self.removed_at is None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a statement: a new fact, or an earlier one strengthened (`merged`). `redacted` counts secrets."""

    fact: Fact
    merged: bool = False
    redacted: int = 0
    conflicts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Linked:
    """A fact found through entities: those it matched, or those it is connected by."""

    fact: Fact
    via: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that contradict (`marked_at` set, for good) or may do so (found by overlap)."""

    a: Fact
    b: Fact
    found_at: float
    marked_at: float | None
    consistent_at: float | None

    @property
    def state(self) -> str:
        return "possible" if self.marked_at is None else "contradiction"


@dataclass(frozen=True, slots=True)
class Undone:
    """Which step was taken back, and the fact that stands now."""

    action: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `skipped` counts by reason."""

    added: int = 0
    unchanged: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


FACT_SELECT = (
    "SELECT f.*, (SELECT json_group_array(name) FROM (SELECT name FROM fact_entities WHERE fact_id = f.id"
    " ORDER BY position)) AS entity_names FROM facts f"
)

# The condition of every read of what is held true now; `:now` is epoch seconds.
CURRENT = (
    "f.superseded_by IS NULL AND f.removed_at IS NULL AND (f.valid_from IS NULL OR f.valid_from <= :now)"
    " AND (f.valid_to IS NULL OR f.valid_to > :now)"
)


def source_of(fact_id: int) -> str:
    return f"fact:{fact_id}"


def handle_for(fact_id: int, scope: Scope) -> str:
    return handle_of(Layer.FACTS, passage_id(source_of(fact_id), 0, scope.key))


def fact_of(row: Row) -> Fact:
    return Fact(
        id=row["id"], scope=row["scope"], text=row["text"], category=row["category"],
        tags=tuple(json.loads(row["tags"])), entities=tuple(json.loads(row["entity_names"])),
        author=Author(row["author"]), evidence=row["evidence"], origin=row["origin"], session_id=row["session_id"],
        created_at=row["created_at"], valid_from=row["valid_from"], valid_to=row["valid_to"],
        superseded_by=row["superseded_by"], removed_at=row["removed_at"],
        counts=Evidence(row["support"], row["against"], row["evidence_at"]),
    )  # fmt: skip


def passage_for(fact: Fact, trust: float) -> Passage:
    """The fact as the index holds it: entities are searched as its title, tags beside it."""
    return Passage(
        layer=Layer.FACTS, source=fact.source, text=fact.text, scope=fact.scope, author=fact.author,
        kind=fact.category, context=" ".join(fact.tags), title=", ".join(fact.entities), created_at=fact.created_at,
        valid_from=fact.valid_from, valid_to=fact.valid_to, trust=trust,
    )  # fmt: skip


def checked_text(text: str) -> str:
    """The text as it can be stored. Raises BadRequest for an empty or over-long one."""
    clean = storable(text).strip()
    if not clean:
        raise BadRequest("A fact needs text; `content` is empty.", cure="Call again with content=<one statement>.")
    if len(clean) > TEXT_MAX_CHARS:
        raise BadRequest(
            f"A fact holds at most {TEXT_MAX_CHARS:,} characters; this one has {len(clean):,}.",
            cure="State it in a few sentences, or keep the whole with fabric_write.",
        )
    return clean


def checked_category(category: str) -> str:
    if category not in CATEGORIES:
        raise BadRequest(f"`category` is {category!r}; use one of {', '.join(CATEGORIES)}.")
    return category


def storable(text: str) -> str:
    """Without lone surrogates, which neither SQLite nor UTF-8 can hold, and without NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
