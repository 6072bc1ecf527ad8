"""No test sees the Hermes or memory-os of whoever runs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# A loaded machine is no failure; what is slow is measured by `memory-os bench`, not by tests.
hypothesis.settings.register_profile(
    "default", deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("default")

_FOREIGN = ("HERMES_", "MEMORY_OS_", "FABRIC_DIR", "VAULT_PATH", "QDRANT_")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--hermes-line", choices=("0.19", "0.22"), help="only this line of Hermes; default: both")
    parser.addoption("--long", action="store_true", help="also what takes minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes minutes: --long"))


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """HERMES_HOME is a scratch folder and nothing else of the caller's configuration is visible."""
    home = tmp_path_factory.mktemp("hermes-home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_FOREIGN) and not name.startswith("MEMORY_OS_TEST_"):
                patch.delenv(name)
        patch.setenv("HERMES_HOME", str(home))
        patch.setenv("HERMES_DISABLE_LAZY_INSTALLS", "1")
        yield home
