"""Turn latency while a provider hangs, and with none: two real services, one plugin's hooks, turns in alternation."""

from __future__ import annotations

import os
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_os.config import Settings
from memory_os.errors import ServiceUnavailable

from memory_os_workers.bench.memories import generate
from memory_os_workers.bench.scratch import (
    Figure,
    Plugin,
    elapsed_ms,
    fill_home,
    registered_plugin,
    running_service,
    scratch_home,
)
from memory_os_workers.client import ServiceClient

MEMORIES = 300
_WARM_UP = 5
_ASKED_WITHIN_S = 60.0
_POLL_S = 0.05
# A difference below this is nothing that a clock shows twice.
_LEAST_NOISE_MS = 1.0
_CALLER = {"user": "local", "profile": "default", "session_id": "bench"}
_CONCLUSIONS = ("Prefers tea in the morning.", "Works on the harbour's old crane.", "Reads timetables for pleasure.")


def hanging_figures(models: Path, turns: int, say: Callable[[str], None]) -> list[Figure]:
    """Medians of whole turns (both hooks) with the provider hanging and with none, and what the one adds to the other."""
    with hanging_provider() as provider, scratch_home(models) as off, scratch_home(models) as hung:
        texts = generate(MEMORIES)
        say(f"filling two scratch homes with {MEMORIES} memories")
        for settings, model in ((off, "models: {provider: none}\n"), (hung, _model(provider.url))):
            fill_home(settings, texts.texts)
            settings.home.mkdir(parents=True, exist_ok=True)
            (settings.home / "config.yaml").write_text(model, "utf-8")
        with hosting(off), running_service(off), hosting(hung), running_service(hung) as (client, _):
            say("making a provider hang")
            _make_it_hang(client, provider)
            say("measuring turns through the plugin's hooks, with and without it")
            with registered_plugin(off) as plugin:
                without, hanging = _alternating(plugin, [off, hung], texts.questions, turns)
                plugin.courier.wait_empty(_ASKED_WITHIN_S)
            held = provider.held
    return figures_of(without, hanging, held)


def figures_of(off: list[float], hung: list[float], held: int) -> list[Figure]:
    """`off`, `hung`: milliseconds of each turn. Noise is the middle half of the turns with no provider."""
    lower, _, upper = statistics.quantiles(off, n=4)
    noise = max(_LEAST_NOISE_MS, upper - lower)
    with_none, with_hanging = statistics.median(off), statistics.median(hung)
    return [
        Figure("a turn's hooks without a provider, p50", with_none, "ms"),
        Figure("a turn's hooks while the provider hangs, p50", with_hanging, "ms"),
        Figure("added by a provider that hangs (promised: noise)", with_hanging - with_none, "ms", round(noise, 2)),
        Figure("questions that hung meanwhile", held, "", at_least=1),
    ]


class Provider:
    """A server that takes every request and never says a word."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take, name="hanging-provider", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    @property
    def held(self) -> int:
        """How many requests it holds or has held."""
        return len(self._taken)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        for one in self._taken:
            one.close()

    def _take(self) -> None:
        with suppress(OSError):  # closed
            while True:
                self._taken.append(self._listener.accept()[0])


@contextmanager
def hanging_provider() -> Iterator[Provider]:
    provider = Provider()
    try:
        yield provider
    finally:
        provider.close()


@contextmanager
def hosting(settings: Settings) -> Iterator[None]:
    """This process is the host of that home, while it lasts."""
    wanted = {"HERMES_HOME": str(settings.hermes_home), "MEMORY_OS_HOME": str(settings.home)}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _model(url: str) -> str:
    """Sessions are read at once, and one that hangs is given no end within the measurement."""
    return (
        f"models: {{provider: openai, base_url: '{url}', model: bench, local_patience: 20}}\n"
        "understanding: {idle_minutes: 0, turns: 1, person_wait_seconds: 0}\n"
    )


def _make_it_hang(client: ServiceClient, provider: Provider) -> None:
    """A question about the person has the service ask a model now."""

    def tool(name: str, **arguments: str) -> None:
        client.post(f"/v1/tools/{name}", {"arguments": arguments, "caller": _CALLER})

    for text in _CONCLUSIONS:
        tool("peer_conclude", content=text)
    tool("peer_reasoning", query="What suits the morning?")
    until = time.perf_counter() + _ASKED_WITHIN_S
    while not provider.held:
        if time.perf_counter() > until:
            raise ServiceUnavailable("The service asked no model within a minute.", cure="See logs/service.log.")
        time.sleep(_POLL_S)


def _alternating(plugin: Plugin, homes: list[Settings], questions: list[str], turns: int) -> list[list[float]]:
    """Milliseconds of both hooks together, a turn in each home in turn, so that what else the machine does meets both."""
    times: list[list[float]] = [[] for _ in homes]
    for turn in range(turns + _WARM_UP):
        question = questions[turn % len(questions)]
        for settings, taken in zip(homes, times, strict=True):
            with hosting(settings):
                asked = elapsed_ms(lambda: plugin.ask(question, turn))  # noqa: B023
                kept = elapsed_ms(lambda: plugin.answered(question, turn))  # noqa: B023
            if turn >= _WARM_UP:
                taken.append(asked + kept)
    return times
