"""Files of corpora and of own questions: what is read, and what is refused by name."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from memory_os.errors import BadRequest
from memory_os_workers.cli import main
from memory_os_workers.eval import crossed, load_corpora, load_questions
from memory_os_workers.eval.corpora import seconds_of

from workers.eval.made import ASKED_IN_GERMAN, NOTES, TALK, written


def test_a_file_of_two_corpora_plain_or_gzip(tmp_path: Path) -> None:
    plain = written(tmp_path / "made.jsonl", TALK, NOTES)
    packed = tmp_path / "made.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert load_corpora(plain) == load_corpora(packed)
    talk, notes = load_corpora(plain)
    assert (talk.name, len(talk.documents), len(talk.questions)) == ("workshop", 8, 5)
    assert {document.speaker for document in notes.documents} == {""}
    assert talk.questions[-1].evidence == {"a3", "a8"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56"),
        ("12:10 am on 1 January, 2024", "2024-01-01T00:10"),
        ("March-15-2024", "2024-03-15T12:00"),
        ("2024-02-29 07:30:00", "2024-02-29T07:30"),
        ("2024-02-29", "2024-02-29T12:00"),
        ("3rd of Sept 2021", "2021-09-03T12:00"),
    ],
)
def test_dates_as_people_write_them(text: str, expected: str) -> None:
    assert seconds_of(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("text", ["", "yesterday", "12:30", "in 2024", "May"])
def test_what_is_no_date_is_no_time(text: str) -> None:
    assert seconds_of(text) == 0.0


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "no corpus"),
        (b"{", "line 1"),
        (b"[1]", "line 1"),
        (b'{"documents": [{"id": "a"}], "queries": []}', "line 1"),
        (b'{"documents": [{"id": "a", "text": "x"}], "queries": [{"query": "q", "evidence": ["b"]}]}', "'b'"),
        (b"\x1f\x8bhalf", "read"),
        (b"\xff\xfe\x00", "read"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_the_place(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadRequest, match=named):
        load_corpora(path)


def test_one_files_questions_of_anothers_documents(tmp_path: Path) -> None:
    (notes,) = load_corpora(written(tmp_path / "notes.jsonl", NOTES))
    (german,) = load_corpora(written(tmp_path / "german.jsonl", ASKED_IN_GERMAN))
    (pair,) = crossed([notes], [german])
    assert pair.documents == notes.documents
    assert pair.questions == german.questions
    with pytest.raises(BadRequest, match="1 and 2"):
        crossed([notes], [german, german])
    (talk,) = load_corpora(written(tmp_path / "talk.jsonl", TALK))
    with pytest.raises(BadRequest, match="workshop"):
        crossed([notes], [talk])


def test_own_questions(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "questions:\n- question: Which port?\n  expect: 8443\n"
        "- {question: Wer und wann?, expect: [Orlow, im März], category: zwei}\n",
        "utf-8",
    )
    port, both = load_questions(path)
    assert (port.text, port.evidence, port.category) == ("Which port?", {"8443"}, "")
    assert (both.evidence, both.category) == ({"Orlow", "im März"}, "zwei")


@pytest.mark.parametrize("content", ["", "questions: 3", "- question: no answer", "- {question: q, expect: ''}", "{", "[]"])
def test_own_questions_of_another_shape_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content, "utf-8")
    with pytest.raises(BadRequest, match=r"mine\.yaml"):
        load_questions(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- {question: A?, expect: 1}\n- {question: Who?, answer: Mira}", r"entry 2 \(Who\?\) has no `expect`, only `question`, `answer`"),
        ("- {q: Who?, expect: Mira}", "entry 1 has no `question`, only `q`, `expect`"),
        ("- {}", "entry 1 has no `question` and no `expect`, only nothing"),
        ("entries: []", "it has no `questions`, only `entries`"),
        ("- Who?", "entry 1 is no mapping with `question` and `expect`, but 'Who"),
        ("- {question: Who?, expect: [Mira, {a: b}]}", r"entry 1 \(Who\?\) expects nothing"),
        ("- {question: Who?, expect: null}", r"entry 1 \(Who\?\) expects nothing"),
    ],
)
def test_a_wrong_key_is_named_with_its_entry(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content, "utf-8")
    with pytest.raises(BadRequest, match=said):
        load_questions(path)


def test_a_wrong_file_is_told_before_a_home_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("- {question: Who?, answer: Mira}", "utf-8")
    assert main(["--home", str(tmp_path / "nowhere"), "eval", str(path)]) == 2
    err = capsys.readouterr().err
    assert "entry 1 (Who?) has no `expect`" in err and "nowhere" not in err and err.count("\n") == 1, err
