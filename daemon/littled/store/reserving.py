"""How far the high-water mark is ahead of producers, and when it has to be moved.

For every producer the mark has a number that its durable examples have not reached, and it is moved
before a commit that would reach it. That is all that is needed for no example to be learned twice
after a restore (PRIVACY.md, "Restoring", R3); the rest of this module is about how seldom the mark
is written and how little a producer has to leave out then. A producer that is named in the mark is
ahead by what it sends in half a minute. A mark names only so many; all others share one number, and
need a new one only when they reach that. Who is far below it gets a name with the next mark.
"""

import time
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import replace

from littled.limits import (
    MARK_AHEAD_EXAMPLES,
    MARK_AHEAD_SECONDS,
    MARK_AHEAD_TIMES,
    MARK_LOOSE_EXAMPLES,
    MARK_NAMING_SECONDS,
    MARK_PRODUCERS_MAX,
)
from littled.store.mark import Numbers, StreamMark
from littled.store.staging import Producers

Producer = tuple[str, str]
"""Stream and name of a producer."""


class Reserves:
    """Moves the numbers of producers in the marks of their streams."""

    def __init__(
        self, marks: MutableMapping[str, StreamMark], following: Callable[[str, str], int]
    ) -> None:
        """Change `marks` in place; `following` is the number after a producer's durable ones."""
        self._marks = marks
        self._following = following
        # Where the mark was put ahead last for a producer, and when that was.
        self._reserved: dict[Producer, tuple[int, float]] = {}
        # Producers far below the number that they share, which are to be named; oldest first.
        self._nameless: dict[Producer, None] = {}
        self._named_at = float("-inf")

    def reserve(self, producers: Producers) -> bool:
        """Bound what is about to be stored; whether the mark has to be written before it is.

        producers: those of a commit, with what their numbers will be.
        """
        due: dict[Producer, None] = {}
        for producer, (_, following) in producers.items():
            numbers = self._numbers(producer[0])
            bound = numbers.named.get(producer[1])
            if following > (numbers.others if bound is None else bound):
                due[producer] = None
            elif bound is None and numbers.others - following > MARK_LOOSE_EXAMPLES:
                self._nameless.pop(producer, None)
                self._nameless[producer] = None
        if not due and not self._naming_due():
            return False
        waiting = [producer for producer in self._nameless if producer not in due]
        self._nameless.clear()
        self._named_at = time.monotonic()
        bounds: dict[str, dict[str, int]] = {}
        for stream, name in (*waiting[-MARK_PRODUCERS_MAX:], *due):
            following = self._following(stream, name)
            if (stream, name) in producers:
                following = producers[stream, name][1]
            ahead = self._ahead(stream, name, following)
            bounds.setdefault(stream, {})[name] = following + ahead
        for stream, stream_bounds in bounds.items():
            self._put(stream, self._numbers(stream).with_bounds(stream_bounds))
        return True

    def covers(self, stream: str, name: str, following: int) -> bool:
        """Whether the mark bounds a producer that is named in it, and nobody waits to be named.

        A quick answer to what `reserve` would do: nothing.
        """
        numbers = self._marks[stream].numbers
        bound = None if numbers is None else numbers.named.get(name)
        return bound is not None and following <= bound and not self._nameless

    def forget(self, producer: Producer) -> None:
        """Say that a producer has not been active for long."""
        self._reserved.pop(producer, None)

    def settle(self, stream: str, known: dict[str, int], active: Iterable[str], first: int) -> None:
        """Let the mark say exactly how far producers have come, as nothing is added any more.

        known: that of each producer that was ever seen. active: those of them that were active
        last, which are named. first: where any other producer begins.
        """
        last = {name: known[name] for name in active if name in known}
        before = {name: number for name, number in known.items() if name not in last}
        self._put(stream, Numbers({}, first).raised(before | last, first))

    def _naming_due(self) -> bool:
        return bool(self._nameless) and time.monotonic() - self._named_at >= MARK_NAMING_SECONDS

    def _ahead(self, stream: str, name: str, following: int) -> int:
        """How many examples of a producer the mark is to be ahead of this number."""
        now = time.monotonic()
        before = self._reserved.get((stream, name))
        first, since = before or (self._following(stream, name), now)
        self._reserved[stream, name] = following, now
        times = MARK_AHEAD_SECONDS / max(now - since, MARK_AHEAD_SECONDS / MARK_AHEAD_TIMES)
        return max(MARK_AHEAD_EXAMPLES, int(times * (following - first)))

    def _numbers(self, stream: str) -> Numbers:
        numbers = self._marks[stream].numbers
        assert numbers is not None, "the store is not open for writing"
        return numbers

    def _put(self, stream: str, numbers: Numbers) -> None:
        self._marks[stream] = replace(self._marks[stream], numbers=numbers)
