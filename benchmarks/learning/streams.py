"""Realizable streams for the learning benchmark: three kinds for every class of rules.

    stream = make_stream("affine:64:8", "adversarial", horizon=1_000_000, seed=3)
    stream.x, stream.y        # points as the daemon reads them, labels uint8 (n,)

Every stream is a function of (class, kind, horizon, seed) and is fixed before any learner starts,
so an adversary here is oblivious. Kinds:

- *uniform*: independent examples of one distribution, in which a fair share of the labels is 1
  where the class allows it;
- *clustered*: the same targets, but the points come from some hundred cluster centres with shares
  as in Zipf's law, and in bursts: for a while every other example is of one centre;
- *adversarial*: the order that hurts whoever publishes rarely, or forgets. The stream has phases of
  about equal length; each shows what splits the rules that still fit all earlier phases (binary
  search), or makes the smallest rule around the earlier positives wrong (one dimension, one literal
  or one id more). Half of a phase's examples are new in this sense, half are like those of earlier
  phases. What a phase shows depends on the target and chance alone, never on a learner.

`orders.py` has more kinds: orders that are known to hurt, and targets that move.

A generator says what the labels should be from how it made the points; `make_stream` asserts that
the target, evaluated on its own, gives exactly these labels. Points have at most 64 bits, except
for prefixes, which have 128; a stream of a million rows of 16 features holds 32 MB.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import point_type, smallest_point_type

Usual = Literal["uniform", "clustered", "adversarial"]
Order = Literal["near-misses", "sorted", "grouped", "bursts", "jump", "drift"]
Kind = Usual | Order
KINDS: tuple[Usual, ...] = get_args(Usual)
ORDERS: tuple[Order, ...] = get_args(Order)

Generator = np.random.Generator
Points = NDArray[np.unsignedinteger[Any]]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]

# The seed of everything that belongs to a class and not to one of its streams.
CLASS_SEED = 2026
IDS = 1000
CENTRES = 500
ZIPF_EXPONENT = 1.1
BURST_EXAMPLES_MEAN = 500
# Rows from which the most balanced one is chosen for a phase.
POOL_ROWS = 4096


class Target(Protocol):
    """The rule behind a stream, written down once more and independently of the daemon's rules."""

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1, (n,)."""


@dataclass(frozen=True)
class Stream:
    """A stream with what a benchmark needs to know of it.

    x: points of `littled_protocol.columns` type `x_type`. y: uint8 (n,). phases: positions at which
    the phases begin; (0,) for kinds that have none. later: where the target moves, for each phase
    but the first the target that is in force from there on; empty where one target fits everything.
    """

    class_name: str
    kind: Kind
    seed: int
    x_type: str
    x: Points
    y: NDArray[np.uint8]
    target: Target
    phases: tuple[int, ...]
    later: tuple[Target, ...] = ()

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.y)


# What a generator returns: points (unsigned integers that fit), the labels meant for them, the
# target, and the number of phases.
Made = tuple[Points, Flags, Target, int]
Maker = Callable[[tuple[int, ...], Usual, int, Generator], Made]


def make_stream(class_name: str, kind: Usual, horizon: int, seed: int) -> Stream:
    """The stream of one class, kind and seed, with `horizon` examples.

    ValueError for a class that has no streams here.
    """
    family, numbers = parsed(class_name)
    rng = np.random.default_rng(entropy(class_name, KINDS.index(kind), seed))
    x, meant, target, phases = _MAKERS[family](numbers, kind, horizon, rng)
    columns = point_type(x_type_of(class_name))
    x = np.ascontiguousarray(x, dtype=columns.dtype)
    labels = target.labels(x)
    assert np.array_equal(labels, meant), f"{class_name} {kind} {seed}: not realizable"
    starts = tuple(starts_of(phases, horizon))
    return Stream(class_name, kind, seed, columns.name, x, labels.view(np.uint8), target, starts)


def parsed(class_name: str) -> tuple[str, tuple[int, ...]]:
    """The family and its numbers: ("affine", (64, 8)) for `affine:64:8`; ValueError if unknown."""
    family, _, rest = class_name.partition(":")
    try:
        numbers = tuple(int(each) for each in rest.replace("x", ":").split(":"))
    except ValueError:
        numbers = ()
    if family not in _MAKERS or len(numbers) != _NUMBERS[family]:
        raise ValueError(f"there are no streams for the class {class_name!r}")
    return family, numbers


def x_type_of(class_name: str) -> str:
    """The type of the points on the wire."""
    family, numbers = parsed(class_name)
    if family == "stumps":
        return f"u16x{numbers[0]}"
    if family in ("thresholds", "table"):
        return smallest_point_type(max(1, (numbers[-1] - 1).bit_length()))
    return smallest_point_type(numbers[0])


def entropy(class_name: str, number: int, seed: int) -> list[int]:
    """The seed of chance for the kind of stream with this number."""
    name = hashlib.blake2b(class_name.encode(), digest_size=8).digest()
    return [int.from_bytes(name, "big"), number, seed]


# --- Shared parts ---------------------------------------------------------------------------------


def zipf_bursts(clusters: int, count: int, rng: Generator) -> Numbers:
    """Cluster numbers (count,): shares as in Zipf's law, every other example part of a burst."""
    shares = 1 / np.arange(1, clusters + 1) ** ZIPF_EXPONENT
    edges = np.cumsum(shares / shares.sum())
    drawn = np.searchsorted(edges[:-1], rng.random(count)).astype(np.int64)
    bursts = 2 * count // BURST_EXAMPLES_MEAN + 8
    lengths = rng.geometric(1 / BURST_EXAMPLES_MEAN, bursts)
    hot = np.resize(np.repeat(rng.integers(0, clusters, bursts), lengths), count)
    return np.where(rng.random(count) < 0.5, hot, drawn)


def starts_of(phases: int, count: int) -> list[int]:
    """First positions of `phases` phases of about equal length."""
    return [count * number // phases for number in range(phases)]


def _phase_of(phases: int, count: int) -> Numbers:
    """The phase of every position, (count,)."""
    starts = np.array(starts_of(phases, count))
    return np.searchsorted(starts, np.arange(count), side="right").astype(np.int64) - 1


def _shown_or_earlier(phases: int, count: int, rng: Generator) -> Numbers:
    """For every position its phase or, every other time, one of the phases before it, (count,)."""
    newest = _phase_of(phases, count)
    earlier = rng.integers(0, newest + 1)
    return np.where(rng.random(count) < 0.5, newest, earlier)


def _words(count: int, rng: Generator) -> NDArray[np.uint64]:
    return rng.integers(0, 2**64, count, dtype=np.uint64)


def _below(bits: int, count: int, rng: Generator) -> NDArray[np.uint64]:
    """Uniform numbers below 2^bits, for up to 64 bits."""
    return _words(count, rng) >> np.uint64(64 - bits)


# --- Thresholds -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThresholdTarget:
    """x >= threshold."""

    threshold: int

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        return x.astype(np.int64) >= self.threshold


def _thresholds(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    """Uniform points; 300 centres; or the midpoint of the thresholds that are left (bisection)."""
    (size,) = numbers
    if kind == "adversarial":
        threshold = int(rng.integers(0, size + 1))
        shown = _bisected(0, size, threshold)
        x = np.array(shown)[_shown_or_earlier(len(shown), count, rng)]
    else:
        if kind == "uniform":
            x = rng.integers(0, size, count)
        else:
            jitter = size // 1024
            centres = rng.integers(0, size, 300)[zipf_bursts(300, count, rng)]
            x = np.clip(centres + rng.integers(-jitter, jitter + 1, count), 0, size - 1)
        # between the quartiles, so that both labels have a fair share
        threshold = int(np.quantile(x, rng.uniform(0.25, 0.75)))
        shown = [0]
    return x.astype(np.uint32), x >= threshold, ThresholdTarget(threshold), len(shown)


def _bisected(low: int, high: int, target: int) -> list[int]:
    """Midpoints of a binary search for `target` in low..high; `m >= target` is each answer."""
    shown = []
    while low < high:
        middle = (low + high) // 2
        shown.append(middle)
        if middle >= target:
            high = middle
        else:
            low = middle + 1
    return shown


# --- Points and sparse sets -----------------------------------------------------------------------


@dataclass(frozen=True)
class MembersTarget:
    """x is one of the members."""

    members: tuple[int, ...]

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        return np.isin(x, np.array(self.members, dtype=x.dtype))


def _members(bits: int, members: int, kind: Usual, count: int, rng: Generator) -> Made:
    """Ids of 1,000; in Zipf shares, with members among the 200 largest; or one after the other.

    Adversarial: of a single member nothing is seen before the last quarter, then every other
    example is it; of several members one more is revealed in each phase, half of the examples
    are negative, and half of the others are the newest member.
    """
    ids = rng.permutation(np.unique(_below(bits, 2 * IDS, rng)))[:IDS]
    phases = 1
    if kind == "uniform":
        number = rng.integers(0, len(ids), count)
        chosen = np.arange(members)
    elif kind == "clustered":
        number = zipf_bursts(len(ids), count, rng)
        chosen = rng.choice(min(200, len(ids)), members, replace=False)
    else:
        chosen = np.arange(members)
        number = rng.integers(members, len(ids), count)
        positive = rng.random(count) < 0.5
        phases = members if members > 1 else 4
        newest = _phase_of(phases, count)
        if members == 1:
            positive &= newest == 3
            number[positive] = 0
        else:
            older = rng.integers(0, np.maximum(newest, 1))
            revealed = np.where(rng.random(count) < 0.5, newest, older)
            number = np.where(positive, revealed, number)
    target = MembersTarget(tuple(int(each) for each in ids[chosen]))
    return ids[number], np.isin(number, chosen), target, phases


def _points(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    return _members(numbers[0], 1, kind, count, rng)


def _sparse_sets(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    return _members(numbers[0], numbers[1], kind, count, rng)


# --- Prefixes -------------------------------------------------------------------------------------

ADDRESS_BITS = 128


@dataclass(frozen=True)
class PrefixTarget:
    """The first `length` of 128 bits are those of the address `anchor`, two words of 64 bits."""

    anchor: tuple[int, int]
    length: int

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        inside = np.ones(len(x), dtype=bool)
        for column, first in ((0, 0), (1, 64)):
            bits = min(self.length - first, 64)
            if bits > 0:
                differs = x[:, column] ^ np.uint64(self.anchor[column])
                inside &= differs >> np.uint64(64 - bits) == 0
        return inside


def _prefixes(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    """A block of length 24 to 63; half of the addresses inside, half neighbours at all scales.

    Clustered: 500 such addresses, whose last 32 bits vary. Adversarial: first one address and far
    ones, then neighbours that share exactly as many bits with it as a binary search for the block's
    length asks for: neighbours come ever closer, insiders lie ever further out.
    """
    if numbers != (ADDRESS_BITS,):
        raise ValueError(f"streams of prefixes have {ADDRESS_BITS} bits")
    length = int(rng.integers(24, 64))
    anchor = _words(2, rng)
    phases = 1
    if kind == "adversarial":
        # a length of at least 1: the far addresses of the first phase differ in their first bit
        searched = _bisected(1, ADDRESS_BITS, length)
        phases = 1 + len(searched)
        shared = np.array([0, *searched])[_shown_or_earlier(phases, count, rng)]
        shared[(shared == 0) & (rng.random(count) < 0.5)] = ADDRESS_BITS
        x = _neighbours(anchor, shared, rng)
    else:
        made = count if kind == "uniform" else CENTRES
        shared = np.where(rng.random(made) < 0.5, length, rng.integers(0, length, made))
        x = _neighbours(anchor, shared, rng)
        # an insider is anywhere inside: its bit behind the block is as random as those behind it
        flip = (shared == length) & (rng.random(made) < 0.5)
        x[flip, 0] ^= np.uint64(1 << (63 - length))
        if kind == "clustered":
            number = zipf_bursts(CENTRES, count, rng)
            shared, x = shared[number], x[number]
            x[:, 1] ^= _below(32, count, rng)
    return x, shared >= length, PrefixTarget((int(anchor[0]), int(anchor[1])), length), phases


def _neighbours(anchor: NDArray[np.uint64], shared: Numbers, rng: Generator) -> Points:
    """Addresses (n, 2) that share exactly `shared` bits with the anchor and are random behind."""
    x = np.empty((len(shared), 2), dtype=np.uint64)
    for column, first in ((0, 0), (1, 64)):
        inside = np.clip(shared - first, 0, 64)
        behind = np.where(inside < 64, _ones() >> np.minimum(inside, 63).astype(np.uint64), 0)
        x[:, column] = anchor[column] ^ (_words(len(shared), rng) & behind)
        here = (shared >= first) & (shared < first + 64)
        bit = np.uint64(1) << (63 - np.minimum(inside, 63)).astype(np.uint64)
        x[here, column] = (x[here, column] & ~bit[here]) | (~anchor[column] & bit[here])
    return x


def _ones() -> np.uint64:
    return np.uint64(2**64 - 1)


# --- Affine subspaces -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AffineTarget:
    """x - offset lies in the span of `basis`, over the field of two elements.

    `basis` is reduced: each vector's highest bit is set in no other vector.
    """

    offset: int
    basis: tuple[int, ...]

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        rest = x ^ x.dtype.type(self.offset)
        for vector in self.basis:
            leading = x.dtype.type(vector.bit_length() - 1)
            rest ^= (rest >> leading & x.dtype.type(1)) * x.dtype.type(vector)
        outside: Flags = rest != 0
        return ~outside


def _affine(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    """Half of the points uniform in a subspace of exactly the dimension; half outside.

    Outside: half anywhere, half near, with exactly one parity check of the target violated.
    Clustered: 500 such points. Adversarial: the positives of phase j lie in the j-th of a chain of
    subspaces, a single point at first, one dimension more in each phase.
    """
    bits, dimension = numbers
    basis, complement = _random_basis(bits, dimension, rng)
    offset = int(_below(bits, 1, rng)[0])
    target = AffineTarget(offset, reduced_basis(basis))
    made = CENTRES if kind == "clustered" else count
    inside = rng.random(made) < 0.5
    phases = dimension + 1 if kind == "adversarial" else 1
    free = _phase_of(phases, made) if phases > 1 else np.full(made, dimension)
    used = np.where(inside, free, dimension)
    x = np.full(made, offset, dtype=np.uint64)
    for number, vector in enumerate(basis):
        x ^= (rng.integers(0, 2, made, dtype=np.uint64) & (number < used)) * np.uint64(vector)
    # dual to this basis, the checks are the coordinates of the complement: set one, or several
    near = rng.random(made) < 0.5
    check = rng.integers(0, len(complement), made)
    for number, vector in enumerate(complement):
        several = rng.integers(0, 2, made, dtype=np.uint64) & ~near
        set_here = ~inside & ((check == number) | (several != 0))
        x ^= set_here * np.uint64(vector)
    if kind == "clustered":
        number_of = zipf_bursts(CENTRES, count, rng)
        x, inside = x[number_of], inside[number_of]
    return x, inside, target, phases


def _random_basis(bits: int, dimension: int, rng: Generator) -> tuple[list[int], list[int]]:
    """A random basis of {0,1}^bits, as `dimension` vectors and the others, its complement."""
    vectors: list[int] = []
    while len(vectors) < bits:
        wanted = int(_below(bits, 1, rng)[0])
        if len(reduced_basis([*vectors, wanted])) > len(vectors):
            vectors.append(wanted)
    return vectors[:dimension], vectors[dimension:]


def reduced_basis(vectors: Sequence[int]) -> tuple[int, ...]:
    """The reduced basis of the span."""
    basis: list[int] = []
    for vector in vectors:
        rest = vector
        for each in basis:
            rest = min(rest, rest ^ each)
        if rest:
            lead = 1 << (rest.bit_length() - 1)
            basis = [each ^ rest if each & lead else each for each in basis]
            basis.append(rest)
    return tuple(sorted(basis, reverse=True))


def canonical_subspace(offset: int, basis: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """The same subspace with the one offset that has no leading bit of the (reduced) basis."""
    for vector in basis:
        offset = min(offset, offset ^ vector)
    return offset, basis


# --- Stumps ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StumpTarget:
    """Feature number `feature` is at least `threshold`, or less where `at_least` is false."""

    feature: int
    threshold: int
    at_least: bool

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        above: Flags = x[:, self.feature] >= self.threshold
        says: Flags = above == self.at_least
        return says


def _stumps(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    """Uniform rows; 500 centre rows whose features vary by one; or rows that split what is left."""
    features, buckets = numbers
    feature, at_least = int(rng.integers(0, features)), bool(rng.integers(0, 2))
    shown = [0]
    if kind == "uniform":
        x = rng.integers(0, buckets, (count, features), dtype=np.uint16)
    elif kind == "clustered":
        centres = rng.integers(0, buckets, (CENTRES, features), dtype=np.uint16)
        x = centres[zipf_bursts(CENTRES, count, rng)]
        x += rng.integers(0, 2, x.shape, dtype=np.uint16)
        np.minimum(x, buckets - 1, out=x)
    else:
        threshold = int(rng.integers(1, buckets))
        pool = rng.integers(0, buckets, (POOL_ROWS, features), dtype=np.uint16)
        above = (pool[:, :, None] >= np.arange(1, buckets, dtype=np.uint16)).reshape(len(pool), -1)
        says = np.concatenate((above.T, ~above.T))
        number = feature * (buckets - 1) + threshold - 1
        shown = _balanced(says, number if at_least else number + len(says) // 2)
        x = pool[shown][_shown_or_earlier(len(shown), count, rng)]
    if kind != "adversarial":
        threshold = max(1, int(np.quantile(x[:, feature], rng.uniform(0.25, 0.75))))
    meant = (x[:, feature] >= threshold) == at_least
    return x, meant, StumpTarget(feature, threshold, at_least), len(shown)


def _balanced(says: Flags, target: int) -> list[int]:
    """Columns that split the rules which are left most evenly, one after the other.

    `says` (rules, points) has the label of every point under every rule; rule `target` is true.
    Ends when no column tells the remaining rules apart.
    """
    left = np.arange(len(says))
    shown: list[int] = []
    while True:
        ones = says[left].sum(axis=0)
        smaller = np.minimum(ones, len(left) - ones)
        best = int(smaller.argmax())
        if not smaller[best]:
            return shown or [best]
        shown.append(best)
        left = left[says[left, best] == says[target, best]]


# --- Conjunctions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConjunctionTarget:
    """The bits of `mask` are those of `values`."""

    mask: int
    values: int

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        differs: Flags = (x ^ x.dtype.type(self.values)) & x.dtype.type(self.mask) != 0
        return ~differs


def _conjunctions(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    """A few literals; half of the points satisfy all, the others violate some of them at random.

    Clustered: 500 such points, each bit of which flips with probability 1/32. Adversarial: the
    positives of phase p vary in the first p bits of the others only, so each phase rules out one
    literal more; a negative violates exactly one literal.
    """
    (bits,) = numbers
    order = rng.permutation(bits)
    literals = int(rng.integers(2, 4) if bits <= 16 else rng.integers(3, 9))
    used, unused = order[:literals], order[literals:]
    values = np.uint64(_below(bits, 1, rng)[0])
    mask = np.uint64(sum(1 << int(bit) for bit in used))
    phases = len(unused) + 1 if kind == "adversarial" else 1
    made = CENTRES if kind == "clustered" else count
    positive = rng.random(made) < 0.5
    x = values ^ (_below(bits, made, rng) & ~mask)
    if kind == "adversarial":
        seen = np.array(
            [sum(1 << int(bit) for bit in unused[:p]) for p in range(phases)], np.uint64
        )
        allowed = seen[_phase_of(phases, made)]
        x = np.where(positive, values ^ ((x ^ values) & allowed), x)
        violated = np.uint64(1) << used[rng.integers(0, literals, made)].astype(np.uint64)
    else:
        pattern = rng.integers(1, 1 << literals, made, dtype=np.uint64)
        violated = np.zeros(made, dtype=np.uint64)
        for number, bit in enumerate(used):
            violated |= (pattern >> np.uint64(number) & np.uint64(1)) << np.uint64(bit)
    x = np.where(positive, x, x ^ violated)
    if kind == "clustered":
        x = x[zipf_bursts(CENTRES, count, rng)]
        flips = _below(bits, count, rng)
        for _ in range(4):
            flips &= _words(count, rng)
        x ^= flips
        positive = (x ^ values) & mask == 0
    return x, positive, ConjunctionTarget(int(mask), int(values & mask)), phases


# --- Tables ---------------------------------------------------------------------------------------


@cache
def table_matrix(rules: int, points: int) -> Flags:
    """The public table of this size: independent fair bits, the same for all streams."""
    rng = np.random.default_rng([CLASS_SEED, rules, points])
    matrix: Flags = rng.random((rules, points)) < 0.5
    return matrix


@dataclass(frozen=True)
class TableTarget:
    """One row of the table."""

    row: tuple[bool, ...]

    def labels(self, x: Points) -> Flags:
        """Where the rule says 1."""
        return np.array(self.row)[x]


def _table(numbers: tuple[int, ...], kind: Usual, count: int, rng: Generator) -> Made:
    """Uniform points; points in Zipf shares; or the point that splits what is left most evenly."""
    matrix = table_matrix(*numbers)
    chosen = int(rng.integers(0, len(matrix)))
    shown = [0]
    if kind == "uniform":
        x = rng.integers(0, matrix.shape[1], count)
    elif kind == "clustered":
        x = rng.permutation(matrix.shape[1])[zipf_bursts(matrix.shape[1], count, rng)]
    else:
        shown = _balanced(matrix, chosen)
        x = np.array(shown)[_shown_or_earlier(len(shown), count, rng)]
    target = TableTarget(tuple(bool(each) for each in matrix[chosen]))
    return x.astype(np.uint32), matrix[chosen, x], target, len(shown)


_MAKERS: dict[str, Maker] = {
    "thresholds": _thresholds,
    "points": _points,
    "prefixes": _prefixes,
    "sparse_sets": _sparse_sets,
    "affine": _affine,
    "stumps": _stumps,
    "conjunctions": _conjunctions,
    "table": _table,
}
# How many numbers follow a family's name.
_NUMBERS = {
    name: 2 if name in ("sparse_sets", "affine", "stumps", "table") else 1 for name in _MAKERS
}
