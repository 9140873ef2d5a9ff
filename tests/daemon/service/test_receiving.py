"""Memory for unfinished frames: grants in turns, and none for frames that stand still."""

import asyncio
import random
from collections import Counter

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
    """A receiver of one frame, alone at its origin unless it is said to be of another."""

    def __init__(self, pool: Receiving, origin: str | None = None) -> None:
        self.pool = pool
        self.origin = str(id(self)) if origin is None else origin
        self.there: int | None = 0
        self.may_read = False
        self.ended = False

    def ask(self, frame_bytes: int = LONGEST, *, proven: bool = False) -> bool:
        self.may_read = self.pool.ask(self, frame_bytes, proven=proven)
        return self.may_read

    def granted(self) -> None:
        self.may_read = True

    def stalled(self) -> None:
        self.ended = True
        self.pool.give_back(self)

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
    pool.give_back(later[1])
    pool.give_back(first[1])
    assert [sender.may_read for sender in later] == [True, False, True]
    pool.give_back(first[2])
    assert small.may_read


async def test_who_asks_again_while_waiting_is_granted_one_place() -> None:
    """All of the pool is there again once everybody has left."""
    pool = Receiving()
    crowd = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in crowd)
    patient = [Sender(pool) for _ in range(GRANTS)]
    for _ in range(3):
        assert not any(sender.ask() for sender in patient)
    assert not patient[0].ask(FRAME_SHORT_BYTES + 1)  # another frame of its, behind the others
    assert not patient[0].ask()
    assert not patient[1].ask()  # the first in line now, and still
    pool.give_back(crowd[0])
    assert patient[1].may_read
    for sender in crowd:
        pool.give_back(sender)
    assert all(sender.may_read for sender in patient)
    for sender in patient:
        pool.give_back(sender)
    assert all(sender.ask() for sender in crowd)


async def test_who_has_finished_a_long_frame_comes_first() -> None:
    pool = Receiving()
    crowd = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in crowd)
    unknown, known = Sender(pool), Sender(pool)
    assert not unknown.ask()
    assert not known.ask(proven=True)
    pool._turn_of_proven = True
    assert pool.give_back(crowd[0])
    assert not pool.give_back(crowd[0])
    assert (known.may_read, unknown.may_read) == (True, False)
    pool.give_back(known)
    assert unknown.may_read


@pytest.mark.parametrize("of_the_crowd", [True, False])
async def test_those_who_have_finished_a_long_frame_take_turns_with_the_others(
    of_the_crowd: bool,
) -> None:
    pool = Receiving()
    holders = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in holders)
    crowd = [Sender(pool) for _ in range(GRANTS)]
    assert not any(sender.ask(proven=of_the_crowd) for sender in crowd)
    newcomer = Sender(pool)
    assert not newcomer.ask(proven=not of_the_crowd)
    for sender in holders[:2]:
        pool.give_back(sender)
    assert newcomer.may_read
    assert sum(sender.may_read for sender in crowd) == 1


async def test_origins_take_turns() -> None:
    pool = Receiving()
    holders = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in holders)
    crowd = [Sender(pool, "crowd") for _ in range(2 * GRANTS)]
    assert not any(sender.ask() for sender in crowd)
    alone = Sender(pool)
    assert not alone.ask()
    for sender in holders[:2]:
        pool.give_back(sender)
    assert alone.may_read
    assert [sender.may_read for sender in crowd[:2]] == [True, False]


@pytest.mark.parametrize("origins", [1, 2, 3])
async def test_origins_that_take_all_they_get_leave_room_for_another(origins: int) -> None:
    """And each of them gets at least half of an equal part, however late it asks."""
    pool = Receiving()
    crowds = [[Sender(pool, str(number)) for _ in range(GRANTS)] for number in range(origins)]
    for crowd in crowds:
        for sender in crowd:
            sender.ask()
    for _ in range(3 * GRANTS):  # they finish their frames, and begin others
        for crowd in crowds:
            sender = next(each for each in crowd if each.may_read)
            sender.may_read = False
            pool.give_back(sender)
            sender.ask()
    held = [sum(sender.may_read for sender in crowd) for crowd in crowds]
    assert min(held) >= GRANTS // (2 * origins)
    assert sum(held) >= GRANTS - 3
    assert Sender(pool).ask()


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


async def test_a_frame_has_its_time_from_when_it_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from the last look, if it had its place or could be read on only later."""
    monkeypatch.setattr(module, "FRAME_GROWTH_SECONDS", 600.0)
    pool = Receiving()
    crowd = [Sender(pool) for _ in range(GRANTS)]
    assert all(sender.ask() for sender in crowd)
    unread = crowd[0]
    waiting = [Sender(pool) for _ in range(3 * GRANTS)]
    assert not any(sender.ask() for sender in waiting)
    unread.there = None
    pool._look()
    assert [sender for sender in crowd if not sender.ended] == [unread]
    unread.there = 0
    early, late = waiting[0], next(sender for sender in waiting if not sender.may_read)
    pool.give_back(early)
    assert late.may_read
    for ended in (False, True):
        pool._look()
        assert (unread.ended, late.ended) == (ended, ended)
    assert not waiting[-1].may_read  # somebody waited all the time


async def test_a_receiver_that_fails_does_not_keep_its_place_or_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FRAME_GROWTH_SECONDS", 0.02)
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))

    class Broken(Sender):
        def stalled(self) -> None:
            raise AttributeError("it is broken")

    pool = Receiving()
    crowd = [Broken(pool), *(Sender(pool) for _ in range(GRANTS - 1))]
    assert all(sender.ask() for sender in crowd)
    waiting = [Sender(pool) for _ in range(GRANTS)]
    for sender in waiting:
        sender.there = None
        assert not sender.ask()
    async with asyncio.timeout(5.0):
        while not all(sender.may_read for sender in waiting):  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.01)
    assert all(sender.ended for sender in crowd[1:])
    assert len(failures) == 1


@pytest.mark.parametrize("origins", [1, 3, 100])
async def test_what_is_free_and_what_is_granted_is_all_there_is(origins: int) -> None:
    """Whoever asks, once or several times, for one frame or another, finishes it or leaves."""
    pool, chance = Receiving(), random.Random(5)
    senders = [Sender(pool, str(number % origins)) for number in range(100)]
    sizes: dict[Sender, int] = {}
    for _ in range(5_000):
        sender = chance.choice(senders)
        if sender in sizes and chance.random() < 0.5:
            assert pool.give_back(sender) is sender.may_read
            sender.may_read = False
            del sizes[sender]
        else:
            if sender not in sizes or chance.random() < 0.1:
                sizes[sender] = chance.randint(FRAME_SHORT_BYTES, LONGEST)
            sender.ask(sizes[sender], proven=chance.random() < 0.5)
        granted = Counter[str]()
        for holder, size in sizes.items():
            granted[holder.origin] += size * holder.may_read
        assert granted.total() + pool._free_bytes == FRAMES_GRANTED_BYTES
        assert +granted == pool._granted_bytes
        assert pool._free_bytes >= 0
        assert sum(map(len, pool._lines.values())) == len(pool._wishes)
    for sender in senders:
        pool.give_back(sender)
    assert all(Sender(pool).ask() for _ in range(GRANTS))
