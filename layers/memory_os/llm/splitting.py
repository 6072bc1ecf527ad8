"""Messages too long for a model, cut into questions that fit. Pure, but for asking them.

System messages go with every part. What is cut is the longest other message, at the coarsest boundary that serves:
paragraphs, lines, sentences, and only then characters. Put together, the parts say what the message said.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from memory_os.errors import ContextTooLong
from memory_os.llm.messages import Answer, Message, Request
from memory_os.text import token_estimate

# What a chat format adds to each message.
MESSAGE_TOKENS = 4
# A part smaller than this holds too little to be understood.
SMALLEST = 64
_BOUNDARIES = (
    re.compile(r"(?<=\n\n)"),
    re.compile(r"(?<=\n)"),
    re.compile(r"(?<=[.!?…。！？؟])\s*"),
    re.compile(r"(?<=\s)"),
)


def tokens_of(messages: Sequence[Message]) -> int:
    """An estimate of what the messages take, within about 20 %."""
    return sum(token_estimate(one.content) + MESSAGE_TOKENS for one in messages)


def split_messages(messages: Sequence[Message], limit: int) -> list[list[Message]]:
    """The same question about parts of its longest message, each within `limit` tokens; one list if all fits.

    Raises ContextTooLong when the other messages leave no room for a part.
    """
    if tokens_of(messages) <= limit:
        return [list(messages)]
    candidates = [index for index, one in enumerate(messages) if one.role != "system"]
    if not candidates:
        raise ContextTooLong("The instructions alone are too long for the model.", limit=limit)
    longest = max(candidates, key=lambda index: token_estimate(messages[index].content))
    others = [*messages[:longest], *messages[longest + 1 :]]
    room = limit - tokens_of(others) - MESSAGE_TOKENS
    if room < SMALLEST:
        raise ContextTooLong("What goes with each part leaves no room for the parts.", limit=limit)
    parts = split_text(messages[longest].content, room)
    return [
        [replace(one, content=part) if index == longest else one for index, one in enumerate(messages)]
        for part in parts
    ]


def split_text(text: str, limit: int, level: int = 0) -> list[str]:
    """Consecutive parts of `text`, each within `limit` tokens (at least one character), that join to it."""
    if token_estimate(text) <= limit:
        return [text] if text else []
    if level == len(_BOUNDARIES):
        return _by_characters(text, limit)
    parts: list[str] = []
    current, bound = "", 0
    for piece in _pieces(text, level):
        # Estimates of pieces add up to a little more than that of the whole, which is taken anew only where it counts.
        bound += token_estimate(piece)
        if bound > limit:
            bound = token_estimate(current + piece)
        if bound <= limit:
            current += piece
            continue
        *whole, current = [*([current] if current else []), *split_text(piece, limit, level + 1)]
        parts += whole
        bound = token_estimate(current)
    return [*parts, current] if current else parts


async def ask_in_parts(ask: Callable[[Request], Awaitable[Answer]], request: Request, limit: int) -> list[Answer]:
    """Ask; where that is too long, ask about each part, and give all answers for the caller to merge.

    `limit`: tokens that fit; a lower one that the provider names is used instead. Raises what `ask` raises.
    """
    try:
        return [await ask(request)]
    except ContextTooLong as error:
        fits = min(limit, error.limit) if error.limit else limit
        # Estimates are off by up to a fifth; what was refused once must become smaller in any case.
        fits = min(int(fits * 0.8), int(tokens_of(request.messages) * 0.6))
        answers: list[Answer] = []
        for part in split_messages(request.messages, fits):
            answers += await ask_in_parts(ask, replace(request, messages=part), fits)
        return answers


def _pieces(text: str, level: int) -> list[str]:
    """`text` cut at every boundary of a level; joined they are the text."""
    ends = [match.end() for match in _BOUNDARIES[level].finditer(text)]
    starts = [0, *ends]
    return [piece for start, end in zip(starts, [*ends, len(text)], strict=True) if (piece := text[start:end])]


def _by_characters(text: str, limit: int) -> list[str]:
    # No script takes more than a token a character by the estimate.
    size = max(1, limit - 1)
    return [text[start : start + size] for start in range(0, len(text), size)]
