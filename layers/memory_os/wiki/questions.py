"""Questions about one raw file: each is counted in the file's record, and none is asked past a ceiling."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from memory_os.errors import ModelContent
from memory_os.llm import Answer, Message, ModelClient, Request
from memory_os.wiki.limits import Limits
from memory_os.wiki.records import RawRecord

__all__ = ["FileCeiling", "Questions", "RunCeiling"]


class FileCeiling(Exception):
    """The file has cost as much as one may: what was read of it is written, and no more is asked."""


class RunCeiling(Exception):
    """The run has cost as much as it may: the next one goes on here."""


@dataclass(slots=True)
class Questions:
    """`record` counts over all runs, `spent` (model units) in this one."""

    model: ModelClient
    limits: Limits
    record: RawRecord
    spent: float = 0.0

    def afford(self, units: float) -> None:
        """Whether one more may be asked while the file has cost less than `units`. Raises FileCeiling or RunCeiling."""
        if self.record.units >= units:
            raise FileCeiling
        if self.spent >= self.limits.allowance:
            raise RunCeiling

    async def ask(self, messages: list[Message], schema: type[BaseModel], most: int, *, shown: bool = True) -> Answer:
        """`most`: tokens of the answer. `shown`: whether the model is shown the schema. Raises what the model client raises."""
        request = Request(
            messages=messages, job="curation", schema=schema, schema_shown=shown, max_output_tokens=most
        )
        try:
            answer = await self.model.ask(request)
        except ModelContent as error:
            self._count(error.units)
            raise
        self._count(answer.units)
        return answer

    def _count(self, units: float) -> None:
        self.spent += units
        self.record.units += units
        self.record.calls += 1
