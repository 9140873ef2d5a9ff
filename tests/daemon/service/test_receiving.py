"""Memory for unfinished frames: grants in order, and none for frames that stand still."""

import asyncio
import random

import pytest

from littled.limits import (
    CONNECTIONS_MAX,
    FRAME_GROWTH_BYTES,
    FRAME_SHORT_BYTES,
    FRAMES_GRANTED_BYTES,
    RECEIVE_BACKLOG_BYTES,
)
from littled.service import receiving as module
from littled.service.receiving import Receiving
from littled_protocol import limits

LONGEST = limits.frame_bytes_max
GRANTS = FRAMES_GRANTED_BYTES // LONGEST


class Sender:
    """A receiver of one frame."""

    def __init__(self, pool: Receiving) -> None:
        self.pool = pool
        self.there: int | None = 0
        self.may_read = False
        self.ended = False

    def ask(self, frame_bytes: int = LONGEST) -> bool:
        self.may_read = self.pool.ask(self, frame_bytes)
        return self.may_read

    def granted(self) -> None:
        self.may_read = True

    def stalled(self) -> None:
        self.ended = True
        self.pool.leave(self)

    @property
    def growing_bytes(self) -> int | None:
        return self.there


def test_all_that_peers_may_have_sent_fits_into_64_mib() -> None:
    short = CONNECTIONS_MAX * FRAME_SHORT_BYTES
    assert short + FRAMES_GRANTED_BYTES + RECEIVE_BACKLOG_BYTES <= 64 << 20


async def test_grants_come_in_the_order_of_asking() -> None:
    pool = Receiving()
    first = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in first)
    assert first[0].ask()  # for the same frame
    later = [Sender(pool) for _ in range(3)]
    small = Sender(pool)
    assert not any(sender.ask() for sender in later)
    assert not small.ask(FRAME_SHORT_BYTES + 1)  # nobody comes before those who wait
    pool.give_back(first[0])
    assert [sender.may_read for sender in later] == [True, False, False]
    pool.leave(later[1])
    pool.give_back(first[1])
    assert [sender.may_read for sender in later] == [True, False, True]
    pool.give_back(first[2])
    assert small.may_read


async def test_who_has_finished_a_long_frame_comes_first() -> None:
    pool = Receiving()
    crowd = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in crowd)
    unknown, known = Sender(pool), Sender(pool)
    assert not unknown.ask()
    assert not pool.ask(known, LONGEST, proven=True)
    assert pool.give_back(crowd[0])
    assert not pool.give_back(crowd[0])
    assert (known.may_read, unknown.may_read) == (True, False)
    pool.leave(known)
    assert unknown.may_read


async def test_frames_that_stand_still_end_while_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FRAME_GROWTH_SECONDS", 0.02)
    pool = Receiving()
    crowd = [Sender(pool) for _ in range(GRANTS)]
    for sender in crowd:
        assert sender.ask()
    await asyncio.sleep(0.1)
    assert not any(sender.ended for sender in crowd)  # nobody waits
    growing, unread, *still = crowd
    growing.there, unread.there = 0, None
    honest = Sender(pool)
    assert not honest.ask()
    for _ in range(200):
        growing.there = (growing.there or 0) + FRAME_GROWTH_BYTES
        await asyncio.sleep(0.001)
        if honest.may_read:
            break
    assert honest.may_read
    assert all(sender.ended for sender in still)
    assert not growing.ended
    assert not unread.ended


async def test_what_is_free_and_what_is_granted_is_all_there_is() -> None:
    pool, chance = Receiving(), random.Random(5)
    senders = [Sender(pool) for _ in range(100)]
    sizes: dict[Sender, int] = {}
    for _ in range(5_000):
        sender = chance.choice(senders)
        if sender in sizes:
            if sender.may_read:
                pool.give_back(sender)
            else:
                pool.leave(sender)
            del sizes[sender]
        else:
            sizes[sender] = chance.randint(FRAME_SHORT_BYTES, LONGEST)
            sender.ask(sizes[sender])
        assert sum(size for holder, size in sizes.items() if holder.may_read) <= (
            FRAMES_GRANTED_BYTES
        )
    for sender in senders:
        pool.leave(sender)
    assert all(sender.ask() for sender in senders[:GRANTS])
