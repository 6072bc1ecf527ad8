"""An engine over a scratch home, without models unless a test loads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memory_os.config import load_settings
from memory_os.engine import Engine

NOW = 1_790_000_000.0
DAY = 86_400.0

Home = Callable[..., Engine]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Opens engines, each over a home of its own name, with a config.yaml; all are closed at the end."""
    opened: list[Engine] = []

    def open_home(name: str = "hermes", config: str = "") -> Engine:
        folder = tmp_path / name
        (folder / "memory-os").mkdir(parents=True, exist_ok=True)
        if config:
            (folder / "memory-os" / "config.yaml").write_text(config, "utf-8")
        engine = Engine.open(load_settings({}, hermes_home=folder))
        opened.append(engine)
        return engine

    yield open_home
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(home: Home) -> Engine:
    return home()
