"""What a hypothesis class answers.

A class is a public, immutable value. It serves three ways of selecting the next rule:

- *dense*: the class is finite and small. `statistics` condenses labelled examples to an integer
  array of fixed size and `scores` gives, for every rule, the number of examples it agrees with;
- *sparse, one example a teacher*: a positive example proposes at most `list_cap` rules, a negative
  example vetoes rules; `proposals` lists every proposed rule with proposals minus vetoes;
- *sparse, k teachers*: `essential_list` is the list of essential hypotheses (Lyu, Definition 4.3)
  of the rules that are approximately consistent with one teacher's data sets.

Points arrive as columns decoded by `littled_protocol.columns`; labels are uint8 arrays of 0 and 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_protocol.rules import Rule

Points = NDArray[np.unsignedinteger[Any]]
Labels = NDArray[np.uint8]
Scores = NDArray[np.int64]
DataSet = tuple[Points, Labels]

# A dense selection holds one score and one weight per rule; above this it is no longer "small".
DENSE_RULES_MAX = 1 << 20


class ClassError(ValueError):
    """A class that does not exist or parameters it cannot have; one sentence."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Rules proposed by at least one example.

    `scores[i]` = proposals minus vetoes of candidate i, int64 (candidates,); `keys` has one row a
    candidate, opaque to everybody but the class that made it.
    """

    scores: Scores
    keys: NDArray[np.uint64]


class HypothesisClass(ABC):
    """A public set of rules over one type of points."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name as written in a configuration, for example `thresholds:256`."""

    @property
    @abstractmethod
    def point_type(self) -> str:
        """Name of the points' type on the wire (`littled_protocol.columns`)."""

    @property
    @abstractmethod
    def littlestone_dimension(self) -> int:
        """Exact Littlestone dimension, or an upper bound where the class says so."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description from which `class_from_dict` makes an equal class."""

    @abstractmethod
    def contains(self, points: Points) -> bool:
        """Whether every point lies in the domain; the door's check, before anything is stored."""

    @abstractmethod
    def first_rule(self) -> Rule:
        """The rule published before any data: a public constant, so it costs nothing."""

    # -- dense selection ---------------------------------------------------------------------

    @property
    def rule_count(self) -> int | None:
        """Number of rules where the class is finite and small enough for dense selection."""
        return None

    def empty_statistics(self) -> NDArray[np.int64]:
        """Statistics of no examples, int64, of a fixed public shape."""
        raise ClassError(f"{self.name} has too many rules for dense selection; use sparse")

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """New statistics that also count the examples `x` (n,) with labels `y` (n,)."""
        raise ClassError(f"{self.name} has too many rules for dense selection; use sparse")

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """For every rule the number of counted examples it agrees with, int64 (rule_count,).

        One example more or less changes every score by at most 1 in the same direction or not at
        all; one example replaced changes every score by -1, 0 or 1.
        """
        raise ClassError(f"{self.name} has too many rules for dense selection; use sparse")

    def rule(self, index: int) -> Rule:
        """The rule with this index, 0 <= index < rule_count."""
        raise ClassError(f"{self.name} has too many rules for dense selection; use sparse")

    # -- sparse selection, one example a teacher ---------------------------------------------

    @property
    def proposals_per_example(self) -> int | None:
        """Most rules that one example proposes; None where examples do not propose rules."""
        return None

    def proposals(self, x: Points, y: Labels) -> Proposals:
        """Every rule that a positive example proposes, with proposals minus vetoes.

        A positive example proposes the rules of its list (at most `proposals_per_example`) and
        vetoes nothing; a negative example proposes nothing and vetoes rules.
        """
        raise ClassError(f"{self.name} has no short lists of rules per example; use dense")

    def proposed_rule(self, proposals: Proposals, index: int) -> Rule:
        """The rule behind candidate `index`."""
        raise ClassError(f"{self.name} has no short lists of rules per example; use dense")

    # -- sparse selection, k teachers --------------------------------------------------------

    @abstractmethod
    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        """Keys of the essential hypotheses of one teacher, at most `cap`.

        The teacher's class is {h : errors of h on T <= tolerance * |T| for every data set T}
        (Lyu, Algorithm 4, `DefineClass`). A longer list is cut by a rule that looks at this list
        alone, as Lemma 3.1 needs.
        """

    @abstractmethod
    def essential_rule(self, key: Hashable) -> Rule:
        """The rule behind a key of `essential_list`."""


class NumberedPoints(HypothesisClass):
    """A class over the points 0..point_count-1 whose rules are numbered, for dense selection."""

    @property
    @abstractmethod
    def point_count(self) -> int:
        """Number of points."""

    def contains(self, points: Points) -> bool:
        """Whether every point is below `point_count`."""
        return not len(points) or int(points.max()) < self.point_count

    def empty_statistics(self) -> NDArray[np.int64]:
        """Counts of labels 0 and 1 at each point, (2, point_count)."""
        return np.zeros((2, self.point_count), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """Count the examples at their points."""
        cells = x.astype(np.int64) + self.point_count * y.astype(np.int64)
        counts = np.bincount(cells, minlength=2 * self.point_count)
        return statistics + counts.reshape(2, self.point_count)

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        """The numbers of all approximately consistent rules, evenly cut.

        On a small domain a class that is p * 2^(d - LDim)-irreducible is a single hypothesis, so
        the essential list is the version space itself.
        """
        consistent = np.ones(self.rule_count or 0, dtype=bool)
        for x, y in data_sets:
            agreements = self.scores(self.add(self.empty_statistics(), x, y))
            consistent &= len(x) - agreements <= errors_allowed(tolerance, len(x))
        found = np.flatnonzero(consistent)
        return [int(number) for number in found[evenly_cut(len(found), cap)]]

    def essential_rule(self, key: Hashable) -> Rule:
        """The rule with this number."""
        assert isinstance(key, int)
        return self.rule(key)


def errors_allowed(tolerance: Fraction, size: int) -> int:
    """Largest number of errors e with e / size <= tolerance."""
    return tolerance.numerator * size // tolerance.denominator


def evenly_cut(count: int, cap: int) -> NDArray[np.int64]:
    """Indices of at most `cap` of `count` items, evenly spread: the public rule that cuts lists."""
    if count <= cap:
        return np.arange(count, dtype=np.int64)
    return np.arange(cap, dtype=np.int64) * count // cap
