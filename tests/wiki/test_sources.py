"""Pages follow their raw files: one that was edited, deleted or renamed leaves nothing behind that nobody says."""

from __future__ import annotations

import pytest

from wiki.conftest import NOW, Bench, page, pages, verdict


def _deployed(bench: Bench) -> None:
    bench.drop("deploy.md", "on Tuesday by Iskra")
    bench.model.script(
        "Tuesday",
        pages(
            page("Deploy", "We deploy on Tuesday.", "It takes an hour.", summary="Iskra deploys on Tuesday."),
            page("Iskra", "Iskra deploys.", links=["Deploy"]),
        ),
    )
    bench.curate("deploy.md")


def _edited(bench: Bench) -> None:
    bench.drop("deploy.md", "on Thursday by Marta", at=NOW - 60)
    said = page("Deploy", "We deploy on Thursday.", "It takes an hour.", summary="Marta deploys on Thursday.")
    bench.model.script("Thursday", pages(said))
    bench.model.script("new 1: We deploy on Thursday.", verdict())


def test_what_an_edited_file_no_longer_says_leaves_the_page_and_its_summary(bench: Bench) -> None:
    _deployed(bench)
    _edited(bench)
    curated = bench.curate("deploy.md")
    text = bench.text("entities/deploy.md")
    assert "We deploy on Thursday. [^1]" in text and "It takes an hour. [^1]" in text
    assert "Tuesday" not in text and "Iskra" not in text and "Marta deploys on Thursday." in text
    # A page on which it says nothing now has no statement left.
    assert curated.archived == ["entities/iskra.md"] and not (bench.root / "entities/iskra.md").exists()
    kept = [path.read_text("utf-8") for path in (bench.root / "_archive/pages").iterdir()]
    assert any("Tuesday" in one for one in kept) and any("Iskra deploys." in one for one in kept)
    assert bench.lint() == []


def test_what_another_file_says_too_stays_with_that_source(bench: Bench) -> None:
    _deployed(bench)
    bench.drop("b.md", "another file")
    bench.model.script("another file", pages(page("Deploy", "We deploy on Tuesday.", "Ivo knows how.")))
    bench.model.script("new 1: Ivo knows how.", verdict())
    bench.curate("b.md")
    assert "We deploy on Tuesday. [^1] [^2]" in bench.text("entities/deploy.md")
    _edited(bench)
    bench.curate("deploy.md")
    text = bench.text("entities/deploy.md")
    assert "We deploy on Tuesday. [^2]" in text and "Ivo knows how. [^2]" in text and "on Thursday. [^1]" in text


def test_a_contradiction_ends_when_one_side_is_no_longer_said(bench: Bench) -> None:
    _deployed(bench)
    bench.drop("b.md", "another file")
    bench.model.script("another file", pages(page("Deploy", "We deploy on Friday.")))
    bench.model.script("new 1: We deploy on Friday.", verdict(contradictions=[(1, 1)]))
    bench.curate("b.md")
    assert "## Contradictions" in bench.text("entities/deploy.md")
    _edited(bench)
    bench.curate("deploy.md")
    text = bench.text("entities/deploy.md")
    assert "## Contradictions" not in text and "- We deploy on Friday. [^2]" in text and "Tuesday" not in text


def test_a_page_of_the_user_is_told_what_is_no_longer_said(bench: Bench) -> None:
    _deployed(bench)
    path = bench.root / "entities/deploy.md"
    mine = path.read_text("utf-8").replace("an hour", "two hours")
    path.write_text(mine, "utf-8")
    _edited(bench)
    assert bench.curate("deploy.md").proposed == ["entities/deploy.md"]
    block = "<!-- memory-os:related"
    assert path.read_text("utf-8").partition(block)[0] == mine.partition(block)[0]
    proposal = bench.text("entities/deploy.proposal.md")
    gone = proposal.partition("### No longer said there")[2]
    assert "- We deploy on Thursday." in proposal and "- We deploy on Tuesday." in gone


def test_done_again_in_the_same_state_nothing_goes(bench: Bench) -> None:
    _deployed(bench)
    bench.model.script("Tuesday", pages(page("Deploy", "Deploys are on Tuesdays.")))
    bench.model.script("new 1: Deploys are on Tuesdays.", verdict())
    bench.curate("deploy.md", again=True)
    assert "We deploy on Tuesday." in bench.text("entities/deploy.md")


# -- files that are gone -------------------------------------------------------------------------------------------


def _two(bench: Bench) -> None:
    _deployed(bench)
    bench.drop("b.md", "another file")
    bench.model.script("another file", pages(page("Deploy", "It takes an hour.", "Ivo knows how.")))
    bench.model.script("new 1: Ivo knows how.", verdict())
    bench.curate("b.md")


def test_what_rests_on_a_deleted_file_alone_goes_and_an_empty_page_to_the_archive(bench: Bench) -> None:
    _two(bench)
    (bench.root / "raw/deploy.md").unlink()
    settled = bench.wiki.follow_sources(NOW)
    assert settled["gone"] == ["deploy.md"] and settled["archived"] == ["entities/iskra.md"]
    text = bench.text("entities/deploy.md")
    assert "Tuesday" not in text and "Iskra" not in text and "deploy.md" not in text
    assert "- It takes an hour. [^1]" in text and "- Ivo knows how. [^1]" in text and "[^1]: [[raw/b.md]]" in text
    assert bench.lint() == []
    assert not any(bench.wiki.follow_sources(NOW).values())


def test_lint_does_the_same_also_for_the_last_file(bench: Bench) -> None:
    _deployed(bench)
    (bench.root / "raw/deploy.md").unlink()
    # An empty folder may be a disk that is away: only who asks for it gets it.
    assert not any(bench.wiki.follow_sources(NOW).values())
    assert ("broken links", "entities/deploy.md", "its source raw/deploy.md is gone") in bench.lint()
    bench.wiki.lint(True, now=NOW)
    assert bench.wiki.tree.pages() == [] and bench.lint() == []


def test_a_page_of_the_user_that_rests_on_a_deleted_file_is_told_once(bench: Bench) -> None:
    _two(bench)
    path = bench.root / "entities/deploy.md"
    path.write_text(path.read_text("utf-8").replace("an hour", "two hours"), "utf-8")
    (bench.root / "raw/deploy.md").unlink()
    assert bench.wiki.follow_sources(NOW)["proposed"] == ["entities/deploy.md"]
    assert "We deploy on Tuesday." in path.read_text("utf-8")
    assert "- We deploy on Tuesday." in bench.text("entities/deploy.proposal.md")
    (bench.root / "entities/deploy.proposal.md").unlink()
    assert not any(bench.wiki.follow_sources(NOW).values())
    bench.wiki.lint(True, now=NOW)
    assert bench.wiki.tree.proposals() == [] and "We deploy on Tuesday." in path.read_text("utf-8")


@pytest.mark.parametrize("first", ["curate", "follow", "lint"])
def test_a_renamed_file_keeps_its_words_and_is_not_paid_again(bench: Bench, first: str) -> None:
    _two(bench)
    asked = len(bench.asked)
    (bench.root / "raw/sub").mkdir()
    (bench.root / "raw/deploy.md").rename(bench.root / "raw/sub/release.md")
    if first == "follow":
        assert bench.wiki.follow_sources(NOW)["renamed"] == {"deploy.md": "sub/release.md"}
    elif first == "lint":
        bench.wiki.lint(True, now=NOW)
    assert bench.curate("sub/release.md").status == "unchanged" and len(bench.asked) == asked
    text = bench.text("entities/deploy.md")
    assert "[^1]: [[raw/sub/release.md]]" in text and "- We deploy on Tuesday. [^1]" in text
    assert "raw/deploy.md" not in text and bench.wiki.waiting(NOW) == [] and bench.lint() == []
    # And later, under its new name, it is still the file that made the page.
    bench.drop("sub/release.md", "on Thursday by Marta", at=NOW - 60)
    bench.model.script("Thursday", pages(page("Deploy", "We deploy on Thursday.", summary="Marta deploys.")))
    bench.model.script("new 1: We deploy on Thursday.", verdict())
    bench.curate("sub/release.md")
    assert "Iskra" not in bench.text("entities/deploy.md") and "Marta deploys." in bench.text("entities/deploy.md")
