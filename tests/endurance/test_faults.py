"""Redis, Qdrant, the language model and the embedder refused, hanging, slow and lying, at the wire and all at once.

That the model was asked in each of its faults is waited for in the long form only: the service asks it every 15 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from endurance.fork_server import ForkServer
from endurance.gate import FAULTS
from endurance.ordeal import Ordeal
from endurance.servers import Servers, servers, suffer


@pytest.fixture(scope="module")
def leaning(folder: Path, models: Path, forks: ForkServer) -> Iterator[tuple[Ordeal, Servers]]:
    with servers(folder) as all_of_them:
        ordeal = Ordeal(folder / "hermes", models, forks, seed=5, config=all_of_them.config, points=all_of_them.points)
        yield ordeal, all_of_them
        ordeal.close()


def test_every_fault_of_every_server_and_what_was_said_meanwhile_is_there(leaning: tuple[Ordeal, Servers]) -> None:
    ordeal, all_of_them = leaning
    for round_ in range(len(FAULTS)):
        suffer(ordeal, all_of_them, round_, turns=3, met_by=("redis", "qdrant", "embedder"))
    ordeal.audit()
