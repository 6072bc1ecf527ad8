"""Layer 1: the files in `$HERMES_HOME/memories`. MEMORY.md and USER.md are only read; CREATIVE.md is ours.

Hermes puts the first two into the system prompt itself. CREATIVE.md reaches the model through the block of a first
turn, and by recall.
"""

from __future__ import annotations

import calendar
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from memory_os import constants
from memory_os.atomic import write_whole
from memory_os.config import Settings
from memory_os.errors import BadRequest, HostError
from memory_os.index import Index
from memory_os.memory import Author, Health, Layer, Passage, Scope, State, content_hash
from memory_os.redact import redact
from memory_os.sessions.cleaning import storable
from memory_os.store import Store
from memory_os.text.fence import strip_fence
from memory_os.tooling import Caller
from memory_os.workspace.creative import (
    LEARNINGS,
    QUESTIONS,
    TEMPLATE,
    Creative,
    Item,
    parse,
    with_cycles,
    with_item,
    without_item,
)

__all__ = ["Creative", "Item", "Workspace", "entries_of"]

# The host's files, and the switch in its config.yaml under `memory:` that puts each into the prompt.
HOST_FILES = {"MEMORY.md": "memory_enabled", "USER.md": "user_profile_enabled"}
CREATIVE_FILE = "CREATIVE.md"
CREATIVE_SOURCE = "workspace:creative"
_SEPARATOR = "\n§\n"

# What a first turn is given of it: the newest lines, short enough that the block keeps room for memories.
FIRST_LEARNINGS, FIRST_QUESTIONS = 5, 3
LINE_CHARS = 300
# A short text is contained in many entries by chance; only from this length on does being part of one say anything.
_CONTAINED_CHARS = 12
_LOCK_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class _Cached:
    stamp: tuple[int, int]
    value: Any


class Workspace:
    """Thread-safe; files are read again when their time or size changes."""

    def __init__(self, settings: Settings, store: Store, index: Index) -> None:
        self.settings = settings
        self.store = store
        self.index = index
        # CREATIVE.md belongs to the person at this machine: its lines come from their sessions.
        self.scope = Scope(profile=settings.profile)
        self._folder = settings.memories_dir
        self._cache: dict[Path, _Cached] = {}
        self._lock = threading.Lock()

    # -- the host's files ------------------------------------------------------------------------------------------

    def in_prompt(self, text: str) -> bool:
        """Whether this text stands in MEMORY.md or USER.md as Hermes puts them into every prompt."""
        enabled = self._enabled()
        return any(enabled[name] for name in self.in_files(text))

    def in_files(self, text: str) -> list[str]:
        """Which of the host's files hold this text, as an entry or as a part of one."""
        wanted = _normal(text)
        return [name for name in HOST_FILES if any(_says(entry, wanted) for entry in self._entries(name))]

    def entries(self) -> list[str]:
        """The entries of both files, folded: what the host tells the model anyway."""
        return [entry for name in HOST_FILES for entry in self._entries(name)]

    def _entries(self, name: str) -> list[str]:
        try:
            entries: list[str] | None = self._read(self._folder / name, _normal_entries)
        except HostError as error:
            self.store.count("workspace_unreadable", reason=error.message)
            return []
        return entries or []

    def _enabled(self) -> dict[str, bool]:
        """Which files the host puts into the prompt; both, when its configuration can't be read."""
        try:
            memory = self._read(self.settings.hermes_home / "config.yaml", _memory_section) or {}
        except HostError:
            memory = {}
        return {name: memory.get(switch, True) is not False for name, switch in HOST_FILES.items()}

    # -- CREATIVE.md -----------------------------------------------------------------------------------------------

    def creative(self) -> Creative:
        """What CREATIVE.md says; empty when there is none. Raises HostError if it can't be read."""
        return self._read(self._creative_path, parse) or Creative()

    def learn(self, text: str, now: float) -> bool:
        """Add a learning. False when it already stands there. Raises BadRequest (empty) or HostError."""
        return self._change(lambda old: with_item(old, LEARNINGS, _new_item(text, now)))

    def ask(self, text: str, now: float) -> bool:
        """Add an open question. False when it already stands there. Raises BadRequest (empty) or HostError."""
        return self._change(lambda old: with_item(old, QUESTIONS, _new_item(text, now)))

    def drop(self, text: str) -> bool:
        """Remove a learning, or a question that was answered. False when no line says this. Raises HostError."""
        return self._creative_path.exists() and self._change(lambda old: without_item(old, text))

    def count_cycle(self) -> int:
        """Count one more time that a session left something here. Returns the new count. Raises HostError."""
        self._change(lambda old: with_cycles(old, parse(old).cycles + 1))
        return self.creative().cycles

    def first_turn_lines(self, caller: Caller) -> list[str]:
        """What a new session of the person at this machine starts with; nothing for any other sender."""
        if caller.scope != self.scope:
            return []
        return [_line(passage) for passage in self.refresh()]

    def refresh(self) -> list[Passage]:
        """Bring CREATIVE.md into the index. Returns the newest learnings, then the newest questions, of a first turn."""
        try:
            creative = self.creative()
        except HostError as error:
            self.store.count("workspace_unreadable", reason=error.message)
            return []
        learnings = [self._passage("learning", item) for item in creative.learnings]
        questions = [self._passage("open question", item) for item in creative.questions]
        wanted = {passage.id: passage for passage in (*learnings, *questions)}
        held = self.index.of_source(CREATIVE_SOURCE)
        if {one.id: one.created_at for one in held} != {one.id: one.created_at for one in wanted.values()}:
            self.index.replace(CREATIVE_SOURCE, list(wanted.values()))
        return [*learnings[-FIRST_LEARNINGS:], *questions[-FIRST_QUESTIONS:]]

    def lines(self) -> list[str]:
        """What CREATIVE.md says, as it is indexed."""
        return [one.text for one in self.index.of_source(CREATIVE_SOURCE)]

    def passage_of(self, text: str) -> Passage | None:
        """The indexed line of CREATIVE.md that says this text."""
        wanted = _normal(text)
        return next((one for one in self.index.of_source(CREATIVE_SOURCE) if _normal(one.text) == wanted), None)

    def _passage(self, kind: str, item: Item) -> Passage:
        text, _ = redact(storable(strip_fence(item.text)))
        return Passage(
            layer=Layer.WORKSPACE, source=CREATIVE_SOURCE, text=text, scope=self.scope.key, author=Author.AGENT, kind=kind,
            ordinal=_ordinal(kind, text), created_at=_seconds(item.day),
        )  # fmt: skip

    @property
    def _creative_path(self) -> Path:
        return self._folder / CREATIVE_FILE

    def _change(self, change: Callable[[str], str]) -> bool:
        """Read, change and replace CREATIVE.md under a lock that all our processes take. False: nothing changed."""
        path = self._creative_path
        lock = self.settings.run_dir / "creative.lock"
        try:
            lock.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
            with FileLock(lock, timeout=_LOCK_TIMEOUT_S):
                old = _text_of(path) if path.exists() else TEMPLATE
                new = change(old)
                if new == old and path.exists():
                    return False
                _replace(path, new)
        except Timeout as error:
            raise HostError(f"{path} is being written by another process.", cure="Try again.") from error
        except OSError as error:
            raise HostError(f"{path} can't be written: {error.strerror}.", cure="Check its owner and mode.") from error
        self.refresh()
        return True

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self, path: Path, parse_text: Callable[[str], Any]) -> Any:
        """The parsed file, cached until it changes; None when it doesn't exist. Raises HostError."""
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            with self._lock:
                cached = self._cache.get(path)
            if cached is not None and cached.stamp == stamp:
                return cached.value
            value = parse_text(_text_of(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HostError(f"{path} can't be read: {error.strerror}.", cure="Check its owner and mode.") from error
        with self._lock:
            self._cache[path] = _Cached(stamp, value)
        return value

    def health(self) -> Health:
        """Degraded when a file is there and can't be read."""
        figures: dict[str, float | int | str] = {}
        try:
            for name in HOST_FILES:
                figures[name] = len(self._read(self._folder / name, _normal_entries) or [])
            creative = self.creative()
        except HostError as error:
            return Health(State.DEGRADED, error.message, error.cure, figures)
        figures |= {"learnings": len(creative.learnings), "questions": len(creative.questions), "cycles": creative.cycles}
        if not any(figures.values()):
            return Health(State.EMPTY, "no entries yet", figures=figures)
        return Health(State.OK, ", ".join(f"{name} {count}" for name, count in figures.items()), figures=figures)


def entries_of(text: str) -> list[str]:
    """The entries of MEMORY.md or USER.md, stripped, empty ones left out."""
    parts = text.removeprefix("\ufeff").replace("\r\n", "\n").split(_SEPARATOR)
    return [part.strip() for part in parts if part.strip()]


def _normal_entries(text: str) -> list[str]:
    return [_normal(entry) for entry in entries_of(text)]


def _says(entry: str, wanted: str) -> bool:
    return bool(wanted) and (entry == wanted or (len(wanted) >= _CONTAINED_CHARS and wanted in entry))


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".。")


def _memory_section(text: str) -> dict[str, Any]:
    try:
        loaded = YAML(typ="safe").load(text)
    except (YAMLError, ValueError):
        return {}
    section = loaded.get("memory") if isinstance(loaded, dict) else None
    return section if isinstance(section, dict) else {}


def _new_item(text: str, now: float) -> Item:
    clean = " ".join(redact(storable(strip_fence(text)))[0].split())
    if not clean:
        raise BadRequest("A line of CREATIVE.md needs words.")
    return Item(clean, time.strftime("%Y-%m-%d", time.gmtime(now)))


def _line(passage: Passage) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(passage.created_at))
    dated = f"{day}, {passage.kind}" if passage.created_at > 1 else passage.kind
    words = " ".join(passage.text.split())
    return f'- ({passage.handle}) {dated}: "{words[:LINE_CHARS]}{"…" if len(words) > LINE_CHARS else ""}"'


def _ordinal(kind: str, text: str) -> int:
    """A line's number is made from its words: lines before it may come and go, and its handle stays."""
    return int(content_hash(f"{kind}\n{_normal(text)}")[:12], 16)


def _seconds(day: str) -> float:
    """Noon UTC of an ISO day; 1.0 (unknown, long ago) without one, so that the same line stays the same passage."""
    try:
        return float(calendar.timegm(time.strptime(f"{day} 12", "%Y-%m-%d %H")))
    except (ValueError, OverflowError):
        return 1.0


def _text_of(path: Path) -> str:
    """Bytes that are no UTF-8 survive the way there and back."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _replace(path: Path, text: str) -> None:
    """A link stays a link, and the file keeps its mode."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
    write_whole(target, text.encode("utf-8", "surrogateescape"))
