from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.documents.decode import decode
from memory_os.errors import DocumentError

TEXT = "Größe, ação, размер, حجم, 大小, 大きさ"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    ],
)
def test_unicode_with_and_without_a_mark(data: bytes) -> None:
    assert decode(data).text == TEXT


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"text\x00text", "binary"),
        (TEXT.encode("utf-16-le"), "binary"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "pictures are not supported"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old office files are not supported"),
        (b"{\\rtf1 text}", "RTF is not supported"),
        (b"PK\x03\x04word", "not supported"),
        (("öäü" * 50).encode("latin-1"), "not text in UTF-8"),
        (TEXT.encode("shift-jis", "ignore") * 3, "not text in UTF-8"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", "private key"),
    ],
)
def test_what_is_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        decode(data)


def test_a_few_bad_bytes_are_replaced_and_counted() -> None:
    decoded = decode(b"a good line\n" * 100 + b"\xff\xfe one bad place")
    assert decoded.replaced == 2
    assert decoded.text.count("\ufffd") == 2


def test_a_replacement_character_of_the_authors_own_is_no_fault() -> None:
    assert decode("a \ufffd b".encode()).replaced == 0


def test_a_page_that_declares_its_encoding_is_believed() -> None:
    page = '<html><meta charset="iso-8859-1"><p>Größe</p>'.encode("latin-1")
    assert "Größe" in decode(page, declared=True).text
    with pytest.raises(DocumentError):
        decode(page.replace(b"iso-8859-1", b"no-such-code"), declared=True)


def test_line_ends_become_one() -> None:
    assert decode(b"a\r\nb\rc\n").text == "a\nb\nc\n"


@given(st.binary())
def test_any_bytes_are_text_or_say_why(data: bytes) -> None:
    try:
        text = decode(data, declared=True).text
    except DocumentError as error:
        assert error.message
        return
    assert text.strip()
    assert "\x00" not in text
