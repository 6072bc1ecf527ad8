"""Which tool calls look something up in what memory-os also recalls, and what they ask. Pure, any argument of any type.

A call that writes, runs or deletes is never one, whatever else it does. Tools are known by name, also with a prefix or a
suffix of the user's (`mcp_home_qdrant_search`, `session_search_v2`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from memory_os.text import plain_text

# Tools that ask a memory, ours and the host's.
MEMORY_TOOLS = frozenset(
    {"session_search", "fabric_recall", "fabric_search", "qdrant_search", "peer_search", "memory_search", "fact_store"}
)
FILE_TOOLS = frozenset({"read_file", "search_files"})
TERMINAL_TOOLS = frozenset({"terminal", "execute_code", "process", "shell", "bash"})
READING_ACTIONS = frozenset({"", "search", "probe", "related", "reason", "list"})
_QUESTION_KEYS = ("query", "q", "question", "text", "pattern", "entity", "entities", "search", "keywords", "content")
_AFTER_KEYS = ("after", "since", "newer_than")
_READ_MAX_CHARS = 4000

# Files and databases that hold what memory-os recalls, by name, wherever they lie.
_MEMORY_FILES = ("memory.md", "user.md", "creative.md")
_DATABASES = ("memory.db", "state.db", "memory_store.db")
_QDRANT = re.compile(r"(?::633[34]\b|/collections/[\w.-]+|qdrant)", re.IGNORECASE)
_QDRANT_READ = re.compile(r"/points/(?:search|query|scroll|recommend|discover)|/facet\b", re.IGNORECASE)
_FETCHERS = frozenset({"curl", "wget", "http", "https", "xh"})
_READERS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ack", "cat", "bat", "head", "tail", "less", "more", "sed", "awk", "find",
     "fd", "strings", "zgrep", "nl"}
)  # fmt: skip
_PATTERN_READERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "find", "fd"})
_STATE_COMMANDS = frozenset({"ls", "stat", "wc", "du", "df", "file", "md5sum", "sha256sum", "tree"})
_ACTS = re.compile(
    r"(?:^|[\s;|&(])(?:rm|mv|cp|tee|dd|truncate|chmod|chown|touch|mkdir|ln|kill|pkill|systemctl|git|apt|pip|npm|docker)\s"
    r"|(?<![0-9&>])>{1,2}(?![&>])(?!\s*/dev/null)|\bsed\b[^|;]*\s-i|-exec\b|-delete\b"
    r"|-X\s*(?:PUT|DELETE|PATCH)|--request[= ](?:PUT|DELETE|PATCH)"
    r"|\b(?:insert\s+into|update\s+\w+\s+set|delete\s+from|drop\s+table|create\s+table|alter\s+table|vacuum)\b",
    re.IGNORECASE,
)
_SQL_STATE = re.compile(r"\bpragma\b|\bcount\s*\(|\.(?:tables|schema|dbinfo)\b|\bsqlite_master\b", re.IGNORECASE)
_SQL_TEXT = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"|\bmatch\s+(\S+)", re.IGNORECASE)
_JSON_TEXT = re.compile(r"\"(?:query|text|value|match|q)\"\s*:\s*\"([^\"]{1,500})\"")
_SPLIT = re.compile(r"\|\||&&|[;|\n]")


@dataclass(frozen=True, slots=True)
class Call:
    """A look-up. `kind`: memory (a tool that searches), file, terminal, or state (asks what is so now). `paths` are the
    files it reads; `after` is true when it asks only for what is newer than some time."""

    kind: str
    tool: str
    question: str
    paths: tuple[str, ...] = ()
    after: bool = False
    extra: str = ""

    @property
    def key(self) -> str:
        """The same for a call that is made again."""
        return json.dumps([self.tool, self.question, self.paths, self.extra], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Places:
    """Folders whose files are memory (vault, fabric, memories), and addresses of a Qdrant of ours."""

    folders: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    def holds(self, path: str) -> bool:
        """Whether a path as a tool was given it names a memory file. By its parts: `/wiki-evil` is not inside `/wiki`."""
        clean = path.strip().strip("'\"").replace("$HOME", "~")
        if not clean:
            return False
        parts = PurePath(clean)
        if parts.name.lower() in (*_MEMORY_FILES, *_DATABASES):
            return True
        return any(_inside(clean, folder) for folder in self.folders)


def look_up(tool: str, arguments: object, places: Places) -> Call | None:
    """The look-up that a tool call is, or None. Never raises."""
    name = _known_name(plain_text(tool))
    given: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}
    if name in MEMORY_TOOLS:
        return _memory_call(name, given)
    if name in FILE_TOOLS:
        return _file_call(name, given, places)
    if name in TERMINAL_TOOLS:
        command = plain_text(next((given[key] for key in ("command", "code", "cmd", "input") if given.get(key)), ""))
        return _terminal_call(name, command[:_READ_MAX_CHARS], places)
    return None


def _known_name(tool: str) -> str:
    folded = tool.strip().casefold().replace("-", "_").replace(".", "_").replace("/", "_").replace(":", "_")
    known = (*MEMORY_TOOLS, *FILE_TOOLS, *TERMINAL_TOOLS)
    if folded in known:
        return folded
    longest = sorted((name for name in (*MEMORY_TOOLS, *FILE_TOOLS) if name in folded), key=len)
    return longest[-1] if longest and re.search(rf"(?:^|_){longest[-1]}(?:$|_)", folded) else ""


def _memory_call(name: str, given: Mapping[str, Any]) -> Call | None:
    if name == "fact_store" and plain_text(given.get("action")).casefold() not in READING_ACTIONS:
        return None
    keys = _QUESTION_KEYS if name != "fact_store" else tuple(key for key in _QUESTION_KEYS if key != "content")
    question = " ".join(_texts(given[key] for key in keys if given.get(key)))
    after = any(given.get(key) for key in _AFTER_KEYS) or plain_text(given.get("sort")).casefold() in ("newest", "recent")
    extra = " ".join(f"{key}={plain_text(given[key])[:200]}" for key in sorted(map(str, given)) if key not in keys and key in given)
    return Call("memory", name, question[:_READ_MAX_CHARS], after=after, extra=extra)


def _file_call(name: str, given: Mapping[str, Any], places: Places) -> Call | None:
    path = plain_text(given.get("path") or given.get("file_path") or given.get("file") or given.get("directory"))
    if not places.holds(path[:_READ_MAX_CHARS]):
        return None
    pattern = plain_text(given.get("pattern") or given.get("query") or given.get("regex"))
    question = _words(pattern) if name == "search_files" else _name_of(path)
    extra = " ".join(f"{key}={plain_text(given[key])[:200]}" for key in ("offset", "limit", "target") if given.get(key))
    return Call("file", name, question[:_READ_MAX_CHARS], (path[:_READ_MAX_CHARS],), extra=extra)


def _terminal_call(name: str, command: str, places: Places) -> Call | None:
    if not command or _ACTS.search(command):
        return None
    if _touches_database(command):
        kind = "state" if _SQL_STATE.search(command) else "terminal"
        return Call(kind, name, _words(" ".join(_sql_texts(command))), extra=command)
    for part in _SPLIT.split(command):
        found = _simple_command(name, part, command, places)
        if found is not None:
            return found
    return None


def _simple_command(name: str, part: str, command: str, places: Places) -> Call | None:
    words = _shell_words(part)
    program = PurePath(words[0]).name if words else ""
    if program in _FETCHERS and _asks_qdrant(part, places):
        kind = "terminal" if _QDRANT_READ.search(part) else "state"
        return Call(kind, name, " ".join(_JSON_TEXT.findall(command)), extra=command)
    if program == "memory-os" and words[1:2] and words[1] in ("recall", "facts", "fabric"):
        asked = [word for word in words[2:] if not word.startswith("-") and word not in READING_ACTIONS]
        return Call("terminal", name, " ".join(asked), extra=command)
    paths = tuple(word for word in words[1:] if places.holds(word))
    if not paths:
        return None
    if program in _STATE_COMMANDS or (program == "tail" and "-f" in words[1:]):
        return Call("state", name, "", paths, extra=command)
    if program not in _READERS:
        return None
    if program in _PATTERN_READERS:
        asked = [word for word in words[1:] if word not in paths and not word.startswith("-")]
        return Call("terminal", name, _words(" ".join(asked)), paths, extra=command)
    return Call("terminal", name, " ".join(_name_of(path) for path in paths), paths, extra=command)


def _touches_database(command: str) -> bool:
    return "sqlite" in command.casefold() and any(name in command for name in _DATABASES)


def _asks_qdrant(part: str, places: Places) -> bool:
    return bool(_QDRANT.search(part)) or any(address and address in part for address in places.addresses)


def _sql_texts(command: str) -> Iterable[str]:
    """What a statement compares with: its quoted strings, without the statement itself."""
    for match in _SQL_TEXT.finditer(command):
        text = next(group for group in match.groups() if group is not None)
        if re.match(r"\s*select\b", text, re.IGNORECASE):
            yield from _sql_texts(text)
        elif not any(name in text for name in _DATABASES):
            yield text


def _shell_words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()


def _words(pattern: str) -> str:
    """A search pattern as words: wildcards and regular expression marks are no terms."""
    return re.sub(r"[%*?^$()\[\]{}|\\+]|\.\*", " ", pattern).strip()


def _name_of(path: str) -> str:
    return re.sub(r"[-_.]+", " ", PurePath(path.strip().strip("'\"")).stem)


def _inside(path: str, folder: str) -> bool:
    one, other = PurePath(path).parts, PurePath(folder).parts
    if len(other) and one[: len(other)] == other:
        return ".." not in one
    # A relative or `~` path: by the folder's own name and the one above it.
    tail = other[-2:]
    return len(tail) == 2 and ".." not in one and any(one[at : at + 2] == tail for at in range(len(one)))


def _texts(values: Iterable[object]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            found += _texts(value)
        else:
            text = plain_text(value)
            found += [text] if text else []
    return found
