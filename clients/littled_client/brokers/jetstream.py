"""NATS JetStream: a stream read in its order by a consumer of this program alone.

A consumer that goes on somewhere else than the place says would lose or repeat messages, so one is
made anew at the place with every connection. Only where the address names one are messages
acknowledged, for streams that keep a message until it is; redeliveries are passed over.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from littled_client.brokers.addresses import BrokerAddress, Secrets
from littled_client.brokers.base import (
    BrokerLost,
    Heard,
    Taken,
    imported,
    place_of,
    position_of,
)
from littled_client.errors import SourceError
from littled_client.tls import Tls

_CONNECT_SECONDS = 5.0
# How long a message may wait for its acknowledgement before it is sent again.
_ACK_SECONDS = 3600.0
# A consumer that nobody has asked for so long is removed by the server.
_IDLE_SECONDS = 300.0
_Result = TypeVar("_Result")


class JetStream:
    """A stream of NATS JetStream; see `Broker`."""

    note = ""

    def __init__(self, address: BrokerAddress, secrets: Secrets) -> None:
        """Prepare; nothing is connected yet."""
        self.name = address.name
        self._nats = imported("nats", "nats")
        self._api = imported("nats.js.api", "nats")
        self._errors = imported("nats.errors", "nats")
        self._js_errors = imported("nats.js.errors", "nats")
        self._address, self._secrets = address, secrets
        self._stream = address.path[0]
        self._consumer = address.path[1] if len(address.path) > 1 else None
        self._runner = asyncio.Runner()
        self._connection: Any = None
        self._subscription: Any = None
        self._created = ""
        self._last = self._opened_behind = 0

    def lanes(self) -> Sequence[str]:
        """A stream has one order."""
        return ("",)

    def open(self, places: Sequence[bytes]) -> Sequence[Heard]:
        """Connect, and make a consumer behind the place."""
        self._disconnect()
        return [self._run(self._open(places[0]))]

    def read(self, most: int, seconds: float) -> list[tuple[int, Taken]]:
        """Return the next messages."""
        found = self._run(self._fetched(most, seconds))
        taken = []
        for message in found:
            number = message.metadata.sequence.stream
            if number <= self._last:
                # Delivered again. What stood before the place when it was opened is durable.
                if number <= self._opened_behind:
                    self.acknowledge([Taken(str(number), b"", b"", message)])
                continue
            self._last = number
            place = place_of("nats", self._address.digest, number, self._created)
            taken.append((0, Taken(str(number), place, message.data, message)))
        return taken

    def acknowledge(self, taken: Sequence[Taken]) -> None:
        """Acknowledge where the address names a consumer."""
        if self._consumer is not None:
            self._run(self._acknowledged(taken))

    def close(self) -> None:
        """Remove a consumer without a name, and disconnect."""
        self._disconnect()
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        try:
            return self._runner.run(work)
        except (self._js_errors.NotFoundError, self._js_errors.BadRequestError) as error:
            raise SourceError(
                f"{self.name} cannot be read: {error.description or 'not found'}"
            ) from None
        except (self._errors.Error, OSError, ConnectionError, TimeoutError) as error:
            if "authorization" in str(error).lower():
                raise SourceError(f"{self.name} refuses the user or the password") from None
            raise BrokerLost(f"{self.name} cannot be reached ({_why(error)})") from None

    async def _open(self, place: bytes) -> Heard:
        await self._connect()
        stream = self._connection.jetstream()
        info = await stream.stream_info(self._stream)
        self._created = _created(info)
        last = self._behind(place, info.state.last_seq)
        # A stream whose messages go once they are acknowledged has no other beginning.
        from_start = info.config.retention == self._api.RetentionPolicy.WORK_QUEUE
        config = self._api.ConsumerConfig(
            durable_name=self._consumer,
            filter_subject=self._address.options.get("subject"),
            ack_policy=self._api.AckPolicy.EXPLICIT if self._consumer else self._api.AckPolicy.NONE,
            ack_wait=_ACK_SECONDS if self._consumer else None,
            max_ack_pending=-1 if self._consumer else None,
            deliver_policy=(
                self._api.DeliverPolicy.ALL
                if from_start
                else self._api.DeliverPolicy.BY_START_SEQUENCE
            ),
            opt_start_seq=None if from_start else last + 1,
            inactive_threshold=None if self._consumer else _IDLE_SECONDS,
        )
        if self._consumer is not None:
            with suppress(self._js_errors.NotFoundError):
                await stream.delete_consumer(self._stream, self._consumer)
        made = await stream.add_consumer(self._stream, config)
        self._subscription = await stream.pull_subscribe_bind(
            consumer=made.name, stream=self._stream
        )
        self._last = self._opened_behind = last
        return Heard(missing=info.state.first_seq > last + 1)

    async def _connect(self) -> None:
        secrets, address = self._secrets, self._address
        tls: ssl.SSLContext | None = None
        if address.tls:
            tls = Tls(ca=secrets.ca, certificate=secrets.certificate, key=secrets.key).context()
        shown: dict[str, Any] = {}
        if secrets.password is not None:
            shown = {"user": secrets.user, "password": secrets.password}
            shown = shown if secrets.user is not None else {"token": secrets.password}
        self._connection = await self._nats.connect(
            [f"nats://{host}:{port}" for host, port in address.hosts],
            allow_reconnect=False,
            connect_timeout=_CONNECT_SECONDS,
            max_reconnect_attempts=1,
            error_cb=_nothing,
            tls=tls,
            **shown,
        )

    def _behind(self, place: bytes, last: int) -> int:
        """The number of the message that a place is behind."""
        if not place:
            return 0
        number, created = position_of("nats", self._address.digest, place, self.name, 2)
        if created != self._created or int(number) > last:
            raise SourceError(
                f"{self.name} is not the stream that was read before, which went up to message "
                f"{number}: it was made anew; name another producer with --producer"
            )
        return int(number)

    async def _fetched(self, most: int, seconds: float) -> list[Any]:
        if self._connection.is_closed or not self._connection.is_connected:
            raise BrokerLost(f"{self.name} has closed the connection")
        try:
            found: list[Any] = await self._subscription.fetch(most, timeout=seconds)
        except (TimeoutError, self._errors.TimeoutError):
            return []
        return found

    async def _acknowledged(self, taken: Sequence[Taken]) -> None:
        for message in taken:
            await message.handle.ack()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                self._runner.run(connection.close())


def _created(info: Any) -> str:
    """When a stream was made, in short: another one of its name has another time."""
    return format(zlib.crc32(str(info.created).encode()), "08x")


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def _nothing(_error: Exception) -> None:
    """What goes wrong is raised by the next call."""
