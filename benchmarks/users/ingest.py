"""How fast a daemon takes in examples of users, beside examples alone.

A real daemon on a new store with two streams for each type of points, fed over a unix socket by
this process in batches of 10,000, every one acknowledged as durable. An engine learns behind the
acknowledgements, so each run first sends so much that the daemon's queues are full; only what comes
after that is timed. The three kinds of runs take turns, in another order each round: examples
alone, with digests that were made before, and with ids as text, of which the client makes digests
while it sends. CPU time is over all examples sent, until the daemon has learned them.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from littled.limits import ENGINE_QUEUE_BYTES_MAX, STREAM_PENDING_BYTES_MAX
from littled_client import Client, hash_users
from littled_protocol.limits import user_bytes

CLASSES = {
    "u8": "thresholds:256",
    "u16": "thresholds:65536",
    "u32": "points:32",
    "u64": "points:64",
    "u128": "prefixes:128",
    "u16x16": "stumps:16:64",
}
KINDS = ("alone", "digests", "ids")
USERS = 100_000
BATCH_EXAMPLES = 10_000
_CYCLE = 1_000_000
_QUEUE_BYTES = ENGINE_QUEUE_BYTES_MAX + STREAM_PENDING_BYTES_MAX


@dataclass(frozen=True)
class Speed:
    """One run: examples a second, acknowledged; nanoseconds of CPU time of each process."""

    points: str
    kind: str
    per_second: float
    client_ns: float
    daemon_ns: float


def configuration() -> str:
    """Two streams for each type of points, with one season that does not end."""
    return "".join(
        f'[streams.{points}-{unit}]\nepsilon = 1.0\ndelta = 1e-6\nhorizon = 1_000_000_000\n'
        f'unit = "{unit}"\nlearners.rule.class = "{name}"\n'
        for points, name in CLASSES.items()
        for unit in ("example", "user")
    )  # fmt: skip


@contextmanager
def daemon(folder: Path, streams: str) -> Iterator[tuple[str, int]]:
    """A daemon of its own process on a new store with these streams: its address and process id."""
    configuration, store, path = (folder / name for name in ("littled.toml", "store", "socket"))
    configuration.write_text(streams)
    littled = [sys.executable, "-m", "littled.cli"]
    creating: list[str | Path] = [*littled, "init", store, "--config", configuration]
    subprocess.run(creating, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    serving = subprocess.Popen(
        [*littled, "serve", store, "--unix", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
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


def columns(points: str) -> Any:
    """A million points, chosen evenly."""
    rng = np.random.default_rng(1)
    if points == "u128":
        return rng.integers(0, 2**64, (_CYCLE, 2), dtype=np.uint64)
    if points.startswith("u16x"):
        return rng.integers(0, 64, (_CYCLE, int(points[4:])), dtype=np.uint16)
    dtype = np.dtype(f"uint{points[1:]}")
    return rng.integers(0, int(np.iinfo(dtype).max), _CYCLE, dtype=dtype, endpoint=True)


def cpu_seconds(process: int) -> float:
    """CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settled_cpu_seconds(process: int) -> float:
    """The same once the process rests."""
    seconds = cpu_seconds(process)
    while True:
        time.sleep(0.5)
        before, seconds = seconds, cpu_seconds(process)
        if seconds - before < 0.02:
            return seconds


def measured(
    address: str, process: int, points: str, kind: str, x: Any, users: Any, examples: int
) -> Speed:
    """One run."""
    y = np.zeros(_CYCLE, dtype=np.uint8)
    example_bytes = x.nbytes // _CYCLE + 1 + (0 if users is None else user_bytes)
    size = BATCH_EXAMPLES
    ahead, timed = _QUEUE_BYTES // example_bytes // size + 1, examples // size
    daemon, client = settled_cpu_seconds(process), time.process_time()
    name = f"{points}-{'example' if users is None else 'user'}"
    with Client(address, producer=kind) as link, link.feed(name) as feeder:
        begun = 0.0
        for batch in range(ahead + timed):
            if batch == ahead:
                begun = time.perf_counter()
            part = slice(batch * size % _CYCLE, batch * size % _CYCLE + size)
            feeder.send(x[part], y[part], None if users is None else users[part])
        feeder.flush()
        seconds = time.perf_counter() - begun
    client = time.process_time() - client
    daemon = settled_cpu_seconds(process) - daemon
    sent = (ahead + timed) * size
    return Speed(points, kind, timed * size / seconds, client / sent * 1e9, daemon / sent * 1e9)


def run(
    types: Sequence[str], examples: int, rounds: int, report: Callable[[Speed], None]
) -> list[Speed]:
    """All runs."""
    ids = [f"user {number}" for number in np.random.default_rng(5).integers(0, USERS, _CYCLE)]
    users = {"alone": None, "digests": hash_users(ids), "ids": ids}
    found = []
    with (
        tempfile.TemporaryDirectory() as name,
        daemon(Path(name), configuration()) as (address, process),
    ):
        for turn in range(rounds):
            for points in types:
                x = columns(points)
                for kind in KINDS if turn % 2 else KINDS[::-1]:
                    speed = measured(address, process, points, kind, x, users[kind], examples)
                    report(speed)
                    found.append(speed)
    return found


def markdown(speeds: Sequence[Speed]) -> str:
    """Medians: throughput, and CPU time of client and daemon."""

    def median(points: str, kind: str, figure: Callable[[Speed], float]) -> float:
        return statistics.median(
            figure(each) for each in speeds if (each.points, each.kind) == (points, kind)
        )

    titles = ("examples alone", "with digests", "with ids", "longer", "more CPU time")
    lines = [
        "Million examples a second, all acknowledged as durable, and in brackets the ns of CPU",
        "time of client and daemon for each of them; how much longer it takes with digests, and",
        "how much more CPU time.",
        "",
        f"| points | {' | '.join(titles)} |",
        f"|---|{'---:|' * len(titles)}",
    ]
    for points in dict.fromkeys(each.points for each in speeds):
        rates = {kind: median(points, kind, lambda each: each.per_second) for kind in KINDS}
        cpu = {
            kind: median(points, kind, lambda each: each.client_ns + each.daemon_ns)
            for kind in KINDS
        }
        cells = [
            f"{rates[kind] / 1e6:.1f} "
            f"({median(points, kind, lambda each: each.client_ns):.0f} + "
            f"{median(points, kind, lambda each: each.daemon_ns):.0f})"
            for kind in KINDS
        ]
        cells.append(f"x {rates['alone'] / rates['digests']:.1f}")
        cells.append(f"x {cpu['digests'] / cpu['alone']:.1f}")
        lines.append(f"| {points} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
