"""Reads a PDF from stdin, page by page, and writes JSON lines: a header, then a page each. A program of its own.

The engine is a browser's C++ and its input may be anybody's: it runs in this process alone, with bounded memory and time, so
that a file which brings it down brings down nothing else. Imports nothing of memory-os: it starts in 60 ms.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

# A page's pictures are never decoded, and one page is held at a time; a 100 MB book takes 300 MB.
_MEMORY_BYTES = 2 * 1024**3
_CPU_S = 120
# FPDF_GetLastError
_DAMAGED, _PASSWORD, _SECURITY = 3, 4, 5


def main() -> int:
    """Exit code 0 with JSON lines; the first has `error` if it can't be read at all."""
    max_chars = int(sys.argv[1])
    for what, limit in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CPU, _CPU_S)):
        with suppress(ValueError, OSError):  # not every system lets memory be bounded
            resource.setrlimit(what, (limit, limit))
    for line in _lines(sys.stdin.buffer.read(), max_chars):
        sys.stdout.write(json.dumps(line) + "\n")
    return 0


def _lines(data: bytes, max_chars: int) -> Iterator[dict[str, Any]]:
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(data)
        count = len(document)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        yield {"error": "password" if code in (_PASSWORD, _SECURITY) else "damaged"}
        return
    yield {"pages": count, **_metadata(document)}
    taken = 0
    for number in range(count):
        text = _page(document, number, pdfium.PdfiumError)
        taken += len(text or "")
        yield {"page": number + 1, "text": text}
        if taken > max_chars:
            return


def _page(document: Any, number: int, fault: type[Exception]) -> str | None:
    """The text of one page; None if the page is damaged."""
    try:
        page = document[number]
        try:
            words = page.get_textpage()
            try:
                return str(words.get_text_range())
            finally:
                words.close()
        finally:
            page.close()
    except (fault, ValueError, OSError):
        return None


def _metadata(document: Any) -> dict[str, str]:
    try:
        found = document.get_metadata_dict()
    except Exception:  # noqa: BLE001 - a title is not worth a document
        return {"title": "", "created": ""}
    return {"title": str(found.get("Title", "")), "created": str(found.get("CreationDate", ""))}


if __name__ == "__main__":
    sys.exit(main())
