from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_os.documents import pdf as module
from memory_os.documents.formats import parse
from memory_os.documents.pdf import reflowed, text_of_pdf
from memory_os.errors import DocumentError

from tests.support.pdf import pdf, scan

NOW = 1_796_000_000.0


@pytest.mark.parametrize(
    "line",
    [
        "The gateway listens on port 7333.",
        "Der Ersatzschlüssel liegt unter dem Stein.",
        "A chave reserva está debaixo da pedra.",
        "Запасной ключ лежит под камнем.",
        "المفتاح الاحتياطي تحت الحجر",
        "备用钥匙在石头下面。",
        "予備の鍵は石の下にあります。",
    ],
)
def test_text_of_any_script_is_read(line: str) -> None:
    read = text_of_pdf(pdf([[line], ["the second page"]], title=line, created="D:20260305101112+01'00'"), NOW)
    assert sorted(read.text) == sorted(f"## Page 1\n\n{line}\n\n## Page 2\n\nthe second page")
    assert read.title == line
    assert read.created_at == 1_772_705_472.0
    assert read.notes == ()


def test_a_passage_knows_its_page() -> None:
    filler = "It goes on about archives and what they hold. " * 12
    parsed = parse("book.pdf", pdf([[f"{filler} page {n} ends"] for n in range(1, 4)]), NOW)
    assert [one.headings for one in parsed.chunks] == [("Page 1",), ("Page 2",), ("Page 3",)]
    assert parsed.title == "book"


@pytest.mark.parametrize("title", ["", "untitled", "Microsoft Word - Contract.docx", "thesis.tex", "  ", "1234"])
def test_a_title_that_is_none_gives_way_to_the_name(title: str) -> None:
    assert parse("Vertrag.pdf", pdf([["some words of text"]], title=title), NOW).title == "Vertrag"


@pytest.mark.parametrize("created", ["", "D:", "D:20261399", "D:99990101", "yesterday", "D:00000000000000"])
def test_a_date_that_is_none_is_left_out(created: str) -> None:
    assert text_of_pdf(pdf([["some words of text"]], created=created), NOW).created_at is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf([["secret words"]], locked=True), "protected by a password"),
        (pdf([["some words"]])[:200], "damaged"),
        (b"%PDF-1.7\nnothing of the kind", "damaged"),
        (scan(12), "12 pages of pictures and no text; have its text recognised first"),
        (pdf([]), "damaged|pictures"),
    ],
)
def test_what_can_not_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        text_of_pdf(data, NOW)


def test_pages_without_text_are_noted() -> None:
    assert text_of_pdf(pdf([["some words of text"], [], ["7"]]), NOW).notes == ("2 pages without text",)


def test_what_is_beyond_the_limit_is_left_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_CHARS", 20)
    read = text_of_pdf(pdf([["some words of text"]] * 5), NOW)
    assert read.text.count("## Page") == 2
    assert read.notes == ("3 pages beyond what is taken of one file",)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", "brings its reader down"),
        ("import time; time.sleep(600)", "takes more than"),
    ],
)
def test_a_reader_that_dies_or_hangs_takes_nothing_along(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, reason: str
) -> None:
    reader = tmp_path / "reader.py"
    reader.write_text(program)
    monkeypatch.setattr(module, "_READER", reader)
    monkeypatch.setattr(module, "_TIMEOUT_S", 2.0)
    with pytest.raises(DocumentError, match=reason):
        text_of_pdf(pdf([["words"]]), NOW)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # no zombie is left


@given(st.integers(0, 900), st.binary(min_size=1, max_size=40))
@settings(max_examples=15)
def test_any_damage_is_text_or_a_reason(at: int, junk: bytes) -> None:
    whole = pdf([["some words of text"], ["and some more of them"]])
    try:
        read = text_of_pdf(whole[: 9 + at] + junk + whole[9 + at + len(junk) :], NOW)
    except DocumentError as error:
        assert error.message
        return
    assert read.text


def test_lines_of_a_paragraph_are_joined_and_cut_words_made_whole() -> None:
    page = "\r\n".join([
        "The archive was moved to another building in the spring, for the old one had become much too inter\ufffe",
        "esting to mice, and nobody wanted to go on reading letters that had been chewed upon by the well-",
        "known family behind the wall.",
        "A second paragraph begins here and it is long enough to fill the line up to about the very end of it",
        "and ends.",
    ])  # fmt: skip
    first, second = reflowed(page).split("\n\n")
    assert "too interesting to mice" in first
    assert "well" in first and first.endswith("behind the wall.")
    assert second.endswith("very end of it and ends.")


def test_items_stay_a_list_and_dense_scripts_are_joined_without_spaces() -> None:
    assert reflowed("• first item\n• second item") == "- first item\n- second item"
    assert (
        reflowed("予備の鍵は石の下にあります、庭の\n大きな木のそばです。")
        == "予備の鍵は石の下にあります、庭の大きな木のそばです。"
    )


def test_a_line_that_looks_like_a_heading_is_text() -> None:
    read = text_of_pdf(pdf([["# include everything that follows", "and so on it goes"]]), NOW)
    assert "\n\\# include" in read.text


@given(st.text())
def test_any_page_is_reflowed_and_keeps_its_words(text: str) -> None:
    kept = reflowed(text)
    assert sorted("".join(filter(str.isalnum, kept))) == sorted("".join(filter(str.isalnum, text)))


def test_dots_that_lead_to_a_page_number_are_one_sign() -> None:
    page = "Contents\nReading a file . . . . . . . . . . . 12\nWriting a file..................13\n"
    assert reflowed(page) == "Contents\n\nReading a file … 12\n\nWriting a file … 13"
    assert reflowed("Wait... and see. " + "." * 100_000).startswith("Wait... and see")
