"""The report's plot as SVG: stacked bars of lines by day, and the rate of rediscoveries above them. No dependency."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from memory_os.errors import BadRequest
from memory_os.ground_truth.report import day_labels

_KINDS = (("used", "#2a7d4f"), ("ignored", "#b9bec6"), ("contradicted", "#b3412f"))
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 320, 46, 46, 60
_LABELS_MAX = 14


def write_svg(path: Path, found: dict[str, Any]) -> None:
    """Write the plot. Raises BadRequest when the file can't be written."""
    try:
        path.write_text(svg(found), "utf-8")
    except OSError as error:
        raise BadRequest(f"{path} can't be written: {error.strerror}.", cure="Name a file in a folder of yours.") from error


def svg(found: dict[str, Any]) -> str:
    """The figures of a report as one SVG document."""
    days = day_labels(found["since"], found["until"])
    figures = [found["days"].get(day, {}) for day in days]
    most = max((sum(day.get(kind, 0) for kind, _ in _KINDS) for day in figures), default=0) or 1
    step = (_WIDTH - _LEFT - 10) / max(len(days), 1)
    parts = [_head(found)]
    for at, (day, one) in enumerate(zip(days, figures, strict=True)):
        parts += _bar(_LEFT + at * step, step, one, most)
        if at % (len(days) // _LABELS_MAX + 1) == 0:
            parts.append(_text(_LEFT + at * step + step / 2, _HEIGHT - _BOTTOM + 18, day[5:], "middle"))
    parts += [_text(_LEFT - 6, _TOP + 4, str(most), "end"), _text(_LEFT - 6, _HEIGHT - _BOTTOM, "0", "end")]
    return "\n".join([*parts, "</svg>", ""])


def _head(found: dict[str, Any]) -> str:
    total = found["total"]
    title = f"memory-os: lines by day, {total['rediscoveries_per_100']} rediscoveries per 100 turns, {total['misses']} misses"
    legend = "".join(
        f'<rect x="{_LEFT + at * 130}" y="{_HEIGHT - 24}" width="12" height="12" fill="{colour}"/>'
        + _text(_LEFT + at * 130 + 18, _HEIGHT - 14, f"{kind} {total[kind]}", "start")
        for at, (kind, colour) in enumerate(_KINDS)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="white"/>{_text(_LEFT, 24, title, "start")}{legend}'
    )


def _bar(left: float, step: float, day: dict[str, Any], most: int) -> list[str]:
    floor, height = _HEIGHT - _BOTTOM, _HEIGHT - _BOTTOM - _TOP
    parts, y = [], float(floor)
    for kind, colour in _KINDS:
        tall = height * day.get(kind, 0) / most
        y -= tall
        if tall:
            parts.append(
                f'<rect x="{left + step * 0.15:.1f}" y="{y:.1f}" width="{step * 0.7:.1f}" height="{tall:.1f}" fill="{colour}"/>'
            )
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
