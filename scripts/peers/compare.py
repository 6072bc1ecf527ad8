"""Runs every system over the same corpora and prints one table. The peers get each text as one memory, with who said it."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from memory_os.config import Settings, load_settings
from memory_os.embedding import fingerprint_of, load_embedder
from memory_os_workers.ab.questions import STARTER, is_right, load
from memory_os_workers.eval import evaluate, load_corpora
from memory_os_workers.eval.corpora import Corpus, Document
from memory_os_workers.eval.corpora import Question as Asked
from memory_os_workers.eval.floor import PlainFts5
from memory_os_workers.eval.kept import KeptEncoder
from memory_os_workers.eval.measures import DEPTH, Difference, Scores, difference, mean_of, percentile, scores_of

from peers.served_embeddings import served

# What the ancestor of this product had: a hit below it was none. For calibrated cosines, where unrelated texts are near 0.
THRESHOLD = 0.3
_HERE = Path(__file__).parent
_PEER_TIMEOUT_S = 3600.0

# (texts, questions) -> positions of the texts found for each question, best first; milliseconds of each; seconds to learn.
Answers = tuple[list[list[int]], list[float], float]


@dataclass
class System:
    """One system over all questions."""

    scores: list[Scores] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    learning_s: float = 0.0

    def add(self, corpus: Corpus, answers: Answers) -> None:
        ranked, times, seconds = answers
        self.milliseconds += times
        self.learning_s += seconds
        for question, places in zip(corpus.questions, ranked, strict=True):
            found = [frozenset([corpus.documents[at].id]) for at in places[:DEPTH]]
            self.scores.append(scores_of(found, question.evidence))


def main() -> None:
    wanted = _arguments()
    corpora = [corpus for path in wanted.files for corpus in load_corpora(path)] or [starter()]
    corpora = corpora[: wanted.limit] if wanted.limit else corpora
    with tempfile.TemporaryDirectory(prefix="mos-peers-") as folder:
        settings = load_settings({}, hermes_home=Path(folder))
        found = evaluate(corpora, settings, wanted.cache or Path(folder) / "kept.db", _progress)
        systems = {
            "memory-os": System(found.scores["hybrid"], found.milliseconds["hybrid"]),
        }
        with closing(_encoder(settings, wanted.cache or Path(folder) / "kept.db")) as encoder:
            _run_peers(wanted, corpora, systems, encoder)
    _print(systems, sum(len(corpus.documents) for corpus in corpora))


def starter() -> Corpus:
    """The starter set of `memory-os ab`: its memories, and the questions that one of them answers by the set's own rule."""
    chosen = load(STARTER)
    documents = tuple(Document(str(at), "", 0.0, "", text) for at, text in enumerate(chosen.memories))
    asked = []
    for question in chosen.questions:
        holding = frozenset() if question.free else frozenset(one.id for one in documents if is_right(question, one.text))
        if holding:
            asked.append(Asked(question.ask, holding, ""))
    return Corpus("starter", documents, tuple(asked))


def _run_peers(wanted: argparse.Namespace, corpora: Sequence[Corpus], systems: dict[str, System], encoder: KeptEncoder) -> None:
    peers: list[tuple[str, Callable[[list[str], list[str]], Answers]]] = [
        ("plain FTS5", lexical),
        (f"one dense vector, cosine ≥ {THRESHOLD}", lambda texts, questions: dense(encoder, texts, questions))
    ]
    if wanted.holographic:
        peers.append(("Hermes holographic", lambda texts, questions: child(wanted.holographic, "holographic", texts, questions)))
    with _endpoint(wanted, encoder) as address:
        if address:
            peers.append(("mem0 (infer=False)", lambda texts, questions: child(wanted.mem0, "mem0", texts, questions, address)))
        for name, answers in peers:
            system = systems.setdefault(name, System())
            for corpus in corpora:
                click.echo(f"{name}: {corpus.name}", err=True)
                texts, questions = [told(one) for one in corpus.documents], [one.text for one in corpus.questions]
                system.add(corpus, answers(texts, questions))


@contextmanager
def _endpoint(wanted: argparse.Namespace, encoder: KeptEncoder) -> Iterator[str]:
    """mem0 embeds with the same model, over the interface it has for that."""
    if not wanted.mem0:
        yield ""
        return
    with served(encoder) as address:
        yield address


def told(document: Document) -> str:
    """A text as memory-os has it too: a name stands before what its bearer said."""
    named = document.speaker and document.speaker not in ("user", "assistant")
    return f"{document.speaker}: {document.text}" if named else document.text


def lexical(texts: list[str], questions: list[str]) -> Answers:
    started = time.perf_counter()
    with PlainFts5(texts) as floor:
        seconds = time.perf_counter() - started
        ranked, times = [], []
        for question in questions:
            started = time.perf_counter()
            ranked.append(floor.search(question, DEPTH))
            times.append((time.perf_counter() - started) * 1e3)
    return ranked, times, seconds


def dense(encoder: KeptEncoder, texts: list[str], questions: list[str]) -> Answers:
    """One vector a text, all compared, those below the threshold dropped."""
    started = time.perf_counter()
    vectors = np.vstack([encoder.embed_passages(texts[at : at + 64]) for at in range(0, len(texts), 64)])
    seconds = time.perf_counter() - started
    ranked, times = [], []
    for question in questions:
        started = time.perf_counter()
        cosines = vectors @ encoder.embed_query(question)
        order = np.argsort(-cosines)[:DEPTH]
        ranked.append([int(at) for at in order if cosines[at] >= THRESHOLD])
        times.append((time.perf_counter() - started) * 1e3)
    return ranked, times, seconds


def child(python: str, peer: str, texts: list[str], questions: list[str], address: str = "") -> Answers:
    """A peer in an interpreter of its own. Its errors are shown, and end the comparison."""
    with tempfile.TemporaryDirectory(prefix=f"mos-{peer}-") as folder:
        asked = json.dumps({"texts": texts, "questions": questions, "limit": DEPTH, "folder": folder, "address": address})
        environ = {"HOME": folder, "HERMES_HOME": folder, "PATH": "/usr/bin:/bin", "MEM0_TELEMETRY": "False",
                   "HERMES_DISABLE_LAZY_INSTALLS": "1", "MEM0_DIR": folder, "LC_ALL": "C.UTF-8"}  # fmt: skip
        done = subprocess.run(
            [python, str(_HERE / f"{peer}_peer.py")], input=asked, capture_output=True, text=True, env=environ, cwd=folder,
            timeout=_PEER_TIMEOUT_S, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr[-2000:]}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said["ranked"], said["milliseconds"], said["learning_s"]


def _encoder(settings: Settings, cache: Path) -> KeptEncoder:
    return KeptEncoder(load_embedder(settings), cache, fingerprint_of(settings.values.embedding))


def _print(systems: dict[str, System], documents: int) -> None:
    ours = systems["memory-os"].scores
    click.echo(f"{len(ours)} questions of {documents} texts\n")
    click.echo("| system | any@1 | any@5 | any@10 | all@10 | MRR | any@10 against memory-os (95 %) | p50 | p95 |")
    click.echo("|---|---|---|---|---|---|---|---|---|")
    for name, system in systems.items():
        mean = mean_of(system.scores)
        gap = difference(system.scores, ours)["any_10"]
        against = "" if system.scores is ours else f"{100 * gap.mean:+.1f} ({_interval(gap)})"
        shares = " | ".join(f"{100 * value:.1f}" for value in (mean.any_1, mean.any_5, mean.any_10, mean.all_10))
        p50, p95 = (percentile(system.milliseconds, part) for part in (0.5, 0.95))
        click.echo(f"| {name} | {shares} | {mean.mrr:.3f} | {against} | {p50:.1f} ms | {p95:.1f} ms |")


def _interval(gap: Difference) -> str:
    if gap.low is None or gap.high is None:
        return "too few questions"
    return f"{100 * gap.low:+.1f} to {100 * gap.high:+.1f}"


def _progress(done: int, total: int, what: str) -> None:
    if done == total:
        click.echo(f"memory-os: {what}", err=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/compare-peers")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--holographic", default="", metavar="PYTHON")
    parser.add_argument("--mem0", default="", metavar="PYTHON")
    parser.add_argument("--limit", type=int, default=0, help="only the first N corpora")
    parser.add_argument("--cache", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
