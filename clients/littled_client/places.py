"""Where a client looks for a stream: at the addresses it was given, and where daemons send it.

No I/O: both clients ask the places that a `Walk` names, one after another, and tell it what came of
it.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from littled_client.addresses import (
    Address,
    TcpAddress,
    UnixAddress,
    default_addresses,
    parse_address,
    parse_addresses,
)
from littled_client.errors import (
    AddressError,
    ConnectionLostError,
    StreamElsewhereError,
)
from littled_client.tls import Tls, secured
from littled_protocol.messages import Moved

# How many daemons in a row may send a client on, from each of the addresses that it was given.
HOPS_MAX = 8
# Why a subscription begins again that a daemon has ended so.
MOVED_AWAY = "the daemon does not serve the stream any more"

Addresses = str | Address | Iterable[str | Address] | None
"""One address or several, as a client takes them; None for the usual place."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to connect, and how TLS is spoken there; None where it is not."""

    address: Address
    tls: Tls | None


class _Safety(Enum):
    """Who may listen on the way to an address, and who may sit at its end."""

    TLS = "TLS"
    UNIX = "a Unix socket"
    LOOPBACK = "TCP on this machine"
    PLAIN = "TCP without TLS"

    @classmethod
    def of(cls, address: Address) -> _Safety:
        if isinstance(address, UnixAddress):
            return cls.UNIX
        if address.tls:
            return cls.TLS
        return cls.LOOPBACK if _is_loopback(address.host) else cls.PLAIN


# Where a daemon may send a client that was given an address of some safety; see SPEC.md, section
# 15. Beside these, who shows no token may go from plain TCP to plain TCP.
_AS_SAFE = {
    _Safety.TLS: {_Safety.TLS},
    _Safety.UNIX: {_Safety.UNIX, _Safety.LOOPBACK, _Safety.TLS},
    _Safety.LOOPBACK: {_Safety.LOOPBACK, _Safety.TLS},
    _Safety.PLAIN: {_Safety.TLS},
}


class Places:
    """The addresses that a client was given; whoever answered last is asked first."""

    def __init__(self, addresses: Addresses, tls: Tls | None, *, has_token: bool) -> None:
        """Raises AddressError for an address that is none, and for none at all."""
        self._tls = tls
        self._has_token = has_token
        given = dict.fromkeys(_parsed(addresses))
        if not given:
            raise AddressError("a client needs at least one address")
        self.given = tuple(Place(*secured(address, tls)) for address in given)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses that were given."""
        return tuple(place.address for place in self.given)

    def walk(self, stream: str | None) -> Walk:
        """Begin to look for a stream; None for any daemon."""
        return Walk(self, stream)

    def reached(self, place: Place) -> None:
        """Ask this place first from now on, if it is one of those that were given."""
        if place in self.given:
            others = (each for each in self.given if each != place)
            self.given = (place, *others)

    def follow(self, origin: Place, text: str) -> Place | None:
        """Return the place that a daemon names, None if it is not as safe as `origin`.

        Raises AddressError for a text that is no address.
        """
        address = parse_address(text)
        for place in self.given:
            if place.address == address:
                return place
        here, there = _Safety.of(origin.address), _Safety.of(address)
        plain = here is there is _Safety.PLAIN and not self._has_token
        if there not in _AS_SAFE[here] and not plain:
            return None
        if there is not _Safety.TLS:
            return Place(address, None)
        # The certificate has to be for the host that is met there, whatever the first one is for.
        return Place(address, replace(self._tls or Tls(), server_name=None))


class Walk:
    """One search for a stream: each given address in turn, and from there where daemons say.

    again_seconds: how long the daemons asked a client to wait before it looks again.
    """

    def __init__(self, places: Places, stream: str | None) -> None:
        """Begin with the first address that was given."""
        self.again_seconds = 0.0
        self._places = places
        self._stream = stream
        self._given = deque(places.given)
        self._named: deque[Place] = deque()
        self._asked: set[Address] = set()
        self._origin = self._at = places.given[0]
        self._hops = 0
        self._said: dict[Address, list[str]] = {}
        self._failure: Exception | None = None

    def next(self) -> Place | None:
        """Return the next place to ask, None when all were asked."""
        while self._named or self._given:
            if self._named:
                self._at = self._named.popleft()
            else:
                self._origin = self._at = self._given.popleft()
                self._hops = 0
            if self._at.address not in self._asked:
                self._asked.add(self._at.address)
                return self._at
        return None

    def failed(self, failure: Exception) -> None:
        """Take note that the last place did not answer."""
        self._failure = failure

    def redirected(self, moved: Moved) -> None:
        """Take note that the daemon at the last place says where the stream is.

        Raises StreamElsewhereError when it names none but addresses less safe than the first one.
        """
        self._said[self._at.address] = moved.addresses
        self.again_seconds = max(self.again_seconds, moved.after_ms / 1000)
        self._hops += 1
        if self._hops > HOPS_MAX:
            return
        found, unsafe = [], []
        for text in moved.addresses:
            try:
                place = self._places.follow(self._origin, text)
            except AddressError:
                continue  # of a later grammar
            if place is None:
                unsafe.append(text)
            else:
                found.append(place)
        if unsafe and not found:
            safety = _Safety.of(self._origin.address).value
            raise StreamElsewhereError(
                moved.stream,
                unsafe,
                f"the daemon at {self._at.address} says that {moved.stream} is served at "
                f"{' or '.join(unsafe)}, which is not as safe as {safety} and is not followed; "
                "give the address of that daemon yourself if you mean it",
            )
        self._named.extendleft(reversed(found))

    def failure(self) -> Exception:
        """Return why the stream was not found, when all places were asked."""
        named = list(dict.fromkeys(text for said in self._said.values() for text in said))
        if named:
            ways = "; ".join(f"{at} names {' and '.join(said)}" for at, said in self._said.items())
            reason = (
                "" if self._failure is None else f" (the last one that failed: {self._failure})"
            )
            sentence = (
                f"no daemon serves {self._stream} where daemons say that it is: {ways}{reason}"
            )
        elif self._said:
            at = " and ".join(map(str, self._said))
            sentence = f"no daemon serves {self._stream} right now, as {at} knows"
        else:
            return self._failure or ConnectionLostError("no address was asked")
        return StreamElsewhereError(self._stream or "", named, sentence)


def _parsed(addresses: Addresses) -> tuple[Address, ...]:
    if addresses is None:
        return default_addresses()
    if isinstance(addresses, str):
        return parse_addresses(addresses)
    if isinstance(addresses, UnixAddress | TcpAddress):
        return (addresses,)
    return tuple(map(parse_address, addresses))


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its number or as `localhost`."""
    try:
        number = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower() == "localhost"
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
        return number.ipv4_mapped.is_loopback
    return number.is_loopback
