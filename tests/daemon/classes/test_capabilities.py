"""Which class is able to do what, and what follows for selections of a class that is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.affine import AffineSubspaces
from littled.classes.capabilities import (
    IdSets,
    IntersectionClosed,
    NestedRules,
    NumberedRules,
    PathRules,
    ProposedRules,
    VersionSpaces,
    WindowLabelings,
    needed,
)
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds

TABLE = Table.from_matrix(["never", "late"], np.array([[0, 0], [0, 1]], dtype=np.bool_))
CAPABILITIES = {
    "dense": NumberedRules,
    "nested": NestedRules,
    "proposing": ProposedRules,
    "paths": PathRules,
    "id_sets": IdSets,
    "intersection_closed": IntersectionClosed,
    "version_spaces": VersionSpaces,
    "window_labelings": WindowLabelings,
}
NUMBERED = {"dense", "version_spaces", "window_labelings"}
SETS = {"id_sets", "version_spaces", "window_labelings"}
CLOSED = {"intersection_closed", "version_spaces"}


@pytest.mark.parametrize(
    ("hypotheses", "has"),
    [
        (Thresholds(8), NUMBERED | {"nested"}),
        *((hypotheses, NUMBERED) for hypotheses in (TABLE, Stumps(3, 2))),
        *((hypotheses, SETS) for hypotheses in (PointFunctions(8), SparseSets(8, 2))),
        (Prefixes(8), {"proposing", "paths", "version_spaces", "window_labelings"}),
        (Conjunctions(12), NUMBERED | CLOSED),
        (Conjunctions(13), CLOSED),
        (AffineSubspaces(6, 2), CLOSED | {"window_labelings"}),
        (AffineSubspaces(7, 2), CLOSED),
    ],
    ids=lambda value: value.name if isinstance(value, HypothesisClass) else "",
)
def test_what_a_class_is_able_to_do(hypotheses: HypothesisClass, has: set[str]) -> None:
    for name, kind in CAPABILITIES.items():
        capability = getattr(hypotheses, name)
        assert isinstance(capability, kind) if name in has else capability is None, name


def test_what_is_needed_is_there() -> None:
    assert needed(Thresholds(8).dense) == Thresholds(8)
    with pytest.raises(AssertionError):
        needed(Prefixes(8).dense)


@given(
    size=st.integers(1, 6),
    examples=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), max_size=12),
)
def test_mistakes_of_the_rules_of_a_chain_are_those_of_its_examples(
    size: int, examples: list[tuple[int, int]]
) -> None:
    """And each rule is numbered as it is listed, and contains the next one."""
    rules = needed(Thresholds(size).nested)
    x = np.array([point % size for point, _ in examples], dtype=np.uint8)
    y = np.array([label for _, label in examples], dtype=np.uint8)
    statistics = rules.add(rules.empty_statistics(), x, y)
    domain = np.arange(size, dtype=np.uint8)
    for number in range(rules.rule_count):
        rule = rules.rule(number)
        said = rule.evaluate(x)
        up, down = int(((said == 1) & (y == 0)).sum()), int(((said == 0) & (y == 1)).sum())
        assert rules.number(rule) == number
        assert rules.mistakes(statistics, number) == (up, down)
        assert len(y) - up - down == rules.scores(statistics)[number]
        if number:
            assert (rule.evaluate(domain) <= rules.rule(number - 1).evaluate(domain)).all()
