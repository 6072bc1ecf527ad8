"""Real documentation that comes with whatever is installed here: Markdown files, package descriptions, Python's own topics."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

# A changelog of a hundred pages would be half of the work.
_LARGEST = 12_000
_PLACES = (Path(sys.prefix), Path(sys.base_prefix), Path("/usr/share/doc"), Path(__file__).parents[2] / "docs")


def real_files(count: int) -> dict[str, str]:
    """So many different texts by file name, Markdown files first; the same ones on every call."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for name, text in _texts():
        digest = hashlib.sha256(text.encode()).hexdigest()
        if 400 < len(text) < _LARGEST and digest not in seen:
            seen.add(digest)
            found[f"{len(found):03d}-{name}"] = text
        if len(found) == count:
            return found
    raise LookupError(f"only {len(found)} texts of documentation on this machine")


def _texts() -> Iterator[tuple[str, str]]:
    for place in _PLACES:
        for path in sorted(place.rglob("*.md")):
            try:
                yield path.name, path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
    for one in sorted(importlib.metadata.distributions(), key=lambda one: one.name):
        kind = str(one.metadata.json.get("description_content_type", ""))
        text = one.read_text("METADATA") or ""
        yield f"{one.name}.{'md' if 'markdown' in kind else 'rst'}", text.partition("\n\n")[2]
    for name, text in sorted(topics.items()):
        yield f"{name}.rst", text
