"""PDF files made by hand: pages of text in any script, damaged ones, protected ones, and scans."""

from __future__ import annotations

from collections.abc import Sequence

_TO_UNICODE = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /T def /CMapType 2 def
1 begincodespacerange <0000> <FFFF> endcodespacerange
{ranges}
endcmap end end"""


def pdf(pages: Sequence[Sequence[str]], *, title: str = "", created: str = "", locked: bool = False) -> bytes:
    """A PDF with these lines on each page. `created`: `D:20260305…`; `locked`: it asks for a password."""
    letters = sorted({char for lines in pages for line in lines for char in line})
    codes = {char: number for number, char in enumerate(letters, 1)}
    objects: list[bytes] = [b""] * 5
    kids = []
    for lines in pages:
        objects.append(_stream(_content(lines, codes)))
        page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {len(objects)} 0 R/Resources<</Font<</F 3 0 R>>>>>>"
        objects.append(page.encode())
        kids.append(f"{len(objects)} 0 R")
    objects[0] = b"<</Type/Catalog/Pages 2 0 R>>"
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>".encode()
    objects[2] = b"<</Type/Font/Subtype/Type0/BaseFont/F/Encoding/Identity-H/DescendantFonts[4 0 R]/ToUnicode 5 0 R>>"
    objects[3] = (
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/F/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
        b"/DW 500/FontDescriptor<</Type/FontDescriptor/FontName/F/Flags 4/FontBBox[0 0 500 500]/ItalicAngle 0/Ascent 500"
        b"/Descent 0/CapHeight 500/StemV 50>>>>"
    )
    objects[4] = _stream(_to_unicode(codes).encode())
    return _file(objects, _info(title, created), locked)


def scan(pages: int) -> bytes:
    """A PDF of empty pages, as a scanner makes them."""
    return pdf([[]] * pages)


def _content(lines: Sequence[str], codes: dict[str, int]) -> bytes:
    shown = [f"<{''.join(f'{codes[char]:04X}' for char in line)}> Tj 0 -14 Td" for line in lines]
    return f"BT /F 10 Tf 40 750 Td {' '.join(shown)} ET".encode()


def _to_unicode(codes: dict[str, int]) -> str:
    pairs = [f"<{code:04X}> <{char.encode('utf-16-be').hex().upper()}>" for char, code in codes.items()]
    parts = [pairs[at : at + 100] for at in range(0, len(pairs), 100)]
    return _TO_UNICODE.format(ranges="\n".join(f"{len(p)} beginbfchar {' '.join(p)} endbfchar" for p in parts))


def _stream(data: bytes) -> bytes:
    return b"<</Length %d>>stream\n%s\nendstream" % (len(data), data)


def _info(title: str, created: str) -> bytes:
    text = (b"\xfe\xff" + title.encode("utf-16-be")).hex()
    return f"<</Title<{text}>/CreationDate({created})>>".encode()


def _file(objects: list[bytes], info: bytes, locked: bool) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, one in enumerate([*objects, info], 1):
        offsets.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, one)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    # No password opens what these hashes were not made from.
    lock = (
        b"/Encrypt<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>/ID[<00><00>]" % (b"11" * 32, b"22" * 32)
        if locked
        else b""
    )
    out += b"trailer<</Size %d/Root 1 0 R/Info %d 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (
        len(offsets) + 1, len(offsets), lock, table,
    )  # fmt: skip
    return bytes(out)
