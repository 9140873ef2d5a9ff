"""Connections of the HTTP side: who waits, who has a slot, and who has had enough time.

A connection waits, for hardly any memory, until the head of its request is there. Then it needs a
slot: health and metrics have slots of their own, so that whoever watches the daemon is answered
whatever others do. It is good for one request; then it is closed, and so a peer that stays silent
holds no slot, and one that sends request after request sends them in vain. Too slow a peer is cut
off: one whose head does not come, that takes no bytes, or that sends more than a request can be.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable
from typing import Final, cast

from littled.limits import (
    HTTP_CONNECTIONS_MAX,
    HTTP_HEAD_BYTES_MAX,
    HTTP_HEAD_SECONDS,
    HTTP_REQUEST_BYTES_MAX,
    HTTP_WAITING_MAX,
    HTTP_WATCH_CONNECTIONS_MAX,
    SWEEP_SECONDS,
)
from littled_protocol import limits
from littled_protocol.foreign import http_refusal

# Pages that have slots of their own.
WATCHED: Final = frozenset({b"/healthz", b"/metrics"})
_HEAD_END: Final = b"\r\n\r\n"
_EMPTY: Final = b"Content-Length: 0\r\nConnection: close\r\n\r\n"
_TOO_LONG: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _EMPTY
# Every method of HTTP begins with one; no frame of our own protocol does, and nothing of TLS.
_LETTERS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_NO_HTTP: Final = http_refusal(
    "This port speaks HTTP; clients of littled need the address of --unix or --tcp."
)
_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n" + _EMPTY


class HttpConnections:
    """All connections of one HTTP listener.

    `answer` makes the protocol that reads a request and writes the answer to it. With TLS a
    connection waits from its handshake on.
    """

    def __init__(
        self, answer: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None = None
    ) -> None:
        """Begin with none."""
        self.answer = answer
        self._tls = tls
        # Dicts for their order: the oldest first. By whether the slot is one for who watches.
        self.waiting: dict[HttpConnection, None] = {}
        self.slots: dict[bool, dict[HttpConnection, None]] = {True: {}, False: {}}
        self._sweeper: asyncio.TimerHandle | None = None

    def __call__(self) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection."""
        connection = HttpConnection(self)
        return connection if self._tls is None else _Handshake(connection, self._tls)

    def start(self) -> None:
        """Begin to look for broken time limits."""
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(SWEEP_SECONDS, self._sweep)

    def stop(self) -> None:
        """Stop looking, and close what still waits for a request."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in list(self.waiting):
            connection.cut()

    def add(self, connection: HttpConnection) -> None:
        """Let a new connection wait; the one that waits longest makes room."""
        if connection in self.waiting:
            return
        self.waiting[connection] = None
        if len(self.waiting) > HTTP_WAITING_MAX:
            next(iter(self.waiting)).cut()

    def take_slot(self, connection: HttpConnection, *, watches: bool) -> bool:
        """Give a waiting connection a slot; return False when there is none.

        Who was answered and has only not closed yet makes room for a newcomer.
        """
        slots = self.slots[watches]
        if len(slots) >= (HTTP_WATCH_CONNECTIONS_MAX if watches else HTTP_CONNECTIONS_MAX):
            answered = (other for other in slots if other.is_answered)
            if (oldest := next(answered, None)) is None:
                return False
            oldest.cut()
        del self.waiting[connection]
        slots[connection] = None
        return True

    def forget(self, connection: HttpConnection) -> None:
        """Take note that a connection is over."""
        for connections in (self.waiting, *self.slots.values()):
            connections.pop(connection, None)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for connections in (self.waiting, *self.slots.values()):
            for connection in list(connections):
                connection.check_time(loop.time())
        self._sweeper = loop.call_later(SWEEP_SECONDS, self._sweep)


class _Handshake(sslproto.SSLProtocol):
    """TLS under a connection, which counts as one from its first byte on, done or not."""

    # The library would keep four times as much for each connection.
    max_size = 64 * 1024

    def __init__(self, connection: HttpConnection, tls: ssl.SSLContext) -> None:
        """Shake hands for a connection."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        done.add_done_callback(_pass_over)
        super().__init__(
            loop,
            connection,
            tls,
            done,
            server_side=True,
            # Seconds may have fractions, whatever their type is said to be.
            ssl_handshake_timeout=cast("int", HTTP_HEAD_SECONDS),
            ssl_shutdown_timeout=limits.close_seconds,
        )
        self._connection = connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._connection.connection_made(transport)
        super().connection_made(cast("asyncio.Transport", transport))

    def connection_lost(self, exc: BaseException | None) -> None:
        """End, also before the handshake was done."""
        super().connection_lost(exc)
        self._connection.connection_lost(exc)


def _pass_over(done: asyncio.Future[None]) -> None:
    """Look at why a handshake failed, which nobody needs to hear of."""
    if not done.cancelled():
        done.exception()


def _path_in(target: bytes) -> bytes:
    """The path in the target of a request, before which a host may be named (RFC 9112, 3.2.2)."""
    if not target.startswith(b"/"):
        _, slash, rest = target.partition(b"://")[2].partition(b"/")
        target = slash + rest
    return target.partition(b"?")[0]


class HttpConnection(asyncio.Protocol):
    """One connection: waits for the head of a request, then stands before who answers it."""

    def __init__(self, connections: HttpConnections) -> None:
        """Belong to these connections."""
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Protocol | None = None
        self._head = bytearray()
        self._left_bytes = HTTP_REQUEST_BYTES_MAX
        self._since = self._taken_at = 0.0
        self._unsent_bytes = 0

    @property
    def is_answered(self) -> bool:
        """Whether the answer is written, and only its way to the peer is left."""
        return self._transport is not None and self._transport.is_closing()

    def cut(self) -> None:
        """End the connection at once."""
        self._connections.forget(self)
        if self._transport is not None:
            self._transport.abort()

    def check_time(self, now: float) -> None:
        """End the connection if the peer has broken a time limit; `now` is the loop's time."""
        if self._transport is None:
            return
        unsent = self._transport.get_write_buffer_size()
        if self._unsent_bytes == 0 or unsent < self._unsent_bytes:
            self._taken_at = now
        self._unsent_bytes = unsent
        if now - self._taken_at > limits.send_seconds or (
            self._answer is None and now - self._since > HTTP_HEAD_SECONDS
        ):
            self.cut()

    # --- Called by the loop -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait, or go on with it once the handshake of TLS is done."""
        if self._transport is None:
            self._since = self._taken_at = asyncio.get_running_loop().time()
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Collect the head of the request, or pass on what comes after it."""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self.cut()
        elif self._answer is not None:
            self._answer.data_received(data)
        elif self._transport is not None and not self._transport.is_closing():
            self._head += data
            if self._head[0] in _LETTERS:
                self._take_head(self._transport)
            else:
                self._transport.write(_NO_HTTP)
                self._transport.close()

    def _take_head(self, transport: asyncio.Transport) -> None:
        """Hand the request over to who answers it, once its head is whole."""
        if _HEAD_END not in self._head[: HTTP_HEAD_BYTES_MAX + len(_HEAD_END)]:
            if len(self._head) > HTTP_HEAD_BYTES_MAX:
                transport.write(_TOO_LONG)
                transport.close()
            return
        words = bytes(self._head.partition(b"\r\n")[0]).split(b" ")
        path = _path_in(words[1]) if len(words) > 1 else b""
        if not self._connections.take_slot(self, watches=path in WATCHED):
            transport.write(_FULL)
            transport.close()
            return
        self._answer = self._connections.answer()
        self._answer.connection_made(transport)
        self._answer.data_received(bytes(self._head))
        self._head.clear()

    def eof_received(self) -> bool | None:
        """The peer sends nothing more; so it wants nothing more."""
        return None if self._answer is None else self._answer.eof_received()

    def pause_writing(self) -> None:
        """Pass on that the peer does not read."""
        if self._answer is not None:
            self._answer.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that it has read."""
        if self._answer is not None:
            self._answer.resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Free the slot; may be called twice."""
        self._connections.forget(self)
        self._transport = None
        if self._answer is not None:
            self._answer.connection_lost(cast("Exception | None", exc))
            self._answer = None
