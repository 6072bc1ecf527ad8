"""`memory-os status`: what runs, what each layer says, what was counted, what leaves the machine.

Works when the service is down as well, from what lies on disk; it never starts the service.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import click
from memory_os.errors import ServiceError

from memory_os_workers.cli.invocation import (
    FINDINGS,
    OK,
    RUNNING,
    Invocation,
    json_option,
    pass_invocation,
    print_table,
    when,
)

if TYPE_CHECKING:
    from memory_os.config import Settings
    from rich.console import Console

# Below this SQLite and the vector engine can't be expected to write on.
LOW_DISK_BYTES = 64 * 1024 * 1024
_HOW_TO_START = "`memory-os serve --detach` starts it; so does the next turn in Hermes."


@click.command()
@json_option
@pass_invocation
def status(invocation: Invocation) -> int:
    """Show the service, the layers, counters, what waits and what leaves the machine.

    Exit code 0: runs and nothing is degraded. 1: runs, with findings. 3: not running (what is on disk is shown).
    """
    from memory_os_workers.client import ServiceClient
    from memory_os_workers.run_files import take_unclean_end

    try:
        client = ServiceClient(invocation.settings)
        running = client.health() is not None
    except ServiceError as error:  # the socket's path is too long, or another home's service has it
        running, reason = False, str(error)
    else:
        reason = ""
    if not running:
        found = down(invocation.settings)
        found["findings"] += [reason] if reason else []
        invocation.show(found, lambda out: _render_down(out, found))
        return RUNNING
    found = client.get("/v1/status")
    found["running"] = True
    found["egress"] = egress(found)
    found["findings"] = findings(found)
    found["notes"] = [*(found.get("notes") or []), *_unclean_end(take_unclean_end(invocation.settings))]
    invocation.show(found, lambda out: _render(out, found))
    return FINDINGS if found["findings"] else OK


def down(settings: Settings) -> dict[str, Any]:
    """What can be said without a service: why it isn't there, and what waits for it."""
    from memory_os_workers.run_files import last_failure, left_behind, lock_holder, spool_depth

    holder = lock_holder(settings)
    ended = [] if holder else _unclean_end(left_behind(settings))
    silent = f"The service runs (pid {holder}) and does not answer: it is starting, stopping, or very busy. Ask again;"
    return {
        "running": False,
        "home": str(settings.home),
        "holder": holder,
        "spool_depth": spool_depth(settings),
        "last_error": last_failure(settings),
        "findings": [*_disk_findings(settings), *([f"{silent} logs/service.log tells more."] if holder else ended)],
        "start": "" if holder else _HOW_TO_START,
        "egress": [],
    }


def egress(found: dict[str, Any]) -> list[str]:
    """Addresses beyond this machine to which text goes, as the engine reports them; empty: nothing leaves."""
    return [str(one) for one in found.get("egress") or []]


def findings(found: dict[str, Any]) -> list[str]:
    """What somebody should look at, one line each, with its cure."""
    lines = [
        " · ".join(filter(None, (f"layer {name}: {layer.get('detail') or 'degraded'}", layer.get("cure", ""))))
        for name, layer in (found.get("layers") or {}).items()
        if layer.get("state") == "degraded"
    ]
    lines += [
        f"maintenance: {name} is {one['state']}: {one.get('error') or one.get('result')} · memory-os maintain"
        for name, one in ((found.get("maintenance") or {}).get("duties") or {}).items()
        if one.get("state") in ("failed", "degraded")
    ]
    service = found.get("service") or {}
    if service.get("model_error"):
        again = service.get("model_again_at")
        tried = f" (attempt {service['model_attempts']}; the next one comes by itself at {when(again)})" if again else ""
        lines.append(f"recall works by words only: {service['model_error']}{tried}")
    background = found.get("background") or {}
    if background.get("note"):
        lines.append(str(background["note"]))
    lines += [
        f"{name} fails: {duty['last_error']}"
        for name, duty in background.items()
        if isinstance(duty, dict) and duty.get("failing")
    ]
    lines += (found.get("pipeline") or {}).get("findings", [])
    return lines


def _unclean_end(record: dict[str, Any]) -> list[str]:
    """That a service went without a clean stop, from the record it left behind."""
    if not record:
        return []
    who = f"The service before (pid {record.get('pid')}, started {when(record.get('started_at'))})"
    return [f"{who} ended without a clean stop: killed, crashed, or the machine went down. logs/service.out may say why."]


def _disk_findings(settings: Settings) -> list[str]:
    """Why a start would fail now: a folder that can't be written, or no space left."""
    folder = settings.home
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        return [f"{folder} can't be written. Check its owner and mode, or point MEMORY_OS_HOME at another folder."]
    disk = shutil.disk_usage(folder)
    if disk.total and disk.free < LOW_DISK_BYTES:
        return [f"The disk of {folder} is full. Free some space."]
    return []


def _render_down(out: Console, found: dict[str, Any]) -> None:
    if found["holder"] is None:
        out.print(f"The service of {found['home']} does not run. {found['start']}")
    error = found["last_error"]
    if error:
        reason = f"{error.get('error')} {error.get('cure', '')}".strip()
        out.print(f"It could not start at {when(error.get('at'))}: {reason}")
    for line in found["findings"]:
        out.print(f"! {line}")
    out.print(f"Captured records waiting on disk: {found['spool_depth']}")
    out.print("Leaves this machine: nothing")


def _render(out: Console, found: dict[str, Any]) -> None:
    service, background = found["service"], found.get("background") or {}
    out.print(_headline(service))
    for line in found["findings"]:
        out.print(f"! {line}")
    layers = found.get("layers") or {}
    if layers:
        rows = [(name, one.get("state"), _detail(one)) for name, one in layers.items()]
        print_table(out, ("layer", "state", "detail"), rows)
    counters = found.get("counters") or {}
    if counters:
        out.print()
        print_table(out, ("counter", "value", "last"), [_counter_row(*one) for one in counters.items()])
    out.print()
    recalls = " · ".join(f"{key} {value}" for key, value in (found.get("recalls") or {}).items())
    out.print(f"Recalls of seven days: {recalls or 'none'}")
    if found.get("ground_truth"):
        out.print(_memory_use(found["ground_truth"]))
    rejected = (found.get("spool") or {}).get("rejected", 0)
    aside = f", {rejected} rejected (spool/rejected)" if rejected else ""
    out.print(f"Captured records waiting on disk: {background.get('spool_depth', 0)}{aside}")
    passages, waiting = (found.get(name) if found.get(name) is not None else "?" for name in ("passages", "pending_embeddings"))
    out.print(f"Passages: {passages}, waiting for their vector: {waiting}")
    if found.get("pipeline"):
        out.print(_pipeline(found["pipeline"]))
    if found.get("maintenance"):
        out.print(f"Maintenance: {_maintenance(found['maintenance'])}")
    if service.get("last_error"):
        out.print(f"Last error of a request, {when(service['last_error_at'])}: {service['last_error']}")
    for note in found.get("notes") or []:
        out.print(f"Note: {note}")
    out.print(f"Embedding model: {found.get('embedding_model') or '?'}")
    out.print(f"Language model: {_models(found.get('models') or {})}")
    if found.get("understanding"):
        out.print(f"Turns to be read: {_unread(found['understanding'])}")
    out.print(f"Leaves this machine: {', '.join(found['egress']) or 'nothing'}")


def _unread(found: dict[str, Any]) -> str:
    """What waits for extraction, and for what."""
    waiting = f"{found['waiting_turns']} in {found['waiting_sessions']} sessions"
    waiting += f" since {when(found['waits_since'])}" if found["waits_since"] else ""
    if not found["enabled"]:
        return f"{waiting}; understanding.enabled is false"
    if not found["model"]:
        return f"{waiting}; they wait for a language model"
    earlier = found.get("earlier") or {}
    if earlier.get("waiting_messages"):
        waiting += f"; {earlier['waiting_messages']} messages of earlier sessions, {earlier['tokens_a_day']:,} tokens a day"
    return f"{waiting}; {found['items']} items extracted" + (f"; {found['problem']}" if found["problem"] else "")


def _models(models: dict[str, Any]) -> str:
    from memory_os.llm.report import models_line

    return models_line(models)


def _pipeline(pipeline: dict[str, Any]) -> str:
    """The queue in one line: which, who works on it, what waits."""
    if pipeline["mode"] == "off":
        return "Queue: none; the service does all work itself"
    where = "the bundled one" if pipeline["mode"] == "embedded" else pipeline["address"]
    counts = {"waiting": pipeline["depth"], "running": pipeline["in_progress"], "failed for good": pipeline["dead_letters"]}
    jobs = ", ".join(f"{count} {said}" for said, count in counts.items() if count)
    workers = len(pipeline["workers"])
    who = f"{workers} worker{'s' * (workers != 1)}" if workers else "no worker yet, the service does all work itself"
    return f"Queue: {where}; {who}; {'jobs: ' + jobs if jobs else 'nothing waits'}"


def _maintenance(kept: dict[str, Any]) -> str:
    """The duties that prove something, with their times; `memory-os maintain` has all."""
    told = [
        f"{name} {one['state']} {when(one.get('last_at'))}".strip()
        for name, one in kept["duties"].items()
        if name in ("canary", "full_backup", "decay", "duplicates") or one["state"] in ("failed", "degraded")
    ]
    reviews = f", {kept['reviews']} pairs of facts to review" if kept.get("reviews") else ""
    pending = ", a full backup pending: the last went with what was forgotten" if kept.get("full_backup_pending") else ""
    return " · ".join(told) + reviews + pending


def _memory_use(found: dict[str, Any]) -> str:
    """What became of injected lines in seven days; `memory-os report` has the whole."""
    total = found["total"]
    text = (
        f"Memory of seven days: {total['used']} lines used, {total['ignored']} ignored, {total['contradicted']} contradicted;"
        f" {total['rediscoveries_per_100']:.1f} rediscoveries per 100 turns, {total['misses']} misses (mode {found['mode']})"
    )
    return f"{text}\nProposal: {found['proposal']}" if found.get("proposal") else text


def _headline(service: dict[str, Any]) -> str:
    megabytes = service["memory_bytes"] / 1024 / 1024
    state = "ready" if service["ready"] else "loading" if not service["model_error"] else "words only"
    return (
        f"memory-os {service['version']} {state}, pid {service['pid']}, up {_duration(service['uptime_s'])},"
        f" {megabytes:.0f} MB, home {service['home']}"
    )


def _duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    return f"{days} d " * bool(days) + time.strftime("%H:%M:%S", time.gmtime(rest))


def _detail(layer: dict[str, Any]) -> str:
    return " · ".join(filter(None, (layer.get("detail", ""), layer.get("cure", ""))))


def _counter_row(name: str, counter: Any) -> tuple[str, object, str]:
    if not isinstance(counter, dict):
        return name, counter, ""
    last = " ".join(filter(None, (when(counter.get("last_at")), str(counter.get("last_reason") or ""))))
    return name, counter.get("value"), last
