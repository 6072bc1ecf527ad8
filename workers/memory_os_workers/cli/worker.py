"""`memory-os worker`: takes jobs from the queue; on this machine or on any other."""

from __future__ import annotations

import re

import click

from memory_os_workers.cli.invocation import FINDINGS, OK, Invocation, json_option, pass_invocation

# A sign of life as ARQ writes it: `Nov-30 09:45:33 j_complete=12 j_failed=0 j_retried=1 j_ongoing=0 queued=3`.
_SIGN = re.compile(r"\S+ (?P<time>[\d:]+) j_complete=(\d+) j_failed=(\d+) j_retried=(\d+) j_ongoing=(\d+) queued=(\d+)")
_COUNTED = ("done", "failed", "retried", "in hand", "waiting")
# What the driver says before its reason; the address stands in ours already.
_DRIVER = re.compile(r"Error -?\d+ connecting to .+?\. ")


@click.command()
@click.option("--burst", is_flag=True, help="End when the queue is empty.")
@click.option("--concurrency", type=click.IntRange(1, 64), help="Jobs at a time; default: `workers.concurrency`.")
@click.option(
    "--service", default="", help="URL of the service, for another machine; its token is in MEMORY_OS_SERVICE_TOKEN."
)
@click.option("--until-eof", is_flag=True, help="End with standard input: how the service runs its own worker.")
@click.option("--check", is_flag=True, help="Only say whether a worker of this machine is alive: exit code 0, else 1.")
@json_option
@pass_invocation
def worker(
    invocation: Invocation, burst: bool, concurrency: int | None, service: str, until_eof: bool, check: bool
) -> int:
    """Work on the queue of this home until stopped (the service runs one worker by itself).

    Any number of workers may work on one queue. SIGTERM lets the jobs in hand finish first.
    """
    if check:
        return _check(invocation)
    from memory_os_workers.jobs.connection import WorkClient, service_token
    from memory_os_workers.jobs.worker import Process, leave, run
    from memory_os_workers.logs import configure_logs, log_to_stderr

    settings = invocation.settings
    if until_eof:
        configure_logs(settings, "worker")
    else:
        log_to_stderr(settings)
    client = WorkClient(settings, service, service_token(settings) if service else "")
    wanted = concurrency or settings.values.workers.concurrency
    done = run(lambda: Process(settings, client, concurrency=wanted, burst=burst, until_eof=until_eof))
    if not until_eof:
        invocation.show(done, lambda out: out.print(f"{done['complete']} jobs done, {done['retried']} put back"))
    return leave()


def _check(invocation: Invocation) -> int:
    """By the signs of life in the queue alone, so that it tells of a worker while the service is away."""
    from memory_os_workers.jobs.worker import signs_of_life

    signs, reason = signs_of_life(invocation.settings)
    told = {"alive": bool(signs), "workers": signs, "reason": reason}
    line = "alive: " + "; ".join(map(_sign, signs)) if signs else "not alive: " + " ".join(_DRIVER.sub("", reason).split())
    invocation.show(told, lambda out: out.print(line))
    return OK if signs else FINDINGS


def _sign(sign: str) -> str:
    """`at 09:45:33, jobs: 12 done, 0 failed, …`; a sign written otherwise as it is."""
    match = _SIGN.fullmatch(sign.strip())
    if match is None:
        return " ".join(sign.split())
    counts = (f"{count} {name}" for count, name in zip(match.groups()[1:], _COUNTED, strict=True))
    return f"at {match['time']}, jobs: {', '.join(counts)}"
