"""The memory of a path: what is found, convicted and forgotten, by hand and by its definition."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.learners.online.chain_memory import Weights
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

SETTINGS = PathSettings(conviction=12, floor=26, bit=2, longer=16, full_length=160)
LEAVING = replace(SETTINGS, leaves=1)
LONGEST = 128
OFFSETS = st.lists(st.integers(-26, 0), min_size=2, max_size=12)


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
        ON_PATH, length=5, value=(0, 0b10110), offsets=(-26, -26, -4, -4, -4, 0, -16)
    )


def test_the_shortest_block_that_is_proposed_has_no_open_ones_before_it() -> None:
    memory = PathMemory(SEARCHING, shortest=3).found(7, 3, SETTINGS)
    assert memory.offsets == (-26, -26, -26, 0, -16)
    assert PathMemory(SEARCHING).found(0, 0, SETTINGS).offsets == (0, -16)


def test_offsets_of_many_lengths_are_not_below_the_floor() -> None:
    memory = PathMemory(SEARCHING).found(1, 128, replace(SETTINGS, bit=20))
    assert memory.offsets == (-26,) * 128 + (0, -16)


@given(data=st.data())
def test_blocks_are_found_as_the_definition_says(data: st.DataObject) -> None:
    shortest = data.draw(st.integers(0, 9))
    length = data.draw(st.integers(shortest, 12))
    value = data.draw(st.integers(0, (1 << length) - 1))
    memory = PathMemory(SEARCHING, shortest=shortest, bottoms=data.draw(st.integers(0, 2)))
    bits = max(length - shortest, 1).bit_length()
    expected = [-26 if place < shortest else -2 * bits for place in range(length)]
    found = memory.found(value, length, SETTINGS)
    assert found == PathMemory(
        ON_PATH, length=length, value=words_of(value), offsets=(*expected, 0, -16)
    )
    assert max(found.offsets) == 0


def test_a_bottom_opens_all_lengths_and_is_counted() -> None:
    first = PathMemory(SEARCHING, shortest=9).bottom()
    assert first == PathMemory(SEARCHING, bottoms=1)
    assert first.bottom().bottoms == 2
    assert first.bottom().found(1, 1, SETTINGS).bottoms == 0


# --- a path that was left -------------------------------------------------------------------------


def test_a_path_that_was_left_is_kept_while_blocks_are_searched_for() -> None:
    known = replace(path(-4, 0, -12, -16), value=(0, 0b10), bottoms=1, front=2, back=1)
    left = known.left()
    assert left == PathMemory(SEARCHING, length=2, value=(0, 0b10), offsets=(-4, 0, -12, -16))
    assert left.bottom() == replace(left, bottoms=1)
    assert left.proposes(1, SETTINGS)
    # what is proposed by a search has no offsets, of a path that was left neither
    assert left.of_lengths(np.arange(4)).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("value", "length", "offsets"),
    [
        # on the path, and what the path leads to: what the search says and what was known, together
        (0b1, 1, (-6, 0, -26)),
        (0b10, 2, (-4, 0, -8, -26)),
        (0b101, 3, (-4, 0, -12, -12, -26)),
        # elsewhere: what the search says
        (0b0, 1, (-2, 0, -16)),
        (0b111, 3, (-4, -4, -4, 0, -16)),
    ],
)
def test_a_search_that_leads_back_to_a_path_finds_what_was_known_of_it(
    value: int, length: int, offsets: tuple[int, ...]
) -> None:
    left = replace(path(-4, 0, -12, -16), value=(0, 0b10)).left()
    assert left.found(value, length, SETTINGS) == PathMemory(
        ON_PATH, length=length, value=(0, value), offsets=offsets
    )


@given(offsets=OFFSETS, data=st.data())
def test_a_search_after_a_path_finds_offsets_of_0_and_less(
    offsets: list[int], data: st.DataObject
) -> None:
    """Lemma B' needs it of all that is proposed later."""
    left = replace(path(*[each - max(offsets) for each in offsets]), value=(0, 0)).left()
    length = data.draw(st.integers(0, 14))
    found = left.found(data.draw(st.sampled_from([0, (1 << length) - 1])), length, SETTINGS)
    assert len(found.offsets) == length + 2
    assert max(found.offsets) == 0
    assert min(found.offsets) >= -26


# --- on a path ------------------------------------------------------------------------------------


WEIGHTS = Weights(Fraction(3, 10))


def moved(
    memory: PathMemory,
    published: int,
    *,
    longer: bool,
    longest: int = LONGEST,
    settings: PathSettings = SETTINGS,
) -> tuple[PathMemory, int | None]:
    return memory.moved(
        published, longer=longer, longest=longest, settings=settings, weights=WEIGHTS
    )


@pytest.mark.parametrize(
    ("published", "longer", "offsets"),
    [
        (1, True, (-12, -12, 0, 0, 0, 0)),  # the published one and all before it
        (3, False, (0, 0, 0, -12, -12, -12)),
        (0, True, (-12, 0, 0, 0, 0, 0)),
    ],
)
def test_one_side_is_convicted(published: int, longer: bool, offsets: tuple[int, ...]) -> None:
    after, length = moved(path(0, 0, 0, 0, 0, 0), published, longer=longer)
    assert after.offsets == offsets
    assert length is not None
    assert after.mode == ON_PATH


def test_the_best_offset_is_0_and_none_is_below_the_floor() -> None:
    after, length = moved(path(-20, -20, 0, 0, 0, -12), 1, longer=True)
    assert after.offsets == (-26, -26, 0, 0, 0, -12)
    assert length == 3


def test_the_median_is_published() -> None:
    assert moved(path(0, 0, 0, 0, 0, 0, 0), 6 - 1, longer=False)[1] == 2
    assert moved(path(0, 0, 0, 0, 0, 0, -26), 0, longer=True)[1] == 3


def test_beyond_the_path_lengths_are_open_that_are_not_convicted() -> None:
    after, length = moved(path(-26, 0, -26, -26, 0), 1, longer=True)
    assert (after, length) == (PathMemory(SEARCHING, shortest=4), None)
    # unless there is no longer one
    after, length = moved(path(0, 0, 0), 1, longer=True, longest=1)
    assert (after, length) == (PathMemory(SEARCHING, shortest=0), None)


def test_a_path_is_left_when_every_candidate_was_convicted() -> None:
    """No block of a path makes false positives and is missed: what is right lies elsewhere."""
    first, following = moved(path(0, 0, 0, 0, -16), 2, longer=True, settings=LEAVING)
    assert (first.front, first.back, following) == (3, 0, 3)
    left, following = moved(first, 3, longer=False, settings=LEAVING)
    assert (left, following) == (PathMemory(SEARCHING), None)
    # of what comes after a bottom, noise may be the cause
    late = replace(first, bottoms=1)
    assert moved(late, 3, longer=False, settings=LEAVING)[0].back == 0
    # "longer" is left, though it is not published yet
    some, following = moved(first, 3, longer=True, settings=LEAVING)
    assert (some.mode, some.front, some.back, following) == (ON_PATH, 4, 0, 3)


@pytest.mark.parametrize("length", [0, 3, 60, 128])
def test_a_path_is_kept_while_its_block_is_right(length: int) -> None:
    """Draws that say on which side it is never convict it."""
    memory, published = PathMemory(SEARCHING).found(1, 128, LEAVING), 128
    while published != length:
        memory, following = moved(memory, published, longer=published < length, settings=LEAVING)
        assert following is not None
        assert memory.front <= length < memory.length + 2 - memory.back
        published = following


def test_a_block_that_is_drawn_begins_anew() -> None:
    known = replace(path(0, -12, 0), front=1, back=1)
    after = known.found_again(1, 0b1, 1, LEAVING)
    assert (after.front, after.back) == (0, 0)
    assert (known.bottom().front, known.bottom().back) == (1, 1)


def test_stores_of_before_never_leave_a_path() -> None:
    memory = path(0, 0, -16)
    for turn in range(100):
        memory, _ = moved(memory, turn % 2, longer=turn % 2 == 0)
        assert memory.mode == ON_PATH
    assert not {"front", "back"} & set(memory.to_dict())


def test_a_bottom_on_a_path_keeps_what_is_known_and_lets_the_next_call_move() -> None:
    memory = path(0, -12, 0)
    told = memory.bottom()
    assert told == replace(memory, bottoms=1)
    assert memory.proposes(161, SETTINGS)
    assert not memory.proposes(160, SETTINGS)
    assert not told.proposes(161, SETTINGS)
    assert moved(told, 1, longer=True)[0].bottoms == 0
    assert PathMemory(SEARCHING).proposes(1, SETTINGS)
    assert not PathMemory(INHERITED).proposes(10**6, SETTINGS)


def test_offsets_of_lengths_are_those_of_the_path_and_beyond_it_of_longer() -> None:
    lengths = np.array([0, 1, 2, 3, 9], dtype=np.int64)
    assert path(-3, 0, -5).of_lengths(lengths).tolist() == [-3, 0, -5, -5, -5]
    assert PathMemory(SEARCHING).of_lengths(lengths).tolist() == [0] * 5


def test_a_block_that_is_found_again_keeps_what_is_known_of_lengths() -> None:
    after = path(0, 0, 0, 0, -4).found_again(2, 0b11, 5, SETTINGS)
    # 0..2 are convicted, 4 and 5 were "longer"; the new "longer" is less likely by 16
    assert after == PathMemory(
        ON_PATH, length=5, value=(0, 0b11), offsets=(-12, -12, -12, 0, -4, -4, -20)
    )
    shorter = path(0, 0, -3, 0, -9).found_again(2, 1, 1, SETTINGS)
    assert shorter == PathMemory(ON_PATH, length=1, value=(0, 1), offsets=(0, 0, -12))
    again = path(0, 0, 0, -9).found_again(2, 0, 2, SETTINGS)
    assert again.offsets == (0, 0, 0, -9)


@given(offsets=OFFSETS, data=st.data(), leaves=st.integers(0, 1))
def test_moves_are_those_of_the_definition(
    offsets: list[int], data: st.DataObject, leaves: int
) -> None:
    published = data.draw(st.integers(0, len(offsets) - 2))
    longer, longest = data.draw(st.booleans()), data.draw(st.integers(len(offsets) - 2, 12))
    bottoms = data.draw(st.integers(0, 1))
    # of which so many at the front and at the back were convicted before
    front = data.draw(st.integers(0, (len(offsets) - 1) * leaves))
    back = data.draw(st.integers(0, (len(offsets) - 1 - front) * leaves))
    convicted = {*range(front), *range(len(offsets) - back, len(offsets))}
    memory = replace(path(*offsets), value=(3, 5), bottoms=bottoms, front=front, back=back)
    settings = replace(SETTINGS, leaves=leaves)
    after, following = moved(memory, published, longer=longer, longest=longest, settings=settings)
    expected = list(offsets)
    for place in range(len(offsets)):
        wrong = place <= published if longer else place >= published
        expected[place] -= 12 if wrong else 0
        convicted |= {place} if wrong and not bottoms else set()
    if leaves and len(convicted) == len(offsets):
        assert (after, following) == (PathMemory(SEARCHING), None)
        return
    expected = [max(offset - max(expected), -26) for offset in expected]
    each = [int(weight) for weight in WEIGHTS.of(np.array(expected))]
    # the first candidate with at least half of the weight up to it
    median = next(n for n in range(len(each)) if 2 * sum(each[: n + 1]) >= sum(each))
    if median < len(offsets) - 1:
        assert following == median
        assert replace(after, front=0, back=0) == replace(
            memory, bottoms=0, offsets=tuple(expected), front=0, back=0
        )
        left = set(range(after.front, len(offsets) - after.back))
        assert left == (
            set(range(len(offsets))) - convicted if leaves else set(range(len(offsets)))
        )
        return
    open_ones = [place for place, offset in enumerate(expected[:-1]) if offset > -12]
    shortest = min([*open_ones, len(offsets) - 1])
    assert following is None
    assert after == PathMemory(SEARCHING, shortest=shortest if shortest <= longest else 0)


@given(offsets=OFFSETS, data=st.data())
def test_blocks_are_found_again_as_the_definition_says(
    offsets: list[int], data: st.DataObject
) -> None:
    """Nothing of the path that was known is left but the offsets of its lengths."""
    known, settings = len(offsets) - 2, replace(SETTINGS, floor=30)
    published, length = data.draw(st.integers(0, known)), data.draw(st.integers(0, 14))
    value = data.draw(st.integers(0, (1 << length) - 1))
    memory = replace(path(*offsets), value=(3, 5))
    every = [offsets[min(place, known + 1)] for place in range(20)]
    for place in range(20):
        wrong = place <= published < length or place >= published > length
        every[place] -= 12 if wrong else 0
    beyond = max(every[length + 1 : max(length, known) + 2]) - (16 if length > known else 0)
    expected = [*every[: length + 1], beyond]
    expected = [max(offset - max(expected), -30) for offset in expected]
    found = memory.found_again(published, value, length, settings)
    assert found == PathMemory(
        ON_PATH, length=length, value=words_of(value), offsets=tuple(expected)
    )


@given(offsets=OFFSETS, lengths=st.lists(st.integers(0, 128), max_size=9))
def test_a_block_that_is_proposed_has_the_offset_of_its_length(
    offsets: list[int], lengths: list[int]
) -> None:
    found = path(*offsets).of_lengths(np.array(lengths, dtype=np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == [offsets[min(length, len(offsets) - 1)] for length in lengths]


@given(offsets=OFFSETS, data=st.data())
def test_offsets_are_never_positive_whatever_is_drawn(
    offsets: list[int], data: st.DataObject
) -> None:
    """Lemma B' needs it of all that is proposed."""
    offsets = [offset - max(offsets) for offset in offsets]
    memory = path(*offsets)
    published = data.draw(st.integers(0, memory.length))
    length = data.draw(st.integers(0, 12))
    found = memory.found_again(published, 0, length, SETTINGS)
    assert len(found.offsets) == length + 2
    assert max(found.offsets) == 0
    assert min(found.offsets) >= -26
    assert (memory.of_lengths(np.arange(20)) <= 0).all()
    after, following = moved(memory, published, longer=data.draw(st.booleans()))
    assert following is None or 0 <= following <= memory.length
    assert max(after.offsets, default=0) == 0


# --- as it is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "memory",
    [
        PathMemory(INHERITED),
        PathMemory(SEARCHING, shortest=3),
        PathMemory(SEARCHING, bottoms=2),
        PathMemory(SEARCHING).found((1 << 128) - 1, 128, SETTINGS),
        replace(PathMemory(SEARCHING).found(1, 128, SETTINGS), front=3, back=1),
        PathMemory(SEARCHING).found(1, 128, SETTINGS).left().bottom(),
    ],
)
def test_a_memory_is_stored_and_read(memory: PathMemory) -> None:
    assert memory_from_dict(memory.to_dict()) == memory
    assert memory_from_dict(unpack(pack(memory.to_dict()))) == memory


def test_settings_are_stored_and_read() -> None:
    values = SETTINGS.to_dict()
    assert values == {
        "word": "path",
        "conviction": 12,
        "floor": 26,
        "bit": 2,
        "longer": 16,
        "full_length": 160,
    }
    assert settings_from_dict(values) == SETTINGS
    assert settings_from_dict(LEAVING.to_dict()) == LEAVING
    assert LEAVING.to_dict() == {**values, "leaves": 1}
    asking = replace(LEAVING, elsewhere=17)
    assert settings_from_dict(asking.to_dict()) == asking
    assert asking.to_dict() == {**values, "leaves": 1, "elsewhere": 17}


@pytest.mark.parametrize(
    "changes",
    [
        {"conviction": 0}, {"floor": 0}, {"bit": -1}, {"longer": -1}, {"full_length": 0},
        {"leaves": -1}, {"leaves": 2}, {"elsewhere": -1}, {"elsewhere": OFFSET_MAX + 1},
        *({name: OFFSET_MAX + 1} for name in ("conviction", "floor", "bit", "longer")),
        {"full_length": OFFSET_MAX + 1},
    ],
)  # fmt: skip
def test_values_out_of_range_are_said(changes: dict[str, Any]) -> None:
    assert SETTINGS.wrong() is None
    (name,) = changes
    assert name in str(replace(SETTINGS, **changes).wrong())
