"""The benchmark of values of windows: what counts as robust, the laws, and the search."""

import pytest

from benchmarks.values import __main__ as command
from benchmarks.values import items, minima


def test_a_robust_minimum_has_between_alpha_n_and_twice_as_many_before_it() -> None:
    numbers = list(range(100))
    assert [v for v in range(100) if minima.is_robust(numbers, v)] == list(range(4, 11))


@pytest.mark.parametrize("law", minima.LAWS)
@pytest.mark.parametrize("bits", [32, 128])
def test_times_rise_and_fit_their_bits(law: str, bits: int) -> None:
    found = minima.times(bits, law, 50, 1)
    assert found == sorted(found)
    assert 0 <= found[0] <= found[-1] < 1 << bits
    assert len(minima.column(bits, found)) == 50


def test_one_item_leads_all_others() -> None:
    counts = items.counts_of(7, 3)
    assert counts[items.RIGHT] == max(n for item, n in counts.items() if item != items.RIGHT) + 7


def test_the_least_size_is_found_by_bisection() -> None:
    tried: list[int] = []

    def method(size: int, _: int) -> bool:
        tried.append(size)
        return bool(size >= items.GRID[40])

    assert command._least(items, method, (), 5) == items.GRID[40]
    assert command._least(items, lambda size, run: False, (), 5) == 0
    assert len(set(tried)) < 10


def test_both_methods_name_what_is_clear() -> None:
    for method in ("exponential", "stable"):
        assert minima.METHODS[method](32, "even", 4_000, 1)
        assert items.METHODS[method](64, 150, 1)
    assert items.METHODS["stable histogram"](64, 150, 1)
