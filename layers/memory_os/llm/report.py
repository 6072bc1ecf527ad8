"""What `memory-os status` says of models: from the configuration and the usage log, whichever process asked them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from memory_os.config import Settings
from memory_os.llm.breaker import SAYS_NOTHING, replayed
from memory_os.llm.budget import DAY_S, day_start
from memory_os.llm.endpoint import Endpoint, Unresolved
from memory_os.llm.faults import FaultClass
from memory_os.llm.patience import percentile
from memory_os.llm.resolve import resolve
from memory_os.store import Store

# Latencies of more calls than these say nothing of how it is now.
_LATENCIES = 200
# What the prompts of a job hold.
_SENT = {"extraction": "turns", "dialectic": "turns", "reflection": "memories", "curation": "raw files and wiki pages"}
# A breaker is open after 5 failures in a row; what came long before the last calls has no part in that.
_REPLAYED = 50


def models_status(settings: Settings, store: Store, now: float) -> dict[str, Any]:
    """Which model, whether it can be asked, what it cost today, how long it took, and whether its breaker is open.

    Counts are of today (UTC). Raises sqlite3.Error.
    """
    resolved = resolve(settings)
    models = settings.values.models
    found: dict[str, Any] = {
        "provider": models.provider,
        "jobs": list(models.jobs),
        "main": _place(resolved.main),
        "fallback": None if resolved.fallback is None else _place(resolved.fallback),
        "budget_per_day": models.budget_per_day,
        "resets_at": day_start(now) + DAY_S,
    }
    logged = store.value("SELECT count(*) FROM sqlite_master WHERE name = 'model_calls'")
    return {**found, **(_figures(store, now) if logged else _figures_of_none())}


def models_egress(settings: Settings) -> list[str]:
    """What goes to models beyond this machine."""
    models = settings.values.models
    texts = sorted({_SENT[job] for job in models.jobs})
    if not texts:
        return []
    return [
        f"text of {', '.join(texts)} to {one.public} ({_whose(one)} {one.model}, for {', '.join(models.jobs)})"
        for one in resolve(settings).endpoints
        if not one.local
    ]


def models_line(found: dict[str, Any]) -> str:
    """One line about all of it."""
    main = found.get("main") or {}
    if not main.get("available"):
        return f"none ({main.get('reason') or 'not configured'})"
    units = f"{found.get('units_today', 0):g} of {found.get('budget_per_day', 0):g} units today"
    state = (found.get("breakers") or {}).get(main["endpoint"], {}).get("state", "closed")
    trouble = "" if state == "closed" else f", breaker {state}"
    return f"{main['model']} at {main['endpoint']}, {units}, {_calls(found)}{trouble}"


def _whose(one: Endpoint) -> str:
    return "Hermes's own model" if one.provider == "hermes" else "the model"


def _calls(found: dict[str, Any]) -> str:
    calls = dict(found.get("calls_today") or {})
    failed = sum(count for outcome, count in calls.items() if outcome != "ok")
    return f"{calls.get('ok', 0)} answers" + (f", {failed} failed attempts" if failed else "")


def _place(one: Endpoint | Unresolved) -> dict[str, Any]:
    if isinstance(one, Unresolved):
        return {"available": False, "reason": one.reason, "cure": one.cure}
    return {"available": True, "endpoint": one.public, "model": one.model, "local": one.local}


def _figures_of_none() -> dict[str, Any]:
    return {
        "units_today": 0.0,
        "units_by_job": {},
        "calls_today": {},
        "faults_today": {},
        "latency_s": {},
        "breakers": {},
    }


def _figures(store: Store, now: float) -> dict[str, Any]:
    today = (day_start(now),)
    jobs = {
        row["job"]: round(row["units"], 3)
        for row in store.rows("SELECT job, total(units) AS units FROM model_calls WHERE at >= ? GROUP BY job", today)
    }
    outcomes = store.rows("SELECT outcome, count(*) AS n FROM model_calls WHERE at >= ? GROUP BY outcome", today)
    faults = store.rows(
        "SELECT fault, count(*) AS n FROM model_calls WHERE at >= ? AND fault <> '' GROUP BY fault", today
    )
    return {
        "units_today": round(sum(jobs.values()), 3),
        "units_by_job": jobs,
        "calls_today": {row["outcome"]: row["n"] for row in outcomes},
        "faults_today": {row["fault"]: row["n"] for row in faults},
        "latency_s": _latencies(store),
        "breakers": _breakers(store, now),
    }


def _latencies(store: Store) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = defaultdict(list)
    rows = store.rows(
        "SELECT job, seconds FROM model_calls WHERE outcome = 'ok' ORDER BY id DESC LIMIT ?", (_LATENCIES * 3,)
    )
    for row in rows:
        if len(times[row["job"]]) < _LATENCIES:
            times[row["job"]].append(row["seconds"])
    return {
        job: {"n": len(all_of), **{f"p{share}": round(percentile(all_of, share / 100), 3) for share in (50, 95, 99)}}
        for job, all_of in times.items()
    }


def _breakers(store: Store, now: float) -> dict[str, dict[str, Any]]:
    """Each endpoint's breaker as its latest calls must have left it, in whichever process they were made."""
    calls: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    rows = store.rows(
        "SELECT at, endpoint, fault FROM model_calls WHERE outcome NOT IN (?, ?) ORDER BY id DESC LIMIT ?",
        (*SAYS_NOTHING, _REPLAYED),
    )
    for row in reversed(rows):
        calls[row["endpoint"]].append((row["at"], row["fault"] == FaultClass.TRANSIENT.value))
    breakers = {endpoint: replayed(one) for endpoint, one in calls.items()}
    return {
        endpoint: {"state": one.state(now).value, "retry_at": one.open_until if one.openings else None}
        for endpoint, one in breakers.items()
    }
