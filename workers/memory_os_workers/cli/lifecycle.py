"""`memory-os serve` and `memory-os stop`."""

from __future__ import annotations

import click

from memory_os_workers.cli.invocation import RUNNING, Invocation, json_option, pass_invocation


@click.command()
@click.option("--foreground/--detach", default=True, show_default=True, help="Stay here, or go to the background.")
@click.option("--quiet", is_flag=True, help="Log to logs/service.log only, not to the terminal as well.")
@json_option
@pass_invocation
def serve(invocation: Invocation, foreground: bool, quiet: bool) -> None:
    """Run the service of this home (the plugin and most commands start it by themselves).

    Exit code 3: a service already runs; it is left alone.
    """
    if foreground:
        from memory_os_workers.service import serve as run

        run(invocation.settings, foreground=not quiet)
        return
    from memory_os.errors import ServiceRunning

    from memory_os_workers.client import ServiceClient, ensure_service

    running = ServiceClient(invocation.settings).health()
    if running is not None:
        raise ServiceRunning(
            f"A service already runs for {invocation.settings.home} (pid {running['pid']}).",
            cure="`memory-os status` shows it, `memory-os stop` ends it.",
        )
    health = ensure_service(invocation.settings).get("/v1/health")
    invocation.show(health, lambda out: out.print(f"running, pid {health['pid']}, socket {invocation.settings.socket}"))


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
