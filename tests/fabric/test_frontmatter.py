from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import FabricError
from memory_os.fabric import frontmatter
from memory_os.fabric.frontmatter import line, set_field, split

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("id: 12e45678", "12e45678"),
        ("id: 00123456", "00123456"),
        ("id: 2026-13-45", "2026-13-45"),
        ("id: 2026-11-02", "2026-11-02"),
        ("id: null", None),
        ("id:", None),
        ("id: true", "true"),
        ("id: [1, 2.5, null]", ["1", "2.5", None]),
        ("id: {kind: file}", {"kind": "file"}),
        ("id: !!python/object:os.system x", "x"),
        ("id: >-\n  folded\n  text", "folded text"),
    ],
)
def test_values_are_read_as_written(written: str, read: object) -> None:
    found = split(f"---\n{written}\nother: stays\n---\nbody")
    assert found.fields == {"id": read, "other": "stays"}
    assert found.body.strip() == "body"


def test_a_broken_block_is_read_line_by_line() -> None:
    found = split('---\nid: "a3f2"\nsummary: fix: the port: again\ntags:\n- one\n- "two"\nlist: [a, "b"]\n---\nbody\n')
    assert found.problem
    assert found.fields["summary"] == "fix: the port: again"
    assert found.fields["id"] == "a3f2"
    assert found.fields["tags"] == ["one", "two"]
    assert found.fields["list"] == ["a", "b"]


@pytest.mark.parametrize(
    "block", ["{" * 4000, "a: &a [*a]", "a: *nothing", "a: \x07", 'a: "\\U00110000"', "a: b\n--- \nb: c"]
)
def test_no_block_is_fatal(block: str) -> None:
    assert split(f"---\n{block}\n---\nthe body stands").body.endswith("the body stands")


def test_aliases_that_multiply_are_cut() -> None:
    levels = "\n".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9)}]" for i in range(1, 12))
    found = split(f"---\nk0: &k0 [x, x]\n{levels}\nid: ab\n---\n")
    assert found.found
    assert len(str(found.fields)) < 200_000


def test_horizontal_rules_are_not_front_matter() -> None:
    text = "Intro\n\n---\n\nMore\n\n---\nEnd"
    assert split(text).body == text
    assert split("---\nOnly prose here.\n---\nEnd").body == "---\nOnly prose here.\n---\nEnd"
    assert split("---\nid: a\nnever closed").body == "---\nid: a\nnever closed"


def test_the_body_may_hold_rules_and_crlf() -> None:
    found = split("\ufeff---\r\nid: ab\r\n---\r\none\r\n\r\n---\r\n\r\ntwo: three\r\n---\r\n")
    assert found.fields == {"id": "ab"}
    assert found.body.strip() == "one\n\n---\n\ntwo: three\n---"


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_what_is_written_is_read_back_by_both_readers(text: str, items: list[str]) -> None:
    block = f"{line('a', text)}\n{line('b', tuple(items))}\n"
    fast = frontmatter._fast(block)
    slow = split(f"---\n# a comment, so that YAML itself reads this\n{block}---\n").fields
    assert slow == {"a": text, "b": items}
    assert fast is None or fast == slow


@pytest.mark.parametrize("word", ["true", "no", "Null", "on", "y", "~"])
def test_words_other_readers_misread_are_quoted(word: str) -> None:
    assert line("a", word) == f'a: "{word}"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\nid: a\ntier: hot\n---\nbody\n", b"---\nid: a\ntier: cold\n---\nbody\n"),
        (b'---\r\ntier: "hot"  # why\r\nid: a\r\n---\r\nb\r\n', b"---\r\ntier: cold\r\nid: a\r\n---\r\nb\r\n"),
        (b"\xef\xbb\xbf---\nid: a\n---\ntier: hot\n", b"\xef\xbb\xbf---\nid: a\ntier: cold\n---\ntier: hot\n"),
        (b"---\nid: a\n---\nbad \xff\xfe\x85 bytes", b"---\nid: a\ntier: cold\n---\nbad \xff\xfe\x85 bytes"),
        ("---\nsummary: 数据库\n---\nб".encode(), "---\nsummary: 数据库\ntier: cold\n---\nб".encode()),
    ],
)
def test_one_field_changes_and_no_other_byte(before: bytes, after: bytes) -> None:
    assert set_field(before, "tier", "cold") == after


@pytest.mark.parametrize(
    "data", [b"no block", b"---\ntier: >\n  hot\n  hotter\nid: a\n---\n", b'---\n"tier": hot\n---\n']
)
def test_a_change_that_would_touch_more_is_refused(data: bytes) -> None:
    with pytest.raises(FabricError):
        set_field(data, "tier", "cold")


@given(st.binary(max_size=200), st.sampled_from(["hot", "cold", "значение", 'a "b"']))
def test_set_field_keeps_any_body(body: bytes, value: str) -> None:
    before = b"---\nid: a\ntier: warm\nsummary: b\n---\n"
    changed = set_field(before + body, "tier", value)
    assert changed.endswith(b"summary: b\n---\n" + body)
