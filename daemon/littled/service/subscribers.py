"""Public releases on their way to subscribers.

One `Releases` per daemon, used on the event loop alone. A subscriber walks along a learner's
versions at its own pace: it asks for what comes after the version it has, and waits when there is
nothing. Nothing is queued for it, so a slow subscriber costs no memory and delays nobody; the
latest releases are at hand in memory, older ones are read from the store on another thread, for one
subscriber at a time and a little each. Origins take turns there: however many subscribers of one
want old releases, another's wait for one of them.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from littled.limits import RELEASES_IN_MEMORY_MAX, RELEASES_READ_MAX, RELEASES_REST_TIMES
from littled.service.changes import Changes
from littled.service.lines import Turn
from littled.store.records import StoredRelease
from littled_protocol.codec import decode, encode_frame
from littled_protocol.messages import Release


class Releases:
    """The latest releases of every learner, and the way to the older ones."""

    def __init__(
        self, learners: Iterable[str], read: Callable[[str, int], Sequence[StoredRelease]]
    ) -> None:
        """Start with no release at all.

        `learners` are full names, "stream/learner". `read` returns a learner's stored releases
        after a version; it is called on a thread other than the loop's.
        """
        self._read = read
        self._turn = Turn()
        self._shelves = {learner: _Shelf() for learner in learners}
        self.news = asyncio.Event()
        """Set at the next release of any learner; a new one is here from then on."""
        self.changes = Changes()
        """Which learners have new releases."""

    def __contains__(self, learner: str) -> bool:
        """Return whether there is a learner of that full name."""
        return learner in self._shelves

    @property
    def learners(self) -> tuple[str, ...]:
        """Full names of all learners, in the order of the configuration."""
        return tuple(self._shelves)

    def announce(self, releases: Iterable[StoredRelease]) -> list[Release]:
        """Take releases that are durable, in the order of their versions; wakes their subscribers.

        A version that is known already is passed over. Returns those that were news.
        """
        news = []
        for release in releases:
            shelf = self._shelves[release.learner]
            if release.version > shelf.version:
                message = release_message(release)
                shelf.put(message)
                self.changes.note(release.learner)
                news.append(message)
        if news:
            self.news.set()
            self.news = asyncio.Event()
        return news

    def latest(self, learner: str) -> Release | None:
        """Return the newest release of `learner`, or None when there is none yet."""
        shelf = self._shelves[learner]
        return shelf.recent[-1] if shelf.recent else None

    def version(self, learner: str) -> int:
        """Return the newest version of `learner`, 0 when there is none yet."""
        return self._shelves[learner].version

    async def after(self, learner: str, version: int, origin: str) -> Sequence[Release]:
        """Return releases of `learner` after `version`, oldest first; none only if there is none.

        A long history comes in parts: ask again after the last one. origin: where the subscriber
        comes from.
        """
        shelf = self._shelves[learner]
        if version >= shelf.version:
            return ()
        if version >= shelf.forgotten:
            return [release for release in shelf.recent if release.version > version]
        await self._turn.take(origin)
        read = asyncio.to_thread(self._stored_after, learner, version)
        reading = asyncio.ensure_future(read)
        reading.add_done_callback(partial(self._end_turn, time.monotonic()))
        # A thread cannot be interrupted: the turn lasts as long, also when its subscriber has left.
        return await asyncio.shield(reading)

    def _end_turn(self, started: float, reading: asyncio.Future[list[Release]]) -> None:
        """Let the next one read, after some rest while others are waiting."""
        taken = time.monotonic() - started
        rest = RELEASES_REST_TIMES * taken if self._turn.is_wanted else 0.0
        asyncio.get_running_loop().call_later(rest, self._turn.give_back)
        if not reading.cancelled():
            reading.exception()  # which its subscriber has seen, unless it has left

    def frame_of(self, release: Release) -> bytes | None:
        """Return the whole frame of the newest release of its learner, made once; else None."""
        shelf = self._shelves[release.learner]
        if not shelf.recent or shelf.recent[-1] is not release:
            return None
        if shelf.frame is None:
            shelf.frame = encode_frame(release)
        return shelf.frame

    async def beyond(self, learner: str, version: int) -> None:
        """Wait until there is a release of `learner` after `version`."""
        shelf = self._shelves[learner]
        while shelf.version <= version:
            await shelf.news.wait()

    def _stored_after(self, learner: str, version: int) -> list[Release]:
        """Read from the store; on a thread, for there may be much to decode."""
        stored = self._read(learner, version)[:RELEASES_READ_MAX]
        assert stored, "the store has lost releases that it announced"
        return [release_message(release) for release in stored]


class _Shelf:
    """One learner's releases in memory.

    `version` is the newest one, `forgotten` the newest that only the store has. `frame`: the newest
    one as bytes, once somebody wanted them.
    """

    __slots__ = ("forgotten", "frame", "news", "recent", "version")

    def __init__(self) -> None:
        self.recent: deque[Release] = deque()
        self.version = 0
        self.forgotten = 0
        self.frame: bytes | None = None
        self.news = asyncio.Event()

    def put(self, release: Release) -> None:
        if len(self.recent) == RELEASES_IN_MEMORY_MAX:
            self.forgotten = self.recent.popleft().version
        elif not self.recent:
            self.forgotten = release.version - 1  # a start reads the last ones only
        self.recent.append(release)
        self.version = release.version
        self.frame = None
        self.news.set()
        self.news = asyncio.Event()


def release_message(release: StoredRelease) -> Release:
    """Return a stored release as the message that goes over the wire: its body is the payload."""
    message = decode(release.body)
    if not isinstance(message, Release):
        raise TypeError(f"the store holds a {type(message).__name__} where a release should be")
    return message
