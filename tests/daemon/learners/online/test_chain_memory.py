"""The memory of a chain against plain lists with one entry for each rule."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.learners.online.chain_memory import (
    DIRECT_CALLS_MAX,
    MEDIAN_BITS,
    OFFSET_MAX,
    ChainMemory,
    ChainSettings,
)

SETTINGS = ChainSettings(direct_calls=20, conviction=14, floor=28, median_after=0)
CALLS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def plainly(calls: list[tuple[int, int]], count: int, settings: ChainSettings) -> list[int]:
    """The offset of each rule after these published and drawn ones."""
    offsets = [0] * count
    for published, drawn in calls:
        for rule in range(count):
            above = drawn > published and rule <= published
            below = drawn < published and rule >= published
            offsets[rule] -= settings.conviction * (above or below)
        offsets = [max(offset - max(offsets), -settings.floor) for offset in offsets]
    return offsets


def told(calls: list[tuple[int, int]], count: int, settings: ChainSettings) -> ChainMemory:
    """The memory after these calls."""
    memory = ChainMemory.empty(count)
    for published, drawn in calls:
        memory = memory.convicted(published, drawn, count, settings)
    return memory


def within(calls: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Of rules that there are."""
    return [(published % count, drawn % count) for published, drawn in calls]


@given(count=st.integers(1, 41), calls=CALLS, step=st.integers(0, 30), floor=st.integers(0, 60))
def test_offsets_by_runs_are_those_of_each_rule(
    count: int, calls: list[tuple[int, int]], step: int, floor: int
) -> None:
    settings, calls = ChainSettings(20, step, floor, 0), within(calls, count)
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
    settings = ChainSettings(20, OFFSET_MAX, OFFSET_MAX, 0)
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
        one = Decimal(1 << MEDIAN_BITS)
        weights = [int(one * (per_score * o).exp()) for o in memory.of_each(count).tolist()]
    whole = sum(weights)
    first = next(rule for rule, upto in enumerate(accumulate(weights)) if 2 * upto >= whole)
    assert memory.median(rate, count) == first


def test_rules_whose_weight_is_rounded_to_nothing_are_no_median() -> None:
    memory = ChainMemory(1, (0, 2, 3), (-1000, 0, -1000), 0, 3)
    assert memory.median(Fraction(1), 4) == 2


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
    ("values", "said"),
    [
        ((-1, 0, 0, 0), "direct_calls of a chain must be from 0 to 10,000"),
        ((DIRECT_CALLS_MAX + 1, 0, 0, 0), "direct_calls of a chain must be from 0 to 10,000"),
        ((0, -1, 0, 0), "conviction and floor of a chain must be from 0 to 2^40 scores"),
        ((0, 0, -1, 0), "conviction and floor of a chain must be from 0 to 2^40 scores"),
        ((0, OFFSET_MAX + 1, 0, 0), "conviction and floor of a chain must be from 0"),
        ((0, 0, OFFSET_MAX + 1, 0), "conviction and floor of a chain must be from 0"),
        ((0, 0, 0, -1), "median_after of a chain must not be negative"),
    ],
)
def test_settings_out_of_range_are_refused(values: tuple[int, int, int, int], said: str) -> None:
    assert str(ChainSettings(*values).wrong()).startswith(said)


def test_settings_in_range_are_not() -> None:
    most = ChainSettings(DIRECT_CALLS_MAX, OFFSET_MAX, OFFSET_MAX, 7)
    assert most.wrong() is ChainSettings(0, 0, 0, 0).wrong() is None
