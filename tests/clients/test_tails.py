"""The thread that sends the tail of a burst: when it runs, rests and ends, and who owns it."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from littled_client.asynchronous import AsyncClient
from littled_client.blocking import Client
from littled_client.joining import JOINED_SECONDS_MAX
from littled_client.recordings import RecordingReader
from littled_client.tails import Tail
from support.small_daemon import SmallDaemon, changed

NAME = "littled-tail"


def tails() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def until(ready: object, seconds: float = 5.0) -> None:
    assert callable(ready)
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


class Counter:
    """Counts its calls and asks for a few more after each ring."""

    def __init__(self, more: int) -> None:
        self.calls = 0
        self.more = more
        self.tail = Tail(self.tick, 0.001)

    def tick(self) -> float | None:
        self.calls += 1
        return 0.001 if self.calls % self.more else None


def test_it_ticks_as_long_as_it_is_asked_to_and_then_rests() -> None:
    counter = Counter(more=3)
    assert tails() == []
    for rings in range(1, 4):
        counter.tail.ring()
        until(lambda rings=rings: counter.calls == 3 * rings)
        time.sleep(0.01)
        assert counter.calls == 3 * rings
    counter.tail.close()
    assert tails() == []
    counter.tail.close()


def test_a_ring_too_many_changes_nothing() -> None:
    counter = Counter(more=3)
    for _ in range(4):
        counter.tail.ring()
    until(lambda: counter.calls >= 3)
    counter.tail.ring()
    until(lambda: counter.calls >= 6)
    counter.tail.close()
    assert tails() == []


def test_a_ring_that_was_interrupted_can_be_repeated() -> None:
    """A second thread begins then, and both end."""
    counter = Counter(more=3)
    counter.tail.ring()
    counter.tail._thread = None
    counter.tail.ring()
    until(lambda: counter.calls >= 3)
    assert len(tails()) == 2
    counter.tail.close()
    until(lambda: tails() == [])


def test_closing_ends_it_while_it_ticks() -> None:
    counter = Counter(more=10**9)
    counter.tail.ring()
    until(lambda: counter.calls > 3)
    counter.tail.close()
    calls = counter.calls
    time.sleep(0.01)
    assert counter.calls == calls
    assert tails() == []


@pytest.mark.parametrize("more", [1, 10**9])
def test_it_ends_with_its_owner(more: int) -> None:
    counters = [Counter(more)]
    counters[0].tail.ring()
    until(lambda: counters[0].calls > 0)
    counters.clear()
    until(lambda: tails() == [])


def test_a_feeder_has_no_thread_before_something_waits_and_none_after(
    daemon: SmallDaemon, address: str
) -> None:
    with Client(address) as client, client.feed("flights") as feeder:
        for _ in range(20):
            feeder.send_one(1, 1)
            feeder.flush()
            feeder.send([1, 2], [0, 1])
            feeder.flush()
        assert tails() == []
        changed(daemon, hold_acks=True)
        feeder.send_one(1, 1)
        feeder.send_one(2, 1)
        assert len(tails()) == 1
        until(lambda: daemon.position["flights"] == 62)
        daemon.release_acks()
    assert tails() == []


def test_a_tail_is_due_within_a_millisecond() -> None:
    """What clients promise; below the timer is asked, as a busy machine cannot be timed."""
    assert 0 < JOINED_SECONDS_MAX <= 0.001


@pytest.mark.parametrize("burst", [1, 20])
def test_what_a_blocking_program_sent_last_leaves_without_another_call(
    daemon: SmallDaemon, address: str, monkeypatch: pytest.MonkeyPatch, burst: int
) -> None:
    changed(daemon, hold_acks=True)
    with Client(address) as client, client.feed("flights") as feeder:
        armed: list[float] = []
        ring = feeder._tail.ring

        def ringing() -> None:
            armed.append(feeder._due)
            ring()

        monkeypatch.setattr(feeder._tail, "ring", ringing)
        feeder.send_one(0, 1)  # alone, so it left with its call; the others wait for it
        before = time.monotonic()
        for i in range(burst):
            feeder.send_one(i, 1)
        after = time.monotonic()
        assert before + JOINED_SECONDS_MAX <= armed[0] <= after + JOINED_SECONDS_MAX
        assert feeder._tail._seconds == JOINED_SECONDS_MAX
        until(lambda: daemon.position["flights"] == 1 + burst)
        daemon.release_acks()


@pytest.mark.parametrize("burst", [1, 20])
async def test_what_a_program_with_an_event_loop_sent_last_leaves_without_another_call(
    daemon: SmallDaemon, address: str, burst: int
) -> None:
    changed(daemon, hold_acks=True)
    async with AsyncClient(address) as client, client.feed("flights") as feeder:
        for sent in (0, burst):  # nothing is under way, and then something is
            before = time.monotonic()
            await feeder.send_one(0, 1)
            due, after = feeder._due, time.monotonic()
            assert before + JOINED_SECONDS_MAX <= due <= after + JOINED_SECONDS_MAX
            for i in range(sent):
                await feeder.send_one(i, 1)
            deadline = time.monotonic() + 5
            while daemon.position["flights"] < 1 + (sent and 1 + sent):
                assert time.monotonic() < deadline, "it did not leave"
                await asyncio.sleep(0.002)
        daemon.release_acks()


def test_a_feeder_that_is_used_again_has_a_tail_again(daemon: SmallDaemon, address: str) -> None:
    with Client(address) as client:
        feeder = client.feed("flights")
        for block in range(1, 4):
            changed(daemon, hold_acks=True)
            with feeder:
                for i in range(5):  # so few that no call looks at the clock for those before
                    feeder.send_one(i, 1)
                until(lambda block=block: daemon.position["flights"] == 5 * block)
                daemon.release_acks()
        assert tails() == []


def switches() -> int:
    """How often the thread of the tail was put to sleep."""
    (tail,) = tails()
    status = Path(f"/proc/self/task/{tail.native_id}/status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_it_does_nothing_at_all_while_nothing_waits(daemon: SmallDaemon, address: str) -> None:
    changed(daemon, hold_acks=True)
    with Client(address) as client, client.feed("flights") as feeder:
        feeder.send_one(1, 1)
        feeder.send_one(2, 1)
        until(lambda: daemon.position["flights"] == 2)
        until(lambda: feeder._resting)
        before = switches()
        time.sleep(0.1)
        assert switches() <= before + 1
        daemon.release_acks()


def test_without_a_thread_a_single_example_leaves_with_its_call(
    daemon: SmallDaemon, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the interpreter ends and lets no thread begin."""

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    changed(daemon, hold_acks=True)
    with Client(address) as client, client.feed("flights") as feeder:
        monkeypatch.setattr("threading.Thread.start", refuse)
        for i in range(5):
            feeder.send_one(i, 1)
            until(lambda i=i: daemon.position["flights"] == i + 1)
        monkeypatch.undo()
        daemon.release_acks()


FORKING = """
import os, sys
from littled_client import Client, ClientError
with Client(sys.argv[1]) as client, client.feed("flights", producer="parent") as feeder:
    for i in range(300):
        feeder.send_one(i % 256, 1)
    child = os.fork()
    if not child:
        refused = 0
        uses = [lambda: feeder.send_one(9, 0), lambda: feeder.send([9, 9], [0, 0]), feeder.flush]
        for use in uses:
            try:
                use()
            except ClientError as error:
                refused += "belongs to the process" in str(error)
        try:
            feeder.__exit__(None, None, None)
        except ClientError:
            refused += 1
        with Client(sys.argv[1]) as own, own.feed("flights", producer="child") as other:
            for i in range(300):
                other.send_one(7, 1)
        os._exit(refused)
    for i in range(300):
        feeder.send_one(i % 256, 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


RECORDING = """
import os, sys
from littled_client import Client
address, path = sys.argv[1:]
with Client(address) as client, client.feed("flights", record=path) as feeder:
    client.status()
    for i in range(5):
        feeder.send_one(i, 1)
    feeder.flush()
    child = os.fork()
    if not child:
        client.status()
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    client.status()
    for i in range(5):
        feeder.send_one(i, 0)
    feeder.flush()
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_leaves_its_parents_connections_and_recording_alone(
    daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    path = tmp_path / "recording"
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", RECORDING, address]
    ran = subprocess.run(
        [*command, str(path)], check=False, timeout=20, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    with RecordingReader(path) as recording:
        batches = [(batch[0].tolist(), batch[1].tolist()) for batch in recording.batches()]
    assert [number for x, _ in batches for number in x] == [*range(5), *range(5)]
    assert [label for _, y in batches for label in y] == [1] * 5 + [0] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_cannot_use_its_parents_feeder(daemon: SmallDaemon, address: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, address]
    assert subprocess.run(command, check=False, timeout=60).returncode == 4
    until(lambda: daemon.position["flights"] == 900)
    assert daemon.next_sequence["flights", "parent"] == 600
    assert daemon.next_sequence["flights", "child"] == 300
    x, y = daemon.examples("flights")
    assert y == [1] * 900
    assert sorted(x) == sorted([*(i % 256 for i in range(300))] * 2 + [7] * 300)
