"""docs/cli.md and docs/service.md say what the code does: no command, option, route or file is undocumented."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
from memory_os.config import load_settings
from memory_os_workers.api import build_app
from memory_os_workers.cli.reference import commands, rewritten
from memory_os_workers.service import Service

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_reference_is_what_the_commands_say() -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    how = "run: python -m memory_os_workers.cli.reference docs/cli.md"
    assert rewritten(page) == page, how


def test_every_command_and_option_is_documented_and_explained() -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    for path, command, _ in commands():
        assert f"`{path}`" in page
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{path} {parameter.opts} has no help"
                assert all(option in page for option in parameter.opts), (path, parameter.opts)


def test_every_command_that_prints_data_has_json() -> None:
    for path, command, _ in commands():
        if not isinstance(command, click.Group):
            assert any("--json" in parameter.opts for parameter in command.params), path


def test_every_route_is_documented(tmp_path: Path) -> None:
    async def routes() -> set[str]:
        app = build_app(Service(load_settings({"HERMES_HOME": str(tmp_path)})))
        return {f"{route.method} {route.resource.canonical}" for route in app.router.routes() if route.resource}

    page = (DOCS / "service.md").read_text("utf-8")
    for route in asyncio.run(routes()):
        method, _, path = route.partition(" ")
        if method != "HEAD":
            assert f"{method} {path.replace('{name}', 'NAME')}" in page, route
