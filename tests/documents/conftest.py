from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.documents import Documents
from memory_os.documents.schema import documents as migrations
from memory_os.index import Index
from memory_os.store import Store, open_store


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a home in which files count as at rest at once; what waits is tested in test_scan."""
    home = tmp_path / "hermes" / "memory-os"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("documents: {settle_s: 0}\n")
    return load_settings({"VAULT_PATH": str(tmp_path / "vault")}, hermes_home=tmp_path / "hermes")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = open_store(settings.database, [migrations])
    yield opened
    opened.close()


@pytest.fixture
def documents(store: Store, settings: Settings) -> Documents:
    settings.vault.mkdir()
    return Documents(store, Index(store, "test-model/1"), settings)
