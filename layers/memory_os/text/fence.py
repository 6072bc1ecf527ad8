"""Our own block, taken out of texts again: what was recalled must not be captured as if it had been said."""

from __future__ import annotations

import re

# The fence is `constants.FENCE_OPEN` … `FENCE_CLOSE`; models add spaces, change case or escape it.
_OPEN = re.compile(r"(?i)(?:<|&lt;)\s{0,4}memory-context\s{0,4}(?:>|&gt;)")
_CLOSE = re.compile(r"(?i)(?:<|&lt;)\s{0,4}/\s{0,4}memory-context\s{0,4}(?:>|&gt;)")
# A line as the block renders it: `- (f:abcdefgh) 2026-11-02, agent noted: "…"`. Shows an echo without its fence.
_LINE = re.compile(r"(?m)^[ \t]{0,8}(?:[-*>][ \t]{0,4}){0,3}\((?:[wfsbd]):[a-z2-7]{8}\)[ \t][^\n]*\n?")
_PREAMBLE = re.compile(r"(?m)^[ \t]{0,8}Recalled by memory-os; quoted records of earlier conversations[^\n]*\n?")
_LEGEND = re.compile(r"(?m)^[ \t]{0,8}Labels: \[facts\] with their trust, \[fabric\][^\n]*\n?")
_LABEL = re.compile(r"(?m)^[ \t]{0,8}\[(?:facts|fabric|sessions|qdrant|workspace|pending)\][ \t]*\n?")
_BLANK_LINES = re.compile(r"\n{3,}")


def strip_fence(text: str) -> str:
    """`text` without our blocks: closed or not, HTML-escaped or not, and without single lines echoed from one.

    A block that never closes ends at the next blank line, so a stray tag can't swallow a whole message.
    """
    lowered = text.lower()
    if "memory-context" in lowered:
        text = _without_blocks(text)
    if not (_LINE.search(text) or _PREAMBLE.search(text)):
        return text if "memory-context" not in lowered else _tidied(text)
    return _tidied(_LABEL.sub("", _PREAMBLE.sub("", _LEGEND.sub("", _LINE.sub("", text)))))


def _without_blocks(text: str) -> str:
    pieces: list[str] = []
    position = 0
    closes = [match.span() for match in _CLOSE.finditer(text)]
    next_close = 0
    for opening in _OPEN.finditer(text):
        if opening.start() < position:
            continue
        while next_close < len(closes) and closes[next_close][0] < opening.end():
            next_close += 1
        pieces.append(text[position : opening.start()])
        if next_close < len(closes):
            position = closes[next_close][1]
        else:
            blank = text.find("\n\n", opening.end())
            position = len(text) if blank < 0 else blank
    return _CLOSE.sub("", "".join(pieces) + text[position:])


def _tidied(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", text).strip()
