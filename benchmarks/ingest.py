"""Durable ingest of a real daemon over a unix socket, fed by a second process.

    python benchmarks/ingest.py [--examples 20000000] [--singles 500000] [--round-trips 2000]
                                [--memory-examples 100000000]

Starts `littled serve` on a new store and feeds it with `littled_client`. Measures, each as a JSON
line:

- batches: labelled examples per second in batches of 10,000, every one acknowledged as durable; for
  a stream that protects users as well, with digests made before and with ids;
- singles: the same in frames of one example, pipelined;
- round trip: one example at a time, acknowledged, in turn with two bare servers that sync each
  message with fdatasync before they answer (an asyncio protocol that syncs on a thread, as a server
  must that keeps its loop free, and a blocking loop), and with a write and fdatasync alone;
- memory (only with --memory-examples): resident memory of the daemon along a long stream.

An acknowledgement means durable; the engine learns behind it, at most ENGINE_QUEUE_BYTES_MAX late.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from littled_client import AsyncClient, Client, hash_users

BATCH_EXAMPLES = 10_000
CONFIGURATION = """
[streams.bench]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000_000

[streams.bench.learners.rule]
kind = "online"
class = "thresholds:256"

[streams.users]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000_000
unit = "user"

[streams.users.learners.rule]
kind = "online"
class = "thresholds:256"
"""
USERS = 100_000


@contextmanager
def daemon(folder: Path, streams: str = CONFIGURATION) -> Iterator[tuple[str, int]]:
    """A daemon of its own process on a new store with these streams: its address and process id."""
    configuration, store, path = (folder / name for name in ("littled.toml", "store", "socket"))
    configuration.write_text(streams)
    littled = [sys.executable, "-m", "littled.cli"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*littled, "init", store, "--config", configuration], check=True, **quiet)
    serving = subprocess.Popen([*littled, "serve", store, "--unix", path], **quiet)
    try:
        while not answers(path):
            time.sleep(0.05)
        yield f"unix:{path}", serving.pid
    finally:
        serving.terminate()
        serving.wait()


def answers(path: Path) -> bool:
    """Whether somebody listens on this socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def emit(what: str, **figures: Any) -> None:
    """One JSON line."""
    print(json.dumps({"what": what} | figures), flush=True)


def stream(seed: int, count: int) -> tuple[Any, Any]:
    """Points and labels of a threshold at 100."""
    x = np.random.default_rng(seed).integers(0, 256, count).astype(np.uint8)
    return x, (x >= 100).astype(np.uint8)


def batches(address: str, examples: int, what: str = "", users: Any = None) -> None:
    """Batches of 10,000, to the stream that protects users if there are any."""
    x, y = stream(1, 1_000_000)
    name = "bench" if users is None else "users"
    with Client(address, producer=f"batches-{what}") as client, client.feed(name) as feeder:
        begun = time.perf_counter()
        for first in range(0, examples, BATCH_EXAMPLES):
            part = slice(first % len(x), first % len(x) + BATCH_EXAMPLES)
            feeder.send(x[part], y[part], None if users is None else users[part])
        feeder.flush()
        seconds = time.perf_counter() - begun
    emit(
        f"durable ingest, batches of 10,000{what and ', '}{what}",
        examples_per_second=round(examples / seconds),
        examples=examples,
        seconds=round(seconds, 3),
    )


async def singles(address: str, examples: int) -> None:
    """Frames of one example, pipelined."""
    x, y = (column.tolist() for column in stream(2, examples))
    async with AsyncClient(address, producer="singles") as client, client.feed("bench") as feeder:
        begun = time.perf_counter()
        for point, label in zip(x, y, strict=True):
            await feeder.send_one(point, label)
        await feeder.flush()
        seconds = time.perf_counter() - begun
    emit(
        "durable ingest, single-example frames, pipelined",
        examples_per_second=round(examples / seconds),
        examples=examples,
        seconds=round(seconds, 3),
    )


def synced(disk: int, message: bytes) -> None:
    """Append a message to a file and wait for the disk."""
    os.write(disk, message)
    os.fdatasync(disk)


def blocking_server(path: str, disk: int) -> None:
    """The hard limit: a blocking loop that syncs each message before its 12-byte answer."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        peer, _ = listener.accept()
        with peer:
            while message := peer.recv(4096):
                synced(disk, message)
                peer.sendall(bytes(12))


class BareProtocol(asyncio.Protocol):
    """The limit of a server that keeps its event loop free: syncs happen on a thread."""

    def __init__(self, disk: int) -> None:
        self.disk = disk

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        written = loop.run_in_executor(None, synced, self.disk, data)
        written.add_done_callback(lambda _: self.transport.write(bytes(12)))


def asyncio_server(path: str, disk: int) -> None:
    """`BareProtocol` until it is killed."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: BareProtocol(disk), path)
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def bare(server: Callable[[str, int], None], folder: Path) -> Iterator[socket.socket]:
    """A connection to a bare server in a process of its own."""
    path = folder / server.__name__
    disk = os.open(path.with_suffix(".log"), os.O_WRONLY | os.O_CREAT, 0o600)
    process = multiprocessing.Process(target=server, args=(str(path), disk))
    process.start()
    with socket.socket(socket.AF_UNIX) as peer:
        while peer.connect_ex(str(path)):
            time.sleep(0.05)
        yield peer
    process.terminate()
    process.join()
    os.close(disk)


def round_trips(address: str, count: int, folder: Path) -> None:
    """One acknowledged example at a time, in turn with both bare servers and a sync alone."""
    x, y = (column.tolist() for column in stream(3, count))
    disk = os.open(folder / "alone", os.O_WRONLY | os.O_CREAT, 0o600)
    with (
        bare(blocking_server, folder) as blocking,
        bare(asyncio_server, folder) as threaded,
        Client(address, producer="one") as client,
        client.feed("bench") as feeder,
    ):

        def ask(peer: socket.socket) -> None:
            peer.sendall(bytes(64))
            peer.recv(64)

        seen: dict[str, list[float]] = {"daemon": [], "bare_asyncio": [], "bare": [], "sync": []}
        for point, label in zip(x, y, strict=True):
            marks = [time.perf_counter_ns()]
            feeder.send_one(point, label)
            feeder.flush()
            marks.append(time.perf_counter_ns())
            ask(threaded)
            marks.append(time.perf_counter_ns())
            ask(blocking)
            marks.append(time.perf_counter_ns())
            synced(disk, bytes(64))
            marks.append(time.perf_counter_ns())
            for name, (begun, ended) in zip(seen, pairwise(marks), strict=True):
                seen[name].append((ended - begun) / 1e3)
    os.close(disk)
    median = {name: float(np.median(each)) for name, each in seen.items()}
    emit(
        "durable round trip, one example",
        **{f"{name}_p50_us": round(each, 1) for name, each in median.items()},
        **{
            f"{name}_p99_us": round(float(np.percentile(each, 99)), 1)
            for name, each in seen.items()
        },
        p50_ratio_to_bare_asyncio=round(median["daemon"] / median["bare_asyncio"], 2),
        p50_ratio_to_bare=round(median["daemon"] / median["bare"], 2),
        round_trips=count,
    )


def resident_mib(process: int) -> float:
    """Resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def memory(address: str, process: int, examples: int) -> None:
    """Resident memory along a long stream."""
    x, y = stream(4, 1_000_000)
    steps, seen = 20, []
    with Client(address, producer="memory") as client, client.feed("bench") as feeder:
        for _ in range(steps):
            for first in range(0, examples // steps, BATCH_EXAMPLES):
                part = slice(first % len(x), first % len(x) + BATCH_EXAMPLES)
                feeder.send(x[part], y[part])
            feeder.flush()
            seen.append(round(resident_mib(process), 1))
    half = seen[steps // 2 :]
    emit(
        "resident memory of the daemon",
        examples=examples,
        mib=seen,
        growth_over_second_half_mib=round(max(half) - half[0], 1),
    )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000_000)
    parser.add_argument("--singles", type=int, default=500_000)
    parser.add_argument("--round-trips", type=int, default=2_000)
    parser.add_argument("--memory-examples", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, daemon(Path(name)) as (address, process):
        batches(address, arguments.examples)
        ids = [f"user {number}" for number in np.random.default_rng(5).integers(0, USERS, 10**6)]
        batches(address, arguments.examples // 4, "digests", hash_users(ids))
        batches(address, arguments.examples // 4, "ids", ids)
        asyncio.run(singles(address, arguments.singles))
        round_trips(address, arguments.round_trips, Path(name))
        if arguments.memory_examples:
            memory(address, process, arguments.memory_examples)


if __name__ == "__main__":
    main()
