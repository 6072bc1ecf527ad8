"""One HTTP exchange with an endpoint: a stream of events, or an answer that comes whole. Faults come typed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp

from memory_os.llm.dialect import Prompt, Reply, Wire
from memory_os.llm.endpoint import Endpoint
from memory_os.llm.faults import Fault, FaultClass, clean, of_status

# An answer is text of some thousand tokens; more is no answer.
ANSWER_MAX_BYTES = 8 * 1024 * 1024
ERROR_MAX_BYTES = 64 * 1024
_DONE = b"[DONE]"


def open_session() -> aiohttp.ClientSession:
    """No time-outs of its own (`Stopwatch` has them), no limit of connections (the client has one), no cookies."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=True,
    )


async def exchange(
    session: aiohttp.ClientSession,
    wire: Wire,
    endpoint: Endpoint,
    prompt: Prompt,
    refused: frozenset[str],
    heard: Callable[[], None],
    now: Callable[[], float],
) -> Reply:
    """Ask, and read the reply to its end. `heard` is called for every piece with a token. Raises Fault."""
    body = wire.body(prompt, refused)
    async with _posted(
        session, wire.chat_url(endpoint), _headers(wire, endpoint, prompt.idempotency_key), body, endpoint
    ) as got:
        await _refused(got, endpoint, now)
        if got.content_type == "text/event-stream":
            return await _streamed(got, wire, heard)
        return _whole(await _limited(got, ANSWER_MAX_BYTES), wire, heard)


async def post_json(
    session: aiohttp.ClientSession,
    url: str,
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    endpoint: Endpoint,
    now: Callable[[], float],
) -> dict[str, Any]:
    """A plain request whose answer is one JSON object. Raises Fault."""
    async with _posted(session, url, headers, body, endpoint) as got:
        await _refused(got, endpoint, now)
        return _object(await _limited(got, ANSWER_MAX_BYTES))


async def reachable(
    session: aiohttp.ClientSession, url: str, headers: Mapping[str, str], endpoint: Endpoint, now: Callable[[], float]
) -> None:
    """Ask for the list of models, which costs nothing. An endpoint without one is there all the same. Raises Fault."""
    async with _Exchange(
        session.get(url, headers=headers, proxy=endpoint.proxy or None, allow_redirects=False), endpoint
    ) as got:
        if got.status not in (404, 405):
            await _refused(got, endpoint, now)


class _Exchange:
    """A response whose faults of the connection are typed, wherever in its reading they come."""

    def __init__(self, context: Any, endpoint: Endpoint) -> None:
        self._context = context
        self._endpoint = endpoint

    async def __aenter__(self) -> aiohttp.ClientResponse:
        try:
            response: aiohttp.ClientResponse = await self._context.__aenter__()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _of_connection(error, self._endpoint) from error
        except RuntimeError as error:  # the client was closed meanwhile
            raise Fault(FaultClass.REFUSED, "request", "the request can't be sent any more") from error
        return response

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._context.__aexit__(kind, error, trace)
        if isinstance(error, (aiohttp.ClientError, OSError)):
            raise _of_connection(error, self._endpoint, processed=True) from error


def _posted(
    session: aiohttp.ClientSession, url: str, headers: Mapping[str, str], body: Mapping[str, Any], endpoint: Endpoint
) -> _Exchange:
    # A redirect is not followed: it would carry the key and the conversation to an address nobody configured.
    request = session.post(url, json=body, headers=headers, proxy=endpoint.proxy or None, allow_redirects=False)
    return _Exchange(request, endpoint)


def _headers(wire: Wire, endpoint: Endpoint, key: str) -> dict[str, str]:
    return {**wire.headers(endpoint), **({"Idempotency-Key": key} if key else {})}


async def _refused(response: aiohttp.ClientResponse, endpoint: Endpoint, now: Callable[[], float]) -> None:
    if response.status == 200:
        return
    body = (await _limited(response, ERROR_MAX_BYTES)).decode("utf-8", "replace")
    if 300 <= response.status < 400:
        raise Fault(FaultClass.REFUSED, "moved", f"{endpoint.public} sends elsewhere (HTTP {response.status})")
    fault = of_status(response.status, response.headers, body, now())
    fault.message = clean(fault.message, *endpoint.secrets)
    raise fault


async def _streamed(response: aiohttp.ClientResponse, wire: Wire, heard: Callable[[], None]) -> Reply:
    reply = Reply()
    done = False
    async for data in _events(response):
        if data == _DONE:
            done = True
            break
        if wire.take(reply, _object(data)):
            heard()
    if not done and not reply.finish:
        raise Fault(FaultClass.TRANSIENT, "cut_stream", "the answer broke off", processed=True, text=reply.text)
    return reply


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The data of server-sent events, each line an event of its own, as every provider sends them. Comments are skipped."""
    pending = b""
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > ANSWER_MAX_BYTES:
            raise Fault(FaultClass.CONTENT, "too_large", "the answer does not end", processed=True)
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()
    if pending.startswith(b"data:"):
        yield pending[5:].strip()


def _whole(body: bytes, wire: Wire, heard: Callable[[], None]) -> Reply:
    if body.lstrip().startswith(b"data:"):  # a stream that doesn't say so
        reply = Reply()
        for line in body.splitlines():
            data = line[5:].strip() if line.startswith(b"data:") else b""
            if data and data != _DONE:
                wire.take(reply, _object(data))
    else:
        reply = wire.reply(_object(body))
    heard()
    return reply


async def _limited(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise Fault(FaultClass.CONTENT, "too_large", "the answer is larger than an answer is", processed=True)
    return bytes(body)


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        # A proxy's page, a login form: whatever answers there, it isn't the provider.
        raise Fault(FaultClass.TRANSIENT, "not_json", "the answer is no JSON") from None
    if not isinstance(found, dict):
        raise Fault(FaultClass.TRANSIENT, "not_json", "the answer is no JSON object")
    return found


def _of_connection(error: Exception, endpoint: Endpoint, *, processed: bool = False) -> Fault:
    where = endpoint.public
    if isinstance(error, (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError)):
        return Fault(FaultClass.REFUSED, "certificate", f"the certificate of {where} is not accepted")
    if isinstance(error, aiohttp.InvalidURL):
        return Fault(FaultClass.REFUSED, "address", f"{where} is no address")
    if isinstance(error, aiohttp.ClientConnectorError):
        return Fault(FaultClass.TRANSIENT, "unreachable", f"{where} can't be reached: {clean(str(error.os_error))}")
    if isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError):
        return Fault(FaultClass.REFUSED, "request", "the request can't be sent: a header or the address is malformed")
    return Fault(FaultClass.TRANSIENT, "connection_lost", f"the connection to {where} broke", processed=processed)
