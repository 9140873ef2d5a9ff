"""What it costs that the high-water mark is ahead of every acknowledgement.

    python -m benchmarks.marks [--commits 2000]

A store writes its mark, durably, before it acknowledges examples beyond the number that the mark
has for their producer (`littled.store.mark`). Two stores get the same commits in turns, one of them
as it is and one that reserves no numbers; each line is one JSON object: for so many producers, of
whom so many have a batch in each commit, how often the mark was written, the median time of a
commit, and the share that marks add to all commits, in wall and in CPU time.

Last come acknowledgements of single examples, one after the other, of one producer and of ten
thousand in turns: two stores get their commits in turns, so that both meet the same machine. The
ten thousand begin with a first example each, which is not timed.

Timing of the others begins when producers have had 40 batches each: a mark at the first one of each
of them, and two more in its first half minute, are paid once. What a daemon does besides makes the
share smaller.
"""

import argparse
import functools
import json
import random
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.store.mark import HighWaterMark
from littled.store.records import NewRecord
from littled.store.register import FileRegister
from littled.store.staging import Producers
from littled.store.store import Store

STREAM = "bench"
# Producers, batches in a commit, examples in a batch.
CASES = ((1, 1, 1), (1, 1, 100), (1, 1, 10_000), (64, 1, 1), (64, 8, 100), (64, 1, 10_000))


class Unreserved(Store):
    """A store whose mark knows no producers: a restored copy might learn examples again."""

    def _reserve(self, producers: Producers) -> None:
        """Do nothing."""


def commits(producers: int, batches: int, examples: int) -> Iterator[list[NewRecord]]:
    """Commits of batches of chance producers, without end."""
    chance, following = random.Random(1), [0] * producers
    x, y = bytes(examples), bytes(examples)
    while True:
        records = []
        for number in chance.sample(range(producers), batches):
            records.append(
                NewRecord(STREAM, f"producer-{number}", following[number], examples, x, y)
            )
            following[number] += examples
        yield records


@functools.cache
def small_plan() -> dict[str, Any]:
    """A plan for one learner."""
    request = OnlineRequest("rule", class_from_name("thresholds:256"))
    plan = plan_stream(StreamRequest(STREAM, Fraction(1), Fraction(1, 10**6), 10**9, (request,)))
    return plan.to_dict()


def measured(folder: Path, producers: int, batches: int, examples: int, timed: int) -> None:
    """One case, with so many commits after the first ones."""
    first = 40 * producers // batches
    wall: tuple[list[float], list[float]] = ([], [])
    cpu, marks = [0.0, 0.0], 0
    for kind in (Store, Unreserved):
        kind.create(folder / kind.__name__, {}, {STREAM: small_plan()})
    with (
        Store.open(folder / Store.__name__) as plain,
        Unreserved.open(folder / Unreserved.__name__) as unreserved,
    ):
        stores, seen = (plain, unreserved), mark_of(folder)
        for turn, records in enumerate(
            islice(commits(producers, batches, examples), first + timed)
        ):
            for which in (0, 1) if turn % 2 else (1, 0):
                begun, used = time.perf_counter(), time.process_time()
                stores[which].append(records)
                if turn >= first:
                    wall[which].append(time.perf_counter() - begun)
                    cpu[which] += time.process_time() - used
            now = mark_of(folder)
            marks += turn >= first and now != seen
            seen = now
    print(
        json.dumps({
            "producers": producers,
            "batches_a_commit": batches,
            "examples_a_batch": examples,
            "commits": len(wall[0]),
            "marks": marks,
            "commit_p50_us": [round(median(each) * 1e6, 1) for each in wall],
            "wall_percent": round(100 * (sum(wall[0]) / sum(wall[1]) - 1), 1),
            "cpu_percent": round(100 * (cpu[0] / cpu[1] - 1), 1),
        }),
        flush=True,
    )  # fmt: skip


def paces(folder: Path, producers: int, timed: int) -> None:
    """Single examples of one producer, and of many in turns."""
    wall: tuple[list[float], list[float]] = ([], [])
    stores = [opened(folder / name) for name in ("one", "many")]
    for first in range(0, producers, 1000):
        stores[1].append([record(f"producer-{each}", 0) for each in range(first, first + 1000)])
    seen, marks = mark_in(folder / "many"), 0
    for turn in range(timed):
        one = record("producer", turn)
        many = record(f"producer-{turn % producers}", 1 + turn // producers)
        for which in (0, 1) if turn % 2 else (1, 0):
            begun = time.perf_counter()
            stores[which].append([many if which else one])
            wall[which].append(time.perf_counter() - begun)
        now = mark_in(folder / "many")
        marks += now != seen
        seen = now
    for store in stores:
        store.close()
    print(
        json.dumps({
            "producers": [1, producers],
            "commits": timed,
            "marks_of_many": marks,
            "commit_p50_us": [round(median(each) * 1e6, 1) for each in wall],
            "acknowledgements_per_s": [round(timed / sum(each)) for each in wall],
            "pace_of_many": round(sum(wall[0]) / sum(wall[1]), 2),
        }),
        flush=True,
    )  # fmt: skip


def opened(path: Path) -> Store:
    """A new store, open."""
    Store.create(path, {}, {STREAM: small_plan()})
    return Store.open(path)


def record(producer: str, sequence: int) -> NewRecord:
    """One example."""
    return NewRecord(STREAM, producer, sequence, 1, b"\5", b"\0")


def mark_in(path: Path) -> bytes:
    """The bytes of a store's mark."""
    return (path / "high-water-mark").read_bytes()


def mark_of(folder: Path) -> HighWaterMark:
    """The mark of the store that has one of numbers."""
    return FileRegister(folder / Store.__name__ / "high-water-mark").read()[0]


def main() -> None:
    """Parse the command line and run."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.marks", description=about)
    parser.add_argument("--commits", type=int, default=2000, help="timed in each case")
    timed = parser.parse_args().commits
    for case in CASES:
        with tempfile.TemporaryDirectory() as name:
            measured(Path(name), *case, timed)
    with tempfile.TemporaryDirectory() as name:
        paces(Path(name), 10_000, 5 * timed)


if __name__ == "__main__":
    main()
