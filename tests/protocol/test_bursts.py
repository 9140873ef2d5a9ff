"""Bursts against the same frames one by one: whatever comes, and however it is cut."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import msgpack
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled_protocol import bursts, limits
from littled_protocol.bursts import Burst
from littled_protocol.codec import UsualForm, encode_frame, frame
from littled_protocol.connection import CLOSED, NEED_DATA, Connection, Event, Role, State
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Ack, Examples, Hello, Open, Opened, Ping, Subscribe, Welcome

Seen = tuple[Event, int]
"""An event, and the whole length of its frame."""


def greeted(credit_bytes: int = limits.credit_bytes, channels: int = 2) -> Connection:
    """A server that has let a client in and opened channels for it."""
    server = Connection(Role.SERVER)
    take(server, encode_frame(Hello(1, "test")))
    server.send(Welcome(1, "test", "store", credit_bytes, limits.frame_bytes_max))
    for channel in range(channels):
        take(server, encode_frame(Open(channel, "stream", f"producer-{channel}")))
        server.send(Opened(channel, "stream", "u8", 0, 0))
    return server


def take(server: Connection, data: bytes, *, bursts: bool = False) -> list[Seen]:
    """Give data to a server; return what came of it, bursts as their messages."""
    server.receive_data(data)
    seen: list[Seen] = []
    while True:
        burst = server.next_burst() if bursts else None
        if burst is not None:
            assert burst.frame_bytes == server.frame_bytes
            seen.extend((message, burst.frame_bytes) for message in burst.messages())
            continue
        event = server.next_event()
        if event is NEED_DATA:
            return seen
        seen.append((event, server.frame_bytes))
        if event is CLOSED:
            return seen


def bursts_of(server: Connection, data: bytes) -> list[Burst | None]:
    """The bursts of data, with None for each single event between them."""
    server.receive_data(data)
    found: list[Burst | None] = []
    while True:
        burst = server.next_burst()
        if burst is None and server.next_event() is NEED_DATA:
            return found
        found.append(burst)


def run(count: int, frames: int, first: int = 0, channel: int = 0, *, users: bool = False) -> bytes:
    """Frames of so many examples each, one after the other."""
    noise = random.Random(f"{count} {frames} {first}")
    return b"".join(
        encode_frame(
            Examples(
                channel,
                first + index * count,
                count,
                noise.randbytes(count),
                bytes(noise.randrange(2) for _ in range(count)),
                noise.randbytes(16 * count) if users else None,
            )
        )
        for index in range(frames)
    )


# --- Bursts ---------------------------------------------------------------------------------------


def test_frames_of_one_kind_are_few_bursts() -> None:
    frames = 5_000
    server = greeted()
    found = bursts_of(server, run(1, frames, first=70_000))
    assert None not in found
    assert sum(burst.frames for burst in found if burst) == frames
    assert len(found) < 12
    assert found[0] is not None
    assert found[0].sequence == 70_000
    assert (found[0].count, len(found[0].x), len(found[0].y)) == (1, 16, 16)


def test_a_burst_ends_where_a_number_takes_more_bytes() -> None:
    found = [burst for burst in bursts_of(greeted(), run(1, 300)) if burst]
    ends = {burst.sequence + burst.frames for burst in found}
    assert {128, 256, 300} <= ends
    assert sum(burst.frames for burst in found) >= 297


def test_a_lone_frame_is_no_burst() -> None:
    server = greeted()
    server.receive_data(run(3, 1))
    assert server.next_burst() is None
    assert isinstance(server.next_event(), Examples)


@pytest.mark.parametrize("users", [False, True])
def test_a_long_frame_alone_is_one(users: bool) -> None:
    server, data = greeted(), run(5_000, 1, first=7, users=users)
    server.receive_data(data[:-1])
    assert server.next_burst() is None
    assert server.needs_data()
    server.receive_data(data[-1:] + data[:3])
    assert not server.needs_data()
    burst = server.next_burst()
    assert burst is not None
    assert [(message, len(data)) for message in burst.messages()] == take(greeted(), data)
    assert server.credit_left_bytes == limits.credit_bytes - limits.credit_of_frame(len(data))
    assert server.needs_data()


@pytest.mark.parametrize("state", [State.START, State.READY])
def test_a_long_frame_that_is_not_due_is_none(state: State) -> None:
    server = Connection(Role.SERVER) if state is State.START else greeted(channels=0)
    server.receive_data(run(5_000, 1))
    assert server.next_burst() is None
    assert not server.needs_data()
    with pytest.raises(ProtocolError):
        server.next_event()


def test_a_long_frame_beyond_the_credit_is_none() -> None:
    server, data = greeted(credit_bytes=limits.credit_of_frame(10_100)), run(5_000, 2, first=70_000)
    server.receive_data(data)
    assert [burst and burst.frames for burst in (server.next_burst(), server.next_burst())] == [
        1,
        None,
    ]
    with pytest.raises(ProtocolError) as refused:
        server.next_event()
    assert refused.value.code.value == "credit_exceeded"


def test_a_long_frame_in_another_form_is_decoded_by_itself() -> None:
    fields = {"count": 5_000, "type": "examples", "channel": 0, "sequence": 0}
    body = frame(msgpack.packb({**fields, "x": bytes(5_000), "y": bytes(5_000)}))
    assert take(greeted(), body, bursts=True) == take(greeted(), body)
    assert bursts_of(greeted(), body) == [None]


def test_data_is_needed_unless_a_whole_frame_or_an_error_waits() -> None:
    server = greeted()
    assert server.needs_data()
    server.receive_data(run(3, 1)[:2])
    assert server.needs_data()
    server.receive_data(run(3, 1)[2:])
    assert not server.needs_data()
    server.next_event()
    server.receive_data((limits.frame_bytes_max + 1).to_bytes(4, "big"))
    assert not server.needs_data(), "next_event raises"
    ended = greeted()
    ended.receive_data(b"")
    assert not ended.needs_data(), "next_event says CLOSED"


def test_half_a_frame_is_left() -> None:
    server, data = greeted(), run(2, 10)
    assert [burst and burst.frames for burst in bursts_of(server, data[:-1])] == [9]
    assert bursts_of(server, data[-1:]) == [None]


def test_credit_ends_a_burst() -> None:
    server = greeted(credit_bytes=16 * limits.frame_credit_bytes_min)
    server.receive_data(run(1, 17))
    burst = server.next_burst()
    assert burst is not None
    assert (burst.frames, server.credit_left_bytes) == (16, 0)
    assert server.next_burst() is None
    with pytest.raises(ProtocolError) as refused:
        server.next_event()
    assert refused.value.code.value == "credit_exceeded"


@pytest.mark.parametrize("state", [State.START, State.READY])
def test_examples_that_are_not_due_are_no_burst(state: State) -> None:
    server = Connection(Role.SERVER) if state is State.START else greeted(channels=0)
    server.receive_data(run(1, 4))
    assert server.next_burst() is None
    with pytest.raises(ProtocolError):
        server.next_event()


def test_a_client_has_no_bursts() -> None:
    client = Connection(Role.CLIENT)
    client.receive_data(run(1, 4))
    assert client.next_burst() is None


def test_looking_for_bursts_in_vain_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    alike = bursts._alike

    def compared(rows: NDArray[np.uint8], form: UsualForm, start: int) -> NDArray[np.uint8]:
        looked_at.append(len(rows))
        return alike(rows, form, start)

    monkeypatch.setattr(bursts, "_alike", compared)
    server, first, data = greeted(), 1_000, []
    for _ in range(500):  # frames of one length, of which two at most go together
        data.append(run(1, 2, first) + run(1, 1, first + 5_000, channel=1))
        first += 2
    take(server, run(1, 700, first=4_000) + b"".join(data), bursts=True)
    assert sum(looked_at) < 4 * (700 + 1_500)


def test_bytes_that_wait_are_counted_and_others_let_go() -> None:
    server, data = greeted(), run(5_000, 20, first=70_000)
    length = len(data) // 20
    assert (server.buffered_bytes, server.frame_pending_bytes) == (0, 0)
    server.receive_data(data + data[:3])
    assert (server.buffered_bytes, server.frame_pending_bytes) == (len(data) + 3, length)
    while server.next_burst() is not None or server.next_event() is not NEED_DATA:
        assert server.buffered_bytes >= 3
    assert (server.buffered_bytes, server.frame_pending_bytes) == (3, 0)
    assert sys.getsizeof(server._buffer) < 200
    server.receive_data(data[3:4])
    assert (server.buffered_bytes, server.frame_pending_bytes) == (4, length)


# --- Acknowledgements -----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_an_acknowledgement_of_a_part_gives_back_the_credit_of_its_frames(count: int) -> None:
    server, slow = greeted(), greeted()
    data = run(count, 40, first=200)
    take(server, data, bursts=True)
    take(slow, data)
    assert server.credit_left_bytes == slow.credit_left_bytes < limits.credit_bytes
    for number in (200, 201, 203, 204, 218, 219, 220, 200 + 40 * count - 1, 200 + 40 * count):
        for each in (server, slow):
            each.send(Ack(0, number, number))
        assert server.credit_left_bytes == slow.credit_left_bytes, number
    assert server.credit_left_bytes == limits.credit_bytes


def test_repeats_out_of_order_give_back_their_credit_alike() -> None:
    server, slow = greeted(), greeted()
    data = run(2, 30, first=300) + run(2, 30, first=280) + run(2, 5, first=400)
    take(server, data, bursts=True)
    take(slow, data)
    for number in (290, 310, 340, 360, 402, 410):
        for each in (server, slow):
            each.send(Ack(0, number, number))
        assert server.credit_left_bytes == slow.credit_left_bytes, number
    assert server.credit_left_bytes == limits.credit_bytes


# --- Frame by frame -------------------------------------------------------------------------------


def outcome(data: bytes, cuts: Sequence[int], *, bursts: bool) -> tuple[list[object], Connection]:
    """What a server makes of data that comes in pieces, with acknowledgements in between."""
    server, seen = greeted(credit_bytes=60_000), list[object]()
    acknowledged = [0, 0]
    for number, (begin, end) in enumerate(pairwise((0, *cuts, len(data)))):
        if begin == end:
            continue  # no data would be the end
        try:
            for event, frame_bytes in take(server, data[begin:end], bursts=bursts):
                seen.append((event, frame_bytes))
                if isinstance(event, Examples):
                    acknowledged[event.channel] = event.sequence + event.count // 2
        except ProtocolError as error:
            seen.append((error.code, error.message))
        if server.state is State.READY and number % 3 == 2:
            channel = number % 2
            server.send(Ack(channel, acknowledged[channel], 5))
        seen.append((server.state, server.credit_left_bytes, server.frame_begun))
    return seen, server


def wide(message: Examples, bits: int) -> bytes:
    """The frame of a message with its sequence number in so many bits, however small it is."""
    data = encode_frame(replace(message, sequence=2**63 - 1 - message.count))[4:]
    tag, number = {8: 0xCC, 16: 0xCD, 32: 0xCE, 64: 0xCF}[bits], message.sequence
    start = data.index(b"\xa8sequence") + 9
    number_bytes = (number % 2**bits).to_bytes(bits // 8, "big")
    return frame(data[:start] + bytes([tag]) + number_bytes + data[start + 9 :])


RUNS = st.tuples(
    st.sampled_from([0, 0, 0, 1, 2]),  # channel; 2 is not open
    st.sampled_from([1, 1, 2, 5, 300]),  # examples of a frame
    st.integers(1, 40),  # frames
    st.sampled_from([0, 100, 120, 127, 250, 65_500, 2**32 - 9, 2**63 - 40]),  # first number
    st.booleans(),  # users
)
TWISTS = st.sampled_from(
    ["none", "none", "flip", "flip", "list", "ping", "drop", "wide", "repeat", "end", "garbage"]
)


@st.composite
def feeds(draw: st.DrawFn) -> bytes:
    """Runs of frames, most of them good, some with something in the middle."""
    data: list[bytes] = []
    for channel, count, frames, first, users in draw(st.lists(RUNS, min_size=1, max_size=4)):
        frames_of_run = [
            frame_at(channel, count, first + index * count, users=users)
            for index in range(frames)
            if first + (index + 1) * count < 2**63
        ]
        if frames_of_run:
            twist, where = draw(TWISTS), draw(st.integers(0, len(frames_of_run) - 1))
            offset, value = draw(st.integers(0, 120)), draw(st.integers(0, 255))
            twisted(frames_of_run, twist, where, offset, value)
        data.extend(frames_of_run)
    return b"".join(data)


def frame_at(channel: int, count: int, number: int, *, users: bool) -> bytes:
    """A frame whose columns follow from its number."""
    column = number.to_bytes(8, "big")
    return encode_frame(
        Examples(
            *(channel, number, count, (column * count)[-count:], bytes(count)),
            bytes(16 * count) if users else None,
        )
    )


def twisted(frames: list[bytes], twist: str, where: int, offset: int, value: int) -> None:
    """Change the frame at `where`."""
    data = bytearray(frames[where])
    if twist == "flip":
        data[offset % len(data)] = value
        frames[where] = bytes(data)
    elif twist == "list":
        frames[where] = encode_frame(Examples(0, 500, 2, [1, 2], [0, 1]))
    elif twist == "ping":
        frames.insert(where, encode_frame(Ping(value)))
    elif twist == "drop":
        del frames[where]
    elif twist == "wide":
        message = Examples(0, 100, 1, b"a", b"\0")
        numbers = range(100 + value % 100, 100 + value % 100 + 12)
        frames[where:where] = [wide(replace(message, sequence=n), 8) for n in numbers]
    elif twist == "repeat":
        frames[where:where] = frames[max(0, where - 5) : where]
    elif twist == "end":
        frames.insert(where, encode_frame(Subscribe("stream/learner", 0)))
    elif twist == "garbage":
        frames[where] = frame(bytes([value]) * (len(data) - 4))


def same(data: bytes, cuts: Sequence[int]) -> None:
    """Assert that bursts change nothing."""
    inside = sorted(cut for cut in cuts if cut < len(data))
    fast, server = outcome(data, inside, bursts=True)
    slow, other = outcome(data, inside, bursts=False)
    assert fast == slow
    assert server.frame_bytes == other.frame_bytes


@pytest.mark.long
@pytest.mark.no_cover
@settings(max_examples=300)
@given(feeds(), st.lists(st.integers(0, 20_000), max_size=8))
def test_bursts_are_what_their_frames_are_one_by_one(data: bytes, cuts: list[int]) -> None:
    same(data, cuts)


@pytest.mark.campaign
@settings(max_examples=20_000)
@given(feeds(), st.lists(st.integers(0, 20_000), max_size=12))
def test_many_bursts_are_what_their_frames_are_one_by_one(data: bytes, cuts: list[int]) -> None:
    same(data, cuts)


@pytest.mark.no_cover
def test_every_byte_of_a_frame_may_be_another() -> None:
    for users in (False, True):
        frames = [frame_at(0, 2, 120 + 2 * index, users=users) for index in range(6)]
        for offset in range(len(frames[3])):
            for value in (0, 1, 0x7F, 0x80, 0x92, 0xA1, 0xC4, 0xCC, 0xFF):
                data = list(frames)
                data[3] = frames[3][:offset] + bytes([value]) + frames[3][offset + 1 :]
                same(b"".join(data), [])


@given(st.integers(1, 12), st.sampled_from([8, 16, 32, 64]), st.integers(0, 300))
@example(frames=10, bits=8, first=250)
@example(frames=6, bits=64, first=2**63 - 4)
def test_numbers_may_be_longer_than_they_need_to_be(frames: int, bits: int, first: int) -> None:
    message = Examples(0, 0, 1, b"a", b"\1")
    data = [wide(replace(message, sequence=min(first + k, 2**63 - 2)), bits) for k in range(frames)]
    same(b"".join(data), [])


def test_a_number_that_is_its_own_tag_does_not_run_into_other_tags() -> None:
    good = frame_at(0, 1, 127, users=False)
    start = good.index(b"\xa8sequence") + 9
    data = [good[:start] + bytes([number]) + good[start + 1 :] for number in range(124, 132)]
    same(b"".join(data), [])
    with pytest.raises(ProtocolError):
        take(greeted(), b"".join(data), bursts=True)
