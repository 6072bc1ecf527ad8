"""What the slash command says, as short plain text made from the service's JSON. Pure; any field may be missing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

# A chat's window, and a phone's.
STATUS_LINES_MAX = 12
DROPPED_MAX = 5
_TEXT_CHARS = 120
_LISTED_MAX = 3


def status(found: Mapping[str, Any], home: str) -> str:
    """What runs and what each layer says, at most twelve lines. Without `home`, for somebody remote, states alone."""
    service = _object(found, "service")
    state = "ready" if service.get("ready") else "works by words only" if service.get("model_error") else "loading"
    lines = [f"memory-os {found.get('version') or service.get('version') or ''} {state}{f', {home}' if home else ''}"]
    for name, layer in _object(found, "layers").items():
        if isinstance(layer, Mapping):
            lines.append(_layer(name, layer, told=bool(home)))
    spool, recalls = _object(found, "spool"), _object(found, "recalls")
    waiting = f"{spool.get('waiting', 0)} turns to be stored, {found.get('pending_embeddings', 0)} passages for their vector"
    lines.append(f"waiting: {waiting}")
    lines.append(f"recalls of seven days: {_outcomes(recalls)}; missed: {_counter(found, 'recall_missed')}")
    egress = found.get("egress")
    lines.append(f"leaves this machine: {', '.join(map(str, egress)) if isinstance(egress, list) and egress else 'nothing'}")
    return "\n".join(lines[:STATUS_LINES_MAX])


def recall(found: Mapping[str, Any]) -> str:
    """Exactly the lines that would be injected."""
    inside = [line for line in str(found.get("context") or "").splitlines() if not line.startswith(("<", "Recalled by "))]
    if not inside:
        why = found.get("reason") or ""
        return f"Nothing would be recalled for this{f' ({why})' if why else ''}."
    return "\n".join(["This would be recalled:", *inside])


def explain(found: Mapping[str, Any]) -> str:
    """The lines of a turn's block with why they were there, then those that came nearest to it with why they were not."""
    lines = [one for one in found.get("lines") or [] if isinstance(one, Mapping)]
    shown = [one for one in lines if one.get("shown")]
    dropped = [one for one in lines if not one.get("shown")]
    reason = f" ({found['reason']})" if found.get("reason") else ""
    spent = f"{found.get('tokens', 0)} tokens, {_number(found.get('milliseconds'))} ms"
    texts = [f"{_moment(found.get('at'))}: {found.get('outcome')}{reason}, {spent}"]
    texts += [_explained("+", one) for one in shown] or ["No line was shown."]
    if dropped:
        texts.append(f"Left out ({min(len(dropped), DROPPED_MAX)} of {len(dropped)}):")
        texts += [_explained("-", one) for one in dropped[:DROPPED_MAX]]
    return "\n".join(texts)


def report(found: Mapping[str, Any]) -> str:
    """Seven days: what became of injected lines, what was searched for again, what recall missed, what needs a look."""
    total = _object(found, "total")
    judged = sum(_count(total, name) for name in ("used", "ignored", "contradicted"))
    lines = [
        f"Last seven days, mode {found.get('mode')}: {_count(total, 'turns')} turns, {_count(total, 'injections')} with memory"
        f" ({_count(total, 'tokens')} tokens), {_count(total, 'small_talk')} small talk,"
        f" {_count(total, 'late')} answered too late",
        f"Lines: {_count(total, 'used')} used, {_count(total, 'ignored')} ignored, {_count(total, 'contradicted')} contradicted"
        f" of {judged}",
        f"Searched for again although it was in the prompt: {_count(total, 'rediscoveries')}"
        f" ({_number(total.get('rediscoveries_per_100'))} per 100 turns, {_count(total, 'rediscovery_tokens')} tokens)",
        f"Found by a search, not by recall (misses): {_count(total, 'misses')}",
    ]
    lines += [f"- {_cut(one.get('text'))}" for one in _items(found, "misses")[:_LISTED_MAX]]
    reviews = _items(found, "reviews")
    lines += [f"To review: {len(reviews)}"] if reviews else []
    lines += [f"- ({one.get('handle')}) {_cut(one.get('text'))}: {_cut(one.get('evidence'))}" for one in reviews[:_LISTED_MAX]]
    return "\n".join([*lines, *([f"Proposal: {found['proposal']}"] if found.get("proposal") else [])])


def forgotten(found: Mapping[str, Any]) -> str:
    """What went, and the proof."""
    counts = _object(found, "forgotten").items()
    went = ", ".join(f"1 {name.removesuffix('s')}" if count == 1 else f"{count} {name}" for name, count in counts) or "nothing"
    left = _object(found, "proof").get("found", 0)
    places = "1 place still holds" if left == 1 else f"{left} places still hold"
    proof = f"{places} it; run it again." if left else "A search for it finds nothing."
    notes = [str(note) for note in found.get("notes") or []]
    similar = [f"- {one.get('id')}: {_cut(one.get('text'))}" for one in found.get("similar") or [] if isinstance(one, Mapping)]
    head = "Forgotten" if found.get("status") == "forgotten" else "Not wholly forgotten"
    more = ["These say nearly the same; forget them by their ids:", *similar] if similar else []
    return "\n".join([f"{head}: {went}. {proof}", *notes, *more])


def _layer(name: str, layer: Mapping[str, Any], *, told: bool) -> str:
    mark = "! " if layer.get("state") == "degraded" else ""
    details = [layer.get("detail"), layer.get("cure")] if told else []
    return mark + " · ".join([f"{name}: {layer.get('state')}", *(_cut(one) for one in details if one)])


def _explained(mark: str, line: Mapping[str, Any]) -> str:
    reason = str(line.get("reason") or "")
    probability = _object(line, "scores").get("probability")
    relevance = f"relevance {probability:.2f}" if isinstance(probability, (int, float)) else ""
    why = ", ".join(filter(None, ("" if reason == "shown" else reason, relevance)))
    return f"{mark} ({line.get('handle') or 'forgotten'}) {_cut(line.get('text'))} [{why}]"


def _outcomes(recalls: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in recalls.items() if not name.endswith("_ms")) or "none"


def _counter(found: Mapping[str, Any], name: str) -> str:
    """A counter since the installation, with the reason of the last one."""
    counter = _object(_object(found, "counters"), name)
    value = counter.get("value") or 0
    if not value:
        return "0"
    last = ", ".join(filter(None, (_moment(counter.get("last_at")), _cut(counter.get("last_reason")))))
    return f"{value} (last {last})" if last else str(value)


def _items(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = found.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _count(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name)
    return round(value) if isinstance(value, (int, float)) else 0


def _object(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = found.get(name)
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, (int, float)) else "?"


def _moment(value: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(value)) if isinstance(value, (int, float)) and value else ""


def _cut(value: Any) -> str:
    text = " ".join(str(value or "").split())
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}…"
