"""A canvas of filled rectangles and plain words, and its bytes as PNG (RFC 2083, 8-bit palette)."""

from __future__ import annotations

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INK, _PAPER = "#222222", "#ffffff"
# The common 5x7 dot-matrix letters: five columns each, the lowest bit is the top row. What is not here is left blank.
_COLUMNS = {
    "0": "3e5149453e", "1": "00427f4000", "2": "4261514946", "3": "2141454b31", "4": "1814127f10", "5": "2745454539",
    "6": "3c4a494930", "7": "0171090503", "8": "3649494936", "9": "064949291e", "-": "0808080808", ".": "0060600000",
    ",": "0050300000", ":": "0036360000", "/": "2010080402", "%": "2313086462", "a": "2054545478", "b": "7f48444438",
    "c": "3844444420", "d": "384444487f", "e": "3854545418", "f": "087e090102", "g": "0c5252523e", "h": "7f08040478",
    "i": "00447d4000", "j": "2040443d00", "k": "7f10284400", "l": "00417f4000", "m": "7c04180478", "n": "7c08040478",
    "o": "3844444438", "p": "7c14141408", "q": "081414187c", "r": "7c08040408", "s": "4854545420", "t": "043f444020",
    "u": "3c4040207c", "v": "1c2040201c", "w": "3c4030403c", "x": "4428102844", "y": "0c5050503c", "z": "4464544c44",
}  # fmt: skip
_ADVANCE = 6
_ROWS = 7


class Canvas:
    """`width` times `height` pixels, white at first. What is drawn beyond its edges is cut off."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._palette = [_PAPER, _INK]
        self._rows = [bytearray(width) for _ in range(height)]

    def fill(self, left: int, top: int, right: int, bottom: int, colour: str) -> None:
        """A rectangle of one colour (`#rrggbb`), without its right column and its bottom row."""
        if colour not in self._palette:
            self._palette.append(colour)
        left, right = max(0, left), min(self._width, right)
        if left >= right:
            return
        pixels = bytes([self._palette.index(colour)]) * (right - left)
        for row in self._rows[max(0, top) : max(0, bottom)]:
            row[left:right] = pixels

    def write(self, left: int, base: int, text: str, scale: int) -> None:
        """A word whose letters stand on the row `base`, each dot `scale` pixels wide."""
        for position, char in enumerate(text.casefold()):
            for column, bits in enumerate(bytes.fromhex(_COLUMNS.get(char, ""))):
                x = left + (position * _ADVANCE + column) * scale
                for row in range(_ROWS):
                    if bits >> row & 1:
                        y = base - (_ROWS - row) * scale
                        self.fill(x, y, x + scale, y + scale, _INK)

    @staticmethod
    def text_width(text: str, scale: int) -> int:
        """Pixels from the first column of a word to its last."""
        return max(0, len(text) * _ADVANCE - 1) * scale

    def png(self, title: str) -> bytes:
        """The picture as a file; `title` stands in it as text (Latin-1)."""
        header = struct.pack(">IIBBBBB", self._width, self._height, 8, 3, 0, 0, 0)
        palette = b"".join(bytes.fromhex(colour[1:]) for colour in self._palette)
        # Each row begins with its filter: none.
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        described = b"Title\0" + title.encode("latin-1", "replace")
        chunks = ((b"IHDR", header), (b"PLTE", palette), (b"tEXt", described), (b"IDAT", pixels), (b"IEND", b""))
        return _SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
