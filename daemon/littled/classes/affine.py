"""Affine subspaces of GF(2)^bits: `x` is an offset XOR some vectors of a basis, or nothing at all.

Parities of bits, and several of them at once, are such rules. Any set of points has a smallest
affine subspace around it, so that teachers propose closures: what is published and their own
positive points. Source: Alon, Bun, Livni, Malliaris and Moran, "Private and Online Learnability are
Equivalent", on indicators of affine subspaces.

Arrays of vectors have shape (n, words) here: one uint64 each for up to 64 bits, two (high, low)
for more.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.affine_spaces import NOWHERE, AffineVersionSpace, Subspace, hull
from littled.classes.base import (
    ClassError,
    DataSet,
    Labels,
    Points,
    Proposals,
    members_of_chunks,
    sauer_shelah,
)
from littled.classes.capabilities import IntersectionClosed, VersionSpaces
from littled.classes.hypothesis import HypothesisClass
from littled.classes.memory import INTEGER_BYTES, digits
from littled.classes.subspaces import LISTED_BITS_MAX, Subspaces, all_subspaces
from littled.classes.wide import as_pairs, fits_bits, starts_of_runs, tally
from littled_protocol.rules import AffineRule, MajorityRule, Rule

Vectors = NDArray[np.uint64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class AffineSubspaces(HypothesisClass, IntersectionClosed, VersionSpaces):
    """The affine subspaces of at most `dimension` of `bits` bits, and the rule that is always 0."""

    bits: int
    dimension: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 and dimensions outside 0..bits (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"affine needs a number of bits from 1 to 128, not {self.bits}")
        if not 0 <= self.dimension <= self.bits:
            raise ClassError(
                f"affine needs a dimension from 0 to {self.bits}, not {self.dimension}"
            )

    @property
    def name(self) -> str:
        """`affine:BITS:DIMENSION`."""
        return f"affine:{self.bits}:{self.dimension}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """dimension + 1, exact for every dimension from 0 to bits.

        At most: say 1 inside the closure of the points found to be positive, at first nothing.
        Every mistake is a positive point outside and raises the closure's dimension, from -1 at
        first to `dimension` at last. At least: any dimension + 1 affinely independent points are
        shattered, since no subspace spanned by some of them contains another.
        """
        return self.dimension + 1

    @property
    def dual_vc_dimension(self) -> int:
        """min(bits, dimension + 1), an upper bound.

        m subspaces that answer points in all 2^m ways need 2^m <= 2^bits points, and each contains
        half of them, so 2^(m - 1) <= 2^dimension.
        """
        return min(self.bits, self.dimension + 1)

    def to_dict(self) -> dict[str, Any]:
        """Name, width and greatest dimension."""
        return {"class": "affine", "bits": self.bits, "dimension": self.dimension}

    def contains(self, points: Points) -> bool:
        """Whether every vector has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> AffineRule:
        """Always 0."""
        return self.essential_rule(NOWHERE)

    @property
    def longest_rule(self) -> AffineRule:
        """`dimension` vectors and an offset, with the highest leading bits that they can have.

        Where numbers are integers, their length grows with the leading bit. An offset has none of
        the vectors' leading bits, so all of these are different bits: no others are longer in sum.
        """
        top = range(self.bits - 1, self.bits - 1 - self.dimension, -1)
        offset = (1 << self.bits - self.dimension) >> 1
        return self.essential_rule((offset, tuple(1 << bit for bit in top)))

    # -- closures ----------------------------------------------------------------------------

    @property
    def closure_examples(self) -> int:
        """dimension + 5.

        The first point is an offset; dimension + 4 more leave some hyperplane around them with
        probability below 1/16.
        """
        return self.dimension + 5

    def closures(
        self, x: Points, y: Labels, teachers: NDArray[np.int64] | None, published: Rule
    ) -> Proposals:
        """The affine hulls of the published points and each teacher's positive ones.

        Keys hold the offset and the basis, its vectors in falling order and then zeros. Around a
        majority of subspaces the hull of all of them counts as published.
        """
        start = self._around(published)
        vectors = self._vectors(x)
        proposing = y == 1
        if start is not None:
            vectors = self._offsets_from(start, vectors)
            proposing &= _nonzero(vectors)
        if teachers is None:
            return self._own_closures(start, vectors[proposing])
        members = np.flatnonzero(proposing)
        members = members[np.argsort(teachers[members])]
        starts = starts_of_runs(teachers[members])
        sizes = np.diff(starts, append=len(members))
        hulls = _Hulls(self, start, vectors[members], np.repeat(np.arange(len(starts)), sizes))
        names = teachers[members[starts]]
        negative = np.flatnonzero((y == 0) & np.isin(teachers, names))
        hulls.veto(vectors[negative], np.searchsorted(names, teachers[negative]))
        return _counted(hulls.keys())

    def _own_closures(self, start: Subspace | None, vectors: Vectors) -> Proposals:
        """The closures of single positive examples outside `start`, given as in `_Hulls`."""
        column = vectors[:, 0] if self._words == 1 else vectors
        counts = tally(column, np.ones(len(column), dtype=np.uint8))
        different = self._vectors(counts.ids)
        hulls = _Hulls(self, start, different, np.arange(len(different)))
        return Proposals(counts.positive[hulls.fits], hulls.keys())

    def _offsets_from(self, start: Subspace, vectors: Vectors) -> Vectors:
        """Offsets of points from a subspace, modulo its basis; 0 for points inside."""
        offset, basis = start
        found = vectors ^ self._row(offset)
        for vector in basis:
            row = self._row(vector)
            found = _cleared(found, _highest_bits(row), row)
        return found

    def closed_rule(self, proposals: Proposals, index: int) -> AffineRule:
        """The subspace behind candidate `index`."""
        words = proposals.keys[index].tolist()
        if self.bits > 64:
            words = [high << 64 | low for high, low in zip(words[::2], words[1::2], strict=True)]
        offset, *basis = words
        return self.essential_rule((offset, tuple(vector for vector in basis if vector)))

    def around(self, published: Rule, point: int) -> AffineRule | None:
        """The affine hull of a subspace and a point, unless its dimension is too high."""
        return self._within(hull([point], self._around(published)))

    def joined(self, first: Rule, second: Rule) -> AffineRule | None:
        """The affine hull of two subspaces, unless its dimension is too high."""
        start = self._around(second)
        points = [] if start is None else [start[0], *(start[0] ^ vector for vector in start[1])]
        return self._within(hull(points, self._around(first)))

    def is_whole(self, rule: Rule) -> bool:
        """Whether it has the highest dimension."""
        assert isinstance(rule, AffineRule)
        return rule.offset is not None and len(rule.basis) == self.dimension

    def _within(self, around: Subspace | None) -> AffineRule | None:
        too_high = around is not None and len(around[1]) > self.dimension
        return None if too_high else self.essential_rule(around)

    def closing_bytes(self, examples: int, proposing: int) -> int:
        """An offset and a basis for everybody who proposes a closure."""
        words = (self.dimension + 1) * -(-self.bits // 64)
        return super().closing_bytes(examples, proposing) + proposing * 50 * words

    # -- version spaces ----------------------------------------------------------------------

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> AffineVersionSpace:
        """The subspaces, and the constant 0, that err little enough on every data set."""
        return AffineVersionSpace.of(self.bits, self.dimension, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> AffineRule:
        """The rule of one (offset, basis); `NOWHERE` is the constant 0."""
        if key is NOWHERE:
            return AffineRule(self.bits, (), None)
        assert isinstance(key, tuple)
        offset, basis = key
        return AffineRule(self.bits, basis, offset)

    def key_bytes(self, examples: int) -> int:
        """An offset and a basis."""
        return (self.dimension + 1) * (INTEGER_BYTES + digits(self.bits))

    def space_bytes(self, examples: int, epochs: int) -> int:
        """Vectors of all examples."""
        return examples * (400 + 30 * self.dimension + 16 * epochs)

    # -- private prediction ------------------------------------------------------------------

    @property
    def vc_dimension(self) -> int:
        """dimension + 1, exact: so many affinely independent points are shattered."""
        return self.dimension + 1

    def labelings_max(self, n: int) -> int:
        """One for each set of at most dimension + 1 points, around which the smallest rule is.

        Exact where n points can be so independent that these rules contain no further ones.
        """
        return sauer_shelah(min(n, 1 << self.bits), self.dimension + 1)

    @property
    def window_labelings(self) -> Subspaces | None:
        """Those of all subspaces, up to LISTED_BITS_MAX bits, as these are looked at."""
        if self.bits > LISTED_BITS_MAX:
            return None
        return all_subspaces(self.bits, self.dimension)

    @property
    def learns_from_noise(self) -> bool:
        """No: only over few bits it looks for a rule with errors."""
        return False

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The affine hull of the positive points, if it is in the class and has no errors.

        Otherwise, up to LISTED_BITS_MAX bits, the first subspace with the fewest errors, and for
        more bits the constant 0.
        """
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: Indices, chunks: int
    ) -> list[Rule]:
        """The same, and the hulls of all chunks at once."""
        order = np.argsort(chunk_numbers, kind="stable")
        order = order[y[order] == 1]
        numbers = chunk_numbers[order]
        owners = numbers[starts_of_runs(numbers)]
        vectors = self._vectors(x)
        hulls = _Hulls(self, None, vectors[order], np.searchsorted(owners, numbers))
        negative = np.flatnonzero((y == 0) & np.isin(chunk_numbers, owners))
        whose = np.searchsorted(owners, chunk_numbers[negative])
        hulls.veto(vectors[negative], whose)
        rules: list[Rule] = [self.first_rule()] * chunks
        keys = Proposals(np.zeros(0, dtype=np.int64), hulls.keys())
        for index, chunk in enumerate(owners[hulls.fits].tolist()):
            rules[chunk] = self.closed_rule(keys, index)
        subspaces = self.window_labelings
        if subspaces is not None and not hulls.fits.all():
            members = members_of_chunks(chunk_numbers, chunks)
            for chunk in owners[~hulls.fits].tolist():
                scores = subspaces.agreements(x[members[chunk]], y[members[chunk]])
                rules[chunk] = subspaces.rule(int(scores.argmax()))
        return rules

    # -- arrays ------------------------------------------------------------------------------

    @property
    def _words(self) -> int:
        return 1 if self.bits <= 64 else 2

    def _vectors(self, points: Points) -> Vectors:
        """Points as rows of words."""
        if self._words == 1:
            return points.astype(np.uint64, copy=False).reshape(-1, 1)
        return as_pairs(points)

    def _row(self, vector: int) -> Vectors:
        """One vector as a row, (1, words)."""
        words = [vector] if self._words == 1 else [vector >> 64, vector % 2**64]
        return np.array([words], dtype=np.uint64)

    def _around(self, published: Rule) -> Subspace | None:
        """The affine hull of a published rule, or of all members of a majority."""
        members = published.members if isinstance(published, MajorityRule) else (published,)
        around: Subspace | None = None
        for member in members:
            assert isinstance(member, AffineRule)
            if member.offset is not None:
                offset = member.offset
                around = hull([offset, *(offset ^ vector for vector in member.basis)], around)
        return around


class _Hulls:
    """The affine hulls of `start` and each owner's vectors, for all owners at once.

    With `start` the vectors are offsets from it, not 0 modulo its basis; without, they are points
    and the first one of each owner is its offset. `owners` (n,) are 0, 1, ... in rising order. Each
    round takes one vector of every owner that has any left into its basis and clears its highest
    bit everywhere else, so that bases and offsets stay in canonical form except for the order.
    """

    def __init__(
        self, hypotheses: AffineSubspaces, start: Subspace | None, vectors: Vectors, owners: Indices
    ) -> None:
        firsts = starts_of_runs(owners)
        self.fits = np.ones(len(firsts), dtype=np.bool_)
        self._steps: list[tuple[Vectors, Vectors]] = []
        self._basis: list[Vectors] = []
        if start is None:
            self._first = self._offsets = vectors.take(firsts, axis=0)
            vectors = vectors ^ self._first.take(owners, axis=0)
        else:
            rows = [hypotheses._row(vector) for vector in (start[0], *start[1])]
            self._offsets, *self._basis = [np.repeat(row, len(firsts), axis=0) for row in rows]
            self._first = np.zeros_like(self._offsets)
        for _ in range(hypotheses.dimension - len(self._basis)):
            left = _nonzero(vectors)
            vectors, owners = vectors[left], owners[left]
            if not len(owners):
                return
            vectors = self._round(vectors, owners)
        self.fits[owners[_nonzero(vectors)]] = False

    def _round(self, vectors: Vectors, owners: Indices) -> Vectors:
        """Take the first vector of every owner; return all of them without its highest bit."""
        starts = starts_of_runs(owners)
        taken = np.zeros_like(self._offsets)
        taken[owners[starts]] = vectors[starts]
        highest = _highest_bits(taken)
        self._basis = [_cleared(row, highest, taken) for row in self._basis]
        self._basis.append(taken)
        self._offsets = _cleared(self._offsets, highest, taken)
        self._steps.append((highest, taken))
        return _cleared(vectors, highest.take(owners, axis=0), taken.take(owners, axis=0))

    def veto(self, vectors: Vectors, owners: Indices) -> None:
        """A negative vector, written like the others, inside the owner's hull makes it unfit."""
        vectors = vectors ^ self._first.take(owners, axis=0)
        for highest, taken in self._steps:
            vectors = _cleared(vectors, highest.take(owners, axis=0), taken.take(owners, axis=0))
        self.fits[owners[~_nonzero(vectors)]] = False

    def keys(self) -> NDArray[np.uint64]:
        """Offset and basis in falling order, missing vectors 0, of the hulls that fit."""
        offsets = self._offsets[self.fits]
        if not self._basis:
            return offsets
        basis = np.stack([row[self.fits] for row in self._basis], axis=1)
        order = np.lexsort(np.moveaxis(basis, -1, 0)[::-1], axis=-1)[:, ::-1]
        basis = np.take_along_axis(basis, order[:, :, None], axis=1)
        width = offsets.shape[1] * len(self._basis)
        return np.concatenate((offsets, basis.reshape(len(offsets), width)), axis=1)


def _nonzero(vectors: Vectors) -> NDArray[np.bool_]:
    """Which rows have a bit, (n,)."""
    found: NDArray[np.bool_] = vectors[:, 0] != 0
    return found if vectors.shape[1] == 1 else found | (vectors[:, 1] != 0)


def _highest_bits(vectors: Vectors) -> Vectors:
    """The highest bit of every row, all others cleared."""
    filled = vectors.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(shift)
    highest = filled ^ (filled >> np.uint64(1))
    if vectors.shape[1] == 2:
        highest[vectors[:, 0] != 0, 1] = 0
    return highest


def _cleared(vectors: Vectors, highest: Vectors, taken: Vectors) -> Vectors:
    """Rows that have the bit `highest`, XOR `taken`; other rows as they are."""
    return np.where(_nonzero(vectors & highest)[:, None], vectors ^ taken, vectors)


def _counted(rows: NDArray[np.uint64]) -> Proposals:
    """Every different row once, in numeric order, with the number of times that it occurs."""
    big_endian = np.ascontiguousarray(rows, dtype=">u8")
    order = np.argsort(big_endian.view(f"V{8 * rows.shape[1]}").ravel())
    ordered = rows.take(order, axis=0)
    starts = starts_of_runs(ordered)
    return Proposals(np.diff(starts, append=len(rows)), ordered.take(starts, axis=0))
