"""How many rows of ten columns a second the daemon takes in and learns, beside others, in one run.

    python -m benchmarks.rows [--rows 1000000] [--horizons 1000000 10000000] [--rounds 3] [...]

Frames are made before and sent over a Unix socket to `littled serve` on a new store. Each line is
one run as a JSON object; a table of medians and of ratios within the rounds follows. A run of the
daemon ends with the last figure of `quality` of the rows, at a place that is public: it counts the
mistakes of all rows before, so that these are learned then, and acknowledged after a sync. Rules
would not do, as a scorecard that has hardly changed is not published again. `acknowledged` is the
rate up to the last acknowledgement alone. `cpu_us` is the daemon's CPU time a row, which depends
less on what else the machine does; `store_bytes` what the store grew by, a row.

- *scorecard*, *stumps*, *thresholds*: streams of the same rows, which differ in their learner only.
  A threshold of one column is next to no work, so the first two show what learning costs.
- *bare server*: an asyncio server that decodes, looks at one column, draws noise, syncs its own log
  and acknowledges (`benchmarks.service.bare`).
- *River* and *Vowpal Wabbit*: logistic regression in this process, one row after the other, where
  they are installed; nothing is stored.

Last come lone rows: microseconds from sending one to its acknowledgement, one after the other, on a
stream of each learner and with the bare server, in turns.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.service import bare
from benchmarks.service.contenders import Acks, Bare, Daemon
from benchmarks.service.processes import Server, unix
from benchmarks.service.pumping import Flow, of_length, pump, round_trips
from littled.configuration import load_configuration
from littled.planner import StreamPlan, plan_stream
from littled_client import Client
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.messages import Examples

COLUMNS = 10
SIZES = (64, 64, 2, 7, 24, 32, 16, 64, 12, 101)
LEARNERS = {
    "scorecard": 'class = "scorecard"',
    "stumps": 'class = "stumps"',
    "thresholds": 'class = "thresholds"\ncolumns = ["c0"]',
}
SECONDS_MAX = 600.0
PEER_SECONDS = 2.0
_CYCLE = 1 << 17


@cache
def rows() -> tuple[Any, Any]:
    """Rows of buckets, uint16 (n, 10), and labels that two columns mostly decide, uint8 (n,)."""
    random = np.random.default_rng(1)
    x = np.stack([random.integers(0, size, _CYCLE) for size in SIZES], axis=1).astype(np.uint16)
    score = 4 * (x[:, 0] / SIZES[0] - 0.5) + 2 * (x[:, 1] / SIZES[1] - 0.5)
    return x, (score + random.logistic(size=_CYCLE) > 0).astype(np.uint8)


def part(index: int, batch: int) -> slice:
    """Where the batch of this number lies among the rows, which come again and again."""
    start = index * batch % (_CYCLE - batch + 1)
    return slice(start, start + batch)


def payloads(batch: int) -> list[tuple[bytes, bytes]]:
    """Some batches as columns of points and labels."""
    x, y = rows()
    number = max(1, min(2_000, 1_000_000 // batch))
    parts = [part(index, batch) for index in range(number)]
    return [(x[where].tobytes(), y[where].tobytes()) for where in parts]


def frames(batch: int, number: int) -> list[bytes]:
    """The frames of one producer, from its row 0 on."""
    some = payloads(batch)
    return [
        encode_frame(Examples(0, index * batch, batch, *some[index % len(some)], None))
        for index in range(number)
    ]


def configuration(streams: dict[str, str], horizon: int) -> str:
    """Streams of the same ten columns, each with a learner."""
    text = ""
    for name, learner in streams.items():
        text += f"[streams.{name}]\nepsilon = 1.0\ndelta = 1e-6\nhorizon = {horizon}\n"
        text += "quality = true\n"
        text += 'label = { column = "y", positive = "yes", negative = "no" }\n'
        text += f"[streams.{name}.columns]\n"
        for place, size in enumerate(SIZES):
            text += f'c{place} = {{ kind = "number", from = 0, to = {size}, steps = {size} }}\n'
        text += f"[streams.{name}.learners.rule]\n{learner}\n"
    return text


def last_figure(plan: StreamPlan, most: int) -> int:
    """The last position up to `most` at which a figure of the plan's one learner is published."""
    (one,) = plan.publishing
    assert one.quality is not None
    return most // one.quality.period * one.quality.period


@dataclass(frozen=True, slots=True)
class Run:
    """One run. learned, acknowledged: rows a second. cpu_us, store_bytes: a row; 0: not known."""

    contender: str
    turn: int
    horizon: int
    batch: int
    learned: float
    acknowledged: float = 0.0
    cpu_us: float = 0.0
    store_bytes: float = 0.0


class RowsDaemon(Daemon):
    """The daemon on streams of ten columns, a new one for each run."""

    def __init__(self, horizon: int, runs: Sequence[tuple[str, int, int]]) -> None:
        """runs: learner, batch and turn of each; "lone" batches are of one row."""
        super().__init__()
        self.horizon = horizon
        self.streams = {f"{name}-{batch}-{turn}": LEARNERS[name] for name, batch, turn in runs}

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Make a store and serve it."""
        self._path, self.folder = folder / "socket", folder / "store"
        file = folder / "littled.toml"
        file.write_text(configuration(self.streams, self.horizon), encoding="utf-8")
        found = load_configuration(file)
        # streams of one learner have one plan
        plans: dict[str, StreamPlan] = {}
        for name in self.streams:
            learner = name.split("-")[0]
            if learner not in plans:
                plans[learner] = plan_stream(found.streams[name].request())
        self.plans = plans
        littled = [sys.executable, "-m", "littled.cli"]
        making = [*littled, "init", "store", "--config", "littled.toml"]
        subprocess.run(making, cwd=folder, check=True, capture_output=True)
        self.server = Server([*littled, "serve", "store", "--unix", self._path], folder)
        try:
            self.server.connected(lambda: unix(self._path)).close()
            yield
        finally:
            self.server.end()

    def learned(self, name: str, batch: int, turn: int, most: int) -> Run:
        """Feed a stream until its last figure within so many rows is published."""
        stream, end = f"{name}-{batch}-{turn}", last_figure(self.plans[name], most)
        number = -(-end // batch)
        made = frames(batch, number)
        peer, credit = self._opened(stream)
        window = max(1, credit // limits.credit_of_frame(len(made[-1])))
        before, size = self.server.rested_cpu_seconds(), self._store_bytes()
        with peer:
            begun = time.perf_counter()
            acknowledged = pump([Flow(peer, made, number, window, Acks(batch))])
            with Client(self.address) as client:
                wait_for(client, stream, end, begun)
            seconds = time.perf_counter() - begun
        cpu = self.server.rested_cpu_seconds() - before
        fed = number * batch
        grown = (self._store_bytes() - size) / fed
        return Run(
            name, turn, self.horizon, batch, end / seconds, fed / acknowledged,
            cpu / fed * 1e6, grown,
        )  # fmt: skip

    def lone(self, name: str, trips: int) -> list[float]:
        """Round trips of single rows of a new producer."""
        peer, _ = self._opened(f"{name}-1-0")
        with peer:
            return round_trips(peer, frames(1, trips), Acks(1), trips)

    def _store_bytes(self) -> int:
        """What the files of the store take on the disk."""
        files = (file for file in self.folder.rglob("*") if file.is_file())
        return sum(file.stat().st_blocks * 512 for file in files)


def wait_for(client: Client, stream: str, position: int, begun: float) -> None:
    """Wait until a figure up to this position is published; TimeoutError after SECONDS_MAX."""
    while True:
        told = client.status()["streams"][stream]["learners"]["rule"]["quality"]
        if told.get("position", 0) >= position:
            return
        if time.perf_counter() - begun > SECONDS_MAX:
            raise TimeoutError(f"{stream} tells nothing at {position}")
        time.sleep(0.002)


def bare_run(server: Bare, batch: int, turn: int, horizon: int, most: int) -> Run:
    """The same rows to the bare server."""
    made, number = bare.frames(payloads(batch)), -(-most // batch)
    peer = unix(server.path)
    before = server.server.rested_cpu_seconds()
    with peer:
        window = max(4, (4 << 20) // len(made[0]))
        seconds = pump([Flow(peer, made, number, window, of_length(bare.ACK_BYTES))])
    cpu = server.server.rested_cpu_seconds() - before
    fed = number * batch
    return Run(Bare.name, turn, horizon, batch, fed / seconds, fed / seconds, cpu / fed * 1e6)


def river_run(turn: int) -> Run:
    """River's logistic regression: predict, then learn."""
    from river.linear_model import LogisticRegression  # noqa: PLC0415 - it may be missing

    model, (x, y) = LogisticRegression(), rows()
    shares = (x / np.array(SIZES)).tolist()

    def learn(place: int) -> None:
        row = dict(enumerate(shares[place]))
        model.predict_one(row)
        model.learn_one(row, bool(y[place]))

    return peer_run("River", turn, learn)


def vowpal_run(turn: int) -> Run:
    """Vowpal Wabbit's, from text that was made before."""
    from vowpalwabbit import Workspace  # noqa: PLC0415 - it may be missing

    x, y = rows()
    model = Workspace("--loss_function logistic --link logistic -b 18 --quiet")
    texts = [
        f"{2 * int(label) - 1} | " + " ".join(f"{i}:{v}" for i, v in enumerate(row))
        for row, label in zip((x[:50_000] / np.array(SIZES)).round(3), y, strict=False)
    ]
    try:
        return peer_run("Vowpal Wabbit", turn, lambda place: model.learn(texts[place % len(texts)]))
    finally:
        model.finish()


def peer_run(name: str, turn: int, learn: Callable[[int], Any]) -> Run:
    """Call it with one row after the other for a while."""
    done, begun, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - begun < PEER_SECONDS:
        for place in range(done, done + 100):
            learn(place % _CYCLE)
        done += 100
    seconds = time.perf_counter() - begun
    return Run(name, turn, 0, 1, done / seconds, 0.0, (time.process_time() - cpu) / done * 1e6)


PEERS = {"river": river_run, "vowpalwabbit": vowpal_run}


def measured(asked: argparse.Namespace, folder: Path) -> Iterator[Run]:
    """Everything, in turns."""
    numbers = count()
    for horizon in asked.horizons:
        runs = [
            (name, batch, turn)
            for turn in range(asked.rounds)
            for batch in asked.batches
            for name in LEARNERS
        ]
        daemon, server = RowsDaemon(horizon, runs), Bare()
        places = [folder / str(next(numbers)) for _ in range(2)]
        for place in places:
            place.mkdir()
        with daemon.running(places[0]), server.running(places[1]):
            for turn in range(asked.rounds):
                for batch in asked.batches:
                    most = min(asked.rows, horizon)
                    for name in LEARNERS:
                        yield daemon.learned(name, batch, turn, most)
                    yield bare_run(server, batch, turn, horizon, most)
    for package, run in PEERS.items():
        if find_spec(package) is None:
            print(f"Not measured: the package {package} is not installed.", file=sys.stderr)
            continue
        for turn in range(asked.rounds):
            yield run(turn)


def lone_rows(asked: argparse.Namespace, folder: Path) -> dict[str, list[float]]:
    """Round trips of single rows, in turns: a fifth of them each time."""
    folder.mkdir()
    daemon, server = RowsDaemon(1_000_000, [(name, 1, 0) for name in LEARNERS]), Bare()
    places = [folder / "daemon", folder / "bare"]
    for place in places:
        place.mkdir()
    found: dict[str, list[float]] = {name: [] for name in (*LEARNERS, Bare.name)}
    with daemon.running(places[0]), server.running(places[1]):
        for _ in range(5):
            for name in LEARNERS:
                found[name] += daemon.lone(name, asked.trips)
            peer: socket.socket = unix(server.path)
            with peer:
                made = bare.frames(payloads(1))
                found[Bare.name] += round_trips(peer, made, of_length(bare.ACK_BYTES), asked.trips)
    return found


def table(runs: Sequence[Run]) -> str:
    """Medians, with the ratios to the threshold's stream and the bare server within the rounds."""
    heads = ("", "rows/s", "acknowledged/s", "by thresholds", "by bare server", "CPU us a row",
             "store bytes a row")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for horizon, batch, name in dict.fromkeys((r.horizon, r.batch, r.contender) for r in runs):
        some = [r for r in runs if (r.horizon, r.batch, r.contender) == (horizon, batch, name)]
        ratios = []
        for other in ("thresholds", Bare.name):
            beside = {r.turn: r.learned for r in runs
                      if (r.horizon, r.batch, r.contender) == (horizon, batch, other)}  # fmt: skip
            pairs = [r.learned / beside[r.turn] for r in some if r.turn in beside]
            ratios.append(f"{median(pairs):.2f}" if pairs and name != other else "")
        season = f"seasons of {horizon:,}, batches of {batch:,}: " if horizon else ""
        acknowledged = median(r.acknowledged for r in some)
        lines.append(
            f"| {season}{name} | {median(r.learned for r in some):,.0f} | "
            f"{f'{acknowledged:,.0f}' if acknowledged else ''} | {' | '.join(ratios)} | "
            f"{median(r.cpu_us for r in some):.2f} | "
            f"{f'{median(r.store_bytes for r in some):.1f}' if some[0].store_bytes else ''} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rows",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="of a run, at most")
    parser.add_argument("--horizons", nargs="+", type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--batches", nargs="+", type=int, default=[100, 1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trips", type=int, default=200, help="lone rows of a turn")
    asked = parser.parse_args(arguments)
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for run in measured(asked, Path(folder)):
            runs.append(run)
            facts = {name: getattr(run, name) for name in Run.__slots__}
            print(json.dumps(facts), flush=True)
        lone = lone_rows(asked, Path(folder) / "lone")
    print("\n" + table(runs) + "\n")
    print("| lone rows | p50 us | p99 us | by thresholds |\n| --- | ---: | ---: | ---: |")
    for name, seen in lone.items():
        ratio = median(seen) / median(lone["thresholds"])
        print(
            f"| {name} | {median(seen):,.0f} | {sorted(seen)[len(seen) * 99 // 100]:,.0f} | "
            f"{ratio:.2f} |"
        )


if __name__ == "__main__":
    main()
