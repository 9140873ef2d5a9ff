"""What the papers' constants demand: the figures that the documents quote."""

from fractions import Fraction

from littled.classes.names import class_from_name
from littled.planner.batch.paper import paper_sizes


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
