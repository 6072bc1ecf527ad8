"""`memory-os report`: whether memory helped, by day and layer."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_os_workers.cli.invocation import OK, Invocation, json_option, pass_invocation, print_table, when

if TYPE_CHECKING:
    from rich.console import Console

_SPAN = re.compile(r"(\d{1,4})\s*([dhw])")
_SECONDS = {"h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_BAR = 30
_DAY_COLUMNS = ("turns", "injections", "tokens", "used", "ignored", "contradicted", "rediscoveries", "misses", "small_talk", "late")


def _since(ctx: click.Context, parameter: click.Parameter, value: str) -> float:
    """`7d`, `36h`, `2w`, or a UTC day as 2026-11-23: epoch seconds."""
    span = _SPAN.fullmatch(value.strip())
    if span:
        return time.time() - int(span[1]) * _SECONDS[span[2]]
    try:
        return datetime.fromisoformat(value.strip()).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a span (7d, 36h, 2w) nor a day (2026-11-23).", ctx, parameter) from None


@click.command()
@click.option("--since", default="7d", show_default=True, callback=_since, help="A span (7d, 36h, 2w) or a UTC day.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also write the plot to this .png or .svg file.")
@click.option("--junk", is_flag=True, help="Instead, a random sample of what was extracted from turns, to be looked at.")
@click.option("--sample", default=20, show_default=True, type=click.IntRange(1, 500), help="How many, with --junk.")
@json_option
@pass_invocation
def report(invocation: Invocation, since: float, plot: Path | None, junk: bool, sample: int) -> int:
    """Show how often memory was used, ignored or wrong, what was searched for again, and what recall missed."""
    if junk:
        drawn = invocation.service().post("/v1/report", {"junk": sample, "everyone": True, **invocation.caller()})
        invocation.show(drawn, lambda out: _render_sample(out, drawn))
        return OK
    body = {"since": since, "everyone": True, **invocation.caller()}
    found = invocation.service().post("/v1/report", body)
    if plot is not None:
        from memory_os_workers.plot import write_plot

        write_plot(plot, found)
    invocation.show(found, lambda out: _render(out, found))
    return OK


def _render(out: Console, found: dict[str, Any]) -> None:
    total = found["total"]
    out.print(f"Since {when(found['since'])}, mode {found['mode']} since {when(found['mode_since'])}")
    if not total["turns"]:
        out.print("No turn was asked for in this time.")
    else:
        _render_total(out, total)
        out.print()
        print_table(out, ("day", *_DAY_COLUMNS), [(day, *(one[key] for key in _DAY_COLUMNS)) for day, one in found["days"].items()])
        _render_layers(out, total["layers"])
        _render_plot(out, found["days"])
    _render_lists(out, found)
    if found["proposal"]:
        out.print(f"\nProposal: {found['proposal']}")


def _render_sample(out: Console, drawn: dict[str, Any]) -> None:
    """Each item over the person's words that it rests on."""
    for name in ("turns", "admitted"):
        out.print(f"{name.capitalize()}: {', '.join(f'{count} {what}' for what, count in drawn[name].items()) or 'none'}")
    for one in drawn["items"]:
        kind = f"{one['kind']}, {one['outcome']}, confidence {one['confidence']:.2f} ({one['ref']})"
        out.print(f"\n{when(one['at'])} {kind}", highlight=False)
        out.print(f"  {_cut(one['text'])}", highlight=False, markup=False)
        out.print(f"  said: {_cut(one['said'])}", highlight=False, markup=False)


def _render_total(out: Console, total: dict[str, Any]) -> None:
    judged = total["used"] + total["ignored"] + total["contradicted"]
    share = f"{100 * total['used'] / judged:.0f} %" if judged else "none yet"
    out.print(
        f"{total['turns']} turns, {total['injections']} with memory ({total['tokens']} tokens),"
        f" {total['small_talk']} small talk, {total['late']} answered too late. Lines used: {share} of {judged}."
    )
    out.print(
        f"Rediscoveries: {total['rediscoveries']} ({total['rediscoveries_per_100']:.1f} per 100 turns with memory;"
        f" {total['rediscovery_tokens']} tokens, {total['rediscovery_ms'] / 1000:.1f} s), pointed at {total['pointed']},"
        f" held {total['held']}; legitimate checks {total['checks']} of {total['look_ups']} look-ups."
    )


def _render_layers(out: Console, layers: dict[str, dict[str, Any]]) -> None:
    if layers:
        columns = ("turns", "lines", "tokens", "used", "ignored", "contradicted")
        out.print()
        print_table(out, ("layer", *columns), [(name, *(one[key] for key in columns)) for name, one in layers.items()])


def _render_plot(out: Console, days: dict[str, dict[str, Any]]) -> None:
    """Lines used (#), ignored (.) and contradicted (x) by day, in proportion."""
    most = max((day["used"] + day["ignored"] + day["contradicted"] for day in days.values()), default=0)
    if not most:
        return
    out.print("\nLines by day: # used  . ignored  x contradicted")
    for name, day in days.items():
        bar = "".join(mark * round(_BAR * day[key] / most) for mark, key in (("#", "used"), (".", "ignored"), ("x", "contradicted")))
        out.print(f"  {name} {bar}")


def _render_lists(out: Console, found: dict[str, Any]) -> None:
    if found["misses"]:
        out.print("\nMissed: a search found what recall had not given")
        for one in found["misses"]:
            out.print(f"  {when(one['at'])} {one['tool']} {one['query']!r} -> ({one['handle']}) {_cut(one['text'])}")
    if found["trust"]:
        out.print("\nTrust moved")
        for one in found["trust"]:
            out.print(f"  ({one['handle']}) {one['before']:.2f} -> {one['after']:.2f} {_cut(one['text'])}")
    if found["reviews"]:
        out.print("\nTo review: a tool said otherwise (`memory-os facts` corrects or removes one)")
        for one in found["reviews"]:
            out.print(f"  ({one['handle']}) {_cut(one['text'])} | {one['tool']}, {when(one['at'])}: {_cut(one['evidence'])}")


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 100 else f"{plain[:100]}…"
