from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.documents.formats import parse
from memory_os.errors import DocumentError

from tests.support.pdf import pdf

NOW = 1_796_000_000.0


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "---\ntitle: From front\n---\n# Heading\n\ntext", "From front"),
        ("a.md", "intro\n\n# Überblick\n\ntext", "Überblick"),
        ("a.md", "only text", "a"),
        ("メモ.md", "本文だけ", "メモ"),
        ("a.org", "#+TITLE: Org file\n* Heading\ntext", "Org file"),
        ("a.org", "* Heading\ntext", "Heading"),
        ("a.rst", "Title\n=====\n\ntext", "Title"),
        ("a.html", "<title>Page</title><h1>Other</h1><p>text", "Page"),
        ("a.htm", "<h1>Other</h1><p>text", "Other"),
        ("script.py", "# not a title\nx = 1", "script"),
        ("Makefile", "all:\n\tmake it", "Makefile"),
        ("rows.csv", "host,port\na,1", "rows"),
    ],
)
def test_titles(name: str, text: str, title: str) -> None:
    assert parse(name, text.encode(), NOW).title == title


@pytest.mark.parametrize(
    "name", ["a.json", "a.yaml", "a.toml", "a.log", "a.py", "a.sh", "a.conf", "Dockerfile", "a.txt"]
)
def test_text_formats_keep_their_text(name: str) -> None:
    text = '{"host": "alpha",\n "port": 7333}'
    assert parse(name, text.encode(), NOW).chunks[0].text == text


def test_rows_name_their_columns_in_every_chunk() -> None:
    rows = "\n".join(f"host-{n},{7000 + n},a comment of some length" for n in range(100))
    chunks = parse("hosts.csv", f"host,port,comment\n{rows}".encode(), NOW).chunks
    assert len(chunks) > 2
    assert all(one.headings == ("host,port,comment",) for one in chunks)
    assert all(not one.text.startswith(",") for one in chunks)


@pytest.mark.parametrize("ending", ["docx", "png", "zip", "mp3"])
def test_what_is_not_supported_says_so(ending: str) -> None:
    with pytest.raises(DocumentError, match=f"{ending.upper()} is not supported"):
        parse(f"a.{ending.upper()}", b"bin\x00ary", NOW)


@pytest.mark.parametrize("ending", ["svg", "rtf", "ps"])
def test_text_that_is_none_to_a_reader_is_not_supported(ending: str) -> None:
    with pytest.raises(DocumentError, match=f"{ending.upper()} is not supported"):
        parse(f"a.{ending}", b"<svg>text</svg>", NOW)


@pytest.mark.parametrize("name", ["a.pdf", "a.txt", "a.md", "a.docx", "a"])
def test_a_pdf_is_one_whatever_its_name(name: str) -> None:
    assert "some words" in parse(name, pdf([["some words of text"]]), NOW).chunks[0].text


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.png"])
def test_text_under_another_name_is_read_and_noted(name: str) -> None:
    parsed = parse(name, "# Überblick\n\nDer Text 本文".encode(), NOW)
    assert "Der Text 本文" in parsed.chunks[0].text
    assert "is text" in parsed.notes[0]


def test_neither_a_pdf_nor_text() -> None:
    with pytest.raises(DocumentError, match="is no PDF, whatever its name says"):
        parse("a.pdf", b"\x00\x01\x02", NOW)
    with pytest.raises(DocumentError, match="empty"):
        parse("a.pdf", b"", NOW)


@pytest.mark.parametrize("name", ["page.txt", "page.md", "page", "page.pdf"])
@pytest.mark.parametrize(
    "head", ["<!DOCTYPE html>", "<html lang='en'>", "\n<!-- saved -->\n<html>", "\ufeff<?xml version='1.0'?><html>"]
)
def test_a_page_is_one_whatever_its_name(name: str, head: str) -> None:
    parsed = parse(name, f"{head}<head><title>Gateway</title></head><body><script>no()</script><p>text".encode(), NOW)
    assert parsed.title == "Gateway"
    assert parsed.chunks[0].text == "text"


def test_code_that_begins_like_a_page_is_code() -> None:
    assert "<html>" in parse("template.py", b"<html><p>text", NOW).chunks[0].text


def test_code_is_never_read_as_front_matter() -> None:
    parsed = parse("a.yaml", b"---\ndate: 2020-01-01\n---\nb: 1\n", NOW)
    assert parsed.front.created_at is None
    assert "date: 2020-01-01" in parsed.chunks[0].text


def test_front_matter_alone_is_a_document() -> None:
    parsed = parse("gateway.md", b"---\nport: 7333\n---\n", NOW)
    assert parsed.chunks[0].text == "port: 7333"
    with pytest.raises(DocumentError, match="empty"):
        parse("a.md", b"---\ntitle: nothing else\n---\n", NOW)


def test_what_was_passed_over_is_noted() -> None:
    parsed = parse("a.md", b"---\ndate: someday\n---\n" + b"text " * 100 + b"\xff", NOW)
    assert "1 characters could not be decoded" in parsed.notes
    assert "`date` is no date" in parsed.notes


@given(
    st.sampled_from(["md", "rst", "org", "html", "csv", "py", "bin"]),
    st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))),
)
def test_any_bytes_are_parsed_or_say_why(ending: str, data: bytes) -> None:
    try:
        parsed = parse(f"name.{ending}", data, NOW)
    except DocumentError as error:
        assert error.message
        return
    assert parsed.title
    assert parsed.chunks


def calls_to_parse(levels: list[int]) -> int:
    """How many functions are called for an Org file with a section at each of these levels: work, whatever the machine."""
    text = "\n".join(f"{'*' * level} Section {at}\n\nA line of text below it." for at, level in enumerate(levels))
    called = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse("deep.org", text.encode(), NOW)
    finally:
        sys.setprofile(before)
    return called


def test_headings_nested_hundreds_deep_cost_little_more_than_as_many_side_by_side() -> None:
    deep = 300
    assert calls_to_parse(list(range(1, deep + 1))) < 2 * calls_to_parse([deep] * deep)


def test_a_secret_in_a_heading_is_taken_out_of_every_passage_below_it() -> None:
    text = f"# key AKIA{'ABCDEFGH2345IJKL'}\n\n" + "\n\n".join("A sentence of this section. " * 30 for _ in range(4))
    chunks = parse("a.md", text.encode(), NOW).chunks
    assert len(chunks) > 2
    assert all("AKIA" not in " ".join(one.headings) + one.text and one.headings for one in chunks)
