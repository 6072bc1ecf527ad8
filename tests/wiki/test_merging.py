"""Nothing that stands on a page is lost, and doing it twice changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memory_os.wiki.drafts import Addition, Pair, Verdict
from memory_os.wiki.merging import merged, new_page, settle, unsaid
from memory_os.wiki.page import Page, read_page, render
from memory_os.wiki.schema import DEFAULT_SCHEMA, parse_schema

SCHEMA = parse_schema(DEFAULT_SCHEMA)
TEXTS = [f"statement {number}" for number in range(6)] + [
    "размер пять",
    "大小为五",
    "サイズ五",
    "الحجم",
    "größe fünf",
    "ação",
]
texts = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5, unique=True)
pairs = st.lists(st.builds(Pair, existing=st.integers(-1, 7), new=st.integers(-1, 7)), max_size=4)
verdicts = st.builds(Verdict, same_subject=st.just(True), duplicates=pairs, contradictions=pairs)


def addition(said: list[str], title: str = "X") -> Addition:
    return Addition(title, "entity", ("data",), "About X.", (), 0.8, tuple(("Facts", text) for text in said))


def grown(page: Page, one: Addition, verdict: Verdict, source: str) -> Page:
    existing = [statement.text for statement in page.statements]
    settled = settle(existing, unsaid(page, one), verdict)
    return merged(page, one, settled, source, "2026-12-01", SCHEMA)


@given(texts, texts, verdicts)
def test_what_was_said_stays_and_what_is_new_is_there_once(
    first: list[str], second: list[str], verdict: Verdict
) -> None:
    page = new_page("entities/x.md", addition(first), "raw/a.md", "2026-11-30", SCHEMA)
    after = grown(page, addition(second), verdict, "raw/b.md")
    said = [one.text for one in after.statements]
    assert said[: len(first)] == first and len(said) == len(set(said))
    sides = {side.text for one in after.contradictions for side in (one.first, one.second)}
    settled = settle(first, unsaid(page, addition(second)), verdict)
    kept = set(said) | sides
    dropped = [text for text in second if text not in kept]
    # Only what the verdict called a repetition is not there in its own words, and then the other has its source.
    assert len(dropped) <= sum(1 for _ in verdict.duplicates)
    for text in settled.repeats:
        assert "raw/b.md" in next(one.sources for one in after.statements if one.text == text)
    assert not {new for _, new in settled.against} & set(said)


@given(texts, texts, verdicts)
def test_done_twice_it_changes_nothing(first: list[str], second: list[str], verdict: Verdict) -> None:
    page = new_page("entities/x.md", addition(first), "raw/a.md", "2026-11-30", SCHEMA)
    after = grown(page, addition(second), verdict, "raw/b.md")
    again = read_page(after.path, render(after, {}))
    if not unsaid(again, addition(second)):
        assert grown(again, addition(second), Verdict(), "raw/b.md") == again


def test_a_contradiction_outweighs_a_repetition() -> None:
    pair = Pair(existing=1, new=1)
    settled = settle(["a"], [("Facts", "b")], Verdict(duplicates=[pair], contradictions=[pair]))
    assert settled.against == (("a", "b"),) and settled.repeats == () and settled.added == ()


def test_numbers_that_do_not_exist_are_passed_over() -> None:
    settled = settle(
        ["a"], [("Facts", "b")], Verdict(contradictions=[Pair(existing=2, new=1), Pair(existing=1, new=0)])
    )
    assert settled.added == (("Facts", "b"),) and settled.against == ()


def test_confidence_is_the_mean_over_the_sources() -> None:
    page = new_page("entities/x.md", addition(["a"]), "raw/a.md", "2026-11-30", SCHEMA)
    after = grown(page, Addition("X", "entity", confidence=0.2, statements=(("Facts", "b"),)), Verdict(), "raw/b.md")
    assert after.confidence == 0.5 and after.updated == "2026-12-01" and after.created == "2026-11-30"
