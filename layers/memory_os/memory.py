"""The nouns every layer shares: what a memory is, whose it is, and how a layer answers."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

# Namespace of all point and passage ids (UUIDv5), so that the same source always gets the same id.
_NAMESPACE = uuid.UUID("6f1d5b0e-6f0b-5d0a-9a53-2b1f1f7a9c11")


class Layer(StrEnum):
    WORKSPACE = "workspace"
    SESSIONS = "sessions"
    FACTS = "facts"
    FABRIC = "fabric"
    VECTORS = "vectors"
    WIKI = "wiki"


# What was handed over or written up, as opposed to what was said, noted or decided.
DOCUMENT_LAYERS = frozenset({Layer.VECTORS, Layer.WIKI})


class Author(StrEnum):
    """Who a memory's words come from; shown with every injected line."""

    USER = "user"
    AGENT = "agent"
    DOCUMENT = "document"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory is read or written. `user` is `local` for the terminal, `<platform>:<sender>` for a gateway user.

    `others` are the names this person goes by besides (`scopes.aliases`): what was said under them is read, never written to.
    """

    user: str = "local"
    profile: str = "default"
    others: tuple[str, ...] = field(default=(), compare=False)

    @property
    def key(self) -> str:
        """The private scope key, as passages and vectors carry it."""
        return f"{self.profile}/{self.user}"

    @property
    def own(self) -> tuple[str, ...]:
        """The scope keys of this person: the one written to first, then those of their other names."""
        return (self.key, *(f"{self.profile}/{name}" for name in self.others))

    @property
    def own_listed(self) -> str:
        """`own` as a JSON list, for SQL's `scope IN (SELECT value FROM json_each(?))`."""
        return json.dumps(self.own)

    @property
    def readable(self) -> tuple[str, ...]:
        """The scope keys this reader may see: their own, and what is shared by fabric or documents."""
        return (*self.own, SHARED_SCOPE)


SHARED_SCOPE = "shared"


@dataclass(frozen=True, slots=True)
class Passage:
    """One searchable piece of text in the index. Every layer writes its memories as passages.

    `source` names the original (`message:12`, `fact:7`, `fabric:icarus:9f3c`, `document:wiki/raw/a.md`); a source has
    passages 0..n by `ordinal`. `context` is what is embedded and searched beside `text`, never shown as if said: the
    turn before, a heading path, a title. Times are seconds since the epoch, UTC.
    """

    layer: Layer
    source: str
    text: str
    scope: str
    author: Author
    kind: str = ""
    ordinal: int = 0
    context: str = ""
    title: str = ""
    session_id: str = ""
    created_at: float = 0.0
    valid_from: float | None = None
    valid_to: float | None = None
    trust: float | None = None
    importance: float = 0.5
    flagged: str = ""
    id: str = field(default="")
    # Counted by the index; what a layer sets here is not stored, and makes no other memory of it.
    uses: int = field(default=0, compare=False)
    last_used_at: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", passage_id(self.source, self.ordinal, self.scope))

    @property
    def handle(self) -> str:
        """The short id shown in a block, e.g. `f:k3m9q2`; enough for feedback, forget and explain."""
        return handle_of(self.layer, self.id)

    @property
    def content_hash(self) -> str:
        return content_hash(self.text)


def passage_id(source: str, ordinal: int, scope: str) -> str:
    """UUIDv5 of (scope, source, chunk ordinal)."""
    return str(uuid.uuid5(_NAMESPACE, f"{scope}\n{source}\n{ordinal}"))


_HANDLE_LETTER = {
    Layer.WORKSPACE: "w",
    Layer.SESSIONS: "s",
    Layer.FACTS: "f",
    Layer.FABRIC: "b",
    Layer.VECTORS: "d",
    Layer.WIKI: "d",
}


@lru_cache(maxsize=4096)
def handle_of(layer: Layer, passage_id: str) -> str:
    """Eight base32 characters of the id (40 bits) behind the layer's letter."""
    digest = base64.b32encode(uuid.UUID(passage_id).bytes[:5]).decode().lower()
    return f"{_HANDLE_LETTER[layer]}:{digest}"


def content_hash(text: str) -> str:
    """16 hex digits of the SHA-256 of the stripped text. The plugin computes the same for what is in the window."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


class State(StrEnum):
    OK = "ok"
    EMPTY = "empty"
    OFF = "off"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class Health:
    """How a layer answers. `detail` is one line for a person; `cure` names the command that mends it."""

    state: State
    detail: str = ""
    cure: str = ""
    figures: dict[str, float | int | str] = field(default_factory=dict)
