"""Curation: one raw file, read by a model part by part, becomes pages, or more of the pages there are.

Every step is on disk before the next begins, and doing one twice changes nothing: the model's answers are kept by part,
a page takes only what it doesn't say yet, log and index are compared first. A run that was killed anywhere is repeated.
No lock is held while a model is asked, but that on the raw file itself.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ValidationError

from memory_os.errors import ContextTooLong, DocumentError, ModelContent
from memory_os.llm import Answer, Message, ModelClient, Request
from memory_os.text.content import token_estimate
from memory_os.wiki import drafts as drafting
from memory_os.wiki import indexes, journal, linking
from memory_os.wiki.catalogue import Catalogue, read_catalogue
from memory_os.wiki.curated import Curated, Related
from memory_os.wiki.drafts import Addition, Drafts, Notes, Verdict, admitted, gathered
from memory_os.wiki.ledger import Ledger, RawRecord
from memory_os.wiki.limits import Limits
from memory_os.wiki.merging import SURE, Settled, linked, settle, unsaid
from memory_os.wiki.page import Page
from memory_os.wiki.prompts import draft_messages, verdict_messages
from memory_os.wiki.publishing import Publisher
from memory_os.wiki.raw import Part, RawText, halves, list_raw, parts_of, read_raw
from memory_os.wiki.schema import Schema
from memory_os.wiki.sources import adopt, sweep
from memory_os.wiki.tree import RAW, Tree
from memory_os.wiki.wikilinks import subject_key
from memory_os.wiki.withdrawing import Withdrawal

__all__ = ["Curation"]

# Of a file's ceiling, what its parts may cost; the rest is for comparing what they gave with the pages there are.
_DRAFT_SHARE = 0.8
_VERDICT_TOKENS, _VERDICT_OUTPUT_TOKENS = 6000, 1024
# Each costs a question.
_CANDIDATES = 2
_DAY_S = 86_400.0


class _Ceiling(Exception):
    """No more may be asked: of this file (`of_file`), or in this run."""

    def __init__(self, *, of_file: bool) -> None:
        super().__init__()
        self.of_file = of_file


@dataclass
class Curation:
    """One raw file's way into the wiki. `now`: epoch seconds."""

    tree: Tree
    schema: Schema
    model: ModelClient
    related: Related
    limits: Limits
    now: float
    spent: float = 0.0
    notes: Notes = field(default_factory=Notes)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.tree)

    async def run(self, name: str, *, again: bool = False) -> Curated:
        """Curate one file. `again`: even if this very state was done. Raises WikiBusy, WikiError, and what a model raises;
        a file whose answers were of no use is kept as failed, and ModelContent raised."""
        with self.tree.lock(f"{RAW}/{name}", wait_s=0):
            record = self.ledger.raw(name)
            try:
                text = read_raw(self.tree, name, self.now)
            except DocumentError as error:
                return self._refused(name, record, error.message)
            if record is None and not again:
                record = adopt(self.tree, self.schema, self.ledger, self._day, name, text.sha)
            record = self._continued(name, record, text, again)
            if record.status == "done":
                return Curated(name, "unchanged", sha=record.sha, created=[], notes=list(record.notes))
            try:
                return await self._curate(record, text)
            except (ModelContent, ContextTooLong) as error:
                record.status, record.reason, record.at = "failed", error.message, self.now
                self.ledger.keep(record)
                raise

    def _refused(self, name: str, record: RawRecord | None, reason: str) -> Curated:
        known = next((one for one in list_raw(self.tree) if one.name == name), None)
        size, mtime_ns = (known.size, known.mtime_ns) if known else (0, 0)
        fresh = RawRecord(name, "", size, mtime_ns, "refused", reason, self.now, record.units if record else 0.0)
        if known is not None:
            self.ledger.keep(fresh)
            return Curated(name, "refused", reason)
        # Its record stays until its pages are in order.
        return Curated(name, "gone", "there is no such file in raw/")

    def _continued(self, name: str, record: RawRecord | None, text: RawText, again: bool) -> RawRecord:
        """The record of this state of the file: as it stands, or a new one."""
        if record is not None and record.sha == text.sha and not again:
            record.size, record.mtime_ns = text.size, text.mtime_ns
            if record.status == "done":
                self.ledger.keep(record)  # under its new time it need not be read again
            return record
        fresh = RawRecord(name, text.sha, text.size, text.mtime_ns, day=text.day)
        if record is not None:
            fresh.replaces = record.sha != text.sha or (record.replaces and record.status != "done")
        return fresh

    # -- the way -----------------------------------------------------------------------------------------------------

    async def _curate(self, record: RawRecord, text: RawText) -> Curated:
        self._note_text(text)
        record.status, stopped = "partial", None
        try:
            drafts = await self._drafts(record, text)
        except _Ceiling as ceiling:
            if not ceiling.of_file:
                return self._paused(record)
            drafts, stopped = self._kept_drafts(record, text), ceiling
        found = [one for answer in drafts for one in admitted(answer, self.schema, self.notes)]
        additions = gathered(found)
        outcome = Curated(record.name, sha=record.sha)
        publisher = self._publisher(record, None if stopped else additions)
        pages: list[tuple[str, Addition]] = []
        try:
            for addition in additions:
                pages.append((await self._place(record, publisher, addition, outcome), addition))
        except _Ceiling as ceiling:
            if not ceiling.of_file:
                return self._paused(record)
            stopped = ceiling
        if stopped is None and publisher.withdrawal is not None:
            self._withdraw(publisher, outcome)
        self._tie(record, pages)
        return self._finished(record, outcome, stopped)

    def _note_text(self, text: RawText) -> None:
        for note in text.notes:
            self.notes.add(note)
        if text.secrets:
            self.notes.add(f"{text.secrets} secrets were taken out before the model saw the file")
        if text.flagged:
            self.notes.flagged = True
            self.notes.add("the file holds text that reads like orders to a model; it was treated as data")

    async def _drafts(self, record: RawRecord, text: RawText) -> list[Drafts]:
        """The model's answers to all parts, in order; those it gave before are not asked for again."""
        waiting = list(reversed(parts_of(text.chunks, self.limits.part_tokens)))
        found: list[Drafts] = []
        while waiting:
            part = waiting.pop()
            kept = _kept(record, part)
            if kept == "halved":
                waiting += reversed(halves(part))
            elif isinstance(kept, Drafts):
                found.append(kept)
            else:
                found += await self._draft(record, text, part, waiting)
        return found

    async def _draft(self, record: RawRecord, text: RawText, part: Part, waiting: list[Part]) -> list[Drafts]:
        """Ask about one part. One that is too long for the model goes back as two."""
        self._afford(record, self.limits.units * _DRAFT_SHARE)
        known = await self._likely(part.text)
        messages = draft_messages(record.name, text.title, part.text, known, self.schema, drafting.PAGES_MAX)
        try:
            answer = await self._ask(record, messages, drafting.drafts_schema(self.schema), self.limits.draft_output)
        except ContextTooLong:
            two = halves(part)
            if not two:
                raise
            record.answers[part.key] = "halved"
            self.ledger.keep(record)
            waiting += reversed(two)
            return []
        drafts = Drafts.model_validate(answer.parsed.model_dump()) if answer.parsed else Drafts()
        if answer.partial and not drafts.pages:
            raise ModelContent("The model's answer holds no complete page.", text=answer.text)
        if answer.partial:
            self.notes.add("an answer was cut off; its complete pages were taken")
        record.answers[part.key] = drafts.model_dump(mode="json")
        self.ledger.keep(record)
        return [drafts]

    def _kept_drafts(self, record: RawRecord, text: RawText) -> list[Drafts]:
        """The answers there are, when no more may be asked."""
        waiting = list(reversed(parts_of(text.chunks, self.limits.part_tokens)))
        found: list[Drafts] = []
        while waiting:
            part = waiting.pop()
            kept = _kept(record, part)
            if kept == "halved":
                waiting += reversed(halves(part))
            elif isinstance(kept, Drafts):
                found.append(kept)
        return found

    async def _likely(self, text: str) -> list[Page]:
        """Pages that a part may be about: those it names, then those near by meaning."""
        catalogue = read_catalogue(self.tree)
        named = catalogue.mentioned(text)
        near = [page for one in await self.related(text) if (page := catalogue.at(one.page)) is not None]
        return list({page.path: page for page in (*named, *near)}.values())

    # -- one subject -------------------------------------------------------------------------------------------------

    def _publisher(self, record: RawRecord, additions: Sequence[Addition] | None = None) -> Publisher:
        """Writes for this state of the file. `additions`: all it says now, so that the rest can go; None: not all is known."""
        source, withdrawal = f"{RAW}/{record.name}", None
        if record.replaces and additions is not None:
            restated = frozenset(subject_key(text) for one in additions for _, text in one.statements)
            withdrawal = Withdrawal(frozenset({source}), restated)
        return Publisher(self.tree, self.schema, self.ledger, self._day, source, record.sha, withdrawal)

    def _withdraw(self, publisher: Publisher, outcome: Curated) -> None:
        """Pages that rest on what the file said before, and on which it says nothing now."""
        done = {*outcome.created, *outcome.merged, *outcome.proposed}
        swept = sweep(publisher, skip=done)
        outcome.merged += swept.changed
        outcome.proposed += swept.proposed
        outcome.archived += swept.archived

    async def _place(self, record: RawRecord, publisher: Publisher, addition: Addition, outcome: Curated) -> str:
        """Bring one addition into its page. Returns the page's path."""
        for last in (False, False, True):
            page, verdict = await self._target(record, publisher, addition)
            placed = publisher.place(page, addition, verdict, whatever=last)
            if placed is not None:
                break
        assert placed is not None  # the last round takes whatever it finds
        if placed.how != "kept":
            getattr(outcome, placed.how).append(placed.path)
        outcome.contradictions += placed.contradictions
        if placed.path not in record.pages:
            record.pages.append(placed.path)
        return placed.path

    async def _target(self, record: RawRecord, publisher: Publisher, addition: Addition) -> tuple[Page | None, Settled]:
        """The page this belongs to, or None for a new one; and how its statements stand to those there."""
        catalogue = read_catalogue(self.tree)
        page = catalogue.named([addition.title])
        if page is not None:
            page = publisher.standing(page)
            return page, _settled(page, addition, await self._compare(record, page, addition))
        for near in map(publisher.standing, await self._candidates(catalogue, addition)):
            verdict = await self._compare(record, near, addition)
            same = verdict.same_subject and verdict.confidence >= SURE
            if same or not unsaid(near, addition):
                return near, _settled(near, addition, verdict)
        return None, Settled()

    async def _candidates(self, catalogue: Catalogue, addition: Addition) -> list[Page]:
        """Pages that may be the same subject under another name: by alias, then by meaning and of the same type."""
        aliased = [page for name in addition.aliases if (page := catalogue.named([name])) is not None]
        near = [catalogue.at(one.page) for one in await self.related(f"{addition.title}. {addition.summary}")]
        alike = [page for page in near if page is not None and page.kind == addition.kind]
        return list({page.path: page for page in (*aliased, *alike)}.values())[:_CANDIDATES]

    async def _compare(self, record: RawRecord, page: Page, addition: Addition) -> Verdict:
        """Ask how what is new stands to what the page says. An answer of no use is an abstention."""
        new = [text for _, text in unsaid(page, addition)]
        if not new:
            return Verdict()
        existing = _fitting([one.text for one in page.statements], _VERDICT_TOKENS)
        if len(existing) < len(page.statements):
            self.notes.add(f"{page.title}: compared with its last {len(existing)} statements only")
        try:
            self._afford(record, self.limits.units)
            messages = verdict_messages(page, existing, addition.title, new)
            answer = await self._ask(record, messages, Verdict, _VERDICT_OUTPUT_TOKENS)
        except (ModelContent, ContextTooLong):
            self.notes.add(f"{page.title}: not compared with what it said before, the model gave no usable answer")
            return Verdict()
        parsed = answer.parsed
        return parsed if isinstance(parsed, Verdict) else Verdict()

    # -- the end -----------------------------------------------------------------------------------------------------

    def _tie(self, record: RawRecord, placed: Sequence[tuple[str, Addition]]) -> None:
        """Links the model proposed, as far as there are such pages; then the blocks, the maps and the index."""
        publisher = self._publisher(record)
        catalogue = read_catalogue(self.tree)
        for path, addition in placed:
            targets = (catalogue.named([name]) for name in addition.links)
            stems = [page.stem for page in targets if page is not None and page.path != path]
            if stems:
                publisher.change(path, lambda page, stems=stems: linked(page, stems))  # type: ignore[misc]
        linking.connect(self.tree, self.schema, sorted({path for path, _ in placed}))
        indexes.rewrite(self.tree, read_catalogue(self.tree), self.schema)

    def _finished(self, record: RawRecord, outcome: Curated, stopped: _Ceiling | None) -> Curated:
        titles = read_catalogue(self.tree).titles
        if stopped is not None:
            outcome.status = record.status = "ceiling"
            outcome.reason = record.reason = (
                f"it cost {record.units:.1f} model units, and one file may cost {self.limits.units:g}"
                " (wiki.units_per_file); what was read until then is written"
            )
        journal.append(
            self.tree, f"{record.sha[:12]}{'-part' if stopped else ''}", journal.entry(outcome, titles), self.now
        )
        if stopped is None:
            record.status, record.reason, record.answers = "done", "", {}
        record.at, record.notes = self.now, self.notes.lines
        self.ledger.keep(record)
        return self._told(outcome, record)

    def _paused(self, record: RawRecord) -> Curated:
        self.ledger.keep(record)
        reason = "the run has cost as much as it may; the next one goes on"
        return self._told(Curated(record.name, "partial", reason, record.sha), record)

    def _told(self, outcome: Curated, record: RawRecord) -> Curated:
        outcome.notes, outcome.flagged = list(self.notes.lines), self.notes.flagged
        outcome.calls, outcome.units = record.calls, round(self.spent, 3)
        return outcome

    # -- the model ---------------------------------------------------------------------------------------------------

    def _afford(self, record: RawRecord, units: float) -> None:
        if record.units >= units:
            raise _Ceiling(of_file=True)
        if self.spent >= self.limits.allowance:
            raise _Ceiling(of_file=False)

    async def _ask(self, record: RawRecord, messages: list[Message], schema: type[BaseModel], most: int) -> Answer:
        answer = await self.model.ask(Request(messages=messages, job="curation", schema=schema, max_output_tokens=most))
        self.spent += answer.units
        record.units += answer.units
        record.calls += 1
        return answer

    @property
    def _day(self) -> str:
        return datetime.datetime.fromtimestamp(self.now, datetime.UTC).date().isoformat()


def _kept(record: RawRecord, part: Part) -> Drafts | str | None:
    """The answer on a part from before: drafts, "halved", or None."""
    kept = record.answers.get(part.key)
    if kept == "halved" or kept is None:
        return kept
    try:
        return Drafts.model_validate(kept)
    except ValidationError:
        return None


def _settled(page: Page, addition: Addition, verdict: Verdict) -> Settled:
    existing = _fitting([one.text for one in page.statements], _VERDICT_TOKENS)
    return settle(existing, unsaid(page, addition), verdict)


def _fitting(texts: list[str], tokens: int) -> list[str]:
    """The last texts that fit."""
    kept: list[str] = []
    for text in reversed(texts):
        tokens -= token_estimate(text) + 4
        if tokens < 0:
            break
        kept.append(text)
    return kept[::-1]
