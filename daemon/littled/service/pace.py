"""The pace of those who feed at full speed, beside those who wait for each acknowledgement.

As long as nobody waits, a commit takes as much as it can. While somebody does, of whatever stream,
everybody who feeds at full speed is *hurried*: a short commit takes some of what they sent, and
then they have to *rest*, and little more is read from them. So the writer, the loop, the engines
and the processors are free for most of the time, and who waits finds them as it would find them
alone.

A rest is longer the more the loop has worked since the last one, as small batches cost more than
large ones of as many bytes. Lengths and kinds of messages make that work, and no private value.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from littled.limits import (
    COMMIT_BYTES_MAX,
    HURRIED_BYTES_MAX,
    HURRIED_PENDING_BYTES_MAX,
    HURRIED_REST_SECONDS_MAX,
    HURRIED_REST_SECONDS_MIN,
    HURRIED_REST_TIMES,
    HURRIED_SECONDS,
    STREAM_PENDING_BYTES_MAX,
)


class Pace:
    """Says what the next commit takes of those who feed at full speed; asked on any thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Begin without anybody who waits, on the thread of the loop; `now` is the loop's time."""
        self._now = now
        self._hurried_until = self._rest_until = now()
        self._loop_clock = time.pthread_getcpuclockid(threading.get_ident())
        self._worked_seconds = time.clock_gettime(self._loop_clock)

    def hurry(self) -> None:
        """Say that somebody waits for an acknowledgement beside others, and may do so again."""
        self._hurried_until = self._now() + HURRIED_SECONDS

    @property
    def rests(self) -> bool:
        """Whether commits take only of those of whom little waits."""
        return self._now() < self.rest_ends

    @property
    def rest_ends(self) -> float:
        """When the rest ends, or did."""
        return min(self._rest_until, self._hurried_until)

    @property
    def pending_bytes_max(self) -> int:
        """What may wait of one stream before nothing more is read from those who have most."""
        return HURRIED_PENDING_BYTES_MAX if self._is_hurried else STREAM_PENDING_BYTES_MAX

    @property
    def room_bytes(self) -> int:
        """How much of them a commit takes now."""
        if not self._is_hurried:
            return COMMIT_BYTES_MAX
        return 0 if self.rests else HURRIED_BYTES_MAX

    def begin_rest(self) -> None:
        """Let them rest, if they are hurried, after a commit that had room for them."""
        before, self._worked_seconds = self._worked_seconds, time.clock_gettime(self._loop_clock)
        worked = HURRIED_REST_TIMES * (self._worked_seconds - before)
        rest = min(max(worked, HURRIED_REST_SECONDS_MIN), HURRIED_REST_SECONDS_MAX)
        self._rest_until = self._now() + rest

    @property
    def _is_hurried(self) -> bool:
        return self._now() < self._hurried_until
