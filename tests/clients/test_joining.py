"""Rows of single examples: what is taken, what is refused, and the columns that leave."""

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.batches import Piece
from littled_client.errors import ExampleError
from littled_client.joining import JOINED_EXAMPLES_A_LOOK, JOINED_EXAMPLES_MAX, Rows, lone
from littled_client.outbox import Outbox
from littled_client.users import UserDigests, user_digest
from littled_protocol.columns import point_type
from littled_protocol.messages import Opened, Welcome

SCALARS = {"u8": 2**8, "u16": 2**16, "u32": 2**32, "u64": 2**64, "u128": 2**128}


@st.composite
def examples(draw: st.DrawFn) -> tuple[str, list[Any], list[int], list[Any] | None]:
    """A type of points, and points, labels and perhaps users of that type."""
    x_type = draw(st.sampled_from([*SCALARS, "u16x3"]))
    size = SCALARS.get(x_type)
    point: Any = st.lists(st.integers(0, 65535), min_size=3, max_size=3)
    if size is not None:
        point = st.integers(0, size - 1)
    x = draw(st.lists(point, min_size=1, max_size=60))
    y = draw(st.lists(st.integers(0, 1), min_size=len(x), max_size=len(x)))
    user = st.text("abc", min_size=1, max_size=2) | st.integers() | st.binary(min_size=1)
    users = draw(st.none() | st.lists(user, min_size=len(x), max_size=len(x)))
    return x_type, x, y, users


@given(examples())
def test_the_columns_are_those_of_a_batch(
    given_examples: tuple[str, list[Any], list[int], list[Any] | None],
) -> None:
    x_type, x, y, users = given_examples
    outbox = Outbox(0)
    outbox.opened(
        Welcome(1, "test", "store", 4096, 4096),
        Opened(0, "flights", x_type, 0, 0, None if users is None else True),
    )
    rows = Rows(point_type(x_type), None if users is None else UserDigests())
    for i, point in enumerate(x):
        heard = rows.add(point, y[i], None if users is None else users[i])
        assert heard == (i % JOINED_EXAMPLES_A_LOOK == 0)
        if heard:
            rows.heard()
    assert len(rows) == len(x)
    (expected,) = outbox.cut(x, y, users)
    assert rows.first() == expected
    frames: deque[str] = deque()
    rows.leave(len(x), frames, "a frame")
    assert list(frames) == ["a frame"]
    assert rows.first() is None


@pytest.mark.parametrize(
    ("x_type", "x"),
    [
        *[(name, bad) for name in SCALARS for bad in (-1, SCALARS[name], 1.5, None, [1], (1,))],
        *[("u8", bad) for bad in (1.0, "1", b"1", np.int16(256), np.float64(1), 2**70)],
        *[("u16x3", bad) for bad in (1, [1, 2], [1, 2, 3, 4], [1, 2, 65536], [1, 2, -1])],
        *[("u16x3", bad) for bad in ({1, 2, 3}, [1, 2, 3.0], ["1", "2"], None, [[1], [2], [3]])],
    ],
)  # fmt: skip
def test_what_is_no_point_is_refused_and_leaves_no_trace(x_type: str, x: Any) -> None:
    rows = Rows(point_type(x_type), None)
    with pytest.raises(ExampleError, match="x ") as caught:
        rows.add(x, 1)
    assert caught.value.__context__ is None
    assert len(rows) == 0


@pytest.mark.parametrize("y", [2, -1, 0.5, "1", None, [1], np.uint8(2), float("nan")])
def test_what_is_no_label_is_refused(y: Any) -> None:
    rows = Rows(point_type("u8"), None)
    with pytest.raises(ExampleError, match="0 or 1"):
        rows.add(1, y)
    assert len(rows) == 0


def test_integers_of_numpy_and_other_labels_are_taken() -> None:
    rows = Rows(point_type("u16x3"), None)
    rows.add(np.array([1, 2, 3], dtype=np.uint16), True)
    rows.add((np.int64(1), True, 3), np.uint8(0))
    point = b"\x01\x00\x02\x00\x03\x00"
    assert rows.first() == Piece(2, point + b"\x01\x00\x01\x00\x03\x00", b"\x01\x00")


def test_a_wrong_user_leaves_no_trace() -> None:
    rows = Rows(point_type("u8"), UserDigests())
    for user in (None, "", 1.5, True):
        with pytest.raises(ExampleError, match="user"):
            rows.add(1, 1, user)
    assert len(rows) == 0
    rows.add(1, 1, "ann")
    rows.add_piece(Piece(1, b"\x02", b"\x00", user_digest("bob")))
    users = user_digest("ann") + user_digest("bob")
    assert rows.first() == Piece(2, b"\x01\x02", b"\x01\x00", users)


def test_no_more_than_a_frame_leaves_at_a_time_and_limits_may_change() -> None:
    rows = Rows(point_type("u64"), None)
    rows.fit(1 << 20)
    told = []
    for i in range(JOINED_EXAMPLES_MAX):
        told.append(rows.add(i, 0))
        if told[-1]:
            rows.heard()
    looks = range(JOINED_EXAMPLES_A_LOOK, JOINED_EXAMPLES_MAX, JOINED_EXAMPLES_A_LOOK)
    assert [i for i, now in enumerate(told) if now] == [0, *looks, JOINED_EXAMPLES_MAX - 1]
    assert rows.full
    rows.fit(4096)
    counts = []
    while (piece := rows.first()) is not None:
        counts.append(piece.count)
        rows.leave(piece.count, deque(), piece)
    assert counts == [444, 444, 136]


def test_the_feeder_hears_again_until_it_has_looked() -> None:
    rows = Rows(point_type("u8"), None)
    rows.fit(1 << 20)
    assert [rows.add(1, 0) for _ in range(3)] == [True] * 3
    rows.heard()
    assert [rows.add(1, 0) for _ in range(JOINED_EXAMPLES_A_LOOK)] == [
        *[False] * (JOINED_EXAMPLES_A_LOOK - 1),
        True,
    ]
    rows.leave(len(rows), deque(), None)
    assert rows.add(1, 0)
    rows.heard()
    rows.hear_next()
    assert rows.add(1, 0)


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (([5], [1], None), (5, 1, None)),
        (([[1, 2]], [True], ["ann"]), ([1, 2], True, "ann")),
        (([5, 6], [1, 0], None), None),
        (([5], [1, 0], None), None),
        (((5,), (1,), None), None),
        (([5], [1.0], None), None),
        (([5], [1], []), None),
        (([5], [1], "a"), None),
        (([], [], None), None),
        ((5, 1, None), None),
        ((np.array([5]), np.array([1]), None), None),
    ],
)
def test_a_batch_of_one_in_plain_lists_is_found(batch: Any, expected: Any) -> None:
    assert lone(*batch) == expected
