"""Where what a file says on a subject belongs: the page that is the subject's, asked of the model where names don't tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_os.errors import ContextTooLong, ModelContent
from memory_os.text.content import token_estimate
from memory_os.wiki.catalogue import Catalogue, read_catalogue
from memory_os.wiki.curated import Related
from memory_os.wiki.drafts import Addition, Notes, Verdict
from memory_os.wiki.merging import SURE, Settled, settle, unsaid
from memory_os.wiki.page import Page
from memory_os.wiki.prompts import verdict_messages
from memory_os.wiki.publishing import Placed, Publisher
from memory_os.wiki.questions import Questions
from memory_os.wiki.tree import Tree

__all__ = ["Placing", "likely"]

_VERDICT_TOKENS, _VERDICT_OUTPUT_TOKENS = 6000, 1024
# Each costs a question.
_CANDIDATES = 2


@dataclass(slots=True)
class Placing:
    """Of one raw file. No lock is held while a model is asked: a page that changed meanwhile is compared again."""

    publisher: Publisher
    questions: Questions
    related: Related
    notes: Notes

    async def place(self, addition: Addition) -> Placed:
        """Bring one addition into its page. Raises FileCeiling, RunCeiling, WikiError."""
        for last in (False, False, True):
            page, settled = await self._target(addition)
            placed = self.publisher.place(page, addition, settled, whatever=last)
            if placed is not None:
                break
        assert placed is not None  # the last round takes whatever it finds
        return placed

    async def _target(self, addition: Addition) -> tuple[Page | None, Settled]:
        """The page this belongs to, or None for a new one; and how its statements stand to those there."""
        catalogue = read_catalogue(self.publisher.tree)
        page = catalogue.named([addition.title])
        if page is not None:
            page = self.publisher.standing(page)
            return page, _settled(page, addition, await self._compare(page, addition))
        for near in map(self.publisher.standing, await self._candidates(catalogue, addition)):
            verdict = await self._compare(near, addition)
            same = verdict.same_subject and verdict.confidence >= SURE
            if same or not unsaid(near, addition):
                return near, _settled(near, addition, verdict)
        return None, Settled()

    async def _candidates(self, catalogue: Catalogue, addition: Addition) -> list[Page]:
        """Pages that may be the same subject under another name: by alias, then by meaning and of the same type."""
        aliased = [page for name in addition.aliases if (page := catalogue.named([name])) is not None]
        near = [catalogue.at(one.page) for one in await self.related(f"{addition.title}. {addition.summary}")]
        alike = [page for page in near if page is not None and page.kind == addition.kind]
        return _each_once((*aliased, *alike))[:_CANDIDATES]

    async def _compare(self, page: Page, addition: Addition) -> Verdict:
        """Ask how what is new stands to what the page says. An answer of no use is an abstention."""
        new = [text for _, text in unsaid(page, addition)]
        if not new or self.questions.limits.small:
            return Verdict()
        existing = _compared(page)
        if len(existing) < len(page.statements):
            self.notes.add(f"{page.title}: compared with its last {len(existing)} statements only")
        self.questions.afford(self.questions.limits.units)
        messages = verdict_messages(page, existing, addition.title, new)
        try:
            answer = await self.questions.ask(messages, Verdict, _VERDICT_OUTPUT_TOKENS)
        except (ModelContent, ContextTooLong):
            self.notes.add(f"{page.title}: not compared with what it said before, the model gave no usable answer")
            return Verdict()
        return answer.parsed if isinstance(answer.parsed, Verdict) else Verdict()


async def likely(tree: Tree, related: Related, text: str) -> list[Page]:
    """Pages that a text may be about: those it names, then those near by meaning."""
    catalogue = read_catalogue(tree)
    near = [page for one in await related(text) if (page := catalogue.at(one.page)) is not None]
    return _each_once((*catalogue.mentioned(text), *near))


def _each_once(pages: Iterable[Page]) -> list[Page]:
    return list({page.path: page for page in pages}.values())


def _settled(page: Page, addition: Addition, verdict: Verdict) -> Settled:
    return settle(_compared(page), unsaid(page, addition), verdict)


def _compared(page: Page) -> list[str]:
    """The page's last statements, as many as a question has room for."""
    room, kept = _VERDICT_TOKENS, list[str]()
    for text in reversed([one.text for one in page.statements]):
        room -= token_estimate(text) + 4
        if room < 0:
            break
        kept.append(text)
    return kept[::-1]
