"""What the model is told besides the caller's messages: the shape of the answer, and what was wrong with the last. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from pydantic import BaseModel

from memory_os.llm.messages import Message
from memory_os.text import token_estimate

# A longer wrong answer is not shown to the model again: it would cost more than it teaches.
_SHOWN_TOKENS = 400


@lru_cache(maxsize=64)
def json_schema(schema: type[BaseModel]) -> dict[str, object]:
    """Made once a schema: it takes longer than all else the client does. Not to be changed."""
    return schema.model_json_schema()


def with_schema(messages: Sequence[Message], schema: type[BaseModel] | None) -> list[Message]:
    """The messages, the system's ending with the shape of the answer: many endpoints ignore the field for it."""
    if schema is None:
        return list(messages)
    shape = json.dumps(json_schema(schema), ensure_ascii=False, separators=(",", ":"))
    told = f"Answer with one JSON object that matches this JSON schema, and with nothing else:\n{shape}"
    for index, one in enumerate(messages):
        if one.role == "system":
            return [*messages[:index], replace(one, content=f"{one.content}\n\n{told}"), *messages[index + 1 :]]
    return [Message("system", told), *messages]


def corrected(messages: Sequence[Message], said: str, problem: str) -> list[Message]:
    """The messages with the wrong answer, if it is short, and what is wrong with it."""
    shown = [Message("assistant", said)] if said.strip() and token_estimate(said) <= _SHOWN_TOKENS else []
    told = f"Your answer can't be used:\n{problem}\nAnswer again, with one complete JSON object only."
    if not shown and messages and messages[-1].role == "user":
        return [*messages[:-1], replace(messages[-1], content=f"{messages[-1].content}\n\n{told}")]
    return [*messages, *shown, Message("user", told)]
