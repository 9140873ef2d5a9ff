"""The unit of protection: one value, however it is written."""

from collections.abc import Callable
from typing import Any

import pytest

from littled.budget.unit import EXAMPLE, USER_EXAMPLES_MAX, WORDS, Unit


@pytest.mark.parametrize("most", [1, 2, USER_EXAMPLES_MAX])
def test_users_are_protected_with_so_many_of_their_examples(most: int) -> None:
    unit = Unit(most)
    assert (unit.is_user, unit.word, unit.examples) == (True, "user", most)
    assert unit.to_dict() == {"unit": "user", "user_examples_max": most}
    assert Unit.of("user", most) == unit


def test_an_example_is_no_user_with_one_example() -> None:
    assert (EXAMPLE.is_user, EXAMPLE.word, EXAMPLE.examples) == (False, "example", 1)
    assert EXAMPLE.to_dict() == {"unit": "example", "user_examples_max": 1}
    assert Unit.of("example", 1) == Unit.of("example") == EXAMPLE != Unit(1) == Unit.of("user")
    assert (EXAMPLE.word, Unit(1).word) == WORDS


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: Unit(0), f"must be an integer from 1 to {USER_EXAMPLES_MAX:,}"),
        (lambda: Unit(USER_EXAMPLES_MAX + 1), "must be an integer from 1 to"),
        (lambda: Unit(True), "must be an integer from 1 to"),
        (lambda: Unit.of("user", 0), "must be an integer from 1 to"),
        (lambda: Unit.of("example", 2), 'user_examples_max is for streams with unit = "user" only'),
        (lambda: Unit.of("household"), "unit must be one of example, user"),
    ],
)
def test_what_is_no_unit_is_said_in_one_sentence(made: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        made()
