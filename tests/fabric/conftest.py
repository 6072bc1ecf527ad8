"""Instances of the fabric; several may share the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from memory_os.fabric import Fabric

from fabric.instances import open_fabric

Instance = Callable[..., Fabric]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "shared folder"


@pytest.fixture
def instance(tmp_path: Path, folder: Path) -> Iterator[Instance]:
    """Opens an instance of its own memory.db by agent name, over the one shared folder."""
    with ExitStack() as stack:

        def make(agent: str = "builder") -> Fabric:
            fabric = open_fabric(tmp_path / f"home {len(agent)} {agent}", folder, agent)
            stack.callback(fabric.store.close)
            return fabric

        yield make


@pytest.fixture
def fabric(instance: Instance) -> Fabric:
    return instance("builder")
