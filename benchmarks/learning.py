"""Mistakes of the online learner on realizable streams, under a fixed budget.

    python benchmarks/learning.py [--seeds 20] [--horizon 1000000] [CLASS ...]

Runs the engine as the daemon runs it (planner, filter, noise, learner), without sockets and disk,
and counts mistakes from the public transcript: every published rule is applied from the position
of its release on. One JSON line per class, with the plan that was used.
"""

import argparse
import hashlib
import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np

from littled.classes import class_from_name
from littled.engine import Transcript, replay
from littled.mechanisms.noise import KeyedNoise
from littled.planner import LearnerRequest, StreamPlan, StreamRequest, plan_stream
from littled.store.records import Record
from littled_protocol.codec import decode
from littled_protocol.columns import encode_labels, point_type
from littled_protocol.messages import Release
from littled_protocol.rules import rule_from_dict

RECORD_EXAMPLES = 10_000


def thresholds(size: int, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Uniform points, uniform target."""
    x = rng.integers(0, size, count)
    return x, x >= rng.integers(0, size + 1)


def points(bits: int, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Ids drawn uniformly from 1,000 random ids, one of them the target."""
    ids = rng.integers(0, 2**bits, 1000, dtype=np.uint64)
    x = ids[rng.integers(0, 1000, count)]
    return x, x == ids[0]


def prefixes(bits: int, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A block of length 24 to 64; half of the addresses inside, half neighbours at all scales.

    A neighbour shares its first s bits with the block, differs in the next, and is random behind;
    s is uniform below the block's length.
    """
    assert bits == 128
    length = int(rng.integers(24, 65))
    target = rng.integers(0, 2**64, 2, dtype=np.uint64)
    x = rng.integers(0, 2**64, (count, 2), dtype=np.uint64)
    inside = rng.random(count) < 0.5
    shared = np.where(inside, length, rng.integers(0, length, count))
    keep = np.where(
        shared >= 64, ~np.uint64(0), ~(~np.uint64(0) >> (shared % 64).astype(np.uint64))
    )
    x[:, 0] = (target[0] & keep) | (x[:, 0] & ~keep)
    flip = np.uint64(1) << (63 - np.minimum(shared, 63)).astype(np.uint64)
    differs = (x[:, 0] ^ target[0]) & flip
    x[:, 0] ^= np.where(inside | (differs != 0), np.uint64(0), flip)
    return x, inside


STREAMS = {"thresholds": thresholds, "points": points, "prefixes": prefixes}


def records(x: Any, y: Any, x_type: str, seed: int) -> Iterator[Record]:
    """Journal records of 10,000 examples with a chain head of their own."""
    kind = point_type(x_type)
    x = x if x_type == "u128" else x.astype(kind.dtype)
    labels = y.astype(np.uint8)
    for number, first in enumerate(range(0, len(y), RECORD_EXAMPLES)):
        part = slice(first, first + RECORD_EXAMPLES)
        count = len(labels[part])
        head = hashlib.blake2b(f"{seed}/{number}".encode(), digest_size=32).digest()
        yield Record(
            "bench", number, first, "bench", first, count,
            kind.encode(x[part]), encode_labels(labels[part]), head,
        )  # fmt: skip


def mistakes(transcript: Transcript, x: Any, y: Any, x_type: str) -> tuple[int, int]:
    """Mistakes and published rules, from the public releases only."""
    kind = point_type(x_type)
    x = x if x_type == "u128" else x.astype(kind.dtype)
    releases = [decode(each.body) for each in transcript.releases]
    wrong = 0
    ends = [each.position for each in releases[1:]] + [len(y)]
    for release, end in zip(releases, ends, strict=True):
        assert isinstance(release, Release)
        assert release.rule is not None
        part = slice(release.position, end)
        wrong += int((rule_from_dict(release.rule).evaluate(x[part]) != y[part]).sum())
    return wrong, len(releases)


def run(name: str, seeds: int, horizon: int) -> dict[str, Any]:
    """All seeds of one class."""
    hypotheses = class_from_name(name)
    plan: StreamPlan = plan_stream(
        StreamRequest(
            "bench", Fraction(1), Fraction(1, 10**6), horizon, (LearnerRequest("l", hypotheses),)
        )
    )
    kind, _, parameter = name.partition(":")
    found, published, begun = [], [], time.perf_counter()
    with ThreadPoolExecutor(1) as executor:
        for seed in range(seeds):
            x, y = STREAMS[kind](int(parameter), horizon, np.random.default_rng(seed))
            noise = KeyedNoise(hashlib.blake2b(bytes([seed]), digest_size=32).digest())
            transcript = replay(plan, noise, records(x, y, plan.x_type, seed), executor)
            wrong, rules = mistakes(transcript, x, y, plan.x_type)
            found.append(wrong)
            published.append(rules)
    return {
        "class": name,
        "mistakes_median": statistics.median(found),
        "mistakes_p95": sorted(found)[max(0, -(-95 * len(found) // 100) - 1)],
        "mistakes_max": max(found),
        "published_mean": statistics.mean(published),
        "seconds_per_run": round((time.perf_counter() - begun) / seeds, 2),
        "seeds": seeds,
        "horizon": horizon,
        "plan": plan.plans[0].parameters.to_dict(),
    }


def main() -> None:
    """Parse the command line and print a JSON line per class."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="*", metavar="CLASS")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    arguments = parser.parse_args()
    for name in arguments.classes or ["thresholds:256", "points:64", "prefixes:128"]:
        print(json.dumps(run(name, arguments.seeds, arguments.horizon)), flush=True)


if __name__ == "__main__":
    main()
