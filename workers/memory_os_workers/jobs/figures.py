"""How the queue stands, as `memory-os status` and `doctor` tell it: figures, and findings that name a cure."""

from __future__ import annotations

import time
from typing import Any

from memory_os_workers.jobs.queue import Queue


def figures_of(
    queue: Queue | None, children: dict[str, Any], dead_letters: int, *, unavailable: str, starting: bool
) -> dict[str, Any]:
    """`children`: `Children.figures`; `unavailable`: why there is no queue; `starting`: too early to say that one is away."""
    found: dict[str, Any] = {
        "mode": _mode(queue),
        "worked_by": "workers" if queue is not None and queue.usable else "service",
        "dead_letters": dead_letters,
        "children": children,
    }
    if queue is not None:
        figures = queue.figures
        found |= {
            "address": queue.address.shown,
            "depth": figures.depth,
            "in_progress": figures.in_progress,
            "workers": dict(figures.workers),
            "put_back": queue.put_back,
            "away_since": queue.fault_since if queue.fault is not None else None,
            "fault": "" if queue.fault is None else str(queue.fault),
        }
    found["findings"] = _findings(found, unavailable, starting=starting)
    return found


def _mode(queue: Queue | None) -> str:
    if queue is None:
        return "off"
    return "embedded" if queue.address.bundled else "server"


def _findings(found: dict[str, Any], unavailable: str, *, starting: bool) -> list[str]:
    lines = [f"no queue: {unavailable}"] if unavailable else []
    children = [child["finding"] for child in found["children"].values() if child["finding"]]
    if children:
        lines += children  # the reason of all that follows from it
    elif not starting and found["mode"] != "off":
        if found["fault"]:
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["away_since"]))
            lines.append(f"the queue is away since {since}: {found['fault']}")
        elif not found["workers"]:
            lines.append("no worker is alive; the service does the work itself. Start one with `memory-os worker`.")
    if found["dead_letters"]:
        lines.append(f"jobs that failed for good: {found['dead_letters']}; `memory-os dlq list` shows why")
    return lines
