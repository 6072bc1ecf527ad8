"""What is archived or over has no point: how that is noticed, each second, without going through all passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.index import Index
from memory_os.index.closed import CLOSED, take_points_along
from memory_os.memory import Author, Layer, Passage
from memory_os.store import open_store

NOW = 1_790_000_000.0


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    store = open_store(tmp_path / "memory.db")
    yield Index(store, "test/1")
    store.close()


def remembered(index: Index, count: int, **fields: Any) -> list[str]:
    made = [
        Passage(Layer.FACTS, "source", f"text {number}", "default/local", Author.USER, ordinal=number, created_at=NOW, **fields)
        for number in range(count)
    ]
    index.replace("source", made)
    index.embeddings.mark_indexed([one.pk for one in index.embeddings.pending(count)])
    return [one.id for one in made]


def marks(index: Index) -> list[int]:
    return [row["indexed"] for row in index.store.rows("SELECT indexed FROM passages ORDER BY pk")]


def test_what_is_archived_or_over_is_closed_once(index: Index) -> None:
    archived, over, later, begins = remembered(index, 4)
    index.update(archived, archived=True)
    index.update(over, valid_to=NOW)
    index.update(later, valid_to=NOW + 1)
    with index.store.write() as db:
        db.execute("UPDATE passages SET valid_from = ? WHERE id = ?", (NOW + 1, begins))
    assert take_points_along(index.store, NOW) == 2
    assert (marks(index), sorted(index.embeddings.deleted_points())) == ([CLOSED, CLOSED, 1, 1], sorted([archived, over]))
    assert take_points_along(index.store, NOW) == 0
    assert take_points_along(index.store, NOW + 1) == 1, "its time has come, and nobody wrote"
    assert index.embeddings.pending(10) == [] and index.embeddings.pending_count() == 0


def test_what_is_open_again_waits_for_its_point_and_is_not_to_be_deleted(index: Index) -> None:
    (one,) = remembered(index, 1)
    index.update(one, archived=True, valid_to=NOW - 5)
    take_points_along(index.store, NOW)
    index.update(one, archived=False)
    assert take_points_along(index.store, NOW) == 0, "still over"
    index.update(one, valid_to=NOW + 5)
    assert take_points_along(index.store, NOW) == 1
    assert (marks(index), index.embeddings.deleted_points()) == ([0], [])
    assert [waiting.passage.id for waiting in index.embeddings.pending(5)] == [one]


def test_more_than_a_page_of_them(index: Index) -> None:
    remembered(index, 2500)
    with index.store.write() as db:
        db.execute("UPDATE passages SET archived = 1")
    assert take_points_along(index.store, NOW) == 2500
    assert set(marks(index)) == {CLOSED}
    assert len(index.embeddings.deleted_points(5000)) == 2500


def test_a_look_goes_through_what_is_to_change_alone(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []
    rows = index.store.rows

    def noted(sql: str, values: Any = ()) -> Any:
        asked.append((sql, values))
        return rows(sql, values)

    monkeypatch.setattr(index.store, "rows", noted)
    take_points_along(index.store, NOW)
    plan = [str(row["detail"]) for sql, values in asked for row in rows(f"EXPLAIN QUERY PLAN {sql}", values)]
    through = [line for line in plan if line.startswith(("SCAN passages", "SEARCH passages"))]
    assert {line.split("INDEX ")[1].split()[0] for line in through} == {"passages_archived", "passages_ending", "passages_closed"}
    assert all("valid_to" in line for line in through if "passages_ending" in line), through
