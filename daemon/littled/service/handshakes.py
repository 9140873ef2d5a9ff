"""TLS under a connection, for no more memory than a peer without it takes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio import sslproto
from typing import cast

from littled.limits import TLS_READ_BYTES
from littled_protocol import limits


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

    def __init__(
        self,
        guest: asyncio.BaseProtocol,
        context: ssl.SSLContext,
        done: asyncio.Future[None],
        buffer: bytearray,
    ) -> None:
        """Shake hands for a guest, and say when it is done."""
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
        self._ssl_buffer, self._ssl_buffer_view = buffer, memoryview(buffer)

    def _get_app_transport(self) -> sslproto._SSLProtocolTransport:
        """Make the guest's side of the connection, once."""
        if self._app_transport is None:
            self._app_transport = _Transport(self._loop, self)
        return self._app_transport

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


async def shake_hands(
    guest: asyncio.BaseProtocol,
    accepted: socket.socket,
    context: ssl.SSLContext,
    buffer: bytearray,
) -> None:
    """Give a connection to a guest once there is TLS on it; raises OSError when there is none.

    buffer: of `TLS_READ_BYTES`, for all connections of one loop.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    transport, _ = await loop.connect_accepted_socket(
        lambda: _Tls(guest, context, done, buffer), accepted
    )
    try:
        await done
    except BaseException:
        transport.abort()
        raise
