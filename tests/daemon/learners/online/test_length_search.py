"""The memory of a search for a length: by hand, and that every length is found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.learners.online.length_search import (
    FOUND,
    HALVING,
    INHERITED,
    SEARCHING,
    LengthMemory,
    LengthSettings,
)
from littled.learners.online.memories import memory_from_dict, settings_from_dict
from littled.learners.online.path_memory import words_of
from littled.learners.snapshot import pack, unpack

# Of nine lengths 2, 5 and 7 are proposed, of fewer the middle one.
CUTS = ((), *((left // 2,) for left in range(1, 9)), (2, 5, 7))
SETTINGS = LengthSettings(step=3, cuts=CUTS)
LONGEST = 8
ALL = LengthMemory.empty(LONGEST)


def test_a_search_begins_with_all_lengths() -> None:
    assert LengthMemory(SEARCHING, 0, 8) == ALL
    assert ALL.proposed(SETTINGS) == [2, 5, 7]
    assert LengthMemory(SEARCHING, 6, 8).proposed(SETTINGS) == [7]


def test_after_a_bottom_shorter_lengths_are_left() -> None:
    assert ALL.bottom(LONGEST, SETTINGS) == LengthMemory(SEARCHING, 0, 1)
    # nothing is left: what was drawn before was wrong
    assert LengthMemory(SEARCHING, 4, 4).bottom(LONGEST, SETTINGS) == ALL


@pytest.mark.parametrize(("length", "high"), [(2, 4), (5, 6), (7, 8)])
def test_a_block_that_was_found_bounds_the_length_by_the_next_one(length: int, high: int) -> None:
    assert ALL.found(3, length, SETTINGS) == LengthMemory(FOUND, 0, high, length, (0, 3))


def test_what_is_longer_is_searched_for_and_what_is_shorter_is_halved() -> None:
    found = ALL.found(3, 5, SETTINGS)
    assert found.inferred(5, LONGEST, longer=True) == LengthMemory(SEARCHING, 6, 6)
    halved = found.inferred(5, LONGEST, longer=False)
    assert halved == LengthMemory(HALVING, 0, 4, 5, (0, 3))
    assert halved.middle == 2
    assert halved.inferred(2, LONGEST, longer=True) == replace(halved, low=3)
    assert halved.inferred(2, LONGEST, longer=False) == replace(halved, high=1)


def test_a_contradiction_begins_anew() -> None:
    alone = LengthMemory(FOUND, 8, 8, 8, (0, 3))
    for longer in (False, True):
        assert alone.inferred(8, LONGEST, longer=longer) == ALL
    last = LengthMemory(HALVING, 3, 3, 5, (0, 3))
    for longer in (False, True):
        assert last.inferred(3, LONGEST, longer=longer) == ALL


def random_cuts(choose: Callable[[int], tuple[int, ...]], bits: int) -> LengthSettings:
    """A list for every number of lengths that can be left."""
    return LengthSettings(0, ((), *(choose(left) for left in range(1, bits + 2))))


@given(data=st.data(), bits=st.integers(0, 20))
def test_every_length_is_found_by_right_draws(data: st.DataObject, bits: int) -> None:
    """Whatever the lists are, and whichever block that meets the right one is drawn."""

    def choose(left: int) -> tuple[int, ...]:
        places = data.draw(st.sets(st.integers(0, left - 1), min_size=1, max_size=4))
        return tuple(sorted(places))

    settings = random_cuts(choose, bits)
    assert settings.wrong() is None
    target = data.draw(st.integers(0, bits))
    memory, published = LengthMemory.empty(bits), None
    for _ in range(2 * bits + 3):
        if published == target:
            return
        assert memory.low <= target <= memory.high
        if memory.mode == SEARCHING:
            proposed = memory.proposed(settings)
            ends = [*proposed[1:], bits + 1]
            allowed = [m for m, end in zip(proposed, ends, strict=True) if target < end]
            choices = [None] * (target < proposed[0]) + allowed
            published = data.draw(st.sampled_from(choices))
            if published is None:
                memory = memory.bottom(bits, settings)
            else:
                memory = memory.found(0, published, settings)
        else:
            assert published is not None
            memory = memory.inferred(published, bits, longer=target > published)
            published = None if memory.mode == SEARCHING else memory.middle
    raise AssertionError("the length is not found")


@pytest.mark.parametrize(
    "memory",
    [
        ALL,
        LengthMemory.empty(128, INHERITED),
        LengthMemory(HALVING, 3, 100, 128, words_of((1 << 128) - 1)),
    ],
)
def test_a_memory_is_stored_and_read(memory: LengthMemory) -> None:
    assert memory_from_dict(memory.to_dict()) == memory
    assert memory_from_dict(unpack(pack(memory.to_dict()))) == memory


def test_settings_are_stored_and_read() -> None:
    settings = LengthSettings(2, ((), (0,), (0, 1)))
    assert settings.to_dict() == {"word": "lengths", "step": 2, "cuts": [[], [0], [0, 1]]}
    assert settings_from_dict(settings.to_dict()) == settings
    assert settings_from_dict(unpack(pack(settings.to_dict()))) == settings
    assert (settings.at_once, SETTINGS.at_once) == (2, 3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": -1}, "step"),
        ({"cuts": ()}, "begin with an empty list"),
        ({"cuts": ((0,),)}, "begin with an empty list"),
        ({"cuts": ((), ())}, "of 1 lengths left"),
        ({"cuts": ((), (0,), (0, 2))}, "of 2 lengths left"),
        ({"cuts": ((), (0,), (-1, 1))}, "from 0 to 1"),
        ({"cuts": ((), (0,), (1, 0))}, "rising"),
        ({"cuts": ((), (0,), (1, 1))}, "rising"),
    ],
)
def test_values_out_of_range_are_said(changes: dict[str, Any], said: str) -> None:
    assert SETTINGS.wrong() is None
    assert said in str(replace(SETTINGS, **changes).wrong())
