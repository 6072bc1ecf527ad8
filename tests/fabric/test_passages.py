from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.fabric.entry import Entry
from memory_os.fabric.passages import PIECE_CHARS, importance, passages, pieces

MARKDOWN = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=("Cs",)), max_size=400),
        st.sampled_from(
            ["# One", "## Two", "### Three", "", "```", "~~~", "- item", "a. b! c? " * 90, "数据库。" * 400]
        ),
    ),
    max_size=25,
).map("\n".join)


@given(MARKDOWN)
def test_no_word_is_lost_and_no_piece_is_long(body: str) -> None:
    found = pieces(body)
    assert "".join("".join(one.text for one in found).split()) == "".join(body.split())
    assert all(0 < len(one.text) <= PIECE_CHARS for one in found)


def test_pieces_know_their_headings() -> None:
    body = f"# Plan\n\n## Database\n\n{'Postgres. ' * 60}\n\n## Cache\n\n{'Redis. ' * 200}"
    found = pieces(body)
    assert found[0].headings == "Plan"
    assert [one.headings for one in found if "Redis" in one.text][-1] == "Plan > Cache"
    assert not any("Postgres" in one.text and "Redis" in one.text for one in found)


def test_a_hash_in_code_is_no_heading() -> None:
    found = pieces("```sh\n# not a heading\n\nls\n```")
    assert [one.text for one in found] == ["```sh\n# not a heading\n\nls\n```"]


@pytest.mark.parametrize(
    "sentence", ["数据库已经迁移。", "データを移した。", "Перенесли базу. ", "هل انتهى العمل؟ ", "Ganz fertig! "]
)
def test_long_paragraphs_are_cut_at_sentences(sentence: str) -> None:
    for one in pieces(sentence * 300):
        assert one.text.endswith(sentence.strip())


def entry(**changes: object) -> Entry:
    given_fields = {
        "id": "ab",
        "agent": "builder",
        "type": "note",
        "summary": "S",
        "body": "B",
        "created_at": 5.0,
        **changes,
    }
    return Entry(**given_fields)  # type: ignore[arg-type]


def made(one: Entry) -> list[tuple[str, str, str]]:
    found = passages(one, "builder:ab", tier="hot", training_value="", retired_at=None, own=True)
    return [(passage.title, passage.text, passage.context) for passage in found]


def test_an_entry_without_a_body_is_its_summary() -> None:
    assert made(entry(body="", tags=("db",), project="shop")) == [("S", "S", "shop db")]


def test_the_outcome_is_found_and_secrets_are_not() -> None:
    ((title, text, _),) = made(
        entry(summary="S ghp_abcdefghijklmnopqrstuvwx", outcome="It holds.", body="password=hunter2secret9")
    )
    assert "It holds." in text
    assert "hunter2secret9" not in text
    assert "ghp_abc" not in title


def test_importance_orders_by_value_and_tier() -> None:
    assert (
        importance("high", "hot")
        > importance("high", "cold")
        > importance("low", "hot")
        > importance("low", "cold")
        >= 0
    )
    assert importance("whatever", "?") == importance("", "warm")
