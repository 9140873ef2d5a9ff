"""The memory of a chain against plain lists with one entry for each rule."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.learners.online.chain_memory import (
    DIRECT_CALLS_MAX,
    OFFSET_MAX,
    WEIGHT_BITS,
    ChainMemory,
    ChainSettings,
    Weights,
)

SETTINGS = ChainSettings(
    direct_calls=20, evidence=14, fading=0, full_length=1000, floor=28, median_after=0
)
CALLS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def plainly(calls: list[tuple[int, int]], count: int, settings: ChainSettings) -> list[int]:
    """The offset of each rule after these published and drawn ones."""
    offsets = [0] * count
    for published, drawn in calls:
        for rule in range(count):
            above = drawn > published and rule <= published
            below = drawn < published and rule >= published
            offsets[rule] -= settings.evidence * (above or below)
        offsets = [max(offset - max(offsets), -settings.floor) for offset in offsets]
    return offsets


def told(calls: list[tuple[int, int]], count: int, settings: ChainSettings) -> ChainMemory:
    """The memory after these calls."""
    memory = ChainMemory.empty(count)
    for published, drawn in calls:
        if drawn != published:
            memory = memory.convicted(
                published, settings.evidence, count, too_low=drawn > published, floor=settings.floor
            )
    return memory


def within(calls: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Of rules that there are."""
    return [(published % count, drawn % count) for published, drawn in calls]


@given(count=st.integers(1, 41), calls=CALLS, step=st.integers(0, 30), floor=st.integers(0, 60))
def test_offsets_by_runs_are_those_of_each_rule(
    count: int, calls: list[tuple[int, int]], step: int, floor: int
) -> None:
    settings, calls = ChainSettings(20, step, 0, 1000, floor, 0), within(calls, count)
    memory = told(calls, count, settings)
    assert memory.of_each(count).tolist() == plainly(calls, count, settings)
    assert memory.of_each(count).dtype == np.int64
    assert memory.starts[0] == 0
    assert list(memory.starts) == sorted(set(memory.starts))
    assert all(a != b for a, b in zip(memory.offsets, memory.offsets[1:], strict=False))
    assert max(memory.offsets) == 0
    assert min(memory.offsets) >= -floor
    assert len(memory.starts) <= len(calls) + 1


def test_the_largest_offsets_stay_in_range() -> None:
    settings = ChainSettings(20, OFFSET_MAX, 0, 1000, OFFSET_MAX, 0)
    memory = told([(1, 2)] * 9, 4, settings)
    assert memory.of_each(4).tolist() == [-OFFSET_MAX, -OFFSET_MAX, 0, 0]


@given(
    count=st.integers(1, 41),
    calls=CALLS,
    rate=st.fractions(Fraction(1, 50), Fraction(2), max_denominator=50),
)
def test_the_median_is_the_first_rule_with_half_of_the_weight(
    count: int, calls: list[tuple[int, int]], rate: Fraction
) -> None:
    memory = told(within(calls, count), count, SETTINGS)
    with localcontext() as context:
        context.prec = 80
        per_score = Decimal(rate.numerator) / Decimal(rate.denominator)
        one = Decimal(1 << WEIGHT_BITS)
        weights = [int(one * (per_score * o).exp()) for o in memory.of_each(count).tolist()]
    whole = sum(weights)
    first = next(rule for rule, upto in enumerate(accumulate(weights)) if 2 * upto >= whole)
    assert memory.median(Weights(rate), count) == first


def test_rules_whose_weight_is_rounded_to_nothing_are_no_median() -> None:
    memory = ChainMemory(1, (0, 2, 3), (-1000, 0, -1000), 0, 3)
    assert memory.median(Weights(Fraction(1)), 4) == 2


@given(count=st.integers(1, 41), sides=st.lists(st.booleans(), max_size=8))
def test_an_interval_is_halved_until_nothing_is_left(count: int, sides: list[bool]) -> None:
    """In as many calls as the number of rules has bits, if its middle is published."""
    memory, left = ChainMemory.empty(count), [*range(count)]
    for call, too_low in enumerate(sides):
        assert (memory.low, memory.high) == (left[0], left[-1])
        middle = memory.middle
        assert middle == left[(len(left) - 1) // 2]
        left = [rule for rule in left if (rule > middle if too_low else rule < middle)]
        memory = memory.halved(middle, too_low=too_low)
        if not left:
            assert memory.low > memory.high
            assert call < count.bit_length()
            return
    assert len(sides) < count.bit_length()


@given(
    low=st.integers(0, 9), width=st.integers(0, 9), published=st.integers(0, 20), up=st.booleans()
)
def test_an_interval_never_grows(low: int, width: int, published: int, up: bool) -> None:
    """Also where the published rule is outside, as a contradiction or an old season leaves it."""
    before = ChainMemory(3, (0,), (0,), low, low + width)
    after = before.halved(published, too_low=up)
    rules = [*range(before.low, before.high + 1)]
    assert [*range(after.low, after.high + 1)] == [
        rule for rule in rules if (rule > published if up else rule < published)
    ]


def test_fires_are_counted() -> None:
    assert ChainMemory.empty(5).fired().fired() == ChainMemory(2, (0,), (0,), 0, 4)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"direct_calls": -1}, "direct_calls of a chain must be from 0 to 10,000"),
        ({"direct_calls": DIRECT_CALLS_MAX + 1}, "direct_calls of a chain must be from 0 to"),
        ({"evidence": -1}, "evidence, fading and floor of a chain must be from 0 to 2^40 scores"),
        ({"fading": -1}, "evidence, fading and floor of a chain must be from 0 to 2^40 scores"),
        ({"floor": OFFSET_MAX + 1}, "evidence, fading and floor of a chain must be from 0 to"),
        ({"evidence": OFFSET_MAX + 1}, "evidence, fading and floor of a chain must be from 0 to"),
        ({"full_length": 0}, "full_length of a chain must be from 1 to 2^40 examples"),
        ({"median_after": -1}, "median_after of a chain must not be negative"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, int], said: str) -> None:
    assert str(replace(SETTINGS, **changes).wrong()).startswith(said)


def test_settings_in_range_are_not() -> None:
    far = ChainSettings(DIRECT_CALLS_MAX, OFFSET_MAX, OFFSET_MAX, OFFSET_MAX, OFFSET_MAX, 7)
    assert far.wrong() is ChainSettings(0, 0, 0, 1, 0, 0).wrong() is None


def test_evidence_fades_with_every_doubling_of_a_long_epoch() -> None:
    fading = replace(SETTINGS, evidence=9, fading=4, full_length=100)
    told = [fading.evidence_after(length) for length in (1, 99, 100, 199, 200, 400, 10**6)]
    assert told == [9, 9, 5, 5, 1, 0, 0]


def test_medians_are_for_short_epochs_after_some_calls() -> None:
    some = replace(SETTINGS, full_length=100, median_after=4)
    assert [some.is_median(fires, 100) for fires in (3, 4, 9)] == [False, True, True]
    assert not some.is_median(9, 101)
    assert not SETTINGS.is_median(9, 1)


SOME = st.lists(st.integers(-40, 0), min_size=1, max_size=9)


@given(side=SOME, other=SOME, rate=st.fractions(Fraction(1, 9), Fraction(2), max_denominator=9))
def test_a_lead_is_the_logarithm_of_two_weights_in_scores(
    side: list[int], other: list[int], rate: Fraction
) -> None:
    weights = Weights(rate)
    lead = weights.lead(np.array(side, dtype=np.int64), np.array(other, dtype=np.int64))
    reach = 40 * log(2) / float(rate)  # beyond, weights are rounded to nothing
    more, less = (sum(exp(float(rate) * o) for o in offsets) for offsets in (side, other))
    exact = log(more / less) / float(rate)
    if max(map(abs, (*side, *other))) < reach / 2:
        assert abs(lead) <= abs(exact) + 1e-3
        assert abs(lead) >= abs(exact) - 1 - 1e-3
        assert lead * exact >= 0


@given(
    count=st.integers(2, 41),
    calls=CALLS,
    places=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    evidence=st.integers(0, 30),
)
def test_a_draw_says_at_most_twice_its_evidence_and_the_same_from_either_end(
    count: int, calls: list[tuple[int, int]], places: tuple[int, int], evidence: int
) -> None:
    weights, ((published, drawn),) = Weights(Fraction(1, 4)), within([places], count)
    if published == drawn:
        drawn = (published + 1) % count
    there = within(calls, count)
    back = [(count - 1 - a, count - 1 - b) for a, b in there]
    found = told(there, count, SETTINGS).likelihood(published, drawn, count, evidence, weights)
    mirrored = told(back, count, SETTINGS).likelihood(
        count - 1 - published, count - 1 - drawn, count, evidence, weights
    )
    assert 0 <= found == mirrored <= 2 * evidence


def test_a_draw_of_a_side_that_outweighed_the_other_says_nothing() -> None:
    weights, memory = Weights(Fraction(1, 4)), ChainMemory.empty(9)
    for drawn, least in ((8, 14 - 8), (1, 0)):
        assert memory.likelihood(0, drawn, 9, 14, weights) >= least
    assert memory.likelihood(0, 1, 9, 14, weights) < memory.likelihood(0, 8, 9, 14, weights)
    sure = memory.convicted(3, 28, 9, too_low=True, floor=28)
    assert sure.likelihood(3, 8, 9, 14, weights) == 0
    assert sure.likelihood(4, 0, 9, 14, weights) == 28
