"""Sessions: one peer each, from its first byte to its last.

A session moves bytes between a transport and the sans-IO connection, and gives every message to the
room that it concerns. It is a plain asyncio protocol, since a stream with an awaited read per frame
is ten times slower. Whatever a peer does wrong ends its own session with a code and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, cast

from littled.engine.predictions import refusal
from littled.limits import (
    DIRECT_BYTES_MAX,
    DIRECT_UNITS,
    FRAME_SHORT_BYTES,
    OPEN_UNITS,
    OPENING_MAX,
    PING_UNITS,
    PREDICT_PENDING_BYTES_MAX,
    RECEIVE_BYTES,
    REFUSAL_UNITS,
    SCAN_UNITS_MAX,
    SCAN_VALUES_MIN,
    SEND_HIGH_WATER_BYTES,
    STATUS_UNITS_MAX,
    SUBSCRIBE_UNITS,
    SUBSCRIPTIONS_MAX,
    UNSENT_BYTES_MAX,
    WORK_BYTES_PER_UNIT,
    WORK_COLUMN_BYTES_PER_UNIT,
    WORK_VALUES_PER_UNIT,
)
from littled.service.access import Gate, Permission, Rights, Shown
from littled.service.admission import Admission, less, share_of
from littled.service.channels import Channel, ExampleSchema
from littled.service.elsewhere import Elsewhere, moved
from littled.service.intake import Intake
from littled.service.listeners import keep_alive
from littled.service.logs import Log
from littled.service.queues import ProducerQueue
from littled.service.receiving import Receiving
from littled.service.reception import Guest
from littled.service.scanning import Scanning
from littled.service.statuses import StatusFrames
from littled.service.subscribers import Releases
from littled.service.turns import Allowance, Making, Turns
from littled.service.writer import WriterStopped
from littled.store.records import SourcePlace
from littled_protocol import limits
from littled_protocol.connection import CLOSED, NEED_DATA, Connection, Event, Role, State
from littled_protocol.errors import ErrorCode, ProtocolError, RefusalCode
from littled_protocol.foreign import asks_by_http, http_refusal
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    VERSION_OF_MOVED,
    Examples,
    Hello,
    Message,
    Open,
    Opened,
    Ping,
    Pong,
    Predict,
    Prediction,
    PredictionRefused,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
    error_message,
)

TransportName = Literal["unix", "tcp"]
_NO_HTTP = http_refusal(
    "This port speaks littled's own protocol; the daemon speaks HTTP at the address of --http."
)
P = ParamSpec("P")
_Work = Callable[P, Coroutine[Any, Any, None]]
# What messages cost out of a peer's allowance beside their bytes; examples have credit instead, and
# answers to `predict` are paid for out of a budget. What a status costs is known when it is made.
_UNITS: Mapping[type[Message], float] = {
    Open: OPEN_UNITS,
    Subscribe: SUBSCRIBE_UNITS,
    Ping: PING_UNITS,
    Pong: PING_UNITS,
}


@dataclass(slots=True)
class Counters:
    """Public counters over all sessions, for metrics; none of them looks inside an example.

    received_bytes: of whole frames; see `Channel.counted_bytes`. unsent_bytes: what waits to be
    sent, as of each session's last look. subscriptions: of all sessions.
    """

    received_bytes: int = 0
    unsent_bytes: int = 0
    subscriptions: int = 0
    errors: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What sessions share: the other parts of the service, and the set of all sessions.

    `status` returns the body of a status message; `predict` answers a request, which may take long;
    `spawn` starts a task that belongs to the daemon; `elsewhere` says who serves other streams.
    """

    server: str
    instance: str
    credit_bytes: int
    intake: Intake
    schemas: Mapping[str, ExampleSchema]
    releases: Releases
    statuses: StatusFrames
    predict: Callable[[Predict], Awaitable[Prediction | PredictionRefused]]
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    log: Log
    admission: Admission[Guest]
    elsewhere: Elsewhere
    counters: Counters = field(default_factory=Counters)
    # Subscriptions of each origin.
    subscribed: Counter[str] = field(default_factory=Counter)
    # A dict for its order: the oldest session first.
    sessions: dict[Session, None] = field(default_factory=dict)
    # One buffer serves all: the loop fills it and has it emptied within one step.
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(RECEIVE_BYTES)))
    turns: Turns = field(default_factory=Turns)
    receiving: Receiving = field(default_factory=Receiving)
    scanning: Scanning = field(default_factory=Scanning)


class Session(Guest, asyncio.BufferedProtocol):
    """One peer's connection."""

    def __init__(
        self, context: ServerContext, transport_name: TransportName, gate: Gate, origin: str
    ) -> None:
        """Wait for a connection that came from there, through a listener of this name."""
        self.origin = origin
        self._context = context
        self._transport_name = transport_name
        self._gate = gate
        self._shown: Shown | None = None
        self._rights = Rights(())
        # What the peer was allowed to do and has begun, with the names of streams.
        self._uses: set[tuple[Permission, str]] = set()
        self._connection = Connection(Role.SERVER)
        self._transport: asyncio.Transport | None = None
        self._encrypted = False
        self._channels: dict[int, Channel] = {}
        self._touched: set[Channel] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._held_by: set[object] = set()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ending = False
        self._aborting: asyncio.TimerHandle | None = None
        # Bytes of requests that are not answered yet, and the reason not to read more of them.
        self._predict_bytes = 0
        self._asked = object()
        # Channels that are being opened, and the reason not to take more messages meanwhile.
        self._opening = 0
        self._opened = object()
        # A status that is being made, before which nothing else is dealt with, and its work so far.
        self._telling: Making[tuple[Status, bytes]] | None = None
        self._told_units = 0.0
        self._loop = asyncio.get_running_loop()
        self._connected_at = self._frame_at = self._taken_at = self._loop.time()
        # When the last whole message came, and whether the peer neither feeds nor subscribes.
        self._heard_at = self._connected_at
        self._idle = True
        # What was sent while work is done, None while none is.
        self._outgoing: list[bytes] | None = None
        # Unsent bytes as of the last count, and as of the last sweep.
        self._unsent_bytes = self._swept_bytes = 0
        self._subscriptions = 0
        self._allowance = Allowance(self._connected_at)
        # Bytes that have come in all, and of them those before the frame that came last.
        self._received_bytes = self._placed_bytes = 0
        # Values of all messages so far that were looked at one by one.
        self._values = 0
        # Bytes in hand as of the last count; whether whole messages may be among them.
        self._buffered_bytes = 0
        self.has_work = False
        # Whether the peer has finished a long frame before.
        self._proven = False
        # Whether the peer began like one of HTTP, and is answered in its words.
        self._foreign = False
        self.ended = asyncio.Event()
        self._handlers: Mapping[type[Message], Callable[[Any], None]] = {
            Hello: self._hello,
            Open: self._open,
            Subscribe: self._subscribe,
            StatusRequest: self._status_request,
            Predict: self._predict,
            Ping: self._ping,
        }

    # --- Called by the loop -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._encrypted = transport.get_extra_info("sslcontext") is not None
        self._transport.set_write_buffer_limits(SEND_HIGH_WATER_BYTES)
        with contextlib.suppress(OSError):  # of a peer that is gone
            keep_alive(self._transport.get_extra_info("socket"))
        self._context.sessions[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything; what was handed over is committed all the same."""
        self._ending = True
        self._context.sessions.pop(self, None)
        self._context.admission.leave(self)
        self._context.counters.unsent_bytes -= self._unsent_bytes
        self._unsent_bytes = 0
        self._leave()
        if self._aborting is not None:
            self._aborting.cancel()
        self.ended.set()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes go: few, except for feeders while memory is free."""
        context = self._context
        if self._channels and not context.receiving.is_crowded:
            return context.buffer
        return context.buffer[:FRAME_SHORT_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        """Take what came in."""
        if self._ending:
            return
        if not self._connection.frame_begun:
            self._frame_at = self._loop.time()
            if self._connection.state is State.START:
                self._foreign = asks_by_http(bytes(self._context.buffer[: min(nbytes, 4)]))
        self._received_bytes += nbytes
        self._connection.receive_data(self._context.buffer[:nbytes])
        turns = self._context.turns
        if self in turns:  # enough is waiting already
            self.hold(turns)
        elif nbytes <= DIRECT_BYTES_MAX:
            self.work(DIRECT_UNITS)
        else:
            self.has_work = True
        if self.has_work:
            self._count_buffered()
            turns.add(self)

    def eof_received(self) -> bool:
        """Take the end of the peer's stream; the transport closes itself."""
        if self._ending:
            return False
        self._connection.receive_data(b"")
        self.work(DIRECT_UNITS)
        if self.has_work:
            self._context.turns.add(self)
        # The rest of what it sent is still worth a turn; TLS does not know open ends.
        has_rest = self.has_work or self in self._context.scanning
        return has_rest and not self._encrypted

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not read, so that its answers do not pile up."""
        self._writable.clear()
        self.hold(self._writable)

    def resume_writing(self) -> None:
        """The peer has read."""
        self._writable.set()
        self.release(self._writable)

    # --- Called by other rooms --------------------------------------------------------------------

    def send(self, message: Message, frame: bytes | None = None) -> None:
        """Write a message, unless the session is ending; `frame` is its frame, if it is known.

        A peer for which more than `subscriber_bytes_max` is waiting already is dropped.
        """
        if self._ending or self._transport is None or self._transport.is_closing():
            return
        # What was unsent after the last write can only have become less.
        if (
            self._unsent_bytes > limits.subscriber_bytes_max
            and self._transport.get_write_buffer_size() > limits.subscriber_bytes_max
        ):
            self.fail(ErrorCode.SLOW_SUBSCRIBER)
            return
        try:
            frame = self._connection.send(message, frame)
        except ProtocolError as error:
            self._context.log.error("message not sent", code=error.code.value)
            self.fail(ErrorCode.INTERNAL_ERROR)
            return
        if self._outgoing is None or not (self._outgoing or self._connection.frame_begun):
            self._write(frame)
        else:
            self._outgoing.append(frame)

    def _write(self, data: bytes) -> None:
        assert self._transport is not None, "something was sent before there was a connection"
        self._transport.write(data)
        unsent = self._transport.get_write_buffer_size()
        if unsent != self._unsent_bytes:
            self._count_unsent(unsent)

    def _flush(self) -> None:
        """Write what was sent while work was done, all at once."""
        frames, self._outgoing = self._outgoing, None
        if frames and self._transport is not None and not self._transport.is_closing():
            self._write(b"".join(frames))

    def hold(self, reason: object) -> None:
        """Do not read from the peer until every reason was released."""
        if not self._held_by and self._transport is not None and not self._ending:
            self._transport.pause_reading()
        self._held_by.add(reason)

    def release(self, reason: object) -> None:
        """Take back a reason for not reading."""
        if reason not in self._held_by:
            return
        self._held_by.remove(reason)
        if not self._held_by and self._transport is not None and not self._ending:
            self._frame_at = self._loop.time()
            self._transport.resume_reading()

    def fail(self, code: ErrorCode, channel: int | None = None) -> None:
        """End the session with a code; the peer gets a moment to read it."""
        if self._ending or self._transport is None:
            return
        self._flush()
        self._ending = True
        self._context.counters.errors[code.value] += 1
        if code is not ErrorCode.SHUTTING_DOWN:
            self._context.log.info("session ended", code=code.value, transport=self._transport_name)
        if self._foreign:
            self._transport.write(_NO_HTTP)
        elif self._connection.state is not State.CLOSED:
            frame = self._connection.send(error_message(ProtocolError(code), channel))
            self._transport.write(frame)
        self._leave()
        # What still comes in is read and dropped: closing at once could make the peer's kernel
        # throw the error away unread.
        if self._held_by:
            self._transport.resume_reading()
        with contextlib.suppress(OSError):  # of a peer that is gone
            if self._transport.can_write_eof():
                self._transport.write_eof()
            else:  # TLS says goodbye in its own way, and drops what still comes
                self._transport.close()
        self._abort_after(limits.close_seconds)

    def cut(self, code: ErrorCode) -> None:
        """End the session with a code and without a moment's grace, to make room at once.

        Nobody counts it any more: TLS, which waits for the peer's goodbye, does not wait for this.
        """
        has_had_its_moment = self._ending
        self.fail(code)
        if self._transport is None:
            return
        if has_had_its_moment or self._encrypted or self._transport.get_write_buffer_size():
            self.forget_unsent()
        else:
            self._transport.close()
        self._context.sessions.pop(self, None)

    def check_time(self, now: float) -> None:
        """End the session if the peer has broken a time limit; `now` is the loop's time."""
        if self._ending or self._transport is None:
            return
        unsent = self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._swept_bytes:
            self._taken_at = now
        self._swept_bytes = unsent
        self._count_unsent(unsent)
        if now - self._taken_at > limits.send_seconds:
            self.fail(ErrorCode.SLOW_SUBSCRIBER)
        elif self._connection.state is State.START:
            if now - self._connected_at > limits.first_frame_seconds:
                self.fail(ErrorCode.LIMIT_EXCEEDED)
        elif not self._held_by and self._is_late(now):
            self.fail(ErrorCode.LIMIT_EXCEEDED)

    def _is_late(self, now: float) -> bool:
        """Whether a frame takes too long, or an idle peer has said nothing for too long."""
        if self._connection.frame_begun:
            return now - self._frame_at > limits.frame_seconds
        return self._idle and now - self._heard_at > limits.idle_seconds

    # --- Messages ---------------------------------------------------------------------------------

    def work(self, units: int) -> int:
        """Take whole messages that have arrived, for about so much work; return how much it was."""
        self.has_work = False
        if self._ending:
            return 0
        self._outgoing = []
        left = self._take(units)
        while left > 0 and self._telling is not None and not self._ending:
            left = self._tell(self._telling, left)
            if self._telling is None:
                left = self._take(left)
        self._flush()
        if not self._ending:
            if self._opening >= OPENING_MAX:
                self.hold(self._opened)
            elif self in self._context.scanning:
                self.hold(self._context.scanning)
            elif self._telling is not None:
                self.has_work = True
            elif self._allowance.is_spent:
                self._wait_for_allowance()
            else:
                self.has_work = left <= 0 and not self._connection.needs_data()
            if not self.has_work:
                self._context.scanning.done(self)
            self._find_room()
        return units - left

    def _take(self, units: int) -> int:
        """Take whole messages until none is left, or no work, or no allowance; return what is."""
        connection, allowance, left = self._connection, self._allowance, units
        channels, touched, counters = self._channels, self._touched, self._context.counters
        at: Channel | None = None
        try:
            while (
                left > 0
                and not connection.is_drained()
                and not allowance.is_spent
                and self._opening < OPENING_MAX
                and self._telling is None
            ):
                burst = connection.next_burst()
                if burst is not None:
                    at = channels[burst.channel]
                    touched.add(at)
                    bytes_taken = burst.frames * burst.frame_bytes
                    counters.received_bytes += bytes_taken
                    left -= at.take_burst(burst) + bytes_taken // WORK_COLUMN_BYTES_PER_UNIT
                    at = None
                    continue
                event = self._next_event()
                values = self._values_units()
                left -= values
                if event is NEED_DATA:
                    break
                if type(event) is Examples:
                    at = channels[event.channel]
                    touched.add(at)
                    counters.received_bytes += at.counted_bytes(event, connection.frame_bytes)
                    left -= at.take(event) + connection.frame_bytes // WORK_COLUMN_BYTES_PER_UNIT
                    at = None
                elif event is CLOSED:
                    break
                else:
                    counters.received_bytes += connection.frame_bytes
                    left -= self._pay(type(event), connection.frame_bytes, values)
                    self._handlers.get(type(event), self._other)(event)
            while touched:
                at = touched.pop()
                at.flush(last=not touched)
        except ProtocolError as error:
            # Of what cannot be read nobody knows how much was looked at.
            self._context.scanning.done(self, SCAN_UNITS_MAX)
            self._fail_late(error, at)
        except Exception as error:
            self._context.log.error("session failed", exc_info=error)
            self.fail(ErrorCode.INTERNAL_ERROR)
        else:
            if self._connection.state is State.CLOSED:
                self._end()
            elif left < units:
                self._heard()
        return left

    def _next_event(self) -> Event:
        """The next message; none yet while it holds so many values that it has to wait."""
        connection = self._connection
        if connection.due_has_more_values(SCAN_VALUES_MIN) and not self._context.scanning.ask(self):
            return NEED_DATA
        return connection.next_event()

    def _values_units(self) -> int:
        """What work the values were that were looked at one by one since the last call."""
        values = self._connection.values_looked_at
        if values == self._values:
            return 0
        units = (values - self._values) // WORK_VALUES_PER_UNIT
        self._values = values
        self._context.scanning.done(self, units)
        return units

    def _pay(self, kind: type[Message], frame_bytes: int, values_units: int) -> int:
        """Take a message out of the allowance, if it counts; return what work its bytes are.

        values_units: what its values were, which is counted already.
        """
        units = frame_bytes // WORK_BYTES_PER_UNIT
        if kind in _UNITS:
            self._allowance.spend(_UNITS[kind] + units + values_units)
        return 1 + units

    def _wait_for_allowance(self) -> None:
        """Read nothing more from a peer that has asked for all it may."""
        if self._allowance in self._held_by:
            return
        seconds = self._allowance.wait_seconds(self._loop.time())
        if seconds > 0:
            self.hold(self._allowance)
            self._loop.call_later(seconds, self._go_on)
        else:
            self.has_work = True

    def _go_on(self) -> None:
        """Deal with what came when the allowance was spent, then read again."""
        if not self._ending:
            self._allowance.wait_seconds(self._loop.time())
            self.has_work = True
            self._context.turns.add(self)
            self.release(self._allowance)

    # --- Memory -----------------------------------------------------------------------------------

    def _find_room(self) -> None:
        """After work: read on, if what is in hand has its place in memory."""
        connection, receiving = self._connection, self._context.receiving
        if not (self._held_by or self._buffered_bytes or connection.frame_begun):
            return  # nothing is in hand, nor was before
        if not self.has_work:
            # What is too long is refused as soon as its turn comes, and needs no place.
            before, frame_bytes = self._placed_bytes, connection.frame_pending_bytes
            is_long = FRAME_SHORT_BYTES < frame_bytes <= connection.frame_bytes_max
            # Frames of one length are told apart by where they begin.
            self._placed_bytes = self._received_bytes - connection.buffered_bytes
            if not is_long or self._placed_bytes != before:
                self._proven = receiving.give_back(self) or self._proven
                self.release(receiving)
            if is_long and not receiving.ask(self, frame_bytes, proven=self._proven):
                self.hold(receiving)
            self.release(self._context.turns)
        self._count_buffered()

    def _count_buffered(self) -> None:
        buffered = 0 if self._ending else self._connection.buffered_bytes
        self._context.receiving.held_bytes += buffered - self._buffered_bytes
        self._buffered_bytes = buffered

    def may_scan(self) -> None:
        """Take the message that holds many values, now that it has its turn."""
        self.has_work = True
        self._context.turns.add(self)
        self.release(self._context.scanning)

    def granted(self) -> None:
        """Read on: the long frame that has begun has its place."""
        self.release(self._context.receiving)

    def stalled(self) -> None:
        """End: a long frame does not come on while others wait for its place."""
        self.fail(ErrorCode.LIMIT_EXCEEDED)

    @property
    def growing_bytes(self) -> int | None:
        """How much has come; None while the daemon itself is not ready to take a frame or the rest.

        Who has spent its allowance, or does not read, has itself to blame.
        """
        is_whole = self._connection.buffered_bytes >= self._connection.frame_pending_bytes
        its_own_fault = {self._allowance, self._writable}
        return None if is_whole or self._held_by - its_own_fault else self._received_bytes

    def _count_unsent(self, unsent: int) -> None:
        """Count what waits to be sent; where it is too much in all, the slowest peer is dropped."""
        counters = self._context.counters
        counters.unsent_bytes += unsent - self._unsent_bytes
        self._unsent_bytes = unsent
        if counters.unsent_bytes > UNSENT_BYTES_MAX:
            slowest = max(self._context.sessions, key=lambda session: session._unsent_bytes)
            slowest.fail(ErrorCode.SLOW_SUBSCRIBER)
            slowest.forget_unsent()

    def forget_unsent(self) -> None:
        """Drop what waits to be sent, and the connection."""
        if self._transport is not None:
            self._transport.abort()
        self._context.counters.unsent_bytes -= self._unsent_bytes
        self._unsent_bytes = 0

    # --- Messages, continued ----------------------------------------------------------------------

    def _heard(self) -> None:
        """Note the time of a whole message."""
        self._frame_at = self._heard_at = self._loop.time()
        if self._idle:
            self._context.admission.heard(self)

    def _settle(self) -> None:
        """Note that the peer feeds or subscribes."""
        self._idle = False
        self._context.admission.settle(self)

    def _fail_late(self, error: ProtocolError, at: Channel | None) -> None:
        """Hand over what came before a wrong message, then end the session."""
        for channel in self._touched:
            with contextlib.suppress(ProtocolError):
                channel.flush()
        self._touched.clear()
        self.fail(error.code, None if at is None else at.number)

    def _hello(self, message: Hello) -> None:
        if self._transport is None:
            return
        self._shown = Shown.by(message.token, self._transport)
        if not self._take_rights(self._gate.rights(self._shown)):
            return
        context = self._context
        self.send(
            Welcome(
                version=min(message.version, PROTOCOL_VERSION),
                server=context.server,
                instance=context.instance,
                credit_bytes=context.credit_bytes,
                frame_bytes_max=limits.frame_bytes_max,
            )
        )

    def _take_rights(self, rights: Rights | None) -> bool:
        """Take the rights of who has greeted; end the session without any, and return False."""
        if rights is None:
            self.fail(ErrorCode.UNAUTHORIZED)
            return False
        self._rights = rights
        self._connection.forbidden = rights.refused_types
        return True

    def check_rights(self) -> None:
        """Ask again what the peer may do: the rules have changed.

        The session goes on, unless it has begun something that is not allowed any more.
        """
        if self._ending or self._shown is None:
            return
        if self._take_rights(self._gate.rights(self._shown)) and not all(
            self._rights.may(permission, stream) for permission, stream in self._uses
        ):
            self.fail(ErrorCode.FORBIDDEN)

    def _may(self, permission: Permission, stream: str, channel: int | None = None) -> bool:
        """Return whether the peer may begin something; end the session if it may not."""
        if not self._rights.may(permission, stream):
            self.fail(ErrorCode.FORBIDDEN, channel)
            return False
        # Of names that a peer makes up there is no end, and nothing begins.
        if stream in self._context.schemas or self._where(stream) is not None:
            self._uses.add((permission, stream))
        return True

    def _open(self, message: Open) -> None:
        if not self._may(Permission.FEED, message.stream, message.channel):
            return
        schema = self._context.schemas.get(message.stream)
        if schema is None:
            if not self._say_where(message.stream, channel=message.channel):
                self.fail(ErrorCode.UNKNOWN_STREAM, message.channel)
        else:
            channel = Channel(self, self._context.intake, schema, message.channel)
            self._opening += 1
            self._spawn(message.channel, self._attach, channel, schema, message)

    def _say_where(
        self, stream: str, *, channel: int | None = None, learner: str | None = None
    ) -> bool:
        """Say of a stream that is not served here who serves it; return False if nobody knows.

        An older client, which would not understand that, is told why its session ends.
        """
        addresses = self._where(stream)
        if addresses is None:
            return False
        if self._connection.version < VERSION_OF_MOVED:
            self.fail(ErrorCode.STREAM_ELSEWHERE, channel)
        else:
            self.send(moved(stream, addresses, channel=channel, learner=learner))
        return True

    def _where(self, stream: str) -> tuple[str, ...] | None:
        """Where a stream is that is not served here, None if nobody knows, and of those here."""
        context = self._context
        return None if stream in context.schemas else context.elsewhere.where(stream)

    async def _attach(self, channel: Channel, schema: ExampleSchema, message: Open) -> None:
        try:
            queue = await self._context.intake.attach(message.stream, message.producer, channel)
            place = await self._place(channel, queue, message)
        finally:
            self._opening -= 1
            if self._opened in self._held_by:
                self.has_work = True
                self._context.turns.add(self)
                self.release(self._opened)
        channel.open(queue)
        self._channels[message.channel] = channel
        self._settle()
        position = self._context.intake.position(message.stream)
        self.send(
            Opened(
                channel=message.channel,
                stream=message.stream,
                x_type=schema.points.name,
                next_sequence=queue.next_sequence,
                position=position,
                # Left out on any other stream, whose frames are as they always were.
                users=True if schema.users is not None else None,
                resume=place.resume if place is not None else None,
                resume_sequence=place.sequence if place is not None else None,
            )
        )

    async def _place(
        self, channel: Channel, queue: ProducerQueue, message: Open
    ) -> SourcePlace | None:
        """The place of the producer's source, an empty one without any; None if nobody asked.

        Everything that was fed as this producer before is durable, as the queue was attached.
        """
        if not message.resumes:
            return None
        intake = self._context.intake
        try:
            found = await intake.place(message.stream, message.producer)
        except BaseException:
            intake.detach(queue, channel)
            raise
        if queue.owner is not channel:
            raise ProtocolError(ErrorCode.PRODUCER_BUSY)
        return found or SourcePlace(0, b"")

    def _subscribe(self, message: Subscribe) -> None:
        stream = message.learner.partition("/")[0]
        if not self._may(Permission.SUBSCRIBE, stream):
            return
        counters, subscribed = self._context.counters, self._context.subscribed
        its_own = subscribed[self.origin]
        if message.learner not in self._context.releases:
            if not self._say_where(stream, learner=message.learner):
                self.fail(ErrorCode.UNKNOWN_LEARNER)
        elif counters.subscriptions >= SUBSCRIPTIONS_MAX or its_own >= share_of(SUBSCRIPTIONS_MAX):
            self.fail(ErrorCode.LIMIT_EXCEEDED)
        else:
            self._settle()
            counters.subscriptions += 1
            subscribed[self.origin] += 1
            self._subscriptions += 1
            self._spawn(None, self._serve_releases, message.learner, message.since)

    async def _serve_releases(self, learner: str, version: int) -> None:
        """Send releases as they come; while the peer does not read, nothing is kept for it."""
        releases, turns = self._context.releases, self._context.turns
        while not self._ending:
            await releases.beyond(learner, version)
            await self._writable.wait()
            for release in await releases.after(learner, version, self.origin):
                await turns.to_send(self.origin)
                if not self._writable.is_set():
                    break
                self.send(release, releases.frame_of(release))
                version = release.version

    def _status_request(self, message: StatusRequest) -> None:
        stream = message.stream
        self._allowance.spend(self._connection.frame_bytes // WORK_BYTES_PER_UNIT)
        if stream is not None and self._rights.sees(stream) and self._say_where(stream):
            self._allowance.spend(REFUSAL_UNITS)
            return
        self._telling = self._context.statuses.answer(message, self._rights)

    def _tell(self, telling: Making[tuple[Status, bytes]], left: int) -> int:
        """Go on with a status, and send it once it is whole; return what work is left."""
        try:
            while left > 0:
                units = next(telling)
                self._told_units += units
                left -= math.ceil(units)
        except StopIteration as end:
            self._allowance.spend(min(self._told_units, STATUS_UNITS_MAX))
            self._telling, self._told_units = None, 0.0
            self.send(*end.value)
        except ProtocolError as error:
            self.fail(error.code)
        except Exception as error:
            self._context.log.error("session failed", exc_info=error)
            self.fail(ErrorCode.INTERNAL_ERROR)
        return left

    def _predict(self, message: Predict) -> None:
        stream = message.learner.partition("/")[0]
        if not self._may(Permission.PREDICT, stream):
            return
        addresses = self._where(stream)
        if addresses is not None:
            self._predict_elsewhere(message, stream, addresses)
            return
        cost = self._connection.frame_bytes
        self._predict_bytes += cost
        if self._predict_bytes > PREDICT_PENDING_BYTES_MAX:
            self.hold(self._asked)
        self._spawn(None, self._serve_prediction, message, cost)

    def _predict_elsewhere(self, message: Predict, stream: str, addresses: tuple[str, ...]) -> None:
        """Say where a request for predictions is answered; an older client is refused."""
        self._allowance.spend(REFUSAL_UNITS + self._connection.frame_bytes // WORK_BYTES_PER_UNIT)
        if self._connection.version < VERSION_OF_MOVED:
            self.send(refusal(message, RefusalCode.STREAM_ELSEWHERE))
        else:
            self.send(moved(stream, addresses, request=message.request))

    async def _serve_prediction(self, message: Predict, cost: int) -> None:
        try:
            answer = await self._context.predict(message)
            if isinstance(answer, PredictionRefused) or answer.repeated:
                self._allowance.spend(REFUSAL_UNITS + cost // WORK_BYTES_PER_UNIT)
            self.send(answer)
        finally:
            self._predict_bytes -= cost
            if self._predict_bytes <= PREDICT_PENDING_BYTES_MAX:
                self.release(self._asked)

    def _ping(self, message: Ping) -> None:
        self.send(Pong(message.nonce))

    def _other(self, _message: object) -> None:
        """Pass over a Pong; an Error has closed the connection, which `_work` sees to."""

    # --- Ends -------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Close a connection that the peer has ended."""
        if not self._ending and self._transport is not None:
            self._flush()
            self._ending = True
            self._leave()
            self._transport.close()
            self._abort_after(limits.send_seconds)

    def _abort_after(self, seconds: float) -> None:
        """Let the peer take what waits for it, but for no longer than this."""
        assert self._transport is not None, "a session ended before there was a connection"
        self._aborting = self._loop.call_later(seconds, self.forget_unsent)

    def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        for channel in self._channels.values():
            channel.close()
        self._channels = {}
        self._count_buffered()
        self._context.receiving.give_back(self)
        self._context.scanning.leave(self)
        self._context.counters.subscriptions -= self._subscriptions
        less(self._context.subscribed, self.origin, self._subscriptions)
        self._subscriptions = 0

    def _spawn(self, channel: int | None, work: _Work[P], *args: P.args, **kw: P.kwargs) -> None:
        task = self._context.spawn(self._guarded(channel, work, *args, **kw))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(
        self, channel: int | None, work: _Work[P], *args: P.args, **kw: P.kwargs
    ) -> None:
        """Run a task of this session; what goes wrong in it ends this session alone."""
        try:
            await work(*args, **kw)
        except ProtocolError as error:
            self.fail(error.code, channel)
        except WriterStopped:
            self.fail(ErrorCode.SHUTTING_DOWN, channel)
        except Exception as error:
            self._context.log.error("session failed", exc_info=error)
            self.fail(ErrorCode.INTERNAL_ERROR, channel)
