"""What the papers' constants demand: the figures that the documents quote."""

from fractions import Fraction

import numpy as np
import pytest

from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.planner.batch.paper import essential_lists, paper_sizes
from oracle.littlestone.essential import essential_hypotheses


def demanded(name: str) -> dict[str, tuple[str, str]]:
    found = paper_sizes(class_from_name(name), 0.05, 0.01, Fraction(1), Fraction(1, 10**6))
    return {each.source: (each.examples, each.reason) for each in found}


def test_thresholds_would_need_more_than_ten_billion_examples() -> None:
    lyu, alon = demanded("thresholds:256").values()
    assert lyu == ("5.3e10", "885 chunks of 6.0e07 examples")
    assert alon[0] == "10^628.6"
    assert "one in 10^310" in alon[1]


def test_points_get_too_few_chunks_to_outweigh_bottom() -> None:
    found = demanded("points:64")
    assert "14 chunks cannot outweigh bottom" in found["Lyu, Theorem 3"][1]
    assert "114 chunks" in found["Lyu, Theorem 3"][1]


@pytest.mark.parametrize(
    ("name", "p", "always"),
    [("thresholds:256", 8 * 1000, True), ("stumps:2:16", None, True), ("points:64", 1000, False)],
)
def test_lists_are_those_of_the_theorem(name: str, p: int | None, always: bool) -> None:
    """p_j = 2^j n d, for n = 1,000 and d the dimension."""
    hypotheses = class_from_name(name)
    found = essential_lists(hypotheses, 1000)
    assert found.dimension == hypotheses.littlestone_dimension
    assert found.first == found.paper == 2 * 1000 * found.dimension
    assert p is None or found.first == 2 * p
    assert [found.at(stage) for stage in (1, 2, 3)] == [found.first * each for each in (1, 2, 4)]
    assert found.always is always


def test_p_is_greater_where_the_class_asks_for_it() -> None:
    """Of 7 singletons all are listed: that is the essential list from p = 6 on, not for p = 2."""
    rows = np.eye(7, dtype=np.bool_)
    singletons = Table.from_matrix([f"r{number}" for number in range(7)], rows)
    small, large = essential_lists(singletons, 1), essential_lists(singletons, 10)
    assert (small.paper, small.first) == (2, 6)
    assert (large.paper, large.first) == (20, 20)
    assert len(essential_hypotheses(rows, small.paper, 1)) == 1
    for stage in (1, 2):
        assert len(essential_hypotheses(rows, small.at(stage), 1)) == 7
    assert len(needed(singletons.version_spaces).essential_list([], Fraction(0), 7)) == 7
