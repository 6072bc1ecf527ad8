"""Cutting long messages: nothing is lost, pieces have a size, code and sentences stay whole where they can."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.text.chunks import CHUNK_CHARS, CODE_CHARS, chunk_text


def packed(text: str) -> str:
    return "".join(text.split())


PIECES = st.lists(
    st.one_of(
        st.sampled_from(["\n\n", "\n", ". ", "。", "```", "```python\n", " ", "x" * 300, "字" * 300, "word " * 80]), st.text(max_size=30)
    ),
    max_size=40,
)


@given(PIECES.map("".join))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    chunks = chunk_text(text)
    assert packed("".join(chunks)) == packed(text)
    assert all(chunk.strip() for chunk in chunks)
    assert all(len(chunk) <= max(CODE_CHARS, CHUNK_CHARS * 1.2) for chunk in chunks)


def test_a_short_message_is_one_chunk() -> None:
    assert chunk_text("  one line \n") == ["one line"]
    assert chunk_text(" \n ") == []


def test_paragraphs_are_kept_together() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 100 for number in range(6)]
    assert all(any(one.strip() in chunk for chunk in chunk_text("\n\n".join(paragraphs))) for one in paragraphs)


@pytest.mark.parametrize(
    "sentence",
    ["The staging database listens on port 6380.", "Die Datenbank lauscht auf Port 6380!", "A base escuta na porta 6380?",
     "База слушает порт 6380.", "قاعدة البيانات تستمع على المنفذ 6380؟", "数据库监听六三八零端口。", "データベースはポートを待ち受ける。"],
)  # fmt: skip
def test_sentences_stay_whole_in_every_script(sentence: str) -> None:
    gap = "" if sentence[-1] in "。" else " "
    chunks = chunk_text(gap.join([sentence] * 200))
    assert len(chunks) > 1
    assert all(chunk.endswith(sentence) and chunk.startswith(sentence) for chunk in chunks)


def test_a_code_block_stays_whole_up_to_its_size() -> None:
    code = "```python\n" + "call(argument)\n" * 100 + "```"
    assert any(code in chunk for chunk in chunk_text("Before.\n\n" + "word " * 180 + f"\n\n{code}\n\nAfter it."))
    long = "```\n" + "call(argument)\n" * 1000 + "```"
    assert all(len(chunk) <= CHUNK_CHARS for chunk in chunk_text(long))


@pytest.mark.parametrize("unit", ["x", "字。", "\n", "```\n", "a. ", "``` "])
def test_a_megabyte_is_cut_in_seconds(unit: str) -> None:
    started = time.process_time()
    chunk_text(unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 10
