"""What can go wrong on the way to a Qdrant server, as errors of ours: each with its cause and its cure."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator

from memory_os.errors import VectorsDenied, VectorsError, VectorsGone, VectorsUnavailable

__all__ = ["typed_fault"]

_BY_ITSELF = "Until it answers, memories are found by words; what is new gets its vector as soon as it does."
_ADDRESS = "Is servers.qdrant_url the address of a Qdrant server, its REST port (6333)?"
_RIGHTS = "Give the key the right to read, write and manage the collection knowledge_base and those numbered after it."


def typed_fault(error: Exception, what: str, url: str, *, has_key: bool) -> tuple[VectorsError, bool]:
    """The error for whatever the client raised while `what`, and whether the other side just hung up.

    Never holds a header, so never the key.
    """
    if isinstance(error, VectorsError):
        return error, False
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _of_status(status, error, what, url, has_key=has_key), False
    if type(error).__name__ in ("ResourceExhaustedResponse", "QdrantException"):  # 429 with a Retry-After
        return _busy(url, getattr(error, "retry_after_s", None)), False
    source = getattr(error, "source", error)
    return _of_transport(source, what, url)


def _of_status(status: int, error: Exception, what: str, url: str, *, has_key: bool) -> VectorsError:
    said, structured = _said(getattr(error, "content", b""))
    if status == 401:
        told = "refuses the API key" if has_key else "asks for an API key"
        return VectorsDenied(
            f"{url} {told} (401).", cure="Set QDRANT_API_KEY to the server's key, then restart memory-os."
        )
    if status == 403:
        return VectorsDenied(f"{url} does not allow this key {what} (403): {said}.", cure=_RIGHTS)
    if status == 404 and structured and "ollection" in said:
        return VectorsGone(
            f"The collection is no longer on {url} (404): {said}.",
            cure="It is derived again from memory.db by itself; nothing is embedded again.",
        )
    if status == 404:
        return VectorsUnavailable(f"{url} knows no such address (404) while {what}.", cure=_ADDRESS)
    if status == 429:
        return _busy(url, None)
    if status >= 500:
        return VectorsUnavailable(
            f"{url} fails while {what} ({status}): {said}.", cure=f"See the server's log. {_BY_ITSELF}"
        )
    cure = "Another instance may be doing the same: it is tried again." if status == 409 else "See the server's log."
    return VectorsError(f"{url} refused while {what} ({status}): {said}.", cure=cure)


def _busy(url: str, retry_after: object) -> VectorsUnavailable:
    seconds = float(retry_after) if isinstance(retry_after, int | float) and retry_after >= 0 else None
    asked = "" if seconds is None else f", for {seconds:.0f} s"
    return VectorsUnavailable(
        f"{url} is asked too much and wants to be left alone{asked} (429).", cure=_BY_ITSELF, retry_after=seconds
    )


def _of_transport(error: BaseException, what: str, url: str) -> tuple[VectorsError, bool]:
    import httpx

    for cause in _chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return VectorsDenied(
                f"The certificate of {url} is not trusted: {cause.verify_message}.",
                cure="Set servers.qdrant_ca_file to the PEM file of the authority that signed it.",
            ), False
        if isinstance(cause, ssl.SSLError):
            return VectorsDenied(
                f"No TLS with {url}: {cause.reason or cause}.", cure="Does that port speak https?"
            ), False
    if isinstance(error, httpx.TimeoutException):
        phase = "can't be reached in time" if isinstance(error, httpx.ConnectTimeout) else "is too slow"
        return VectorsUnavailable(f"{url} {phase} ({what}).", cure=_BY_ITSELF), False
    if isinstance(error, httpx.ConnectError):
        return VectorsUnavailable(
            f"{url} can't be reached: {_line(error)}.", cure=f"Start it, or check the address. {_BY_ITSELF}"
        ), False
    if isinstance(error, httpx.TransportError):
        return VectorsUnavailable(
            f"{url} broke the connection off while {what}: {_line(error)}.", cure=_BY_ITSELF
        ), True
    if isinstance(error, ValueError):  # no JSON, or none of the expected shape
        return VectorsUnavailable(f"{url} gave an answer that can't be read while {what}.", cure=_ADDRESS), False
    return VectorsError(f"{what} on {url} failed: {type(error).__name__}: {_line(error)}."), False


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _said(content: bytes) -> tuple[str, bool]:
    """The server's own words, and whether they came the way Qdrant says them."""
    try:
        told = json.loads(content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return _line(content[:200].decode("utf-8", "replace")) or "no reason given", False
    return _line(told), True


def _line(text: object) -> str:
    return " ".join(str(text).split())[:200].rstrip(".")
