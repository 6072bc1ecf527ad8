"""Evaluations through the command, over the real path: capture, ingest, index, recall, gates and budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memory_os_workers.cli import main
from support.library import Library, passage, settings_of

from workers.eval.made import ASKED_IN_GERMAN, NOTES, TALK, written


@pytest.fixture
def home(tmp_path: Path) -> Path:
    settings_of(tmp_path / "hermes")
    return tmp_path / "hermes"


@pytest.fixture
def run(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str | Path) -> dict[str, Any]:
        cache = ["--cache", str(tmp_path / "cache" / "kept.db")]
        assert main(["--home", str(home), "eval", *map(str, arguments), *cache, "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_every_figure_of_two_corpora(run: Any, tmp_path: Path, home: Path) -> None:
    file = written(tmp_path / "made.jsonl", TALK, NOTES)
    before = sorted(path for path in home.rglob("*"))
    found = run(file, "--inject")
    assert (found["questions"], found["documents"]) == (8, 11)
    assert set(found["systems"]) == {"hybrid", "dense", "lexical", "plain FTS5"} == set(found["latency_ms"])
    assert found["systems"]["hybrid"]["any_5"] == 1.0, "11 texts, 8 questions in five languages"
    assert found["systems"]["hybrid"]["mrr"] >= found["systems"]["lexical"]["mrr"]
    assert {name: part["questions"] for name, part in found["categories"].items()} == {
        "single": 3, "other language": 4, "several": 1,
    }  # fmt: skip
    assert found["session_any_5"] is None, "two sessions: the first five are all of them"
    gap = found["hybrid_minus_plain_fts5"]["any_10"]
    assert gap["mean"] >= 0 and gap["low"] is gap["high"] is None, "8 questions are too few for an interval"
    injected = found["injected"]
    assert injected["evidence_any"] >= 0.7
    assert injected["evidence_all"] <= injected["evidence_any"]
    assert 0 < injected["tokens_mean"] <= injected["tokens_largest"] <= 1200
    assert injected["unrelated_questions"] == 8
    assert injected["unrelated_injections"] == 0.0
    assert found["texts_encoded"] >= 10
    assert sorted(path for path in home.rglob("*")) == before, "nothing of the user's home is touched"

    again = run(file)
    assert again["texts_encoded"] == 0, "what was encoded once is kept by its content"
    assert again["systems"] == found["systems"]
    assert again["injected"] is None


def test_sessions_are_found_by_their_texts(
    run: Any, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = {
        "corpus": "many", "queries": [{"query": "How heavy is the kiln?", "evidence": ["k"]}],
        "documents": [
            {"id": f"{n}{half}", "session": f"S{n}", "speaker": who, "text": f"{text} {n} {half}."}
            for n in range(6) for half, who, text in (("a", "Imke", "We talked of glazes"), ("b", "Raul", "Of shelves"))
        ]
        + [{"id": "k", "session": "S3", "speaker": "Imke", "text": "The kiln weighs 240 kilos."}],
    }  # fmt: skip
    file = written(tmp_path / "many.jsonl", talk)
    assert run(file)["session_any_5"] == dict.fromkeys(("hybrid", "dense", "lexical", "plain FTS5"), 1.0)
    assert main(["--home", str(home), "eval", str(file), "--cache", str(tmp_path / "cache" / "kept.db")]) == 0
    assert "sessions" in capsys.readouterr().out


def test_questions_in_another_language_than_the_documents(run: Any, tmp_path: Path) -> None:
    notes = written(tmp_path / "notes.jsonl", NOTES)
    found = run(notes, "--cross", written(tmp_path / "german.jsonl", ASKED_IN_GERMAN))
    assert found["questions"] == 1
    assert found["systems"]["hybrid"]["any_1"] == 1.0
    assert found["systems"]["plain FTS5"]["any_1"] == 0.0


def test_own_questions_are_asked_of_a_copy_of_the_memory(run: Any, home: Path, tmp_path: Path) -> None:
    library = Library.open(home)
    for number, text in enumerate(("The gateway listens on port 8443.", "Глазурь покупаем у Орловых.", "鍵は赤い箱の中です。")):
        library.index.replace(f"message:{number}", [passage(text, f"message:{number}")])
    library.close()
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "- {question: Which port does the gateway use?, expect: '8443'}\n- {question: У кого глазурь?, expect: орловых}\n"
        "- {question: 鍵はどこ？, expect: 赤い箱}\n- {question: Who wrote the opera?, expect: nobody did}\n",
        "utf-8",
    )
    stored = (home / "memory-os" / "memory.db").read_bytes()
    found = run(mine, "--inject")
    assert (found["questions"], found["documents"]) == (4, 3)
    assert found["systems"]["hybrid"]["any_1"] == 0.75
    assert found["injected"]["evidence_any"] >= 0.5
    assert (home / "memory-os" / "memory.db").read_bytes() == stored


def test_the_table_names_every_system_and_measure(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "notes.jsonl", NOTES)
    assert main(["--home", str(home), "eval", str(file), "--inject", "--cache", str(tmp_path / "kept.db")]) == 0
    shown = capsys.readouterr().out
    for word in ("hybrid", "dense", "lexical", "plain FTS5", "any@10", "all@10", "MRR", "p95", "bootstrap", "one corpus"):
        assert word in shown


@pytest.mark.parametrize("content", ["{", '{"documents": [], "queries": []}\n{'])
def test_a_bad_file_is_one_line_and_exit_code_2(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    assert main(["--home", str(home), "eval", str(path)]) == 2
    assert "no corpus" in capsys.readouterr().err


def test_own_questions_and_corpora_are_not_mixed(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("- {question: q, expect: a}")
    file = written(tmp_path / "notes.jsonl", NOTES)
    assert main(["--home", str(home), "eval", str(mine), str(file)]) == 2
    assert "apart" in capsys.readouterr().err
