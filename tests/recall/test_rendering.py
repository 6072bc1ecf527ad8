"""The block as the model reads it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.memory import Author, Layer
from memory_os.recall.rendering import LEGEND, PREAMBLE, day_of, render_block, render_line
from memory_os.recall.selection import Line
from memory_os.text.fence import strip_fence

from recall.made import passage, scored

DAY_ONE = 1_762_041_600.0  # 2025-11-02
HANDLE = re.compile(r"\((?:[wfsbd]):[a-z2-7]{8}\)")


def line(text: str = "tea", conflicts: tuple[str, ...] = (), **fields: object) -> Line:
    one = passage(text, created_at=DAY_ONE, **fields)  # type: ignore[arg-type]
    return Line(scored(one), text, conflicts)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "user said"),
        ({"author": Author.AGENT}, "agent answered"),
        ({"layer": Layer.FACTS, "author": Author.AGENT, "trust": 0.618}, "agent noted, trust 0.62"),
        ({"layer": Layer.FACTS}, "user noted"),
        ({"layer": Layer.FACTS, "author": Author.DERIVED}, "derived"),
        ({"layer": Layer.VECTORS, "source": "document:a/b.md", "author": Author.DOCUMENT}, "from a/b.md"),
        ({"layer": Layer.VECTORS, "title": "Runbook", "author": Author.DOCUMENT}, "from Runbook"),
        ({"layer": Layer.FABRIC, "kind": "decision", "title": "Queue"}, "decision (Queue)"),
        ({"layer": Layer.FABRIC}, "note"),
        ({"layer": Layer.WORKSPACE, "author": Author.AGENT}, "agent noted"),
    ],
)
def test_a_line_is_dated_attributed_and_quoted(fields: dict[str, object], said: str) -> None:
    one = line("the words", **fields)
    assert render_line(one) == f'- ({one.scored.passage.handle}) 2025-11-02, {said}: "the words"'


def test_a_contradiction_names_the_other_line() -> None:
    assert 'differs from f:abcdefgh, f:bcdefghi: "' in render_line(line(conflicts=("f:abcdefgh", "f:bcdefghi")))


def test_the_older_of_two_says_so_and_so_does_what_a_tool_spoke_against() -> None:
    one = replace(line(conflicts=("f:abcdefgh",)), older=True, note="terminal said otherwise on 2026-11-30")
    assert ', differs from f:abcdefgh, the older, terminal said otherwise on 2026-11-30: "' in render_line(one)


def test_a_first_turns_block_explains_its_labels_and_is_stripped_whole() -> None:
    block = render_block([line("a turn")], first_turn=True)
    assert block.splitlines()[2] == LEGEND and LEGEND not in render_block([line("a turn")])
    assert strip_fence(f"said\n{block}") == "said"
    unfenced = "\n".join(block.splitlines()[1:-1])
    assert strip_fence(f"said\n{unfenced}") == "said"


def test_groups_stand_in_their_order_with_the_lines_of_a_first_turn() -> None:
    block = render_block(
        [line("a turn"), line("a document", layer=Layer.VECTORS), line("a fact", layer=Layer.FACTS)],
        {"workspace": ["- learned"], "pending": ["- open"], "nothing": []},
    )
    rows = block.splitlines()
    assert rows[:2] == ["<memory-context>", PREAMBLE]
    assert rows[-1] == "</memory-context>"
    assert [row for row in rows if row.startswith("[")] == ["[facts]", "[sessions]", "[qdrant]", "[workspace]", "[pending]"]


def test_nothing_to_show_is_no_block() -> None:
    assert render_block([]) == ""
    assert render_block([], {"workspace": [], "pending": []}) == ""


HOSTILE = st.lists(
    st.sampled_from([*'\n\r\x0b\x0c\x1c\u2028\u2029"-()[]: <>/', "- (f:abcdefgh) ", "[facts]", "word"]), max_size=40
).map("".join)


@given(HOSTILE, HOSTILE, HOSTILE, st.sampled_from(list(Layer)))
def test_no_text_or_title_can_pass_for_a_line_of_the_block(text: str, title: str, kind: str, layer: Layer) -> None:
    one = line("w", layer=layer, title=title, kind=kind, source="document:\n[facts]\n- (f:abcdefgh)")
    rows = render_block([Line(one.scored, text)]).splitlines()
    assert rows[0] == "<memory-context>"
    assert rows[-1] == "</memory-context>"
    assert rows[2].startswith("[")
    assert rows[3].startswith(f"- ({one.scored.passage.handle}) ")
    assert all(row.startswith("  ") for row in rows[4:-1])


def test_words_of_a_quoted_text_are_not_changed() -> None:
    text = 'def f():\n    return "x"'
    assert render_line(line(text)).endswith(': "def f():\n      return "x""')


def test_a_title_is_kept_short() -> None:
    assert len(render_line(line(layer=Layer.VECTORS, title="long title " * 900))) < 250


def test_a_block_of_ours_is_taken_out_of_what_is_captured_later() -> None:
    block = render_block([line("port 8443\nand a second row", layer=Layer.FACTS, author=Author.AGENT)])
    assert strip_fence(f"before\n{block}\nafter") == "before\n\nafter"
    assert HANDLE.search(block)


@pytest.mark.parametrize(("seconds", "day"), [(0.0, "1970-01-01"), (-5.0, "1970-01-01"), (DAY_ONE, "2025-11-02")])
def test_days(seconds: float, day: str) -> None:
    assert day_of(seconds) == day
