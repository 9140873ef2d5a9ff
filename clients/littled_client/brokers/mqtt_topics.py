"""Topics of MQTT, which have no positions.

A message is acknowledged to the broker once it was learned, with a session that outlives the
connection: so none is lost that the broker keeps, and one may come twice. Only where the messages
themselves are numbered, by a key of their JSON objects, is each learned once.
"""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

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
_KEEPALIVE_SECONDS = 30
_NUMBER_MAX = (1 << 63) - 1
_QOS = 1
# So many messages are one frame to the daemon, so that all that it has is before a place.
_TOGETHER = 256


class MqttTopic:
    """A topic of MQTT, or several with wildcards; see `Broker`.

    With `number` in the address that key of each object is its number: a whole number that rises
    from message to message. Messages up to the place are passed over.
    """

    def __init__(self, address: BrokerAddress, secrets: Secrets, producer: str) -> None:
        """Prepare; nothing is connected yet. producer: names the session at the broker."""
        self.name = address.name
        self._mqtt = imported("paho.mqtt.client", "mqtt")
        self._address, self._secrets, self._producer = address, secrets, producer
        self._number = address.options.get("number")
        self.note = f"{self.name} has no positions: " + (
            "a message is learned at least once, and twice if this command, the broker or the "
            "daemon ends in between; ?number=KEY makes it once where messages are numbered"
            if self._number is None
            else f"each message is learned once, by its {self._number!r}"
        )
        self._client: Any = None
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._last = -1
        self._count = 0

    def lanes(self) -> Sequence[str]:
        """What is subscribed to comes in one order."""
        return ("",)

    def open(self, places: Sequence[bytes]) -> Sequence[Heard]:
        """Connect to the session, and subscribe."""
        self.close()
        self._arrived = queue.SimpleQueue()
        self._last = -1
        if places[0]:
            (number,) = position_of("mqtt", self._address.digest, places[0], self.name)
            self._last = int(number)
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client = self._client = self._made(answers)
        host, port = self._address.hosts[0]
        try:
            client.connect(host.strip("[]"), port, _KEEPALIVE_SECONDS)
            client.loop_start()
            code = answers.get(timeout=_CONNECT_SECONDS)
        except (OSError, ValueError, queue.Empty):
            self.close()
            raise BrokerLost(f"{self.name} cannot be reached") from None
        if code.is_failure:
            self.close()
            if code.getName() in ("Not authorized", "Bad user name or password"):
                raise SourceError(f"{self.name} refuses the user or the password")
            raise BrokerLost(f"{self.name} refuses the connection for now")
        client.subscribe(self._address.path[0], _QOS)
        return [Heard(forgets=True, unnumbered=self._number is None)]

    def read(self, most: int, seconds: float) -> list[tuple[int, Taken]]:
        """Return the next messages; those whose numbers are not above the last are passed over."""
        taken: list[tuple[int, Taken]] = []
        ends = time.monotonic() + seconds
        while len(taken) < min(most, _TOGETHER):
            try:
                left = max(0.0, ends - time.monotonic())
                message = self._arrived.get(timeout=None if taken else left, block=not taken)
            except queue.Empty:
                break
            if message is None:
                if taken:
                    self._arrived.put(None)
                    break
                raise BrokerLost(f"{self.name} has closed the connection")
            found = self._taken(message)
            if found is None:
                self.acknowledge([Taken("", b"", b"", message)])
            else:
                taken.append((0, found))
        return taken

    def acknowledge(self, taken: Sequence[Taken]) -> None:
        """Let the broker forget messages; without a connection it gives them once more."""
        for each in taken if self._client is not None else ():
            self._client.ack(each.handle.mid, each.handle.qos)

    def close(self) -> None:
        """Disconnect; the session stays."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.disconnect()
            with suppress(Exception):
                client.loop_stop()

    def _made(self, answers: queue.SimpleQueue[Any]) -> Any:
        secrets, arrived = self._secrets, self._arrived
        client = self._mqtt.Client(
            self._mqtt.CallbackAPIVersion.VERSION2,
            client_id=self._producer,
            clean_session=False,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        client.on_connect = lambda _c, _u, _flags, code, _p: answers.put(code)
        client.on_disconnect = lambda *_: arrived.put(None)
        client.on_message = lambda _c, _u, message: arrived.put(message)
        if secrets.user is not None:
            client.username_pw_set(secrets.user, secrets.password)
        if self._address.tls:
            client.tls_set_context(Tls(secrets.ca, secrets.certificate, secrets.key).context())
        return client

    def _taken(self, message: Any) -> Taken | None:
        """A message, None for one that was learned before."""
        self._count += 1
        if self._number is None:
            # The place says nothing but which topic was read.
            place = place_of("mqtt", self._address.digest, -1)
            return Taken(f"{self._count} of this run", place, message.payload, message)
        number = self._number_of(message.payload)
        if number is None:
            return Taken(
                f"{self._count} of this run, which has no number {self._number!r},",
                place_of("mqtt", self._address.digest, self._last),
                b"",
                message,
            )
        if number <= self._last:
            return None
        self._last = number
        place = place_of("mqtt", self._address.digest, number)
        return Taken(str(number), place, message.payload, message)

    def _number_of(self, payload: bytes) -> int | None:
        try:
            row = json.loads(payload)
            number = row[self._number]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        is_number = type(number) is int and 0 <= number <= _NUMBER_MAX
        return number if is_number else None
