"""Whole seasons of given streams by exact enumeration, against every neighbour of each of them.

What `test_online_laws` asks of every adversary on three or four examples is asked here of streams
of up to eight, which are the same whatever is said: every stream that differs from them at one
position, in either direction, must not be told apart better than what the season is charged. So
there are more epochs, calls and steps of ladders. The classes are small and written down by hand.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.hypothesis import HypothesisClass
from littled.classes.sparse_sets import SparseSets
from littled.classes.thresholds import Thresholds
from littled.learners.online.chain_memory import ChainMemory, ChainSettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.pool import PoolSettings
from littled.learners.online.selections import teachers
from littled.learners.online.standing_memory import StandingSettings
from littled.learners.online.values import EpochSettings
from support.enumeration import Case, Example, Turn, fixed, online_plan, stream_of
from support.small_classes import Cubes, Sets

pytestmark = pytest.mark.long

F = Fraction
PARAMETERS = OnlineParameters(
    epsilon=F(8), horizon=8, noise_rate=F(0), trigger_rate=F(1, 2), trigger_threshold=1,
    selection="closure", selection_rate=F(3), selection_accounting="pure", draws=1, calls_max=2,
    buffer="mistakes", list_cap=1, bottom_score=2, tests="cohen_lyu", tests_failure=F(1, 50),
)  # fmt: skip
HISTOGRAM: dict[str, Any] = {"selection": "histogram", "selection_rate": F(2)}
# So little that no mistake is expected, but enough for examples to veto.
VETOES: dict[str, Any] = {"noise_rate": F(1, 10**6), "buffer": "both", "background_max": 8}
# Epochs end after 1, 2, 4 and 8 examples, nothing is spent on a trigger.
SCHEDULED = replace(
    PARAMETERS, trigger_rate=F(0), trigger_threshold=0, tests="above_threshold", horizon=9,
    tests_failure=F(0), fresh=True, schedule_first=1, mistakes_max=8, calls_max=4,
)  # fmt: skip
# One call draws, the second one begins with the middle, and the memory may begin anew at the third.
CHAIN = replace(
    PARAMETERS, selection="chain", buffer="examples", trigger_rate=F(4), trigger_threshold=0,
    tests="above_threshold", tests_failure=F(0), list_cap=0, bottom_score=0, fresh=True,
    calls_max=6, ladder=(EpochSettings(1),), memory=ChainSettings(2, 5, 0, 1000, 10, 0),
)  # fmt: skip
STREAM = ((1, 1), (1, 1), (2, 0), (1, 1), (2, 1), (1, 1), (2, 0), (3, 1))


PLANS: dict[str, tuple[HypothesisClass, OnlineParameters]] = {
    "closures": (Cubes(2), PARAMETERS),
    "closures of teachers": (Cubes(2), replace(PARAMETERS, teachers=2)),
    "ladder": (
        Cubes(2),
        replace(PARAMETERS, ladder=(EpochSettings(0, 2), EpochSettings(2, None)), calls_max=3),
    ),
    "histograms": (Sets(2), replace(PARAMETERS, **HISTOGRAM)),
    "histograms with vetoes": (SparseSets(2, 1), replace(PARAMETERS, **HISTOGRAM, **VETOES)),
    "fresh closures": (
        Cubes(2), replace(PARAMETERS, fresh=True, ladder=(EpochSettings(0, 2),), calls_max=3)
    ),
    "fresh histograms": (
        Sets(2),
        replace(PARAMETERS, **HISTOGRAM, fresh=True, ladder=(EpochSettings(2),), calls_max=3),
    ),
    "scheduled closures": (Cubes(2), SCHEDULED),
    "scheduled teachers": (Cubes(2), replace(SCHEDULED, teachers=2)),
    "scheduled ids": (Sets(2), replace(SCHEDULED, **HISTOGRAM)),
    "scheduled rules": (
        Thresholds(4), replace(SCHEDULED, selection="dense", buffer="examples", mistakes_max=0)
    ),
    "capped rules": (
        Thresholds(4),
        replace(
            SCHEDULED, selection="dense", buffer="examples", mistakes_max=0, schedule_cap=2,
            calls_max=5,
        ),
    ),
    "rules that stand": (
        Thresholds(4),
        replace(
            SCHEDULED, selection="dense", buffer="examples", mistakes_max=0, schedule_cap=2,
            calls_max=5, memory=StandingSettings(1),
        ),
    ),
    "capped ids": (Sets(2), replace(SCHEDULED, **HISTOGRAM, schedule_cap=2, calls_max=5)),
    "pool": (
        Thresholds(4),
        replace(
            CHAIN, selection="dense", memory=None, ladder=(), selection_rate=F(2),
            pool=PoolSettings(slots=2, own=1, one_in=2, calls=3),
        ),
    ),
    "chain": (Thresholds(4), CHAIN),
    "halving": (
        Thresholds(4), replace(CHAIN, memory=ChainSettings(0, 5, 0, 1000, 10, 0), ladder=())
    ),
}  # fmt: skip
# Examples, and by what factors epsilon and delta may exceed the truth. An early mistake is in no
# more calls than its few successors make, and a trigger of fresh noise is paid for ln(1/f), which
# they do not use up either; what is left are the factors of single selections.
SHORT: dict[str, tuple[int, float, float]] = {
    "closures": (3, 7.12, 1.63), "closures of teachers": (3, 7.12, 1.63), "ladder": (3, 10.7, 2.03),
    "histograms": (3, 6.41, 1.41), "histograms with vetoes": (3, 3.21, 1.41),
    "fresh closures": (3, 4.58, 1.53), "fresh histograms": (3, 4.01, 1.2),
    "scheduled closures": (8, 2.67, 1.05), "scheduled teachers": (8, 2.67, 1.05),
    "scheduled ids": (8, 2.17, 1.01), "scheduled rules": (6, 1.13, 0),
    "capped rules": (6, 1.13, 0), "rules that stand": (6, 1.13, 0), "capped ids": (6, 2.17, 1.01),
    "pool": (4, 1.16, 0), "chain": (5, 1.16, 0), "halving": (4, 1.48, 0),
}  # fmt: skip
LONG: dict[str, tuple[int, float, float]] = {
    "closures": (6, 5.82, 1.46), "closures of teachers": (6, 6.74, 1.35), "ladder": (6, 4.93, 1.58),
    "histograms": (6, 3.66, 1.16), "histograms with vetoes": (6, 2.29, 1.16),
    "fresh closures": (6, 4.58, 1.49), "fresh histograms": (6, 2.47, 1.17),
    "scheduled rules": (8, 1.01, 0), "capped rules": (8, 1.01, 0), "rules that stand": (8, 1.01, 0),
    "pool": (6, 1.16, 0), "chain": (6, 1.16, 0), "halving": (5, 1.48, 0),
}  # fmt: skip


def season(name: str, steps: int, factor: float, delta_factor: float) -> Case:
    """The first examples of the stream; positions belong to two teachers in turn.

    Where there is a pool two of three are held back, in either slot.
    """
    held = cycle((1 << 63, (1 << 63) + 1, 0))
    given = [
        Example(*each, teacher=t % 2, priority=next(held)) for t, each in enumerate(STREAM[:steps])
    ]
    plan = stream_of(online_plan("late", *PLANS[name]))
    return Case(plan, fixed(given, range(4)), factor, delta_factor)


@pytest.mark.parametrize("name", SHORT)
def test_seasons_cost_what_they_are_charged(name: str) -> None:
    season(name, *SHORT[name]).check()


@pytest.mark.campaign
@pytest.mark.parametrize("name", LONG)
def test_longer_seasons_cost_what_they_are_charged(name: str) -> None:
    season(name, *LONG[name]).check()


def test_a_season_of_a_chain_comes_to_every_phase() -> None:
    """Direct calls, halving, and a memory begun anew after a contradiction, in one season."""
    case = season("chain", *SHORT["chain"])
    transitions = case.check()
    learners = [
        state
        for known in transitions._values
        if hasattr(known, "course")
        for state in known.course.states.values()
    ]
    seen = {(state.calls, state.memory.fires) for state in learners}
    assert all(isinstance(state.memory, ChainMemory | None) for state in learners)
    assert {(1, 1), (2, 2), (3, 3), (4, 0)} <= seen  # the call of the last example is not followed
    assert any(min(state.memory.offsets) < 0 for state in learners)
    assert any(state.memory.low > 0 for state in learners)


# --- splits that must be caught -------------------------------------------------------------------

Split = Callable[[NDArray[np.uint64], int], NDArray[np.int64]]


def equal_parts(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
    """Algorithm 3, line 19, read literally: one example more moves others to other teachers."""
    parts = np.array_split(np.arange(len(words)), teachers)
    return np.repeat(np.arange(teachers), [len(part) for part in parts]).astype(np.int64)


def in_turn(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
    """The same, of parts that are dealt out."""
    return np.arange(len(words), dtype=np.int64) % teachers


def shuffled(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
    """The same, after what is kept was shuffled by its secret words."""
    return in_turn(words, teachers)[np.argsort(np.argsort(words, kind="stable"))]


# Two mistakes of each teacher. One more in their midst gives to each the other's second one.
PAIRS = [Example(0, 1, 0), Example(2, 1, 1), Example(0, 1, 4), Example(2, 1, 5)]
MORE = Example(0, 1, 2), Example(0, 0, 2)
# Three teachers with two mistakes each, and one more at the end.
PARTS = [Example(x, 1, t % 3) for t, x in enumerate((1, 1, 2, 2, 1, 1))]
AT_THE_END = Example(0, 1), Example(0, 0)
LISTS = replace(
    PARAMETERS, selection="sparse", teachers=2, list_cap=2, selection_rate=F(6), calls_max=1,
    trigger_rate=F(2), trigger_threshold=5,
)  # fmt: skip
ONE_CALL = replace(SCHEDULED, teachers=2, schedule_first=5, horizon=6, calls_max=1)
THREE_TEACHERS = replace(ONE_CALL, teachers=3, schedule_first=7, horizon=8)


def of_pairs(parameters: OnlineParameters) -> Case:
    turns = [Turn((each,)) for each in PAIRS]
    turns.insert(2, Turn((), (MORE, MORE[::-1])))
    return Case(stream_of(online_plan("late", Cubes(2), parameters)), turns, 0)


def of_parts() -> Case:
    turns = [*(Turn((each,)) for each in PARTS), Turn((), (AT_THE_END, AT_THE_END[::-1]))]
    return Case(stream_of(online_plan("late", Cubes(2), THREE_TEACHERS)), turns, 0)


SPLITS: dict[str, tuple[Case, tuple[Split, ...]]] = {
    "closures": (of_pairs(ONE_CALL), (in_turn, shuffled)),
    "closures of three": (of_parts(), (equal_parts,)),
    "essential lists": (of_pairs(LISTS), (in_turn, shuffled)),
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_that_moves_other_examples_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, broken = SPLITS[name]
    assert not case.exceeds()
    for split in broken:
        monkeypatch.setattr(teachers, "_numbers", split)
        assert case.exceeds()
