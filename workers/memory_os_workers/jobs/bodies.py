"""What a worker may send, one model for each body of `/v1/workers/*`: types, bounds, and nothing converted.

Whatever passes can be stored: numbers fit SQLite and are finite, names can stand in a path, and lists have an end. Fields
nobody knows are passed over; a null is a field that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from memory_os import __version__
from memory_os.errors import BadRequest
from memory_os.llm.messages import JobClass
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory_os_workers.jobs.functions import FUNCTIONS

_Model = TypeVar("_Model", bound="Body")

# Far more than a job or an answer of a model ever holds.
_LIST_MAX = 10_000
_INTEGER_MAX = 2**63 - 1
# The last moment that a calendar has: 9999-12-31.
_MOMENT_MAX = 253_402_300_799.0
# A JSON body of this many characters would be a model's whole context.
_TEXT_MAX = 1_000_000
# PATH_MAX of Linux, in bytes; every character has one at least.
_NAME_MAX = 4096
# An embedding of 4,096 dimensions in base64 has 22 kB.
_VECTOR_MAX = 100_000


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("it holds a NUL character")
    return value


Name = Annotated[str, Field(max_length=_NAME_MAX), AfterValidator(_without_nul)]
Text = Annotated[str, Field(max_length=_TEXT_MAX)]
Number = Annotated[int, Field(ge=0, le=_INTEGER_MAX)]
Moment = Annotated[float, Field(ge=0.0, le=_MOMENT_MAX)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Body(BaseModel):
    """Strict: a string is no number, and true is none either."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False, hide_input_in_errors=True)


class Hello(Body):
    worker: Name = ""
    version: Name = __version__


class Texts(Body):
    hashes: list[Name] = Field(max_length=_LIST_MAX)


class Embeddings(Body):
    fingerprint: Name = ""
    vectors: dict[Name, Annotated[str, Field(max_length=_VECTOR_MAX)]] = Field(default_factory=dict, max_length=_LIST_MAX)


class Document(Body):
    """`document` is checked by its own kind (`documents.prepare`)."""

    name: Name = Field(min_length=1)
    document: dict[str, Any] | None = None
    gone: bool = False


class DeadLetter(Body):
    """`payload`: the arguments of the job, as they were put in the queue."""

    job: Name
    function: Name
    payload: list[Name | Number | float | list[Name]] = Field(max_length=_LIST_MAX)
    error: Name
    message: Text
    attempts: Number

    @model_validator(mode="after")
    def _is_a_job(self) -> DeadLetter:
        if self.function not in FUNCTIONS:
            raise ValueError(f"there is no function {self.function!r}")
        # What reads the letters takes these for granted.
        lists = [isinstance(one, list) for one in self.payload]
        if lists != [True] if self.function == "embed" else any(lists):
            raise ValueError(f"`payload` holds no arguments of {self.function}")
        return self


class Duty(Body):
    name: Name = ""


class Curated(Body):
    """`wiki.Curated`, or a failure in its form."""

    raw: Name = ""
    status: Literal["done", "unchanged", "partial", "ceiling", "refused", "gone", "failed"] = "done"
    reason: Text = ""
    created: list[Name] = Field(default_factory=list, max_length=_LIST_MAX)
    merged: list[Name] = Field(default_factory=list, max_length=_LIST_MAX)
    flagged: bool = False
    orders_left_out: Number = 0
    orders_quoted: Number = 0


class Turns(Body):
    session: Text = ""
    scope: Text = ""
    watermark: Number = 0


class _Delivery(Body):
    """What a model gave, or why it gave nothing (`failed`)."""

    scope: Text
    failed: Text = ""
    retry_at: Moment = 0.0
    final: bool = False


class Understood(_Delivery):
    """`items` are checked by their own kinds (`understanding.items`)."""

    session_id: Text
    turns: list[Text] = Field(default_factory=list, max_length=_LIST_MAX)
    items: list[dict[str, Any]] = Field(default_factory=list, max_length=_LIST_MAX)
    withdrawn: list[Text] = Field(default_factory=list, max_length=_LIST_MAX)
    dropped: Number = 0
    facts: dict[Text, Number] = Field(default_factory=dict, max_length=_LIST_MAX)


class Scoped(Body):
    scope: Text = ""


class Person(Scoped):
    question: Text = ""


class Line(Body):
    text: Text
    facts: list[Number] = Field(default_factory=list, max_length=_LIST_MAX)


class Thought(_Delivery):
    question: Text
    lines: list[Line] = Field(default_factory=list, max_length=_LIST_MAX)
    depth: Annotated[int, Field(ge=1, le=100)] = 1
    basis: Name = ""


class Product(Line):
    kind: Literal["pattern", "link", "contradiction"]
    confidence: Share = 0.0


class Reflected(_Delivery):
    seen: list[Number] = Field(default_factory=list, max_length=_LIST_MAX)
    products: list[Product] = Field(default_factory=list, max_length=_LIST_MAX)


class Spent(Body):
    job: Name = ""
    since: Moment = 0.0


class ModelCall(Body):
    """`llm.messages.Call`."""

    at: Moment
    job: JobClass
    model: Name
    endpoint: Name = ""
    input_tokens: Number = 0
    output_tokens: Number = 0
    units: Annotated[float, Field(ge=0.0, le=1e15)] = 0.0
    seconds: Annotated[float, Field(ge=0.0, le=1e9)] = 0.0
    outcome: Name = "ok"
    fault: Name = ""


class Usage(Body):
    call: ModelCall


class Letters(Body):
    """Which dead letters."""

    ids: list[Number] = Field(default_factory=list, max_length=_LIST_MAX)
    all: bool = False

    @model_validator(mode="after")
    def _names_some(self) -> Letters:
        if not self.ids and not self.all:
            raise ValueError("`ids` must be a list of the numbers of dead letters, or `all` true")
        return self


def read_as(kind: type[_Model], given: Mapping[str, Any]) -> _Model:
    """The body as its kind. Raises BadRequest that names the field."""
    try:
        return kind.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, found["loc"]))
        problem = str(found["msg"]).removeprefix("Value error, ")
        raise BadRequest(f"`{field}`: {problem}." if field else f"{problem[0].upper()}{problem[1:]}.") from None
