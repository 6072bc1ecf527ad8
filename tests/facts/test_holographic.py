from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import HostError
from memory_os.facts.holographic import evidence_of
from memory_os.facts.trust import ADJUSTMENT_MAX

from .conftest import ME, OTHER, remember

AT = 1_767_225_600.0  # 2026-01-01

# As the provider creates it (the parts that are read).
SCHEMA = """
CREATE TABLE facts(fact_id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL UNIQUE, category TEXT DEFAULT 'general',
    tags TEXT DEFAULT '', trust_score REAL DEFAULT 0.5, retrieval_count INTEGER DEFAULT 0,
    helpful_count INTEGER DEFAULT 0, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, hrr_vector BLOB);
CREATE TABLE entities(entity_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, entity_type TEXT DEFAULT 'unknown',
    aliases TEXT DEFAULT '', created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE fact_entities(fact_id INTEGER, entity_id INTEGER, PRIMARY KEY(fact_id, entity_id));
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "with space" / "memory_store.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SCHEMA)
        rows = [
            ("The build runs nightly", "project", "ci, build", 0.6, 2),
            ("ユーザーはお茶が好き", "user_pref", "", 0.3, 0),
            ("An odd category", "weird", "", 0.5, 0),
            ("  ", "general", "", 0.5, 0),
            ("x" * 5000, "general", "", 0.5, 0),
        ]
        db.executemany(
            "INSERT INTO facts(content, category, tags, trust_score, helpful_count, created_at, updated_at)"
            " VALUES(?, ?, ?, ?, ?, '2026-01-01 00:00:00', '2026-01-01 00:00:00')",
            rows,
        )
        db.execute("INSERT INTO entities(name) VALUES('nightly build')")
        db.execute("INSERT INTO fact_entities VALUES(1, 1)")
        db.commit()
    return path


def test_facts_entities_and_trust_come_over(facts, database):
    done = facts.import_holographic(database, ME)
    assert (done.added, done.unchanged, done.skipped) == (3, 0, {"empty or too long": 2})
    build, tea, odd = sorted(facts.current(ME, AT), key=lambda fact: fact.id)
    assert (build.text, build.category, build.tags) == ("The build runs nightly", "project", ("ci", "build"))
    assert (build.entities, build.created_at) == (("nightly build",), AT)
    assert facts.posterior(build, AT).mean == pytest.approx(4 / 6)
    assert facts.posterior(tea, AT).mean == pytest.approx(2 / 6)
    assert odd.category == "general"
    assert facts.index.of_source(build.source)[0].trust == pytest.approx(4 / 6)


def test_importing_again_changes_nothing(facts, database):
    facts.import_holographic(database, ME)
    before = facts.current(ME, AT)
    again = facts.import_holographic(database, ME)
    assert (again.added, again.unchanged) == (0, 3)
    assert facts.current(ME, AT) == before


def test_only_new_facts_are_added_later(facts, database):
    facts.import_holographic(database, ME)
    facts.retire(facts.current(ME, AT)[0], AT)
    with closing(sqlite3.connect(database)) as db:
        db.execute("INSERT INTO facts(content) VALUES('A later one')")
        db.commit()
    assert facts.import_holographic(database, ME).added == 1
    assert len(facts.current(ME, 2e9)) == 3, "what was removed here stays removed"


def test_what_is_known_already_is_not_doubled(facts, database):
    known = remember(facts, "the build runs nightly.", scope=ME, entities=["nightly build"], now=AT)
    done = facts.import_holographic(database, ME)
    assert (done.added, done.unchanged) == (2, 1)
    assert facts.get(known.id, ME).counts.support == 0


def test_what_was_forgotten_is_not_brought_back(facts, database):
    facts.import_holographic(database, ME)
    fact = facts.find("The build runs nightly", ME)
    facts.forget(fact.id, AT + 100)
    again = facts.import_holographic(database, ME)
    assert again.skipped["forgotten"] == 1
    assert facts.find("The build runs nightly", ME) is None
    assert facts.import_holographic(database, OTHER).added == again.unchanged + 1


def test_what_was_forgotten_under_another_name_of_the_same_person_is_not_brought_back(facts, database):
    facts.import_holographic(database, OTHER)
    facts.forget(facts.find("The build runs nightly", OTHER).id, AT + 100)
    both = replace(ME, others=(OTHER.user,))
    assert facts.import_holographic(database, both).skipped["forgotten"] == 1


def test_each_scope_imports_for_itself(facts, database):
    facts.import_holographic(database, ME)
    assert facts.current(OTHER, AT) == []
    assert facts.import_holographic(database, OTHER).added == 3


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_the_database_is_only_read(facts, database, mode):
    with closing(sqlite3.connect(database)) as db:
        db.execute(f"PRAGMA journal_mode={mode}")
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    facts.import_holographic(database, ME)
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert [path.name for path in database.parent.iterdir()] == ["memory_store.db"]


def test_what_another_process_just_wrote_is_read(facts, database):
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("INSERT INTO facts(content) VALUES('Still in the log')")
        writer.commit()
        assert facts.import_holographic(database, ME).added == 4


def test_an_absent_database_is_empty(facts, tmp_path):
    path = tmp_path / "none.db"
    assert facts.import_holographic(path, ME).added == 0
    assert not path.exists()


@pytest.mark.parametrize("content", [b"not a database at all, just text" * 40, b"SQLite format 3\0" + b"\xff" * 500])
def test_a_damaged_database_is_an_error_that_names_it(facts, tmp_path, content):
    path = tmp_path / "memory_store.db"
    path.write_bytes(content)
    with pytest.raises(HostError, match="memory_store"):
        facts.import_holographic(path, ME)


def test_a_database_of_another_shape_is_an_error(facts, tmp_path):
    path = tmp_path / "memory_store.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE facts(id, words)")
        db.commit()
    with pytest.raises(HostError, match="no such"):
        facts.import_holographic(path, ME)


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_hosts_history_becomes_counts(helpful, unhelpful):
    score = 0.5 + 0.05 * helpful - 0.10 * unhelpful
    evidence = evidence_of(score, helpful, AT)
    if 0 < score < 1:  # not clamped: the history is known exactly
        assert evidence.support == pytest.approx(min(helpful, ADJUSTMENT_MAX), abs=1e-6)
        assert evidence.against == pytest.approx(min(unhelpful, ADJUSTMENT_MAX), abs=1e-6)


@given(st.floats(allow_nan=False), st.integers(-5, 10**6))
def test_any_score_gives_bounded_counts(score, helpful):
    evidence = evidence_of(score, helpful, AT)
    assert 0 <= evidence.support <= ADJUSTMENT_MAX
    assert 0 <= evidence.against <= ADJUSTMENT_MAX


def test_a_raised_score_without_feedback_counts_as_support():
    assert evidence_of(0.8, 0, AT).support == pytest.approx(6)
    assert evidence_of(0.8, 0, AT).against == 0
