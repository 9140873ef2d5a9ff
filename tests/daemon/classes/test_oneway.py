"""One-way sequences as a class: the domain, what examples name, and what one chunk teaches."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.base import ClassError
from littled.classes.oneway import OneWay
from littled.classes.wide import to_ints
from littled_protocol.rules import SequenceRule
from littled_protocol.rules.sequences import leaf_of, point_of
from support.sequences import SEEDS, sequence_point

MALFORMED = (2, *bytes(48))


def column(points: list[tuple[int, ...]]) -> NDArray[np.uint8]:
    return np.array(points, dtype=np.uint8)


def test_lengths_of_indices_that_no_points_have_are_refused() -> None:
    for bits in (0, 129):
        with pytest.raises(ClassError, match="from 1 to 128"):
            OneWay(bits)


def test_points_are_as_long_as_the_design_says() -> None:
    assert [OneWay(bits).point_type for bits in (16, 64, 128)] == [
        "bytes258", "bytes1032", "bytes2064",
    ]  # fmt: skip


def test_the_domain_has_all_indices_of_its_bits_and_any_strings() -> None:
    inside = column([sequence_point(7, 3), (7, *[255] * 48), MALFORMED])
    assert OneWay(3).contains(inside)
    assert OneWay(3).contains(inside[:0])
    assert not OneWay(3).contains(column([(8, *[1] * 48)]))
    assert OneWay(16).contains(np.full((1, 258), 255, dtype=np.uint8))


@pytest.mark.parametrize("bits", [3, 12, 16, 20, 33, 64, 100, 128])
def test_indices_are_read_whatever_their_length(bits: int) -> None:
    wanted = [0, 1, 2**bits - 1, 2**bits // 3]
    rows = b"".join(point_of(index, bytes(16 * bits), bits) for index in wanted)
    x = np.frombuffer(rows, dtype=np.uint8).reshape(4, -1)
    found = OneWay(bits).indices(x)
    assert to_ints(found) == wanted
    assert to_ints(OneWay(bits).indices(x[:0])) == []


def test_examples_name_what_follows_from_their_strings() -> None:
    made = OneWay(3)
    x = column([
        sequence_point(1, 3), sequence_point(2, 3), sequence_point(3, 3), sequence_point(4, 3),
        sequence_point(0, 3, SEEDS[1]), sequence_point(0, 3, SEEDS[1]), MALFORMED,
    ])  # fmt: skip
    own, other = leaf_of(SEEDS[0], 3, 3), leaf_of(SEEDS[1], 3, 3)
    # the point of the index itself has label 1, and so has the bit 1
    wanted = Counter({(own.sigma, own.bit): 2, (other.sigma, other.bit): 2})
    wanted[own.sigma, 1] += 1
    assert made.votes(x, 3) == wanted
    assert made.votes(x[6:], 2) == Counter()
    assert made.votes(x[3:4], 3) == Counter()


def test_a_chunk_teaches_what_follows_from_its_least_index() -> None:
    made = OneWay(8)
    ones = [index for index in range(256) if leaf_of(SEEDS[0], index, 8).bit]
    chunk = ones[3:40:4]
    x = column([*(sequence_point(i, 8) for i in reversed(chunk)), (0, *[0] * 128)])
    rule = made.empirical_rule(x, np.ones(len(x), dtype=np.uint8))
    assert rule == SequenceRule(8, chunk[0], leaf_of(SEEDS[0], chunk[0], 8).sigma, 1)
    later = column([sequence_point(i, 8) for i in range(chunk[0], 256)])
    labels = [leaf_of(SEEDS[0], i, 8).bit for i in range(chunk[0], 256)]
    assert rule.evaluate(later).tolist() == labels
    assert made.empirical_rule(x, np.zeros(len(x), dtype=np.uint8)) == made.first_rule()


def test_no_rule_is_longer_than_the_longest() -> None:
    made = OneWay(9)
    longest = len(made.longest_rule.to_json())
    for index in (0, 1, 511):
        assert (
            len(SequenceRule(9, index, leaf_of(SEEDS[0], index, 9).sigma, 1).to_json()) == longest
        )


def test_points_for_audits_are_formed_and_tell_both_seeds_apart() -> None:
    points = OneWay(3).telling_points
    named = [list(OneWay(3).votes(points[at : at + 1], 1)) for at in range(4)]
    assert all(len(each) == 1 for each in named)
    assert named[0] != named[1]
