"""What a broker has to be able to do, whichever it is."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from littled_client.errors import SourceError


class BrokerLost(Exception):
    """The broker went away, or was never there; trying again may help. Says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A message.

    number: of the broker's own, as messages of this program show it. place: behind the message.
    row: its bytes, or cells by name where a broker keeps those. handle: what acknowledges it.
    """

    number: str
    place: bytes
    row: bytes | dict[str, Any]
    handle: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a broker says when it is opened at a place.

    missing: whether messages behind the place are gone for good, as the broker keeps only so many.
    forgets: whether it keeps none that it was told was learned, so that none of those comes again.
    unnumbered: whether nothing tells one message from another, so that all that come are learned,
    also a second time.
    """

    missing: bool = False
    forgets: bool = False
    unnumbered: bool = False


class Broker(Protocol):
    """One stream of a broker, read in its order by one program; used in one thread.

    name: what messages call it. note: what a user has to know of its promises; "" for nothing.
    """

    name: str
    note: str

    def lanes(self) -> Sequence[str]:
        """Names of what is read side by side, each in an order of its own; raises BrokerLost."""

    def open(self, places: Sequence[bytes]) -> Sequence[Heard]:
        """Connect, or connect again, to go on behind these places, one of each lane.

        An empty place is the beginning. Raises BrokerLost; SourceError where going on at a place is
        not possible.
        """

    def read(self, most: int, seconds: float) -> list[tuple[int, Taken]]:
        """Return the next messages with the numbers of their lanes; none came in time: none.

        Raises BrokerLost.
        """

    def acknowledge(self, taken: Sequence[Taken]) -> None:
        """Tell the broker that these were learned, which changes nothing of what is read next."""

    def close(self) -> None:
        """Let go of the connection; never raises."""


def place_of(kind: str, digest: str, *position: object) -> bytes:
    """Return the place of a position: which stream it is of, and where."""
    return " ".join((kind, digest, *map(str, position))).encode("ascii")


def position_of(kind: str, digest: str, place: bytes, name: str, count: int = 1) -> list[str]:
    """Return the parts of the position of a place; SourceError for a place of another stream."""
    parts = place.decode("ascii", "replace").split(" ")
    if parts[:2] != [kind, digest] or len(parts) != count + 2:
        raise SourceError(
            f"the producer has fed another source than {name} before: name another producer with "
            "--producer"
        )
    return parts[2:]


def imported(module: str, extra: str) -> Any:
    """Return a module that an extra installs; SourceError with the command if it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise SourceError(
            f"reading from {extra} needs a package that is not installed: pip install "
            f"'littled[{extra}]'"
        ) from None
