"""The memory of a path: what is convicted, bent and forgotten, by hand and by its definition."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.learners.online.memories import memory_from_dict, settings_from_dict
from littled.learners.online.path_memory import (
    INHERITED,
    OFFSET_MAX,
    ON_PATH,
    SEARCHING,
    PathMemory,
    PathSettings,
    value_of,
    words_of,
)
from littled.learners.snapshot import pack, unpack

SETTINGS = PathSettings(conviction=12, floor=26, bit=2, bend=10)
LONGEST = 128


def path(*offsets: int) -> PathMemory:
    """On a path with these offsets; the last one is that of "longer"."""
    return PathMemory(ON_PATH, length=len(offsets) - 2, offsets=offsets)


@given(value=st.integers(0, (1 << 128) - 1))
def test_values_of_any_width_are_two_words(value: int) -> None:
    assert value_of(words_of(value)) == value
    assert max(words_of(value)) < 1 << 64


# --- searching ------------------------------------------------------------------------------------


def test_a_block_that_was_found_begins_a_path() -> None:
    memory = PathMemory(SEARCHING, shortest=2).found(0b10110, 5, SETTINGS)
    # of three lengths 2, 3 and 4 that were open, in two bits
    assert memory == PathMemory(
        ON_PATH, length=5, value=(0, 0b10110), offsets=(-26, -26, -4, -4, -4, 0, 0)
    )


def test_the_shortest_block_that_is_proposed_has_no_open_ones_before_it() -> None:
    assert PathMemory(SEARCHING, shortest=3).found(7, 3, SETTINGS).offsets == (-26, -26, -26, 0, 0)
    assert PathMemory(SEARCHING).found(0, 0, SETTINGS).offsets == (0, 0)


def test_offsets_of_many_lengths_are_not_below_the_floor() -> None:
    memory = PathMemory(SEARCHING).found(1, 128, replace(SETTINGS, bit=20))
    assert memory.offsets == (-26,) * 128 + (0, 0)


def test_a_bottom_opens_all_lengths_and_is_counted() -> None:
    first = PathMemory(SEARCHING, shortest=9).bottom()
    assert first == PathMemory(SEARCHING, bottoms=1)
    assert first.bottom().bottoms == 2
    assert first.bottom().found(1, 1, SETTINGS).bottoms == 0


# --- on a path ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("published", "drawn", "offsets"),
    [
        (1, 3, (-12, -12, 0, 0, 0)),  # longer: the published one and all before it
        (3, 1, (0, 0, 0, -12, -12)),
        (2, 2, (0, 0, 0, 0, 0)),
        (3, 0, (0, 0, 0, -12, -12)),
    ],
)
def test_one_side_is_convicted(published: int, drawn: int, offsets: tuple[int, ...]) -> None:
    assert path(0, 0, 0, 0, 0).moved(published, drawn, LONGEST, SETTINGS).offsets == offsets


def test_the_best_offset_is_0_and_none_is_below_the_floor() -> None:
    memory = path(-20, -20, -12, 0, 0).moved(1, 2, LONGEST, SETTINGS)
    assert memory.offsets == (-26, -26, -12, 0, 0)
    assert path(-12, -12, -12, 0, 0).moved(3, 2, LONGEST, SETTINGS).offsets == (0, 0, 0, 0, 0)


def test_a_drawn_candidate_at_the_floor_contradicts_all_that_is_remembered() -> None:
    memory = path(-26, -26, 0, 0, -12).moved(2, 1, LONGEST, SETTINGS)
    assert memory.offsets == (0, 0, -12, -12, -12)
    # one above the floor is no contradiction
    near = path(-25, -26, 0, 0, -12).moved(2, 0, LONGEST, SETTINGS)
    assert near.offsets == (-13, -14, 0, 0, -12)


def test_beyond_the_path_lengths_are_open_that_are_not_convicted() -> None:
    after = path(-12, 0, 0, 0, 0).moved(1, 4, LONGEST, SETTINGS)
    assert after == PathMemory(SEARCHING, shortest=2)
    # all of the path is convicted, so a longer block is looked for
    assert path(0, 0, 0).moved(1, 2, LONGEST, SETTINGS) == PathMemory(SEARCHING, shortest=2)
    # unless there is none
    assert path(0, 0, 0).moved(1, 2, 1, SETTINGS) == PathMemory(SEARCHING, shortest=0)


def bent(memory: PathMemory, published: int, settings: PathSettings) -> list[int]:
    """The definition, one candidate at a time."""
    count = len(memory.offsets)
    found = list(memory.offsets)
    for side in (range(published), range(published + 1, count)):
        places = [place for place in side if memory.offsets[place] > -settings.conviction]
        for rank, place in enumerate(places):
            outwards = abs(2 * rank + 1 - len(places))
            found[place] -= settings.bend * outwards // len(places)
    return found


OFFSETS = st.lists(st.integers(-26, 0), min_size=2, max_size=12)


@given(offsets=OFFSETS, data=st.data())
def test_open_candidates_are_bent_to_the_middle_of_their_side(
    offsets: list[int], data: st.DataObject
) -> None:
    memory = path(*offsets)
    published = data.draw(st.integers(0, len(offsets) - 2))
    found = memory.bent(published, SETTINGS)
    assert found.dtype == np.int64
    assert found.tolist() == bent(memory, published, SETTINGS)
    assert (found <= 0).all()


def test_bends_by_hand() -> None:
    assert path(0, 0, 0, 0, 0, -12, 0).bent(3, SETTINGS).tolist() == [-6, 0, -6, 0, -5, -12, -5]


@given(offsets=OFFSETS, data=st.data())
def test_moves_are_those_of_the_definition(offsets: list[int], data: st.DataObject) -> None:
    published = data.draw(st.integers(0, len(offsets) - 2))
    drawn = data.draw(st.integers(0, len(offsets) - 1))
    after = path(*offsets).moved(published, drawn, LONGEST, SETTINGS)
    expected = [0] * len(offsets) if offsets[drawn] <= -26 else list(offsets)
    for place in range(len(offsets)):
        wrong = place <= published < drawn or place >= published > drawn
        expected[place] -= 12 if wrong else 0
    expected = [max(offset - max(expected), -26) for offset in expected]
    if drawn < len(offsets) - 1:
        assert after == path(*expected)
        return
    open_ones = [place for place, offset in enumerate(expected[:-1]) if offset > -12]
    assert after == PathMemory(SEARCHING, shortest=min([*open_ones, len(offsets) - 1]))


# --- as it is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "memory",
    [
        PathMemory(INHERITED),
        PathMemory(SEARCHING, shortest=3),
        PathMemory(SEARCHING, bottoms=2),
        PathMemory(SEARCHING).found((1 << 128) - 1, 128, SETTINGS),
    ],
)
def test_a_memory_is_stored_and_read(memory: PathMemory) -> None:
    assert memory_from_dict(memory.to_dict()) == memory
    assert memory_from_dict(unpack(pack(memory.to_dict()))) == memory


def test_settings_are_stored_and_read() -> None:
    values = SETTINGS.to_dict()
    assert values == {"word": "path", "conviction": 12, "floor": 26, "bit": 2, "bend": 10}
    assert settings_from_dict(values) == SETTINGS


@pytest.mark.parametrize(
    "changes",
    [
        {"conviction": 0}, {"floor": 0}, {"bit": -1}, {"bend": -1},
        *({name: OFFSET_MAX + 1} for name in ("conviction", "floor", "bit", "bend")),
    ],
)  # fmt: skip
def test_values_out_of_range_are_said(changes: dict[str, Any]) -> None:
    assert SETTINGS.wrong() is None
    (name,) = changes
    assert name in str(replace(SETTINGS, **changes).wrong())
