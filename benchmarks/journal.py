"""What a journal takes on disk, and how long a daemon takes to be ready after a kill.

    python -m benchmarks.journal [--examples 10000000] [--singles 100000]

Each line is one JSON object. First bytes an example on disk, after all was packed: for batches of
10,000, 1,000 and 100 examples, and for one at a time, of points of one and of eight bytes; `ratio`
is to the bytes of the examples themselves. Then a store of so many examples in batches of 10,000
is served, learned, killed (SIGKILL), and started again, three times with its snapshots and three
times without: the median time from the start of the process to its line "ready", and its ratio to
reading the store's files once with BLAKE2b-256, which is taken in turns.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from statistics import median

import apsw
import numpy as np

from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.store.records import NewRecord
from littled.store.store import Store

STREAM = "bench"
BATCH = 10_000
# Examples in a record, bytes of a point.
SIZES = ((10_000, 1), (10_000, 8), (1_000, 1), (1_000, 8), (100, 1), (100, 8), (1, 1), (1, 8))
TURNS = 3


def made(path: Path) -> Path:
    """A new store with one learner that fits its stream."""
    request = OnlineRequest("rule", class_from_name("thresholds:256"))
    plan = plan_stream(StreamRequest(STREAM, Fraction(1), Fraction(1, 10**6), 10**9, (request,)))
    Store.create(path, {}, {STREAM: plan.to_dict()})
    return path


def records(examples: int, batch: int, width: int) -> Iterator[list[NewRecord]]:
    """So many examples of the rule x >= 60, a few records at a time."""
    x = np.random.default_rng(1).integers(0, 256, (batch, width), dtype=np.uint8)
    points, labels = x.tobytes(), (x[:, 0] >= 60).astype(np.uint8).tobytes()
    step = max(1, min(500, 1_000_000 // len(points)))
    for first in range(0, examples // batch, step):
        yield [
            NewRecord(STREAM, "producer", number * batch, batch, points, labels)
            for number in range(first, min(first + step, examples // batch))
        ]


def sizes(folder: Path, examples: int, singles: int) -> None:
    """Bytes on disk of one kind of records after the other."""
    for batch, width in SIZES:
        path = made(folder / f"{batch} {width}")
        count = singles if batch == 1 else examples
        with Store.open(path) as store:
            for some in records(count, batch, width):
                store.append(some)
                while store.pack():
                    pass
        taken = sum(file.stat().st_size for file in files(path)) / count
        print(
            json.dumps({
                "examples": count,
                "batch": batch,
                "point_bytes": width,
                "bytes_an_example": round(taken, 2),
                "ratio": round(taken / (width + 1), 3),
            }),
            flush=True,
        )  # fmt: skip


def files(path: Path) -> list[Path]:
    """The database of a store, and the columns of large records beside it."""
    return [path / "store.sqlite", *sorted(path.glob("columns-*"))]


def read_once(path: Path) -> float:
    """Seconds for reading a store's files with the hash of its chain."""
    begun = time.perf_counter()
    digest = blake2b(digest_size=32)
    for each in files(path):
        with each.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    return time.perf_counter() - begun


def ready(path: Path, examples: int) -> float:
    """Seconds until a daemon on a store is ready; then it is killed, once it has learned all."""
    socket = path.with_suffix(".sock")
    command = [sys.executable, "-m", "littled.cli", "serve", str(path), "--unix", str(socket)]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--log", "json"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if json.loads(line).get("event") == "ready":
                break
        seconds = time.perf_counter() - begun
        wait_for_snapshot(path, examples // BATCH - 1)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    return seconds


def wait_for_snapshot(path: Path, record: int) -> None:
    """Wait until a store has a snapshot after its last record."""
    connection = apsw.Connection(str(path / "store.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(5000)
    newest = "SELECT max(record_number) FROM snapshots"
    while connection.execute(newest).fetchall()[0][0] != record:
        time.sleep(0.05)
    connection.close()


def starts(path: Path, examples: int) -> None:
    """Kill and start, with snapshots and without."""
    with Store.open(path) as store:
        for some in records(examples, BATCH, 1):
            store.append(some)
    ready(path, examples)  # learns it all for the first time, and publishes
    taken: dict[bool, list[float]] = {True: [], False: []}
    reading = []
    for _ in range(TURNS):
        for with_snapshots, seconds in taken.items():
            if not with_snapshots:
                connection = apsw.Connection(str(path / "store.sqlite"))
                connection.execute("DELETE FROM snapshots")
                connection.close()
            reading.append(read_once(path))
            seconds.append(ready(path, examples))
    for with_snapshots, seconds in taken.items():
        print(
            json.dumps({
                "examples": examples,
                "snapshots": with_snapshots,
                "ready_after_kill_s": round(median(seconds), 2),
                "read_once_s": round(median(reading), 3),
                "ratio": round(median(seconds) / median(reading), 1),
            }),
            flush=True,
        )  # fmt: skip


def main() -> None:
    """Parse the command line and run."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal", description=about)
    parser.add_argument("--examples", type=int, default=10_000_000, help="in batches")
    parser.add_argument("--singles", type=int, default=100_000, help="one at a time")
    chosen = parser.parse_args()
    os.environ.pop("LISTEN_FDS", None)
    with tempfile.TemporaryDirectory() as name:
        sizes(Path(name), chosen.examples, chosen.singles)
    with tempfile.TemporaryDirectory() as name:
        starts(made(Path(name) / "store"), chosen.examples)


if __name__ == "__main__":
    main()
