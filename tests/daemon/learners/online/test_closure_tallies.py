"""What a season knows of closures that have votes, and what is left of it at a call."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.learners.online.closure_tallies import ClosureTallies, Group, Watched, carried
from littled.learners.online.tallies import NEVER
from littled_protocol.rules import AffineRule, Rule

CLOSED = needed(class_from_name("affine:3:2").intersection_closed)
NOTHING = class_from_name("affine:3:2").first_rule()
B = 7


def at(*points: int) -> Rule:
    """The smallest subspace around these points."""
    rule: Rule | None = NOTHING
    for point in points:
        assert rule is not None
        rule = CLOSED.around(rule, point)
    assert rule is not None
    return rule


def left(gaps: Mapping[Rule, int], published: Rule, forgotten: int = 0) -> dict[Rule, int]:
    watched = {rule: Watched(gap, NEVER, False) for rule, gap in gaps.items()}
    return carried(watched, lambda _: B, published, CLOSED.joined, forgotten)


def test_what_is_left_goes_to_the_rule_around_both() -> None:
    gaps = {at(0): 4, at(1): 6, at(0, 1): 2, at(2): 7, at(4): 9}
    assert left(gaps, NOTHING) == {at(0): -3, at(1): -1, at(0, 1): -5}
    # {1} and {0, 1} become one; {0} is published; the votes for {2} and {4} were outweighed
    assert left(gaps, at(0)) == {at(0, 1): -6}
    assert left(gaps, at(0, 1)) == {}


def test_what_no_rule_of_the_class_is_around_is_forgotten() -> None:
    assert left({at(4): 1}, at(0, 1, 2)) == {}


def test_one_vote_may_be_forgotten_of_each() -> None:
    gaps = {at(0): 4, at(1): 6, at(2): 7}
    assert left(gaps, NOTHING, forgotten=1) == {at(0): -2}


RULES = [at(0), at(1), at(0, 1), at(2), at(0, 2), at(3)]
GAPS = st.dictionaries(st.sampled_from(RULES), st.integers(B - 4, B + 4))


@given(GAPS, st.sampled_from(RULES), st.sampled_from([NOTHING, *RULES]), st.integers(0, 1))
def test_one_vote_more_leaves_at_most_one_more_for_one_rule(
    gaps: dict[Rule, int], rule: Rule, published: Rule, forgotten: int
) -> None:
    """Of Lemma J: monotone, and not faster than votes. Who has no votes has a gap of B or more."""
    more = {**gaps, rule: gaps.get(rule, B) - 1}
    here, there = left(gaps, published, forgotten), left(more, published, forgotten)
    changes = [there.get(each, 0) - here.get(each, 0) for each in here.keys() | there.keys()]
    assert sum(changes) in (0, -1)
    assert all(change in (0, -1) for change in changes)


TALLIES = ClosureTallies.of(
    {at(0): Watched(3, 40, False), at(0, 1): Watched(1, 12, True), at(5): Watched(2, NEVER, False)},
    {4: Group(at(1, 2), 3), 0: Group(NOTHING, 0, voted=True)},
)


def test_the_first_to_pass_is_known() -> None:
    assert ClosureTallies().first == NEVER
    assert TALLIES.first == 12
    assert TALLIES.passing(12) == [at(0, 1)]
    assert TALLIES.passing(13) == []


def test_they_are_read_as_they_were_written() -> None:
    for tallies in (TALLIES, ClosureTallies()):
        read = ClosureTallies.from_dict(tallies.to_dict())
        assert read == tallies
        assert list(read.watched) == list(tallies.watched)
    with pytest.raises(ValueError, match="closures, gaps, passes, next and groups"):
        ClosureTallies.from_dict({"closures": []})
    with pytest.raises(ValueError, match="zip"):
        ClosureTallies.from_dict({**TALLIES.to_dict(), "gaps": [1]})


def test_rules_of_the_cases_are_subspaces() -> None:
    assert all(isinstance(rule, AffineRule) for rule in RULES)
