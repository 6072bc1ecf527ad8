"""A vault of real documents: taken in, edited, renamed, deleted, and found again at every step."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory_os.config import Settings
from memory_os.documents import Documents
from memory_os.documents.prepare import source_of
from memory_os.memory import SHARED_SCOPE
from memory_os.text import query_terms

from tests.support.real_files import real_files

FILES = 220
LONG_AGO = 1_790_000_000.0


@pytest.fixture
def raw(settings: Settings, documents: Documents) -> Path:
    """220 real files in a tree of folders, all taken in, every passage with a vector."""
    folder = settings.vault / "wiki" / "raw"
    for number, (name, text) in enumerate(real_files(FILES).items()):
        path = folder / f"shelf-{number % 7}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        os.utime(path, (LONG_AGO, LONG_AGO))
    report = documents.refresh()
    assert report.count("ok") == FILES, [one for one in report.files if one.status != "ok"]
    embed_all(documents)
    return folder


def embed_all(documents: Documents) -> int:
    """Give each text a vector of its own, as the service would. Returns how many had none."""
    waiting = {one.embed_hash: one for one in documents.index.embeddings.pending(100_000)}
    known = documents.index.embeddings.of_hashes(list(waiting)[:30_000])
    fresh = {
        key: np.frombuffer(bytes.fromhex(key) * 2, np.uint8).astype(np.float32) for key in waiting.keys() - known.keys()
    }
    documents.index.embeddings.keep(fresh)
    documents.index.embeddings.mark_indexed([one.pk for one in documents.index.embeddings.pending(100_000)])
    return len(fresh)


def files(raw: Path) -> list[Path]:
    return sorted(path for path in raw.rglob("*") if path.is_file())


def name_of(path: Path, raw: Path) -> str:
    return f"wiki/raw/{path.relative_to(raw)}"


def stems_of(word: str) -> set[str]:
    """At least as short as what full text takes for one word: `putting` is `put` there, too."""
    bare = re.sub(r"(?:ing|ed|es|s)$", "", word)
    return {word[:4], re.sub(r"([b-z])\1$", r"\1", bare)[:4]}


def telling_words(raw: Path) -> Iterator[tuple[Path, str]]:
    """Per file the last long word whose stem no other file has."""
    texts = {path: path.read_text("utf-8") for path in files(raw)}
    stems = {path: {stem for word in re.findall(r"[a-z]+", text.lower()) for stem in stems_of(word)} for path, text in texts.items()}
    spread = Counter(stem for found in stems.values() for stem in found)
    for path, text in texts.items():
        words = re.findall(r"(?<![\w.])[a-z]{7,}(?!\w)", text)
        unique = [word for word in words if all(spread[stem] == 1 for stem in stems_of(word))]
        if unique:
            yield path, unique[-1]


def sources_found(documents: Documents, question: str) -> list[str]:
    hits = documents.index.lexical(query_terms(question), (SHARED_SCOPE,), now=time.time(), limit=10)
    stored = documents.index.passages([hit.pk for hit in hits])
    return [stored[hit.pk].source for hit in hits]


def test_a_vault_of_real_files_through_its_life(documents: Documents, raw: Path) -> None:
    # Found, each by a word only it has, wherever in the file it stands.
    told = list(telling_words(raw))
    assert len(told) > FILES / 10
    missed = [
        name for path, word in told if source_of(name := name_of(path, raw)) not in sources_found(documents, word)
    ]
    assert missed == []

    # A second look does nothing.
    assert (documents.scan().unchanged, documents.refresh().files) == (FILES, [])

    # Edited: what changed is replaced, the rest keeps its rows and vectors.
    pks = {row["pk"] for row in documents.store.rows("SELECT pk FROM passages")}
    edited = files(raw)[:20]
    for number, path in enumerate(edited):
        path.write_text(f"{path.read_text('utf-8')}\n\nThe zanzibar{number}quokka was added here later.\n", "utf-8")
        os.utime(path, (LONG_AGO + 60, LONG_AGO + 60))
    report = documents.refresh()
    assert sorted(one.path for one in report.files if one.status == "ok") == sorted(name_of(one, raw) for one in edited)
    for number, path in enumerate(edited):
        assert sources_found(documents, f"zanzibar{number}quokka")[0] == source_of(name_of(path, raw))
    kept = {row["pk"] for row in documents.store.rows("SELECT pk FROM passages")} & pks
    assert len(pks) - len(kept) <= 2 * len(edited)
    assert embed_all(documents) <= 2 * len(edited)

    # Renamed and moved: nothing is embedded again, nothing is found under the old name.
    moved = {path: path.parent.parent / "moved" / f"新-{path.name}" for path in files(raw)[40:60]}
    for old, new in moved.items():
        new.parent.mkdir(exist_ok=True)
        old.rename(new)
    report = documents.refresh()
    assert report.count("renamed") == 20 and len(report.files) == 20
    assert embed_all(documents) == 0
    words = dict(told)
    for old, new in moved.items():
        if old in words:
            found = sources_found(documents, words[old])
            assert source_of(name_of(new, raw)) in found and source_of(name_of(old, raw)) not in found

    # A folder deleted: all of it leaves, to the last vector.
    gone = [name_of(path, raw) for path in files(raw / "shelf-3")]
    for path in files(raw / "shelf-3"):
        path.unlink()
    report = documents.refresh()
    assert sorted(one.path for one in report.files) == sorted(gone)
    left = {row["source"] for row in documents.store.rows("SELECT DISTINCT source FROM passages")}
    assert left == {source_of(name_of(path, raw)) for path in files(raw)}
    assert (
        documents.store.value("SELECT count(*) FROM embeddings WHERE hash NOT IN (SELECT embed_hash FROM passages)")
        == 0
    )

    # What memory holds is what a fresh ingest of the same files holds.
    texts = documents.store.rows("SELECT source, ordinal, text FROM passages ORDER BY source, ordinal")
    for name in documents.rows.names():
        documents.forget(source_of(name))
    documents.refresh()
    again = documents.store.rows("SELECT source, ordinal, text FROM passages ORDER BY source, ordinal")
    assert [tuple(row) for row in again] == [tuple(row) for row in texts]


def test_a_look_at_thousands_of_files_asks_for_none_of_their_bytes(
    documents: Documents, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(`memory-os bench ingest` measures how long it takes.)"""
    raw = settings.vault / "wiki" / "raw"
    for folder in range(10):
        (raw / f"{folder:02d}").mkdir(parents=True)
        for number in range(50):
            path = raw / f"{folder:02d}" / f"{number}.md"
            path.write_text(f"note {folder} {number}")
            os.utime(path, (LONG_AGO, LONG_AGO))
    assert documents.refresh().count("ok") == 500

    def never(path: Path) -> None:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr("memory_os.documents.ingest.read_file", never)
    monkeypatch.setattr("memory_os.documents.scan.read_file", never)
    found = documents.scan()
    assert (found.unchanged, found.to_prepare) == (500, [])
