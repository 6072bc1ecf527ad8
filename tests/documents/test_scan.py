from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from memory_os.config import Settings
from memory_os.documents import Documents, Root, Seen
from memory_os.documents.prepare import source_of
from memory_os.documents.scan import Known, Stillness, name_of, outermost, stands_in
from memory_os.errors import DocumentError

LONG_AGO = 1_790_000_000.0


def write(path: Path, content: str, at: float = LONG_AGO) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (at, at))
    return path


@pytest.fixture
def raw(settings: Settings, documents: Documents) -> Path:
    folder = settings.vault / "wiki" / "raw"
    folder.mkdir(parents=True)
    return folder


def names(found: list[Seen]) -> list[str]:
    return [one.name.removeprefix("wiki/raw/") for one in found]


# -- what differs --------------------------------------------------------------------------------------------------------


def test_new_changed_deleted_and_unchanged_are_told_apart(documents: Documents, raw: Path) -> None:
    for name in ("stays.md", "edited.md", "goes.md"):
        write(raw / name, f"text of {name}")
    documents.refresh()
    write(raw / "edited.md", "another text", LONG_AGO + 60)
    (raw / "goes.md").unlink()
    write(raw / "deep" / "comes.md", "new")
    found = documents.scan()
    assert (names(found.new), names(found.changed)) == (["deep/comes.md"], ["edited.md"])
    assert found.deleted == ["wiki/raw/goes.md"]
    assert (found.unchanged, found.renamed, found.waiting) == (1, [], [])


def test_a_scan_writes_nothing_and_says_the_same_again(documents: Documents, raw: Path) -> None:
    write(raw / "a.md", "text")
    assert documents.scan() == documents.scan()
    assert documents.rows.names() == []


def test_bookkeeping_archives_dotfiles_and_proposals_are_not_looked_at(
    documents: Documents, settings: Settings
) -> None:
    wiki = settings.vault / "wiki"
    for name in (
        "SCHEMA.md", "index.md", "log.md", "_archive/old.md", ".memory-os/state.json", "raw/.hidden.md",
        "concepts/tea.proposal.md", "raw/paper.pdf.part", "raw/x.crdownload", "raw/notes.md~", "raw/_archive/a.md",
    ):  # fmt: skip
        write(wiki / name, "text")
    write(wiki / "concepts" / "tea.md", "text")
    found = documents.scan()
    assert [one.name for one in found.new] == ["wiki/concepts/tea.md"]
    assert found.excluded == 11


def test_what_becomes_excluded_leaves(documents: Documents, raw: Path, settings: Settings) -> None:
    folder = settings.vault / "notes"
    write(folder / "index.md", "text")
    documents.ingest(folder)
    write(folder / "SCHEMA.md", "# a wiki now")
    assert documents.scan().deleted == ["notes/index.md"]


def test_links_are_refused_and_never_read(documents: Documents, raw: Path, tmp_path: Path) -> None:
    secret = write(tmp_path / "outside" / "secret.md", "secret")
    (raw / "link.md").symlink_to(secret)
    (raw / "folder").symlink_to(secret.parent)
    (raw / "loop").symlink_to(raw)
    found = documents.scan()
    assert found.new == []
    assert {one.name.removeprefix("wiki/raw/"): one.reason for one in found.refused} == {
        "folder": "is a link that leaves the folder",
        "link.md": "is a link that leaves the folder",
        "loop": "is a link to something in this folder",
    }


@pytest.mark.parametrize(
    "name", ["Übersicht.md", "обзор.md", "نظرة.md", "概览.md", "概要.md", "visão geral.md", "a\nb.md"]
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_of_any_script_and_form(documents: Documents, raw: Path, name: str, form: str) -> None:
    import unicodedata

    write(raw / unicodedata.normalize(form, name), "the text of it")  # type: ignore[arg-type]
    assert [one.status for one in documents.refresh().files] == ["ok"]
    assert documents.scan().unchanged == 1
    (one,) = documents.index.of_source(source_of(documents.rows.names()[0]))
    assert one.title == unicodedata.normalize("NFC", Path(name).stem)


def test_two_forms_of_one_name_are_two_files(documents: Documents, raw: Path) -> None:
    write(raw / "caf\u00e9.md", "one text")
    write(raw / "cafe\u0301.md", "another text")
    if len(list(raw.iterdir())) == 1:
        pytest.skip("this file system has one form only")
    assert documents.refresh().count("ok") == 2


# -- coming to rest ------------------------------------------------------------------------------------------------------


@pytest.fixture
def patient(documents: Documents) -> Documents:
    """With the default wait of two seconds."""
    documents._stillness = Stillness(2.0)
    return documents


def test_a_file_still_being_written_waits(patient: Documents, raw: Path) -> None:
    path = write(raw / "a.md", "half of it", at=time.time())
    now = path.stat().st_ctime
    first = patient.scan(now=now + 0.5)
    assert (first.to_prepare, names(first.waiting)) == ([], ["a.md"])
    assert 0 < first.look_again_s <= 1.6
    later = patient.scan(now=now + 2.1)
    assert (names(later.new), later.waiting, later.look_again_s) == (["a.md"], [], 0.0)


def test_a_copy_that_keeps_an_old_time_waits_too(patient: Documents, raw: Path) -> None:
    path = write(raw / "a.md", "half of it", at=LONG_AGO)
    assert names(patient.scan(now=path.stat().st_ctime + 0.5).waiting) == ["a.md"]


def test_a_clock_that_runs_ahead_is_not_believed_for_ever(patient: Documents, raw: Path) -> None:
    path = write(raw / "a.md", "text", at=time.time() + 3600)
    now = path.stat().st_ctime
    assert names(patient.scan(now=now).waiting) == ["a.md"]
    assert names(patient.scan(now=now + 1).waiting) == ["a.md"]
    assert names(patient.scan(now=now + 2.1).new) == ["a.md"]


def test_growing_starts_the_wait_anew(patient: Documents, raw: Path) -> None:
    path = write(raw / "a.md", "text", at=time.time() + 3600)
    now = path.stat().st_ctime
    patient.scan(now=now)
    path.write_text("more text")
    os.utime(path, (now + 3600, now + 3600))
    assert names(patient.scan(now=now + 2.1).waiting) == ["a.md"]
    assert names(patient.scan(now=now + 4.3).new) == ["a.md"]


def test_what_was_being_written_and_went_is_forgotten(patient: Documents, raw: Path) -> None:
    path = write(raw / "a.md", "text", at=time.time())
    patient.scan()
    path.unlink()
    patient.scan()
    assert patient._stillness._watched == {}


# -- under another name --------------------------------------------------------------------------------------------------


def test_a_renamed_file_is_recognised_by_its_bytes(patient: Documents, raw: Path) -> None:
    write(raw / "old.md", "the text")
    patient.ingest(raw)
    (raw / "old.md").rename(raw / "new.md")  # just now: a rename needs no rest
    found = patient.scan()
    assert [(one.old, one.seen.name) for one in found.renamed] == [("wiki/raw/old.md", "wiki/raw/new.md")]
    assert (found.new, found.waiting, found.deleted) == ([], [], [])


def test_a_deletion_waits_while_its_bytes_may_still_be_coming(patient: Documents, raw: Path) -> None:
    write(raw / "old.md", "the text")
    patient.ingest(raw)
    (raw / "old.md").unlink()
    path = write(raw / "new.md", "XXX text", at=time.time())  # as large, and not yet the same
    now = path.stat().st_ctime
    found = patient.scan(now=now + 0.5)
    assert (found.deleted, found.renamed) == ([], [])
    found = patient.scan(now=now + 3)
    assert (found.deleted, names(found.new)) == (["wiki/raw/old.md"], ["new.md"])


def test_another_ending_is_no_rename(documents: Documents, raw: Path) -> None:
    write(raw / "a.txt", "# the text")
    documents.ingest(raw)
    (raw / "a.txt").rename(raw / "a.rst")
    found = documents.scan()
    assert (names(found.new), found.deleted) == (["a.rst"], ["wiki/raw/a.txt"])


def test_of_equal_files_the_one_of_the_same_name_was_moved(documents: Documents, raw: Path) -> None:
    for name in ("one/a.md", "one/b.md", "one/c.md"):
        write(raw / name, "the same text")
    documents.ingest(raw)
    (raw / "one").rename(raw / "two")
    pairs = {(Path(one.old).name, Path(one.seen.name).name) for one in documents.scan().renamed}
    assert pairs == {("a.md", "a.md"), ("b.md", "b.md"), ("c.md", "c.md")}


def test_a_copy_is_no_rename(documents: Documents, raw: Path) -> None:
    write(raw / "a.md", "the text")
    documents.ingest(raw)
    shutil.copy2(raw / "a.md", raw / "b.md")
    found = documents.scan()
    assert (found.renamed, names(found.new)) == ([], ["b.md"])


# -- roots ---------------------------------------------------------------------------------------------------------------


def test_an_ingested_folder_is_followed_from_then_on(documents: Documents, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write(folder / "a.md", "text")
    documents.ingest(folder)
    write(folder / "b.md", "text")
    assert [one.name for one in documents.scan().new] == [str(folder / "b.md")]
    assert folder in [root.path for root in documents.roots()]


def test_an_ingested_file_is_followed_and_its_neighbours_are_not(documents: Documents, tmp_path: Path) -> None:
    one = write(tmp_path / "notes" / "a.md", "text")
    write(tmp_path / "notes" / "b.md", "text")
    documents.ingest(one)
    assert documents.scan().new == []
    one.unlink()
    assert documents.scan().deleted == [str(one)]


def test_a_drive_that_is_not_mounted_deletes_nothing(documents: Documents, tmp_path: Path) -> None:
    """Its folder is empty or gone, and what is above it is another file system."""
    folder = tmp_path / "drive" / "notes"
    write(folder / "a.md", "text")
    documents.ingest(folder)
    (root,) = [one for one in documents.roots() if one.path == folder]
    elsewhere = [replace(root, device=root.device + 1)]
    (folder / "a.md").unlink()
    found = documents.scan(elsewhere)
    assert (found.deleted, found.away) == ([], [str(folder)])
    shutil.rmtree(tmp_path / "drive")
    found = documents.scan(elsewhere)
    assert (found.deleted, found.away) == ([], [str(folder)])
    assert documents.scan([root]).deleted == [str(folder / "a.md")]


def test_a_vault_that_is_not_there_deletes_nothing(documents: Documents, raw: Path) -> None:
    """Moved away on the very file system it stood on."""
    kept = write(raw / "a.md", "text")
    documents.refresh()
    vault = documents.vault
    vault.rename(vault.with_name("elsewhere"))
    assert documents.scan().deleted == []
    vault.with_name("elsewhere").rename(vault)
    kept.unlink()
    assert documents.scan().deleted == ["wiki/raw/a.md"]


def test_a_share_that_came_back_under_another_number_is_looked_at(documents: Documents, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write(folder / "a.md", "text")
    documents.ingest(folder)
    write(folder / "b.md", "text")
    (root,) = [one for one in documents.roots() if one.path == folder]
    found = documents.scan([replace(root, device=root.device + 1)])
    assert (found.away, len(found.new), found.unchanged) == ([], 1, 1)


def test_without_following_what_is_known_is_kept_in_step_and_never_leaves(documents: Documents, raw: Path) -> None:
    for name in ("a.md", "b.md"):
        write(raw / name, "text")
    documents.refresh()
    documents.settings = documents.settings.model_copy(update={"follow": False})
    write(raw / "a.md", "edited", LONG_AGO + 9)
    (raw / "b.md").unlink()
    write(raw / "c.md", "new")
    found = documents.scan()
    assert (names(found.new), names(found.changed), found.deleted) == ([], ["a.md"], [])


def test_a_folder_that_can_not_be_listed_deletes_nothing(documents: Documents, raw: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may list anything")
    write(raw / "shut" / "a.md", "text")
    documents.refresh()
    (raw / "shut").chmod(0)
    try:
        found = documents.scan()
    finally:
        (raw / "shut").chmod(0o700)
    assert (found.deleted, [one.name for one in found.refused]) == ([], ["wiki/raw/shut"])


def test_outermost_roots() -> None:
    roots = [Root(Path(path)) for path in ("/a/b/c", "/a", "/ab", "/x/y", "/x/y", "/a/b")]
    assert [str(one.path) for one in outermost(roots)] == ["/a", "/ab", "/x/y"]


@pytest.mark.parametrize(
    ("path", "within"), [("/a", True), ("/a/b/c", True), ("/ab", False), ("/", False), ("/b/a", False)]
)
def test_stands_in(path: str, within: bool) -> None:
    assert stands_in(Path(path), {"/a", "/c"}) is within


def test_names_are_relative_to_the_vault_or_absolute() -> None:
    assert name_of(Path("/v/wiki/a.md"), Path("/v")) == "wiki/a.md"
    assert name_of(Path("/vault/a.md"), Path("/v")) == "/vault/a.md"
    with pytest.raises(DocumentError, match="not UTF-8"):
        name_of(Path("/v/a\udcff.md"), Path("/v"))


# -- untouched -----------------------------------------------------------------------------------------------------------


def status(size: int = 5, mtime_ns: int = 1_000_500_000_000) -> os.stat_result:
    times = (0, mtime_ns // 10**9, 0)
    return os.stat_result(
        (0o100600, 1, 1, 1, 0, 0, size, *times), {"st_mtime_ns": mtime_ns, "st_mtime": mtime_ns / 1e9}
    )


KNOWN = Known(size=5, mtime_ns=1_000_500_000_000, sha256="x", status="ok", taken_at=1100.0, whole=True)


def test_untouched() -> None:
    assert KNOWN.untouched(status(), 1200.0)
    assert not KNOWN.untouched(status(size=6), 1200.0)
    assert not KNOWN.untouched(status(mtime_ns=1_000_500_000_001), 1200.0)
    assert not replace(KNOWN, whole=False).untouched(status(), 1200.0)


def test_a_file_as_young_as_its_clocks_step_is_read_again() -> None:
    assert not replace(KNOWN, taken_at=1000.55).untouched(status(), 1200.0)
    assert replace(KNOWN, taken_at=1000.65).untouched(status(), 1200.0)
    coarse = replace(KNOWN, mtime_ns=1_000_000_000_000, taken_at=1002.0)
    assert not coarse.untouched(status(mtime_ns=1_000_000_000_000), 1200.0)
    assert replace(coarse, taken_at=1004.0).untouched(status(mtime_ns=1_000_000_000_000), 1200.0)


def test_what_could_not_be_read_is_tried_again_later() -> None:
    shut = replace(KNOWN, status="unreadable")
    assert shut.untouched(status(), 1100.0 + 599)
    assert not shut.untouched(status(), 1100.0 + 601)
