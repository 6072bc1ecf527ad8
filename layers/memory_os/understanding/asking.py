"""Readings and thoughts taken to a model, and what is delivered of them, be it a failure. For worker and service alike."""

from __future__ import annotations

import time
from typing import Any

from memory_os.errors import BudgetSpent, ContextTooLong, ModelContent, ModelError, ModelUnavailable
from memory_os.llm import ModelClient
from memory_os.understanding.dialectic import think
from memory_os.understanding.extraction import read
from memory_os.understanding.naming import read_by_sentence
from memory_os.understanding.reading import Reading
from memory_os.understanding.reflecting import reflect
from memory_os.understanding.thinking import Memories, Thinking

# What nobody can mend by asking again soon: no model, a key that is refused.
_NOT_SOON_S = 600.0


async def delivery_of(model: ModelClient, reading: Reading) -> dict[str, Any]:
    """`Read.as_dict`, or `{"scope", "session_id", "failed", "retry_at", "final"}`: what `Understanding.deliver` takes.

    Never raises what a model raises: the turns wait in memory.db, and the service says when they are tried again.
    """
    try:
        if model.small:
            return (await read_by_sentence(model.ask, reading)).as_dict()
        return (await read(model.ask, reading, model.context_tokens)).as_dict()
    except ModelError as error:
        return {
            "scope": reading.scope,
            "session_id": reading.session_id,
            "failed": str(error),
            "retry_at": retry_at(error, time.time()),
            "final": isinstance(error, (ModelContent, ContextTooLong)),
        }


def retry_at(error: ModelError, now: float) -> float:
    """Before when asking again is pointless, in epoch seconds; 0 where nothing says so."""
    if isinstance(error, ModelUnavailable):
        return error.retry_at
    if isinstance(error, BudgetSpent):
        return error.resets_at
    return 0.0 if isinstance(error, (ModelContent, ContextTooLong)) else now + _NOT_SOON_S


async def thought_of(model: ModelClient, thinking: Thinking) -> dict[str, Any]:
    """What was thought about a person, or why it could not be: what `Person.keep` takes. Never raises what a model raises."""
    told: dict[str, Any] = {"scope": thinking.scope, "question": thinking.question}
    try:
        lines = await think(model.ask, thinking)
    except ModelError as error:
        return {**told, "failed": str(error), "retry_at": retry_at(error, time.time())}
    return {**told, "lines": lines, "depth": thinking.depth, "basis": thinking.basis}


async def reflection_of(model: ModelClient, memories: Memories) -> dict[str, Any]:
    """What was seen in several memories, or why not: what `Reflection.keep` takes. Never raises what a model raises."""
    told: dict[str, Any] = {"scope": memories.scope, "seen": [fact for fact, _, _ in memories.facts]}
    try:
        return {**told, "products": await reflect(model.ask, memories)}
    except ModelError as error:
        # An answer that can't be read says that there was nothing to say.
        final = isinstance(error, (ModelContent, ContextTooLong))
        return {**told, "failed": str(error), "retry_at": retry_at(error, time.time()), "final": final}
