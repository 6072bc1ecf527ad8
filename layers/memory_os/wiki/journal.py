"""log.md: one line a curated file, appended once; a full one moves to `_archive/`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from memory_os.wiki.curated import Curated
from memory_os.wiki.page import wikilink
from memory_os.wiki.tree import ARCHIVE, LOG, RAW, Tree

__all__ = ["LOG_MAX_LINES", "append", "current_lines", "ensure", "entry", "is_full", "rotate"]

# About a year of a file a day; an editor opens it at once, and a search in it is one look.
LOG_MAX_LINES = 400
_HEAD = "# Log\n\nWhat curation did, newest last. Full logs are in `_archive/`.\n\n"


def append(tree: Tree, mark: str, text: str, now: float) -> bool:
    """Add a line, unless one with this mark stands there. `mark`: short, without spaces. Returns whether it was added."""
    with tree.lock(LOG):
        current = tree.read(LOG)
        if f"({mark})" in (current or "") or (not current_lines(current) and _in_newest_archive(tree, mark)):
            return False
        if is_full(current):
            _rotate(tree, now)
            current = None
        body = current if current and current.strip() else _HEAD
        tree.write(LOG, f"{body.rstrip()}\n{'' if current_lines(body) else chr(10)}- {_stamp(now)} ({mark}) {text}\n")
    return True


def ensure(tree: Tree) -> None:
    """An empty log where there is none."""
    with tree.lock(LOG):
        if tree.read(LOG) is None:
            tree.write(LOG, _HEAD)


def entry(outcome: Curated, titles: Mapping[str, str]) -> str:
    """What the log says of one file."""

    def listed(word: str, paths: list[str]) -> list[str]:
        stems = [path.rpartition("/")[2].removesuffix(".md") for path in paths]
        return [f"{word} {', '.join(wikilink(one, titles.get(one, one)) for one in stems)}"] if paths else []

    done = [
        *listed("made", outcome.created),
        *listed("added to", outcome.merged),
        *listed("proposed to", outcome.proposed),
        *([f"{outcome.contradictions} contradictions"] if outcome.contradictions else []),
        *([outcome.reason] if outcome.reason else []),
    ]
    return f"{RAW}/{outcome.raw}: {'; '.join(done) or 'nothing to write'}"


def is_full(text: str | None) -> bool:
    return len(current_lines(text)) >= LOG_MAX_LINES


def current_lines(text: str | None) -> list[str]:
    return [line for line in (text or "").splitlines() if line.startswith("- ")]


def rotate(tree: Tree, now: float) -> str:
    """Move a full log.md away. Returns where, or "" if it isn't full."""
    with tree.lock(LOG):
        return _rotate(tree, now) if is_full(tree.read(LOG)) else ""


def _rotate(tree: Tree, now: float) -> str:
    day = _stamp(now)[:10]
    number = 1
    while (tree.root / (path := f"{ARCHIVE}/log-{day}-{number:02d}.md")).exists():
        number += 1
    tree.move(LOG, path)
    # A log is always there; a process killed before this line leaves its making to the next entry.
    tree.write(LOG, _HEAD)
    return path


def _in_newest_archive(tree: Tree, mark: str) -> bool:
    archived = sorted((tree.root / ARCHIVE).glob("log-*.md"))
    return bool(archived) and f"({mark})" in (tree.read(f"{ARCHIVE}/{archived[-1].name}") or "")


def _stamp(now: float) -> str:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%d %H:%M")
