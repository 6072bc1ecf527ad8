"""scripts/compare-peers: its corpus, its measures, and a peer that really runs in the interpreter of a real Hermes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.library import real_embedder

REPOSITORY = Path(__file__).parents[3]
TEXTS = ["The kiln weighs 80 kg.", "Orlov sells us the glaze.", "The ferry leaves at six."]


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    import peers.compare

    return peers.compare


def test_the_starter_set_becomes_a_corpus_by_its_own_rules(compare: Any) -> None:
    corpus = compare.starter()
    assert len(corpus.questions) >= 45 and len(corpus.documents) >= 20
    texts = {document.id: document.text for document in corpus.documents}
    assert all(question.evidence and question.evidence <= set(texts) for question in corpus.questions)


def test_a_system_is_scored_by_the_ids_of_what_it_found(compare: Any) -> None:
    from memory_os_workers.eval.corpora import Corpus, Document, Question

    documents = tuple(Document(f"d{at}", "", 0.0, "", text) for at, text in enumerate(TEXTS))
    corpus = Corpus("c", documents, (Question("kiln?", frozenset({"d0"}), ""), Question("ferry?", frozenset({"d2"}), "")))
    system = compare.System()
    system.add(corpus, ([[0, 1], [1, 2]], [1.0, 2.0], 0.5))
    assert [one.any_1 for one in system.scores] == [1.0, 0.0] and system.scores[1].mrr == 0.5
    assert system.milliseconds == [1.0, 2.0]


def test_the_peers_hear_who_said_it(compare: Any) -> None:
    from memory_os_workers.eval.corpora import Document

    assert compare.told(Document("d", "s", 0.0, "Imke", "I fired the kiln.")) == "Imke: I fired the kiln."
    assert compare.told(Document("d", "s", 0.0, "user", "Hello.")) == compare.told(Document("d", "", 0.0, "", "Hello.")) == "Hello."
    ranked, times, _ = compare.lexical(TEXTS, ["Who sells the glaze?", "?"])
    assert ranked == [[1], []] and len(times) == 2


def test_below_the_threshold_nothing_is_found(compare: Any) -> None:
    ranked, times, _ = compare.dense(real_embedder(), TEXTS, ["Who sells us the glaze?", "xyzzy plugh"])
    assert ranked[0][0] == 1 and len(times) == 2
    vectors = real_embedder().embed_passages(TEXTS)
    for question, found in zip(("Who sells us the glaze?", "xyzzy plugh"), ranked, strict=True):
        cosines = vectors @ real_embedder().embed_query(question)
        assert set(found) == {at for at in range(3) if cosines[at] >= compare.THRESHOLD}


@pytest.mark.hermes
def test_the_holographic_provider_of_a_real_hermes_answers(compare: Any) -> None:
    """Of 0.19: 0.22 comes without it."""
    hermes = os.environ.get("MEMORY_OS_TEST_HERMES_019")
    if not hermes:
        pytest.fail("no Hermes 0.19: set MEMORY_OS_TEST_HERMES_019, or run scripts/test hermes")
    ranked, times, seconds = compare.child(str(Path(hermes).with_name("python")), "holographic", TEXTS, ["kiln weighs", "glaze Orlov"])
    assert [found[0] for found in ranked] == [0, 1] and len(times) == 2 and seconds > 0


def test_a_peer_that_fails_ends_the_comparison_with_its_words(compare: Any, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such module: peer' >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(SystemExit, match="no such module: peer"):
        compare.child(str(broken), "holographic", TEXTS, ["x"])
