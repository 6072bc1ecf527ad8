"""What a model may answer when it has read turns: the shape, checked item by item."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memory_os.errors import BadRequest
from memory_os.facts import CATEGORIES

TRAITS = ("preference", "trait", "goal", "habit", "circumstance")
_TEXT_CHARS, _LONG_CHARS, _NAME_CHARS = 600, 2000, 80


def _text(value: Any) -> Any:
    """Models write null for what they leave out, and numbers where words are asked for."""
    if value is None:
        return ""
    return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else value


def _share(value: Any) -> Any:
    """A confidence: a number, also in words or per cent; what is none says nothing, so it is unsure."""
    try:
        number = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.5
    if 1 < number <= 100:
        number /= 100
    return min(max(number, 0.0), 1.0) if number == number else 0.5


def _category(value: Any) -> Any:
    return value if value in CATEGORIES else "general"


def _trait(value: Any) -> Any:
    return value if value in TRAITS else "trait"


def _worth(value: Any) -> Any:
    return value if value in ("high", "normal", "low") else "normal"


def _list(value: Any) -> Any:
    return [] if value is None else value


Name = Annotated[str, BeforeValidator(_text), Field(max_length=_NAME_CHARS)]
Text = Annotated[str, BeforeValidator(_text), Field(max_length=_TEXT_CHARS)]
Long = Annotated[str, BeforeValidator(_text), Field(max_length=_LONG_CHARS)]
Turn = Annotated[str, BeforeValidator(_text), Field(max_length=20, description="the turn it rests on, e.g. T3")]
Confidence = Annotated[float, BeforeValidator(_share), Field(description="0 to 1: how surely it was said so")]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")

    turn: Turn = ""
    confidence: Confidence = 0.5


class FactItem(_Item):
    """One lasting statement."""

    subject: Name = Field("", description="whom or what it is about; `user` for the person")
    relation: Name = Field("", description="what is said of it, in one or two words: employer, port, database")
    statement: Text = Field(description="one sentence, understandable alone, in the turn's language")
    category: Annotated[Literal["user_pref", "project", "tool", "general"], BeforeValidator(_category)] = "general"
    several: bool = Field(False, description="true if there may be several values at a time (likes, speaks, uses)")
    replaces: Name = Field("", description="label of the known fact that is no longer true by this, e.g. F2")
    valid_from: Name = Field("", description="ISO date, only if the turn says since when")
    valid_to: Name = Field("", description="ISO date, only if the turn says until when")


class EntryItem(_Item):
    """Work that somebody will want to find again."""

    type: Literal["decision", "resolution", "research", "note"]
    summary: Text
    context: Long = ""
    action: Long = ""
    outcome: Long = ""
    training_value: Annotated[Literal["high", "normal", "low"], BeforeValidator(_worth)] = "normal"


class LineItem(_Item):
    """A learning for the agent, or a question that stayed open."""

    text: Text


class ConclusionItem(_Item):
    """Something lasting about the person."""

    text: Text = Field(description="one sentence, understandable alone, in the turn's language")
    kind: Annotated[Literal["preference", "trait", "goal", "habit", "circumstance"], BeforeValidator(_trait)] = "trait"


class Extraction(BaseModel):
    """All lists may be empty, and mostly are."""

    model_config = ConfigDict(extra="ignore")

    facts: Annotated[list[FactItem], BeforeValidator(_list)] = Field(default_factory=list)
    entries: Annotated[list[EntryItem], BeforeValidator(_list)] = Field(default_factory=list)
    learnings: Annotated[list[LineItem], BeforeValidator(_list)] = Field(default_factory=list)
    questions: Annotated[list[LineItem], BeforeValidator(_list)] = Field(default_factory=list)
    conclusions: Annotated[list[ConclusionItem], BeforeValidator(_list)] = Field(default_factory=list)
    withdrawn: Annotated[list[Turn], BeforeValidator(_list)] = Field(
        default_factory=list, description="turns whose content the person asked to forget or not to keep"
    )


_OF_KIND: dict[str, type[_Item]] = {
    "fact": FactItem, "entry": EntryItem, "learning": LineItem, "question": LineItem, "conclusion": ConclusionItem,
}  # fmt: skip


def checked_item(given: Any) -> dict[str, Any]:
    """An item as it was delivered: `item` (the kind), `turn` (an id), and the fields of its kind. Raises BadRequest."""
    kind = given.get("item") if isinstance(given, dict) else None
    if kind not in _OF_KIND or not isinstance(given.get("turn"), str):
        raise BadRequest("An item needs `item` (its kind) and `turn`.")
    try:
        item = _OF_KIND[kind].model_validate({**given, "turn": ""})
    except ValidationError as error:
        raise BadRequest(f"This {kind} is not one: {error.errors()[0]['msg']}.") from error
    return {**item.model_dump(), "item": kind, "turn": given["turn"]}
