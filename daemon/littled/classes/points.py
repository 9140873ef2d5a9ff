"""Point functions: `x == a` for one id `a`, or nothing at all."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from littled.classes.base import (
    ClassError,
    DataSet,
    HypothesisClass,
    Labels,
    Points,
    Proposals,
    errors_allowed,
)
from littled.classes.wide import as_pairs, fits_bits, to_int
from littled_protocol.rules import PointsRule

NOTHING = -1


@dataclass(frozen=True)
class PointFunctions(HypothesisClass):
    """The rules x == a over ids of `bits` bits, and the rule that is always 0.

    The constant 0 is the SOA of the class (restricting to label 0 keeps the dimension wherever the
    domain is larger than the number of restrictions), so learners may publish it.
    """

    bits: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"points needs a number of bits from 1 to 128, not {self.bits}")

    @property
    def name(self) -> str:
        """`points:BITS`."""
        return f"points:{self.bits}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """1: one mistake on the target reveals it."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Name and width."""
        return {"class": "points", "bits": self.bits}

    def contains(self, points: Points) -> bool:
        """Whether every id has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> PointsRule:
        """Always 0."""
        return PointsRule(bits=self.bits, members=())

    @property
    def proposals_per_example(self) -> int:
        """A positive example proposes its own id."""
        return 1

    def proposals(self, x: Points, y: Labels) -> Proposals:
        """Every id seen with label 1, with its positive minus its negative examples."""
        ids, inverse = np.unique(x, axis=0 if x.ndim == 2 else None, return_inverse=True)
        examples = np.bincount(inverse.ravel(), minlength=len(ids))
        positive = np.bincount(inverse.ravel()[y == 1], minlength=len(ids))
        proposed = positive > 0
        scores = (2 * positive - examples)[proposed].astype(np.int64)
        return Proposals(scores, as_pairs(ids[proposed]))

    def proposed_rule(self, proposals: Proposals, index: int) -> PointsRule:
        """The rule of the id behind candidate `index`."""
        return self.essential_rule(to_int(proposals.keys[index]))

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        """At most the ids that all data sets allow; else the constant 0.

        If the ids that occur in no positive example are consistent, the class keeps dimension 1
        however it is restricted and its only essential hypothesis is its SOA, the constant 0.
        Otherwise the version space is a finite set of single ids.
        """
        allowed = [errors_allowed(tolerance, len(y)) for _, y in data_sets]
        positives = [as_pairs(x)[y == 1] for x, y in data_sets]
        if all(len(p) <= most for p, most in zip(positives, allowed, strict=True)):
            return [NOTHING]
        candidates = np.unique(np.concatenate(positives), axis=0)
        keep: list[Hashable] = []
        for candidate in candidates:
            wrong = (
                int(np.count_nonzero((as_pairs(x) == candidate).all(axis=1) != (y == 1)))
                for x, y in data_sets
            )
            if all(errors <= most for errors, most in zip(wrong, allowed, strict=True)):
                keep.append(to_int(candidate))
        return keep[:cap]

    def essential_rule(self, key: Hashable) -> PointsRule:
        """The rule of one id; `NOTHING` is the constant 0."""
        assert isinstance(key, int)
        return PointsRule(bits=self.bits, members=() if key == NOTHING else (key,))
