"""Labelings by prefixes: many addresses of 128 bits against plain counting."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.prefix_labelings import common_bits, votes_of_nodes
from littled.classes.prefixes import Prefixes
from littled.classes.wide import to_ints
from littled_protocol.rules import PrefixRule
from support.version_spaces import column


def common(addresses: Sequence[int], bits: int) -> int:
    """Leading bits that all these addresses share."""
    return bits - max((address ^ addresses[0]).bit_length() for address in addresses)


addresses_of = st.lists(
    st.one_of(
        st.integers(0, 2**128 - 1),
        st.integers(0, 127).map(lambda bit: 1 << bit),
        st.integers(0, 127).map(lambda bit: (1 << 128) - (1 << bit)),
    ),
    min_size=1,
    max_size=40,
)


@given(addresses=addresses_of, seed=st.integers(0, 100))
def test_candidates_are_nodes_of_the_trie(addresses: list[int], seed: int) -> None:
    hypotheses = Prefixes(128)
    x = column(hypotheses, addresses)
    y = np.random.default_rng(seed).integers(0, 2, size=len(x)).astype(np.uint8)
    subset = np.arange(len(x))[::2]
    found = hypotheses.window(x, y).candidates(subset)
    inside = sorted({addresses[index] for index in subset})
    nodes = {(128, address) for address in inside}
    for pair in pairwise(inside):
        length = common(pair, 128)
        nodes.add((length, pair[0] >> (128 - length)))
    rules = [found.rule(index) for index in range(len(found.scores))]
    assert rules[0] == hypotheses.first_rule()
    expected = {PrefixRule(128, value, length) for length, value in nodes}
    assert set(rules[1:]) == expected
    assert len(rules) == 2 * len(inside) == len(expected) + 1
    for rule, score in zip(rules, found.scores.tolist(), strict=True):
        assert score == (rule.evaluate(x) == y).sum()


@pytest.mark.parametrize("high", [1, 50, 2**63])
def test_large_windows(high: int) -> None:
    generator = np.random.default_rng(high)
    n = 20_000
    words = generator.integers(0, high, size=n), generator.integers(0, 2**62, size=n) >> 10
    x = np.stack(words, axis=1).astype(np.uint64)
    y = generator.integers(0, 2, size=n).astype(np.uint8)
    hypotheses = Prefixes(128)
    window = hypotheses.window(x, y)
    for size in (1, 2, 30, 2000):
        subset = np.sort(generator.choice(n, size=size, replace=False))
        found = window.candidates(subset)
        assert len(found.scores) == 2 * size
        labels = found.labels(x[:1])
        some = {0, 1, size, 2 * size - 1, *generator.integers(0, 2 * size, size=50).tolist()}
        for index in some:
            rule = found.rule(index)
            assert found.scores[index] == (rule.evaluate(x) == y).sum()
            assert labels[index] == rule.evaluate(x[:1])[0]


@given(addresses=addresses_of)
def test_common_bits(addresses: list[int]) -> None:
    ordered = sorted(set(addresses))
    found = common_bits(column(Prefixes(128), ordered), 128)
    assert found.tolist() == [common(pair, 128) for pair in pairwise(ordered)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=1, max_size=30))
def test_votes_of_nodes(items: list[tuple[int, int]]) -> None:
    depths, votes = np.array(items, dtype=np.int64).T
    depths = depths[1:]
    expected = []
    for node, depth in enumerate(depths.tolist()):
        first, last = node, node + 1
        while first and depths[first - 1] >= depth:
            first -= 1
        while last < len(depths) and depths[last] >= depth:
            last += 1
        expected.append(int(votes[first : last + 1].sum()))
    assert votes_of_nodes(depths, votes).tolist() == expected


def test_chunks_learn_the_block_that_their_labels_come_from() -> None:
    generator = np.random.default_rng(3)
    words = generator.integers(0, 8, size=3000), generator.integers(0, 2**62, size=3000)
    x = np.stack(words, axis=1).astype(np.uint64)
    target = PrefixRule(128, 5, 64)
    numbers = np.arange(3000) % 10
    rules = Prefixes(128).empirical_rules(x, target.evaluate(x), numbers, 11)
    assert rules[10] == Prefixes(128).first_rule()
    for rule in rules[:10]:
        assert isinstance(rule, PrefixRule)
        assert rule.length is not None
        assert rule.length >= 64
        assert rule.value >> (rule.length - 64) == 5
        assert (rule.evaluate(x) == target.evaluate(x)).mean() > 0.95
    held = to_ints(x[target.evaluate(x) == 1])
    whole = Prefixes(128).empirical_rule(x, target.evaluate(x))
    length = common(held, 128)
    assert whole == PrefixRule(128, held[0] >> (128 - length), length)
