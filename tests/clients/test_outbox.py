"""The outbox: numbers, credit, acknowledgements, and what is sent again; no sockets."""

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.batches import FRAME_OVERHEAD_BYTES_MAX, Piece
from littled_client.errors import ChangedStoreError, ClientError, ExampleError
from littled_client.joining import JOINED_EXAMPLES_MAX
from littled_client.outbox import Outbox
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.messages import Ack, Examples, Opened, Welcome

LEAST = limits.credit_bytes_min


def welcome(credit_bytes: int = limits.credit_bytes, frame_bytes_max: int = 4096) -> Welcome:
    return Welcome(1, "test", "store", credit_bytes, frame_bytes_max)


def opened(next_sequence: int = 0, x_type: str = "u8", users: bool | None = None) -> Opened:
    return Opened(0, "flights", x_type, next_sequence, 100 + next_sequence, users)


def open_outbox(
    next_sequence: int = 0, x_type: str = "u8", users: bool | None = None, **limit: int
) -> Outbox:
    outbox = Outbox(0)
    outbox.opened(welcome(**limit), opened(next_sequence, x_type, users))
    return outbox


def digests(users: list[str]) -> bytes:
    return b"".join(hashlib.blake2b(user.encode(), digest_size=16).digest() for user in users)


def take(outbox: Outbox, count: int) -> Examples:
    message = outbox.take(Piece(count, bytes(count), bytes(count)))
    assert message is not None
    return message


def ack(outbox: Outbox, next_sequence: int) -> None:
    outbox.acknowledge(Ack(0, next_sequence, 1000 + next_sequence))


def sequences(messages: Any) -> list[int]:
    return [message.sequence for message in messages]


def test_numbers_go_on_from_where_the_producer_stood() -> None:
    outbox = open_outbox(7)
    assert (outbox.next_sequence, outbox.acknowledged, outbox.position) == (7, 7, 107)
    assert outbox.settled
    assert take(outbox, 3) == Examples(0, 7, 3, bytes(3), bytes(3))
    assert take(outbox, 1).sequence == 10
    assert outbox.next_sequence == 11
    assert not outbox.settled
    ack(outbox, 11)
    assert (outbox.acknowledged, outbox.position, outbox.settled) == (11, 1011, True)


def test_a_single_example_uses_the_least_credit_and_gets_it_back() -> None:
    outbox = open_outbox(credit_bytes=LEAST)
    count = 0
    while outbox.has_room(2):
        take(outbox, 1)
        count += 1
    assert count == LEAST // limits.frame_credit_bytes_min
    ack(outbox, 1)
    assert outbox.has_room(2)
    take(outbox, 1)
    assert not outbox.has_room(2)


def test_part_of_a_frame_gives_no_credit_back() -> None:
    outbox = open_outbox(credit_bytes=LEAST)
    take(outbox, 1500)
    assert not outbox.has_room(1000)
    assert outbox.take(Piece(500, bytes(500), bytes(500))) is None
    assert outbox.next_sequence == 1500
    ack(outbox, 1499)
    assert not outbox.has_room(1000)
    ack(outbox, 1500)
    assert outbox.has_room(1000)


def test_an_old_acknowledgement_changes_nothing() -> None:
    outbox = open_outbox()
    take(outbox, 5)
    ack(outbox, 5)
    ack(outbox, 2)
    assert outbox.acknowledged == 5


def test_an_acknowledgement_of_the_future_is_refused() -> None:
    outbox = open_outbox()
    take(outbox, 5)
    with pytest.raises(ChangedStoreError):
        ack(outbox, 6)


def test_after_a_loss_only_what_is_not_durable_is_sent_again() -> None:
    outbox = open_outbox()
    for count in (3, 4, 5):
        take(outbox, count)
    ack(outbox, 3)
    outbox.opened(welcome(), opened(5))
    assert not outbox.has_room(1), "new examples must wait for old ones"
    assert sequences(outbox.again()) == [3, 7]
    assert outbox.has_room(1)
    assert take(outbox, 1).sequence == 12
    ack(outbox, 13)
    assert outbox.settled


def test_sending_again_respects_the_credit() -> None:
    outbox = open_outbox()
    for _ in range(4):
        take(outbox, 1500)
    outbox.opened(welcome(credit_bytes=2 * 3200), opened(0))
    assert sequences(outbox.again()) == [0, 1500]
    assert sequences(outbox.again()) == []
    ack(outbox, 1500)
    assert sequences(outbox.again()) == [3000]
    ack(outbox, 4500)
    assert sequences(outbox.again()) == [4500]


def test_what_is_acknowledged_before_it_is_sent_again_is_not_sent() -> None:
    outbox = open_outbox()
    for _ in range(4):
        take(outbox, 1500)
    outbox.opened(welcome(credit_bytes=2 * 3200), opened(0))
    assert sequences(outbox.again()) == [0, 1500]
    ack(outbox, 6000)
    assert sequences(outbox.again()) == []
    assert outbox.settled
    assert [take(outbox, 1500).sequence for _ in range(2)] == [6000, 7500]
    assert not outbox.has_room(1500 * 2)


def test_a_loss_while_sending_again_keeps_the_order() -> None:
    outbox = open_outbox()
    for _ in range(4):
        take(outbox, 1500)
    outbox.opened(welcome(credit_bytes=2 * 3200), opened(0))
    assert sequences(outbox.again()) == [0, 1500]
    outbox.opened(welcome(), opened(1500))
    assert sequences(outbox.again()) == [1500, 3000, 4500]


@pytest.mark.parametrize(
    ("next_sequence", "words"), [(4, "had acknowledged 5"), (11, "somebody else")]
)
def test_another_history_is_noticed(next_sequence: int, words: str) -> None:
    outbox = open_outbox()
    take(outbox, 10)
    ack(outbox, 5)
    with pytest.raises(ChangedStoreError, match=words):
        outbox.opened(welcome(), opened(next_sequence))


def test_frames_that_became_too_large_are_noticed() -> None:
    outbox = open_outbox(frame_bytes_max=limits.frame_bytes_max)
    take(outbox, 10_000)
    with pytest.raises(ChangedStoreError, match="limit"):
        outbox.opened(welcome(), opened(0))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("x_type", ["u8", "u16", "u32", "u64", "u128", "u16x3"])
def test_every_piece_of_a_batch_fits_into_a_frame(x_type: str, named: bool) -> None:
    outbox = open_outbox(x_type=x_type, users=named)
    kind = outbox.point_type
    assert kind is not None
    shape = (5000,) if kind.columns == 1 else (5000, kind.columns)
    x = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape).astype(kind.dtype)
    y = (np.arange(5000) % 2).astype(np.uint8)
    users = [f"user {i % 1700}" for i in range(5000)] if named else None
    pieces = list(outbox.cut(x, y, users))
    assert sum(piece.count for piece in pieces) == 5000
    assert b"".join(piece.x for piece in pieces) == kind.encode(x)
    assert b"".join(piece.y for piece in pieces) == y.tobytes()
    if users is not None:
        assert b"".join(piece.users or b"" for piece in pieces) == digests(users)
    for piece in pieces:
        assert outbox.has_room(piece.size_bytes)
        message = outbox.take(piece)
        assert message is not None
        assert (message.users is not None) == named
        assert len(encode_frame(message)) <= piece.size_bytes + FRAME_OVERHEAD_BYTES_MAX <= 4096
        assert piece.count > 0


@pytest.mark.parametrize(
    ("x_type", "point", "expected"),
    [
        ("u8", 255, b"\xff"),
        ("u16", np.uint8(7), b"\x07\x00"),
        ("u32", 1, b"\x01\x00\x00\x00"),
        ("u64", 2**64 - 1, b"\xff" * 8),
        ("u128", 2**64, b"\x00" * 7 + b"\x01" + b"\x00" * 8),
        ("u128", "::1", b"\x00" * 15 + b"\x01"),
        ("u16x3", [1, 2, 256], b"\x01\x00\x02\x00\x00\x01"),
    ],
)
def test_one_example_becomes_its_columns(x_type: str, point: Any, expected: bytes) -> None:
    outbox = open_outbox(x_type=x_type)
    assert outbox.join(point, 1), "it waits alone"
    assert outbox.next_sequence == 1
    assert outbox.take_joined() == Examples(0, 0, 1, expected, b"\x01")
    assert outbox.take_joined() is None
    assert outbox.join(point, np.False_)
    outbox.heard()
    assert not outbox.join(point, np.True_), "it waits beside another"
    assert outbox.take_joined() == Examples(0, 1, 2, expected * 2, b"\x00\x01")
    named = open_outbox(x_type=x_type, users=True)
    for user in ("ann", 17, b"ann", np.int64(17)):
        named.join(point, 1, user)
    users = digests(["ann", "17", "ann", "17"])
    assert named.take_joined() == Examples(0, 0, 4, expected * 4, b"\x01" * 4, users)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("x_type", ["u8", "u64", "u128", "u16x3", "u16x1024"])
def test_what_has_joined_fits_into_a_frame(x_type: str, named: bool) -> None:
    outbox = open_outbox(x_type=x_type, users=named)
    kind = outbox.point_type
    assert kind is not None
    point = 7 if kind.columns == 1 or x_type == "u128" else [7] * kind.columns
    count = 0
    while not outbox.full:
        count += 1
        outbox.join(point, count % 2, "ann" if named else None)
    assert 1 <= count <= JOINED_EXAMPLES_MAX
    assert outbox.join(point, 0, "ann" if named else None), "one that came while it is full"
    message = outbox.take_joined()
    assert message is not None
    assert (message.count, outbox.joined) == (count, 1)
    assert len(encode_frame(message)) <= 4096
    assert len(message.y) == count


def test_single_examples_and_batches_are_numbered_in_their_order() -> None:
    outbox = open_outbox(5)
    assert not outbox.under_way
    outbox.join(1, 1)
    assert (outbox.joined, outbox.next_sequence, outbox.settled) == (1, 6, False)
    assert not outbox.under_way, "it has no frame yet"
    assert not outbox.has_room(1), "single examples go first"
    message = outbox.take_joined()
    assert message is not None
    assert (message.sequence, take(outbox, 3).sequence) == (5, 6)
    outbox.join_piece(Piece(1, b"\x02", b"\x01"))
    assert outbox.under_way
    with pytest.raises(ChangedStoreError, match="never sent"):
        ack(outbox, 10)
    ack(outbox, 9)
    assert (outbox.under_way, outbox.settled) == (False, False)
    with pytest.raises(ChangedStoreError, match="somebody else"):
        outbox.opened(welcome(), opened(10))


def test_what_joined_waits_for_credit_and_for_what_is_sent_again() -> None:
    outbox = open_outbox(credit_bytes=LEAST)
    take(outbox, 1900)
    for _ in range(200):
        outbox.join(1, 1)
    assert outbox.take_joined() is None
    assert (outbox.joined, outbox.next_sequence) == (200, 2100)
    outbox.opened(welcome(credit_bytes=LEAST), opened(0))
    assert outbox.take_joined() is None
    assert sequences(outbox.again()) == [0]
    assert outbox.take_joined() is None
    ack(outbox, 1900)
    message = outbox.take_joined()
    assert message is not None
    assert (message.sequence, message.count) == (1900, 200)


def test_users_are_named_exactly_where_the_stream_protects_them() -> None:
    plain, named = open_outbox(), open_outbox(users=True)
    assert (plain.names_users, named.names_users) == (False, True)
    for cut in (lambda: named.cut([1], [1]), lambda: named.join(1, 1)):
        with pytest.raises(ExampleError, match="protects users"):
            cut()
    for cut in (lambda: plain.cut([1], [1], ["ann"]), lambda: plain.join(1, 1, "ann")):
        with pytest.raises(ExampleError, match="takes no users"):
            cut()
    for few in ([], ["ann"], ["ann", "bob", "eve"]):
        with pytest.raises(ExampleError, match="one user for each example"):
            named.cut([1, 2], [0, 1], few)
    assert named.next_sequence == 0


@pytest.mark.parametrize("point", [256, -1, 1.0, "1", None, [1]])
def test_one_impossible_point_is_refused(point: Any) -> None:
    with pytest.raises(ExampleError, match="u8") as caught:
        open_outbox().join(point, 1)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("label", [2, -1, "1", None, [1]])
def test_one_impossible_label_is_refused(label: Any) -> None:
    with pytest.raises(ExampleError, match="0 or 1"):
        open_outbox().join(1, label)


def test_nothing_can_be_taken_before_the_stream_is_open() -> None:
    outbox = Outbox(0)
    for use in (
        lambda: outbox.cut([1], [1]),
        lambda: outbox.join(1, 1),
        lambda: outbox.x_type,
    ):
        with pytest.raises(ClientError, match="not open"):
            use()


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("take"), st.integers(1, 1900)),
            st.tuples(st.just("join"), st.integers(1, 40)),
            st.tuples(st.just("ack"), st.floats(0, 1)),
            st.tuples(st.just("lose"), st.floats(0, 1)),
        ),
        max_size=60,
    )
)
def test_every_example_arrives_once_and_in_order_whatever_happens(steps: list[Any]) -> None:
    outbox = open_outbox(credit_bytes=3 * LEAST)
    wire: list[Examples] = []
    durable = taken = 0

    def deliver(limit: int) -> int:
        """The daemon's side: keep frames in order up to a point, trimmed by their numbers."""
        at = durable
        for message in wire:
            if message.sequence <= at and message.sequence + message.count <= limit:
                at = max(at, message.sequence + message.count)
        return at

    for what, amount in steps:
        if what == "join":
            for _ in range(amount):
                if not outbox.full:
                    outbox.join(0, 0)
                    taken += 1
        elif what == "take":
            while (message := outbox.take_joined()) is not None:
                wire.append(message)
            if outbox.has_room(2 * amount):
                wire.append(take(outbox, amount))
                taken += amount
        else:
            durable = deliver(durable + int(amount * (taken - durable)) + 1)
            if what == "ack":
                ack(outbox, durable)
            else:
                wire = []
                outbox.opened(welcome(credit_bytes=3 * LEAST), opened(durable))
            wire += outbox.again()
        assert outbox.next_sequence == taken
    while durable < taken:
        durable = deliver(taken)
        ack(outbox, durable)
        wire += outbox.again()
        while (message := outbox.take_joined()) is not None:
            wire.append(message)
    assert outbox.settled
