"""What goes into the model client and what comes out: requests, answers, and the record of one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

Role = Literal["system", "user", "assistant"]
Job = Literal["extraction", "curation", "dialectic", "reflection", "probe"]
# Besides the jobs callers name, `embed` spends under a class of its own.
JobClass = Literal["extraction", "curation", "dialectic", "reflection", "probe", "embedding"]
Source = Literal["model", "fallback", "cache", "rule"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Text from outside (a document, a transcript) belongs into `user`, fenced by the caller."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model.

    `schema`: the answer must be one JSON object of this shape. The client shows the model its JSON schema, checks the
    answer, asks once for a correction, and returns it in `Answer.parsed`; unknown fields are dropped if the schema says so.
    `schema_shown`: False where the messages show the shape by examples: small models take words of a schema for the answer.
    `max_output_tokens`: what the answer may take; a reasoning model that spends it all is asked again with more.
    `deadline_s`: seconds for the whole of it, retries and waits included; None: the job class's own.
    `cache`: an answer to the very same messages may be used again when no model can be reached.
    `idempotent`: asking twice does no harm, which holds for every plain question. Otherwise it is asked once, or sent with
    `idempotency_key` each time, by which a provider knows it again.
    `rule`: what to answer where no model can.
    """

    messages: Sequence[Message]
    job: Job
    schema: type[BaseModel] | None = None
    schema_shown: bool = True
    max_output_tokens: int = 2048
    deadline_s: float | None = None
    cache: bool = True
    idempotent: bool = True
    idempotency_key: str = ""
    rule: Callable[[], BaseModel | str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back. `parsed` is an instance of `Request.schema`, or None without one. `units` of all attempts.

    `partial`: not all of the answer is here, only what was complete and of the right shape; `cut`: because it ran out of
    room or its end was missing.
    """

    text: str
    parsed: Any = None
    model: str = ""
    source: Source = "model"
    units: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    partial: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt that reached a provider: a row of the usage log. `at` in epoch seconds, `outcome` `ok` or a fault's reason.

    `endpoint`: the address without credentials and path. `fault`: the class of the fault, or "".
    """

    at: float
    job: JobClass
    model: str
    endpoint: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    units: float = 0.0
    seconds: float = 0.0
    outcome: str = "ok"
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Whether an endpoint answers, after how long, and if not, why."""

    ok: bool
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """Vectors in the order of the texts."""

    vectors: list[list[float]] = field(default_factory=list)
    model: str = ""
    units: float = 0.0
