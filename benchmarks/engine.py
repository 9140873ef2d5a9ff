"""The engine alone: nanoseconds an example, beside numpy's plain pass over the same bytes.

    python -m benchmarks.engine [--repeats 40] [--only TEXT]

No daemon, no disk: records are made beforehand and applied to an engine with real noise. For each
class of rules, one JSON line with, in processor time of the thread,

- `batches_ns`: an example in records of 10,000, one record after the other;
- `plain_ns`: an example of what nobody can leave out, in numpy and on the same columns: one word of
  ChaCha20, one comparison of points and one of labels, one count of the points; `ratio` of the two;
- `waiting_us`: a record of one example, where 1,000 wait, and `alone_us`, where none does.

Both are measured in turns, and the figures are medians; whatever else runs here slows both.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.engine import Engine, Transcript
from littled.mechanisms.noise import Address, KeyedNoise
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.service.training import Trainers
from littled.store.records import Record
from littled_protocol.columns import encode_users, point_type

BATCH_EXAMPLES = 10_000
BATCHES = 20
WAITING = 1_000
USERS = 100_000
# Classes of rules, and how many examples of a user count where users are protected.
CASES: tuple[tuple[str, int | None], ...] = (
    ("thresholds:256", None),
    ("thresholds:65536", None),
    ("stumps:8:16", None),
    ("points:64", None),
    ("sparse_sets:64:4", None),
    ("prefixes:128", None),
    ("thresholds:256", 4),
)
NOISE = KeyedNoise(bytes(range(32)))


@dataclass(frozen=True)
class Case:
    """A stream's plan, and columns of points (n,) or (n, m) and labels (n,) that a rule fits."""

    plan: StreamPlan
    x: NDArray[Any]
    y: NDArray[np.uint8]
    users: bytes


def case_of(name: str, most: int | None) -> Case:
    """A stream of 10^9 examples with one learner, and BATCHES batches for it."""
    unit = EXAMPLE if most is None else Unit(most)
    request = StreamRequest(
        "s",
        Fraction(1),
        Fraction(1, 10**6),
        10**9,
        (OnlineRequest("rule", class_from_name(name), noise_rate=Fraction(0)),),
        unit=unit,
    )
    plan, random = plan_stream(request), np.random.default_rng(1)
    count = BATCH_EXAMPLES * BATCHES
    kind = point_type(plan.x_type)
    points = {"thresholds:65536": 1 << 16, "stumps:8:16": 16}.get(name, 256)
    shape = (count,) if kind.columns == 1 else (count, kind.columns)
    x = random.integers(0, points, shape).astype(kind.dtype)
    first = x if x.ndim == 1 else x[:, -1]
    y = (first >= 8 if name.startswith(("thresholds", "stumps")) else first == 3).astype(np.uint8)
    ids = random.integers(0, 1 << 64, (USERS, 2), dtype=np.uint64)
    users = b"" if most is None else encode_users(ids[random.integers(0, USERS, count)])
    return Case(plan, x, y, users)


def records(case: Case, size: int, count: int, number: int = 0, position: int = 0) -> list[Record]:
    """So many records of `size` examples from a number and position on."""
    kind, found = point_type(case.plan.x_type), []
    for index in range(count):
        first = (index * size) % len(case.y)
        part = slice(first, first + size)
        x, y = kind.encode(case.x[part]), case.y[part].tobytes()
        users = case.users[16 * first : 16 * (first + size)]
        head = blake2b(b"%d" % (number + index), digest_size=32).digest()
        at = position + index * size
        found.append(Record("s", number + index, at, "p", at, size, x, y, head, users))
    return found


def plain_pass(case: Case) -> None:
    """What an engine cannot leave out, in numpy, for one batch; of points only the last column."""
    x, y = case.x[:BATCH_EXAMPLES], case.y[:BATCH_EXAMPLES]
    column = x if x.ndim == 1 else np.ascontiguousarray(x[:, -1])
    words = NOISE.words(Address(bytes(32), "s/rule", "trigger", 0), BATCH_EXAMPLES)
    np.flatnonzero(words < np.uint64(1 << 20))
    np.count_nonzero((column >= 8) != y)
    np.bincount(column.astype(np.uint16) & 511)


def seconds(call: Callable[[], Any]) -> float:
    """Processor time of this thread."""
    begun = time.thread_time()
    call()
    return time.thread_time() - begun


def applied(engine: Engine, parts: Sequence[Sequence[Record]]) -> None:
    """Apply records to an engine, those of one part together."""
    for part in parts:
        engine.apply_all(part)


def measure(case: Case, repeats: int) -> dict[str, float]:
    """All figures of one case, one kind of work after the other in each repeat."""
    trainers = Trainers()
    engine = Engine(case.plan, NOISE, Transcript(), trainers.executor(case.plan))
    engine.apply_all(records(case, BATCH_EXAMPLES, BATCHES))  # until the rule fits
    times: dict[str, list[float]] = {"batches": [], "plain": [], "waiting": [], "alone": []}
    kinds = ("batches", BATCH_EXAMPLES, 5), ("waiting", 1, WAITING), ("alone", 1, 50)
    for _ in range(repeats):
        for kind, size, count in kinds:
            made = records(case, size, count, engine.record_number + 1, engine.position)
            together = [made] if kind == "waiting" else [[record] for record in made]
            times[kind].append(seconds(partial(applied, engine, together)) / count)
        times["plain"].append(seconds(lambda: plain_pass(case)))
    trainers.close()
    found = {kind: median(each) for kind, each in times.items()}
    return {
        "batches_ns": round(found["batches"] / BATCH_EXAMPLES * 1e9, 2),
        "plain_ns": round(found["plain"] / BATCH_EXAMPLES * 1e9, 2),
        "ratio": round(found["batches"] / found["plain"], 2),
        "waiting_us": round(found["waiting"] * 1e6, 2),
        "alone_us": round(found["alone"] * 1e6, 1),
    }


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for name, most in CASES:
        if arguments.only in name:
            case = case_of(name, most)
            what = {"class": name, "unit": case.plan.unit.word}
            print(json.dumps(what | measure(case, arguments.repeats)), flush=True)


if __name__ == "__main__":
    main()
