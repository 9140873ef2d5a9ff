"""A relay between clients and a server on Unix sockets, which loses or delays on request."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from support.listening import stop_accepting

_READ_BYTES = 64 * 1024


class Relay:
    """Passes bytes on in both directions, on a thread of its own, until it is told to lose them."""

    def __init__(self, path: Path, daemon: Path) -> None:
        """Listen on `path` for connections to the socket `daemon`."""
        self._daemon = daemon
        self._open = asyncio.Event()
        self._open.set()
        self._losing_after: int | None = None
        self._pairs: set[tuple[asyncio.WriteTransport, ...]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server = asyncio.run_coroutine_threadsafe(
            asyncio.start_unix_server(self._relay, path), self._loop
        ).result(10)

    def lose(self, after_bytes: int) -> None:
        """Lose every connection once so many more bytes have gone from clients to the daemon."""
        self._loop.call_soon_threadsafe(self._lose, after_bytes)

    def lead_to(self, daemon: Path) -> None:
        """Let connections from now on lead to another socket."""
        self._daemon = daemon

    def stall(self, *, stalled: bool) -> None:
        """Keep back what arrives, in both directions, or let it go on."""
        self._loop.call_soon_threadsafe(self._open.clear if stalled else self._open.set)

    def close(self) -> None:
        """End everything."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        await stop_accepting(self._server)
        self._open.set()
        # For connections whose task begins when they are made.
        await asyncio.sleep(0)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            self._lose(0)
            await asyncio.wait(others, timeout=0.01)

    def _lose(self, after_bytes: int) -> None:
        self._losing_after = after_bytes or None
        if not after_bytes:
            for pair in list(self._pairs):
                for transport in pair:
                    transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_daemon = await asyncio.open_unix_connection(self._daemon)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer.transport, to_daemon[1].transport)
        self._pairs.add(pair)
        await asyncio.gather(
            self._pass(reader, to_daemon[1], counted=True),
            self._pass(to_daemon[0], writer, counted=False),
        )
        self._pairs.discard(pair)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                if counted and self._losing_after is not None:
                    data = data[: self._losing_after]
                    self._losing_after -= len(data)
                await self._open.wait()
                writer.write(data)
                await writer.drain()
                if self._losing_after == 0:
                    self._lose(0)
        writer.close()


@contextlib.contextmanager
def relaying(path: Path, daemon: Path) -> Iterator[Relay]:
    """A relay that listens on `path`."""
    relay = Relay(path, daemon)
    try:
        yield relay
    finally:
        relay.close()
