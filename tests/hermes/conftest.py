"""Real Hermes, both lines, with memory-os installed by its own `setup`, against the scripted model.

Hermes is what MEMORY_OS_TEST_HERMES_019 and MEMORY_OS_TEST_HERMES_022 name, else what `scripts/test` put into .venvs/.
Homes are made once a line and shared: each test speaks of things of its own, and in the gateway is a user of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.hermes_home import Gateway, HermesHome
from support.model_server import Endpoint, ModelServer, Request
from support.service import REPOSITORY, MemoryOS, stopped_at_the_end, wait_until

# A turn that missed its recall is put again so many times in all.
_ASKED_MOST = 8
LINES = {"0.19": "MEMORY_OS_TEST_HERMES_019", "0.22": "MEMORY_OS_TEST_HERMES_022"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test that needs a Hermes runs on both lines, or on the one that was asked for."""
    if "line" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--hermes-line")
        metafunc.parametrize("line", [chosen] if chosen else sorted(LINES), indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a Hermes is slow: a start takes seconds, so a test may take minutes."""
    for item in items:
        if "line" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.hermes)
            item.add_marker(pytest.mark.timeout(600))


@dataclass(frozen=True)
class Line:
    """One line of Hermes: `0.19` or `0.22`."""

    name: str
    hermes: Path

    @property
    def python(self) -> Path:
        return self.hermes.parent / "python"


@dataclass(frozen=True)
class Installed:
    """A Hermes home with memory-os in it."""

    hermes: HermesHome
    memory_os: MemoryOS

    @property
    def model(self) -> Endpoint:
        return self.hermes.model

    def see(self, turn: Callable[[], object], text: str) -> Request:
        """Run a turn whose message holds `text`; what the model was sent.

        On a machine so busy that recall missed its deadline (the product counts that), the turn is put again.
        """
        for _ in range(_ASKED_MOST):
            before = self._missed()
            turn()
            request = self.model.turn(text)
            if request.injected or self._missed() == before:
                return request
        raise AssertionError(f"recall missed its deadline {_ASKED_MOST} times in a row")

    def ask(self, gateway: Gateway, text: str, *, key: str, session: str = "") -> Request:
        """A turn of this user at the gateway; what the model was sent."""
        return self.see(lambda: gateway.ask(text, key=key, session=session), text)

    def chat(self, text: str, *options: str) -> Request:
        """A turn of `hermes chat -q`; what the model was sent."""
        return self.see(lambda: self.hermes.chat(text, *options), text)

    def oneshot(self, text: str) -> Request:
        """A turn of `hermes -z`; what the model was sent."""
        return self.see(lambda: self.hermes.oneshot(text), text)

    def _missed(self) -> int:
        if not self.memory_os.running:
            return 0
        wait_until(lambda: not self.memory_os.spooled(), "the spool is empty", 60)
        counted = self.memory_os.rows("SELECT value FROM counters WHERE name = 'recall_missed'")
        return int(counted[0][0]) if counted else 0


@pytest.fixture(scope="session")
def line(request: pytest.FixtureRequest) -> Line:
    name: str = request.param
    given = os.environ.get(LINES[name])
    hermes = Path(given) if given else REPOSITORY / ".venvs" / f"hermes-{name}" / "bin" / "hermes"
    if not given and not hermes.exists():
        pytest.skip(f"no Hermes {name}: run scripts/test hermes, or set {LINES[name]}")
    assert hermes.exists(), f"{LINES[name]}={given} does not exist"
    return Line(name, hermes)


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


Make = Callable[..., Installed]


@pytest.fixture(scope="session")
def blank_home(line: Line, model_server: ModelServer) -> Iterator[Make]:
    """Makes a Hermes home where memory-os is not installed yet; config sections as keywords."""
    python = Path(os.environ.get("MEMORY_OS_TEST_PYTHON") or sys.executable)
    with ExitStack() as stack:
        # Below the system's own folder: pytest's is too long for the path of a unix socket.
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-os-")))

        def make(name: str, **config: object) -> Installed:
            endpoint = model_server.endpoint(f"{line.name}-{name}".replace(" ", "-"))
            hermes = HermesHome(base / name, line.hermes, endpoint)
            hermes.write_config(**config)
            memory_os = MemoryOS(hermes.path, python, {"HERMES_PYTHON": str(line.python)})
            stack.enter_context(stopped_at_the_end(memory_os))
            return Installed(hermes, memory_os)

        yield make


@pytest.fixture(scope="session")
def new_home(blank_home: Make) -> Make:
    """Makes a Hermes home with memory-os installed by `memory-os setup`, its service not started."""

    def make(name: str, **config: object) -> Installed:
        installed = blank_home(name, **config)
        installed.memory_os.run("setup", "--hermes-home", str(installed.hermes.path), "--no-start")
        return installed

    return make


@pytest.fixture(scope="session")
def home(new_home: Make) -> Installed:
    """The home of the terminal's tests; its service runs."""
    installed = new_home("terminal")
    installed.memory_os.start()
    return installed


@pytest.fixture(scope="session")
def served(new_home: Make) -> Installed:
    """The home of the gateway's tests. The host reviews every turn in the background, and images reach the model."""
    installed = new_home("gateway", memory={"nudge_interval": 1}, model={"supports_vision": True})
    installed.memory_os.start()
    return installed


@pytest.fixture(scope="session")
def gateway(served: Installed) -> Iterator[Gateway]:
    """The gateway of `served`, running."""
    with served.hermes.gateway() as running:
        yield running
