"""Finite classes for tests, and what the definitions say about them, computed naively."""

from collections.abc import Iterable
from functools import cache
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]
Row = tuple[int, ...]
Rows = frozenset[Row]
# The SOA hypotheses of a tree's leaves with the leaves' dimensions, and the number of leaves.
Outcome = tuple[frozenset[tuple[int, Row]], int]


# -- classes -------------------------------------------------------------------------------------


def as_matrix(rows: Iterable[Row], points: int) -> Matrix:
    """Rows in lexicographic order."""
    return np.array(sorted(rows), dtype=bool).reshape(-1, points)


def as_rows(matrix: Matrix) -> Rows:
    """The distinct rows."""
    return frozenset(tuple(map(int, row)) for row in matrix)


def thresholds(size: int) -> Matrix:
    """x >= t for t = 0..size."""
    return np.array([[x >= t for x in range(size)] for t in range(size + 1)], dtype=bool)


def points(size: int) -> Matrix:
    """x == a."""
    return np.eye(size, dtype=bool)


def all_functions(size: int) -> Matrix:
    """The cube."""
    return np.array(list(product((False, True), repeat=size)), dtype=bool).reshape(-1, size)


def parities(bits: int) -> Matrix:
    """<a, x> over the field of two elements."""
    cells = [[(a & x).bit_count() % 2 for x in range(1 << bits)] for a in range(1 << bits)]
    return np.array(cells, dtype=bool)


def sparse_sets(size: int, members: int) -> Matrix:
    """Sets of at most so many points."""
    chosen = [set(c) for k in range(members + 1) for c in combinations(range(size), k)]
    return np.array([[x in points for x in range(size)] for points in chosen], dtype=bool)


def affine_subspaces(bits: int, dimension: int) -> Matrix:
    """Indicators of the affine subspaces of at most this dimension."""
    spans = {frozenset({0})}
    for _ in range(dimension):
        spans |= {s | {v ^ u for u in s} for s in spans for v in range(1 << bits)}
    shifted = {frozenset(u ^ v for u in s) for s in spans for v in range(1 << bits)}
    return np.array([[x in s for x in range(1 << bits)] for s in shifted], dtype=bool)


NAMED = {
    "thresholds": thresholds(6),
    "points": points(5),
    "all functions": all_functions(3),
    "parities": parities(3),
    "sparse sets": sparse_sets(5, 2),
}


@st.composite
def classes(draw: st.DrawFn, points_max: int = 5, rows_max: int = 7) -> Matrix:
    """Non-empty classes; half of them sparse up to one flip, for only those are irreducible."""
    size = draw(st.integers(1, points_max))
    pool = all_functions(size) if draw(st.booleans()) else sparse_sets(size, min(size, 2))
    picked = draw(st.lists(st.integers(0, len(pool) - 1), min_size=1, max_size=rows_max))
    flipped = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    found: Matrix = pool[picked] ^ np.array(flipped, dtype=bool)
    return found


@st.composite
def nested_classes(
    draw: st.DrawFn, points_max: int = 5, rows_max: int = 7
) -> tuple[Matrix, Matrix]:
    """A class and a larger one, (G, H)."""
    larger = draw(classes(points_max, rows_max))
    kept = draw(st.sets(st.integers(0, len(larger) - 1), min_size=1))
    return larger[sorted(kept)], larger


# -- definitions ---------------------------------------------------------------------------------


@cache
def dimension_of(rows: Rows) -> int:
    """Littlestone dimension: the deepest complete tree whose branches are all explained."""
    if len(rows) <= 1:
        return len(rows) - 1
    best = 0
    for point in range(len(next(iter(rows)))):
        zero, one = (restricted(rows, [(point, label)]) for label in (0, 1))
        if zero and one:
            best = max(best, 1 + min(dimension_of(zero), dimension_of(one)))
    return best


def restricted(rows: Rows, examples: Iterable[tuple[int, int]]) -> Rows:
    """The rows that agree with every example."""
    wanted = list(examples)
    return frozenset(row for row in rows if all(row[x] == y for x, y in wanted))


@cache
def soa_of(rows: Rows) -> Row:
    """The SOA hypothesis: 0 where restricting to 0 keeps the dimension."""
    whole = dimension_of(rows)
    return tuple(
        int(dimension_of(restricted(rows, [(x, 0)])) != whole) for x in range(len(next(iter(rows))))
    )


@cache
def is_k_irreducible(rows: Rows, k: int) -> bool:
    """Definition 4.1, over all sets of k points (fewer where there are not so many)."""
    soa = soa_of(rows)
    return all(
        dimension_of(restricted(rows, [(x, soa[x]) for x in chosen])) == dimension_of(rows)
        for chosen in combinations(range(len(soa)), min(k, len(soa)))
    )


def outcomes(rows: Rows, p: int, d: int, depth: int = 0) -> frozenset[Outcome]:
    """What every valid (p, d)-decomposition below a node at this depth comes to.

    Definition 4.2 word for word: all points are tried at all depths, also those that leave a child
    empty (and then absent).
    """
    return _outcomes(rows, p, d, depth)


@cache
def _outcomes(rows: Rows, p: int, d: int, depth: int) -> frozenset[Outcome]:
    gap = d - dimension_of(rows)
    found: set[Outcome] = set()
    if depth > p * (2 ** (gap + 1) - 1):
        return frozenset()
    if depth <= p * (2**gap - 1) and is_k_irreducible(rows, p * 2**gap):
        found.add((frozenset({(dimension_of(rows), soa_of(rows))}), 1))
    nothing: frozenset[Outcome] = frozenset({(frozenset(), 0)})
    for point in range(len(next(iter(rows)))):
        children = [restricted(rows, [(point, label)]) for label in (0, 1)]
        zero, one = (_outcomes(c, p, d, depth + 1) if c else nothing for c in children)
        found |= {(a | b, i + j) for a, i in zero for b, j in one}
    return frozenset(found)


def degree_of(outcome: Outcome) -> int:
    """The largest dimension of a leaf."""
    return max(dimension for dimension, _ in outcome[0])


def optimal_tops(rows: Rows, p: int, d: int) -> tuple[int, list[frozenset[Row]]]:
    """The decomposition dimension t, and for every optimal tree the SOAs of its t-leaves."""
    every = outcomes(rows, p, d)
    least = min(map(degree_of, every))
    optimal = [leaves for leaves, count in every if degree_of((leaves, count)) == least]
    return least, [
        frozenset(soa for dimension, soa in leaves if dimension == least) for leaves in optimal
    ]


def small_problems(dimension: int) -> list[tuple[int, int]]:
    """The (p, d) for which a naive search over all trees of a class of this dimension is quick."""
    return {
        0: [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2)],
        1: [(1, 1), (2, 1), (3, 1), (1, 2)],
        2: [(1, 2)],
    }.get(dimension, [])
