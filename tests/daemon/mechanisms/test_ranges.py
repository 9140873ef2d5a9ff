"""Draws by ranges: their law against fractions, the same as one by one, and what is refused."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.mechanisms.powers import scaled_exponential
from littled.mechanisms.ranges import DOMAIN_BITS_MAX, RangeDraw

F = Fraction


def words(uniform: int, count: int) -> np.ndarray:
    return np.frombuffer(uniform.to_bytes(8 * count, "little"), dtype="<u8").astype(np.uint64)


ranges = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=5)


@given(ranges, st.sampled_from([F(1, 3), F(1), F(5)]))
def test_every_candidate_has_its_share_of_the_uniform_numbers(
    cut: list[tuple[int, int]], rate: Fraction
) -> None:
    cut = [(1, 0), *cut]
    sizes, distances = [size for size, _ in cut], [distance for _, distance in cut]
    draw = RangeDraw(rate, sum(sizes))
    masses = [
        (index, place, draw.weight(distance))
        for index, (size, distance) in enumerate(cut)
        for place in range(size)
    ]
    whole, before, most = sum(mass for *_, mass in masses), 0, 1 << (64 * draw.words)
    for index, place, mass in masses:
        first, last = -(-before * most // whole), -(-(before + mass) * most // whole) - 1
        for uniform in (first, last):
            found = draw.sample(sizes, distances, words(uniform, draw.words))
            assert found == (index, place)
        before += mass


@given(st.integers(0, 400), st.sampled_from([F(1, 7), F(1, 2), F(3)]), st.integers(1, 200))
def test_weights_are_below_the_real_ones_by_less_than_two(
    distance: int, rate: Fraction, bits: int
) -> None:
    draw = RangeDraw(rate, 1 << bits)
    finer = scaled_exponential(rate * distance, draw.weight_bits + 64) if distance else None
    real = F(1 << draw.weight_bits) if finer is None else F(finer, 1 << 64)
    assert 0 <= real - draw.weight(distance) + F(1, 1 << 62) < 2 + F(1, 1 << 60)
    assert draw.weight(0) / 2**draw.weight_bits == 1
    if distance * rate < 20:
        found = draw.weight(distance) / 2**draw.weight_bits
        assert found == pytest.approx(exp(-float(rate * distance)))


def test_what_is_further_behind_than_the_reach_has_no_weight() -> None:
    for rate in (F(1, 2), F(1, 100)):
        draw = RangeDraw(rate, 2**64 + 1)
        assert draw.weight(draw.reach) == 0
        assert draw.weight(draw.reach // 3) > 0


def test_a_huge_range_is_reached_to_both_of_its_ends() -> None:
    draw = RangeDraw(F(1), 1 << 64)
    sizes, distances = [1, (1 << 64) - 1], [0, 0]
    assert draw.sample(sizes, distances, words(0, draw.words)) == (0, 0)
    most = (1 << (64 * draw.words)) - 1
    assert draw.sample(sizes, distances, words(most, draw.words)) == (1, (1 << 64) - 2)


def test_what_is_no_draw_is_refused() -> None:
    draw = RangeDraw(F(1), 3)
    uniform = words(0, draw.words)
    for sizes, distances in (([1], [1]), ([0], [0]), ([4], [0]), ([1, 1], [0])):
        with pytest.raises(ValueError, match=r"distance|domain"):
            draw.sample(sizes, distances, uniform)
    with pytest.raises(ValueError, match="uint64 words"):
        draw.sample([1], [0], uniform[1:])
    for candidates in (0, (1 << DOMAIN_BITS_MAX) + 1):
        with pytest.raises(ValueError, match="candidates"):
            RangeDraw(F(1), candidates)


def test_the_distance_from_the_ideal_law_covers_what_is_lost() -> None:
    """Every candidate loses less than 2 units of a sum of at least one best candidate's."""
    for bits in (1, 8, 64, 512):
        draw = RangeDraw(F(1, 2), 1 << bits)
        lost = F(2 << bits, 1 << draw.weight_bits)
        cut = F(1 << (bits + draw.weight_bits), 1 << (64 * draw.words))
        assert lost + cut <= draw.total_variation()
