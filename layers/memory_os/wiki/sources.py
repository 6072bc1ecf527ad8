"""Pages follow their raw files: what an edited, a deleted or a renamed one leaves behind is put in order."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memory_os.documents.files import read_file
from memory_os.errors import DocumentError, WikiBusy
from memory_os.wiki import indexes, linking
from memory_os.wiki.catalogue import read_catalogue
from memory_os.wiki.page import Page
from memory_os.wiki.publishing import Publisher
from memory_os.wiki.raw import list_raw
from memory_os.wiki.records import CurationRecords, RawRecord
from memory_os.wiki.schema import Schema
from memory_os.wiki.tree import RAW, Tree
from memory_os.wiki.withdrawing import Withdrawal, renamed

__all__ = ["Settled", "Swept", "adopt", "missing", "settle", "sweep"]


@dataclass(slots=True)
class Swept:
    """What was done to pages, by path."""

    changed: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Settled(Swept):
    """And which raw files are gone, or have another name: old -> new."""

    gone: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in ("gone", "renamed", "changed", "archived", "proposed")}


def sweep(publisher: Publisher, *, skip: Collection[str] = (), propose: bool = True) -> Swept:
    """Take what `publisher.withdrawal` names off every page, links to pages that went with it too. `propose`: tell the
    user what to take off a page of theirs. Doing it twice changes nothing. Raises WikiError."""
    swept = Swept()
    if publisher.withdrawal is None:
        return swept
    tree, sources = publisher.tree, publisher.withdrawal.sources
    before = read_catalogue(tree)
    for path, page in sorted(before.pages.items()):
        if path in skip or sources.isdisjoint(page.sources):
            continue
        if not propose and not publisher.records.is_ours(path, before.texts[path]):
            continue
        how = publisher.withdraw(path)
        if how != "kept":
            getattr(swept, how).append(path)
    _unlink(publisher)
    return swept


def _unlink(publisher: Publisher) -> None:
    """Take links to pages that are gone off the pages of ours that have them, and tie those that stand alone now. By what
    is on disk, so that a run which goes on after a kill ends where a whole one does."""
    catalogue = read_catalogue(publisher.tree)
    titles = catalogue.titles
    touched = [
        path
        for path, page in sorted(catalogue.pages.items())
        if not titles.keys() >= {*page.links, *catalogue.related(path)} or linking.is_lonely(catalogue, path)
    ]
    for path in touched:
        publisher.change(path, lambda page: replace(page, links=tuple(one for one in page.links if one in titles)))
    linking.connect(publisher.tree, publisher.schema, touched)


def missing(tree: Tree, records: CurationRecords, *, certain: bool = True) -> list[str]:
    """Raw files that are gone and that curation knows, or a page of ours rests on, by name.

    None while there is no folder `raw/`: it may be on a disk that is away. Not `certain`, nobody asked: none while it is
    empty either, and only files that curation knows, for no page need be read then.
    """
    if not (tree.root / RAW).is_dir():
        return []
    there = {one.name for one in list_raw(tree)}
    if not certain and not there:
        return []
    known = {record.name for record in records.raws()}
    for path, page, text in _cited(tree) if certain else ():
        cited = {one.removeprefix(f"{RAW}/") for one in page.sources if one.startswith(f"{RAW}/")}
        if cited - there - known and records.is_ours(path, text):
            known |= cited
    return sorted(name for name in known - there if not (tree.root / RAW / name).exists())


def _cited(tree: Tree) -> Iterator[tuple[str, Page, str]]:
    catalogue = read_catalogue(tree)
    for path, page in catalogue.pages.items():
        yield path, page, catalogue.texts[path]


def settle(tree: Tree, schema: Schema, records: CurationRecords, day: str, names: Sequence[str]) -> Settled:
    """Bring pages in step with raw files that are gone: what rests on them alone goes, a renamed file keeps its words.

    What is taken off stands in `_archive/pages`. A file that another process is at is left. Raises WikiError.
    """
    found = Settled()
    for name in names:
        try:
            with tree.lock(f"{RAW}/{name}", wait_s=0):
                if not (tree.root / RAW / name).exists():
                    _leave(tree, schema, records, day, name, found)
        except WikiBusy:
            continue
    if found.gone or found.renamed:
        indexes.rewrite(tree, read_catalogue(tree), schema)
    return found


def _leave(tree: Tree, schema: Schema, records: CurationRecords, day: str, name: str, found: Settled) -> None:
    record = records.raw(name)
    to = _new_name(tree, record) if record is not None else ""
    if record is not None and to:
        _rewrite(tree, schema, records, day, record, to)
        found.renamed[name] = to
        return
    source = f"{RAW}/{name}"
    withdrawal = Withdrawal(frozenset({source}))
    # Told once: with the record goes the reason to say it again.
    swept = sweep(Publisher(tree, schema, records, day, source, "gone", withdrawal), propose=record is not None)
    records.drop(name)
    found.gone.append(name)
    for how in ("changed", "archived", "proposed"):
        getattr(found, how).extend(getattr(swept, how))


def adopt(tree: Tree, schema: Schema, records: CurationRecords, day: str, name: str, sha: str) -> RawRecord | None:
    """The record of a raw file that was done in this state under a name that is gone, now under `name`; or None."""
    there = {one.name for one in list_raw(tree)}
    for record in records.raws():
        if record.sha == sha and record.status == "done" and record.name not in there:
            return _rewrite(tree, schema, records, day, record, name)
    return None


def _new_name(tree: Tree, record: RawRecord) -> str:
    """The raw file that has the bytes this one had, or ""."""
    if record.status != "done" or not record.sha:
        return ""
    alike = (one.name for one in list_raw(tree) if one.size == record.size and not one.refused)
    return next((name for name in alike if _sha(tree, name) == record.sha), "")


def _sha(tree: Tree, name: str) -> str:
    try:
        return hashlib.sha256(read_file(tree.inside(f"{RAW}/{name}")).data).hexdigest()
    except DocumentError:
        return ""


def _rewrite(tree: Tree, schema: Schema, records: CurationRecords, day: str, record: RawRecord, to: str) -> RawRecord:
    """Give a renamed file's words its new name, on pages of ours; then its record, so that a killed run is repeated."""
    old, new = f"{RAW}/{record.name}", f"{RAW}/{to}"
    publisher = Publisher(tree, schema, records, day, new, record.sha)

    def told(page: Page) -> Page:
        records.rename_origin(page.path, old, new)
        return renamed(page, {old: new})

    for path, page in sorted(read_catalogue(tree).pages.items()):
        if old in page.sources:
            publisher.change(path, told)
    there = next((one for one in list_raw(tree) if one.name == to), None)
    known = records.raw(to)
    fresh = replace(record, name=to)
    if there is not None:
        fresh.size, fresh.mtime_ns = there.size, there.mtime_ns
    if known is None or known.status != "done":
        records.keep(fresh)
    records.drop(record.name)
    return fresh
