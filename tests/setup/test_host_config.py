"""Edits of the host's config.yaml: the data as wanted, everything else as the user wrote it."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import HostError
from memory_os_workers.setup.host_config import (
    disable_plugin,
    drop_emptied,
    enable_plugin,
    is_enabled,
    parse,
    provider_of,
)

KEY = "memory-os"

LAYOUTS = [
    "",
    "# only a comment\n",
    "model: x\n",
    "model: x",
    "\ufeffmodel: x\n",
    "model: x\r\n",
    "plugins:\n",
    "plugins:   # mine\n",
    "plugins:\n    enabled: [foo]   # mine\n",
    "plugins:\n  enabled: []\n",
    "plugins:\n  enabled:\n",
    "plugins:\n  enabled:\n  - a # x\n  - b # y\n# end\nz: 1\n",
    "plugins:\r\n  enabled:\r\n    - a\r\nm: 1\r\n",
    "plugins:\n  entries: {}\n",
    "memory:\n  provider: ''  # none\n  x: 1\n",
    "memory:\n  provider:\n",
    "memory:\n  # first\n  x: 1\n",
    "memory:\n  provider: mem0\n",
    "on: yes\nport: 0o17\nlong: " + "word " * 60 + "\nquoted: 'it''s'\nempty: ~\n",
    "b: &a\n  x: 1\nc: *a\nplugins:\n  enabled: [p]\n",
]
# Layouts that only the round trip through ruamel.yaml can edit.
UNUSUAL = [
    "plugins: {}\n",
    "plugins:\n  enabled:\n    [a,\n     b]\n",
    "plugins:\n  enabled:\n    - 'a'\n    - >-\n      long\n",
    "plugins: {enabled: [a], disabled: [memory-os]}\n",
    "memory: {}\n",
]


@pytest.mark.parametrize("text", [*LAYOUTS, *UNUSUAL])
def test_enabling_lists_the_plugin_and_changes_no_other_value(text: str) -> None:
    edit = enable_plugin(text, KEY)
    assert is_enabled(edit.text, KEY)
    before, after = parse(text), parse(edit.text)
    for section in ("plugins", "memory"):
        for key, value in (before.get(section) or {}).items():
            if (section, key) not in (("plugins", "enabled"), ("plugins", "disabled"), ("memory", "provider")):
                assert after[section][key] == value
        before.pop(section, None), after.pop(section, None)
    assert before == after


@pytest.mark.parametrize("text", LAYOUTS)
def test_every_line_the_user_wrote_stays(text: str) -> None:
    """At most the one line that held the value changes, and lines are added."""
    edited = enable_plugin(text, KEY).text
    removed = [line for line in difflib.ndiff(text.split("\n"), edited.split("\n")) if line.startswith("- ")]
    values = ("enabled:", "provider:", "model: x", "# only", "plugins:")
    assert all(any(value in line for value in values) or not line[2:].strip() for line in removed)
    assert text.count("#") == edited.count("#")
    assert edited.startswith(text.split("\n")[0].rstrip("\r"))


@pytest.mark.parametrize("text", [*LAYOUTS, *UNUSUAL])
def test_disabling_leaves_the_same_data(text: str) -> None:
    edit = enable_plugin(text, KEY)
    left = parse(disable_plugin(edit.text, KEY, denied_before=edit.undenied, was_provider=edit.provider))
    before = parse(text)
    for name in ("enabled", "disabled"):
        assert ((left.get("plugins") or {}).get(name) or []) == ((before.get("plugins") or {}).get(name) or [])
    assert provider_of(disable_plugin(edit.text, KEY)) == provider_of(text)


def test_a_second_enabling_changes_nothing() -> None:
    once = enable_plugin("model: x\n", KEY).text
    assert enable_plugin(once, KEY).text == once


def test_the_users_provider_stays() -> None:
    edit = enable_plugin("memory:\n  provider: mem0\n", KEY)
    assert not edit.provider
    assert provider_of(edit.text) == "mem0"
    assert provider_of(disable_plugin(edit.text, KEY)) == "mem0"


def test_crlf_stays_crlf() -> None:
    edited = enable_plugin("model: x\r\nplugins:\r\n  enabled:\r\n    - a\r\n", KEY).text
    assert "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "keys and values"),
        ("plugins:\n  enabled: '[\"memory-os\"]'\n", "not a list"),
        ("plugins: yes please\n", "not a mapping"),
        ("a: [\n", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, said: str) -> None:
    with pytest.raises(HostError, match=said):
        enable_plugin(text, KEY)


names = st.lists(st.from_regex(r"\A[a-z][a-z0-9/_-]{0,12}\Z").filter(lambda name: name != KEY), max_size=4, unique=True)


@given(names, st.booleans(), st.sampled_from(["\n", "\r\n"]), st.integers(1, 6))
def test_any_list_of_plugins_keeps_its_order(listed: list[str], flow: bool, newline: str, indent: int) -> None:
    pad = " " * indent
    body = f"{pad}enabled: [{', '.join(listed)}]\n" if flow else f"{pad}enabled:\n" + "".join(
        f"{pad}- {name}\n" for name in listed
    )
    text = f"# top\nplugins:\n{body}# end\nz: 1\n".replace("\n", newline)
    edit = enable_plugin(text, KEY)
    assert parse(edit.text)["plugins"]["enabled"] == [*listed, KEY]
    assert (parse(disable_plugin(edit.text, KEY))["plugins"]["enabled"] or []) == listed
    assert "# top" in edit.text and "# end" in edit.text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_sections_that_setup_made_go_when_they_end_up_empty(newline: str) -> None:
    """Also when the host has written a section of its own since, so that the file can't be put back as it was."""
    before = newline.join(["# mine", "model:", "  default: m", ""])
    edited = enable_plugin(before, "memory-os", as_provider=True).text
    since = edited + newline.join(["telemetry:", "  offered: true", ""])
    left = drop_emptied(disable_plugin(since, "memory-os"), before)
    assert left == before + newline.join(["telemetry:", "  offered: true", ""])


def test_sections_that_were_there_or_hold_more_stay() -> None:
    before = "plugins:\n  enabled: []\n"
    edited = enable_plugin(before, "memory-os", as_provider=True).text
    grown = edited.replace("memory:\n", "memory:\n  nudge_interval: 5\n")
    left = parse(drop_emptied(disable_plugin(grown, "memory-os"), before))
    assert left["plugins"] == {"enabled": []}
    assert left["memory"]["nudge_interval"] == 5
