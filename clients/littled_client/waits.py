"""How long a client waits, and how it spaces its attempts to come back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from littled_protocol import limits

_JITTER = random.SystemRandom().random


@dataclass(frozen=True, slots=True)
class Waits:
    """Every wait of a client, in seconds; the defaults suit a daemon on this machine or network.

    connect_seconds: how long to keep trying to reach a daemon for the first time; 0 means one try.
    reconnect_seconds: how long to keep trying to get a lost connection back.
    answer_seconds: how long one step of the conversation may take (connect, greet, open, status,
    predict).
    send_seconds: how long a daemon may take no data, and say nothing, while there is some for it.
    The asyncio client looks that often, so it may notice up to as much later.
    idle_seconds: silence after which the daemon is asked for a sign of life (Ping).
    pong_seconds: how long that may take before the connection counts as lost.
    stable_seconds: how long a connection must have stood for its loss to count as the first one.
    delay_least_seconds, delay_most_seconds: the pause between two tries, doubled each time.
    Raises ValueError for a negative wait or pauses out of order.
    """

    connect_seconds: float = 0.0
    reconnect_seconds: float = 60.0
    answer_seconds: float = limits.answer_seconds
    send_seconds: float = limits.send_seconds
    idle_seconds: float = limits.ping_seconds
    pong_seconds: float = limits.pong_seconds
    stable_seconds: float = 1.0
    delay_least_seconds: float = limits.reconnect_first_seconds
    delay_most_seconds: float = limits.reconnect_seconds_max

    def __post_init__(self) -> None:
        """Refuse waits that cannot be waited for."""
        if min(self.connect_seconds, self.reconnect_seconds) < 0:
            raise ValueError("connect_seconds and reconnect_seconds must not be negative")
        steps = (self.answer_seconds, self.send_seconds, self.idle_seconds, self.pong_seconds)
        if min(*steps, self.stable_seconds) <= 0:
            raise ValueError("answer, send, idle, pong and stable seconds must be positive")
        if not 0 < self.delay_least_seconds <= self.delay_most_seconds:
            raise ValueError("delay_least_seconds must be positive and at most delay_most_seconds")


class Retry:
    """When to try again: exponential pauses with jitter, within a limit; the clock is the caller's.

    The limit is `connect_seconds` until the first connection stands and `reconnect_seconds` after
    it. A connection that proved its worth (`progressed`, or it stood for `stable_seconds`)
    earns a fresh start: the next try comes at once, and the limit begins anew.
    """

    def __init__(self, waits: Waits, started: float, jitter: Callable[[], float] = _JITTER) -> None:
        """Begin at time `started`; `jitter()` gives a number from 0 to 1."""
        self._waits = waits
        self._jitter = jitter
        self._delay = waits.delay_least_seconds
        self._deadline = started + waits.connect_seconds
        self._connected_at: float | None = None
        self._ever_connected = False
        self._worthy = False

    def connected(self, now: float) -> None:
        """Take note that a connection stands; the first one of all is always worth coming back."""
        self._connected_at = now
        self._worthy |= not self._ever_connected
        self._ever_connected = True

    def progressed(self) -> None:
        """Take note that the connection was of use."""
        self._worthy = True

    def pause(self, now: float, least: float = 0.0) -> float | None:
        """Return how many seconds to wait before the next try, or None when time is up.

        A pause is half to all of the current delay, or `least` if that is longer, cut at the
        deadline; the delay then doubles.
        """
        since, self._connected_at = self._connected_at, None
        stood = since is not None and now - since >= self._waits.stable_seconds
        if self._worthy or stood:
            self._worthy = False
            self._delay = self._waits.delay_least_seconds
            self._deadline = now + self._waits.reconnect_seconds
            return min(least, self._waits.reconnect_seconds)
        left = self._deadline - now
        if left <= 0:
            return None
        pause = self._delay * (0.5 + self._jitter() / 2)
        self._delay = min(self._delay * 2, self._waits.delay_most_seconds)
        return min(max(pause, least), left)
