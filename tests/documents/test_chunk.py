from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.documents.blocks import Kind, Syntax, blocks_of
from memory_os.documents.chunk import HARD_MAX, TARGET, Chunk, chunk, sentences, size

LINE = st.sampled_from(
    [
        "# Title", "## Section", "### Sub", "Heading", "=======", "-------", "* Org heading", "** Org sub",
        "A sentence. And another one! Is it? Yes.", "- item", "  - nested item", "1. first", "    indented",
        "```python", "```", "~~~", "| a | b |", "#+begin_src sh", "#+end_src", "", "", "", "---",
        "これは文です。次の文もあります。", "这是一个句子。还有一个！", "Это предложение. И ещё одно.",
        "| --- | :-: |", "|" + "--|" * 400, "a | b", "+---+---+", "+===+===+", "=== ===", "Code::", ".. code-block:: sh",
        "   :linenos:", "        deeper", "\t::", "هذه جملة. وهل هذه أخرى؟ نعم.", "é" * 30,
        "word " * 300, "x" * 3000, "字" * 1200, "...", "e\u0301" * 700,
    ]
)  # fmt: skip
TEXT = st.one_of(st.lists(LINE, max_size=40).map("\n".join), st.text(max_size=400))
SYNTAX = st.sampled_from(list(Syntax))


def bare(text: str) -> str:
    return "".join(text.split())


def unrepeated(chunks: list[Chunk]) -> str:
    return "\n".join(one.text[one.overlap :] for one in chunks)


@given(TEXT, SYNTAX)
def test_no_text_is_lost_and_order_is_kept(text: str, syntax: Syntax) -> None:
    assert bare(unrepeated(chunk(text, syntax))) == bare(text)


@given(TEXT, SYNTAX)
def test_no_chunk_is_too_large_or_empty(text: str, syntax: Syntax) -> None:
    for one in chunk(text, syntax):
        assert one.text.strip()
        assert size(one.text) <= HARD_MAX
        assert len(one.text) <= HARD_MAX


@given(TEXT, SYNTAX)
def test_what_repeats_is_the_end_of_the_chunk_before_or_a_tables_header(text: str, syntax: Syntax) -> None:
    chunks = chunk(text, syntax)
    before = ""
    for one in chunks:
        repeated, so_far = one.text[: one.overlap], bare(before)
        head = repeated.endswith("\n") and all(re.sub("[-=]", "", bare(line)) in so_far for line in repeated.splitlines())
        assert so_far.endswith(bare(repeated)) or head
        before += one.text[one.overlap :]


@given(TEXT, SYNTAX)
def test_the_same_text_gives_the_same_chunks(text: str, syntax: Syntax) -> None:
    assert chunk(text, syntax) == chunk(text, syntax)


@given(TEXT, SYNTAX)
def test_blocks_hold_every_character(text: str, syntax: Syntax) -> None:
    assert bare("".join(block.text for block in blocks_of(text, syntax))) == bare(text)


@given(st.text())
def test_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three? Four", 4),
        ("Eins. Zwei.", 2),
        ("Uma frase. Outra.", 2),
        ("Раз. Два!", 2),
        ("جملة أولى. هل هذه؟ نعم", 3),
        ("第一句。第二句！第三句？", 3),
        ("「そうです。」と言った。次。", 3),
        ("एक वाक्य। दूसरा।", 2),
        ("Version 1.2.3 of example.org is out", 1),
    ],
)
def test_sentences_end_in_every_script(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_headings_give_the_path() -> None:
    text = f"# Handbook\n\n{'Intro. ' * 40}\n\n## Network\n\n### Ports\n\n{'Port text. ' * 40}\n\n## Disk\n\n{'Full. ' * 60}"
    assert [one.headings for one in chunk(text)] == [
        ("Handbook",),
        ("Handbook", "Network", "Ports"),
        ("Handbook", "Disk"),
    ]
    assert "### Ports" in chunk(text)[1].text


def test_a_heading_never_stands_apart_from_its_text() -> None:
    listing = "\n".join(f"- entry number {n} of the list" for n in range(50))
    code = "x = 1\n" * 250
    chunks = chunk(f"# A\n\nshort\n\n## Entries\n\n{listing}\n\n## Code\n\n```\n{code}```")
    assert [one.text.splitlines()[0] for one in chunks] == ["# A", "## Entries", "## Code"]


def test_small_sections_share_a_chunk_below_what_they_have_in_common() -> None:
    (one,) = chunk("# Hosts\n\n## alpha\n\nport 1\n\n## beta\n\nport 2\n")
    assert one.headings == ("Hosts",)
    assert "port 1" in one.text
    assert "port 2" in one.text


def test_lists_and_code_are_kept_whole() -> None:
    items = "\n".join(f"- step {n}: restart the worker and wait" for n in range(40))
    code = "```sh\n" + "\n\n".join(f"echo {n} is a line of some length" for n in range(40)) + "\n```"
    texts = [one.text for one in chunk(f"{'Intro sentence. ' * 50}\n\n{items}\n\n{code}")]
    assert items in texts
    assert code in texts


def test_a_heading_mark_inside_code_is_no_heading() -> None:
    (one,) = chunk("# Real\n\n```sh\n# a comment\nmake\n```\n")
    assert one.headings == ("Real",)


def test_a_cut_section_repeats_one_sentence() -> None:
    text = " ".join(f"Sentence number {n} tells of the ledger." for n in range(60))
    chunks = chunk(text)
    assert len(chunks) > 2
    for before, after in itertools.pairwise(chunks):
        repeated = after.text[: after.overlap].strip()
        assert repeated.startswith("Sentence number")
        assert before.text.endswith(repeated)
        assert size(after.text) <= TARGET


ROWS = "\n".join(f"| host-{n} | {7000 + n} | the machine number {n} in the hall |" for n in range(90))
SPACED = "| Name        | Port        | What it is                         |\n|:------------|------------:|---------------------|\n"
GRID_ROWS = "\n".join(f"| host-{n} | {7000 + n} |\n+--------+------+" for n in range(60))


@pytest.mark.parametrize(
    ("syntax", "table", "head"),
    [
        (Syntax.MARKDOWN, SPACED + ROWS, "| Name | Port | What it is |\n|:---|---:|---|\n"),
        (Syntax.MARKDOWN, "Words just above.\n" + SPACED + ROWS, "| Name | Port | What it is |\n|:---|---:|---|\n"),
        (Syntax.MARKDOWN, "Name | Port | Zweck\n--- | --- | ---\n" + ROWS.replace("\n| ", "\n").lstrip("| "),
         "Name | Port | Zweck\n--- | --- | ---\n"),
        (Syntax.MARKDOWN, "| 名前 | ポート | أين |\n|---|---|---|\n" + ROWS, "| 名前 | ポート | أين |\n|---|---|---|\n"),
        (Syntax.RST, "+--------+------+\n| Name   | Port |\n+========+======+\n" + GRID_ROWS,
         "+---+---+\n| Name | Port |\n+===+===+\n"),
        (Syntax.RST, "======  =====\nName    Port\n======  =====\n" + "\n".join(f"host-{n}  {n}" for n in range(300)),
         "=== ===\nName Port\n=== ===\n"),
    ],
    ids=["padded", "below words", "without outer bars", "scripts", "grid", "columns"],
)  # fmt: skip
def test_each_piece_of_a_long_table_begins_with_its_header(syntax: Syntax, table: str, head: str) -> None:
    chunks = chunk(f"Hosts\n=====\n\n{table}\n\nAfter it.", syntax)
    assert len(chunks) > 2
    for one in chunks[1:]:
        assert one.text.startswith(head) and one.text[: one.overlap] == head
        assert size(one.text) <= TARGET
    assert bare(unrepeated(chunks)) == bare(f"Hosts\n=====\n\n{table}\n\nAfter it.")


def test_a_long_row_stays_below_its_header_and_a_wide_header_is_not_repeated() -> None:
    row = f"| key | {'a long cell ' * 90}|"
    chunks = chunk(f"| Name | Meaning |\n|---|---|\n{row}\n{row}\n{row}")
    assert [one.text.count("| Name | Meaning |") for one in chunks] == [1, 1, 1]
    wide = "| " + " | ".join(f"column number {n}" for n in range(40)) + " |\n|" + "---|" * 40
    assert not any(one.overlap for one in chunk(f"{wide}\n" + "| x " * 400 + "\n" + ROWS))


LINES = "\n".join(f"    value_{n} = compute({n})" for n in range(22))
LONG_CODE = "\n\n".join(f"    def step_{n}():\n" + "\n".join(f"        run({n}, {k})  # a line of code. And more" for k in range(6))
                         for n in range(12))  # fmt: skip


@pytest.mark.parametrize(
    "opening", ["An example::", "::", ".. code-block:: python", ".. code-block:: python\n   :linenos:\n   :caption: It. Is."]
)
def test_literal_blocks_of_rst_are_kept_whole_over_blank_lines(opening: str) -> None:
    code = f"{LINES}\n\n\n{LINES}\n\n    # a comment. Another one. And a third"
    assert TARGET < size(code) < HARD_MAX
    chunks = chunk(f"Title\n=====\n\n{'Before it. ' * 60}\n\n{opening}\n\n{code}\n\n{'After it. ' * 60}", Syntax.RST)
    assert any(code.strip() in one.text for one in chunks)


def test_longer_code_is_cut_at_blank_lines_and_prose_of_a_note_between_sentences() -> None:
    chunks = chunk(f"Steps::\n\n{LONG_CODE}\n", Syntax.RST)
    assert len(chunks) > 3
    assert all(one.text.lstrip().startswith("def step_") for one in chunks[1:])
    note = ".. note::\n\n   " + "A sentence of a note. " * 100
    assert any(one.overlap for one in chunk(note, Syntax.RST))


@pytest.mark.parametrize("script", ["ascii", "cjk"])
def test_chunks_are_near_their_target(script: str) -> None:
    text = "A sentence of some length. " * 400 if script == "ascii" else "これは普通の長さの文です。" * 400
    lengths = [len(one.text) for one in chunk(text)][:-1]
    low, high = (700, 900) if script == "ascii" else (300, 400)
    assert all(low <= length <= high for length in lengths)


def test_a_long_page_is_cut_to_its_last_paragraph() -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "It goes on about the archive. " * 8 for n in range(250))
    assert len(text) > 60_000
    chunks = chunk(text + "\n\nThe spare key lies under the third stone.")
    assert "third stone" in chunks[-1].text


@pytest.mark.parametrize(
    "text", ["." * 200_000, "# " + " " * 200_000 + "x", "[" * 200_000, "字" * 200_000, "- " * 100_000,
             "|-|-" + " " * 200_000 + "x", "a|b\n|-|" + " " * 200_000 + "|-", "= " * 100_000, "+-" * 100_000 + "\nx",
             ":\n" * 50_000, "x::\n" + "\n" * 200_000 + "  y"]
)  # fmt: skip
def test_odd_text_is_cut_in_reasonable_time(text: str) -> None:
    for syntax in (Syntax.MARKDOWN, Syntax.RST):
        assert bare(unrepeated(chunk(text, syntax))) == bare(text)


@pytest.mark.parametrize(
    ("syntax", "text", "names"),
    [
        (Syntax.MARKDOWN, "Title\n=====\n\ntext\n\nSub\n---\n\nmore", ["Title", "Sub"]),
        (Syntax.MARKDOWN, "para one\npara two\n---\nnext", []),
        (Syntax.MARKDOWN, "#hashtag is no heading\n\n## Real ##", ["Real"]),
        (Syntax.RST, "=====\nTitle\n=====\n\ntext\n\nSub\n---\n\nmore", ["Title", "Sub"]),
        (Syntax.ORG, "* Top\ntext\n** Below\n#+begin_src sh\n* not one\n#+end_src", ["Top", "Below"]),
        (Syntax.PLAIN, "# a comment\ndef f():\n    pass", []),
        (Syntax.MARKDOWN, "# Überblick\n\n## 概要\n\n### Обзор", ["Überblick", "概要", "Обзор"]),
    ],
)
def test_headings_by_syntax(syntax: Syntax, text: str, names: list[str]) -> None:
    assert [block.heading for block in blocks_of(text, syntax) if block.kind is Kind.HEADING] == names
