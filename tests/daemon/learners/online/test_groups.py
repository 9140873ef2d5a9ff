"""Who votes with whom: by secret words and public places alone."""

from dataclasses import asdict, replace
from itertools import accumulate
from typing import Any

import pytest

from littled.learners.online.groups import GroupSettings, begun

GROUPS = GroupSettings(
    groups=3, singles=2, later_singles=4, stable=5, renewed_after=10, next_score=6, tested_every=8,
    forgets_after=100,
)  # fmt: skip


def test_a_word_says_whose_an_example_is() -> None:
    assert [GROUPS.voter(word, 0, calls=0) for word in range(7)] == [0, 1, 2, None, None, 0, 1]
    later = [GROUPS.voter(word, 0, calls=1) for word in range(8)]
    assert later == [0, 1, 2, None, None, None, None, 0]


def luby(k: int) -> list[int]:
    """As it is defined: twice the sequence before, and then a power of two."""
    return [1] if k == 1 else [*luby(k - 1), *luby(k - 1), 1 << (k - 1)]


def test_groups_begin_anew_in_the_order_of_luby() -> None:
    starts = [
        first
        for first, length in zip(accumulate(luby(9), initial=0), luby(9), strict=False)
        for _ in range(length)
    ]
    assert [begun(stretch) for stretch in range(len(starts))] == starts
    assert starts[:8] == [0, 1, 2, 2, 4, 5, 6, 6]


def test_groups_have_numbers_of_their_own() -> None:
    numbers = [GROUPS.voter(1, place, calls=0) for place in (0, 9, 10, 19, 20, 39, 40, 49, 50)]
    assert numbers == [1, 1, 4, 4, 7, 7, 13, 13, 16]


def test_tests_come_after_every_so_many_positions() -> None:
    first = [GROUPS.first_test(position) for position in (0, 6, 7, 8, 15, 16)]
    assert first == [
        7,
        7,
        7,
        15,
        15,
        23,
    ]
    every = replace(GROUPS, tested_every=1)
    assert [every.first_test(position) for position in (0, 1, 7)] == [0, 1, 7]


def test_they_are_read_as_they_were_written() -> None:
    assert GroupSettings.from_dict(GROUPS.to_dict()) == GROUPS
    for wrong in (None, {}, {**GROUPS.to_dict(), "more": 1}):
        with pytest.raises(ValueError, match="settings of groups are forgets_after, groups, "):
            GroupSettings.from_dict(wrong)


@pytest.mark.parametrize("name", list(asdict(GROUPS)))
@pytest.mark.parametrize("value", [-1, 0, 1.5, True])
def test_values_that_make_no_sense_are_said(name: str, value: Any) -> None:
    problem = replace(GROUPS, **{name: value}).wrong()
    if name.endswith("singles") and value == 0 and value is not True:
        assert problem is None
    else:
        assert problem is not None
        assert "settings of groups" in problem


def test_usual_values_are_right() -> None:
    assert GROUPS.wrong() is None
