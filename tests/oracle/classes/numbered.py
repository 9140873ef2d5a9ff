"""Dimensions and standard optimal rules of version spaces of rules that have numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.classes import table as tables
from littled.classes.base import ClassError, evenly_cut
from littled.classes.numbered import NumberedVersionSpace
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled.littlestone import CostExceeded
from littled_protocol import limits
from littled_protocol.rules import MajorityRule, Rule, TableRule, ThresholdRule
from oracle.classes.solved import Solved
from oracle.littlestone.dimension import standard_optimal_algorithm

# Of more rules no majority can be published, as which the SOA of a set of stumps is written.
OPTIMAL_RULES_MAX = (1 << (limits.majority_members_max.bit_length() - 1)) - 1
# The name of the rule that is the SOA of a version space when it is no row.
STANDARD_OPTIMAL_NAME = "standard optimal rule"


class SolvedNumbers(NumberedVersionSpace, Solved):
    """The version space of `NumberedVersionSpace`, where any set of rules can be halved."""

    @property
    def littlestone_dimension(self) -> int:
        """floor(log2(number of rules)), -1 for none: exact where any set of rules can be halved."""
        return len(self.numbers).bit_length() - 1

    def require_rules(self) -> None:
        """Raise ClassError when the version space is empty."""
        if not len(self.numbers):
            raise ClassError("an empty version space has no standard optimal rule")


@dataclass(frozen=True, eq=False)
class SolvedStumps(SolvedNumbers):
    """Any set of stumps; its dimension floor(log2(rules)) is exact, as it can be halved."""

    hypotheses: Stumps

    def standard_optimal_rule(self) -> Rule:
        """The SOA, a majority; of more than OPTIMAL_RULES_MAX rules, that of so many of them.

        With n rules and dimension L, label 0 keeps the dimension where at least 2^L rules say 0. So
        the SOA says 1 where more than n - 2^L rules do: where they are most of 2^(L + 1) - 1 rules
        once the constant 1 fills up that number.
        """
        self.require_rules()
        chosen = self.numbers[evenly_cut(len(self.numbers), OPTIMAL_RULES_MAX)]
        members = [self.hypotheses.rule(int(number)) for number in chosen]
        always = self.hypotheses.rule(0)
        members += [always] * ((1 << len(members).bit_length()) - 1 - len(members))
        return MajorityRule(tuple(members)) if members[1:] else members[0]


@dataclass(frozen=True, eq=False)
class SolvedThresholds(SolvedNumbers):
    """Any set of thresholds, a chain of rules: binary search halves it, so dimensions are exact."""

    hypotheses: Thresholds

    def standard_optimal_rule(self) -> ThresholdRule:
        """The SOA, which is a threshold of the version space itself.

        With n rules and dimension L, label 0 keeps the dimension where at least 2^L rules say 0:
        below the threshold that n - 2^L others precede.
        """
        self.require_rules()
        rules = len(self.numbers)
        return self.hypotheses.rule(int(self.numbers[rules - (1 << self.littlestone_dimension)]))


@dataclass(frozen=True, eq=False)
class SolvedRows(SolvedNumbers):
    """Some rows of a table."""

    hypotheses: Table

    @cached_property
    def littlestone_dimension(self) -> int:
        """Exact where that is cheap, else the smaller of the table's and floor(log2(rows))."""
        if not len(self.numbers):
            return -1
        return min(tables._dimension(self._rows), self.hypotheses.dimension)

    def standard_optimal_rule(self) -> TableRule:
        """The SOA where that is cheap, else the majority of the rows; a row, if it equals one.

        The majority is what the bound floor(log2(rows)) stands for: a mistake halves the rows.
        """
        self.require_rules()
        values = _standard_optimal_values(self._rows)
        table = self.hypotheses
        equal = np.flatnonzero((table.matrix == values).all(axis=1))
        if len(equal):
            return table.rule(int(equal[0]))
        packed = np.packbits(values).tobytes()
        return TableRule(STANDARD_OPTIMAL_NAME, table.digest, packed, table.points)

    @property
    def _rows(self) -> NDArray[np.bool_]:
        return self.hypotheses.matrix[self.numbers]


def _standard_optimal_values(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The SOA of these rows where that is cheap, else their majority, (points,)."""
    if rows.size <= tables.DIMENSION_CELLS_MAX:
        try:
            return standard_optimal_algorithm(rows, subclasses_max=tables.DIMENSION_SUBCLASSES_MAX)
        except CostExceeded:
            pass
    majority: NDArray[np.bool_] = 2 * rows.sum(axis=0) > len(rows)
    return majority
