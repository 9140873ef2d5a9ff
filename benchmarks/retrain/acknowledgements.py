"""What acknowledgements notice of trainings: a real daemon, one stream of which trains."""

import multiprocessing
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.retrain.output import emit
from benchmarks.retrain.workloads import Workload, coins
from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.store.store import Store
from littled_protocol.columns import encode_labels, point_type
from littled_protocol.connection import NEED_DATA, Connection, Role
from littled_protocol.messages import (
    Ack,
    Examples,
    Hello,
    Message,
    Open,
    Opened,
    Release,
    Subscribe,
    Welcome,
)

RATIO_MAX = 2.0
START_SECONDS = 60.0
# A stream that published nothing for so long has nothing left to do.
REST_SECONDS = 1.0
# Batches that wait for the engine, so that the next training begins when one ends.
BATCHES_AHEAD = 2
# They come in small frames at a steady pace: what is measured is training, not ingest.
FRAME_EXAMPLES, FRAME_SECONDS = 1_000, 0.002
TICKS = os.sysconf("SC_CLK_TCK")


# -- a real daemon, one stream of which trains ----------------------------------------------------


@contextmanager
def daemon(folder: Path, workload: Workload) -> Iterator[tuple[Path, int]]:
    """A daemon of its own process on a new store: its socket and process id."""
    learner = OnlineRequest("l", class_from_name("thresholds:256"))
    calm = plan_stream(StreamRequest("calm", Fraction(1), Fraction(1, 10**6), 10**9, (learner,)))
    plans = {"busy": workload.plan("busy").to_dict(), "calm": calm.to_dict()}
    Store.create(folder / "store", {"streams": sorted(plans)}, plans)
    path, log = folder / "socket", folder / "log"
    with log.open("w") as output:
        serving = subprocess.Popen(
            [sys.executable, "-m", "littled.cli", "serve", folder / "store", "--unix", path],
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(path):
            assert serving.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield path, serving.pid
    finally:
        serving.terminate()
        assert serving.wait(START_SECONDS) == 0, log.read_text()


def answers(path: Path) -> bool:
    """Whether somebody listens on this socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@dataclass
class Peer:
    """One connection, spoken to without the comfort of a client, which would cost time."""

    socket: socket.socket
    connection: Connection = field(default_factory=lambda: Connection(Role.CLIENT))

    @classmethod
    def greet(cls, path: Path) -> "Peer":
        """Connect and greet."""
        peer = cls(socket.socket(socket.AF_UNIX))
        peer.socket.connect(str(path))
        peer.send(Hello(1, "retrain/1", None))
        peer.receive(Welcome)
        return peer

    def send(self, message: Message) -> None:
        """Send one message."""
        self.socket.sendall(self.connection.send(message))

    def receive(self, kind: type[Message]) -> Any:
        """Wait for a message of this kind, passing over others."""
        while not isinstance(event := self.connection.next_event(), kind):
            if event is NEED_DATA:
                self.take()
        return event

    def take(self) -> None:
        """Receive what has come."""
        self.connection.receive_data(self.socket.recv(1 << 16))

    def waiting(self, seconds: float) -> bool:
        """Whether something comes in so much time."""
        return bool(select.select([self.socket], [], [], seconds)[0])


# -- the stream that trains ------------------------------------------------------------------------


@dataclass
class Busy:
    """The process that keeps the busy stream training while `going` is set.

    `trainings` counts what it published; `resting` is set while it has nothing to do.
    """

    workload: Workload
    path: Path
    going: Event = field(default_factory=multiprocessing.Event)
    resting: Event = field(default_factory=multiprocessing.Event)
    trainings: "Synchronized[int]" = field(default_factory=lambda: multiprocessing.Value("q", 0))
    sent: int = 0

    def run(self) -> None:
        """Feed, for ever."""
        feeder, listener = Peer.greet(self.path), Peer.greet(self.path)
        feeder.send(Open(0, "busy", "busy"))
        feeder.receive(Opened)
        listener.send(Subscribe("busy/l", 1))
        self.feed(feeder, self.workload.warm, by_chance=False)
        reached = self.heard(listener) if self.workload.warm else 0
        starts: deque[int] = deque(maxlen=BATCHES_AHEAD)
        while True:
            if not self.going.is_set():
                while listener.waiting(REST_SECONDS):
                    reached = self.heard(listener)
                self.resting.set()
                self.going.wait()
                self.resting.clear()
            while len(starts) < BATCHES_AHEAD or reached >= starts[0]:
                starts.append(self.sent)
                self.feed(feeder, self.workload.batch, by_chance=self.workload.warm > 0)
            reached = self.heard(listener)

    def heard(self, listener: Peer) -> int:
        """Wait for the next release; its position."""
        position: int = listener.receive(Release).position
        self.trainings.value += 1
        return position

    def feed(self, feeder: Peer, count: int, *, by_chance: bool) -> None:
        """Send so many examples, with labels by chance once the first call was made."""
        if not count:
            return
        kind = point_type(self.workload.hypotheses().point_type)
        x, y = self.workload.examples(self.sent + 3, count)
        if by_chance:
            y = coins(np.random.default_rng(self.sent), count)
        frame = FRAME_EXAMPLES if by_chance or not self.workload.warm else 10 * FRAME_EXAMPLES
        for first in range(0, count, frame):
            part = slice(first, first + frame)
            columns = kind.encode(x[part]), encode_labels(y[part])
            while feeder.connection.credit_left_bytes < sum(map(len, columns)) + 1_000:
                feeder.receive(Ack)
            feeder.send(Examples(0, self.sent, len(columns[1]), *columns))
            self.sent += len(columns[1])
            time.sleep(FRAME_SECONDS)


# -- acknowledgements ------------------------------------------------------------------------------


@dataclass
class Paced:
    """A producer of single examples at a steady pace, and how long each took to be durable."""

    peer: Peer
    sent: int = 0

    def run(self, seconds: float, pace: float) -> np.ndarray[Any, Any]:
        """Milliseconds from each frame to its acknowledgement; frames do not wait for any."""
        count, base = int(seconds * pace), self.sent
        points = np.random.default_rng(base).integers(0, 256, count).tolist()
        times, taken = [0.0] * count, 0
        begun, sent = time.perf_counter(), 0
        while taken < count:
            now = time.perf_counter()
            due = begun + sent / pace
            if sent < count and now >= due:
                point = points[sent]
                times[sent] = time.perf_counter()
                self.peer.send(Examples(0, base + sent, 1, bytes([point]), bytes([point >= 128])))
                sent += 1
            elif self.peer.waiting(due - now if sent < count else 1.0):
                self.peer.take()
                now = time.perf_counter()
                while (event := self.peer.connection.next_event()) is not NEED_DATA:
                    assert isinstance(event, Ack), event
                    for index in range(taken, event.next_sequence - base):
                        times[index] = now - times[index]
                    taken = event.next_sequence - base
        self.sent = base + count
        return np.array(times) * 1e3


def processor_ticks(pids: list[int]) -> int:
    """Ticks that everybody but these processes and their children has spent so far."""
    with Path("/proc/stat").open() as file:
        busy = [int(each) for each in file.readline().split()[1:9]]
    return sum(busy) - busy[3] - busy[4] - sum(map(own_ticks, pids))


def own_ticks(pid: int) -> int:
    """Ticks of a process and of the children that it has now."""
    ticks = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
        ticks += sum(own_ticks(int(each)) for each in (task / "children").read_text().split())
    return ticks


def acknowledge(workload: Workload, rounds: int, seconds: float, pace: float) -> bool:
    """Measure in pairs of rounds, at rest and in training; whether the goal is met."""
    rest, training, ratios, other, trainings = [], [], [], [], 0
    with tempfile.TemporaryDirectory() as name, daemon(Path(name), workload) as (path, pid):
        busy = Busy(workload, path)
        process = multiprocessing.Process(target=busy.run, daemon=True)
        process.start()
        paced = Paced(Peer.greet(path))
        paced.peer.send(Open(0, "calm", "paced"))
        paced.peer.receive(Opened)
        busy.resting.wait()
        paced.run(1.0, pace)
        for _ in range(rounds):
            before, begun = processor_ticks([pid, os.getpid()]), time.perf_counter()
            rest.append(paced.run(seconds, pace))
            busy.going.set()
            time.sleep(REST_SECONDS)
            count = busy.trainings.value
            training.append(paced.run(seconds, pace))
            trainings += busy.trainings.value - count
            busy.going.clear()
            ticks = processor_ticks([pid, os.getpid()]) - before
            other.append(ticks / TICKS / (time.perf_counter() - begun))
            ratios.append(float(np.percentile(training[-1], 99) / np.percentile(rest[-1], 99)))
            busy.resting.wait()
        process.kill()
        process.join()
    ratio = float(np.median(ratios))
    emit(
        f"acknowledgements beside {workload.title}",
        **percentiles("rest", rest),
        **percentiles("training", training),
        p99_ratio=round(ratio, 2),
        p99_ratios=[round(each, 2) for each in ratios],
        trainings=trainings,
        pace=pace,
        other_cpus=[round(each, 2) for each in other],
        met=ratio <= RATIO_MAX and trainings > 0,
    )
    return ratio <= RATIO_MAX and trainings > 0


def percentiles(name: str, rounds: list[np.ndarray[Any, Any]]) -> dict[str, float]:
    """Medians over rounds."""
    return {
        f"{name}_p{at}_ms": round(float(np.median([np.percentile(each, at) for each in rounds])), 2)
        for at in (50, 99)
    }
