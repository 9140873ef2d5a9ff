"""What it costs that the high-water mark is ahead of every acknowledgement.

    python benchmarks/marks.py [--commits 2000]

A store writes its mark, durably, before it acknowledges examples beyond the number that the mark
has for their producer (`littled.store.mark`). Two stores get the same commits in turns, one of them
as it is and one that reserves no numbers; each line is one JSON object: for so many producers, of
whom so many have a batch in each commit, how often the mark was written, the median time of a
commit, and the share that marks add to all commits, in wall and in CPU time.

Timing begins when producers have had 40 batches each: a mark at the first one of each of them, and
two more in its first half minute, are paid once. What a daemon does besides makes the share
smaller.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from statistics import median

from littled.classes.registry import class_from_name
from littled.planner import LearnerRequest, StreamRequest, plan_stream
from littled.store.mark import HighWaterMark, read_mark
from littled.store.records import NewRecord
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


def measured(folder: Path, producers: int, batches: int, examples: int, timed: int) -> None:
    """One case, with so many commits after the first ones."""
    first = 40 * producers // batches
    request = LearnerRequest("rule", class_from_name("thresholds:256"))
    plan = plan_stream(StreamRequest(STREAM, Fraction(1), Fraction(1, 10**6), 10**9, (request,)))
    wall: tuple[list[float], list[float]] = ([], [])
    cpu, marks = [0.0, 0.0], 0
    for kind in (Store, Unreserved):
        kind.create(folder / kind.__name__, {}, {STREAM: plan.to_dict()})
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


def mark_of(folder: Path) -> HighWaterMark:
    """The mark of the store that has one of numbers."""
    return read_mark(folder / Store.__name__ / "high-water-mark")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commits", type=int, default=2000, help="timed in each case")
    timed = parser.parse_args().commits
    for case in CASES:
        with tempfile.TemporaryDirectory() as name:
            measured(Path(name), *case, timed)


if __name__ == "__main__":
    main()
