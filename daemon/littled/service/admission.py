"""Who may have a connection: so many in all, at each listener and from each origin.

An *origin* is the user at the other end of a Unix socket or the address at the other end of TCP:
public facts, known before a peer has sent a byte. A guest is *idle* while it neither feeds nor
subscribes. Where a limit is reached, the idle guest that was silent for longest makes room for a
newcomer; where nobody is idle, the newcomer is turned away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from littled.limits import (
    CONNECTIONS_MAX,
    CONNECTIONS_PER_ORIGIN_SHARE,
    CONNECTIONS_RESERVED_SHARE,
)

Guest = TypeVar("Guest", bound=Hashable)


def share_of(most: int) -> int:
    """Return how many of so many places one origin may have."""
    return max(1, int(most * CONNECTIONS_PER_ORIGIN_SHARE))


def less(counts: Counter[str], origin: str, by: int) -> None:
    """Count so many less of an origin, of which nothing is kept when none is left."""
    counts[origin] -= by
    if not counts[origin]:
        del counts[origin]


def one_less(counts: Counter[str], origin: str) -> None:
    """Count one less of an origin, of which nothing is kept when none is left."""
    less(counts, origin, 1)


class Full(Exception):
    """There is no room for a newcomer, and nobody who would have to make it."""


class Admission(Generic[Guest]):
    """Counts guests by listener and origin, and knows which of them are idle since when."""

    def __init__(self, listeners: int, most: int | None = None) -> None:
        """Begin without guests at so many listeners, which are numbered from 0.

        most: how many guests there may be; None for as many as the protocol may have.
        """
        self._most = CONNECTIONS_MAX if most is None else most
        self._at_listener = [0] * listeners
        self._from_origin: Counter[str] = Counter()
        self._guests: dict[Guest, tuple[int, str]] = {}
        # Longest silent first.
        self._idle: dict[Guest, None] = {}
        self._origin_max = share_of(self._most)
        self._reserved = int(self._most * CONNECTIONS_RESERVED_SHARE) // max(1, listeners)

    def __len__(self) -> int:
        """Return how many guests there are."""
        return len(self._guests)

    def who_makes_room(self, listener: int, origin: str) -> Guest | None:
        """Return who has to leave before a newcomer may enter; None if there is room.

        Ask again after that guest has left. Raises Full.
        """
        if self._from_origin[origin] >= self._origin_max:
            rivals = self._from(origin)
        elif self._free(listener) <= 0:
            rivals = self._above_reserve(listener)
        else:
            return None
        for guest in rivals:
            return guest
        raise Full

    def enter(self, guest: Guest, listener: int, origin: str) -> None:
        """Count a guest, who is idle at first."""
        self._guests[guest] = listener, origin
        self._at_listener[listener] += 1
        self._from_origin[origin] += 1
        self._idle[guest] = None

    def leave(self, guest: Guest) -> None:
        """Count a guest no more; does nothing for one that has left."""
        if guest not in self._guests:
            return
        listener, origin = self._guests.pop(guest)
        self._idle.pop(guest, None)
        self._at_listener[listener] -= 1
        one_less(self._from_origin, origin)

    def heard(self, guest: Guest) -> None:
        """Say that an idle guest has said something."""
        if guest in self._idle:
            del self._idle[guest]
            self._idle[guest] = None

    def settle(self, guest: Guest) -> None:
        """Say that a guest feeds or subscribes, so that it never makes room again."""
        self._idle.pop(guest, None)

    def _free(self, listener: int) -> int:
        """Places left at a listener, with those kept that other listeners have not used."""
        kept = sum(
            max(count, self._reserved)
            for number, count in enumerate(self._at_listener)
            if number != listener
        )
        return self._most - kept - self._at_listener[listener]

    def _from(self, origin: str) -> Iterator[Guest]:
        return (guest for guest in self._idle if self._guests[guest][1] == origin)

    def _above_reserve(self, listener: int) -> Iterator[Guest]:
        """Idle guests of the listener itself, and of those that have more than is kept for them."""
        for guest in self._idle:
            at, _ = self._guests[guest]
            if at == listener or self._at_listener[at] > self._reserved:
                yield guest
