"""Layer 6: the wiki in the vault. Works on files alone; a language model is needed for curation only."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memory_os.config import Settings
from memory_os.errors import WikiError
from memory_os.memory import Health, State
from memory_os.wiki import fixing, indexes, journal, linking, sources
from memory_os.wiki.catalogue import read_catalogue
from memory_os.wiki.curated import Curated, Related, nothing_related
from memory_os.wiki.limits import Limits
from memory_os.wiki.lint import Finding, Snapshot, findings
from memory_os.wiki.raw import RawFile, list_raw
from memory_os.wiki.records import CurationRecords, RawRecord
from memory_os.wiki.schema import DEFAULT_SCHEMA, Schema, parse_schema
from memory_os.wiki.tree import LOG, RAW, SCHEMA, Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_os.llm import ModelClient

__all__ = ["Wiki", "curates"]

# A file that is still being copied is not paid for twice.
SETTLED_S = 3.0


@dataclass(frozen=True, slots=True)
class _Curation:
    """How far it is: the raw files there are, their records, and those that wait."""

    raw: list[RawFile]
    records: list[RawRecord]
    waiting: list[RawFile]

    @property
    def trouble(self) -> list[dict[str, Any]]:
        found = [_told(one) for one in self.records if one.status in ("failed", "refused", "ceiling")]
        return found + [
            {"raw": one.name, "status": "refused", "reason": one.refused} for one in self.raw if one.refused
        ]


class Wiki:
    """The wiki of one vault. Several processes may work on it at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tree = Tree(settings.vault / "wiki")
        self.records = CurationRecords(self.tree)

    # -- the tree ----------------------------------------------------------------------------------------------------

    def init(self) -> list[str]:
        """Make what is missing of the tree; what is there stays. Returns the files made. Raises WikiError."""
        self.tree.make()
        made = [] if self.tree.there else [SCHEMA]
        if made:
            self.tree.write(SCHEMA, DEFAULT_SCHEMA)
        if self.tree.read(LOG) is None:
            journal.ensure(self.tree)
            made.append(LOG)
        return [*made, *indexes.rewrite(self.tree, read_catalogue(self.tree), self.schema())]

    def schema(self) -> Schema:
        """SCHEMA.md as it stands. Raises WikiError."""
        self.tree.require()
        return parse_schema(self.tree.read(SCHEMA) or "")

    # -- curation ----------------------------------------------------------------------------------------------------

    def waiting(self, now: float | None = None) -> list[RawFile]:
        """Raw files that curation has not done as they are now, by name. Those it can't do are not among them."""
        return self._curation(now).waiting if self.tree.there else []

    def _curation(self, now: float | None) -> _Curation:
        settled = (time.time() if now is None else now) - SETTLED_S
        raw = list_raw(self.tree)
        known = {one.name: one for one in self.records.raws()}
        waiting = [one for one in raw if self._waits(one, known.get(one.name), settled)]
        return _Curation(raw, [known[one.name] for one in raw if one.name in known], waiting)

    def _waits(self, file: RawFile, record: RawRecord | None, settled: float) -> bool:
        if file.refused or file.mtime_ns / 1e9 > settled:
            return False
        if record is None or (record.size, record.mtime_ns) != (file.size, file.mtime_ns):
            return True
        may_cost = self.settings.values.wiki.units_per_file
        return record.status == "partial" or (record.status == "ceiling" and record.units < may_cost * 0.8)

    def to_do_again(self, now: float | None = None) -> list[tuple[str, bool]]:
        """Every raw file that can be read, those that failed first, then those that wait; and whether it is done anew:
        a file that failed or waits goes on with the answers there are."""
        if not self.tree.there:
            return []
        curation = self._curation(now)
        known = {record.name: record.status for record in curation.records}
        readable = [one.name for one in curation.raw if not one.refused]
        found = {name: False for name in readable if known.get(name) == "failed"}
        found |= {one.name: False for one in curation.waiting}
        done = (name for name in readable if known.get(name) in ("done", "ceiling"))
        return [*found.items(), *((name, True) for name in done if name not in found)]

    def failed(self) -> list[str]:
        """Raw files whose answers were of no use and that have not changed since, by name."""
        if not self.tree.there:
            return []
        curation = self._curation(None)
        waiting = {one.name for one in curation.waiting}
        return sorted(one.name for one in curation.records if one.status == "failed" and one.name not in waiting)

    async def curate(
        self,
        raw_name: str,
        model: ModelClient,
        related: Related | None = None,
        *,
        again: bool = False,
        allowance: float = float("inf"),
        now: float | None = None,
    ) -> Curated:
        """Turn one raw file into pages; `raw_name` is relative to `raw/`. Done again, it changes nothing.

        `related` gives pages near to a text by meaning. `allowance`: model units this call may cost. `again`: even if the
        file was done in this state. Raises WikiError (WikiBusy: another process is at it), and what the model raises:
        ModelOff, ModelUnavailable, ModelAuth and BudgetSpent leave the file waiting, ModelContent and ContextTooLong
        mark it failed until it changes or is named again.
        """
        from memory_os.wiki.curation import Curation

        values = self.settings.values
        limits = Limits(values.wiki.units_per_file, allowance, values.models.context_tokens, values.models.small)
        schema = self.schema()
        moment = time.time() if now is None else now
        return await Curation(self.tree, schema, model, related or nothing_related, limits, moment).run(
            raw_name, again=again
        )

    # -- keeping it in order -----------------------------------------------------------------------------------------

    def lint(self, fix: bool = False, now: float | None = None) -> list[Finding]:
        """The ten checks. With `fix`, what can be mended safely is, and says so. Raises WikiError if there is no wiki."""
        self.tree.require()
        moment = time.time() if now is None else now
        before = findings(self._snapshot())
        if not fix or not (any(one.fixable for one in before) or sources.missing(self.tree, self.records)):
            return before
        try:
            schema = self.schema()
        except WikiError:
            return before
        fixing.fix(self.tree, schema, before, _iso(moment), moment)
        after = findings(self._snapshot())
        left, known = {one.key for one in after}, {one.key for one in before}
        told = [replace(one, fixed=one.key not in left) for one in before]
        return [*told, *(one for one in after if one.key not in known)]

    def follow_sources(self, now: float | None = None, *, dry_run: bool = False) -> dict[str, Any]:
        """Bring pages in step with raw files that were deleted or renamed, as curation knows them; not while `raw/` is
        empty or away, for then a disk may be. Returns {"gone", "renamed", "changed", "archived", "proposed"}; of a dry
        run, "gone" names the renamed too. Raises WikiError."""
        schema = self.schema()
        names = sources.missing(self.tree, self.records, certain=False)
        if dry_run:
            return sources.Settled(gone=names).as_dict()
        moment = time.time() if now is None else now
        return sources.settle(self.tree, schema, self.records, _iso(moment), names).as_dict()

    def links(self, vectors: Mapping[str, NDArray[np.float32]], *, dry_run: bool = False) -> dict[str, Any]:
        """Tie pages that are near by meaning. `vectors`: one a page, by path (relative to the wiki, or `wiki/…`).

        A page without a vector keeps its block. Returns {"pages", "links", "changed"}. Raises WikiError.
        """
        schema = self.schema()
        known = {path.removeprefix("wiki/"): vector for path, vector in vectors.items()}
        pages = set(self.tree.pages())
        near = linking.nearest({path: vector for path, vector in known.items() if path in pages})
        wanted = {path: [other for other, _ in others] for path, others in near.items()}
        changed = [] if dry_run else linking.relate(self.tree, schema, wanted)
        if not dry_run:
            indexes.rewrite(self.tree, read_catalogue(self.tree), schema)
        return {"pages": len(near), "links": {path: dict(others) for path, others in near.items()}, "changed": changed}

    def _snapshot(self) -> Snapshot:
        raw = {one.name: one for one in list_raw(self.tree)}
        catalogue = read_catalogue(self.tree, raw)
        schema, problem = None, ""
        try:
            schema = self.schema()
        except WikiError as error:
            problem = str(error)
        ours = frozenset(path for path, text in catalogue.texts.items() if self.records.is_ours(path, text))
        records = {record.name: record for record in self.records.raws()}
        return Snapshot(
            catalogue,
            schema,
            problem,
            ours,
            {f"{RAW}/{name}": _day_of(file, records.get(name)) for name, file in raw.items()},
            indexes.differing(self.tree, catalogue, schema) if schema else {},
            self.tree.read(LOG),
            self.settings.values.wiki.stale_days,
        )

    # -- how it stands -----------------------------------------------------------------------------------------------

    def status(self, *, model: bool, now: float | None = None) -> dict[str, Any]:
        """Figures for a person: pages, what waits, what could not be done and why. `model`: whether there is one."""
        if not self.tree.there:
            return {"there": False, "root": str(self.tree.root), "model": model}
        curation = self._curation(now)
        records = sorted(curation.records, key=lambda record: record.name)
        pages = read_catalogue(self.tree).pages.values()
        waiting = {one.name for one in curation.waiting}
        return {
            "there": True,
            "root": str(self.tree.root),
            "model": model,
            "pages": len(pages),
            "by_type": dict(sorted(Counter(page.kind for page in pages).items())),
            "raw": len(curation.raw),
            "waiting": [one.name for one in curation.waiting],
            "nothing_found": [one.name for one in records if one.found_nothing and one.name not in waiting],
            "trouble": curation.trouble,
            "proposals": self.tree.proposals(),
            "contradictions": sum(len(page.contradictions) for page in pages),
            "flagged": [one.name for one in records if any("orders to a model" in note for note in one.notes)],
            "units": round(sum(one.units for one in records), 2),
            "last_curated_at": max((one.at for one in records if one.status == "done"), default=None),
        }

    def health(self, *, model: bool, now: float | None = None) -> Health:
        """How the layer stands, in one line; no page is read for it. Raises WikiError if its files can't be read."""
        if not self.tree.there:
            return Health(State.OFF, "there is no wiki", "`memory-os wiki init` makes one.")
        try:
            self.schema()
        except WikiError as error:
            return Health(State.DEGRADED, error.message, error.cure)
        curation, pages = self._curation(now), len(self.tree.pages())
        # A file that is no text is as it is: nothing is broken, and `wiki status` names it.
        trouble = sum(one["status"] != "refused" for one in curation.trouble)
        waiting = len(curation.waiting)
        figures: dict[str, float | int | str] = {
            "pages": pages,
            "waiting": waiting,
            "trouble": trouble,
            "proposals": len(self.tree.proposals()),
        }
        detail = f"{pages} pages"
        if trouble:
            cure = "`memory-os wiki status` says which and why."
            return Health(State.DEGRADED, f"{detail}; {trouble} raw files could not be curated", cure, figures)
        if waiting and not model:
            cure = "See docs/models.md; they are found as documents until then."
            return Health(State.OK, f"{detail}; {waiting} raw files wait for a language model", cure, figures)
        if waiting:
            return Health(State.OK, f"{detail}; {waiting} raw files wait for curation", figures=figures)
        return Health(State.OK if pages else State.EMPTY, detail, figures=figures)


def curates(settings: Settings) -> bool:
    """Whether there is a language model, and whether it may be asked for curation."""
    from memory_os.llm import allows

    return allows(settings, "curation")


def _iso(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).date().isoformat()


def _told(record: RawRecord) -> dict[str, Any]:
    return {"raw": record.name, "status": record.status, "reason": record.reason}


def _day_of(file: RawFile, record: RawRecord | None) -> float:
    """Epoch seconds a raw file is of: what its front matter says, if it is the file we read; else when it was changed."""
    if record is not None and record.day and (record.size, record.mtime_ns) == (file.size, file.mtime_ns):
        return record.day
    return file.mtime_ns / 1e9
