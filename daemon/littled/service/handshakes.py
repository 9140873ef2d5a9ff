"""TLS under a connection, for no more memory than a peer without it takes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio import sslproto
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from littled.limits import HANDSHAKES_WAITING_MAX, TLS_READ_BYTES
from littled.service.lines import Line
from littled.service.tls import is_in_time
from littled.service.tls_records import CountingObject, Records
from littled_protocol import limits


class Handshakes:
    """Goes on with handshakes when it is their turn: one in a turn of the loop, by origin.

    What a peer has sent takes a millisecond or two, and many may send it at once.
    """

    def __init__(self) -> None:
        """Begin with none, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._line: Line[_Tls] = Line()
        self._going_on = False

    def wait(self, tls: _Tls, origin: str) -> None:
        """Go on with this one later."""
        self._line.add(tls, origin)
        if not self._going_on:
            self._going_on = True
            self._loop.call_soon(self._go_on)

    def has_room(self, origin: str) -> bool:
        """Whether another one may begin, or so many of its origin wait that it would be cut off."""
        return self._line.of(origin) < HANDSHAKES_WAITING_MAX

    def _go_on(self) -> None:
        tls = self._line.take()
        while tls is not None and not tls.is_shaking:  # it has left, or was cut off
            tls = self._line.take()
        self._going_on = bool(self._line)
        if self._going_on:
            self._loop.call_soon(self._go_on)
        if tls is not None:
            tls.go_on()


class _Transport(sslproto._SSLProtocolTransport):
    """What a guest has of a connection: it may be closed twice, and tells all that is unsent."""

    def close(self) -> None:
        """Say goodbye, once.

        The library's own, where it is closed again, as by a peer and then by us, forgets what is
        beneath it: it can tell no size any more, and not be aborted.
        """
        if not self._closed:
            super().close()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the peer has not taken, also of those that are encrypted."""
        assert self._ssl_protocol is not None, "only the library's own close forgets it"
        beneath = cast("asyncio.WriteTransport | None", self._ssl_protocol._transport)
        unsent = super().get_write_buffer_size()
        return unsent if beneath is None else unsent + beneath.get_write_buffer_size()


class _Tls(sslproto.SSLProtocol):
    """Has no buffer of its own, and reads nothing ahead of who does not read."""

    # The library would keep 256 KiB for each connection.
    max_size = TLS_READ_BYTES
    # The library's own.
    _incoming: ssl.MemoryBIO
    _sslobj: CountingObject
    _eof_received: bool
    _state: sslproto.SSLProtocolState

    def __init__(
        self,
        guest: asyncio.BaseProtocol,
        context: ssl.SSLContext,
        done: asyncio.Future[None],
        place: Place,
    ) -> None:
        """Shake hands for a guest, and say when it is done."""
        self._records = Records()
        context.sslobject_class = CountingObject
        super().__init__(
            asyncio.get_running_loop(),
            guest,
            context,
            done,
            server_side=True,
            # Seconds may have fractions, whatever their type is said to be.
            ssl_handshake_timeout=cast("int", limits.first_frame_seconds),
            ssl_shutdown_timeout=cast("int", limits.close_seconds),
        )
        # The loop fills it and has it emptied within one step.
        self._ssl_buffer, self._ssl_buffer_view = place.buffer, memoryview(place.buffer)
        self._place = place

    def get_buffer(self, n: int) -> memoryview:
        """Return where the next bytes go: few where the records are short."""
        return self._ssl_buffer_view[: self._records.read_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        """Take what came in."""
        self._records.came(self._ssl_buffer_view[:nbytes])
        super().buffer_updated(nbytes)

    def _do_handshake(self) -> None:
        """Go on in turn where the peer has sent something; until then nothing more is read."""
        if self._incoming.pending:
            self._beneath.pause_reading()
            self._place.handshakes.wait(self, self._place.origin)
        else:
            super()._do_handshake()  # type: ignore[misc]

    @property
    def is_shaking(self) -> bool:
        """Whether the handshake still has to go on."""
        return self._state is sslproto.SSLProtocolState.DO_HANDSHAKE

    def go_on(self) -> None:
        """Go on with what the peer has sent; whatever goes wrong is the end of this one alone."""
        self._beneath.resume_reading()
        try:
            super()._do_handshake()  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - as the library does where it calls this itself
            self._fatal_error(error, "a handshake of TLS failed")

    def _on_handshake_complete(self, handshake_exc: BaseException | None) -> None:
        """End a handshake; one that goes on with an older session has checked no certificate."""
        tls = self._sslobj
        is_late = handshake_exc is None and tls.session_reused
        if is_late and not is_in_time(tls.getpeercert(), datetime.now(UTC)):
            handshake_exc = ssl.SSLCertVerificationError("the certificate is not valid any more")
        super()._on_handshake_complete(handshake_exc)

    @property
    def _beneath(self) -> asyncio.Transport:
        return cast("asyncio.Transport", self._transport)

    def _get_app_transport(self) -> sslproto._SSLProtocolTransport:
        """Make the guest's side of the connection, once."""
        if self._app_transport is None:
            self._app_transport = _Transport(self._loop, self)
        return self._app_transport

    def _do_read(self) -> None:
        """Read as ever, and end a connection whose records hold nothing."""
        super()._do_read()  # type: ignore[misc]
        self._check_records()

    def _do_shutdown(self) -> None:
        """Go on with our goodbye; what still comes before the peer's is read and dropped.

        For the library it would be the end, at which the peer's kernel may throw away what we said.
        """
        if not self._eof_received:
            with suppress(ssl.SSLError):  # there is no more, or the library sees what is wrong
                while self._sslobj.read(TLS_READ_BYTES):
                    pass
            self._control_ssl_reading()  # type: ignore[attr-defined]
        super()._do_shutdown()  # type: ignore[misc]
        self._check_records()

    def _check_records(self) -> None:
        if not self._incoming.pending and self._records.are_empty(self._sslobj.reads):
            empty = ConnectionAbortedError("records of TLS that hold nothing")
            self._fatal_error(empty, "a connection with TLS was ended")

    def _check_shutdown_timeout(self) -> None:
        """End a goodbye that is not answered; while the peer takes what is left, its guest judges.

        The library would drop what is left: it has no look at how the peer takes it.
        """
        if self._app_transport is not None and self._app_transport.get_write_buffer_size():
            self._shutdown_timeout_handle = self._loop.call_later(
                limits.close_seconds, self._check_shutdown_timeout
            )
        else:
            super()._check_shutdown_timeout()  # type: ignore[misc]

    def _set_read_buffer_limits(self, *_: object) -> None:
        """Read nothing more while anything waits for the guest to read on."""
        self._incoming_high_water, self._incoming_low_water = 1, 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection came in: from `origin`, to a `buffer` of `TLS_READ_BYTES` for all."""

    handshakes: Handshakes
    origin: str
    buffer: bytearray


async def shake_hands(
    guest: asyncio.BaseProtocol, accepted: socket.socket, context: ssl.SSLContext, place: Place
) -> None:
    """Give a connection to a guest once there is TLS on it; raises OSError when there is none."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    transport, _ = await loop.connect_accepted_socket(
        lambda: _Tls(guest, context, done, place), accepted
    )
    try:
        await done
    except BaseException:
        transport.abort()
        raise
