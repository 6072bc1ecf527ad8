"""The report's plot as SVG and as PNG, read back by readers of their own."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path
from typing import Any

import pytest
from memory_os.errors import BadRequest
from memory_os_workers.plot import png, svg, write_plot
from memory_os_workers.png import Canvas

DAY_S = 86_400.0
SINCE = 1_795_392_000.0  # 2026-11-23
TOTAL = {"rediscoveries_per_100": 12.5, "misses": 3, "used": 6, "ignored": 3, "contradicted": 1}
FOUND: dict[str, Any] = {
    "since": SINCE, "until": SINCE + 6 * DAY_S, "total": TOTAL,
    "days": {
        "2026-11-23": {"used": 4, "ignored": 3, "contradicted": 1},
        "2026-11-26": {"used": 2, "ignored": 0, "contradicted": 0},
    },
}  # fmt: skip
GREEN, GREY, RED, INK = (0x2A, 0x7D, 0x4F), (0xB9, 0xBE, 0xC6), (0xB3, 0x41, 0x2F), (0x22, 0x22, 0x22)


def decoded(data: bytes) -> tuple[int, int, list[list[tuple[int, ...]]], bytes]:
    """(width, height, rows of colours, text chunk) of an indexed PNG without filters; every checksum is checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind) == (8, 3)
    colours = [tuple(chunks[b"PLTE"][i : i + 3]) for i in range(0, len(chunks[b"PLTE"]), 3)]
    pixels = zlib.decompress(chunks[b"IDAT"])
    rows = [pixels[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert len(pixels) == height * (width + 1) and all(row[0] == 0 for row in rows)
    return width, height, [[colours[pixel] for pixel in row[1:]] for row in rows], chunks[b"tEXt"]


def test_the_png_has_the_bars_of_the_figures() -> None:
    width, height, rows, text = decoded(png(FOUND))
    assert (width, height) == (1520, 640) and b"12.5 rediscoveries" in text
    bars = rows[: 2 * 260]  # above the legend
    count = {colour: sum(row.count(colour) for row in bars) for colour in (GREEN, GREY, RED)}
    assert count[GREEN] / count[RED] == pytest.approx(6, rel=0.03), "six lines used to one contradicted"
    assert count[GREY] / count[RED] == pytest.approx(3, rel=0.03)
    left = [x for row in bars for x, pixel in enumerate(row) if pixel == RED]
    assert max(left) < width / 7 + 2 * 46, "only the first day has a contradicted line"
    assert sum(row.count(INK) for row in rows[:60]) > 500, "the sentence above is written"


def test_both_formats_stand_where_the_name_says(tmp_path: Path) -> None:
    write_plot(tmp_path / "memory.PNG", FOUND)
    assert decoded((tmp_path / "memory.PNG").read_bytes())[0] == 1520
    write_plot(tmp_path / "memory.svg", FOUND)
    picture = ElementTree.fromstring((tmp_path / "memory.svg").read_text("utf-8"))
    heights = [float(one.attrib["height"]) for one in picture if one.attrib.get("fill") == "#2a7d4f"]
    assert sorted(heights) == [12.0, pytest.approx(214 / 4, abs=0.1), pytest.approx(214 / 2, abs=0.1)]


@pytest.mark.parametrize("name", ["memory.pdf", "memory", "none/memory.png", "none/memory.svg"])
def test_a_file_that_cannot_be_is_a_bad_request(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest):
        write_plot(tmp_path / name, FOUND)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("days", [0, 1, 400])
def test_any_length_of_time_is_drawn(days: int) -> None:
    found = {**FOUND, "until": SINCE + days * DAY_S}
    assert decoded(png(found))[:2] == (1520, 640)
    ElementTree.fromstring(svg(found))


def test_what_is_drawn_beyond_the_edge_is_cut_off() -> None:
    canvas = Canvas(10, 8)
    canvas.fill(-5, -5, 3, 3, "#ff0000")
    canvas.fill(8, 6, 20, 20, "#0000ff")
    canvas.write(-3, 4, "8é", 1)
    _, _, rows, _ = decoded(canvas.png("é 漢"))
    assert [len(row) for row in rows] == [10] * 8 and rows[7][9] == (0, 0, 255) and rows[0][2] != (255, 255, 255)
