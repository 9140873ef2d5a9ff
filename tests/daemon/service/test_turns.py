"""Turns are shared out, and an allowance is what it says."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest

from littled.limits import (
    ALLOWANCE_UNITS_MAX,
    ALLOWANCE_UNITS_PER_SECOND,
    ALLOWANCE_WAIT_UNITS,
    RELEASES_PER_TURN,
    WORK_PER_PEER_UNITS,
    WORK_PER_TURN_UNITS,
)
from littled.service.turns import Allowance, Turns


@dataclass(eq=False)
class Heap:
    """So many units of work; notes each time when some is done."""

    name: str
    left: int
    diary: list[tuple[str, int]] = field(default_factory=list)

    def work(self, units: int) -> int:
        done = min(units, self.left)
        self.left -= done
        self.diary.append((self.name, done))
        return done

    @property
    def has_work(self) -> bool:
        return self.left > 0


async def one_turn() -> None:
    """Let the loop look at its sockets once."""
    await asyncio.sleep(0)


async def test_a_turn_has_so_much_work_and_each_peer_its_part() -> None:
    diary: list[tuple[str, int]] = []
    turns = Turns()
    heaps = [Heap(str(number), 10 * WORK_PER_PEER_UNITS, diary) for number in range(20)]
    for heap in heaps:
        turns.add(heap)
        turns.add(heap)
    done_before = 0
    while any(heap.has_work for heap in heaps):
        await one_turn()
        done = sum(units for _, units in diary)
        assert 0 < done - done_before <= WORK_PER_TURN_UNITS + 2 * WORK_PER_PEER_UNITS
        done_before = done
    assert all(units <= WORK_PER_PEER_UNITS for _, units in diary)
    served = Counter[str]()
    for name, _ in diary:
        if len(served) == 20:  # all have begun: whoever has had more waits for the others
            assert max(served.values()) - min(served.values()) <= 10
            assert served[name] < 10
        served[name] += 1
    assert set(served.values()) == {10}
    await one_turn()
    assert not any(heap in turns for heap in heaps)


async def test_a_worker_that_fails_is_dropped_and_the_others_go_on() -> None:
    class Broken(Heap):
        def work(self, units: int) -> int:
            super().work(units)
            raise ValueError("it is broken")

    failures: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: failures.append(context["exception"])
    )
    turns, diary = Turns(), list[tuple[str, int]]()
    broken, other = Broken("broken", 1000, diary), Heap("other", 2 * WORK_PER_TURN_UNITS, diary)
    for heap in (broken, other):
        turns.add(heap)
    for _ in range(10):
        await one_turn()
    assert not other.has_work
    assert [name for name, _ in diary].count("broken") == len(failures) == 1
    assert broken not in turns
    turns.add(broken)  # it may try again
    await one_turn()
    assert [name for name, _ in diary].count("broken") == len(failures) == 2


async def test_new_work_does_not_wait_for_old_and_does_not_hold_it_up() -> None:
    diary: list[tuple[str, int]] = []
    turns = Turns()
    old = [Heap("old", 100 * WORK_PER_PEER_UNITS, diary) for _ in range(10)]
    for heap in old:
        turns.add(heap)
    for _ in range(20):  # until all of them wait in their circle
        await one_turn()
    for _ in range(30):
        diary.clear()
        turns.add(Heap("new", 1, diary))
        await one_turn()
        assert diary[0] == ("new", 1)
        assert ("old", WORK_PER_PEER_UNITS) in diary


async def test_a_flood_of_new_work_leaves_something_for_who_waits() -> None:
    diary: list[tuple[str, int]] = []
    turns = Turns()
    old = Heap("old", 100 * WORK_PER_PEER_UNITS, diary)
    turns.add(old)
    await one_turn()
    for _ in range(10):
        before = old.left
        for _ in range(10):
            turns.add(Heap("new", WORK_PER_PEER_UNITS, diary))
        await one_turn()
        assert old.left < before


async def test_a_few_releases_are_sent_in_a_turn() -> None:
    turns, sent = Turns(), 0

    async def send() -> None:
        nonlocal sent
        await turns.to_send("here")
        sent += 1

    tasks = [asyncio.ensure_future(send()) for _ in range(5 * RELEASES_PER_TURN)]
    gone = asyncio.ensure_future(send())
    await one_turn()
    gone.cancel()
    before = sent
    while sent < len(tasks):
        await one_turn()
        assert sent - before <= RELEASES_PER_TURN
        before = sent
    await asyncio.gather(*tasks)


async def test_releases_of_one_origin_are_sent_in_turn_with_those_of_another() -> None:
    turns, sent = Turns(), list[str]()

    async def send(origin: str) -> None:
        await turns.to_send(origin)
        sent.append(origin)

    crowd = [asyncio.ensure_future(send("crowd")) for _ in range(10 * RELEASES_PER_TURN)]
    alone = asyncio.ensure_future(send("alone"))
    await asyncio.gather(alone, *crowd)
    assert sent.index("alone") == 1


def test_an_allowance_is_spent_and_comes_back() -> None:
    allowance = Allowance(100.0)
    allowance.spend(ALLOWANCE_UNITS_MAX - 1)
    assert not allowance.is_spent
    assert allowance.wait_seconds(100.0) == 0
    allowance.spend(1)
    assert allowance.is_spent
    seconds = allowance.wait_seconds(100.0)
    assert seconds == pytest.approx(ALLOWANCE_WAIT_UNITS / ALLOWANCE_UNITS_PER_SECOND)
    assert allowance.wait_seconds(100.0 + seconds) == 0
    assert not allowance.is_spent
    allowance.spend(ALLOWANCE_WAIT_UNITS)
    assert allowance.wait_seconds(100.0 + seconds + 10**6) == 0
    allowance.spend(ALLOWANCE_UNITS_MAX)  # never more than all of it is back
    assert allowance.is_spent


def test_who_overdraws_waits_for_it() -> None:
    allowance = Allowance(0.0)
    allowance.spend(3 * ALLOWANCE_UNITS_MAX)
    owed = 2 * ALLOWANCE_UNITS_MAX + ALLOWANCE_WAIT_UNITS
    assert allowance.wait_seconds(0.0) == pytest.approx(owed / ALLOWANCE_UNITS_PER_SECOND)
