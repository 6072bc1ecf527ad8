"""Curation: one raw file, read by a model part by part, becomes pages, or more of the pages there are.

Every step is on disk before the next begins, and doing one twice changes nothing: the model's answers are kept by part,
a page takes only what it doesn't say yet, log and index are compared first. A run that was killed anywhere is repeated.
No lock is held while a model is asked, but that on the raw file itself.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from memory_os.errors import ContextTooLong, DocumentError, ModelContent
from memory_os.llm import ModelClient
from memory_os.text.content import token_estimate
from memory_os.wiki import indexes, journal, linking
from memory_os.wiki.catalogue import read_catalogue
from memory_os.wiki.curated import Curated, Related
from memory_os.wiki.drafts import Addition, Notes, admitted, gathered
from memory_os.wiki.limits import Limits
from memory_os.wiki.merging import linked
from memory_os.wiki.naming import Naming
from memory_os.wiki.placing import Placing, likely
from memory_os.wiki.publishing import Publisher
from memory_os.wiki.questions import FileCeiling, Questions, RunCeiling
from memory_os.wiki.raw import RawText, list_raw, read_raw
from memory_os.wiki.reading import Reading
from memory_os.wiki.records import CurationRecords, RawRecord
from memory_os.wiki.schema import Schema
from memory_os.wiki.sources import adopt, sweep
from memory_os.wiki.tree import RAW, Tree
from memory_os.wiki.wikilinks import subject_key
from memory_os.wiki.withdrawing import Withdrawal

__all__ = ["Curation"]

# A file of fewer tokens may well say nothing; of a longer one, "nothing" is asked about once more.
_SUBSTANCE_TOKENS = 50
_NOTHING = "the model, asked twice, found nothing lasting in it"
_NOTHING_SHORT = "the model found nothing lasting in it"
_STAYS = "; what pages have of its earlier state stays"


@dataclass(slots=True)
class _Found:
    """What a file says, by subject. `whole`: all of it was read. `nothing`: it has substance, and the model, asked twice,
    found no subject in it."""

    additions: list[Addition]
    whole: bool
    nothing: bool = False


@dataclass
class Curation:
    """One raw file's way into the wiki. `now`: epoch seconds."""

    tree: Tree
    schema: Schema
    model: ModelClient
    related: Related
    limits: Limits
    now: float
    notes: Notes = field(default_factory=Notes)

    def __post_init__(self) -> None:
        self.records = CurationRecords(self.tree)

    async def run(self, name: str, *, again: bool = False) -> Curated:
        """Curate one file. `again`: even if this very state was done. Raises WikiBusy, WikiError, and what a model raises;
        a file whose answers were of no use is kept as failed, and ModelContent raised."""
        with self.tree.lock(f"{RAW}/{name}", wait_s=0):
            record = self.records.raw(name)
            try:
                text = read_raw(self.tree, name, self.now)
            except DocumentError as error:
                return self._refused(name, record, error.message)
            if record is None and not again:
                record = adopt(self.tree, self.schema, self.records, self._day, name, text.sha)
            record = self._continued(name, record, text, again)
            if record.status == "done":
                return Curated(name, "unchanged", record.reason, record.sha, notes=list(record.notes))
            return await self._attempt(Questions(self.model, self.limits, record), text)

    def _refused(self, name: str, record: RawRecord | None, reason: str) -> Curated:
        known = next((one for one in list_raw(self.tree) if one.name == name), None)
        size, mtime_ns = (known.size, known.mtime_ns) if known else (0, 0)
        fresh = RawRecord(name, "", size, mtime_ns, "refused", reason, self.now, record.units if record else 0.0)
        if known is not None:
            self.records.keep(fresh)
            return Curated(name, "refused", reason)
        # Its record stays until its pages are in order.
        return Curated(name, "gone", "there is no such file in raw/")

    def _continued(self, name: str, record: RawRecord | None, text: RawText, again: bool) -> RawRecord:
        """The record of this state of the file: as it stands, or a new one."""
        if record is not None and record.sha == text.sha and not again:
            record.size, record.mtime_ns = text.size, text.mtime_ns
            if record.status == "done":
                self.records.keep(record)  # under its new time it need not be read again
            return record
        fresh = RawRecord(name, text.sha, text.size, text.mtime_ns, day=text.day)
        if record is not None:
            fresh.replaces = record.replaces or record.sha != text.sha
        return fresh

    async def _attempt(self, questions: Questions, text: RawText) -> Curated:
        """Curate, and keep how it ended if that was not at the end."""
        record = questions.record
        record.status = "partial"
        try:
            return await self._curate(questions, text)
        except RunCeiling:
            self.records.keep(record)
            reason = "the run has cost as much as it may; the next one goes on"
            return self._told(Curated(record.name, "partial", reason, record.sha), questions)
        except (ModelContent, ContextTooLong) as error:
            record.status, record.reason, record.at = "failed", error.message, self.now
            self.records.keep(record)
            raise

    # -- the way -----------------------------------------------------------------------------------------------------

    async def _curate(self, questions: Questions, text: RawText) -> Curated:
        self._note_text(text)
        record, outcome = questions.record, Curated(questions.record.name, sha=questions.record.sha)
        found = await self._found(questions, text)
        publisher = self._publisher(record, self._withdrawal(record, found))
        placing = Placing(publisher, questions, self.related, self.notes)
        pages: list[tuple[str, Addition]] = []
        try:
            for addition in found.additions:
                pages.append((await self._place(placing, addition, outcome), addition))
        except FileCeiling:
            found.whole = False
        if found.whole and publisher.withdrawal is not None:
            self._withdraw(publisher, outcome)
            record.replaces = False
        self._tie(record, pages)
        return self._finished(questions, found, outcome)

    def _note_text(self, text: RawText) -> None:
        for note in text.notes:
            self.notes.add(note)
        if text.secrets:
            self.notes.add(f"{text.secrets} secrets were taken out before the model saw the file")
        if text.flagged:
            self.notes.flagged = True
            self.notes.add("the file holds text that reads like orders to a model; it was treated as data")

    async def _found(self, questions: Questions, text: RawText) -> _Found:
        """What the model finds. If that is nothing, though the file has substance, it is asked once more."""
        known = partial(likely, self.tree, self.related)
        reading = (Naming if self.limits.small else Reading)(text, self.schema, self.records, questions, known, self.notes)
        found = _Found([], True)
        for again in (False, True):
            drafts, found.whole = await reading.drafts(again=again)
            found.additions = gathered([one for answer in drafts for one in admitted(answer, self.schema, self.notes)])
            if found.additions or not found.whole or not _has_substance(text):
                return found
        found.nothing = True
        return found

    def _withdrawal(self, record: RawRecord, found: _Found) -> Withdrawal | None:
        """What pages have of the file's earlier state and it no longer says. None if that is not known: not all was read,
        or the model found nothing where there is something."""
        if not record.replaces or not found.whole or found.nothing:
            return None
        restated = frozenset(subject_key(text) for one in found.additions for _, text in one.statements)
        return Withdrawal(frozenset({f"{RAW}/{record.name}"}), restated)

    def _publisher(self, record: RawRecord, withdrawal: Withdrawal | None = None) -> Publisher:
        """Writes for this state of the file."""
        source = f"{RAW}/{record.name}"
        return Publisher(self.tree, self.schema, self.records, self._day, source, record.sha, withdrawal)

    async def _place(self, placing: Placing, addition: Addition, outcome: Curated) -> str:
        """Bring one addition into its page, and tell of it. Returns the page's path."""
        record, placed = placing.questions.record, await placing.place(addition)
        if placed.how != "kept" and placed.path not in (*outcome.created, *outcome.merged, *outcome.proposed):
            getattr(outcome, placed.how).append(placed.path)
        outcome.contradictions += placed.contradictions
        if placed.path not in record.pages:
            record.pages.append(placed.path)
        return placed.path

    def _withdraw(self, publisher: Publisher, outcome: Curated) -> None:
        """Pages that rest on what the file said before, and on which it says nothing now."""
        done = {*outcome.created, *outcome.merged, *outcome.proposed}
        swept = sweep(publisher, skip=done)
        outcome.merged += swept.changed
        outcome.proposed += swept.proposed
        outcome.archived += swept.archived

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

    def _finished(self, questions: Questions, found: _Found, outcome: Curated) -> Curated:
        record = questions.record
        if found.whole:
            record.status, record.answers = "done", {}
            if found.nothing:
                outcome.reason = _NOTHING + _STAYS * record.replaces
            elif not found.additions:
                outcome.reason = _NOTHING_SHORT
        else:
            outcome.status = record.status = "ceiling"
            outcome.reason = (
                f"it cost {record.units:.1f} model units, and one file may cost {self.limits.units:g}"
                " (wiki.units_per_file); what was read until then is written"
            )
        record.reason, record.at, record.notes = outcome.reason, self.now, self.notes.lines
        told = journal.entry(outcome, read_catalogue(self.tree).titles)
        journal.append(self.tree, f"{record.sha[:12]}{'' if found.whole else '-part'}", told, self.now)
        self.records.keep(record)
        return self._told(outcome, questions)

    def _told(self, outcome: Curated, questions: Questions) -> Curated:
        outcome.notes, outcome.flagged = list(self.notes.lines), self.notes.flagged
        outcome.orders_left_out, outcome.orders_quoted = self.notes.orders_left_out, self.notes.orders_quoted
        outcome.calls, outcome.units = questions.record.calls, round(questions.spent, 3)
        return outcome

    @property
    def _day(self) -> str:
        return datetime.datetime.fromtimestamp(self.now, datetime.UTC).date().isoformat()


def _has_substance(text: RawText) -> bool:
    return sum(token_estimate(one.text) for one in text.chunks) >= _SUBSTANCE_TOKENS
