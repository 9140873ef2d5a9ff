"""Wide ids as two words: conversions, counting, the width check."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.wide import (
    as_pairs,
    bit_length,
    evidence,
    fits_bits,
    ranked,
    starts_of_runs,
    tally,
    to_int,
    to_ints,
)

WORD = 2**64 - 1
# Ids that often agree in one of their words.
words = st.sampled_from([0, 1, 7, WORD])
wide_ids = st.builds(lambda high, low: high << 64 | low, words, words)


def pairs(ids: list[int]) -> NDArray[np.uint64]:
    return np.array([[i >> 64, i & WORD] for i in ids], dtype=np.uint64).reshape(-1, 2)


@given(ids=st.lists(wide_ids))
def test_integers_survive_the_way_through_words(ids: list[int]) -> None:
    assert to_ints(pairs(ids)) == [to_int(pair) for pair in pairs(ids)] == ids


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_narrow_columns_become_pairs(dtype: Any) -> None:
    column = np.array([0, 5, np.iinfo(dtype).max], dtype=dtype)
    assert to_ints(as_pairs(column)) == to_ints(column) == column.tolist()
    assert as_pairs(column).dtype == np.uint64


@given(examples=st.lists(st.tuples(wide_ids, st.integers(0, 1))), narrow=st.booleans())
def test_tally_counts_both_labels_of_every_id_in_rising_order(
    examples: list[tuple[int, int]], narrow: bool
) -> None:
    ids = [i % 256 if narrow else i for i, _ in examples]
    y = np.array([label for _, label in examples], dtype=np.uint8)
    counts = tally(np.array(ids, dtype=np.uint8) if narrow else pairs(ids), y)
    expected = Counter(zip(ids, y.tolist(), strict=True))
    assert to_ints(counts.ids) == sorted(set(ids))
    assert counts.positive.tolist() == [expected[i, 1] for i in sorted(set(ids))]
    assert counts.negative.tolist() == [expected[i, 0] for i in sorted(set(ids))]
    assert counts.positive.dtype == counts.negative.dtype == np.int64


@given(ids=st.lists(wide_ids), narrow=st.booleans())
def test_ranks_of_ids(ids: list[int], narrow: bool) -> None:
    ids = [i % 256 if narrow else i for i in ids]
    found, ranks = ranked(np.array(ids, dtype=np.uint8) if narrow else pairs(ids))
    assert to_ints(found) == sorted(set(ids))
    assert ranks.tolist() == [sorted(set(ids)).index(i) for i in ids]
    assert ranks.dtype == np.int64


@given(numbers=st.lists(st.integers(0, WORD) | st.integers(0, 64).map(lambda n: WORD >> n)))
def test_bit_lengths(numbers: list[int]) -> None:
    found = bit_length(np.array(numbers, dtype=np.uint64))
    assert found.tolist() == [number.bit_length() for number in numbers]


def test_tally_of_many_wide_ids() -> None:
    generator = np.random.default_rng(1)
    high = generator.integers(0, 50, 20_000, dtype=np.uint64)
    ids = np.column_stack((high, generator.integers(0, 2**63, 20_000, dtype=np.uint64)))
    ids[10_000:] = ids[:10_000]
    counts = tally(ids, np.repeat(np.array([1, 0], dtype=np.uint8), 10_000))
    assert to_ints(counts.ids) == sorted(set(to_ints(ids)))
    assert counts.positive.sum() == counts.negative.sum() == 10_000
    assert (counts.positive == counts.negative).all()


@given(rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1))))
def test_runs_begin_where_any_column_changes(rows: list[tuple[int, ...]]) -> None:
    expected = [i for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]
    assert starts_of_runs(np.array(rows, dtype=np.uint64).reshape(-1, 3)).tolist() == expected
    firsts = [row[0] for row in rows]
    expected = [i for i, x in enumerate(firsts) if i == 0 or x != firsts[i - 1]]
    assert starts_of_runs(np.array(firsts, dtype=np.int64)).tolist() == expected


@pytest.mark.parametrize("bits", [1, 7, 8, 63, 64, 65, 127, 128])
def test_width_check_is_exact(bits: int) -> None:
    assert fits_bits(pairs([(1 << bits) - 1, 0]), bits)
    assert fits_bits(pairs([]), bits)
    if bits < 128:
        assert not fits_bits(pairs([0, 1 << bits]), bits)
    if bits < 64:
        assert not fits_bits(np.array([0, 1 << bits], dtype=np.uint64), bits)


def test_evidence_parts_the_labels_and_rounds_the_errors_down() -> None:
    sets: list[tuple[NDArray[Any], NDArray[np.uint8]]] = [
        (np.array([3, 5, 3], dtype=np.uint8), np.array([1, 0, 1], dtype=np.uint8)),
        (pairs([1 << 70]), np.array([0], dtype=np.uint8)),
        (pairs([]), np.zeros(0, dtype=np.uint8)),
    ]
    positives, negatives, allowed = evidence(sets, Fraction(2, 5))
    assert positives == ([3, 3], [], [])
    assert negatives == ([5], [1 << 70], [])
    assert allowed == (1, 0, 0)
    assert evidence([], Fraction(1, 10)) == ((), (), ())
