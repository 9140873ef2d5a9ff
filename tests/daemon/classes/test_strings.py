"""Byte strings: counting them, and what one chunk teaches."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.base import ClassError
from littled.classes.strings import Strings
from littled_protocol.rules import StringRule

chunks = st.lists(
    st.tuples(st.sampled_from([b"ab", b"a\0", b"\0a", b"\0\0", b"\xff\0"]), st.integers(0, 1)),
    max_size=9,
)


def columns(chunk: list[tuple[bytes, int]]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    x = np.frombuffer(b"".join(s for s, _ in chunk), dtype=np.uint8).reshape(-1, 2)
    return x, np.array([y for _, y in chunk], dtype=np.uint8)


def test_lengths_that_no_points_have_are_refused() -> None:
    for length in (1, 4097):
        with pytest.raises(ClassError, match="from 2 to 4096 bytes"):
            Strings(length)


@given(chunks)
def test_strings_are_counted_whatever_zeros_they_end_with(chunk: list[tuple[bytes, int]]) -> None:
    items, counts = Strings(2).reported(*columns(chunk))
    expected = Counter(s for s, y in chunk if y)
    assert items == sorted(int.from_bytes(s, "big") for s in expected)
    found = {item.to_bytes(2, "big"): n for item, n in zip(items, counts.tolist(), strict=True)}
    assert found == expected


@given(chunks)
def test_a_chunk_teaches_a_rule_with_the_fewest_errors(chunk: list[tuple[bytes, int]]) -> None:
    x, y = columns(chunk)
    rules = [StringRule(2, None), *(StringRule(2, s) for s, _ in chunk)]
    errors = min(int((rule.evaluate(x) != y).sum()) for rule in rules)
    assert int((Strings(2).empirical_rule(x, y).evaluate(x) != y).sum()) == errors
