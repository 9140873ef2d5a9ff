"""Streams of Redis and Valkey, read by XREAD from the place on, without a group of consumers."""

from __future__ import annotations

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

_CONNECT_SECONDS = 5.0
_BEGINNING = "0-0"


class RedisStream:
    """A stream of Redis or Valkey; see `Broker`.

    An entry is a row, its fields are cells; with `field` in the address that field holds the row.
    """

    note = ""

    def __init__(self, address: BrokerAddress, secrets: Secrets) -> None:
        """Prepare; nothing is connected yet."""
        self.name = address.name
        self._redis = imported("redis", "redis")
        self._address, self._secrets = address, secrets
        self._key = address.path[0]
        self._field = address.options.get("field")
        self._connection: Any = None
        self._last = _BEGINNING

    def lanes(self) -> Sequence[str]:
        """A stream has one order."""
        return ("",)

    def open(self, places: Sequence[bytes]) -> Sequence[Heard]:
        """Connect, and look whether the stream is the one that the place is of."""
        self._disconnect()
        secrets = self._secrets
        host, port = self._address.hosts[0]
        tls: dict[str, Any] = {}
        if self._address.tls:
            files = {"ca": secrets.ca, "cert": secrets.certificate, "key": secrets.key}
            names = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
            tls = {"ssl": True, **{names[k]: str(v) for k, v in files.items() if v is not None}}
        self._connection = self._redis.Redis(
            host=host.strip("[]"),
            port=port,
            db=int(self._address.options.get("db", "0")),
            username=secrets.user,
            password=secrets.password,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_CONNECT_SECONDS,
            **tls,
        )
        return [self._said(places[0])]

    def read(self, most: int, seconds: float) -> list[tuple[int, Taken]]:
        """Return the next entries."""
        try:
            found = self._connection.xread(
                {self._key: self._last}, count=most, block=max(1, int(1000 * seconds))
            )
        except self._redis.RedisError as error:
            raise self._lost(error) from None
        taken: list[tuple[int, Taken]] = []
        for _, entries in found.items() if isinstance(found, dict) else found or ():
            for identity, fields in entries:
                self._last = identity.decode()
                taken.append((0, self._taken(self._last, fields)))
        return taken

    def acknowledge(self, taken: Sequence[Taken]) -> None:
        """Nothing: an entry stays until the stream is trimmed."""

    def close(self) -> None:
        """Disconnect."""
        self._disconnect()

    def _taken(self, number: str, fields: dict[bytes, bytes]) -> Taken:
        place = place_of("redis", self._address.digest, number)
        row: bytes | dict[str, Any]
        if self._field is not None:
            row = fields.get(self._field.encode(), b"")
        else:
            row = {
                name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
                for name, value in fields.items()
            }
        return Taken(number, place, row)

    def _said(self, place: bytes) -> Heard:
        try:
            if not self._connection.exists(self._key):
                facts: dict[str, Any] = {}
            else:
                facts = self._connection.xinfo_stream(self._key)
        except self._redis.RedisError as error:
            raise self._lost(error) from None
        self._last = _BEGINNING
        if place:
            (self._last,) = position_of("redis", self._address.digest, place, self.name)
        last = _text(facts.get("last-generated-id", _BEGINNING))
        if _order(self._last) > _order(last):
            raise SourceError(
                f"{self.name} is not the stream that was read before, which went up to entry "
                f"{self._last}: it was made anew; name another producer with --producer"
            )
        removed = facts.get("entries-added", 0) > facts.get("length", 0)
        first = facts.get("first-entry")
        behind = first is None or _order(_text(first[0])) > _order(self._last)
        return Heard(missing=removed and behind and _order(self._last) < _order(last))

    def _lost(self, error: Exception) -> Exception:
        """What to raise: only a refusal cannot heal by itself."""
        errors = self._redis.exceptions
        if isinstance(error, errors.AuthenticationError | errors.NoPermissionError):
            return SourceError(f"{self.name} refuses the user or the password")
        if isinstance(error, errors.ConnectionError | errors.TimeoutError):
            return BrokerLost(f"{self.name} cannot be reached")
        if isinstance(error, errors.BusyLoadingError | errors.ReadOnlyError):
            return BrokerLost(f"{self.name} is not ready")
        return SourceError(
            f"{self.name} cannot be read: its key holds no stream, or may not be read"
        )

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _order(identity: str) -> tuple[int, int]:
    first, _, second = identity.partition("-")
    return int(first), int(second or 0)
