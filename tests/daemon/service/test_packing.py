"""Packing while serving: between commits, rests in between, and a file that stays small."""

import asyncio
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from littled.service.packing import Packer
from littled.service.writer import Writer
from littled.store.verify import verify
from littled_protocol.messages import Ack
from support.serving import Peer, make_store, serving
from support.stores import rows

EXAMPLES = 350
SMALL = {
    f"littled.store.{module}.SEGMENT_RECORDS_MAX": 100
    for module in ("segments", "packing", "journal")
}


class Counting:
    """A store of which so many segments wait; each takes a while."""

    def __init__(self, segments: int) -> None:
        self.segments_waiting = segments
        self.over = threading.Event()
        self.done: list[tuple[float, float]] = []
        self.threads: set[int] = set()

    def pack(self) -> bool:
        started = time.monotonic()
        time.sleep(0.01)
        self.segments_waiting -= 1
        self.threads.add(threading.get_ident())
        self.done.append((started, time.monotonic()))
        if not self.segments_waiting:
            self.over.set()
        return self.segments_waiting > 0


async def packed(store: Counting) -> tuple[float, list[float]]:
    """Let a packer work; time that a segment took, and how long it rested after each."""
    writer = Writer(lambda error: None)
    packer = Packer(store, writer, asyncio.get_running_loop())
    for _ in range(3):
        packer.committed()
    assert await asyncio.to_thread(store.over.wait, 60)
    await asyncio.to_thread(writer.close)
    assert store.threads == {writer._thread.ident}
    pauses = [after[0] - before[1] for before, after in pairwise(store.done)]
    return sum(end - start for start, end in store.done) / len(store.done), pauses


async def test_the_writer_rests_between_segments() -> None:
    store = Counting(6)
    worked, pauses = await packed(store)
    assert len(pauses) == 5
    assert sum(pauses) > 2 * worked * len(pauses)


@pytest.mark.long
async def test_a_backlog_is_packed_without_rest() -> None:
    store = Counting(80)
    worked, pauses = await packed(store)
    assert sorted(pauses)[10] < worked


def segments(path: Path) -> int:
    """How many there are; none before a store's first, which makes the table."""
    if rows(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'segments'") == [(0,)]:
        return 0
    ((count,),) = rows(path, "SELECT count(*) FROM segments")
    assert isinstance(count, int)
    return count


def test_a_daemon_packs_what_it_takes_and_has_it_after_a_kill(tmp_path: Path) -> None:
    """One example at a time, each acknowledged before the next: a record each."""
    store = make_store(tmp_path / "store")
    with serving(store, limits=SMALL) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "me")
        for sequence in range(EXAMPLES):
            peer.feed(sequence, bytes([sequence % 256]), b"\1")
            peer.expect(Ack)
        deadline = time.monotonic() + 30
        while segments(store) < EXAMPLES // 100:
            assert time.monotonic() < deadline, "nothing is packed"
            time.sleep(0.02)
        daemon.kill()
    report = verify(store)
    assert report.findings == ()
    assert [each.records for each in report.streams if each.stream == "flights"] == [EXAMPLES]
    with serving(store) as daemon:
        with Peer.greet(daemon.unix) as peer:
            assert peer.open("flights", "me").next_sequence == EXAMPLES
        assert daemon.stop() == 0
    assert verify(store).findings == ()
