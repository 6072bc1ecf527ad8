from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memory_os.wiki.page import (
    Contradiction,
    Page,
    Statement,
    hash_of,
    one_line,
    read_page,
    related_in,
    render,
    with_related,
)

TEXTS = [
    "Redis listens on 6380.",
    "Größe: 5 µm",
    "размер: 5",
    "الحجم خمسة",
    "大小为五。",
    "サイズは五",
    "a - b: #c",
    "**x** | [y](z)",
]


@st.composite
def written_pages(draw: st.DrawFn) -> Page:
    """Pages as curation makes them: every text is on one line."""
    text = st.one_of(st.sampled_from(TEXTS), st.text(max_size=60)).map(lambda one: one_line(one, 80)).filter(_sayable)
    sources = tuple(
        draw(st.lists(st.sampled_from(["raw/a.md", "raw/é b.md", "raw/[x]|y.md"]), unique=True, min_size=1))
    )
    statement = st.builds(Statement, text, st.lists(st.sampled_from(sources), unique=True).map(tuple))
    return Page(
        path="concepts/x.md",
        title=draw(text),
        kind="concept",
        tags=tuple(draw(st.lists(st.sampled_from(["data", "бд"]), unique=True))),
        created="2026-11-30",
        updated="2026-12-01",
        sources=sources,
        confidence=draw(st.sampled_from([0.0, 0.5, 0.83, 1.0])),
        aliases=tuple(draw(st.lists(text, max_size=3, unique=True))),
        summary=draw(text),
        sections={name: tuple(draw(st.lists(statement, min_size=1, max_size=3))) for name in ("Definition", "Use")},
        contradictions=tuple(
            Contradiction("2026-11-30", *pair) for pair in draw(st.lists(st.tuples(statement, statement), max_size=2))
        ),
        links=tuple(draw(st.lists(st.sampled_from(["redis", "очередь", "東京"]), unique=True))),
    )


def _sayable(text: str) -> bool:
    """What `drafts` lets through: something said, no code marks that span lines, nothing that looks like a list's mark."""
    return bool(text.strip()) and text[0].isalnum() and "`" not in text and "~" not in text and "[" not in text


@given(written_pages())
def test_what_is_written_is_read_back(page: Page) -> None:
    text = render(page, {"redis": "Redis"})
    found = read_page(page.path, text)
    assert found == page
    assert render(found, {"redis": "Redis"}) == text


def test_any_file_is_read_without_a_fault() -> None:
    for text in (
        "",
        "---\n---\n",
        "---\nx: &a [*a]\n---\n",
        "---\ntags: 5\ntitle: {a: b}\n---\n## A\n- x",
        "\ufeff# T\n\ntext",
    ):
        page = read_page("concepts/x.md", text)
        assert page.title and page.problems


def test_problems_of_front_matter_are_named() -> None:
    head = (
        "---\ntitle: X\ntype: entity\ntags: []\ncreated: yesterday\nupdated: 2026-11-30\nsources: []\nconfidence: 7\n"
    )
    problems = read_page("concepts/x.md", f"{head}aliases: []\nsummary: \n---\n").problems
    assert problems == (
        "`summary` is empty",
        "`created` is no day",
        "`confidence` is no number from 0 to 1",
        "is a entity outside entities/",
    )


@given(st.text(max_size=200), st.sampled_from(["\n", "\r\n"]))
def test_the_related_block_touches_nothing_else(words: str, newline: str) -> None:
    text = newline.join(["---", "title: X", "---", "", words.replace("\r", "").replace("\n", newline)])
    once = with_related(text, ("redis",), {"redis": "Redis"}, ("In: x",))
    assert once.startswith(text) and related_in(once) == ("redis",)
    assert hash_of(once) == hash_of(text)
    twice = with_related(once, ("a", "b"), {}, ("In: x",))
    assert twice.startswith(text) and related_in(twice) == ("a", "b")
    assert with_related(twice, ("redis",), {"redis": "Redis"}, ("In: x",)) == once


def test_text_of_a_model_is_no_structure() -> None:
    assert one_line("a\nb\u2028c\x00 [^1] <!-- x -->", 80) == "a b c x"
    assert one_line("word " * 40, 30).endswith("…") and len(one_line("x" * 90, 30)) == 30
