"""The block as the model reads it: grouped by label, each line dated, attributed and quoted, modest about itself."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from memory_os.constants import FENCE_CLOSE, FENCE_OPEN
from memory_os.memory import Author, Layer, Passage
from memory_os.recall.selection import Line

# The order of the groups, and the label each layer is shown under.
LABELS = {
    Layer.FACTS: "facts",
    Layer.FABRIC: "fabric",
    Layer.SESSIONS: "sessions",
    Layer.WIKI: "qdrant",
    Layer.VECTORS: "qdrant",
    Layer.WORKSPACE: "workspace",
}
_ORDER = ("facts", "fabric", "sessions", "qdrant", "workspace", "pending")
# A title names its document; a paragraph in front matter doesn't.
_NAME_CHARS = 100
# Terminal escapes and other controls; a line break and a tab are text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PREAMBLE = "Recalled by memory-os; quoted records of earlier conversations and notes."
# Said once a session, for whoever has no such rules in their prompt. `text/fence.py` knows how it begins.
LEGEND = "Labels: [facts] with their trust, [fabric] shared between agents, [sessions] said earlier, [qdrant] documents."

_SAID = {Author.USER: "user said", Author.AGENT: "agent answered"}
_NOTED = {Author.USER: "user noted", Author.AGENT: "agent noted", Author.DERIVED: "derived"}


def render_line(line: Line) -> str:
    """`- (f:abcdefgh) 2026-11-02, agent noted, trust 0.62: "…"`."""
    passage = line.scored.passage
    parts = [day_of(passage.created_at), _attribution(passage)]
    if passage.trust is not None:
        parts.append(f"trust {passage.trust:.2f}")
    if line.conflicts:
        parts.append(f"differs from {', '.join(line.conflicts)}{', the older' if line.older else ''}")
    if line.note:
        parts.append(line.note)
    return f'- ({passage.handle}) {_CONTROLS.sub("", ", ".join(parts))}: "{_CONTROLS.sub("", _indented(line.text))}"'


def render_block(
    lines: Sequence[Line], extras: Mapping[str, Sequence[str]] | None = None, *, first_turn: bool = False
) -> str:
    """The fenced block, or "" when there is nothing to show. `extras` are ready lines by label; a first turn's block
    explains its labels."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        groups.setdefault(LABELS[line.scored.passage.layer], []).append(render_line(line))
    for label, texts in (extras or {}).items():
        groups.setdefault(label, []).extend(texts)
    shown = [label for label in _ORDER if groups.get(label)]
    if not shown:
        return ""
    body = "\n".join(f"[{label}]\n" + "\n".join(groups[label]) for label in shown)
    head = f"{PREAMBLE}\n{LEGEND}" if first_turn else PREAMBLE
    return f"{FENCE_OPEN}\n{head}\n{body}\n{FENCE_CLOSE}"


def day_of(seconds: float) -> str:
    """The UTC day, ISO 8601."""
    return time.strftime("%Y-%m-%d", time.gmtime(max(seconds, 0.0)))


def _indented(text: str) -> str:
    """Further lines of a quoted text are set in, so that none can pass for a line or a label of the block."""
    return "\n  ".join(text.splitlines())


def one_line(text: str) -> str:
    """A title on one line, short enough for an attribution."""
    name = " ".join(text.split())
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"


def _attribution(passage: Passage) -> str:
    if passage.layer is Layer.SESSIONS:
        return _SAID.get(passage.author, "said")
    if passage.layer in (Layer.VECTORS, Layer.WIKI):
        return f"from {one_line(passage.title) or one_line(passage.source.removeprefix('document:'))}"
    if passage.layer is Layer.FABRIC:
        title = one_line(passage.title) if passage.title != passage.text else ""
        return f"{one_line(passage.kind) or 'note'}{f' ({title})' if title else ''}"
    return _NOTED.get(passage.author, "noted")
