"""What thousands of streams in one store cost that nobody feeds, beside a store with one.

    python -m benchmarks.streams [--streams 1000 3000]

For one stream and for each of these numbers of streams that differ in their names alone: processor
seconds of `littled init`, of a first start of the daemon, which publishes the first rules, and of
another one; resident memory, threads, and the size of the high-water mark; then the size and the
time of a status, of the metrics, and of the status of one stream. Then one stream of either store
is acknowledged examples, one after the other and in turns. Each line is a JSON object. The last
line of each number says what a stream costs more than the first one: milliseconds of the processor
for each of `init`, `first_start` and `start`, KiB of memory, and the acknowledgement's time as a
multiple of that with one stream.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from littled_client import Client

STREAM = """
[streams.stream-{0}]
epsilon = 1.0
delta = 1e-6
horizon = 100_000
learners.rule = {{ class = "thresholds:256" }}
"""
COMMAND = [sys.executable, "-P", "-m", "littled.cli"]
PAGES = {"status": "/status", "metrics": "/metrics", "status_of_one": "/status?stream=stream-0"}
WAIT_SECONDS = 600.0


def children_seconds() -> float:
    """Processor time of all processes that have ended and were waited for."""
    times = os.times()
    return times.children_user + times.children_system


def processor_seconds(process: int) -> float:
    """Processor time of a process that runs."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def facts_of(process: int) -> dict[str, int]:
    """Resident memory in KiB, and threads."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    values = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    return {"resident_kib": int(values["VmRSS"][0]), "threads": int(values["Threads"][0])}


def made(folder: Path, streams: int) -> float:
    """Make a store in `folder`/store; the processor's seconds for that."""
    file = folder / "littled.toml"
    file.write_text("".join(map(STREAM.format, range(streams))))
    before = children_seconds()
    command = [*COMMAND, "init", str(folder / "store"), "--config", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children_seconds() - before


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """A daemon on the store that is ready: its process, and the address of its pages."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    arguments = ["serve", str(folder / "store"), "--unix", str(folder / "d.sock")]
    with subprocess.Popen(
        [*COMMAND, *arguments, "--http", address, "--log", "json"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if json.loads(line)["event"] == "ready":
                    break
            yield process.pid, f"http://{address}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.stderr.read()


def asked(url: str) -> dict[str, float]:
    """Bytes and seconds of an answer, the median of three."""
    seconds, size = [], 0
    for _ in range(3):
        before = time.perf_counter()
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:  # noqa: S310
            size = len(answer.read())
        seconds.append(time.perf_counter() - before)
    return {"bytes": size, "seconds": round(median(seconds), 4)}


def in_turns(folders: Sequence[Path], examples: int) -> list[float]:
    """Median times until a stream of each store is acknowledged an example, in milliseconds.

    The stores take turns, so that all meet the same machine. The first rule fits all examples, so
    that nothing is charged or published meanwhile.
    """
    seconds: list[list[float]] = [[] for _ in folders]
    with ExitStack() as stack:
        feeders = []
        for folder in folders:
            stack.enter_context(served(folder))
            client = stack.enter_context(Client(f"unix:{folder / 'd.sock'}"))
            feeders.append(stack.enter_context(client.feed("stream-0", producer="bench")))
        for number in range(examples):
            x = number % 256
            for feeder, found in zip(feeders, seconds, strict=True):
                before = time.perf_counter()
                feeder.send(np.array([x], dtype=np.uint8), np.array([x >= 128], dtype=np.uint8))
                feeder.flush()
                found.append(time.perf_counter() - before)
    return [1000 * median(found) for found in seconds]


def measured(folder: Path, streams: int) -> dict[str, Any]:
    """What a new store of so many streams costs; prints it."""
    folder.mkdir()
    found: dict[str, Any] = {"streams": streams, "init": round(made(folder, streams), 2)}
    for start in ("first_start", "start"):
        with served(folder) as (process, url):
            found[start] = processor_seconds(process)
            found |= facts_of(process)
            found["mark_bytes"] = (folder / "store" / "high-water-mark").stat().st_size
            if start == "start":
                found |= {page: asked(url + path) for page, path in PAGES.items()}
    print(json.dumps(found), flush=True)
    return found


def ratios(one: dict[str, Any], many: dict[str, Any]) -> dict[str, Any]:
    """What a further stream costs."""
    more = many["streams"] - 1
    each = {
        f"{what}_ms_each": round(1000 * (many[what] - one[what]) / more, 3)
        for what in ("init", "first_start", "start")
    }
    return {
        "streams": many["streams"],
        **each,
        "kib_each": round((many["resident_kib"] - one["resident_kib"]) / more, 1),
        "threads_more": many["threads"] - one["threads"],
    }


def main() -> None:
    """Parse the command line and run."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=about)
    parser.add_argument("--streams", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--examples", type=int, default=2000, help="acknowledged one by one")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        first = Path(name) / "one"
        one = measured(first, 1)
        for streams in options.streams:
            folder = Path(name) / str(streams)
            many = measured(folder, streams)
            times = in_turns((first, folder), options.examples)
            shown = {
                "acknowledged_ms": [round(found, 2) for found in times],
                "acknowledged_ratio": round(times[1] / times[0], 2),
            }
            print(json.dumps(ratios(one, many) | shown), flush=True)


if __name__ == "__main__":
    main()
