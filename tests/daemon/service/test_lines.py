"""Lines: every origin in its turn, and who came first among its own; and turns of one at a time."""

import asyncio
import random

from littled.service.lines import Line, Turn


def test_who_comes_alone_waits_behind_one_of_a_crowd() -> None:
    line: Line[int] = Line()
    for number in range(100):
        line.add(number, "crowd")
    line.add(100, "alone")
    assert [line.take() for _ in range(4)] == [0, 100, 1, 2]
    assert len(line) == 97
    assert line.take(lambda origin: origin == "alone") is None
    line.leave(3, "crowd")
    line.leave(3, "crowd")
    line.leave(3, "nobody")
    assert line.take() == 4


def test_nobody_is_lost_or_taken_twice() -> None:
    line, chance = Line[int](), random.Random(3)
    inside: dict[int, str] = {}
    for number in range(2_000):
        if chance.random() < 0.6:
            inside[number] = chance.choice("abc")
            line.add(number, inside[number])
        elif inside and chance.random() < 0.5:
            leaving = chance.choice(list(inside))
            line.leave(leaving, inside.pop(leaving))
        elif (taken := line.take(lambda origin: origin != "b")) is not None:
            own = [each for each, origin in inside.items() if origin == inside[taken]]
            assert inside.pop(taken) != "b"
            assert taken == own[0]
        else:
            assert set(inside.values()) <= {"b"}
        assert sorted(line) == sorted(inside)
        assert len(line) == len(inside)


async def test_a_turn_is_had_by_one_at_a_time_of_each_origin() -> None:
    turn, had = Turn(), list[int]()

    async def have(number: int, origin: str) -> None:
        await turn.take(origin)
        had.append(number)
        await asyncio.sleep(0)
        turn.give_back()

    crowd = [asyncio.ensure_future(have(number, "crowd")) for number in range(5)]
    alone = asyncio.ensure_future(have(9, "alone"))
    await asyncio.sleep(0)
    assert turn.is_wanted
    await asyncio.gather(*crowd, alone)
    assert had == [0, 1, 9, 2, 3, 4]
    assert not turn.is_wanted


async def test_a_turn_is_not_lost_with_who_leaves() -> None:
    """Before it comes, in the moment when it does, and between that and waking up."""
    for after_given in (False, True):
        turn = Turn()
        await turn.take("a")
        leaving = asyncio.ensure_future(turn.take("a"))
        staying = asyncio.ensure_future(turn.take("b"))
        await asyncio.sleep(0)
        if after_given:
            turn.give_back()
            leaving.cancel()
        else:
            leaving.cancel()
            turn.give_back()
        await asyncio.wait_for(staying, 5)
        assert leaving.cancelled()
        turn.give_back()
        await asyncio.wait_for(turn.take("c"), 5)
        assert not turn.is_wanted
