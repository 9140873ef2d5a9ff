"""Version spaces of prefixes against explicit classes."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from littled.classes.base import ClassError
from littled.classes.prefix_spaces import NOWHERE
from littled.classes.prefixes import Prefixes
from littled.littlestone import littlestone_dimension
from littled_protocol.rules import PrefixRule
from oracle.classes import prefixes
from oracle.classes.spaces import solved
from support.version_spaces import (
    Part,
    all_blocks,
    check_dimension_and_soa,
    data_set,
    essential,
    listed,
    parts_of,
    restricted,
    tolerances,
)

WIDE = Prefixes(128)


MATRICES = {bits: all_blocks(bits) for bits in range(1, 6)}


def space(hypotheses: Prefixes, parts: list[Part], tolerance: Fraction) -> Any:
    return solved(hypotheses, [data_set(hypotheses, part) for part in parts], tolerance)


def labelled(block: int, points: list[int], flips: list[bool]) -> Part:
    """What a block of 4 bits (or nothing) says, with some labels wrong."""
    row = MATRICES[4][block]
    return [(x, int(row[x]) ^ flip) for x, flip in zip(points, flips, strict=False)]


@given(bits=st.integers(1, 2), parts=parts_of(2), tolerance=tolerances())
def test_dimension_and_soa_of_few_bits(bits: int, parts: list[Part], tolerance: Fraction) -> None:
    check_dimension_and_soa(Prefixes(bits), MATRICES[bits], parts, tolerance)


@pytest.mark.no_cover
@settings(max_examples=200)
@given(parts=parts_of(8), tolerance=tolerances())
def test_dimension_and_soa(parts: list[Part], tolerance: Fraction) -> None:
    check_dimension_and_soa(Prefixes(3), MATRICES[3], parts, tolerance)


@given(
    block=st.integers(0, 31),
    points=st.lists(st.integers(0, 15), max_size=8),
    flips=st.lists(st.integers(0, 7).map(lambda x: x == 0), min_size=8, max_size=8),
    tolerance=tolerances(),
)
def test_dimension_and_soa_of_one_block_with_noise(
    block: int, points: list[int], flips: list[bool], tolerance: Fraction
) -> None:
    parts = [labelled(block, points, flips)]
    check_dimension_and_soa(Prefixes(4), MATRICES[4], parts, tolerance)


@given(parts=parts_of(8), tolerance=tolerances(), more=st.integers(0, 3))
def test_essential_lists_without_the_constant_0(
    parts: list[Part], tolerance: Fraction, more: int
) -> None:
    rows = restricted(MATRICES[3], parts, tolerance)
    found = listed(Prefixes(3), parts, tolerance, 8)
    assert bool(found) == bool(len(rows))
    if len(rows) and rows.any(axis=1).all():
        d = littlestone_dimension(rows)
        assert found == essential(rows, max(len(rows) - 1, 1) + more, max(d, 1))


@pytest.mark.no_cover
@settings(max_examples=40)
@given(
    first=st.integers(0, 7),
    second=st.integers(8, 15),
    others=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 1)), max_size=3),
    tolerance=st.sampled_from([Fraction(0), Fraction(1, 4)]),
)
def test_the_constant_0_is_the_only_essential_hypothesis(
    first: int, second: int, others: Part, tolerance: Fraction
) -> None:
    part = [(first, 0), (second, 0), *others]
    rows = restricted(MATRICES[4], [part], tolerance)
    assume(len(rows) and not rows.any(axis=1).all())
    d = littlestone_dimension(rows)
    assume(3 * 2**d < 16 - len({point for point, _ in part}))
    assert listed(Prefixes(4), [part], tolerance, 16) == essential(rows, 3, d) == [(False,) * 16]


def test_no_errors_on_wide_addresses() -> None:
    block = 0x20010DB8 << 96
    part = [(block | 1, 1), (block | 1 << 80, 1), (block ^ 1 << 100, 0)]
    found = space(WIDE, [part], Fraction(0))
    # the positives share 47 bits, the negative 27: lengths 28..47
    assert found.littlestone_dimension == 4
    assert found.essential(100) == [(n, block >> (128 - n)) for n in range(28, 48)]
    assert found.essential(2) == [(28, block >> 100), (38, block >> 90)]
    soa = found.standard_optimal_rule()
    assert soa == PrefixRule(bits=128, value=block >> 96, length=32)


@pytest.mark.parametrize(
    ("part", "dimension", "length"),
    [([], 8, None), ([(0, 0)], 8, 1), ([(0, 0), (1 << 127, 0)], 7, None)],
)
def test_no_positive_examples_on_wide_addresses(
    part: Part, dimension: int, length: int | None
) -> None:
    found = space(WIDE, [part], Fraction(0))
    assert found.littlestone_dimension == dimension
    assert found.essential(10) == [NOWHERE]
    soa = found.standard_optimal_rule()
    assert isinstance(soa, PrefixRule)
    assert soa.length == length


def test_an_empty_version_space() -> None:
    found = space(WIDE, [[(3, 1), (3, 0)]], Fraction(0))
    assert found.littlestone_dimension == -1
    assert found.essential(10) == []
    with pytest.raises(ClassError, match="empty version space"):
        found.standard_optimal_rule()


def test_an_soa_of_several_blocks_is_a_majority() -> None:
    part = [(0, 1), (7, 1), (3, 0), (4, 0)]
    found = space(Prefixes(3), [part], Fraction(1, 4))
    soa = found.standard_optimal_rule()
    assert soa.kind == "majority"
    x, _ = data_set(Prefixes(3), [(point, 0) for point in range(8)])
    assert np.flatnonzero(soa.evaluate(x)).tolist() == [0, 1, 6, 7]


@pytest.mark.parametrize("limit", ["BLOCKS_MAX", "PARTS_MAX", "SMALL_BITS_MAX"])
@given(parts=parts_of(8), tolerance=tolerances())
def test_beyond_a_limit_the_dimension_is_an_upper_bound(
    limit: str, parts: list[Part], tolerance: Fraction
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefixes, limit, 0)
        found = space(Prefixes(3), parts, tolerance)
        bound = found.littlestone_dimension
        if bound >= 0:
            found.standard_optimal_rule()
    assert littlestone_dimension(restricted(MATRICES[3], parts, tolerance)) <= bound <= 3


def test_many_examples_end_in_time() -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(0, 2**63, (50_000, 2), dtype=np.uint64)
    y = np.zeros(len(x), dtype=np.uint8)
    y[:5001] = 1
    keys = WIDE.essential_list([(x, y)], Fraction(1, 10), 1000)
    assert len(set(keys)) == len(keys) == 1000
    y[:5000] = 0
    assert WIDE.essential_list([(x, y)], Fraction(1, 10), 1000) == [NOWHERE]
