from __future__ import annotations

import pytest
from memory_os.wiki.wikilinks import Wikilink, subject_key, unlinked, wikilinks


def test_links_are_found_and_code_is_not() -> None:
    text = "[[a]] [[b|B]] ![[c.png]] [[d#Part|D]] [[#here]] `[[no]]`\n```\n[[no]]\n```\n\\[[no]] [[東京|とうきょう]]"
    assert list(wikilinks(text)) == [
        Wikilink("a", "a"), Wikilink("b", "B"), Wikilink("c.png", "c.png"), Wikilink("d", "D"), Wikilink("", ""),
        Wikilink("東京", "とうきょう"),
    ]  # fmt: skip


def test_dead_links_become_words() -> None:
    assert unlinked("see [[gone|the page]] and [[there]]", {"gone"}) == "see the page and [[there]]"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Node.js", "node-JS"),
        ("STRASSE", "Straße"),
        ("Ёж", "ёж"),
        ("ａｂｃ", "abc"),
        ("مُحَمَّد", "محمد"),
        ("ﾒﾓ", "メモ"),
        ("São", "SÃO"),
    ],
)
def test_the_same_subject(one: str, other: str) -> None:
    assert subject_key(one) == subject_key(other) != ""


@pytest.mark.parametrize(("one", "other"), [("C", "C++"), ("C", "C#"), ("北京", "南京"), ("ma", "må"), ("が", "か")])
def test_another_subject(one: str, other: str) -> None:
    assert subject_key(one) != subject_key(other)


def test_a_name_of_signs_names_nothing() -> None:
    assert subject_key("—…🙂") == ""
