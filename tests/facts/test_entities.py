from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.facts.entities import MAX_ENTITIES, detect_entities, distinct, entity_key, mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The build of project Alpha runs on Mondays", ["Alpha", "Mondays"]),
        ("We moved to Blue Harbor last week", ["Blue Harbor"]),
        ("Deploys use GitHub and the DNS of k8s", ["GitHub", "DNS"]),
        ("JavaScript first, then iPhone", ["JavaScript", "iPhone"]),
        ('The codename is "silent river"', ["silent river"]),
        ("The codename is `silent river`", ["silent river"]),
        ("Ask @ops-lead before a release", ["@ops-lead"]),
        ("Mail goes to box@example.org", ["box@example.org"]),
        ("Settings are in config.yaml and src/main.py", ["config.yaml", "src/main.py"]),
        ("See ./docs/layers for max_tokens", ["./docs/layers", "max_tokens"]),
        ("Das Projekt läuft im Rechenzentrum „Nordlicht“", ["Projekt", "Rechenzentrum", "Nordlicht"]),
        ("O projeto usa o servidor da Alfa", ["Alfa"]),
        ("Проект называется «Северный ветер» и живёт на Redis", ["Северный ветер", "Redis"]),
        ("Сервис стоит в Берлине", ["Берлине"]),
        ("المشروع اسمه «الشراع» على Redis", ["الشراع", "Redis"]),
        ("项目《远航》用Redis存储", ["远航", "Redis"]),
        ("「青空」プロジェクトはRedisを使う", ["青空", "Redis"]),
        ("Redisを使う", ["Redis"]),
        ("The disk has 4 GB and 512MB", []),
        ("The user prefers tea. Coffee is disliked.", []),
        ("用户喜欢喝茶", []),
        ("", []),
    ],
)
def test_names_are_found_by_the_marks_writers_set(text, expected):
    assert detect_entities(text) == expected


def test_a_capital_at_the_head_of_a_sentence_says_nothing():
    assert detect_entities("Tea is preferred. Coffee is not.\nWater is fine.") == []


@given(st.text(max_size=300))
def test_detection_takes_any_text(text):
    found = detect_entities(text)
    assert len(found) <= MAX_ENTITIES
    assert len({entity_key(name) for name in found}) == len(found)


def test_a_long_text_is_read_in_linear_time():
    for text in ("a/" * 2000, "." * 4000, "@" * 4000, '"' * 4000, "Aa" * 2000, "a." * 2000, "a-" * 2000):
        detect_entities(text)


def test_spellings_of_one_name_share_a_key():
    assert entity_key("  Blue   Harbor ") == entity_key("blue harbor")
    assert entity_key("@ops") == entity_key("Ops")
    assert entity_key("Ｒｅｄｉｓ") == "redis"


def test_distinct_keeps_the_first_spelling():
    assert distinct(["Redis", "redis", "", "  ", "@"]) == ["Redis"]
    assert distinct(["x" * 500]) == []


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Go is used here", "go", True),
        ("Going there", "go", False),
        ("本番のRedisは東京", "redis", True),
        ("本番のRedisは東京", "東京", True),
        ("сервер в Берлине", "берлин", False),
        ("يعمل الخادم هنا", "الخادم", True),
        ("anything", "", False),
        ("anything", "@", False),
        ("C++ is fast", "c++", True),
    ],
)
def test_a_mention_is_a_whole_word(text, name, expected):
    assert mentions(text, name) is expected
