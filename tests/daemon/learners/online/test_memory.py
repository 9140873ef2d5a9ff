"""Public values: what is stored of a memory, and what is refused."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from littled.learners.online.memory import Memory


@dataclass(frozen=True, slots=True)
class Lists(Memory):
    """A number, and lists in a list."""

    word: ClassVar[str] = "lists"

    number: int
    lists: tuple[tuple[int, ...], ...]


STORED = {"word": "lists", "number": 3, "lists": [[1, 2], []]}


def test_public_values_are_stored_as_lists_and_read_as_tuples() -> None:
    found = Lists(3, ((1, 2), ()))
    assert found.to_dict() == STORED
    assert type(found.to_dict()["lists"]) is type(found.to_dict()["lists"][0]) is list
    assert Lists.from_dict(STORED) == found
    assert hash(Lists.from_dict(STORED)) == hash(found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"word": "chain"}, "a memory of lists selection has lists, number"),
        ({"more": 1}, "a memory of lists selection has lists, number"),
        ({"number": True}, "a memory has integers and lists of them"),
        ({"number": 0.5}, "a memory has integers and lists of them"),
        ({"number": None}, "a memory has integers and lists of them"),
        ({"lists": [["1"]]}, "a memory has integers and lists of them"),
    ],
)
def test_other_values_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Lists.from_dict({**STORED, **changes})


def test_a_value_that_is_missing_is_refused() -> None:
    with pytest.raises(ValueError, match="a memory of lists selection has"):
        Lists.from_dict({"word": "lists", "number": 3})
