"""Memories made up for measuring: as many as wanted, no two alike, and questions about some of them.

Their vectors are put together: of a sentence about one project and of a project in one sentence, and a little noise from
a fixed seed. Encoding 10,000 texts would take ten minutes and change nothing about the time of a search.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from memory_os.embedding import Embedder
from memory_os.index import Index, embed_text
from memory_os.memory import Author, Layer, Passage, Scope, content_hash
from numpy.typing import NDArray

_PROJECTS = (
    "anchor",
    "aspen",
    "atlas",
    "beacon",
    "birch",
    "bramble",
    "canyon",
    "cedar",
    "cinder",
    "cobalt",
    "coral",
    "crane",
    "delta",
    "ember",
    "falcon",
    "fern",
    "ferry",
    "flint",
    "garnet",
    "glacier",
    "granite",
    "harbour",
    "hazel",
    "heron",
    "indigo",
    "juniper",
    "kestrel",
    "lantern",
    "larch",
    "lichen",
    "lotus",
    "maple",
    "marlin",
    "meadow",
    "mesa",
    "nimbus",
    "oasis",
    "orchard",
    "otter",
    "pebble",
    "pine",
    "prairie",
    "quarry",
    "quartz",
    "raven",
    "reef",
    "ridge",
    "saffron",
    "sequoia",
    "slate",
    "sparrow",
    "summit",
    "tamarind",
    "thicket",
    "tundra",
    "umber",
    "walnut",
    "willow",
    "windmill",
    "zephyr",
)
_PARTS = (
    "database",
    "queue",
    "gateway",
    "scheduler",
    "cache",
    "importer",
    "dashboard",
    "mailer",
    "archive",
    "search page",
    "billing job",
    "login form",
    "map view",
    "payment hook",
    "report builder",
    "thumbnail maker",
    "proxy",
    "ledger",
    "calendar feed",
    "chat widget",
)
_SAID = (
    "The {part} of project {project} listens on port {number}, we settled that on the call.",
    "For {project} the {part} is restarted every {number} hours because of the slow leak.",
    "We decided that the {part} in {project} keeps its logs for {number} days.",
    "The {part} of {project} failed {number} times last night, the disk was full.",
    "In {project} the owner of the {part} wants at most {number} requests a second.",
)
_ASKED = (
    "Which port does the {part} of project {project} listen on?",
    "How often is the {part} restarted in {project}?",
    "How long does the {part} of {project} keep its logs?",
    "Why did the {part} of {project} fail?",
    "What is the request limit of the {part} in {project}?",
)
_NOISE = 0.2
_SEED = 20
_SPAN_S = 400 * 86_400.0
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Generated:
    texts: list[str]
    questions: list[str]


def generate(count: int) -> Generated:
    """`count` different sentences, and some hundred questions about them."""
    combinations = itertools.cycle(itertools.product(_SAID, _PROJECTS, _PARTS))
    texts = [
        said.format(project=project, part=part, number=1000 + index)
        for index, (said, project, part) in enumerate(itertools.islice(combinations, count))
    ]
    asked = itertools.islice(itertools.product(_ASKED, _PROJECTS, _PARTS), 0, None, 59)
    return Generated(texts, [question.format(project=project, part=part) for question, project, part in asked])


def fill(index: Index, embedder: Embedder, texts: list[str], now: float) -> Iterator[int]:
    """Write the texts as session passages with embeddings. Yields how many are done."""
    vectors = _Vectors(embedder)
    scope = Scope().key
    for start in range(0, len(texts), _BATCH):
        stored = {}
        with index.store.write():
            for number, text in enumerate(texts[start : start + _BATCH], start):
                passage = Passage(
                    layer=Layer.SESSIONS, source=f"message:{number}", text=text, scope=scope, kind="said",
                    author=Author.USER, session_id=f"bench-{number // 20}",
                    created_at=now - _SPAN_S * (1 - number / len(texts)),
                )  # fmt: skip
                index.replace(passage.source, [passage])
                stored[content_hash(embed_text(passage))] = vectors.of(number)
        index.embeddings.keep(stored)
        yield min(start + _BATCH, len(texts))


class _Vectors:
    """The vector of the text with a number, shape (dimension,)."""

    def __init__(self, embedder: Embedder) -> None:
        sentences = [said.format(project=_PROJECTS[0], part=part, number=1) for said in _SAID for part in _PARTS]
        projects = [_SAID[0].format(project=project, part=_PARTS[0], number=1) for project in _PROJECTS]
        self._sentences = embedder.embed_passages(sentences).reshape(len(_SAID), len(_PARTS), -1)
        self._projects = embedder.embed_passages(projects)
        self._noise = np.random.default_rng(_SEED)

    def of(self, number: int) -> NDArray[np.float32]:
        rest, part = divmod(number % (len(_SAID) * len(_PROJECTS) * len(_PARTS)), len(_PARTS))
        said, project = divmod(rest, len(_PROJECTS))
        vector = self._sentences[said, part] + self._projects[project] - self._projects[0]
        moved = vector + self._noise.normal(0, _NOISE / np.sqrt(vector.size), vector.size)
        unit: NDArray[np.float32] = (moved / np.linalg.norm(moved)).astype(np.float32)
        return unit
