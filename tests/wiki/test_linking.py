from __future__ import annotations

import numpy as np
import pytest
from memory_os.wiki.linking import nearest

from wiki.conftest import Bench, page, pages


def vector(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


def test_only_neighbours_that_stand_out_are_near() -> None:
    vectors = {
        "a": vector(1, 0, 0.1), "b": vector(1, 0.1, 0), "c": vector(0, 1, 0.1), "d": vector(0.1, 1, 0), "e": vector(0, 0, 1),
    }  # fmt: skip
    near = {path: [other for other, _ in found] for path, found in nearest(vectors).items()}
    assert near == {"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"], "e": []}


def test_few_pages_are_all_neighbours_and_none_is_its_own() -> None:
    assert nearest({"a": vector(1, 0)}) == {"a": []}
    assert nearest({"a": vector(1, 0), "b": vector(0, 2)}) == {"a": [("b", 0.0)], "b": [("a", 0.0)]}
    assert nearest({}) == {}


@pytest.fixture
def four(bench: Bench) -> Bench:
    bench.drop("a.md", "the file")
    bench.model.script(
        "the file", pages(*(page(title, f"{title} is one.") for title in ("Redis", "Valkey", "東京", "大阪")))
    )
    bench.curate("a.md")
    return bench


def test_pages_are_tied_by_vectors_and_stay_tied(four: Bench) -> None:
    vectors = {
        "wiki/entities/redis.md": vector(1, 0), "wiki/entities/valkey.md": vector(1, 0.1),
        "wiki/entities/東京.md": vector(0, 1), "wiki/entities/大阪.md": vector(0.1, 1), "wiki/entities/gone.md": vector(1, 1),
    }  # fmt: skip
    told = four.wiki.links(vectors, dry_run=True)
    assert told["changed"] == [] and list(told["links"]["entities/redis.md"]) == ["entities/valkey.md"]
    four.wiki.links(vectors)
    assert "- [[valkey|Valkey]]\n\nIn:" in four.text("entities/redis.md")
    assert "- [[大阪]]\n\nIn:" in four.text("entities/東京.md")
    assert four.lint() == []
    assert four.wiki.links(vectors)["changed"] == []


def test_ties_on_an_edited_page_do_not_make_it_ours_or_take_it_away(four: Bench) -> None:
    path = four.root / "entities/redis.md"
    edited = path.read_text("utf-8").replace("Redis is one.", "Redis is mine.")
    path.write_text(edited, "utf-8")
    four.wiki.links({"entities/redis.md": vector(1, 0), "entities/valkey.md": vector(1, 0)})
    assert "Redis is mine." in four.text("entities/redis.md") and "[[valkey|Valkey]]" in four.text("entities/redis.md")
    assert not four.wiki.records.is_ours("entities/redis.md", four.text("entities/redis.md"))
    assert four.wiki.records.is_ours("entities/valkey.md", four.text("entities/valkey.md"))
