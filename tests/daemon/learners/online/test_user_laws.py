"""Online learners that protect users, against every adversary: no price is exceeded.

The real engine and learners are run through every outcome of the noise (`support.enumeration`). A
*pattern* says at which positions the user's examples come, and what the others' are. At each of the
user's positions the adversary knows what was released and chooses two examples, or one, from all
points and labels. What a season is charged must hold, and the tables say by what factor it may
exceed what is true of so few examples. Variants of the learner that forget a part of the proof
(PRIVACY.md, "User-level privacy") must exceed it.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.classes.thresholds import Thresholds
from littled.learners.contract import Examples, Place
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.keeping import Buffers, PooledBuffers
from littled.learners.online.length_search import LengthSettings
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.path_memory import PathSettings
from littled.learners.online.pool import HeldRows, PoolSettings
from littled.learners.online.pool import Words as Words64
from littled.learners.online.trigger import AboveThresholdTrigger
from littled.learners.online.values import EpochSettings
from littled.learners.users import UserCounts, Users
from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.planner import OnlinePlan, StreamPlan
from littled_protocol.rules import Words
from support.enumeration import (
    Case,
    Example,
    Turn,
    VariantPlan,
    of_user,
    online_plan,
    stream_of,
    transcripts,
)
from support.learning import HEAD
from support.paths import LongEpochs, OnAPath
from support.small_classes import Cubes, Sets
from support.tape import TapeNoise

# A point, a label and a user, or None for an example of the user's.
Pattern = tuple[tuple[int, int, int] | None, ...]

USER, OTHER_USER = 1, 9
# The secret words of all users.
WORDS = {USER: 0, 2: 1, 3: 2, 4: 0, 5: 1, 6: 3, OTHER_USER: 0}
# So little that no mistake is expected, but enough for examples to veto.
SLIGHT = Fraction(1, 10**6)
# One call, after four examples; nothing is spent on a trigger.
ONCE = OnlineParameters(
    epsilon=Fraction(8),
    horizon=8,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    trigger_threshold=0,
    selection="histogram",
    selection_rate=Fraction(2),
    selection_accounting="pure",
    draws=1,
    calls_max=1,
    buffer="mistakes",
    list_cap=1,
    bottom_score=4,
    fresh=True,
    schedule_first=4,
    mistakes_max=8,
    user_examples_max=1,
)
# Epochs end after 1, 2 and 4 examples.
SCHEDULED = replace(ONCE, schedule_first=1, calls_max=3)
# Each example is an epoch.
CAPPED = replace(SCHEDULED, schedule_cap=1, calls_max=7)
TRIGGERED = replace(
    ONCE, schedule_first=None, mistakes_max=0, trigger_rate=Fraction(1), trigger_threshold=1,
    selection_rate=Fraction(3, 4), calls_max=2, fresh=False,
)  # fmt: skip
# Noise of a lower rate on the threshold than on the steps.
SPLIT: dict[str, Any] = {"trigger_rate": Fraction(3, 2), "threshold_rate": Fraction(1, 2)}
PROPOSING = replace(ONCE, selection="sparse", list_cap=2, buffer="both", background_max=8)
VETOING = replace(ONCE, noise_rate=SLIGHT, buffer="both", background_max=8)
CLOSING = replace(ONCE, selection="closure", teachers=2, bottom_score=3)
COUNTING = replace(ONCE, selection="dense", buffer="examples", mistakes_max=0)
CHAIN = replace(
    TRIGGERED, selection="chain", buffer="examples", fresh=True, ladder=(EpochSettings(1),),
    memory=ChainSettings(3, evidence=5, fading=0, full_length=1000, floor=10, median_after=0),
)  # fmt: skip


def turns_of(
    pattern: Pattern, points: int = 2, priorities: tuple[int, ...] = (0,) * 9
) -> tuple[Turn, ...]:
    """What the adversary may do; `priorities` are the secret words of the positions."""

    def turn(given: tuple[int, int, int] | None, priority: int) -> Turn:
        if given is None:
            return of_user(range(points), USER, WORDS[USER], priority)
        return Turn((example(*given, priority),))

    return tuple(map(turn, pattern, priorities))


def example(x: int, y: int, user: int, priority: int = 0) -> Example:
    return Example(x, y, WORDS[user], priority, user)


def season(
    hypotheses: Any,
    parameters: OnlineParameters,
    most: int | None = 1,
    delta_z: Fraction = Fraction(0),
) -> StreamPlan:
    """A stream with this learner; what a single example is charged for None."""
    parameters = replace(parameters, user_examples_max=most)
    return stream_of(online_plan("l", hypotheses, parameters), delta_z=delta_z)


# --- what a season is charged ---------------------------------------------------------------------

PREFIXES = class_from_name("prefixes:1")
CASES: dict[str, tuple[Any, OnlineParameters]] = {
    "fires": (Sets(1), replace(TRIGGERED, calls_max=0)),
    "fires at two rates": (Sets(1), replace(TRIGGERED, calls_max=0, **SPLIT)),
    "histograms": (Sets(1), TRIGGERED),
    "fresh histograms": (Sets(1), replace(TRIGGERED, fresh=True)),
    "scheduled histograms": (Sets(1), SCHEDULED),
    "histograms with vetoes": (
        Sets(1),
        replace(TRIGGERED, noise_rate=SLIGHT, buffer="both", background_max=1),
    ),
    "two histograms with vetoes": (Sets(1), replace(VETOING, schedule_first=2, calls_max=2)),
    "rules": (Thresholds(3), replace(TRIGGERED, selection="dense", buffer="examples")),
    "rules by mistakes": (Thresholds(3), replace(TRIGGERED, selection="dense")),
    "fresh rules": (
        Thresholds(3),
        replace(TRIGGERED, selection="dense", buffer="examples", fresh=True),
    ),
    "fresh rules by mistakes and a background": (
        Thresholds(3),
        replace(TRIGGERED, selection="dense", buffer="both", background_max=1, fresh=True, **SPLIT),
    ),
    "scheduled rules": (
        Thresholds(3),
        replace(SCHEDULED, selection="dense", buffer="examples", mistakes_max=0),
    ),
    "capped rules": (
        Thresholds(3), replace(CAPPED, selection="dense", buffer="examples", mistakes_max=0)
    ),
    "capped rules by a background": (
        Thresholds(3),
        replace(
            CAPPED, selection="dense", buffer="examples", mistakes_max=0, background_max=1,
            schedule_first=2, schedule_cap=2, calls_max=3,
        ),
    ),
    "rules of a chain": (Thresholds(3), CHAIN),
    "halving": (
        Thresholds(3), replace(CHAIN, memory=ChainSettings(0, 5, 0, 1000, 10, 0), ladder=())
    ),
    "rules of a chain by mistakes and a background": (
        Thresholds(3), replace(CHAIN, buffer="both", background_max=1, **SPLIT)
    ),
    "halving by mistakes": (
        Thresholds(3),
        replace(CHAIN, buffer="mistakes", memory=ChainSettings(0, 5, 0, 1000, 10, 0), ladder=()),
    ),
    "proposals": (
        PREFIXES,
        replace(TRIGGERED, selection="sparse", list_cap=2, buffer="both", background_max=1),
    ),
    "fresh proposals": (
        PREFIXES,
        replace(
            TRIGGERED, selection="sparse", list_cap=2, buffer="both", background_max=1, fresh=True
        ),
    ),
    "scheduled proposals": (
        PREFIXES,
        replace(
            SCHEDULED, selection="sparse", list_cap=2, buffer="examples", background_max=8,
            mistakes_max=0,
        ),
    ),
    "closures of users": (Cubes(2), replace(TRIGGERED, selection="closure")),
    "closures of teachers": (Cubes(2), replace(CLOSING, schedule_first=2, calls_max=2)),
    "fresh closures": (
        Cubes(2),
        replace(TRIGGERED, selection="closure", ladder=(EpochSettings(0, 2),), fresh=True),
    ),
    "scheduled closures": (Cubes(2), replace(SCHEDULED, selection="closure", teachers=2)),
    "closures that start over": (
        Cubes(2), replace(SCHEDULED, selection="closure", bottom_score=2, starts_over=True)
    ),
    "fresh paths": (
        PREFIXES,
        replace(
            TRIGGERED, selection="path", list_cap=2, buffer="both", background_max=1, fresh=True,
            ladder=(EpochSettings(0),), memory=PathSettings(1, 2, 1, 0, 1),
        ),
    ),
    "fresh lengths": (
        PREFIXES,
        replace(
            TRIGGERED, selection="lengths", list_cap=2, fresh=True, ladder=(EpochSettings(0),),
            memory=LengthSettings(1, ((), (0,), (0, 1))),
        ),
    ),
    "essential lists": (
        Cubes(1),
        replace(
            TRIGGERED, selection="sparse", teachers=2, list_cap=2, bottom_score=6, calls_max=1
        ),
    ),
}  # fmt: skip
SHORT: Pattern = (None, None)
LONG: tuple[Pattern, ...] = (
    SHORT,
    (None, (1, 1, 2), None),
    (None, None, None, (1, 1, 2)),
    ((1, 1, 2), None, (1, 0, 3), None),
    (None, (0, 1, 2), None, (0, 1, 2), None),
)
# By what factor epsilon and delta may exceed what two examples show, 0 where that is nothing: a
# price is for all calls of a season, and what can be a rule of one user alone hides what epsilon
# is for.
FACTORS: dict[tuple[str, int], tuple[float, float]] = {
    ("fires", 1): (2.38, 0), ("histograms", 1): (5.75, 2.0), ("fresh histograms", 1): (4.28, 2.54),
    ("scheduled histograms", 1): (0, 2.01), ("histograms with vetoes", 1): (5.75, 2.0),
    ("two histograms with vetoes", 1): (0, 2.01), ("rules", 1): (1.79, 0),
    ("rules by mistakes", 1): (3.03, 0), ("fresh rules", 1): (1.55, 0),
    ("scheduled rules", 1): (1.43, 0), ("capped rules", 1): (1.43, 0),
    ("capped rules by a background", 1): (1.43, 0), ("capped rules", 2): (1.43, 0),
    ("proposals", 1): (0, 2.48),
    ("fresh proposals", 1): (0, 3.08), ("scheduled proposals", 1): (0, 1.01),
    ("closures of users", 1): (7.39, 2.22), ("closures of teachers", 1): (0, 2.04),
    ("fresh closures", 1): (13.18, 2.81), ("scheduled closures", 1): (0, 2.01),
    ("essential lists", 1): (3.33, 2.79), ("fires", 2): (2.85, 0),
    ("fresh histograms", 2): (13.18, 2.78), ("histograms with vetoes", 2): (18.8, 2.19),
    ("rules", 2): (2.68, 0), ("fresh rules", 2): (2.33, 0), ("proposals", 2): (0, 3.09),
    ("scheduled proposals", 2): (0, 3.73), ("closures of teachers", 2): (0, 2.04),
    ("scheduled closures", 2): (0, 1.51), ("closures that start over", 1): (0, 2.28),
    ("closures that start over", 2): (0, 1.82), ("fresh paths", 1): (0, 3.08),
    ("fresh lengths", 1): (0, 3.98), ("fresh paths", 2): (0, 3.66), ("fresh lengths", 2): (0, 4.63),
    ("rules of a chain", 1): (1.55, 0), ("rules of a chain", 2): (1.88, 0),
    ("halving", 1): (2.41, 0), ("halving", 2): (4.81, 0),
    ("rules of a chain by mistakes and a background", 1): (1.6, 0),
    ("rules of a chain by mistakes and a background", 2): (2.4, 0),
    ("halving by mistakes", 1): (2.5, 0), ("halving by mistakes", 2): (5.0, 0),
    ("fires at two rates", 1): (1.72, 0),
    ("fires at two rates", 2): (3.45, 0),
    ("fresh rules by mistakes and a background", 1): (1.54, 0),
    ("fresh rules by mistakes and a background", 2): (2.31, 0),
}  # fmt: skip


def check_season(
    name: str, most: int, pattern: Pattern, factor: float = 0, delta_factor: float = 0
) -> None:
    """What is charged holds, booked in either way, and is within its factors of the truth."""
    hypotheses, parameters = CASES[name]
    case = Case(season(hypotheses, parameters, most), turns_of(pattern), factor, delta_factor)
    transitions = case.check()
    if not (factor or delta_factor):  # a price that is much too low is exceeded
        assert case.at_least(transitions, Fraction(1, 20)) > Fraction(1, 1000)
    in_zcdp = replace(parameters, selection_accounting="zcdp")
    converted = season(hypotheses, in_zcdp, most, Fraction(1, 20))
    case.holds(transitions, converted.epsilon, converted.delta)


@pytest.mark.long
@pytest.mark.parametrize(("name", "most"), FACTORS)
def test_seasons_cost_at_most_what_they_are_charged(name: str, most: int) -> None:
    check_season(name, most, SHORT, *FACTORS[name, most])


# Every example ends its epoch. Sides are drawn where bottoms cost next to nothing; blocks are
# proposed, and after a bottom a side drawn, where failures are not too unlikely to be seen.
ON_A_PATH = replace(
    CASES["fresh paths"][1], trigger_threshold=-1000, trigger_rate=Fraction(1, 4),
    ladder=(EpochSettings(-1000),),
)  # fmt: skip
BLOCKS_OF_USERS: dict[
    tuple[str, int], tuple[type[OnlineLearner], int, Pattern, float, float]
] = {
    ("sides", 1): (OnAPath, 30, SHORT, 2.7, 0), ("sides", 2): (OnAPath, 30, SHORT, 2.7, 0),
    ("proposals", 1): (LongEpochs, 10, (None, (1, 1, 2), None), 0, 2.73),
    ("proposals", 2): (LongEpochs, 10, (None, (1, 1, 2), None), 0, 2.46),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("name", "most"), BLOCKS_OF_USERS)
def test_seasons_on_a_path_cost_at_most_what_they_are_charged(name: str, most: int) -> None:
    kind, bottom_score, pattern, factor, delta_factor = BLOCKS_OF_USERS[name, most]
    p = replace(
        ON_A_PATH, bottom_score=bottom_score, calls_max=len(pattern), user_examples_max=most
    )
    plan = stream_of(VariantPlan("l", PREFIXES, p, Words(), kind))
    case = Case(plan, turns_of(pattern), factor, delta_factor)
    transitions = case.check()
    in_zcdp = replace(p, selection_accounting="zcdp")
    converted = stream_of(
        VariantPlan("l", PREFIXES, in_zcdp, Words(), kind), delta_z=Fraction(1, 20)
    )
    case.holds(transitions, converted.epsilon, converted.delta)


# No rule around the point 0 fits two others: one user says so, and who is protected may.
TOGETHER = (
    Turn((example(0, 1, 2),)), *[Turn((example(3, 0, 3),))] * 3, Turn((example(1, 1, 4),)),
    Turn((example(2, 1, 4),)), of_user((1, 2)), of_user((1, 2)),
)  # fmt: skip


@pytest.mark.parametrize(("most", "factor", "delta_factor"), [(1, 6, 2.08), (2, 20, 4.15)])
def test_who_starts_over_together_costs_at_most_what_is_charged(
    most: int, factor: float, delta_factor: float
) -> None:
    """One proposal of a user with all examples that are kept of them."""
    parameters = replace(
        SCHEDULED, selection="closure", bottom_score=3, horizon=9, calls_max=4, starts_over=True,
        starts_over_together=True,
    )  # fmt: skip
    plan = season(class_from_name("affine:2:1"), parameters, most)
    Case(plan, TOGETHER, factor, delta_factor).check()


@pytest.mark.campaign
@pytest.mark.parametrize("pattern", LONG)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_longer_seasons_cost_at_most_what_they_are_charged(
    name: str, most: int, pattern: Pattern
) -> None:
    check_season(name, most, pattern)


@pytest.mark.parametrize("name", ["closures of teachers", "fresh closures", "essential lists"])
def test_another_user_in_the_place_of_one_is_like_other_examples_of_theirs(name: str) -> None:
    """The coupling of the proof: the two of them exchange their secret words."""
    transitions = Case(season(*CASES[name], 2), (), 0).transitions()
    first, third = example(1, 1, 2), example(0, 1, 2)
    for contents in list(product(range(2), (0, 1), range(2), (0, 1)))[::5]:
        here, there = (
            [example(*contents[:2], user), first, example(*contents[2:], user), third]
            for user in (USER, OTHER_USER)
        )
        assert transcripts(transitions, here) == transcripts(transitions, there)


# Of all orders of the Renyi divergence, by what factor the claim exceeds the truth at the best. The
# pure price of a trigger is claimed at every order.
ORDERS = (1.001, 1.5, 2.0, 4.0, 16.0)
RARELY = replace(COUNTING, selection_rate=Fraction(1, 4))
EACH = replace(CASES["scheduled rules"][1], selection_rate=Fraction(1, 4))
RENYI: dict[str, tuple[OnlineParameters, int, Pattern, float]] = {
    "one call": (RARELY, 1, (None, (0, 1, 2), (1, 0, 3), (1, 0, 4)), 1.02),
    "one call, two examples": (RARELY, 2, (None, None, (0, 1, 2), (1, 0, 3)), 1.02),
    "fresh calls": (EACH, 1, (None, (1, 1, 2), None), 1.01),
    "scheduled rules": (CASES["scheduled rules"][1], 2, (None, (1, 1, 2), None), 4.86),
    "rules by mistakes": (CASES["rules by mistakes"][1], 2, SHORT, 7.98),
}


@pytest.mark.parametrize("name", RENYI)
def test_renyi_divergences_of_dense_seasons_are_within_rho(name: str) -> None:
    """Without a failure mass every order can be looked at, over all fresh selections at once."""
    parameters, most, pattern, factor = RENYI[name]
    in_zcdp = replace(parameters, selection_accounting="zcdp")
    case = Case(season(Thresholds(3), in_zcdp, most, Fraction(1, 20)), turns_of(pattern), 0)
    factors = case.orders(case.transitions(), ORDERS)
    assert 1 - 1e-9 <= min(factors) <= factor


# --- prices are hardly more than they must be -----------------------------------------------------

# The user's mistake may come before others' chances to fire, or after them.
AROUND: Pattern = (None, (0, 0, 2), (0, 0, 2), (0, 0, 3), (0, 0, 3), None)
FIRES = replace(TRIGGERED, calls_max=0)


def test_a_trigger_costs_nearly_twice_its_rate() -> None:
    Case(season(Sets(1), FIRES), turns_of(AROUND, points=1), 1.05).check()
    caps = [season(Sets(1), FIRES, most).caps.epsilon_pure for most in (1, None)]
    assert caps == [2 * FIRES.trigger_rate, FIRES.trigger_rate]


def test_a_trigger_of_two_rates_costs_nearly_their_sum() -> None:
    fires = replace(FIRES, **SPLIT)
    Case(season(Sets(1), fires), turns_of(AROUND, points=1), 1.01).check()
    assert season(Sets(1), fires, 3).caps.epsilon_pure == 3 * sum(SPLIT.values())
    equal = replace(fires, threshold_rate=fires.trigger_rate)
    plain = replace(fires, threshold_rate=None)
    assert season(Sets(1), equal, 3).caps == season(Sets(1), plain, 3).caps


TIGHT: dict[str, tuple[Any, OnlineParameters, Pattern, float]] = {
    "a histogram with vetoes": (
        Sets(1), replace(VETOING, bottom_score=3), (None, (1, 1, 2), None, (1, 1, 3)), 1.01
    ),
    "rules": (Thresholds(3), COUNTING, (None, (0, 1, 2), (1, 0, 3), (1, 0, 4)), 1.11),
    "proposals": (
        PREFIXES, replace(PROPOSING, bottom_score=4), (None, (1, 1, 2), None, (1, 1, 3)), 1.11
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIGHT)
def test_a_selection_costs_nearly_what_it_is_charged(name: str) -> None:
    hypotheses, parameters, pattern, factor = TIGHT[name]
    Case(season(hypotheses, parameters), turns_of(pattern), factor).check()


@pytest.mark.parametrize("most", [1, 2])
def test_the_failure_of_a_histogram_is_what_it_is_charged(most: int) -> None:
    """All of a user's votes for an id that nobody else votes for."""
    plan = season(Sets(1), replace(VETOING, bottom_score=3), most)
    Case(plan, turns_of((None, None, None, (1, 1, 2))), 0, 1.001).check()


# The user's example is in the first epoch on one side, and in the second one on the other.
FRESH: dict[str, tuple[Any, OnlineParameters, int, Pattern]] = {
    "proposals": (PREFIXES, replace(SCHEDULED, selection="sparse", list_cap=2), 1, SHORT),
    "proposals, two examples": (
        PREFIXES, replace(SCHEDULED, selection="sparse", list_cap=2, bottom_score=6), 2,
        (None, (1, 1, 2), None, None),
    ),
    "histograms": (Sets(1), SCHEDULED, 1, SHORT),
    "histograms, two examples": (
        Sets(1), replace(SCHEDULED, bottom_score=6), 2, (None, (1, 1, 2), None, None)
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.campaign if "two" in each else ()) for each in FRESH],
)
def test_fresh_lists_fail_no_more_than_one_selection_does(name: str) -> None:
    """They are charged two failures, one for either side; no adversary has any use for both."""
    hypotheses, parameters, most, pattern = FRESH[name]
    plan = season(hypotheses, parameters, most)
    case = Case(plan, turns_of(pattern), 0, 2.01)
    case.holds(case.check(), plan.epsilon, plan.delta / 2)


# --- examples that are held back for later calls --------------------------------------------------


# Every example ends its epoch, and its word says whether it is held back: not, or in which slot.
HALF = 1 << 63
POOLED = replace(
    TRIGGERED, selection="dense", buffer="both", background_max=1, fresh=True, calls_max=4,
    trigger_threshold=-1000, trigger_rate=Fraction(1, 16), selection_rate=Fraction(2),
    pool=PoolSettings(slots=2, own=0, one_in=2, calls=9, most=1),
)  # fmt: skip
ONE_SLOT = replace(POOLED, pool=PoolSettings(slots=1, own=0, one_in=2, calls=9, most=2))
# Epochs end where mistakes are, and keep these beside one place.
BY_MISTAKES = replace(
    POOLED, trigger_threshold=1, calls_max=2, selection_rate=Fraction(3, 4), **SPLIT,
    pool=PoolSettings(slots=1, own=0, one_in=2, calls=9, most=2),
)  # fmt: skip
# Plans, c, what comes with which words, and by what factor epsilon may exceed the truth.
POOLS: dict[str, tuple[OnlineParameters, int, Pattern, tuple[int, ...], float]] = {
    # held back for the call after the next, or for the next, and once in an epoch of its own
    "two slots": (POOLED, 1, (None, (1, 1, 2), None), (HALF + 1, 0, 0), 1.25),
    "two calls of one slot": (ONE_SLOT, 1, (None, (1, 1, 2), None), (HALF, 0, HALF), 1.48),
    "two of a user": (POOLED, 2, (None, (1, 1, 2), None), (HALF + 1, 0, 0), 1.36),
    # the place of the higher word stays empty, whoever has the lower one
    "ranks": (POOLED, 1, (None, (0, 0, 2), None), (HALF + 1, HALF + 3, 0), 1.48),
    "mistakes": (BY_MISTAKES, 1, (None, (1, 1, 2), None), (HALF, 0, 0), 1.46),
}  # fmt: skip


def pooled(name: str) -> Case:
    parameters, most, pattern, words, factor = POOLS[name]
    return Case(season(Thresholds(3), parameters, most), turns_of(pattern, 2, words), factor)


@pytest.mark.long
@pytest.mark.parametrize("name", POOLS)
def test_seasons_with_a_pool_cost_at_most_what_they_are_charged(name: str) -> None:
    case = pooled(name)
    transitions = case.check()
    parameters, most, *_ = POOLS[name]
    in_zcdp = replace(parameters, selection_accounting="zcdp")
    converted = season(Thresholds(3), in_zcdp, most, Fraction(1, 20))
    case.holds(transitions, converted.epsilon, converted.delta)


def by_point(self: HeldRows, event: Examples, words: Words64, settings: PoolSettings) -> HeldRows:
    """Which examples stay is told by their points as well."""
    return _plus(self, event, words + event.x.astype(np.uint64) * np.uint64(16), settings)


def seen_and_not_counted(self: PooledBuffers, state: OnlineState, place: Place) -> OnlineState:
    """What a call sees of the pool does not count as kept."""
    with pytest.MonkeyPatch.context() as meanwhile:
        meanwhile.setattr(UserCounts, "admitted", lambda _, users, wanted, most: wanted)
        return replace(_recalled(self, state, place), users_kept=state.users_kept)


_plus, _recalled = HeldRows.plus, PooledBuffers.recalled


@pytest.mark.parametrize(
    ("name", "owner", "method", "broken"),
    [
        ("ranks", HeldRows, "plus", None),
        # that faults are noticed is shown by `test_a_cap_that_is_not_kept_is_caught` as well
        pytest.param("ranks", HeldRows, "plus", by_point, marks=pytest.mark.long),
        pytest.param(
            *("two slots", PooledBuffers, "recalled", seen_and_not_counted), marks=pytest.mark.long
        ),
    ],
)
def test_a_pool_that_forgets_a_part_of_the_proof_is_caught(
    name: str, owner: type, method: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(owner, method, broken)
    assert pooled(name).exceeds() == (broken is not None)


# --- variants that must be caught -----------------------------------------------------------------


def exceeded(
    plan: StreamPlan, pattern: Pattern, points: int = 2, priorities: tuple[int, ...] = (0,) * 9
) -> bool:
    return Case(plan, turns_of(pattern, points, priorities), 0).exceeds()


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("name", ["rules", "histogram", "fires"])
def test_a_cap_that_is_not_kept_is_caught(
    name: str, broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(UserCounts, "admitted", lambda _, users, wanted, most: wanted)
    hypotheses, parameters, pattern = {
        "rules": (Thresholds(3), COUNTING, (None, None, None, (1, 0, 2))),
        "histogram": (Sets(1), replace(VETOING, bottom_score=4), (None, None, None, (1, 0, 2))),
        "fires": (Sets(1), replace(FIRES, trigger_threshold=4), (None,) * 6),
    }[name]
    plan = season(hypotheses, parameters)
    assert exceeded(plan, pattern, points=1 if name == "fires" else 2) == broken


def words_of_positions(self: Buffers, state: OnlineState, noise: LearnerNoise) -> OnlineState:
    """The example-level way: each kept example has a word of its own."""
    last = state.archive[-1]
    last = replace(last, teacher=np.arange(len(last), dtype=np.uint64))
    return replace(state, archive=(*state.archive[:-1], last))


@pytest.mark.parametrize("broken", [False, True])
def test_teachers_by_position_instead_of_user_are_caught(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(Buffers, "with_user_words", words_of_positions)
    plan = season(Cubes(2), CLOSING, 2)
    assert exceeded(plan, (None, None, (1, 1, 2), (1, 1, 4))) == broken


def without_the_full(self: Buffers, state: OnlineState) -> OnlineState:
    """The background chosen among the examples that are within their users' caps."""
    counts, most = state.users_kept, self.parameters.user_examples_max
    assert state.buffer is not None
    buffer = state.buffer.joined()
    assert buffer.users is not None
    assert counts is not None
    assert most is not None
    within = counts.admitted(buffer.users, ~buffer.mistake, most) | buffer.mistake
    return _closed(self, replace(state, buffer=buffer.take(within)))


_closed: Callable[[Buffers, OnlineState], OnlineState] = Buffers.closed


@pytest.mark.parametrize("broken", [False, True])
def test_a_place_that_is_given_to_somebody_else_is_caught(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's mistake uses up the cap, so that the place at the end would fall to user 6."""
    if broken:
        monkeypatch.setattr(Buffers, "closed", without_the_full)
    plan = season(
        Sets(1),
        replace(
            VETOING, background_max=1, bottom_score=3, selection_rate=Fraction(1), schedule_first=7
        ),
    )
    others = ((0, 1, 2), (0, 1, 3), (1, 1, 4), (1, 1, 5), (1, 0, 6))
    assert exceeded(plan, (None, *others, None), priorities=(5, 6, 7, 8, 9, 2, 1)) == broken


@pytest.mark.parametrize("name", ["fires", "rules", "histogram", "fresh closures"])
def test_the_price_of_an_example_is_not_enough_for_a_user(name: str) -> None:
    """Nor, where calls are fresh, what one call costs: a user's examples are in several epochs."""
    hypotheses, parameters, most, pattern = {
        "fires": (Sets(1), FIRES, 1, AROUND),
        "rules": (Thresholds(3), COUNTING, 2, (None, None, (0, 1, 2), (1, 0, 3))),
        "histogram": (Sets(1), replace(VETOING, bottom_score=3), 2, (None, None, None, (1, 1, 2))),
        "fresh closures": (
            Cubes(2), replace(CLOSING, schedule_first=1, calls_max=3, bottom_score=2), 2,
            (None, (0, 0, 2), (0, 0, 3), None),
        ),
    }[name]  # fmt: skip
    plan, less = (season(hypotheses, parameters, each) for each in (most, None))
    case = Case(plan, turns_of(pattern, 1 if name == "fires" else 2), 0)
    transitions = case.check()
    assert case.at_least(transitions, less.epsilon) > less.delta + Fraction(1, 1000)


def test_fresh_closures_are_charged_for_each_epoch_of_a_user() -> None:
    parameters = replace(CLOSING, schedule_first=1, calls_max=3)
    one, all_of_them = (season(Cubes(2), parameters, each).caps for each in (None, 2))
    assert all_of_them.epsilon_pure == 3 * one.epsilon_pure


@pytest.mark.parametrize("broken", [False, True])
def test_noise_of_the_steps_on_a_threshold_that_is_charged_for_another_is_caught(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        of_steps = property(lambda self: DiscreteLaplace(self.rate))
        monkeypatch.setattr(AboveThreshold, "threshold_law", of_steps)
    assert exceeded(season(Sets(1), replace(FIRES, **SPLIT)), AROUND, points=1) == broken


# --- noise that is held ---------------------------------------------------------------------------


class TriedNoise(AboveThresholdTrigger):
    """Draws its threshold's noise in a way that makes the enumeration try every value of it."""

    def threshold_noise(self, place: Place, noise: LearnerNoise) -> int:
        address = noise.address(place, "trigger-threshold")
        words = noise.source.words(address, DiscreteLaplace.WORDS)
        return self.test.threshold_law.sample(words)


class TriedThreshold(OnlineLearner):
    """Has such a trigger."""

    @cached_property
    def _trigger(self) -> TriedNoise:
        return TriedNoise(self.parameters)


def test_noise_that_is_held_has_the_law_of_noise_that_is_tried() -> None:
    hypotheses, parameters = CASES["histograms"]
    held = season(hypotheses, replace(parameters, trigger_rate=Fraction(3)))
    (plan,) = held.of(OnlinePlan)
    words = VariantPlan("l", hypotheses, plan.parameters, Words(), TriedThreshold)
    cases = [Case(each, turns_of(SHORT), 0, 0, 5) for each in (held, stream_of(words))]
    found = [each.at_most(each.transitions(), held.epsilon / 8) for each in cases]
    assert found[0] > Fraction(1, 100)
    assert abs(found[0] - found[1]) < Fraction(1, 1 << 100)


# --- what is refused ------------------------------------------------------------------------------


def test_examples_without_users_are_refused_where_users_are_protected() -> None:
    point, label = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
    users: Users = np.zeros((1, 2), dtype=np.uint64)
    for most, given in ((1, None), (None, users)):
        learner = OnlineLearner("s/l", Sets(1), replace(TRIGGERED, user_examples_max=most))
        with pytest.raises(ValueError, match="with their users where users are protected"):
            learner.step(
                learner.initial(), Examples(Place(HEAD, 0, 0), point, label, given), TapeNoise()
            )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"user_examples_max": None}, "is for streams that protect users"),
        ({"threshold_rate": Fraction(0)}, "must be above 0"),
        ({"schedule_first": 4, "fresh": True, "trigger_rate": Fraction(0)}, "has no trigger"),
    ],
)
def test_a_rate_of_the_threshold_needs_a_trigger_and_users(changes: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(TRIGGERED, **{**SPLIT, **changes})


def test_plans_are_stored_with_a_rate_of_the_threshold_only_where_they_have_one() -> None:
    split = replace(TRIGGERED, **SPLIT)
    assert split.to_dict()["threshold_rate"] == "1/2"
    assert "threshold_rate" not in TRIGGERED.to_dict()
    for parameters in (split, TRIGGERED):
        assert OnlineParameters.from_dict(parameters.to_dict()) == parameters


def test_tests_with_fresh_noise_are_not_for_users() -> None:
    with pytest.raises(ValueError, match="protect single examples only"):
        replace(TRIGGERED, tests="cohen_lyu", tests_failure=Fraction(1, 20))
