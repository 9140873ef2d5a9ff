"""Rules of every kind with the plainest way to say their labels, and SQLite's way."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled_protocol.columns import point_type, text_of_bytes
from littled_protocol.rules import (
    AffineRule,
    AtLeastRule,
    ConjunctionRule,
    MajorityRule,
    PointsRule,
    PrefixRule,
    PrefixSetRule,
    Rule,
    SequenceRule,
    StringRule,
    StumpRule,
    TableRule,
    ThresholdRule,
    Words,
)

# A number, or the features of a row.
Point = int | tuple[int, ...]


def place(point: Point) -> tuple[int, ...]:
    """Where a point stands among others of its kind."""
    return point if isinstance(point, tuple) else (point,)


def column(rule: Rule, points: Sequence[Point]) -> NDArray[Any]:
    """The array of points given as integers, or as rows of integers."""
    kind = point_type(rule.x_type)
    if kind.name == "u128":
        wide = cast("Sequence[int]", points)
        pairs = [[point >> 64, point % 2**64] for point in wide]
        return np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    shape = (-1, kind.columns) if kind.columns > 1 else -1
    return np.array(points, dtype=kind.dtype).reshape(shape)


def labels_of(rule: Rule, points: Sequence[Point]) -> list[int]:
    """The rule's labels, whose array is checked."""
    labels = rule.evaluate(column(rule, points))
    assert labels.dtype == np.uint8
    assert labels.shape == (len(points),)
    found: list[int] = labels.tolist()
    return found


def labels_by_sql(rule: Rule, points: Sequence[Point], offset: int = 0) -> list[int]:
    """What SQLite makes of the rule's expression over a table with columns of that name."""
    name = 'a "strange" column'
    width = point_type(rule.x_type).columns if rule.x_type.startswith("u16x") else 0
    columns = [f"{name}_{i}" for i in range(width)] or [name]
    rows = [_sql_values(rule, point, offset) for point in points]
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE t (number INTEGER, {', '.join(quoted)})")
        marks = ", ".join("?" * (len(columns) + 1))
        numbered = [(number, *row) for number, row in enumerate(rows)]
        database.executemany(f"INSERT INTO t VALUES ({marks})", numbered)  # noqa: S608
        expression = rule.to_sql(Words(offset=offset), name)
        found = database.execute(f"SELECT {expression} FROM t ORDER BY number").fetchall()  # noqa: S608
    return [label for (label,) in found]


def _sql_values(rule: Rule, point: Point, offset: int) -> tuple[int | str, ...]:
    if isinstance(point, tuple) and rule.x_type.startswith("bytes"):
        return (text_of_bytes(bytes(point)),)
    if isinstance(point, tuple):
        return tuple(feature + offset for feature in point)
    return (f"{point:032x}" if rule.x_type == "u128" else point + offset,)


# --- Strategies, each with a function that says the label of one point in the plainest way --------


@dataclass(frozen=True)
class Case:
    """A rule, the label of a point, points of its domain, and those where the labels change."""

    rule: Rule
    brute: Callable[[Any], bool]
    points: st.SearchStrategy[Point]
    edges: tuple[Point, ...]


def numbers(rule: Rule, brute: Callable[[Any], bool], bits: int, edges: set[int]) -> Case:
    """A case over numbers of `bits` bits; edges outside are left out."""
    greatest = 2**bits - 1
    inside = sorted(e for e in edges | {0, greatest} if 0 <= e <= greatest)
    return Case(rule, brute, st.integers(0, greatest), tuple(inside))


@st.composite
def thresholds(draw: st.DrawFn) -> Case:
    size = draw(st.sampled_from([1, 2, 255, 256, 257, 65536, 65537, 2**32]) | st.integers(1, 300))
    threshold = draw(st.integers(0, size) | st.sampled_from([0, size]))
    rule = ThresholdRule(size, threshold)
    edges = {threshold - 1, threshold, threshold + 1}
    return numbers(rule, lambda x: size > threshold <= x, (size - 1).bit_length(), edges)


widths = st.sampled_from([1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 100, 128])


@st.composite
def points_rules(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    members = tuple(sorted(draw(st.sets(st.integers(0, 2**bits - 1), max_size=20))))
    edges = {m + d for m in members for d in (-1, 0, 1)} | {m ^ (1 << 64) for m in members}
    return numbers(PointsRule(bits, members), lambda x: x in members, bits, edges)


@st.composite
def prefixes(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    length = draw(st.none() | st.integers(0, bits) | st.sampled_from([0, bits]))
    value = draw(st.integers(0, 2 ** (length or 0) - 1))
    rule = PrefixRule(bits, value, length)

    def brute(x: int) -> bool:
        digits = f"{x:0{bits}b}"
        return length is not None and digits[:length] == (f"{value:0{length}b}" if length else "")

    edges = {bound + d for bound in rule.bounds or () for d in (-1, 0, 1)}
    return numbers(rule, brute, bits, edges)


@st.composite
def prefix_sets(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    ends = st.integers(0, bits) | st.integers(min(bits, 60), min(bits, 68))
    near = draw(st.integers(0, 2**bits - 1))
    rule = PrefixSetRule(bits, ())
    for length in draw(st.lists(ends, max_size=6)):
        address = draw(
            st.integers(0, 2**bits - 1) | st.integers(0, bits).map(lambda b: near ^ 1 << b)
        )
        rule = joined(rule, (address % 2**bits) >> (bits - length), length)
    prefixes = rule.prefixes

    def brute(x: int) -> bool:
        digits = f"{x:0{bits}b}"
        return any(not n or digits[:n] == f"{value:0{n}b}" for value, n in prefixes)

    ranges = [(v << (bits - n), (v + 1) << (bits - n)) for v, n in prefixes]
    edges = {edge + d for pair in ranges for edge in pair for d in (-1, 0)}
    return numbers(rule, brute, bits, edges | {edge ^ 1 << 64 for edge in edges if edge >= 0})


def joined(rule: PrefixSetRule, value: int, length: int) -> PrefixSetRule:
    """The set of prefixes with one more, in its only form."""
    found = {(value, length), *rule.prefixes}
    kept = {p for p in found if not any(p != q and inside(p, q) for q in found)}
    for longest in range(rule.bits, 0, -1):
        for v in sorted(v for v, n in kept if n == longest):
            if {(v, longest), (v ^ 1, longest)} <= kept:
                kept = (kept - {(v, longest), (v ^ 1, longest)}) | {(v >> 1, longest - 1)}
    ordered = sorted(kept, key=lambda prefix: prefix[0] << (rule.bits - prefix[1]))
    return PrefixSetRule(rule.bits, tuple(ordered))


def inside(prefix: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether all points of a prefix are points of another one."""
    return prefix[1] >= other[1] and prefix[0] >> (prefix[1] - other[1]) == other[0]


@st.composite
def least_numbers(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    least = draw(st.none() | st.integers(0, 2**bits - 1) | st.just(0))
    edges = set() if least is None else {least - 1, least, least + 1, least ^ (1 << 64)}
    return numbers(
        AtLeastRule(bits, least), lambda x: least is not None and x >= least, bits, edges
    )


@st.composite
def strings(draw: st.DrawFn) -> Case:
    size = draw(st.sampled_from([2, 3, 16]))
    byte = st.sampled_from([0, 34, 39, 48, 97, 120, 195, 188]) | st.integers(0, 255)
    row = st.tuples(*[byte] * size)
    value = draw(st.none() | row)
    near = value or (97,) * size
    edges = (near, (*near[1:], 0), (near[0] ^ 1, *near[1:]))
    rule = StringRule(size, None if value is None else bytes(value))
    return Case(rule, lambda x: x == value, row, edges)


@st.composite
def sequences(draw: st.DrawFn) -> Case:
    bits = draw(st.sampled_from([1, 3, 8, 9]))
    seed, other = draw(st.binary(min_size=16, max_size=16)), bytes(16)
    every = st.integers(0, 2**bits - 1)
    index, label = draw(st.none() | every), draw(st.integers(0, 1))
    leaves = [plain_leaf(seed, place, bits) for place in range(2**bits)]

    def point(place: int, sigma: bytes) -> tuple[int, ...]:
        return (*place.to_bytes((bits + 7) // 8, "big"), *sigma)

    def brute(x: Any) -> bool:
        own = [place for place in range(2**bits) if x == point(place, leaves[place][0])]
        if index is None or not own or own[0] < index:
            return False
        return bool(label if own[0] == index else leaves[own[0]][1])

    near = [*range(min(3, 2**bits))] if index is None else [index, max(index - 1, 0), 2**bits - 1]
    edges = [point(place, leaves[place][0]) for place in near]
    edges += [
        (*edges[0][:-1], edges[0][-1] ^ 1),
        point(near[0], plain_leaf(other, near[0], bits)[0]),
    ]
    points = every.map(lambda place: point(place, leaves[place][0]))
    rule = SequenceRule(bits, None, b"", 0)
    if index is not None:
        rule = SequenceRule(bits, index, leaves[index][0], label)
    return Case(rule, brute, points, tuple(edges))


def plain_leaf(seed: bytes, index: int, bits: int) -> tuple[bytes, int]:
    """String and bit of an index, by the definition: every label on the way and beside it."""
    labels = {"": seed}
    path = f"{index:0{bits}b}"
    for depth in range(bits):
        for turn in "01":
            node = labels[path[:depth]] + bytes([int(turn)])
            labels[path[:depth] + turn] = hashlib.sha256(node).digest()[:16]
    sigma = b"".join(
        bytes(16) if path[depth] == "1" else labels[path[:depth] + "1"] for depth in range(bits)
    )
    return sigma, hashlib.sha256(labels[path] + b"\x02").digest()[0] % 2


@st.composite
def tables(draw: st.DrawFn) -> Case:
    size = draw(st.sampled_from([1, 255, 256, 257, 65536, 65537]) | st.integers(1, 600))
    part = draw(st.lists(st.booleans(), min_size=1, max_size=20))
    row = (part * (size // len(part) + 1))[:size]
    values = np.packbits(np.array(row, dtype=np.uint8)).tobytes()
    name = draw(st.sampled_from(["a", "two words", "ümlaut"]))
    rule = TableRule(name, "0123456789abcdef", values, len(row))
    brute = lambda x: x < len(row) and row[x]  # noqa: E731 - as short as the others
    return numbers(rule, brute, (len(row) - 1).bit_length(), set())


@st.composite
def stumps(draw: st.DrawFn) -> Case:
    features = draw(st.sampled_from([2, 3, 16]))
    buckets = draw(st.sampled_from([2, 3, 64, 65536]))
    threshold = draw(st.integers(0, buckets - 1))
    feature = draw(st.integers(0, features - 1)) if threshold else 0
    at_least = draw(st.booleans())
    rule = StumpRule(features, buckets, feature, threshold, at_least)
    rows = st.tuples(*[st.integers(0, buckets - 1)] * features)
    levels = sorted({0, max(threshold - 1, 0), threshold, buckets - 1})
    edges = tuple((level,) * features for level in levels)
    return Case(rule, lambda x: (x[feature] >= threshold) == at_least, rows, edges)


@st.composite
def affine_rules(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    vectors = draw(st.lists(st.integers(1, 2**bits - 1), max_size=3))
    if draw(st.booleans()):
        most = draw(st.integers(0, bits))
        vectors += [(v ^ v >> 1 ^ most << v % bits) % 2**bits for v in range(2, most)]
    basis = reduced_basis(vectors)
    point = draw(st.none() | st.integers(0, 2**bits - 1))
    if point is None:
        return numbers(AffineRule(bits, (), None), lambda x: False, bits, set())
    rule = AffineRule(bits, basis, cleared(point, basis))
    inside = {point}
    for vector in vectors[:4]:
        inside |= {x ^ vector for x in inside}
    edges = inside | {x ^ (1 << bit) for x in inside for bit in range(0, bits, 7)}
    return numbers(rule, lambda x: cleared(x ^ point, basis) == 0, bits, edges)


def cleared(vector: int, basis: Sequence[int]) -> int:
    """The vector without the highest bits of a basis of rising or falling highest bits."""
    for row in sorted(basis, reverse=True):
        vector = min(vector, vector ^ row)
    return vector


def reduced_basis(vectors: Sequence[int]) -> tuple[int, ...]:
    """The reduced row echelon form of the span of some vectors, in falling order."""
    basis: list[int] = []
    for vector in vectors:
        rest = cleared(vector, basis)
        if rest:
            basis = [min(row, row ^ rest) if row > rest else row for row in basis] + [rest]
    return tuple(sorted((cleared(v, [b for b in basis if b < v]) for v in basis), reverse=True))


@st.composite
def conjunctions(draw: st.DrawFn) -> Case:
    bits = draw(widths)
    whole = 2**bits - 1
    if draw(st.integers(0, 9)) == 0:
        return numbers(ConjunctionRule(bits, whole, whole), lambda x: False, bits, set())
    point = draw(st.integers(0, whole))
    mask = whole
    for _ in range(draw(st.sampled_from([0, 1, 3, 6]))):
        mask &= draw(st.integers(0, whole))
    rule = ConjunctionRule(bits, point & mask, mask & ~point)
    edges = {point, point ^ (whole & ~mask)} | {point ^ (1 << bit) for bit in range(bits)}

    def brute(x: int) -> bool:
        digits = zip(f"{x:0{bits}b}", f"{point:0{bits}b}", f"{mask:0{bits}b}", strict=True)
        return all(ours == theirs for ours, theirs, needed in digits if needed == "1")

    return numbers(rule, brute, bits, edges)


@st.composite
def majorities(draw: st.DrawFn) -> Case:
    kinds = [thresholds(), points_rules(), prefixes(), affine_rules(), conjunctions(), stumps()]
    kind = draw(st.sampled_from(kinds))
    first = draw(kind)
    others = st.lists(kind.filter(lambda c: c.rule.x_type == first.rule.x_type), max_size=3)
    members = [first, *draw(others)]
    # The smallest domain of all, so that every point is one of every member.
    least = min(members, key=lambda case: place(case.edges[-1]))
    last = place(least.edges[-1])
    edges = {edge for case in members for edge in case.edges if place(edge) <= last}

    def brute(x: Point) -> bool:
        return 2 * sum(case.brute(x) for case in members) > len(members)

    rule = MajorityRule(tuple(case.rule for case in members))
    return Case(rule, brute, least.points, tuple(sorted(edges)))


cases = st.one_of(
    *(thresholds(), points_rules(), prefixes(), tables(), stumps(), affine_rules()),
    *(conjunctions(), prefix_sets(), majorities(), least_numbers(), strings()),
)


every_case = cases | sequences()
"""With those that have no SQL."""


@st.composite
def cases_with_points(
    draw: st.DrawFn, kinds: st.SearchStrategy[Case]
) -> tuple[Rule, Callable[[Any], bool], list[Point]]:
    """A rule with points of its domain, many of them where the labels change."""
    case = draw(kinds)
    return case.rule, case.brute, [*case.edges, *draw(st.lists(case.points, max_size=30))]
