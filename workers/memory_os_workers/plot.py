"""The report's plot: stacked bars of lines by day under one sentence, as SVG or PNG. One layout, two writers.

No dependency: both formats are plain for filled rectangles and a few words, while a plotting library would be larger than
the rest of the product, and Pillow another 7 MB for one picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from memory_os.errors import BadRequest
from memory_os.ground_truth.report import day_labels

from memory_os_workers.png import Canvas

_KINDS = (("used", "#2a7d4f"), ("ignored", "#b9bec6"), ("contradicted", "#b3412f"))
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 320, 46, 46, 60
_LABELS_MAX = 14
# Pixels for each unit of the layout in a PNG.
_SCALE = 2

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Bar:
    """A filled rectangle; `y` is its upper edge."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True, slots=True)
class Label:
    """A word on a base line."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"


def write_plot(path: Path, found: dict[str, Any]) -> None:
    """Write the plot in the format of the file's name. Raises BadRequest for another one, or a file that can't be written."""
    write = _WRITERS.get(path.suffix.casefold())
    if write is None:
        raise BadRequest(f"{path.name} is neither .svg nor .png.", cure="Name the file memory.svg or memory.png.")
    try:
        path.write_bytes(write(found))
    except OSError as error:
        raise BadRequest(f"{path} can't be written: {error.strerror}.", cure="Name a file in a folder of yours.") from error


def svg(found: dict[str, Any]) -> bytes:
    """The figures of a report as one SVG document."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f"<title>{escape(_title(found))}</title>\n" + '<rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *map(_as_svg, layout(found)), "</svg>", ""]).encode()


def png(found: dict[str, Any]) -> bytes:
    """The same picture in pixels, twice as large."""
    canvas = Canvas(_WIDTH * _SCALE, _HEIGHT * _SCALE)
    for shape in layout(found):
        if isinstance(shape, Bar):
            left, top = round(shape.x * _SCALE), round(shape.y * _SCALE)
            # At least a pixel: a day with one line in a year is not nothing.
            right = max(left + 1, round((shape.x + shape.width) * _SCALE))
            canvas.fill(left, top, right, max(top + 1, round((shape.y + shape.height) * _SCALE)), shape.colour)
        else:
            share = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor]
            left = round(shape.x * _SCALE - share * canvas.text_width(shape.text, _SCALE))
            canvas.write(left, round(shape.y * _SCALE), shape.text, _SCALE)
    return canvas.png(_title(found))


_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {".svg": svg, ".png": png}


def layout(found: dict[str, Any]) -> Iterator[Bar | Label]:
    """Everything that is drawn, in the picture's own units, from its upper left corner."""
    days = day_labels(found["since"], found["until"])
    figures = [found["days"].get(day, {}) for day in days]
    most = max((sum(day.get(kind, 0) for kind, _ in _KINDS) for day in figures), default=0) or 1
    step = (_WIDTH - _LEFT - 10) / max(len(days), 1)
    yield Label(_LEFT, 24, _title(found))
    for at, (kind, colour) in enumerate(_KINDS):
        yield Bar(_LEFT + at * 150, _HEIGHT - 24, 12, 12, colour)
        yield Label(_LEFT + at * 150 + 18, _HEIGHT - 14, f"{kind} {found['total'][kind]}")
    for at, (day, one) in enumerate(zip(days, figures, strict=True)):
        yield from _stack(_LEFT + at * step, step, one, most)
        if at % (len(days) // _LABELS_MAX + 1) == 0:
            yield Label(_LEFT + at * step + step / 2, _HEIGHT - _BOTTOM + 18, day[5:], "middle")
    yield Label(_LEFT - 6, _TOP + 4, str(most), "end")
    yield Label(_LEFT - 6, _HEIGHT - _BOTTOM, "0", "end")


def _stack(left: float, step: float, day: dict[str, Any], most: int) -> Iterator[Bar]:
    height, y = _HEIGHT - _BOTTOM - _TOP, float(_HEIGHT - _BOTTOM)
    for kind, colour in _KINDS:
        tall = height * day.get(kind, 0) / most
        y -= tall
        if tall:
            yield Bar(left + step * 0.15, y, step * 0.7, tall, colour)


def _title(found: dict[str, Any]) -> str:
    total = found["total"]
    return f"memory-os: lines by day, {total['rediscoveries_per_100']} rediscoveries per 100 turns, {total['misses']} misses"


def _as_svg(shape: Bar | Label) -> str:
    if isinstance(shape, Bar):
        return (
            f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}"'
            f' fill="{shape.colour}"/>'
        )
    return f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" text-anchor="{shape.anchor}">{escape(shape.text)}</text>'
