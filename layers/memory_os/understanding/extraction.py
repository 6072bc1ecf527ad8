"""Turns go to a model, items come back: pure but for the question itself, so it runs in a worker as in the service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from memory_os.errors import ContextTooLong
from memory_os.llm import Answer, Request, tokens_of
from memory_os.text import token_estimate
from memory_os.understanding.items import Extraction
from memory_os.understanding.prompts import extraction_messages
from memory_os.understanding.reading import Read, Reading
from memory_os.understanding.transcript import Turn, batches, labelled, shortened, turn_of

OUTPUT_TOKENS = 3000
# The rules, the JSON schema of the answer and the known facts.
_OVERHEAD_TOKENS = 3500
# Estimates of tokens are off by up to a fifth.
_SAFETY = 0.8
_LEAST_TOKENS = 400
# Questions of one run over one session.
CALLS = 2

Ask = Callable[[Request], Awaitable[Answer]]
_KINDS = {
    "facts": "fact", "entries": "entry", "learnings": "learning", "questions": "question", "conclusions": "conclusion",
}  # fmt: skip


async def read(ask: Ask, reading: Reading, context_tokens: int) -> Read:
    """Ask about as many of the turns as two questions hold, the oldest first. Raises what a model raises.

    A question that failed leaves its own turns unread; those of the one before are in nobody's hands then, so the caller
    keeps nothing of a run that raises.
    """
    known = token_estimate("\n".join(reading.known))
    room = int((context_tokens - OUTPUT_TOKENS - _OVERHEAD_TOKENS - known) * _SAFETY)
    budget = max(min(reading.budget, room), _LEAST_TOKENS)
    done = Read(reading.scope, reading.session_id, facts=dict(reading.facts))
    for batch in batches(reading.turns, budget, CALLS):
        await _read_batch(ask, batch, reading.known, done)
    return done


async def _read_batch(ask: Ask, batch: Sequence[Turn], known: Sequence[str], done: Read) -> None:
    turns = labelled(batch)
    messages = extraction_messages(turns, known)
    request = Request(
        messages=messages, job="extraction", schema=Extraction, max_output_tokens=OUTPUT_TOKENS, cache=False
    )
    done.calls += 1
    try:
        answer = await ask(request)
    except ContextTooLong as error:
        for part in _smaller(batch, error.limit, tokens_of(messages)):
            await _read_batch(ask, part, known, done)
        return
    done.units += answer.units
    done.partial = done.partial or answer.partial
    done.turns += [one.id for one in batch]
    _collect(answer.parsed, turns, done)


def _smaller(batch: Sequence[Turn], limit: int, asked: int) -> list[Sequence[Turn]]:
    """Two halves at a turn's boundary; a single turn, shortened. Raises ContextTooLong when nothing is left to shorten."""
    if len(batch) > 1:
        middle = len(batch) // 2
        return [batch[:middle], batch[middle:]]
    fits = min(limit, asked // 2) if limit else asked // 2
    one = shortened(batch[0], min(max(fits - _OVERHEAD_TOKENS, _LEAST_TOKENS), batch[0].tokens // 2))
    if one.tokens >= batch[0].tokens or batch[0].tokens <= _LEAST_TOKENS:
        raise ContextTooLong("The model takes not even one turn.", cure="Set models.context_tokens.", limit=limit)
    return [[one]]


def _collect(found: Extraction, turns: Mapping[str, Turn], done: Read) -> None:
    """Give each item the id of its turn; one that names none of the input rests on nothing."""
    for label in found.withdrawn:
        if (turn := turn_of(label, turns)) is not None:
            done.withdrawn.append(turn.id)
    for name, kind in _KINDS.items():
        for item in getattr(found, name):
            turn = turn_of(item.turn, turns)
            if turn is None:
                done.dropped += 1
            else:
                done.items.append({**item.model_dump(), "item": kind, "turn": turn.id})
