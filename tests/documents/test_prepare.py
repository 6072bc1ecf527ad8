from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.documents.prepare import CONTEXT_MAX, Piece, Prepared, layer_of, prepare, prepare_file
from memory_os.errors import BadRequest, DocumentUnreadable
from memory_os.memory import Layer, content_hash

NOW = 1_796_000_000.0
MTIME_NS = 1_790_000_000_000_000_000


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("wiki/raw/a.md", Layer.VECTORS),
        ("wiki/concepts/a.md", Layer.WIKI),
        ("wiki/entities/deep/a.md", Layer.WIKI),
        ("wiki/comparisons/茶.md", Layer.WIKI),
        ("wiki/concepts", Layer.VECTORS),
        ("concepts/a.md", Layer.VECTORS),
        ("notes/wiki/concepts/a.md", Layer.VECTORS),
        ("/elsewhere/wiki/concepts/a.md", Layer.VECTORS),
    ],
)
def test_layers(name: str, layer: Layer) -> None:
    assert layer_of(name) is layer


@pytest.mark.parametrize("text", ["key", "Schlüssel", "chave", "ключ", "مفتاح", "钥匙", "鍵です"])
def test_what_is_prepared_survives_json(text: str) -> None:
    data = (
        f"---\ndate: 2026-03-05\ntags: [a, b]\nimportance: high\n---\n# {text}\n\n{text} password=abc123xyz9".encode()
    )
    one = prepare(f"wiki/raw/{text}.md", data, MTIME_NS, NOW)
    assert Prepared.from_dict(json.loads(json.dumps(one.as_dict()))) == one
    assert (one.title, one.importance, one.secrets, one.reason) == (text, 0.75, 1, "")
    assert "abc123xyz9" not in json.dumps(one.as_dict())


@given(st.binary(), st.sampled_from(["a.md", "a.html", "a.csv", "a.org", "a"]))
def test_any_bytes_are_prepared_and_survive_json(data: bytes, name: str) -> None:
    one = prepare(name, data, MTIME_NS, NOW)
    assert bool(one.pieces) != bool(one.reason)
    assert Prepared.from_dict(json.loads(json.dumps(one.as_dict()))) == one


@pytest.mark.parametrize(
    "body",
    [{}, {"pieces": 1}, {"pieces": [{"x": 1}], "notes": []}, {"pieces": [], "notes": [], "other": 1}, {"pieces": []}],
)
def test_what_is_no_prepared_document_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        Prepared.from_dict(body)


@pytest.mark.parametrize(
    ("key", "value"), [("size", "7"), ("pieces", [{"text": 1, "context": ""}]), ("name", 1), ("day", "x")]
)
def test_values_of_another_kind_are_refused(key: str, value: object) -> None:
    body = prepare("a.md", b"text", MTIME_NS, NOW).as_dict()
    with pytest.raises(BadRequest):
        Prepared.from_dict({**body, key: value})


def test_a_passage_keeps_the_day_its_words_have() -> None:
    one = Prepared("a.md", "x", 1, MTIME_NS, pieces=(Piece("old words", "a.md"), Piece("new words", "a.md")))
    days = {content_hash("old words"): 1_700_000_000.0}
    assert [passage.created_at for passage in one.passages(days, NOW)] == [1_700_000_000.0, 1_790_000_000.0]


def test_front_matter_dates_all_of_it() -> None:
    one = prepare("a.md", b"---\ndate: 2026-03-05\n---\ntext", MTIME_NS, NOW)
    days = {content_hash("text"): 1_700_000_000.0}
    assert one.passages(days, NOW)[0].created_at == 1_772_668_800.0


def test_a_file_that_is_gone_or_no_file_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadable) as gone:
        prepare_file(tmp_path, "a.md", NOW)
    assert gone.value.gone
    os.mkfifo(tmp_path / "pipe")
    one = prepare_file(tmp_path, "pipe", NOW)
    assert (one.unreadable, one.reason, one.pieces) == (True, "is no regular file", ())


def test_it_runs_where_no_store_is(tmp_path: Path) -> None:
    """In a process of its own, as in a worker, it opens no database and writes nothing."""
    (tmp_path / "a.md").write_text("the text")
    program = (
        "import sqlite3, sys, json; sqlite3.connect = None\n"
        "from pathlib import Path\n"
        "from memory_os.documents import prepare_file\n"
        f"print(json.dumps(prepare_file(Path({str(tmp_path)!r}), 'a.md', {NOW}).as_dict()))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    assert Prepared.from_dict(json.loads(done.stdout)).pieces[0].text == "the text"
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def test_names_and_summary_of_a_page_are_context_and_no_passage() -> None:
    front = "---\ntitle: Quarzlager\ntags: [lager]\naliases: [Quarzhalle]\nconfidence: 0.90\nsummary: {0}\n---\n# Quarzlager\n\n"
    (one,) = prepare("q.md", f"{front.format('Where felt is kept.')}It burnt down.".encode(), 1, NOW).pieces
    assert one.text == "# Quarzlager\n\nIt burnt down."
    assert one.context == "q.md\nlager, Quarzhalle\nWhere felt is kept."
    (said,) = prepare("q.md", f"{front.format('It burnt down.')}It burnt down.".encode(), 1, NOW).pieces
    assert said.context == "q.md\nlager, Quarzhalle", "a summary the text repeats is in it already"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.org", "".join(f"{'*' * level} {'h' * 150} {level}\nword\n" for level in range(1, 60))),
        ("one word.md", "y" * 20_000),
        ("kanji.md", "漢" * 20_000),
        ("marks.md", "\u0301" * 20_000),
        ("code.md", f"```\n{'z' * 20_000}\n```"),
        ("rows.csv", f"{'x,' * 3000}\n" * 5),
    ],
)
def test_whatever_a_file_gives_can_be_delivered(name: str, text: str) -> None:
    prepared = prepare(name, text.encode(), MTIME_NS, NOW)
    assert len(prepared.pieces) > 1
    assert Prepared.from_dict(json.loads(json.dumps(prepared.as_dict()))) == prepared
    assert max(len(one.context) for one in prepared.pieces) <= CONTEXT_MAX
