"""Which class is able to do what, and what follows for selections of a class that is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.affine import AffineSubspaces
from littled.classes.capabilities import (
    CutRules,
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
from littled.classes.names import class_from_name
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled_protocol.rules import Rule

TABLE = Table.from_matrix(["never", "late"], np.array([[0, 0], [0, 1]], dtype=np.bool_))
CAPABILITIES = {
    "dense": NumberedRules,
    "nested": NestedRules,
    "cuts": CutRules,
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
        (TABLE, NUMBERED),
        (Stumps(3, 2), NUMBERED | {"cuts"}),
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


JOINED = ["affine:3:1", "affine:3:2", "affine:3:3", "conjunctions:2", "conjunctions:3"]


def _reached(hypotheses: HypothesisClass) -> dict[frozenset[int], Rule]:
    """Every rule that positive points lead to, by the points it contains."""
    closed, size = needed(hypotheses.intersection_closed), 1 << hypotheses.to_dict()["bits"]
    points = np.arange(size, dtype=np.uint8)
    found, new = {frozenset[int](): hypotheses.first_rule()}, [hypotheses.first_rule()]
    while new:
        rule = new.pop()
        for point in range(size):
            around = closed.around(rule, point)
            members = (
                None
                if around is None
                else frozenset(np.flatnonzero(around.evaluate(points)).tolist())
            )
            if around is not None and members is not None and members not in found:
                found[members] = around
                new.append(around)
    return found


@pytest.mark.parametrize("name", JOINED)
def test_the_smallest_rule_around_a_point_or_a_rule_is_that_of_brute_force(name: str) -> None:
    hypotheses = class_from_name(name)
    closed, rules = needed(hypotheses.intersection_closed), _reached(hypotheses)

    def smallest(members: frozenset[int]) -> Rule | None:
        least = min((m for m in rules if members <= m), key=len, default=None)
        return None if least is None else rules[least]

    for members, rule in rules.items():
        for point in range(1 << hypotheses.to_dict()["bits"]):
            assert closed.around(rule, point) == smallest(members | {point})
        for others, other in rules.items():
            assert closed.joined(rule, other) == smallest(members | others)


@pytest.mark.parametrize("name", JOINED)
def test_the_rules_that_come_next_have_none_in_between(name: str) -> None:
    hypotheses = class_from_name(name)
    closed, rules = needed(hypotheses.intersection_closed), _reached(hypotheses)
    for members, rule in rules.items():
        above = [m for m in rules if members < m]
        least = {rules[m] for m in above if not any(members < other < m for other in above)}
        following = closed.next_rules(rule)
        assert len(following) <= closed.next_rules_max
        assert not following or (set(following) == least and len(following) == len(least))
        if name.startswith("conjunctions") and members and above:
            assert following
        assert not (closed.is_whole(rule) and above)
        if name.startswith("affine") and members:
            assert closed.is_whole(rule) == (not above)
