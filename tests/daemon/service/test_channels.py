"""Channels over real sockets: what producers may feed, what is refused, what is acknowledged."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.names import class_from_name
from littled.limits import WORK_AGAIN_UNITS
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.service.channels import Channel, ExampleSchema
from littled.service.daemon import _example_schema
from littled.store.store import Store
from littled_protocol.bursts import Burst
from littled_protocol.columns import point_type
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.messages import Ack, Examples, Open, Opened
from support.serving import Peer, Serving, serving


@pytest.fixture(scope="module")
def daemon(module_store: Path) -> Iterator[Serving]:
    """One daemon for the tests of this module; it must survive them all."""
    with serving(module_store) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []


@pytest.fixture
def peer(daemon: Serving) -> Iterator[Peer]:
    """A peer that was let in."""
    with Peer.greet(daemon.unix) as made:
        yield made


def labels(text: str) -> bytes:
    """Labels written as a text of 0 and 1."""
    return bytes(int(each) for each in text)


# --- Feeding --------------------------------------------------------------------------------------


@pytest.mark.long
def test_columns_and_lists_are_acknowledged(peer: Peer) -> None:
    opened = peer.open("flights", "lists")
    assert (opened.x_type, opened.next_sequence) == ("u8", 0)
    peer.feed(0, bytes([0, 255]), labels("01"))
    peer.send(Examples(0, 2, 3, [1, 2, 3], [0, True, False]))
    peer.send(Examples(0, 5, 1, b"\x07", [1]))
    peer.send(Examples(0, 6, 1, [200], b"\0"))
    assert peer.acknowledged(7)[-1].position == opened.position + 7


def test_acknowledgements_have_one_length(peer: Peer) -> None:
    peer.open("ids", "lengths")
    before = len(peer.received)
    peer.feed(0, bytes(8), labels("0"))
    peer.acknowledged(1)
    first = len(peer.received) - before
    peer.feed(1, bytes(8 * 40_000), bytes(40_000))
    acks = peer.acknowledged(40_001)
    assert len(peer.received) - before - first == first * len(acks)


def test_a_burst_becomes_few_records(daemon: Serving, peer: Peer, module_store: Path) -> None:
    peer.open("flights", "burst")
    frames = [Examples(0, index, 1, bytes([index % 256]), b"\0") for index in range(5_000)]
    peer.send(*frames)
    peer.acknowledged(5_000)
    with Store.open(module_store, read_only=True) as store:
        records = [each for each in store.records("flights") if each.producer == "burst"]
    assert b"".join(each.x for each in records) == bytes(index % 256 for index in range(5_000))
    assert len(records) < 1_000


def test_a_frame_may_come_byte_by_byte(peer: Peer) -> None:
    peer.open("flights", "drops")
    frame = peer.connection.send(Examples(0, 0, 3, b"abc", labels("010")))
    for index in range(len(frame)):
        peer.write(frame[index : index + 1])
    assert peer.acknowledged(3)


def test_repeated_examples_are_acknowledged_and_ignored(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as first:
        start = first.open("flights", "twice").position
        first.feed(0, b"abcd", labels("0101"))
        first.acknowledged(4)
        first.feed(0, b"abcd", labels("0101"))
        assert first.expect(Ack) == Ack(0, 4, start + 4)
        first.feed(2, b"cdef", labels("0111"))
        assert first.acknowledged(6)[-1].position == start + 6
    with Peer.greet(daemon.unix) as second:
        assert second.open("flights", "twice").next_sequence == 6
        second.feed(5, b"fg", labels("10"))
        assert second.acknowledged(7)[-1].position == start + 7


def test_a_repetition_of_what_is_on_its_way_is_covered_too(peer: Peer) -> None:
    start = peer.open("flights", "again").position
    batch = Examples(0, 0, 2, b"ab", labels("01"))
    peer.send(*[batch] * 50, Examples(0, 1, 2, b"bc", labels("11")))
    assert peer.acknowledged(3)[-1].position == start + 3


def test_many_channels_of_one_connection(peer: Peer) -> None:
    for number in range(40):
        assert peer.open("flights", f"many-{number}", channel=number).channel == number
    for number in range(40):
        peer.feed(0, b"a", labels("1"), channel=number)
    acks = [peer.expect(Ack) for _ in range(40)]
    assert sorted(each.channel for each in acks) == list(range(40))
    assert all(each.next_sequence == 1 for each in acks)


def test_a_newer_connection_takes_a_producer_over(daemon: Serving, peer: Peer) -> None:
    peer.open("flights", "moving")
    peer.feed(0, b"abc", labels("000"))
    with Peer.greet(daemon.unix) as newer:
        assert newer.open("flights", "moving").next_sequence == 3
        assert peer.error() == "producer_busy"
        newer.feed(3, b"d", labels("1"))
        assert newer.acknowledged(4)
        with Peer.greet(daemon.unix) as newest:
            assert newest.open("flights", "moving").next_sequence == 4


def test_one_connection_cannot_be_a_producer_twice(peer: Peer) -> None:
    peer.open("flights", "double", channel=0)
    peer.send(Open(1, "flights", "double"))
    assert peer.error() == "producer_busy"


def test_the_same_producer_may_feed_two_streams(peer: Peer) -> None:
    peer.open("flights", "both", channel=0)
    peer.open("ids", "both", channel=1)
    peer.feed(0, bytes(8), labels("0"), channel=1)
    assert peer.expect(Ack).channel == 1


# --- Refused examples -----------------------------------------------------------------------------

BAD = [
    Examples(0, 2, 2, b"ab", b"\0\2"),
    Examples(0, 2, 2, b"ab", b"\0"),
    Examples(0, 2, 2, b"abc", b"\0\0"),
    Examples(0, 2, 1, b"\xc8", b"\0"),  # 200 is the first point outside thresholds:200
    Examples(0, 2, 1, [200], [0]),
    Examples(0, 2, 2, [1, -1], [0, 0]),
    Examples(0, 2, 2, [1, 2], [0, 2]),
    Examples(0, 2, 1, [256], [0]),
    Examples(0, 2, 1, ["a"], [0]),
    Examples(0, 2, 1, [[1]], [0]),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_a_bad_batch_is_refused_whole(daemon: Serving, number: int) -> None:
    bad, name = BAD[number], f"bad-{number}"
    with Peer.greet(daemon.unix) as peer:
        start = peer.open("small", name).position
        good = Examples(0, 0, 2, b"\0\xc7", labels("01"))
        after = Examples(0, 2 + bad.count, 1, b"\1", labels("0"))
        peer.send(good, bad, after)
        assert peer.error() == "invalid_examples"
    with Peer.greet(daemon.unix) as again:
        opened = again.open("small", name)
        assert (opened.next_sequence, opened.position) == (2, start + 2)


def test_a_repetition_is_checked_as_well(peer: Peer) -> None:
    peer.open("small", "bad-repetition")
    peer.feed(0, b"ab", labels("01"))
    peer.acknowledged(2)
    peer.feed(0, b"ab", b"\0\5")
    assert peer.error() == "invalid_examples"


def test_a_gap_is_refused_and_what_came_before_it_is_kept(daemon: Serving, peer: Peer) -> None:
    peer.open("flights", "gap")
    peer.send(Examples(0, 0, 1, b"a", b"\0"), Examples(0, 2, 1, b"c", b"\0"))
    assert peer.error() == "sequence_gap"
    with Peer.greet(daemon.unix) as again:
        assert again.open("flights", "gap").next_sequence == 1


def test_a_bad_channel_does_not_take_the_others_examples_along(daemon: Serving, peer: Peer) -> None:
    peer.open("flights", "well", channel=0)
    peer.open("small", "ill", channel=1)
    peer.send(Examples(1, 0, 1, b"\xff", b"\0"), Examples(0, 0, 1, b"a", b"\0"))
    assert peer.error() == "invalid_examples"
    with Peer.greet(daemon.unix) as again:
        assert again.open("flights", "well").next_sequence == 1
        assert again.open("small", "ill", channel=1).next_sequence == 0


def test_what_was_sent_before_the_end_of_a_connection_is_kept(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        peer.open("flights", "leaving")
        peer.feed(0, b"abc", labels("010"))
    with Peer.greet(daemon.unix) as again:
        assert again.open("flights", "leaving").next_sequence in (0, 3)


# --- Bursts of equal frames -----------------------------------------------------------------------


def burst(count: int, frames: int, first: int = 0) -> list[Examples]:
    """Equal frames of so many examples each."""
    return [
        Examples(0, number, count, bytes((number + k) % 200 for k in range(count)), bytes(count))
        for number in range(first, first + count * frames, count)
    ]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("wrong", ["label", "point", "length", "list"])
def test_a_wrong_batch_in_the_middle_of_a_burst(daemon: Serving, count: int, wrong: str) -> None:
    name, frames = f"middle-{wrong}-{count}", burst(count, 300, first=0)
    good = 217
    x, y = bytes(count), bytes(count)
    columns: tuple[Any, Any] = {
        "label": (x, y[1:] + b"\2"),
        "point": (x[1:] + b"\xc8", y),
        "length": (x + b"a", y),
        "list": ([200] * count, y),
    }[wrong]
    frames[good] = Examples(0, good * count, count, *columns)
    with Peer.greet(daemon.unix) as peer:
        start = peer.open("small", name).position
        peer.send(*frames)
        assert peer.error() == "invalid_examples"
    with Peer.greet(daemon.unix) as again:
        opened = again.open("small", name)
        assert (opened.next_sequence, opened.position) == (good * count, start + good * count)


def test_every_batch_of_a_burst_has_a_wrong_length(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        peer.open("small", "all-wrong")
        peer.send(*(Examples(0, index, 1, b"ab", b"\0") for index in range(50)))
        assert peer.error() == "invalid_examples"


def test_a_burst_that_comes_again_is_stored_once(peer: Peer, module_store: Path) -> None:
    start = peer.open("flights", "burst-again").position
    frames = burst(2, 400)
    peer.send(*frames[:300])
    peer.acknowledged(600)
    peer.send(*frames[100:400], *frames[:50])
    assert peer.acknowledged(800)[-1].position == start + 800
    with Store.open(module_store, read_only=True) as store:
        records = [each for each in store.records("flights") if each.producer == "burst-again"]
    assert b"".join(each.x for each in records) == b"".join(bytes(each.x) for each in frames)


class Told:
    """In the place of a session, an intake and a queue: notes what a channel does."""

    def __init__(self, known: int) -> None:
        self.next_sequence = self.durable_sequence = known
        self.underway = 0
        self.stream = SimpleNamespace(position=100)
        self.columns = b"", b""
        self.acks: list[int] = []

    def add(self, _queue: object, run: Any, *, lone: bool = False) -> None:
        """Take over what is handed over."""
        assert (run.sequence, lone) == (self.next_sequence, False)
        x, y = self.columns
        self.columns = x + run.x, y + run.y
        self.next_sequence += run.count
        self.underway += 1

    def send(self, ack: Any) -> None:
        """Note an acknowledgement."""
        self.acks.append(ack.next_sequence)


def taken(known: int, burst: Burst, *, at_once: bool) -> tuple[Told, int, ErrorCode | None]:
    """What becomes of a burst after so many examples, taken as one or one by one."""
    told: Any = Told(known)
    channel = Channel(
        told, told, ExampleSchema(point_type("u16"), lambda x: bool((x < 9).all())), 0
    )
    channel.open(told)
    units = 0
    try:
        units = channel.take_burst(burst) if at_once else sum(map(channel.take, burst.messages()))
        channel.flush()
    except ProtocolError as error:
        return told, units, error.code
    return told, units, None


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 4), st.integers(1, 6), st.data())
def test_a_burst_is_taken_like_its_messages(
    known: int, sequence: int, count: int, frames: int, data: st.DataObject
) -> None:
    size = count * frames
    points = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    x = b"".join(point.to_bytes(2, "little") for point in points)
    y = bytes(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    burst = Burst(0, sequence, count, frames, 50, x, y, None)
    one, _, refused = taken(known, burst, at_once=False)
    all_, units, code = taken(known, burst, at_once=True)
    assert code == refused
    assert all_.next_sequence == one.next_sequence or refused
    if refused is None:
        assert all_.columns == one.columns
        assert set(all_.acks) == set(one.acks)
        # Once for all, and not once for each.
        assert len(all_.acks) <= 1
        assert units <= 1 + 2 * WORK_AGAIN_UNITS


def test_batches_that_come_again_are_looked_at_like_others() -> None:
    wrong = Burst(0, 0, 1, 3, 50, b"\1\0\x0a\0\2\0", b"\0\1\0", None)
    assert taken(10, wrong, at_once=True)[2] is ErrorCode.INVALID_EXAMPLES
    assert taken(0, wrong, at_once=True)[2] is ErrorCode.INVALID_EXAMPLES
    told, units, code = taken(10, replace(wrong, x=bytes(6)), at_once=True)
    assert (told.acks, units, code) == ([10], WORK_AGAIN_UNITS, None)


def test_a_gap_in_a_burst_is_refused_and_what_came_before_it_is_kept(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        peer.open("flights", "burst-gap")
        frames = burst(1, 100)
        peer.send(*frames[:60], *frames[61:])
        assert peer.error() == "sequence_gap"
    with Peer.greet(daemon.unix) as again:
        assert again.open("flights", "burst-gap").next_sequence == 60


# --- Domains --------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_door_looks_at_points_only_where_some_are_outside() -> None:
    def schema(name: str) -> ExampleSchema:
        learner = OnlineRequest("rule", class_from_name(name), noise_rate=Fraction(0))
        request = StreamRequest("s", Fraction(1), Fraction(1, 10**6), 1000, (learner,))
        return _example_schema(plan_stream(request), bytes(32))

    assert schema("thresholds:256").contains is None
    schema("thresholds:256").check(bytes([0, 255]), bytes(2), 2)
    with pytest.raises(ProtocolError, match="right length"):
        schema("thresholds:256").check(bytes(3), bytes(2), 2)
    schema("thresholds:200").check(bytes([0, 199]), bytes(2), 2)
    for points in (b"\xc8", bytes([0, 255, 0])):
        with pytest.raises(ProtocolError, match="outside the domain"):
            schema("thresholds:200").check(points, bytes(len(points)), len(points))


# --- Who waits ------------------------------------------------------------------------------------


class Watched:
    """In the place of an intake: notes whether what a channel hands over is called lone."""

    def __init__(self) -> None:
        self.lone: list[bool] = []

    def add(self, queue: object, run: object, *, lone: bool) -> None:
        """Note it."""
        self.lone.append(lone)


@pytest.mark.parametrize(
    ("messages", "last", "lone"), [(1, True, True), (1, False, False), (2, True, False)]
)
def test_a_message_is_lone_if_nothing_is_in_hand_beside_it(
    messages: int, last: bool, lone: bool
) -> None:
    watched: Any = Watched()
    session: Any = None
    channel = Channel(session, watched, ExampleSchema(point_type("u8"), lambda _: True), 0)
    queue: Any = SimpleNamespace(next_sequence=0)
    channel.open(queue)
    for number in range(messages):
        channel.take(Examples(0, number, 1, b"a", b"\0"))
    channel.flush(last=last)
    assert watched.lone == [lone]
    burst = Burst(0, messages, 1, 2, 10, b"ab", b"\0\1", None)
    channel.take_burst(burst)
    channel.flush(last=True)
    assert watched.lone == [lone, False]


# --- Places of sources ----------------------------------------------------------------------------


def reached(daemon: Serving, producer: str) -> tuple[int, bytes | None, int | None]:
    """Next number, place and number of the place of a producer, as a new channel hears them."""
    with Peer.greet(daemon.unix) as peer:
        peer.send(Open(0, "flights", producer, resumes=True))
        opened = peer.expect(Opened)
        return opened.next_sequence, opened.resume, opened.resume_sequence


def test_who_asks_hears_the_last_durable_place(daemon: Serving, peer: Peer) -> None:
    assert reached(daemon, "log") == (0, b"", 0)
    assert peer.open("flights", "log").resume is None
    # In one burst, of which the store makes one record.
    peer.send(
        Examples(0, 0, 2, b"ab", labels("01"), resume=b"at 2"),
        Examples(0, 2, 1, b"c", labels("1"), resume=b"at 3"),
        Examples(0, 3, 1, b"d", labels("1")),
    )
    peer.acknowledged(4)
    assert reached(daemon, "log") == (4, b"at 3", 3)


def test_a_repeated_batch_does_not_take_the_place_back(daemon: Serving) -> None:
    batches = [Examples(0, at, 1, b"a", b"\0", resume=b"%d" % (at + 1)) for at in range(3)]
    for sent in (batches, batches[:1], batches[:2]):
        with Peer.greet(daemon.unix) as peer:
            peer.open("flights", "repeated")
            peer.send(*sent)
            peer.acknowledged(3)
        assert reached(daemon, "repeated") == (3, b"3", 3)


def test_of_a_batch_that_overlaps_the_place_is_its_end(daemon: Serving) -> None:
    for first, count in ((0, 2), (1, 4)):
        with Peer.greet(daemon.unix) as peer:
            peer.open("flights", "overlapping")
            peer.send(Examples(0, first, count, bytes(count), bytes(count), resume=b"%d" % count))
            peer.acknowledged(first + count)
    assert reached(daemon, "overlapping") == (5, b"4", 5)


def test_a_batch_that_is_refused_has_no_place(daemon: Serving, peer: Peer) -> None:
    peer.open("small", "wrong")
    peer.send(
        Examples(0, 0, 1, b"a", b"\0", resume=b"good"),
        Examples(0, 1, 1, b"\xff", b"\0", resume=b"bad"),
    )
    assert peer.error() == "invalid_examples"
    with Peer.greet(daemon.unix) as again:
        again.send(Open(0, "small", "wrong", resumes=True))
        opened = again.expect(Opened)
    assert (opened.next_sequence, opened.resume) in {(1, b""), (1, b"good")}


def test_places_come_with_lists(daemon: Serving, peer: Peer) -> None:
    peer.open("flights", "lists-with-places")
    peer.send(Examples(0, 0, 3, [1, 2, 3], [0, True, False], resume=bytes(64)))
    peer.acknowledged(3)
    assert reached(daemon, "lists-with-places") == (3, bytes(64), 3)


def test_a_place_outlives_the_process(store: Path) -> None:
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "log")
        peer.send(Examples(0, 0, 2, b"ab", labels("01"), resume=b"two"))
        peer.acknowledged(2)
        daemon.kill()
    with serving(store) as daemon:
        assert reached(daemon, "log") == (2, b"two", 2)
