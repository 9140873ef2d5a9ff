"""What is read of which broker, as an address: `nats://HOST:PORT/STREAM` and its kin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from littled_client.errors import AddressError

_TLS: Final = "+tls"
_PORTS: Final = {"nats": 4222, "kafka": 9092, "redis": 6379, "mqtt": 1883}
_TLS_PORTS: Final = {**_PORTS, "mqtt": 8883}
_FORMS: Final = {
    "nats": "nats://HOST:PORT/STREAM[/CONSUMER][?subject=SUBJECT]",
    "kafka": "kafka://HOST:PORT[,HOST:PORT...]/TOPIC[/PARTITION]",
    "redis": "redis://HOST:PORT/KEY[?db=NUMBER][&field=FIELD]",
    "mqtt": "mqtt://HOST:PORT/TOPIC[?number=KEY]",
}
_KEYS: Final = {
    "nats": {"subject"},
    "kafka": {"sasl"},
    "redis": {"db", "field"},
    "mqtt": {"number"},
}
_PARTS_MAX: Final = {"nats": 2, "kafka": 2, "redis": 1, "mqtt": 1}
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:,/@\s]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is shown to a broker, and who vouches for it; never shown in a message.

    user, password: of an account; the password alone is a token for NATS. ca, certificate, key:
    files in PEM.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A stream of a broker.

    kind: "nats", "kafka", "redis" or "mqtt". hosts: with their ports. path: the stream, topic or
    key, and what may follow it. options: by name.
    """

    kind: str
    hosts: tuple[tuple[str, int], ...]
    path: tuple[str, ...]
    options: Mapping[str, str]
    tls: bool = False

    @property
    def servers(self) -> str:
        """The hosts and ports, with commas."""
        return ",".join(f"{host}:{port}" for host, port in self.hosts)

    @property
    def name(self) -> str:
        """What messages call it."""
        scheme = self.kind + (_TLS if self.tls else "")
        return f"{scheme}://{self.servers}/{'/'.join(self.path)}"

    @property
    def digest(self) -> str:
        """What tells this stream from others, wherever its broker is; 12 hexadecimal digits."""
        what = (self.kind, self.path[0], *sorted(f"{k}={v}" for k, v in self.options.items()))
        return blake2b("\0".join(what).encode(), digest_size=6).hexdigest()


def is_broker(text: str) -> bool:
    """Return whether this looks like an address of a broker."""
    return text.partition("://")[0].removesuffix(_TLS) in _PORTS and "://" in text


def broker_address(text: str) -> BrokerAddress:
    """Return the address in a text; raise AddressError, which never repeats a password."""
    scheme = text.partition("://")[0]
    kind, tls = scheme.removesuffix(_TLS), scheme.endswith(_TLS)
    if not is_broker(text):
        raise AddressError(f"{scheme}:// is no broker: {', '.join(_FORMS)} are")
    parts = urlsplit(text)
    if "@" in parts.netloc:
        raise AddressError(
            f"the address of a broker has no user and no password: name them with --broker-user "
            f"and --broker-password-file, and write {_FORMS[kind]}"
        )
    ports = _TLS_PORTS if tls else _PORTS
    hosts = tuple(_host(each, ports[kind], kind) for each in parts.netloc.split(","))
    inside = parts.path.removeprefix("/")
    # A topic of MQTT has slashes of its own, and a key of Redis may.
    whole = kind in ("mqtt", "redis")
    path = tuple(map(unquote, [inside] if whole else inside.split("/")))
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if (
        not all(path)
        or len(path) > _PARTS_MAX[kind]
        or parts.fragment
        or not set(options) <= _KEYS[kind]
        or not all(options.values())
        or (len(hosts) > 1 and kind not in ("kafka", "nats"))
    ):
        raise AddressError(f"an address of {kind} is {_FORMS[kind]}")
    _check_numbers(kind, path, options)
    return BrokerAddress(kind, hosts, path, options, tls)


def _check_numbers(kind: str, path: tuple[str, ...], options: Mapping[str, str]) -> None:
    numbers = [options.get("db", "0"), *(path[1:] if kind == "kafka" else ())]
    if not all(number.isascii() and number.isdigit() and len(number) < 6 for number in numbers):
        raise AddressError(f"an address of {kind} is {_FORMS[kind]}")


def _host(text: str, port: int, kind: str) -> tuple[str, int]:
    found = _HOST.fullmatch(text)
    if found is None or not 0 < int(found[2] or port) < 65536:
        raise AddressError(f"an address of {kind} is {_FORMS[kind]}")
    return found[1], int(found[2] or port)
