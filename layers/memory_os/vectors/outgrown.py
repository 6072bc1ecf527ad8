"""When a memory has outgrown the vector engine in this process: said in `status`, with what then."""

from __future__ import annotations

__all__ = ["outgrown"]

# The engine in process compares a question with every point, so its part of a recall grows in a straight line. Below so many
# passages a slow recall has another reason; a tenth of a second is what a person begins to notice.
_FROM_PASSAGES = 50_000
_FROM_P95_MS = 100.0


def outgrown(passages: int, p95_ms: float, qdrant_url: str) -> str:
    """A note for `status`, or empty: nothing is outgrown, or the vectors are on a server already."""
    if qdrant_url or passages < _FROM_PASSAGES or p95_ms <= _FROM_P95_MS:
        return ""
    return (
        f"recall takes {p95_ms:.0f} ms (p95) over {passages:,} passages: a Qdrant server searches by an index"
        " instead of comparing all of them; see docs/scale.md"
    )
