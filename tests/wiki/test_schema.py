from __future__ import annotations

import pytest
from memory_os.errors import WikiError
from memory_os.wiki.schema import DEFAULT_SCHEMA, parse_schema


def test_the_default_is_valid_and_closed() -> None:
    schema = parse_schema(DEFAULT_SCHEMA)
    assert schema.tags["software"] == "programs, libraries, services" and len(schema.tags) == 15
    assert schema.sections["entity"] == ("Overview", "Facts", "History")
    assert schema.tag("blockchain") is None and schema.tag("") is None


@pytest.mark.parametrize(
    ("line", "tag"),
    [("- `机器学习`: ML", "机器学习"), ("* `бд` — базы", "бд"), ("- `ذاكرة`", "ذاكرة"), ("  - `メモ`: x", "メモ"),
     ("- `größe`: Maß", "größe"), ("- `ação`", "ação")],
)  # fmt: skip
def test_tags_in_any_script(line: str, tag: str) -> None:
    schema = parse_schema(DEFAULT_SCHEMA.replace("- `law`: rules, licences, rights", line))
    assert schema.tag(f"#{tag.upper()}") == tag and schema.tag(tag) == tag


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("- `law`", "- `Law And Order`", "`law-and-order`"),
        ("- `law`", "- `software`", "twice"),
        ("- `law`", "- `!!`", "no tag"),
        ("- concept: Definition, Details, Use", "", "no sections for concept"),
        ("- concept: Definition, Details, Use", "- concept: ", "needs names"),
        ("- concept: Definition, Details, Use", "- concept: Sources", "Other than"),
        ("- concept:", "- idea:", "no type 'idea'"),
    ],
)
def test_what_can_not_be_used_is_named_with_its_line_and_cure(was: str, now: str, said: str) -> None:
    with pytest.raises(WikiError, match=r"SCHEMA\.md") as raised:
        parse_schema(DEFAULT_SCHEMA.replace(was, now))
    assert said in str(raised.value)


@pytest.mark.parametrize("text", ["", "# Schema\n", "## Types\n- concept: A\n- entity: A\n- comparison: A\n"])
def test_without_tags_nothing_is_curated(text: str) -> None:
    with pytest.raises(WikiError, match="no tags"):
        parse_schema(text)


def test_a_section_the_model_made_up_is_the_first() -> None:
    schema = parse_schema(DEFAULT_SCHEMA)
    assert schema.section("entity", "facts") == "Facts"
    assert schema.section("entity", "Nonsense") == "Overview"
