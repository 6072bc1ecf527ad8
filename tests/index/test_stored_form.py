"""A memory.db of an earlier version: its full text is brought into today's form when it is opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_os.index import Index
from memory_os.memory import Author, Layer, Passage
from memory_os.store import open_store
from memory_os.text import index_terms, query_terms

NOW = 1_790_000_000.0
MINE = "default/local"
TEXTS = ("وصل الفرن الجديد إلى الورشة", "Северный маяк питается от солнечных батарей", "ประชุมเลื่อนไปวันพุธ", "The kiln is red.")
ASKED = ("هل للفرن باب؟", "Что с маяком?", "ประชุมวันไหน", "Where are the kilns?")


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """As a version without stems wrote it."""
    path = tmp_path / "memory.db"
    store = open_store(path)
    index = Index(store, "test/1")
    for number, text in enumerate(TEXTS):
        passage = Passage(Layer.SESSIONS, f"message:{number}", text, MINE, Author.USER, created_at=NOW)
        index.replace(f"message:{number}", [passage])
    with store.write() as db:
        for row in db.execute("SELECT pk, text FROM passages").fetchall():
            db.execute("UPDATE passages_fts SET body = ? WHERE rowid = ?", (index_terms(f"\n{row['text']}"), row["pk"]))
        db.execute("DELETE FROM _sqlite_migrations WHERE name = 'm004_stored_form'")
    store.close()
    return path


def test_what_was_stored_before_is_found_as_what_is_stored_now(earlier: Path) -> None:
    store = open_store(earlier)
    index = Index(store, "test/1")
    for text, asked in zip(TEXTS, ASKED, strict=True):
        hits = index.lexical(query_terms(asked), [MINE], now=NOW + 1)
        passages = index.passages([hit.pk for hit in hits])
        assert text in [passages[hit.pk].text for hit in hits], asked
    store.close()
