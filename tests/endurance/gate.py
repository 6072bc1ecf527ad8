"""A way into a server that can be closed, clogged, slowed or lied at: what happens to servers, at the wire, for any protocol."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Literal, get_args

Mode = Literal["open", "refused", "hanging", "slow", "lying"]
FAULTS: tuple[Mode, ...] = get_args(Mode)[1:]
_SLOW_S = 0.7


class Gate:
    """A loopback port before another. `lie` is what a client gets for each thing it says while the gate lies."""

    def __init__(self, target: int, lie: bytes) -> None:
        self.port = 0
        # How many connections came in each mode; those refused are seen by nobody.
        self.met: Counter[Mode] = Counter()
        self._target = target
        self._lie = lie
        self._mode: Mode = "open"
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gate", daemon=True)
        self._thread.start()
        self._do(self._listen())

    def set(self, mode: Mode) -> None:
        """From now on; connections there were are cut, as by whatever does such a thing to a server."""
        self._do(self._change(mode))

    def passes(self, mode: Mode) -> bool:
        """Whether what is said in this mode reaches the server."""
        return mode in ("open", "slow")

    def close(self) -> None:
        self.set("refused")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(120)  # type: ignore[arg-type]

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _change(self, mode: Mode) -> None:
        self._mode = mode
        for writer in tuple(self._connections):
            writer.transport.abort()
        if mode == "refused" and self._server is not None:
            self._server.close()
            self._server = None
        elif mode != "refused" and self._server is None:
            await self._listen()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        self.met[self._mode] += 1
        try:
            if self.passes(self._mode):
                await self._pass_on(reader, writer)
            while said := await reader.read(65_536):
                if self._mode == "lying" and said:
                    writer.write(self._lie)
        except OSError:
            return
        finally:
            self._connections.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._connections.add(back)
        try:
            await asyncio.gather(_pump(reader, back, 0.0), _pump(there, writer, _SLOW_S if self._mode == "slow" else 0.0))
        finally:
            self._connections.discard(back)
            back.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    while said := await reader.read(65_536):
        await asyncio.sleep(delay_s)
        writer.write(said)
        await writer.drain()
    writer.transport.abort()
