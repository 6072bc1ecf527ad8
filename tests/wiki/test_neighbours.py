"""Pages near to one another by the vectors that the index has of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from memory_os.config import load_settings
from memory_os.documents.files import find_files
from memory_os.index import Index
from memory_os.indexing import Indexing
from memory_os.memory import SHARED_SCOPE, Author, Layer, Passage
from memory_os.store import Store, open_store
from memory_os.wiki import Wiki
from memory_os.wiki.neighbours import WikiNeighbours

PAGE = "---\ntitle: {0}\n---\n\n## Definition\n\n- {0} it is.\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "memory.db", [])
    yield opened
    opened.close()


@pytest.fixture
def wiki(tmp_path: Path) -> Wiki:
    made = Wiki(load_settings({"VAULT_PATH": str(tmp_path / "vault")}, hermes_home=tmp_path / "hermes"))
    made.init()
    return made


def _index(store: Store, vectors: dict[str, list[tuple[float, float]]]) -> Index:
    """Passages of documents with these vectors."""
    index = Index(store, "test/1")
    for path, given in vectors.items():
        layer = Layer.WIKI if "/raw/" not in path else Layer.VECTORS
        passages = [
            Passage(layer, f"document:{path}", f"{path} {ordinal}", SHARED_SCOPE, Author.DOCUMENT, ordinal=ordinal)
            for ordinal in range(len(given))
        ]
        index.replace(f"document:{path}", passages)
        rows = store.rows("SELECT embed_hash FROM passages WHERE source = ? ORDER BY ordinal", (f"document:{path}",))
        index.embeddings.keep(
            {row["embed_hash"]: np.array(vector, np.float32) for row, vector in zip(rows, given, strict=True)}
        )
    return index


def test_a_page_is_the_mean_of_its_passages_and_raw_files_are_none(store: Store, wiki: Wiki) -> None:
    index = _index(store, {"wiki/concepts/a.md": [(1, 0), (0, 1)], "wiki/raw/a.md": [(1, 0)], "wiki/concepts/b.md": []})
    found = WikiNeighbours(store, index, Indexing(store, index), wiki).vectors()
    assert list(found) == ["wiki/concepts/a.md"]
    assert np.allclose(found["wiki/concepts/a.md"], (0.5, 0.5), atol=1e-3)


def test_pages_are_linked_by_what_the_index_has(store: Store, wiki: Wiki) -> None:
    for name in "ab":
        (wiki.tree.root / f"concepts/{name}.md").write_text(PAGE.format(name.upper()))
    index = _index(store, {f"wiki/concepts/{name}.md": [(1, 0)] for name in "ab"})
    neighbours = WikiNeighbours(store, index, Indexing(store, index), wiki)
    assert neighbours.link(dry_run=True)["changed"] == []
    assert neighbours.link(dry_run=False)["changed"] == ["concepts/a.md", "concepts/b.md"]
    assert "[[b|B]]" in (wiki.tree.root / "concepts/a.md").read_text()
    assert neighbours.near("anything") == []  # the encoder isn't loaded: by names alone


def test_what_the_wiki_keeps_for_itself_is_not_ingested(wiki: Wiki) -> None:
    (wiki.tree.root / "concepts/a.md").write_text(PAGE.format("A"))
    (wiki.tree.root / "concepts/a.proposal.md").write_text("proposed")
    (wiki.tree.root / "raw/a.md").write_text("raw")
    taken = {one.path.relative_to(wiki.tree.root).as_posix() for one in find_files(wiki.tree.root) if not one.excluded}
    assert taken == {"concepts/a.md", "raw/a.md"}


def test_what_did_not_change_is_not_read_again(store: Store, wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:
    index = _index(store, {"wiki/concepts/a.md": [(1, 0)], "wiki/concepts/b.md": [(0, 1), (1, 0)]})
    near = WikiNeighbours(store, index, Indexing(store, index), wiki)
    read: list[int] = []
    of_hashes = index.embeddings.of_hashes
    monkeypatch.setattr(index.embeddings, "of_hashes", lambda hashes: read.append(len(hashes)) or of_hashes(hashes))
    before = near.vectors()
    assert {path: vector.tolist() for path, vector in near.vectors().items()} == {
        path: vector.tolist() for path, vector in before.items()
    }
    assert read == [3]
    # A page that comes, a page that goes, a passage that gets its vector, another model: each is seen at the next call.
    _index(store, {"wiki/concepts/c.md": [(1, 1)]})
    assert sorted(near.vectors()) == ["wiki/concepts/a.md", "wiki/concepts/b.md", "wiki/concepts/c.md"]
    index.remove("document:wiki/concepts/a.md")
    assert sorted(near.vectors()) == ["wiki/concepts/b.md", "wiki/concepts/c.md"]
    late = Passage(Layer.WIKI, "document:wiki/concepts/d.md", "late", SHARED_SCOPE, Author.DOCUMENT)
    index.replace("document:wiki/concepts/d.md", [late])
    assert "wiki/concepts/d.md" not in near.vectors()
    (row,) = store.rows("SELECT embed_hash FROM passages WHERE text = 'late'")
    index.embeddings.keep({row["embed_hash"]: np.array((0.5, 0.5), np.float32)})
    assert near.vectors()["wiki/concepts/d.md"].tolist() == [0.5, 0.5]
    assert read == [3, 1, 1]
    index.embeddings.fingerprint = "test/2"
    assert near.vectors() == {}
