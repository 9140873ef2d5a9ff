"""A producer of single examples beside one that feeds at full speed, both over real sockets."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from littled.limits import HURRIED_BYTES_MAX
from littled_protocol.messages import Ack
from support.managers import WATCHDOG_SECONDS, Manager
from support.serving import Peer, Serving, serving

LOUD = """
import sys
import numpy as np
from littled_client import Client

x = np.arange(int(sys.argv[3]), dtype=np.uint8)
y = np.zeros(len(x), np.uint8)
with Client(f"unix:{sys.argv[1]}", producer="loud") as client, client.feed(sys.argv[2]) as feeder:
    for number in range(1 << 40):
        feeder.send(x, y)
        if number == 200:
            print("at full speed", flush=True)
"""
# Round trips of one measurement.
ROUND_TRIPS = 60
# How much longer they may take beside anybody.
P50_TIMES = 3
P99_TIMES = 5
HEADING = " batch stream   alone p50      p99  beside p50   p99 (ms) | ratios"


@pytest.fixture(scope="module")
def daemon(module_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A daemon whose engine is quick enough for anybody; its watchdog never waits for too long."""
    manager = Manager(tmp_path_factory.mktemp("manager"))
    try:
        with serving(module_store, environment=manager.environment) as running:
            yield running
            assert manager.longest_silence() < WATCHDOG_SECONDS
            assert running.stop() == 0
    finally:
        manager.close()


@contextmanager
def loud(daemon: Serving, batch: int) -> Iterator[subprocess.Popen[str]]:
    """Somebody who feeds as fast as possible, in a process of its own."""
    command = [sys.executable, "-c", LOUD, str(daemon.unix), "flights", str(batch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as feeding:
        try:
            assert feeding.stdout is not None
            assert feeding.stdout.readline() == "at full speed\n"
            yield feeding
        finally:
            feeding.kill()


def one_by_one(peer: Peer, first: int) -> tuple[list[float], list[int]]:
    """Feed single examples; return the waits in seconds, and the positions."""
    waits, positions = [], []
    for number in range(first, first + ROUND_TRIPS):
        begun = time.perf_counter()
        peer.feed(number, b"a", b"\1")
        ack = peer.expect(Ack)
        waits.append(time.perf_counter() - begun)
        assert ack.next_sequence == number + 1
        positions.append(ack.position)
    return waits, positions


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that round trips took alone and beside the loud one, by turns."""

    stream: str
    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    def row(self, batch: int) -> str:
        """One line of a table, in milliseconds."""
        quantiles = [
            f"{1e3 * float(np.percentile(found, part)):8.2f}"
            for found in (self.alone, self.beside)
            for part in (50, 99)
        ]
        ratios = f"{self.ratio(50):6.1f} {self.ratio(99):6.1f}"
        return f"{batch:6} {self.stream:8} {' '.join(quantiles)} | {ratios}"

    def ratio(self, part: float) -> float:
        """How much longer a percentile of the waits is: the median over fifths of the time, as the
        machine may have a bad moment.
        """
        fifths = zip(np.array_split(self.alone, 5), np.array_split(self.beside, 5), strict=True)
        ratios = [np.percentile(late, part) / np.percentile(soon, part) for soon, late in fifths]
        return float(np.median(ratios))


def beside(daemon: Serving, batch: int, rounds: int) -> tuple[list[int], list[Waits]]:
    """Examples of the loud one stored during single round trips, and how long those take.

    The first on its stream; the second on its stream and on another.
    """
    with Peer.greet(daemon.unix) as same, Peer.greet(daemon.unix) as other:
        start = same.open("flights", f"quiet-{batch}-{rounds}").next_sequence
        other.open("small", f"quiet-{batch}-{rounds}")
        waits = [Waits("flights"), Waits("small")]
        stored_between: list[int] = []
        with loud(daemon, batch) as feeding:
            for number in range(start, start + 2 * rounds * ROUND_TRIPS, 2 * ROUND_TRIPS):
                for peer, found in zip((same, other), waits, strict=True):
                    taken, positions = one_by_one(peer, number)
                    found.beside.extend(taken)
                    if peer is same:
                        stored_between.extend(np.diff(positions))
                    feeding.send_signal(signal.SIGSTOP)
                    time.sleep(0.3)  # what it has sent is stored and learned
                    found.alone.extend(one_by_one(peer, number + ROUND_TRIPS)[0])
                    feeding.send_signal(signal.SIGCONT)
    return stored_between, waits


@pytest.mark.long
@pytest.mark.parametrize("batch", [250, 10_000])
def test_single_examples_wait_for_short_commits_only(daemon: Serving, batch: int) -> None:
    stored_between, _ = beside(daemon, batch, rounds=1)
    # A few short commits' worth of the other's is stored meanwhile, not the megabytes that wait.
    assert np.median(stored_between) <= 3 * HURRIED_BYTES_MAX / 2
    # A busy machine lets several of them pass; one long commit alone would be twice as much.
    assert np.percentile(stored_between, 90) <= 16 * HURRIED_BYTES_MAX


@pytest.mark.campaign
@pytest.mark.parametrize("batch", [1, 250, 10_000])
def test_single_examples_wait_three_times_as_long_at_most(
    daemon: Serving, batch: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Needs a machine with two cores that nothing else uses."""
    _, waits = beside(daemon, batch, rounds=25)
    with capsys.disabled():
        sys.stdout.write(f"\n{HEADING}\n")
        for found in waits:
            sys.stdout.write(found.row(batch) + "\n")
    for found in waits:
        assert found.ratio(50) <= P50_TIMES
        assert found.ratio(99) <= P99_TIMES
