"""Turns at messages of many values: one at a time, origins in turn, and rests in between."""

import asyncio
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest

from littled.limits import (
    ALLOWANCE_UNITS_MAX,
    ALLOWANCE_UNITS_PER_SECOND,
    SCAN_REST_TIMES,
    SCAN_UNITS_MAX,
    SCAN_VALUES_MIN,
    WORK_UNIT_SECONDS,
    WORK_VALUES_PER_UNIT,
)
from littled.service.scanning import Scanning
from littled_protocol import limits
from littled_protocol.codec import encode, encode_frame, frame
from littled_protocol.messages import Examples, Ping, Pong
from support.serving import Peer, Serving, serving

# Units of a message after which the loop rests for 20 ms.
UNITS = 0.02 / (SCAN_REST_TIMES * WORK_UNIT_SECONDS)


class Scanner:
    """Somebody with messages of many values; notes when it may decode one."""

    def __init__(self, line: Scanning, origin: str, turns: list["Scanner"]) -> None:
        self.origin = origin
        self._line, self._turns = line, turns
        self.uses = True
        self.all_turns = asyncio.Event()

    def ask(self) -> bool:
        """Ask for a turn, and use it if it is there."""
        found = self._line.ask(self)
        if found:
            self.may_scan()
        return found

    def may_scan(self) -> None:
        """Take the turn, or pass it on."""
        self._turns.append(self)
        if len(self._turns) == 6:
            self.all_turns.set()
        if self.uses:
            self._line.done(self, UNITS)
        else:
            self._line.done(self)


async def test_turns_come_one_by_one_and_by_origin() -> None:
    line, turns = Scanning(), list[Scanner]()
    crowd = [Scanner(line, "crowd", turns) for _ in range(5)]
    other = Scanner(line, "other", turns)
    all_turns = asyncio.Event()
    for each in (*crowd, other):
        each.all_turns = all_turns
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert crowd[0].ask()
    assert not any(each.ask() for each in crowd[1:])
    assert not other.ask()
    assert not other.ask()  # once more changes nothing
    assert other in line
    assert other not in turns
    async with asyncio.timeout(30):
        await all_turns.wait()
    assert turns[:3] in ([crowd[0], crowd[1], other], [crowd[0], other, crowd[1]])
    assert turns.count(other) == 1
    # Five rests lie in between.
    assert loop.time() - started >= 5 * 0.02
    assert other not in line


async def test_who_cannot_use_a_turn_passes_it_on_at_once() -> None:
    line, turns = Scanning(), list[Scanner]()
    peers = [Scanner(line, str(number), turns) for number in range(4)]
    assert line.ask(peers[0])
    assert line.ask(peers[0])  # it is still its turn
    peers[1].uses = False
    assert not peers[1].ask()
    assert not peers[2].ask()
    assert not peers[3].ask()
    line.leave(peers[2])
    line.done(peers[1], 1e9)  # whose turn it is not
    await asyncio.sleep(0.01)
    assert turns == []
    line.leave(peers[0])
    await asyncio.sleep(0.01)
    assert turns == [peers[1], peers[3]]


def with_values(message: Ping | Examples, values: int) -> bytes:
    """The frame of a message with a field of so many values that nobody knows."""
    fields = msgpack.unpackb(encode(message))
    lists = [[None] * min(values - at, 4096) for at in range(0, values, 4096)]
    return frame(msgpack.packb({**fields, "z": lists}))


@pytest.fixture
def daemon(store: Path) -> Iterator[Serving]:
    """A daemon that nothing of this may trouble."""
    with serving(store) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []


def test_messages_of_many_values_are_answered_in_their_order(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        many = 8 * SCAN_VALUES_MIN
        for number in range(6):
            peer.write(with_values(Ping(number), many if number % 2 else 0))
        assert [peer.expect(Pong).nonce for _ in range(6)] == list(range(6))


def test_lists_are_taken_as_columns_are(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        position = peer.open("flights", "lists").position
        for number in range(5):
            peer.send(Examples(0, 4096 * number, 4096, [7] * 4096, [1] * 4096))
        assert peer.acknowledged(5 * 4096)[-1].position == position + 5 * 4096


def test_who_leaves_while_it_waits_holds_up_nobody(daemon: Serving) -> None:
    frames = with_values(Ping(1), 2 * SCAN_VALUES_MIN) * 8
    peers = [Peer.greet(daemon.unix) for _ in range(8)]
    for peer in peers:
        peer.write(frames)
    for peer in peers[1:]:
        peer.socket.close()
    with peers[0] as stays:
        assert all(stays.expect(Pong) for _ in range(8))


def test_the_loop_rests_between_messages_of_many_values(daemon: Serving) -> None:
    values, each = 16 * 4096, 4
    batches = [Examples(0, number, 1, b"a", b"\0") for number in range(each)]
    with Peer.greet(daemon.unix) as one, Peer.greet(daemon.unix) as other:
        for name, peer in (("one", one), ("other", other)):
            peer.open("flights", name)
            for batch in batches:  # what is written is more than that
                peer.connection.send(batch)
        started = time.monotonic()
        for peer in (one, other):
            peer.write(b"".join(with_values(batch, values) for batch in batches))
        assert all(peer.acknowledged(each) for peer in (one, other))
        rest = SCAN_REST_TIMES * WORK_UNIT_SECONDS * (values // WORK_VALUES_PER_UNIT)
        assert time.monotonic() - started >= (2 * each - 1) * rest


def test_a_ping_of_many_values_comes_out_of_the_allowance(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        values = WORK_VALUES_PER_UNIT * (ALLOWANCE_UNITS_MAX + 2 * ALLOWANCE_UNITS_PER_SECOND)
        started = time.monotonic()
        peer.write(with_values(Ping(1), values) + encode_frame(Ping(2)))
        assert [peer.expect(Pong).nonce for _ in range(2)] == [1, 2]
        assert time.monotonic() - started >= 2.0


def test_the_loop_rests_from_messages_that_are_wrong_as_well(daemon: Serving) -> None:
    """Whoever comes back for each of them has no more of the loop for it."""
    assert limits.frame_elements_max <= SCAN_UNITS_MAX * WORK_VALUES_PER_UNIT
    wrong, peers = with_values(Examples(0, 0, 1, b"a", b"\0"), 2 * SCAN_VALUES_MIN), 5
    started = time.monotonic()
    for _ in range(peers):
        with Peer.greet(daemon.unix) as peer:
            peer.write(wrong)  # on a channel that is not open
            assert peer.error() == "unexpected_message"
    rest = SCAN_REST_TIMES * WORK_UNIT_SECONDS * SCAN_UNITS_MAX
    assert time.monotonic() - started >= (peers - 1) * rest


def test_who_says_no_more_is_waited_for(daemon: Serving) -> None:
    """What has come is taken, also where its turn comes after the end."""
    batches = [Examples(0, 4096 * number, 4096, [7] * 4096, [1] * 4096) for number in range(4)]
    with Peer.greet(daemon.unix) as busy, Peer.greet(daemon.unix) as peer:
        for name, one in (("busy", busy), ("ends", peer)):
            one.open("flights", name)
        daemon.process.send_signal(signal.SIGSTOP)  # so that it finds all of it at once
        busy.send(*batches)
        peer.send(*batches)
        peer.socket.shutdown(socket.SHUT_WR)
        daemon.process.send_signal(signal.SIGCONT)
        while peer.receive() is not None:
            pass
    with Peer.greet(daemon.unix) as again:
        assert again.open("flights", "ends").next_sequence == 4 * 4096
