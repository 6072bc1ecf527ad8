from __future__ import annotations

import json

import pytest
from memory_os.facts.tools import ACTIONS, VERDICTS
from memory_os.memory import Layer
from memory_os.recall.query import layers_of
from memory_os.text import token_estimate
from memory_os_plugin import hooks, schemas
from ruamel.yaml import YAML

from plugin.loading import FOLDER

MANIFEST = YAML(typ="safe").load((FOLDER / "plugin.yaml").read_text("utf-8"))


def test_the_manifest_names_what_is_registered() -> None:
    assert MANIFEST["provides_tools"] == list(schemas.NAMES)
    assert MANIFEST["provides_hooks"] == list(hooks.HOOKS)
    assert (MANIFEST["name"], MANIFEST["kind"], MANIFEST["manifest_version"]) == ("memory-os", "standalone", 1)


@pytest.mark.parametrize("schema", schemas.SCHEMAS, ids=schemas.NAMES)
def test_the_first_sentence_fits_where_newer_hosts_show_only_that(schema: dict[str, str]) -> None:
    first = schema["description"].partition(". ")[0]
    assert 20 <= len(first) <= 60


@pytest.mark.parametrize("schema", schemas.SCHEMAS, ids=schemas.NAMES)
def test_what_is_required_exists(schema: dict[str, dict[str, list[str]]]) -> None:
    assert set(schema["parameters"]["required"]) <= set(schema["parameters"]["properties"])


def test_the_fact_tools_offer_what_the_service_takes() -> None:
    by_name = {schema["name"]: schema["parameters"]["properties"] for schema in schemas.SCHEMAS}
    assert set(by_name["fact_store"]["action"]["enum"]) == set(ACTIONS)
    assert set(by_name["fact_store"]["verdict"]["enum"]) == set(VERDICTS)
    assert {"other_id", "valid_from", "valid_to"} <= set(by_name["fact_store"])


def test_the_layers_a_model_may_name_are_known_and_wiki_is_one() -> None:
    by_name = {schema["name"]: schema["parameters"]["properties"] for schema in schemas.SCHEMAS}
    named = by_name["qdrant_search"]["layers"]["items"]["enum"]
    assert {layer for name in named for layer in layers_of([name])} == set(Layer)
    assert layers_of(["wiki"]) == (Layer.WIKI,)


def test_all_of_them_cost_little() -> None:
    assert token_estimate(json.dumps(schemas.SCHEMAS, ensure_ascii=False)) <= 1740


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("fabric_recall", "query max_results agent project"),
        (
            "fabric_write",
            "type content summary tags status outcome review_of revises customer_id assigned_to training_value verified"
            " evidence source_tool artifact_paths",
        ),
        ("fabric_search", "query"),
        ("fabric_pending", "customer_id"),
        ("fabric_curate", "entry_id training_value"),
        ("fabric_telemetry", "last_n"),
        ("qdrant_search", "query limit cursor layers"),
        ("fact_store", "action content query entity entities fact_id category tags min_trust limit"),
        ("fact_feedback", "action fact_id"),
    ],
)
def test_prompts_written_for_icarus_and_holographic_keep_working(tool: str, parameters: str) -> None:
    (schema,) = [each for each in schemas.SCHEMAS if each["name"] == tool]
    assert set(parameters.split()) <= set(schema["parameters"]["properties"])
