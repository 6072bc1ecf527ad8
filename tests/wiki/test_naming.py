"""Curation with a small model: it gives a name, code the rest."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from memory_os.config import Values
from memory_os.documents.chunk import chunk
from memory_os.errors import ModelContent
from memory_os.wiki import Wiki
from memory_os.wiki.naming import Named, draft_of, sections_of
from memory_os.wiki.schema import DEFAULT_SCHEMA, parse_schema
from support.model_server import Say

from wiki.conftest import Bench

SCHEMA = parse_schema(DEFAULT_SCHEMA)


def named(title: str, kind: str = "entity") -> Say:
    return Say(json.dumps({"title": title, "type": kind}, ensure_ascii=False))


@pytest.fixture
def small(bench: Bench) -> Bench:
    values = bench.settings.values
    given = values.model_dump(exclude_unset=True)
    given["models"]["small"] = True
    bench.settings = replace(bench.settings, values=Values.model_validate(given))
    bench.wiki = Wiki(bench.settings)
    return bench


def test_a_section_becomes_a_page_of_its_own_sentences(small: Bench) -> None:
    small.drop("store.md", "# Store\n\nValkey is a store of data. It listens on 6380.\n\n- The queue uses Valkey.\n\n```\ncode\n```\n")
    small.model.script("Valkey is a store", named("Valkey"))
    curated = small.curate("store.md")
    assert (curated.status, curated.created, curated.calls) == ("done", ["entities/valkey.md"], 1)
    text = small.text("entities/valkey.md")
    for line in ('tags: ["data"]', 'sources: ["raw/store.md"]', 'summary: "Valkey is a store of data."',
                 "- It listens on 6380. [^1]", "- The queue uses Valkey. [^1]"):  # fmt: skip
        assert line in text
    assert "code" not in text
    assert small.lint() == []


def test_the_model_sees_examples_and_no_schema(small: Bench) -> None:
    small.drop("a.md", "Valkey is a store of data.")
    small.model.script("Valkey is a store", named("Valkey"))
    small.curate("a.md")
    (request,) = small.model.requests
    assert "JSON schema" not in request.system and "maxLength" not in request.system
    assert [one["role"] for one in request.messages[1:]] == ["user", "assistant"] * 4 + ["user"]
    assert request.body["response_format"]["json_schema"]["schema"]["required"] == ["title", "type"]


def test_what_is_new_on_a_page_is_added_without_a_question(small: Bench) -> None:
    small.drop("a.md", "Valkey is a store of data.")
    small.drop("b.md", "Valkey listens on 6380. Valkey is a store of data.")
    small.model.script("Valkey", named("Valkey"), named("valkey"))
    small.curate("a.md")
    assert small.curate("b.md").merged == ["entities/valkey.md"] and len(small.asked) == 2
    text = small.text("entities/valkey.md")
    assert "- Valkey is a store of data. [^1] [^2]" in text and "- Valkey listens on 6380. [^2]" in text
    assert small.lint() == []


def test_prose_marks_the_file_as_failed(small: Bench) -> None:
    small.drop("a.md", "Valkey is a store of data.")
    small.model.script("Valkey", Say("I like turtles."), Say("I like turtles."))
    with pytest.raises(ModelContent):
        small.curate("a.md")
    assert small.wiki.failed() == ["a.md"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The collector listens on port 7411 of the lake host.", "collector"),
        ("Der Wärmepumpentarif kostet 24 Cent je Kilowattstunde.", "Wärmepumpentarif"),
        ("A Câmara de Lisboa aprovou o orçamento em novembro.", "Câmara de Lisboa"),
        ("Сервер Байкал стоит в Иркутске с марта.", "Сервер Байкал"),
        ("خادم النيل يعمل في القاهرة منذ عام.", "خادم النيل"),
        ("灯塔项目使用消息队列来保存任务。", "灯塔项目"),
        ("ランタンは取り込みファイルを三十日間保存します。", "ランタン"),
    ],
    ids=["en", "de", "pt", "ru", "ar", "zh", "ja"],
)
def test_a_name_is_one_the_text_has_and_else_the_heading(text: str, name: str) -> None:
    (part,) = sections_of(chunk(f"# 7411\n\n{text}"))

    def title(given: str) -> str:
        return draft_of(Named(title=given), part, "file.md", SCHEMA, []).title

    assert title(name) == name and title(f"1. {name}.") == name
    assert title("Redis") == "7411" and title(text) == "7411" and title(" ") == "7411"
    (bare,) = sections_of(chunk(text))
    assert draft_of(Named(title="Redis"), bare, "file.md", SCHEMA, []).title == "file.md"


def test_sections_are_short_have_one_heading_and_hold_statements_only() -> None:
    said = "".join(f"Sentence number {number} says that the value is {number}. " for number in range(60))
    text = f"# One\n\nThanks!\n\nIs it so?\n\n{said}\n\n# Two\n\n**Bold** and [a link](https://example.org/x) stand here.\n"
    parts = sections_of(chunk(text))
    assert [one.chunks[0].headings for one in parts[-2:]] == [("One",), ("Two",)]
    assert parts[-1].chunks[0].text == "Bold and a link stand here."
    lines = [line for one in parts[:-1] for line in one.chunks[0].text.splitlines()]
    assert lines == [f"Sentence number {number} says that the value is {number}." for number in range(60)]
    assert all(len(one.text) <= 700 for one in parts)


def test_tags_are_those_of_the_vocabulary_that_the_text_names() -> None:
    schema = parse_schema(DEFAULT_SCHEMA.replace("- `law`", "- `服务器`: x\n- `law`"))
    (part,) = sections_of(chunk("Data of the lawn and our 服务器在里斯本 are software."))
    assert draft_of(Named(title="lawn"), part, "f", schema, []).tags == ["software", "data", "服务器"]
