"""Connections of the HTTP side: who waits, who has a slot, and who has had enough time.

A connection waits, for hardly any memory, until the head of its request is there. Then it needs a
slot: health and metrics have slots of their own, so that whoever watches the daemon is answered
whatever others do. With it the request waits for its turn (`littled.service.http_turns`). A
connection is good for one request; then it is closed, and so a peer that stays silent holds no
slot, and one that sends request after request sends them in vain. Too slow a peer is cut off: one
whose head does not come, that takes no bytes, or that sends more than a request can be.

What follows the head is passed on where a page takes it, questions and rows, a little in each turn;
of any other request it is thrown away. The origin of a body pays for it, but not for rows that are
taken (`HttpTurns.charge`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from littled.limits import (
    HTTP_BODY_BYTES_PER_UNIT,
    HTTP_CONNECTIONS_MAX,
    HTTP_EVENTS_UNITS,
    HTTP_HEAD_BYTES_MAX,
    HTTP_HEAD_SECONDS,
    HTTP_LINE_SECONDS,
    HTTP_READ_BYTES,
    HTTP_REFUSED_BYTES_PER_UNIT,
    HTTP_REQUEST_BYTES_MAX,
    HTTP_REQUEST_UNITS,
    HTTP_WAITING_MAX,
    HTTP_WATCH_CONNECTIONS_MAX,
    SWEEP_SECONDS,
)
from littled.service.admission import Admission
from littled.service.http_routes import FEED, PREDICT
from littled.service.http_slots import Asker, Slots
from littled.service.http_turns import HttpTurns, Lane
from littled.service.listeners import Listener
from littled.service.logs import Log
from littled.service.reception import Guest, Newcomer, Reception
from littled_protocol import limits
from littled_protocol.errors import ErrorCode
from littled_protocol.foreign import http_refusal

# Pages that have slots of their own.
WATCHED: Final = frozenset({b"/healthz", b"/metrics"})
_PREDICT: Final = PREDICT.encode()
_FEED: Final = FEED.partition("{")[0].encode()
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

    `answer` makes the protocol that reads a request and writes the answer to it.
    """

    def __init__(
        self,
        answer: Callable[[], asyncio.Protocol],
        listener: Listener,
        turns: HttpTurns,
        log: Log,
    ) -> None:
        """Begin with none."""
        self.answer = answer
        self.turns = turns
        self._listener = listener
        self._log = log
        # A dict for its order: the oldest first.
        self.waiting: dict[HttpConnection, None] = {}
        # By who reads their requests.
        self._answering: dict[object, HttpConnection] = {}
        # By whether they are for who watches.
        self.slots = {True: Slots(HTTP_WATCH_CONNECTIONS_MAX), False: Slots(HTTP_CONNECTIONS_MAX)}
        # Of those who have no slot yet, in their handshake of TLS or later.
        self._admission: Admission[Guest] = Admission(1, HTTP_WAITING_MAX)
        self._reception = Reception(
            [listener], self._admission, self._make, lambda _: None, log, farewell=lambda _: b""
        )
        self._sweeper: asyncio.TimerHandle | None = None

    def _make(self, newcomer: Newcomer) -> HttpConnection:
        return HttpConnection(self, newcomer.origin, newcomer.accepted_at)

    def start(self) -> None:
        """Begin to accept, and to look for broken time limits."""
        self._reception.open()
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(SWEEP_SECONDS, self._sweep)

    def stop(self) -> None:
        """Accept nothing more, stop looking, and close what waits for a request or for its turn."""
        self._reception.close()
        self._listener.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        with_slots = [asker for slots in self.slots.values() for asker in slots]
        for connection in (*self.waiting, *with_slots):
            if not connection.is_begun:
                connection.cut()

    def begun(self, connection: HttpConnection) -> None:
        """Take note that a connection has a slot and waits no more."""
        self.waiting.pop(connection, None)
        self._admission.leave(connection)

    def answers(self, connection: HttpConnection, answer: asyncio.Protocol) -> None:
        """Take note of what reads a request."""
        self._answering[answer] = connection

    def took(self, answer: object) -> None:
        """Take note that the request that this one reads is not refused."""
        if answer in self._answering:
            self._answering[answer].is_refused = False

    def over(self, answer: asyncio.Protocol) -> None:
        """Take note that it reads nothing more."""
        self._answering.pop(answer, None)

    def forget(self, connection: HttpConnection) -> None:
        """Take note that a connection is over."""
        self.begun(connection)
        self.leave_line(connection)

    def leave_line(self, connection: HttpConnection) -> None:
        """Take note that a connection wants no slot, or not any more."""
        for slots in self.slots.values():
            slots.leave(connection)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        # At first: whatever goes wrong here, nobody may stay for ever.
        self._sweeper = loop.call_later(SWEEP_SECONDS, self._sweep)
        self._reception.check_time(loop.time(), HTTP_HEAD_SECONDS)
        for connection in list(self.waiting):
            self._check_time(connection, loop.time())
        for slots in self.slots.values():
            for asker in list(slots):
                self._check_time(asker, loop.time())
            slots.serve()  # some may have been answered

    def _check_time(self, asker: Asker, now: float) -> None:
        """End a connection whose time is over, or that cannot be asked; the others go on."""
        try:
            asker.check_time(now)
        except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
            self._log.error("connection failed", exc_info=error)
            asker.cut()


def _path_in(target: bytes) -> bytes:
    """The path in the target of a request, before which a host may be named (RFC 9112, 3.2.2)."""
    if not target.startswith(b"/"):
        _, slash, rest = target.partition(b"://")[2].partition(b"/")
        target = slash + rest
    return target.partition(b"?")[0]


def _has_body(method: bytes, path: bytes) -> bool:
    """Whether a request may bring questions or rows."""
    return method == b"POST" and (path == _PREDICT or path.startswith(_FEED))


def _units(path: bytes) -> int:
    """What work a request for a page is, whatever it is answered."""
    return HTTP_EVENTS_UNITS if path.endswith(b"/events") else HTTP_REQUEST_UNITS


class HttpConnection(Guest, asyncio.Protocol):
    """One connection: waits for the head of a request, then stands before who answers it."""

    def __init__(self, connections: HttpConnections, origin: str, since: float) -> None:
        """Belong to these connections; it came from there, and at that time of the loop."""
        self.origin = origin
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Protocol | None = None
        # Whether the request has its slot and waits for its turn.
        self._queued = False
        self._path = b""
        # Whether what follows the head is passed on, how much was, and whether it was in vain.
        self._has_body = False
        self._passed_bytes = 0
        self.is_refused = True
        self._head = bytearray()
        self._left_bytes = HTTP_REQUEST_BYTES_MAX
        self._since = self._taken_at = since
        # Since when it stands in line for a slot.
        self._asked_at: float | None = None
        self._unsent_bytes = 0

    @property
    def is_begun(self) -> bool:
        """Whether somebody is at work on the answer."""
        return self._answer is not None

    @property
    def is_answered(self) -> bool:
        """Whether the answer is written, and only its way to the peer is left."""
        return self._transport is not None and self._transport.is_closing()

    def cut(self, _code: ErrorCode = ErrorCode.LIMIT_EXCEEDED) -> None:
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
        if now - self._taken_at > limits.send_seconds:
            self.cut()
        elif self._asked_at is not None:
            if now - self._asked_at > HTTP_LINE_SECONDS:
                # Until it is closed it counts as one that waits: a peer with TLS may take a while.
                self._connections.leave_line(self)
                self._asked_at = None
                self._transport.write(_FULL)
                self._transport.close()
        elif not (self._queued or self.is_begun) and now - self._since > HTTP_HEAD_SECONDS:
            self.cut()

    # --- Called by the loop -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        self._transport = cast("asyncio.Transport", transport)
        # Of transports that read by themselves; beneath TLS it is as little already.
        if hasattr(transport, "max_size"):
            transport.max_size = HTTP_READ_BYTES
        self._connections.waiting[self] = None

    def data_received(self, data: bytes) -> None:
        """Collect the head of the request, or pass on what comes after it."""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self.cut()
        elif self._answer is not None:
            if self._head:
                self._head += data
            elif self._has_body:
                self._pass_on(self._answer, data)
        elif self._queued or self._asked_at is not None:
            self._queue(data)
        elif self._transport is not None and not self._transport.is_closing():
            self._head += data
            if self._head[0] in _LETTERS:
                self._take_head(self._transport)
            else:
                self._transport.write(_NO_HTTP)
                self._transport.close()

    def _take_head(self, transport: asyncio.Transport) -> None:
        """Ask for a slot once the head of the request is whole."""
        if _HEAD_END not in self._head[: HTTP_HEAD_BYTES_MAX + len(_HEAD_END)]:
            if len(self._head) > HTTP_HEAD_BYTES_MAX:
                transport.write(_TOO_LONG)
                transport.close()
            return
        words = bytes(self._head.partition(b"\r\n")[0]).split(b" ")
        path = _path_in(words[1]) if len(words) > 1 else b""
        self._path, self._has_body = path, _has_body(words[0], path)
        self._asked_at = asyncio.get_running_loop().time()
        self._connections.slots[path in WATCHED].ask(self)
        if self._asked_at is not None:
            transport.pause_reading()

    def begin(self) -> None:
        """Let the request, which has a slot now, wait for its turn."""
        assert self._transport is not None, "a connection that is over has no slot"
        self._connections.begun(self)
        self._asked_at, self._queued = None, True
        self._transport.resume_reading()
        turns, begin = self._connections.turns, partial(self._begin, _units(self._path))
        if self._has_body:
            turns.add_feeding(self.origin, begin)
        else:
            turns.add(Lane.WATCHING if self._path in WATCHED else Lane.OTHERS, begin)
        self._queue(b"")

    def _queue(self, data: bytes) -> None:
        """Keep what comes before it is the request's turn: its head, and not much of a body."""
        self._head += data
        if len(self._head) > HTTP_HEAD_BYTES_MAX and self._transport is not None:
            self._transport.pause_reading()

    def _begin(self, units: int) -> int:
        """It is the request's turn, which is so much work; return 0 if the peer is gone."""
        if self._transport is None or self._transport.is_closing():
            return 0
        # As if it came in now: the loop knows what to do with whatever goes wrong in there.
        asyncio.get_running_loop().call_soon(self._hand_over)
        return units

    def _hand_over(self) -> None:
        """Give the request to who answers it."""
        transport, self._queued = self._transport, False
        if transport is None or transport.is_closing():
            return
        try:
            self._answer = self._connections.answer()
            self._connections.answers(self, self._answer)
            self._answer.connection_made(transport)
            head_bytes = self._head.index(_HEAD_END) + len(_HEAD_END)
            self._answer.data_received(bytes(self._head[:head_bytes]))
        except Exception:
            self.cut()
            raise
        del self._head[: head_bytes if self._has_body else None]
        self._pass_kept(self._answer)

    def _pass_kept(self, answer: asyncio.Protocol) -> None:
        """Pass on what was kept of a body, a little in each turn, and then read on."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self._head:
            transport.pause_reading()
            piece = bytes(self._head[:HTTP_READ_BYTES])
            del self._head[:HTTP_READ_BYTES]
            self._pass_on(answer, piece)
            asyncio.get_running_loop().call_soon(self._pass_kept, answer)
        else:
            transport.resume_reading()

    def _pass_on(self, answer: asyncio.Protocol, piece: bytes) -> None:
        """Pass on what came of a body."""
        self._passed_bytes += len(piece)
        answer.data_received(piece)

    def _charge(self) -> None:
        """Have the origin pay for a body, but for rows that were taken."""
        if not self._has_body:
            return
        charge = partial(self._connections.turns.charge, self.origin)
        if self.is_refused:
            charge(HTTP_REQUEST_UNITS + self._passed_bytes / HTTP_REFUSED_BYTES_PER_UNIT)
        elif self._path == _PREDICT:
            charge(self._passed_bytes / HTTP_BODY_BYTES_PER_UNIT)

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
            self._connections.over(self._answer)
            self._charge()
            self._answer.connection_lost(cast("Exception | None", exc))
            self._answer = None
