"""What is said of the embedding model, and of what it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.embedding.naming import model_egress, model_line


def settings(home: Path, embedding: str) -> Settings:
    folder = home / "memory-os"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(f"embedding: {{{embedding}}}\n", "utf-8")
    return load_settings({}, hermes_home=home)


@pytest.mark.parametrize(
    ("embedding", "line"),
    [("", "multilingual-e5-small, in the service itself"), ("engine: fastembed, model: acme/small", "acme/small by fastembed"),
     ("engine: fastembed, model: mine, folder: models/mine", "mine by fastembed, from {home}/models/mine"),
     ("engine: endpoint, model: bge-m3, base_url: 'http://user:secret@127.0.0.1:11434/v1'", "bge-m3 at http://127.0.0.1:11434")],
)  # fmt: skip
def test_the_model_is_named_with_its_place_and_no_password(tmp_path: Path, embedding: str, line: str) -> None:
    chosen = settings(tmp_path, embedding)
    assert model_line(chosen) == line.format(home=chosen.home)


@pytest.mark.parametrize(
    ("embedding", "leaves"),
    [("", False), ("engine: fastembed, model: acme/small", False), ("engine: endpoint, model: a, base_url: 'http://[::1]:8080/v1'", False),
     ("engine: endpoint, model: a", False), ("engine: endpoint, model: a, base_url: 'https://embed.example/v1'", True),
     ("model: multilingual-e5-small, base_url: 'https://embed.example/v1'", False)],
)  # fmt: skip
def test_texts_leave_the_machine_for_an_endpoint_elsewhere_only(tmp_path: Path, embedding: str, leaves: bool) -> None:
    told = model_egress(settings(tmp_path, embedding))
    assert bool(told) == leaves and ("https://embed.example" in told) == leaves
