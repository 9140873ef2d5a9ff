"""From a sample: the least window of the private learner, for several spreads of indices."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from littled.classes.integers import Integers
from littled.classes.oneway import OneWay
from littled.classes.wide import rising
from littled.learners.batch.methods import Draw, Window
from littled.learners.minimum.draws import draw_of
from littled.learners.sequences import SequencesParameters
from littled.learners.sequences.draws import SequencesDraw
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.stable_histogram import StableHistogram
from littled.planner import StreamRequest, plan_stream
from littled.planner.sequences.plan import SequencesPlan, SequencesRequest
from littled_protocol.columns import point_type, smallest_point_type
from littled_protocol.rules import SequenceRule
from littled_protocol.rules.sequences import leaf_of, point_of

ALPHA, EPSILON, DELTA = Fraction(1, 10), Fraction(1), Fraction(1, 10**6)
LAWS = ("even", "magnitudes", "near")
FORGED = 0.1
NEAR = 97
METHODS = ("exponential", "stable")
# Where in the errors that are allowed the rank T is, as tried; the best is shown.
RANKS = (Fraction(3, 5), Fraction(3, 4))
GRID = [math.ceil(60 * 1.05**step) for step in range(110)]


@lru_cache(maxsize=64)
def planned(bits: int, method: str) -> SequencesParameters:
    """The plan for windows of proven error."""
    asked = SequencesRequest("l", OneWay(bits), alpha=ALPHA, method=method)
    (plan,) = plan_stream(StreamRequest("s", EPSILON, DELTA, 10**6, (asked,))).of(SequencesPlan)
    return plan.parameters


def parameters(bits: int, method: str, n: int, rank: Fraction) -> SequencesParameters | None:
    """The rates of the plan for windows of n, with T a share of the errors that are allowed."""
    p = planned(bits, method)
    target = max(1, int(rank * ALPHA * n))
    if p.span > target or target + p.span > n:
        return None
    return replace(p, window=n, rank=target)


@dataclass(frozen=True)
class Drawn:
    """The indices and labels of one window; the bits of the few indices that are near."""

    indices: list[int]
    labels: NDArray[np.bool_]
    near: NDArray[np.bool_]


def sample(rng: np.random.Generator, bits: int, law: str, n: int) -> Drawn:
    """Examples of one window; bits of a sequence are coins to whoever does not know its seed."""
    forged, near = rng.random(n) < FORGED, rng.random(NEAR) < 0.5
    found = indices(rng, bits, law, n)
    ones = rng.random(n) < 0.5
    if law == "near":  # the same index has the same bit
        ones = near[[index - 2**bits // 3 for index in found]]
    return Drawn(found, ones & ~forged, near)


def indices(rng: np.random.Generator, bits: int, law: str, n: int) -> list[int]:
    """Indices of `bits` bits."""
    if law == "even":
        return [int.from_bytes(rng.bytes(16), "big") >> (128 - bits) for _ in range(n)]
    if law == "magnitudes":
        return [min(int(2 ** (u * bits)), 2**bits - 1) for u in rng.random(n).tolist()]
    return [2**bits // 3 + step for step in rng.integers(0, NEAR, n).tolist()]


def missed(bits: int, law: str, index: int, near: NDArray[np.bool_]) -> float:
    """The share of further examples that are honest, have label 1 and an index below this one.

    near: the bits of the `NEAR` indices, bool.
    """
    if law == "near":
        return (1 - FORGED) * float(near[: max(index - 2**bits // 3, 0)].sum()) / NEAR
    below: float = index / 2**bits
    if law == "magnitudes":
        below = math.log2(max(index, 1)) / bits
    return (1 - FORGED) / 2 * below


def column(numbers: list[int], bits: int) -> NDArray[np.unsignedinteger]:
    """Numbers as the class of integers has them."""
    kind = point_type(smallest_point_type(bits))
    return kind.decode(numbers, len(numbers)) if len(numbers) < 1 << 12 else _long(numbers, bits)


def _long(numbers: list[int], bits: int) -> NDArray[np.unsignedinteger]:
    if bits > 64:
        pairs = [[number >> 64, number & (2**64 - 1)] for number in numbers]
        return np.array(pairs, dtype=np.uint64)
    return np.array(numbers, dtype=point_type(smallest_point_type(bits)).dtype)


def place(run: int, name: str) -> Draw:
    """The noise of one run."""
    key = run.to_bytes(32, "big")
    return Draw(KeyedNoise(key), Address(bytes(32), f"s/{name}", "select", 1))


def succeeds(bits: int, law: str, method: str, rank: Fraction, n: int, run: int) -> bool:
    """Whether one window's rule errs on at most alpha, by the draws of the learner."""
    p = parameters(bits, method, n, rank)
    if p is None:
        return False
    rng = np.random.default_rng([bits, LAWS.index(law), n, run])
    drawn = sample(rng, bits, law, n)
    positive = [i for i, y in zip(drawn.indices, drawn.labels.tolist(), strict=True) if y]
    numbers = column(positive, bits)
    noise = place(run, method)
    index = draw_of(Integers(bits), p).drawn(numbers.take(rising(numbers), axis=0), noise)
    votes = sum(number <= index for number in positive)
    histogram = StableHistogram(p.vote_rate, p.threshold)
    counts = np.array([votes] if votes else [], dtype=np.int64)
    passing = histogram.passing(counts, noise.words("select", len(counts), 3))
    published = index if len(passing) else 2**bits
    return missed(bits, law, published, drawn.near) <= ALPHA


def real(bits: int, law: str, method: str, rank: Fraction, n: int, run: int) -> bool:
    """The same by the whole learner on strings of a seed; later ones have to be labelled right."""
    p = parameters(bits, method, n, rank)
    assert p is not None
    rng = np.random.default_rng([7, bits, LAWS.index(law), n, run])
    seed = rng.bytes(16)
    x, y = strings(rng, seed, bits, law, n)
    made = SequencesDraw(OneWay(bits), p)
    rule = made.select(Window(x, y, np.zeros(n, dtype=np.int64)), place(run, method))
    assert isinstance(rule, SequenceRule)
    first = 2**bits // 3
    near = np.array([leaf_of(seed, first + step, bits).bit == 1 for step in range(NEAR)])
    wrong = missed(bits, law, 2**bits if rule.index is None else rule.index, near)
    further, labels = strings(rng, seed, bits, law, 100)
    # from its index on the rule is right, forged strings included
    if rule.index is not None:
        at = [int.from_bytes(row[: (bits + 7) // 8].tobytes(), "big") for row in further]
        known = np.array([number >= rule.index for number in at])
        assert (rule.evaluate(further[known]) == labels[known]).all()
    return wrong <= ALPHA


def strings(
    rng: np.random.Generator, seed: bytes, bits: int, law: str, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Points (n, bytes) and labels (n,) of a seed, some of them with the strings of no tree."""
    rows, labels = [], []
    for index in indices(rng, bits, law, n):
        leaf = leaf_of(seed, index, bits)
        if rng.random() < FORGED:
            leaf = leaf_of(rng.bytes(16), index, bits)._replace(bit=0)
            # the last index of all has an empty string, whatever the seed
            leaf = leaf if any(leaf.sigma) else leaf_of(seed, index, bits)
        rows.append(point_of(index, leaf.sigma, bits))
        labels.append(leaf.bit)
    x = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(n, -1)
    return x, np.array(labels, dtype=np.uint8)


@dataclass(frozen=True)
class Needed:
    """The least windows of one method: by spread, of the worst one, proven, and on real strings."""

    bits: int
    method: str
    by_law: dict[str, int]
    rank: str
    worst: int
    proven: int
    real_failed: int
    real_runs: int


def needed(bits: int, method: str, runs: int, real_runs: int) -> Needed:
    """The least window by each spread, for the rank that needs fewest in the worst one."""
    options = []
    for rank in RANKS:
        found = {law: least(bits, law, method, rank, runs) for law in LAWS}
        options.append((max(found.values()), rank, found))
    worst, rank, by_law = min(options, key=lambda option: option[0])
    law = max(LAWS, key=lambda name: by_law[name])
    failed = sum(not real(bits, law, method, rank, worst, run) for run in range(real_runs))
    proven = planned(bits, method).window
    return Needed(bits, method, by_law, str(rank), worst, proven, failed, real_runs)


def least(bits: int, law: str, method: str, rank: Fraction, runs: int) -> int:
    """The least size of the grid at which nine of ten runs succeed, by bisection."""
    low, high = -1, len(GRID) - 1
    while high > low + 1:
        middle = (low + high) // 2
        good = _nine_of_ten(_outcomes(bits, law, method, rank, GRID[middle], runs), runs)
        low, high = (low, middle) if good else (middle, high)
    return GRID[high]


def _outcomes(
    bits: int, law: str, method: str, rank: Fraction, n: int, runs: int
) -> Iterator[bool]:
    return (succeeds(bits, law, method, rank, n, run) for run in range(runs))


def _nine_of_ten(outcomes: Iterator[bool], runs: int) -> bool:
    failed = 0
    for outcome in outcomes:
        failed += not outcome
        if 10 * failed > runs:
            return False
    return True
