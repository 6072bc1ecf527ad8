from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.documents.frontmatter import read_front_matter
from memory_os.wiki.page import Page, render

NOW = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC).timestamp()
DAY = datetime.datetime(2026, 3, 5, tzinfo=datetime.UTC).timestamp()


@pytest.mark.parametrize(
    "written",
    ["2026-03-05", "'2026-03-05'", "2026-03-05T00:00:00Z", "2026/03/05", "20260305", f"{DAY:.0f}", f"{DAY * 1000:.0f}"],
)
@pytest.mark.parametrize("key", ["date", "created", "updated"])
def test_dates_in_any_form(key: str, written: str) -> None:
    front, body = read_front_matter(f"---\n{key}: {written}\n---\nbody", NOW)
    assert front.created_at == DAY
    assert body == "body"
    assert not front.problem


@pytest.mark.parametrize("written", ["yesterday", "12", "true", "2031-01-01", "1850-01-01", "[2026]", ".nan", "9e99"])
def test_what_is_no_date_is_passed_over_and_said(written: str) -> None:
    front, _ = read_front_matter(f"---\ndate: {written}\n---\nbody", NOW)
    assert front.created_at is None
    assert "date" in front.problem


@pytest.mark.parametrize(
    ("written", "value"), [("0.9", 0.9), ("'0.3'", 0.3), ("7", 0.7), ("high", 0.75), ("Low", 0.25), ("null", 0.5)]
)
def test_importance(written: str, value: float) -> None:
    front, _ = read_front_matter(f"---\nimportance: {written}\n---\n", NOW)
    assert front.importance == value
    assert not front.problem


@pytest.mark.parametrize("written", ["-1", "11", "true", "[1]", "very", ".nan", ".inf"])
def test_importance_of_another_kind_is_normal_and_said(written: str) -> None:
    front, _ = read_front_matter(f"---\nimportance: {written}\n---\n", NOW)
    assert front.importance == 0.5
    assert "importance" in front.problem


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Plain", "Plain"),
        ("2026", "2026"),
        ("2026-03-05", "2026-03-05"),
        ("[a, b]", ""),
        ("null", ""),
        ("|\n  a\n  b", "a b"),
    ],
)
def test_a_title_is_a_scalar(written: str, title: str) -> None:
    assert read_front_matter(f"---\ntitle: {written}\n---\n", NOW)[0].title == title


@pytest.mark.parametrize(
    ("written", "tags"), [("[dns, '#net']", ("dns", "net")), ("a, b", ("a", "b")), ("{a: 1}", ()), ("3", ())]
)
def test_tags(written: str, tags: tuple[str, ...]) -> None:
    assert read_front_matter(f"---\ntags: {written}\n---\n", NOW)[0].tags == tags


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("a: [1", "not YAML"),
        ("a: 1\na: 2", "not YAML"),
        ("- a\n- b", "list"),
        ("just words", "str"),
        ("date: 2026-99-99", "not YAML"),
        ("x: !!python/object/apply:os.system [id]", "not YAML"),
    ],
)
def test_a_block_that_can_not_be_read_is_kept_as_text(block: str, says: str) -> None:
    front, body = read_front_matter(f"---\n{block}\n---\nthe body", NOW)
    assert says in front.problem
    assert front.text == block
    assert body == "the body"


def test_a_block_with_knowledge_of_its_own_is_searched() -> None:
    front, _ = read_front_matter("---\ntitle: Gateway\nport: 7333\n---\nbody", NOW)
    assert "port: 7333" in front.text
    assert read_front_matter("---\ntitle: Gateway\ntags: [a]\n---\nbody", NOW)[0].text == ""


def test_a_page_of_our_own_wiki_is_described_and_never_searched_as_text() -> None:
    page = Page(
        "entities/quarzlager.md", title="Das „Quarzlager“: Halle 3", kind="entity", tags=("lager",), created="2026-03-05",
        updated="2026-03-06", sources=("raw/quarz.md",), confidence=0.9, aliases=("Quarzhalle",), summary="Where the felt is kept.",
    )  # fmt: skip
    front, body = read_front_matter(render(page, {}), NOW)
    assert (front.title, front.text, front.problem) == (page.title, "", "")
    assert (front.tags, front.aliases, front.summary) == (page.tags, page.aliases, page.summary)
    assert "confidence" not in body


@pytest.mark.parametrize("lead", ["", "\ufeff", "\n\n", " \n"])
def test_what_stands_before_the_block_hides_nothing(lead: str) -> None:
    front, body = read_front_matter(f"{lead}---\n# a comment\nTitle: 'T'\n---\nbody", NOW)
    assert (front.title, front.text, body) == ("T", "", "body")


@pytest.mark.parametrize("written", ["Redis: the cache", "@home", "Кэш: Redis", "缓存: 说明", "ذاكرة: شرح"])
def test_a_title_that_should_be_quoted_is_read(written: str) -> None:
    front, _ = read_front_matter(f"---\ntitle: {written}\ntags: [a]\n---\nbody", NOW)
    assert (front.title, front.tags, front.text, front.problem) == (written, ("a",), "", "")


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("title: T\nport: 7333\ntags:\n- a\n- b\nhosts:\n  - x\n  - y", "port: 7333\nhosts:\n  - x\n  - y"),
        ("summary: |\n  one\n  two\nOwner: Mira", "Owner: Mira"),
        ('"port": 1\n\'title\': T', '"port": 1'),
        ("{title: T, port: 7333}", "{title: T, port: 7333}"),
    ],
)
def test_only_the_entries_with_knowledge_are_searched(block: str, text: str) -> None:
    assert read_front_matter(f"---\n{block}\n---\nbody", NOW)[0].text == text


@pytest.mark.parametrize(
    "text", ["no front matter", "--- \n not closed", "text\n---\na: 1\n---\n", "---\n" + "a: 1\n" * 9000 + "---\n"]
)
def test_without_front_matter_all_is_body(text: str) -> None:
    front, body = read_front_matter(text, NOW)
    assert body == text
    assert not front.title


def test_an_alias_bomb_stays_small() -> None:
    levels = "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]" for n in range(12))
    front, _ = read_front_matter(f"---\na: &a [x, x]\n{levels}\ntitle: *m\ntags: *m\n---\n", NOW)
    assert front.title == ""
    assert front.tags == ()


@pytest.mark.parametrize("block", ["a: " + "[" * 3000 + "]" * 3000, "a: " + "{b: " * 3000 + "}" * 3000])
def test_bottomless_nesting_is_never_parsed(block: str) -> None:
    front, body = read_front_matter(f"---\n{block}\n---\nbody", NOW)
    assert (front.problem, front.text, body) == ("front matter is nested too deeply", block, "body")


@pytest.mark.parametrize("block", ["a: &a [*a]\ntitle: *a", "title: &t {x: *t}\ntags: *t", "a: &a {<<: *a}"])
def test_what_holds_itself_is_no_title(block: str) -> None:
    front, body = read_front_matter(f"---\n{block}\n---\nbody", NOW)
    assert (front.title, front.tags, body) == ("", (), "body")


def test_a_body_may_hold_rules() -> None:
    assert read_front_matter("---\ntitle: T\n---\none\n\n---\n\ntwo", NOW)[1] == "one\n\n---\n\ntwo"


YAMLISH = st.lists(
    st.sampled_from(
        ["a: ", "title: ", "date: ", "tags: ", "importance: ", "- ", "[", "]", "{", "}", "&a ", "*a", "!!float ", "!!binary ",
         "!!timestamp ", "!!omap ", "<<: ", "|\n", ">\n", "2026-13-45", "null", "'", '"', "\\x", "%YAML 9\n", "? ", "\n", "\n  ",
         "=", "@", "\t", ".inf", "08", "1_0", "日本", "\x00", "\ud800"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(st.one_of(YAMLISH, st.text()))
def test_nothing_in_front_matter_raises_or_loses_the_body(block: str) -> None:
    _, body = read_front_matter(f"---\n{block}\n---\nthe body", NOW)
    assert body.endswith("the body")
