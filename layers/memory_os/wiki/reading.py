"""What a model says of one raw file: its answers part by part, each on disk before the next is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from memory_os.errors import ContextTooLong, ModelContent, ModelError
from memory_os.llm import Answer, Message
from memory_os.text.content import token_estimate
from memory_os.wiki import drafts as drafting
from memory_os.wiki.drafts import Drafts, Notes
from memory_os.wiki.page import Page
from memory_os.wiki.prompts import draft_messages
from memory_os.wiki.questions import FileCeiling, Questions
from memory_os.wiki.raw import Part, RawText, halves, parts_of
from memory_os.wiki.records import CurationRecords
from memory_os.wiki.schema import Schema

__all__ = ["Reading"]

# Of a file's ceiling, what its parts may cost; the rest is for comparing what they gave with the pages there are.
DRAFT_SHARE = 0.8
# A model that runs out of room on a part no longer than this will do so on a shorter one.
_CUT_TOKENS_MIN = 400
# Kept in place of an answer: the part was too long, and its halves were asked about.
_HALVED: Literal["halved"] = "halved"


@dataclass(slots=True)
class Reading:
    """Of one state of one raw file. `likely`: the pages a text may be about."""

    text: RawText
    schema: Schema
    records: CurationRecords
    questions: Questions
    likely: Callable[[str], Awaitable[list[Page]]]
    notes: Notes

    async def drafts(self, *, again: bool = False) -> tuple[list[Drafts], bool]:
        """The answers on all parts, in order, and whether that is all of them: not when the file's ceiling was reached.

        What was answered before is not asked again, except when `again`: then once more. Raises RunCeiling, and what a
        model raises; ModelContent too for an answer that was cut off.
        """
        waiting = deque(self._parts())
        found: list[Drafts] = []
        while waiting:
            part = waiting.popleft()
            answer = self._kept(part, again)
            if answer is None:
                try:
                    answer = await self._asked(part, again)
                except FileCeiling:
                    return found, False
            if answer == _HALVED:
                waiting.extendleft(reversed(halves(part)))
            else:
                found.append(answer)
        return found, True

    def _parts(self) -> list[Part]:
        return parts_of(self.text.chunks, self.questions.limits.part_tokens)

    def _kept(self, part: Part, again: bool) -> Drafts | Literal["halved"] | None:
        """What was answered on a part before."""
        answers = self.questions.record.answers
        if answers.get(part.key) == _HALVED or answers.get(_key(part, again)) == _HALVED:
            return _HALVED
        kept = answers.get(_key(part, again))
        try:
            return None if kept is None else Drafts.model_validate(kept)
        except ValidationError:
            return None

    async def _asked(self, part: Part, again: bool) -> Drafts | Literal["halved"]:
        """Ask about one part. One that is too long for the model, or for its answer, is to be asked about in two."""
        self.questions.afford(self.questions.limits.units * DRAFT_SHARE)
        messages = await self._messages(part, again)
        try:
            drafts = await self._usable(await self._answer(messages), part)
        except ContextTooLong as error:
            return self._in_two(part, again, error)
        except ModelContent as error:
            if not error.cut or token_estimate(part.text) <= _CUT_TOKENS_MIN:
                raise
            return self._in_two(part, again, error)
        self._keep(_key(part, again), drafts.model_dump(mode="json"))
        return drafts

    async def _messages(self, part: Part, again: bool) -> list[Message]:
        known = await self.likely(part.text)
        name, title = self.questions.record.name, self.text.title
        return draft_messages(name, title, part.text, known, self.schema, drafting.PAGES_MAX, again=again)

    async def _answer(self, messages: list[Message]) -> Answer:
        most = self.questions.limits.draft_output
        return await self.questions.ask(messages, drafting.drafts_schema(self.schema), most)

    async def _usable(self, answer: Answer, part: Part) -> Drafts:
        """Raises ModelContent for an answer that was cut off: what is complete in it is there by accident, and what the
        rest would have said is not known."""
        if answer.cut:
            raise ModelContent("The model's answer was cut off: it ran out of room for it.", text=answer.text, cut=True)
        drafts = Drafts.model_validate(answer.parsed.model_dump()) if answer.parsed else Drafts()
        if answer.partial and not drafts.pages:
            raise ModelContent("The model's answer holds no complete page.", text=answer.text)
        if answer.partial:
            self.notes.add("pages of the wrong shape were left out of an answer")
        return drafts

    def _in_two(self, part: Part, again: bool, error: ModelError) -> Literal["halved"]:
        if not halves(part):
            raise error
        self._keep(_key(part, again), _HALVED)
        return _HALVED

    def _keep(self, key: str, answer: object) -> None:
        self.questions.record.answers[key] = answer
        self.records.keep(self.questions.record)


def _key(part: Part, again: bool) -> str:
    return f"{part.key}-again" if again else part.key
