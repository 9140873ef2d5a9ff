"""What is fed: examples of a rule in batches, as frames of the daemon or as plain columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from littled_client import hash_users
from littled_protocol.codec import encode_frame
from littled_protocol.columns import encode_users
from littled_protocol.messages import Examples

USERS = 100_000
THRESHOLD = 100
POINT = 0x1234_5678_9ABC_DEF0
_CYCLE = 1_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """Batches of one size. points: "u8" or "u64". users: "", "digests" or "ids" (by a client).

    examples: how many are timed. ahead: how many are sent before, untimed, so that the daemon's
    queues are full and it learns as fast as it takes in.
    """

    batch: int
    points: str = "u8"
    users: str = ""
    examples: int = 1_000_000
    ahead: int = 0

    @property
    def frames(self) -> int:
        """How many frames in all."""
        return (self.examples + self.ahead) // self.batch

    @property
    def point_bytes(self) -> int:
        """Bytes of one point."""
        return int(self.points[1:]) // 8

    @property
    def title(self) -> str:
        """What the tables call it."""
        size = "single examples" if self.batch == 1 else f"batches of {self.batch:,}"
        users = f", users as {self.users}" if self.users else ""
        return f"{size}, {self.points} points{users}"

    def with_points(self, points: str) -> Work:
        """The same with points of another type, and without users."""
        return replace(self, points=points, users="")


@cache
def columns(points: str) -> tuple[Any, Any]:
    """A million points of a type, and the labels of a rule that the daemon's learner can find.

    u8: a threshold. u64: one point, which is a twentieth of all; the others never come again.
    """
    rng = np.random.default_rng(1)
    if points == "u8":
        x = rng.integers(0, 256, _CYCLE).astype(np.uint8)
        return x, (x >= THRESHOLD).astype(np.uint8)
    x = rng.integers(0, 2**64, _CYCLE, dtype=np.uint64)
    y = rng.integers(0, 20, _CYCLE) == 0
    x[y] = POINT
    return x, y.astype(np.uint8)


@cache
def ids() -> list[str]:
    """The users of the million examples, as a program names them."""
    numbers = np.random.default_rng(5).integers(0, USERS, _CYCLE)
    return [f"user {number}" for number in numbers]


@cache
def digests() -> Any:
    """The same as they travel, (n, 2)."""
    return hash_users(ids())


def part(index: int, batch: int) -> slice:
    """Where the batch of this number lies in the million."""
    start = index * batch % (_CYCLE - batch + 1)
    return slice(start, start + batch)


@lru_cache(maxsize=1)
def daemon_frames(work: Work) -> tuple[bytes, ...]:
    """The frames of one producer, from its example 0 on."""
    x, y = columns(work.points)
    frames = []
    for index in range(work.frames):
        where = part(index, work.batch)
        users = encode_users(digests()[where]) if work.users else None
        columns_of_it = x[where].tobytes(), y[where].tobytes(), users
        frames.append(encode_frame(Examples(0, index * work.batch, work.batch, *columns_of_it)))
    return tuple(frames)


@lru_cache(maxsize=4)
def payloads(batch: int, points: str) -> tuple[tuple[bytes, bytes], ...]:
    """Some batches as columns of points and labels, for all others; to be used again and again."""
    x, y = columns(points)
    count = max(1, min(2000, 2_000_000 // batch))
    return tuple(
        (x[part(index, batch)].tobytes(), y[part(index, batch)].tobytes()) for index in range(count)
    )
