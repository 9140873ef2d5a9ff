"""Ways to share out a number: each once, and all of them."""

from math import comb

from hypothesis import given
from hypothesis import strategies as st

from littled.laboratory.compositions import compositions


@given(total=st.integers(0, 7), parts=st.integers(1, 5))
def test_each_way_comes_once(total: int, parts: int) -> None:
    found = list(compositions(total, parts))
    assert all(len(each) == parts and sum(each) == total and min(each) >= 0 for each in found)
    assert len(found) == len(set(found)) == comb(total + parts - 1, parts - 1)
