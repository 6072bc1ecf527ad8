"""What the two protocols have in common: a prompt in, a reply out, and the pieces of a stream in between. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from memory_os.llm.endpoint import Endpoint
from memory_os.llm.messages import Message

Finish = Literal["stop", "length", "filtered", ""]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One attempt's question. `schema` is a JSON schema or None."""

    model: str
    messages: list[Message]
    max_output_tokens: int
    schema: Mapping[str, Any] | None = None
    idempotency_key: str = ""


@dataclass(slots=True)
class Reply:
    """What a model said. Token counts are None where the endpoint doesn't tell. `thought`: it reasoned before."""

    text: str = ""
    finish: Finish = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    thought: bool = False


class Wire(Protocol):
    """How an endpoint is spoken to."""

    def chat_url(self, endpoint: Endpoint) -> str: ...

    def models_url(self, endpoint: Endpoint) -> str: ...

    def headers(self, endpoint: Endpoint) -> dict[str, str]: ...

    def body(self, prompt: Prompt, refused: frozenset[str]) -> dict[str, Any]:
        """The request. `refused`: fields this endpoint has said it doesn't know."""
        ...

    def reply(self, body: Mapping[str, Any]) -> Reply:
        """From an answer that came whole. Raises Fault."""
        ...

    def take(self, reply: Reply, event: Mapping[str, Any]) -> bool:
        """Add one event of a stream. Returns whether it brought a token. Raises Fault."""
        ...
