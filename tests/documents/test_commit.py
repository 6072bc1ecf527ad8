from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from memory_os.config import Settings
from memory_os.documents import Documents, FileReport, Prepared, prepare_file
from memory_os.documents.prepare import source_of
from memory_os.index import embed_text
from memory_os.memory import Layer, Passage, content_hash
from memory_os.store import Store

LONG_AGO = 1_790_000_000.0
FILLER = "This is an ordinary sentence of some length. " * 15


def write(path: Path, content: str | bytes, at: float = LONG_AGO) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (at, at))
    return path


def prepared(settings: Settings, name: str) -> Prepared:
    """As a worker sends it."""
    return Prepared.from_dict(prepare_file(settings.vault, name, time.time()).as_dict())


def passages(documents: Documents, name: str) -> list[Passage]:
    return documents.index.of_source(source_of(name))


def counted(store: Store, name: str) -> int:
    return int(store.value("SELECT value FROM counters WHERE name = ?", (name,)) or 0)


def hash_of(passage: Passage) -> str:
    return content_hash(embed_text(passage))


def test_a_prepared_file_becomes_passages(documents: Documents, settings: Settings) -> None:
    write(settings.vault / "a.md", f"# One\n\n{FILLER}\n\n# Two\n\nThe port is 7333. {FILLER}")
    report = documents.commit(prepared(settings, "a.md"))
    assert report == FileReport("a.md", "ok", "", 2)
    assert [one.created_at for one in passages(documents, "a.md")] == [LONG_AGO, LONG_AGO]
    assert documents.commit(prepared(settings, "a.md")) == FileReport("a.md", "unchanged", "", 2)


def test_what_was_read_before_the_last_change_is_refused(documents: Documents, settings: Settings) -> None:
    path = write(settings.vault / "a.md", "the new text")
    documents.ingest(path)
    write(path, "an old text", LONG_AGO - 9)
    old = prepared(settings, "a.md")
    write(path, "the new text")
    assert documents.commit(old).status == "stale"
    assert [one.text for one in passages(documents, "a.md")] == ["the new text"]
    path.unlink()
    assert documents.commit(old).status == "stale"


def test_what_another_chunker_cut_is_refused(documents: Documents, settings: Settings) -> None:
    write(settings.vault / "a.md", "text")
    foreign = Prepared.from_dict({**prepared(settings, "a.md").as_dict(), "chunker": "another"})
    assert documents.commit(foreign).status == "stale"
    assert documents.rows.names() == []


def test_a_fault_leaves_what_was_there_whole(
    documents: Documents, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(settings.vault / "a.md", "the old text")
    documents.ingest(path)
    write(path, "the new text", LONG_AGO + 9)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(documents.rows, "write", full)
        with pytest.raises(OSError, match="No space"):
            documents.commit(prepared(settings, "a.md"))
    assert [one.text for one in passages(documents, "a.md")] == ["the old text"]
    assert documents.scan().changed[0].name == "a.md"
    assert documents.commit(prepared(settings, "a.md")).status == "ok"


def test_vectors_that_come_along_are_kept(documents: Documents, settings: Settings) -> None:
    write(settings.vault / "a.md", "the text")
    one = prepared(settings, "a.md")
    (passage,) = one.passages({}, time.time())
    vector = np.full(4, 0.5, np.float32)
    documents.commit(one, {hash_of(passage): vector, "of-no-passage": vector})
    assert documents.index.embeddings.of_hashes([hash_of(passage), "of-no-passage"]).keys() == {hash_of(passage)}


def test_an_edit_keeps_the_days_and_vectors_of_what_stays(documents: Documents, settings: Settings) -> None:
    path = write(settings.vault / "a.md", f"# One\n\n{FILLER}\n\n# Two\n\nThe port is 7333. {FILLER}")
    documents.commit(prepared(settings, "a.md"))
    first, second = passages(documents, "a.md")
    documents.index.embeddings.keep({hash_of(one): np.full(4, 0.5, np.float32) for one in (first, second)})
    write(path, f"# One\n\n{FILLER}\n\n# Two\n\nThe port is 5433. {FILLER}", LONG_AGO + 86_400)
    documents.commit(prepared(settings, "a.md"))
    kept, fresh = passages(documents, "a.md")
    assert kept == first
    assert fresh.created_at == LONG_AGO + 86_400
    assert documents.index.embeddings.of_hashes([hash_of(one) for one in (first, second, fresh)]).keys() == {hash_of(first)}


def test_a_page_of_the_wiki_is_of_layer_six(documents: Documents, settings: Settings) -> None:
    for name, layer in (("wiki/raw/a.md", Layer.VECTORS), ("wiki/concepts/a.md", Layer.WIKI)):
        write(settings.vault / name, "the text")
        documents.commit(prepared(settings, name))
        assert passages(documents, name)[0].layer is layer


def test_what_can_not_be_read_keeps_what_was_taken_and_says_so(
    documents: Documents, settings: Settings, store: Store
) -> None:
    path = write(settings.vault / "a.md", "still known")
    documents.ingest(path)
    with path.open("wb") as stream:
        stream.truncate(200 * 2**20)
    os.utime(path, (LONG_AGO + 9, LONG_AGO + 9))
    for _ in range(2):
        report = documents.commit(prepared(settings, "a.md"))
        assert (report.status, report.reason) == ("skipped", "has 200 MiB; at most 32 are taken")
    assert [one.text for one in passages(documents, "a.md")] == ["still known"]
    assert counted(store, "documents_skipped") == 1
    assert documents.scan().to_prepare == []
    write(path, "still known", LONG_AGO + 20)
    assert documents.commit(prepared(settings, "a.md")).status == "unchanged"
    assert documents.health().figures["ok"] == 1


def test_a_new_file_that_can_not_be_read_is_known_and_not_asked_for_again(
    documents: Documents, settings: Settings, store: Store
) -> None:
    path = settings.vault / "wiki" / "raw" / "big.log"
    with write(path, "").open("wb") as stream:
        stream.truncate(200 * 2**20)
    assert [one.status for one in documents.refresh().files] == ["skipped"]
    assert documents.refresh().files == []
    assert documents.health().figures["unreadable"] == 1
    assert counted(store, "documents_skipped") == 1


def test_two_files_with_one_title_are_two_documents(documents: Documents, settings: Settings) -> None:
    write(settings.vault / "a.md", "# Gateway\n\nIt listens on 7333.")
    write(settings.vault / "deep" / "a.md", "# Gateway\n\nIt listens on 5433.")
    assert documents.ingest(settings.vault).count("ok") == 2
    titles = {passages(documents, name)[0].title for name in ("a.md", "deep/a.md")}
    assert titles == {"Gateway"}
    assert passages(documents, "a.md")[0].id != passages(documents, "deep/a.md")[0].id
    (settings.vault / "a.md").unlink()
    documents.refresh()
    assert (len(passages(documents, "a.md")), len(passages(documents, "deep/a.md"))) == (0, 1)


# -- under another name --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", ["new.md", "deep/old.md", "новое.md", "新しい.md", "wiki/concepts/page.md"])
def test_a_rename_keeps_days_counts_and_vectors(documents: Documents, settings: Settings, new: str) -> None:
    old = write(settings.vault / "old.md", f"# One\n\n{FILLER}\n\n# Two\n\nThe port is 7333. {FILLER}")
    documents.ingest(settings.vault)
    before = passages(documents, "old.md")
    vectors = {hash_of(one): np.full(4, 0.1 * n, np.float32) for n, one in enumerate(before, 1)}
    documents.index.embeddings.keep(vectors)
    documents.index.used([before[0].id])
    documents.index.update(before[1].id, archived=True)
    (settings.vault / new).parent.mkdir(parents=True, exist_ok=True)
    old.rename(settings.vault / new)
    os.utime(settings.vault / new, (LONG_AGO + 999, LONG_AGO + 999))
    (report,) = documents.refresh().files
    assert (report.path, report.status, report.chunks) == (new, "renamed", 2)
    after = passages(documents, new)
    assert [(one.text, one.created_at) for one in after] == [(one.text, one.created_at) for one in before]
    assert [one.context for one in after] == [one.context.replace("old.md", Path(new).name) for one in before]
    kept = documents.index.embeddings.of_hashes([hash_of(one) for one in after])
    assert [float(kept[hash_of(one)][0]) for one in after] == pytest.approx([0.1, 0.2], abs=1e-3)
    rows = documents.store.rows("SELECT uses, archived FROM passages ORDER BY ordinal")
    assert [tuple(row) for row in rows] == [(1, 0), (0, 1)]
    assert passages(documents, "old.md") == []
    assert set(documents.index.embeddings.deleted_points()) == {one.id for one in before}
    assert documents.refresh().files == []


def test_a_title_that_was_the_files_name_follows_it(documents: Documents, settings: Settings) -> None:
    old = write(settings.vault / "Früher.md", "no heading here")
    documents.ingest(settings.vault)
    old.rename(settings.vault / "Später.md")
    documents.refresh()
    (one,) = passages(documents, "Später.md")
    assert (one.title, one.context) == ("Später", "Später.md")


def test_a_rename_that_is_undone_meanwhile_changes_nothing(documents: Documents, settings: Settings) -> None:
    old = write(settings.vault / "a.md", "the text")
    documents.ingest(settings.vault)
    old.rename(settings.vault / "b.md")
    changes = documents.scan()
    (settings.vault / "b.md").rename(old)
    assert documents.settle(changes).files == []
    assert len(passages(documents, "a.md")) == 1
