"""Lines: every origin in its turn, and who came first among its own."""

import random

from littled.service.lines import Line


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
