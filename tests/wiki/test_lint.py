"""Ten checks, each met by a wiki that breaks it, and what `fix` may do about it."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from memory_os.wiki.journal import LOG_MAX_LINES
from memory_os.wiki.lint import CHECKS
from memory_os.wiki.publishing import Publisher

from wiki.conftest import NOW, Bench, page, pages

OWN = """---
title: {title}
type: concept
tags: [software]
created: 2026-11-01
updated: 2026-11-01
sources: [raw/a.md]
confidence: 0.9
aliases: []
summary: Written by hand.
---

## Definition

- See [[{link}]].
"""


@pytest.fixture
def grown(bench: Bench) -> Bench:
    """Two pages of ours, linked, clean."""
    bench.drop("a.md", "the file")
    bench.model.script("the file", pages(page("Redis", "A store.", links=["Queue"]), page("Queue", "It holds jobs.")))
    bench.curate("a.md")
    assert bench.lint() == []
    return bench


def write(bench: Bench, path: str, text: str) -> None:
    (bench.root / path).write_text(text, "utf-8")


def test_there_are_ten() -> None:
    assert len(CHECKS) == 10


def test_an_orphan_is_tied_to_the_page_it_has_most_in_common_with(grown: Bench) -> None:
    write(grown, "concepts/own.md", OWN.format(title="Own", link="redis"))
    before = (grown.root / "concepts/own.md").read_text()
    assert ("orphans", "concepts/own.md", "no other page links here") in grown.lint()
    fixed = {one.check: one.fixed for one in grown.wiki.lint(True, now=NOW)}
    assert fixed == {"orphans": True, "index": True} and grown.lint() == []
    assert grown.text("concepts/own.md").startswith(before) and "[[own|Own]]" in grown.text("entities/redis.md")


def test_a_broken_link_of_ours_goes_and_one_of_yours_is_named(grown: Bench) -> None:
    write(grown, "concepts/own.md", OWN.format(title="Own", link="nowhere"))
    (grown.root / "entities/queue.md").unlink()
    found = grown.lint()
    assert ("broken links", "concepts/own.md", "[[nowhere]] leads nowhere") in found
    assert ("broken links", "entities/redis.md", "[[queue]] leads nowhere") in found
    grown.wiki.lint(True, now=NOW)
    assert grown.lint() == [("broken links", "concepts/own.md", "[[nowhere]] leads nowhere")]
    assert "queue" not in grown.text("entities/redis.md")


@pytest.mark.parametrize(
    "link", ["redis", "Redis", "entities/redis", "raw/a.md", "a.md", "_maps/tag-software", "index", "redis#Facts"]
)
def test_links_by_name_path_and_heading_lead_somewhere(grown: Bench, link: str) -> None:
    write(grown, "concepts/own.md", OWN.format(title="Own", link=link))
    assert not [one for one in grown.lint() if one[0] == "broken links"]


def test_a_source_that_is_gone_is_named(grown: Bench) -> None:
    (grown.root / "raw/a.md").unlink()
    assert ("broken links", "entities/redis.md", "its source raw/a.md is gone") in grown.lint()


def test_an_index_out_of_step_is_made_anew_and_words_around_it_stay(grown: Bench) -> None:
    index = grown.root / "index.md"
    index.write_text(index.read_text().replace("- [[redis|Redis]]", "- [[rediss]]") + "\nMy words.\n")
    (grown.root / "_maps/tag-law.md").write_text("# law\n\n<!-- memory-os:index -->\nx\n<!-- /memory-os:index -->\n")
    assert [one[1] for one in grown.lint()] == ["_maps/tag-law.md", "index.md"]
    grown.wiki.lint(True, now=NOW)
    assert grown.lint() == [] and index.read_text().endswith("\nMy words.\n")
    assert not (grown.root / "_maps/tag-law.md").exists()


def test_front_matter_and_names_that_two_pages_share(grown: Bench) -> None:
    write(grown, "concepts/bad.md", "no front matter, [[redis]]")
    write(grown, "concepts/two.md", OWN.format(title="REDIS", link="queue"))
    found = [one for one in grown.lint() if one[0] == "front matter"]
    assert ("front matter", "concepts/bad.md", "has no front matter") in found
    assert any("belongs to concepts/two.md too" in message for _, path, message in found if path == "entities/redis.md")


def test_tags_outside_the_vocabulary(grown: Bench) -> None:
    schema = grown.root / "SCHEMA.md"
    schema.write_text(schema.read_text().replace("- `software`: programs, libraries, services\n", ""))
    write(grown, "concepts/own.md", OWN.format(title="Own", link="redis"))
    tags = [one for one in grown.lint() if one[0] == "tags"]
    assert [path for _, path, _ in tags] == ["concepts/own.md", "entities/queue.md", "entities/redis.md"]
    grown.wiki.lint(True, now=NOW)
    assert [one[1] for one in grown.lint()] == ["concepts/own.md"]  # yours is yours


def test_a_broken_schema_is_a_finding_and_stops_curation_only(grown: Bench) -> None:
    write(grown, "SCHEMA.md", "# Schema\n")
    assert [(one[0], one[1]) for one in grown.lint()] == [("tags", "SCHEMA.md")]
    health = grown.wiki.health(model=True)
    assert health.state == "degraded" and "## Tags" in health.cure


@pytest.mark.parametrize(("days", "stale"), [(91, True), (89, False)])
def test_staleness_counts_from_the_newest_source(grown: Bench, days: int, stale: bool) -> None:
    at = NOW + days * 86_400 + 50_000
    os.utime(grown.root / "raw/a.md", (at, at))
    found = [one for one in grown.wiki.lint(now=at) if one.check == "staleness"]
    assert bool(found) is stale and all(one.level == "review" for one in found)


def test_the_day_of_a_source_is_what_its_front_matter_says(bench: Bench) -> None:
    bench.drop("a.md", "---\ndate: 2020-01-01\n---\nthe file", at=NOW - 100)
    bench.model.script("the file", pages(page("Redis", "A store.")))
    bench.curate("a.md", now=NOW - 200 * 86_400)
    assert [one for one in bench.lint() if one[0] == "staleness"] == []


def test_low_confidence_and_length_want_a_look_and_are_no_faults(bench: Bench) -> None:
    bench.drop("a.md", "the file")
    long = [f"{number} " + "a long sentence about stores " * 18 for number in range(40)]
    bench.model.script("the file", pages(page("Redis", *long, confidence=0.3)))
    bench.curate("a.md")
    found = bench.wiki.lint(now=NOW)
    assert [(one.check, one.level) for one in found] == [("confidence", "review"), ("length", "review")]


def test_a_full_log_moves_to_the_archive(grown: Bench) -> None:
    log = grown.root / "log.md"
    log.write_text(log.read_text() + "- a line\n" * LOG_MAX_LINES)
    assert [one[0] for one in grown.lint()] == ["log"]
    grown.wiki.lint(True, now=NOW)
    assert grown.lint() == [] and "raw/a.md" in grown.text("_archive/log-2026-11-30-01.md")
    assert "- " not in grown.text("log.md")
    log.unlink()
    assert grown.lint() == [("log", "log.md", "is missing")]


def test_a_page_is_found_whatever_its_file_holds(grown: Bench) -> None:
    for name, data in (
        ("a", b"\xff\xfe\x00"),
        ("b", b""),
        ("c", b"---\n- list\n---\n"),
        ("d", b"---\nt: &a [*a]\n---"),
    ):
        (grown.root / f"concepts/{name}.md").write_bytes(data)
    assert {one[1] for one in grown.lint() if one[0] == "front matter"} == {f"concepts/{name}.md" for name in "abcd"}


def test_links_to_folders_outside_are_no_pages(grown: Bench, tmp_path: object) -> None:
    (grown.root / "concepts/link.md").symlink_to("/etc/hostname")
    assert "concepts/link.md" not in grown.wiki.tree.pages()


def test_a_name_that_is_anothers_is_taken_off_a_page_of_ours_and_off_none_of_yours(grown: Bench) -> None:
    """Two workers that curate at once may each give a page of theirs the same second name."""
    wiki = grown.wiki
    publisher = Publisher(wiki.tree, wiki.schema(), wiki.records, "2026-11-30", "raw/a.md", "s")
    for path in ("entities/queue.md", "entities/redis.md"):
        publisher.change(path, lambda one: replace(one, aliases=("Store", "Queue" if one.title == "Redis" else "Line")))
    own = OWN.format(title="Own", link="redis").replace("aliases: []", "aliases: [Line]")
    write(grown, "concepts/own.md", own)
    said = [(one.path, one.fixable) for one in wiki.lint(now=NOW) if "belongs to" in one.message]
    assert sorted(said) == [("entities/queue.md", True), ("entities/redis.md", True), ("entities/redis.md", True)]
    wiki.lint(True, now=NOW)
    assert grown.lint() == []
    assert "aliases: []" in grown.text("entities/redis.md") and 'aliases: ["Store"]' in grown.text("entities/queue.md")
    assert "aliases: [Line]" in grown.text("concepts/own.md")
