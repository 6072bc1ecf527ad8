"""A text as blocks: headings, paragraphs, lists, tables and code, each a verbatim run of its lines.

Markdown (and what HTML was turned into), reStructuredText and Org are told apart only by how they write a heading, a table
and a code block; source code, data and logs have blocks between blank lines and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Block", "Kind", "Syntax", "blocks_of", "table_head"]


class Syntax(StrEnum):
    MARKDOWN = "markdown"
    RST = "rst"
    ORG = "org"
    PLAIN = "plain"  # prose, logs, data and code without marks of their own
    ROWS = "rows"  # a line is a record, the first one names the columns


class Kind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is verbatim, without the blank lines around it. A heading has a `level` from 1 and its bare `heading`."""

    kind: Kind
    text: str
    level: int = 0
    heading: str = ""


# (level, bare heading, lines it takes), or None where no heading starts.
_Found = tuple[int, str, int] | None

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_ORG_HEADING = re.compile(r"(\*+)[ \t]+(.*)$")
_RST_LINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\S")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Between a table's header and its rows: Markdown's delimiters, or a border of a grid.
_DELIMITERS = re.compile(r"(?=.*\|)[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*$")
_COLUMNS = re.compile(r"[ \t]*+=++(?:[ \t]++=++)++[ \t]*+$")
_UNDER_HEAD = re.compile(r"[ \t]*\+(?:=+\+)+[ \t]*$")
# A header of more lines is none to repeat.
_HEAD_LINES = 6
# Directives whose content is verbatim; that of others (a note, a figure) is prose.
_LITERAL = re.compile(r"[ \t]*\.\. (?:code|code-block|sourcecode|parsed-literal|prompt|testcode|doctest|ipython|math)::")
_DIRECTIVE = re.compile(r"[ \t]*\.\.(?:[ \t]|$)")
_ORG_BEGIN = re.compile(r"[ \t]*#\+begin_(\w+)", re.IGNORECASE)


def blocks_of(text: str, syntax: Syntax) -> list[Block]:
    """The blocks in order. Together they hold every character of `text` that is not white space."""
    lines = text.split("\n")
    if syntax is Syntax.ROWS:
        return [Block(Kind.CODE, line) for line in lines if line.strip()]
    reader = _Reader(lines, syntax)
    return list(reader.read())


def table_head(text: str) -> str:
    """The header of a table and the line below it, each with its end; "" if nothing tells its header from its rows."""
    lines = text.split("\n")[: _HEAD_LINES + 1]
    if len(lines) > 2 and _COLUMNS.match(lines[0]):
        end = next((at for at in range(1, len(lines)) if _COLUMNS.match(lines[at])), 0)
    elif _GRID.match(lines[0]):
        end = next((at for at in range(1, len(lines)) if _UNDER_HEAD.match(lines[at])), 0)
    else:
        end = 1 if len(lines) > 1 and _DELIMITERS.match(lines[1]) else 0
    return "".join(f"{line}\n" for line in lines[: end + 1]) if end else ""


class _Reader:
    """One pass over the lines."""

    def __init__(self, lines: list[str], syntax: Syntax) -> None:
        self.lines = lines
        self.syntax = syntax
        self.at = 0
        self.rst_levels: dict[str, int] = {}

    def read(self) -> list[Block]:
        found: list[Block] = []
        while self.at < len(self.lines):
            if not self.lines[self.at].strip():
                self.at += 1
                continue
            found.append(self._next())
        return found

    def _next(self) -> Block:
        if self.syntax is Syntax.PLAIN:
            return self._take(Kind.CODE, self._run(lambda _: False))
        heading = self._heading(self.at)
        if heading is not None:
            level, name, count = heading
            block = self._take(Kind.HEADING, self.at + count)
            return Block(block.kind, block.text, level, name)
        line = self.lines[self.at]
        end = self._code_end(line) or self._literal_end()
        if end:
            return self._take(Kind.CODE, end)
        if _ITEM.match(line):
            return self._take(Kind.LIST, self._list_end())
        if self._table_starts(self.at):
            return self._take(Kind.TABLE, self._run(lambda _: False))
        if line.lstrip().startswith("|"):
            return self._take(Kind.TABLE, self._run(lambda at: not self.lines[at].lstrip().startswith("|")))
        return self._take(Kind.PARAGRAPH, self._run(self._starts_something))

    def _take(self, kind: Kind, end: int) -> Block:
        text = "\n".join(self.lines[self.at : end]).rstrip()
        self.at = end
        return Block(kind, text)

    def _run(self, stops: Callable[[int], bool]) -> int:
        """Where the run that starts here ends: at a blank line or where `stops` says."""
        end = self.at + 1
        while end < len(self.lines) and self.lines[end].strip() and not stops(end):
            end += 1
        return end

    def _starts_something(self, at: int) -> bool:
        line = self.lines[at]
        opens = _ITEM.match(line) or self._opens_code(line) or self._heading(at) is not None
        return bool(opens or self._table_starts(at))

    def _table_starts(self, at: int) -> bool:
        """Whether a table with a header starts here: a row above delimiters, a grid, or columns between borders."""
        line, below = self.lines[at], self.lines[at + 1] if at + 1 < len(self.lines) else ""
        if "|" in line and _DELIMITERS.match(below):
            return True
        return bool(below.strip() and (_GRID.match(line) or (self.syntax is Syntax.RST and _COLUMNS.match(line))))

    def _list_end(self) -> int:
        """A list goes on over indented lines, and over one blank line if an item or an indented line follows."""
        end = self.at + 1
        while end < len(self.lines):
            line = self.lines[end]
            if not line.strip():
                following = self.lines[end + 1] if end + 1 < len(self.lines) else ""
                if not (_ITEM.match(following) or following.startswith(("  ", "\t"))):
                    break
            elif not line[0].isspace() and not _ITEM.match(line) and self._starts_something(end):
                break
            end += 1
        return end

    # -- code --------------------------------------------------------------------------------------------------------

    def _opens_code(self, line: str) -> bool:
        pattern = _ORG_BEGIN if self.syntax is Syntax.ORG else _FENCE
        return self.syntax is not Syntax.RST and bool(pattern.match(line))

    def _code_end(self, line: str) -> int:
        """The line after a code block that opens here, or 0. One that never closes goes to the end."""
        if not self._opens_code(line):
            return 0
        closes = _org_close(line) if self.syntax is Syntax.ORG else _fence_close(line)
        for at in range(self.at + 1, len(self.lines)):
            if closes.match(self.lines[at]):
                return at + 1
        return len(self.lines)

    def _literal_end(self) -> int:
        """The line after a literal block of reStructuredText that stands here: indented more than the `::` above it, over
        blank lines too. 0 if there is none."""
        above = next((at for at in range(self.at - 1, -1, -1) if self.lines[at].strip()), -1)
        opens = -1 if self.syntax is not Syntax.RST or above in (-1, self.at - 1) else self._announced(above)
        if opens < 0:
            return 0
        deep = _indent(self.lines[opens])
        end = 0
        for at in range(self.at, len(self.lines)):
            if self.lines[at].strip():
                if _indent(self.lines[at]) <= deep:
                    break
                end = at + 1
        return end

    def _announced(self, at: int) -> int:
        """The line that makes what is indented below `at` verbatim: it ends in `::`, or is a directive for code, whose
        options may stand between. -1 if there is none."""
        opens = at
        while opens and self.lines[opens].lstrip().startswith(":") and self.lines[opens - 1].strip():
            opens -= 1
        line = self.lines[opens]
        if _DIRECTIVE.match(line):
            return opens if _LITERAL.match(line) else -1
        return opens if opens == at and line.rstrip().endswith("::") else -1

    # -- headings ----------------------------------------------------------------------------------------------------

    def _heading(self, at: int) -> _Found:
        if self.syntax is Syntax.MARKDOWN:
            return self._markdown_heading(at)
        if self.syntax is Syntax.RST:
            return self._rst_heading(at)
        if self.syntax is Syntax.ORG and (match := _ORG_HEADING.match(self.lines[at])):
            return len(match.group(1)), match.group(2).strip(), 1
        return None

    def _markdown_heading(self, at: int) -> _Found:
        line = self.lines[at]
        if match := _ATX.match(line):
            return len(match.group(1)), line[match.end() :].strip().rstrip("#").rstrip(), 1
        # A setext heading is one line of text under a blank one: "---" below a paragraph or a list is a rule.
        alone = at == 0 or not self.lines[at - 1].strip()
        below = self.lines[at + 1] if at + 1 < len(self.lines) else ""
        if alone and (match := _SETEXT.match(below)) and not _ITEM.match(line) and not _SETEXT.match(line):
            return (1 if match.group(1)[0] == "=" else 2), line.strip(), 2
        return None

    def _rst_heading(self, at: int) -> _Found:
        """A line underlined by punctuation at least as long; levels in the order their marks first appear."""
        over = _RST_LINE.match(self.lines[at])
        name_at = at + 1 if over else at
        if name_at + 1 >= len(self.lines):
            return None
        name = self.lines[name_at].strip()
        under = _RST_LINE.match(self.lines[name_at + 1])
        if not name or under is None or _RST_LINE.match(self.lines[name_at]):
            return None
        if over and over.group(1) != under.group(1):
            return None
        mark = under.group(1) * (2 if over else 1)
        level = self.rst_levels.setdefault(mark, len(self.rst_levels) + 1)
        return level, name, 3 if over else 2


def _indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def _fence_close(line: str) -> re.Pattern[str]:
    match = _FENCE.match(line)
    mark = match.group(1) if match else "```"
    return re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")


def _org_close(line: str) -> re.Pattern[str]:
    match = _ORG_BEGIN.match(line)
    return re.compile(rf"[ \t]*#\+end_{re.escape(match.group(1) if match else '')}", re.IGNORECASE)
