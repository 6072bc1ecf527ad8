from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.fabric.entry import (
    TIERS,
    TRAINING_VALUES,
    TYPES,
    Entry,
    clean,
    iso,
    moment,
    one_line,
    parse,
    render,
    word,
)

NOW = 1_790_000_000.0
ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=120)
LINES = ANY.map(one_line)
NAMES = LINES.filter(bool)
ITEMS = st.lists(NAMES, max_size=3).map(tuple)

ENTRIES = st.builds(
    Entry,
    id=NAMES,
    agent=LINES,
    type=st.sampled_from([*TYPES, "adr", "Протокол"]),
    summary=NAMES,
    body=ANY.map(clean),
    created_at=st.integers(1, 4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000),
    platform=LINES,
    status=LINES.map(word),
    outcome=LINES,
    tier=st.sampled_from(["", *TIERS]),
    tags=ITEMS,
    project=LINES,
    session=LINES,
    review_of=LINES,
    revises=LINES,
    curates=LINES,
    customer_id=LINES,
    assigned_to=LINES,
    training_value=st.sampled_from(["", *TRAINING_VALUES]),
    verified=LINES,
    evidence=LINES,
    source_tool=LINES,
    artifact_paths=ITEMS,
    links=ITEMS,
)


@given(ENTRIES)
def test_an_entry_survives_its_file(entry: Entry) -> None:
    parsed = parse(render(entry), path="a.md", modified=NOW)
    assert parsed.entry == entry
    assert (parsed.replaced, parsed.problem, parsed.excluded) == (0, "", False)


@given(st.binary(max_size=400))
def test_any_bytes_are_an_entry(data: bytes) -> None:
    for given_bytes in (data, b"---\n" + data + b"\n---\nbody", b"---\nid: " + data + b"\n---\n"):
        entry = parse(given_bytes, path="notes/x.md", modified=NOW).entry
        assert entry.id
        assert entry.summary
        render(entry).decode("utf-8")


ICARUS = """---
id: "a3f29b01"
agent: "icarus"
platform: "telegram"
timestamp: "2026-05-05T01:23:45Z"
type: "decision"
tier: "warm"
summary: "Chose PostgreSQL for the user service"
project_id: "hermes-agent"
session_id: "20260505_012040"
tags: ["database", "decision"]
status: "completed"
review_of: "scout:77c3e1aa"
training_value: "high"
verified: "true"
artifact_paths: ["docs/adr/7.md"]
---
## Context
It scales.
"""


def test_icarus_entries_are_read() -> None:
    entry = parse(ICARUS.encode(), path="icarus-decision-x-1a2b.md", modified=NOW).entry
    assert entry.ref == "icarus:a3f29b01"
    assert entry.created_at == 1_777_944_225.0
    assert (entry.project, entry.session, entry.tier) == ("hermes-agent", "20260505_012040", "warm")
    assert entry.tags == ("database", "decision")
    assert entry.review_of == "scout:77c3e1aa"
    assert entry.body == "## Context\nIt scales."


def test_evidence_lists_and_prefixed_ids_are_read() -> None:
    text = (
        "---\nid: icarus:a3f29b01b1c2\nagent: builder\ntimestamp: 2026-05-05T01:23:45Z\ntype: decision\nsummary: s\n"
        "evidence:\n  - kind: file\n    ref: docs/a.md\n  - kind: url\n---\nbody"
    )
    entry = parse(text.encode(), path="2026/05/x.md", modified=NOW).entry
    assert entry.id == "icarus:a3f29b01b1c2"
    assert entry.evidence == "kind: file; ref: docs/a.md, kind: url"


@pytest.mark.parametrize("value", ["42", "2026-01-01", "[a, b]", "null", "1.5", "{a: b}", "2026-13-99"])
@pytest.mark.parametrize("name", ["id", "agent", "type", "summary", "timestamp", "status", "tags", "review_of", "tier"])
def test_fields_of_any_type_break_nothing(name: str, value: str) -> None:
    text = f"---\n{name}: {value}\nevidence: kept\n---\nThe body."
    entry = parse(text.encode(), path="a.md", modified=NOW).entry
    assert (entry.body, entry.evidence) == ("The body.", "kept")


@pytest.mark.parametrize(
    "line",
    [
        "# Deployment am Freitag", "# Notas da reunião", "# Заметки о сервере", "# ملاحظات الخادم",
        "# 服务器笔记", "# サーバーのメモ", "# Server notes",
    ],
)  # fmt: skip
def test_a_persons_own_note_is_an_entry(line: str) -> None:
    first = parse(f"{line}\n\nText".encode(), path="daily/note.md", modified=NOW).entry
    later = parse(f"{line}\n\nOther text".encode(), path="daily/note.md", modified=NOW + 9).entry
    assert first.summary == line.removeprefix("# ")
    assert first.id == later.id
    assert (first.agent, first.type, first.created_at) == ("", "note", NOW)


def test_encodings() -> None:
    text = "---\r\nsummary: Größe\r\n---\r\nKörper\r\n"
    for data in (text.encode("utf-8-sig"), text.encode("utf-16")):
        parsed = parse(data, path="a.md", modified=NOW)
        assert (parsed.entry.summary, parsed.entry.body, parsed.replaced) == ("Größe", "Körper", 0)
    broken = parse(text.encode("latin-1"), path="a.md", modified=NOW)
    assert broken.replaced == 3
    assert broken.entry.body == "K\ufffdrper"


def test_cold_folder_and_opt_out() -> None:
    assert parse(b"x", path="cold/a.md", modified=NOW).entry.tier == "cold"
    assert parse(b"---\nfabric: false\n---\nx", path="a.md", modified=NOW).excluded


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-05-05T01:23:45Z", 1_777_944_225.0),
        ("2026-05-05 03:23:45+02:00", 1_777_944_225.0),
        ("2026-05-05T01:23:45.250Z", 1_777_944_225.25),
        ("2026-05-05", 1_777_939_200.0),
        ("20260505", 1_777_939_200.0),
        ("1777944225", 1_777_944_225.0),
        ("1777944225000", 1_777_944_225.0),
        ("2026-13-45", None),
        ("yesterday", None),
        ("nan", None),
        ("-5", None),
        ("9999-12-31T23:59:59-12:00", None),
    ],
)
def test_moments(text: str, seconds: float | None) -> None:
    assert moment(text) == seconds


@given(st.text(max_size=30))
def test_any_moment_can_be_shown(text: str) -> None:
    found = moment(text)
    assert found is None or iso(found)
