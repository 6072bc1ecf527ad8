"""Curation by the real client against a scripted server: pages, merging, contradictions, bad answers, money."""

from __future__ import annotations

from wiki.conftest import Bench, page, pages


def test_a_raw_file_becomes_linked_pages_that_lint_clean(bench: Bench) -> None:
    bench.drop("redis.md", "# Notes\n\nRedis listens on 6380. The queue uses Redis.\n")
    bench.model.script("listens on 6380", pages(
        page("Redis", "Redis listens on 6380.", section="Facts", links=["Queue"], aliases=["Remote Dictionary Server"]),
        page("Queue", "The queue uses Redis.", type="concept", tags=["method"], links=["Redis"]),
    ))  # fmt: skip
    curated = bench.curate("redis.md")
    assert curated.status == "done" and curated.created == ["entities/redis.md", "concepts/queue.md"]
    assert bench.lint() == []
