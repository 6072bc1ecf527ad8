"""`memory-os serve` and `memory-os stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from memory_os.errors import ConfigError, ServiceRunning

from memory_os_workers.cli.invocation import RUNNING, Invocation, json_option, pass_invocation

if TYPE_CHECKING:
    from memory_os.config import Settings


@click.command()
@click.option("--foreground/--detach", default=True, show_default=True, help="Stay here, or go to the background.")
@json_option
@pass_invocation
def serve(invocation: Invocation, foreground: bool) -> None:
    """Run the service of this home (the plugin and most commands start it by themselves).

    Exit code 3: a service already runs; it is left alone.
    """
    if foreground:
        from memory_os_workers.serving import serve as run

        run(_settings(invocation))
        return
    from memory_os_workers.client import ServiceClient

    running = ServiceClient(invocation.settings).health()
    if running is not None:
        raise ServiceRunning(
            f"A service already runs for {invocation.settings.home} (pid {running['pid']}).",
            cure="`memory-os status` shows it, `memory-os stop` ends it.",
        )
    health = invocation.service().get("/v1/health")
    invocation.show(health, lambda out: out.print(f"running, pid {health['pid']}, socket {invocation.settings.socket}"))


def _settings(invocation: Invocation) -> Settings:
    """The configuration; an error in it is left in the home for the plugin, which only sees that nothing runs."""
    try:
        return invocation.settings
    except ConfigError as error:
        from memory_os.config import default_settings

        from memory_os_workers.run_files import record_failure

        record_failure(default_settings(hermes_home=invocation.hermes_home), error)
        raise


@click.command()
@json_option
@pass_invocation
def stop(invocation: Invocation) -> int:
    """Stop the service; requests in flight are finished first.

    Exit code 3: none was running.
    """
    from memory_os_workers.client import stop_service

    pid = stop_service(invocation.settings)
    text = "no service was running" if pid is None else f"stopped (pid {pid})"
    invocation.show({"stopped": pid is not None, "pid": pid}, lambda out: out.print(text))
    return RUNNING if pid is None else 0
