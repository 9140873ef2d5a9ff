"""What a hypothesis class answers.

A class is a public, immutable value. It serves five ways of selecting the next rule:

- *dense*: the class is finite and small. `statistics` condenses labelled examples to an integer
  array of fixed size and `scores` gives, for every rule, the number of examples it agrees with;
- *sparse, one example a teacher*: a positive example proposes at most `list_cap` rules, a negative
  example vetoes rules; `proposals` lists every proposed rule with proposals minus vetoes;
- *histogram*: a rule is a set of ids; an example that contradicts the published rule votes to flip
  its id, `flips` counts these votes, and `flipped_rule` flips all ids that the selection lets pass;
- *closure*: a teacher proposes the smallest rule around its positive examples: `closures`;
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


class VersionSpace(ABC):
    """The rules of a class that are approximately consistent with one teacher's data sets."""

    @property
    @abstractmethod
    def littlestone_dimension(self) -> int:
        """Littlestone dimension, -1 when empty; exact, or an upper bound where a class says so."""

    @abstractmethod
    def standard_optimal_rule(self) -> Rule:
        """The SOA of the version space (Lyu, section 4); ClassError when it is empty."""

    @abstractmethod
    def essential(self, cap: int) -> list[Hashable]:
        """Keys of the essential hypotheses (Lyu, Definition 4.3), cut to at most `cap`.

        The class says for which (p, d), and where a search may stop early.
        """


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

    @property
    def dual_vc_dimension(self) -> int:
        """An upper bound of the VC dimension of the dual class, {h -> h(x) : points x}.

        The largest m for which some m rules answer points in all 2^m ways. So many draws from a
        selection that a majority of them holds for all points at once, and so against adversaries
        that see the rule first, grow with it.
        """
        raise ClassError(f"{self.name} has no known dual VC dimension")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description from which `class_from_dict` makes an equal class."""

    @abstractmethod
    def contains(self, points: Points) -> bool:
        """Whether every point lies in the domain; the door's check, before anything is stored."""

    @abstractmethod
    def first_rule(self) -> Rule:
        """The rule published before any data: a public constant, so it costs nothing."""

    @property
    @abstractmethod
    def longest_rule(self) -> Rule:
        """A rule that no other one that a selection can come to exceeds on the wire, in bytes.

        What fits into a frame with this rule, or with a majority of copies of it, fits with any.
        """

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

    # -- histograms --------------------------------------------------------------------------

    @property
    def has_flips(self) -> bool:
        """Whether rules are sets of ids, so that a selection can flip ids one by one."""
        return False

    def flips(self, x: Points, y: Labels, published: Rule, *, vetoes: bool) -> Proposals:
        """Every id whose label some example contradicts, in rising order, with votes to flip it.

        An example votes to flip its id if the published rule errs on it: to add the id, or to take
        it away. With `vetoes` an example on which the rule is right counts against flipping its
        id, and a score is votes minus vetoes.
        """
        raise ClassError(f"{self.name} has no rules that are sets of ids; use another selection")

    def flipped_rule(self, flips: Proposals, passing: NDArray[np.int64], published: Rule) -> Rule:
        """The published rule with the ids of the candidates `passing` (n,), n >= 1, flipped.

        A function of these ids and of the published rule alone, also where the set would have more
        members than the class allows.
        """
        raise ClassError(f"{self.name} has no rules that are sets of ids; use another selection")

    # -- sparse selection, closures ----------------------------------------------------------

    @property
    def has_closures(self) -> bool:
        """Whether any set of points has a smallest rule around it: an intersection-closed class."""
        return False

    @property
    def closure_examples(self) -> int:
        """Positive examples whose closure usually is the rule they were drawn from uniformly."""
        return 1

    def closures(
        self, x: Points, y: Labels, teachers: NDArray[np.int64] | None, published: Rule
    ) -> Proposals:
        """The closures that teachers propose, scored by the number of teachers that do.

        `teachers` (n,) numbers the teacher of each example; with None every example is a teacher
        of its own. A teacher's closure is the smallest rule around everything that `published`
        says 1 to and the teacher's own positive points. It proposes that one rule if it has a
        positive point outside `published`, the closure is in the class, and none of its own
        negative points lies inside; otherwise it proposes nothing.
        """
        raise ClassError(f"{self.name} is not closed under intersection; use dense or sparse")

    def closed_rule(self, proposals: Proposals, index: int) -> Rule:
        """The rule behind candidate `index` of `closures`."""
        raise ClassError(f"{self.name} is not closed under intersection; use dense or sparse")

    # -- sparse selection, k teachers --------------------------------------------------------

    def version_space(self, data_sets: Sequence[DataSet], tolerance: Fraction) -> VersionSpace:
        """{h : errors of h on T <= tolerance * |T| for every data set T}.

        Source: Lyu, Algorithm 4, `DefineClass`. Without data sets it is the class itself.
        """
        raise ClassError(f"{self.name} has no version spaces; use dense")

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        """Keys of the essential hypotheses of one teacher's version space, at most `cap`.

        A longer list is cut by a rule that looks at this teacher alone, as Lemma 3.1 needs.
        """
        return self.version_space(data_sets, tolerance).essential(cap)

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

    def essential_rule(self, key: Hashable) -> Rule:
        """The rule with this number."""
        assert isinstance(key, int)
        return self.rule(key)


@dataclass(frozen=True, eq=False)
class NumberedVersionSpace(VersionSpace):
    """Some rules of a class for dense selection, by their numbers in rising order, (rules,)."""

    numbers: NDArray[np.int64]

    @property
    def littlestone_dimension(self) -> int:
        """floor(log2(number of rules)), -1 for none: exact where any set of rules can be halved."""
        return len(self.numbers).bit_length() - 1

    def essential(self, cap: int) -> list[Hashable]:
        """The numbers of all rules, evenly cut.

        For every p and d with p * 2^(d - LDim) >= rules - 1, and also with p * 2^(d - LDim) >=
        number of points, LDim being the dimension of any part of the class. Such a part is
        irreducible only if it is a single rule: while two are left some point tells them apart,
        and its SOA label drops one; and labels of all points leave at most one. So every leaf of a
        decomposition is one rule and all rules are essential (Corollary 4.1, item 4).
        """
        return [int(number) for number in self.numbers[evenly_cut(len(self.numbers), cap)]]

    def require_rules(self) -> None:
        """Raise ClassError when the version space is empty."""
        if not len(self.numbers):
            raise ClassError("an empty version space has no standard optimal rule")


def consistent_numbers(
    hypotheses: HypothesisClass, data_sets: Sequence[DataSet], tolerance: Fraction
) -> NDArray[np.int64]:
    """The numbers, rising, of the approximately consistent rules of a class for dense selection."""
    consistent = np.ones(hypotheses.rule_count or 0, dtype=np.bool_)
    for x, y in data_sets:
        agreements = hypotheses.scores(hypotheses.add(hypotheses.empty_statistics(), x, y))
        consistent &= len(y) - agreements <= errors_allowed(tolerance, len(y))
    return np.flatnonzero(consistent).astype(np.int64)


def errors_allowed(tolerance: Fraction, size: int) -> int:
    """Largest number of errors e with e / size <= tolerance."""
    return tolerance.numerator * size // tolerance.denominator


def evenly_cut(count: int, cap: int) -> NDArray[np.int64]:
    """Indices of at most `cap` of `count` items, evenly spread: the public rule that cuts lists."""
    if count <= cap:
        return np.arange(count, dtype=np.int64)
    return np.arange(cap, dtype=np.int64) * count // cap
