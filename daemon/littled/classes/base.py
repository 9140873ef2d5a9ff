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

For private predictions (Dagan and Feldman 2020) it lists the labelings of a subset of the examples,
a rule for each (`window`), bounds their number, and learns from one chunk (`empirical_rules`).

Points arrive as columns decoded by `littled_protocol.columns`; labels are uint8 arrays of 0 and 1.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.memory import CLOSED_BYTES, INTEGER_BYTES, RULE_BYTES, digits
from littled_protocol.rules import Rule

Points = NDArray[np.unsignedinteger[Any]]
Labels = NDArray[np.uint8]
Scores = NDArray[np.int64]
DataSet = tuple[Points, Labels]
# Points (m,) to the number of rules that say 1 to each, int64 (m,).
Ballot = Callable[[Points], NDArray[np.int64]]

# A dense selection holds one score and one weight per rule; above this it is no longer "small".
DENSE_RULES_MAX = 1 << 20
# Examples that are counted at a time: their cells, as numpy counts them, take 256 KiB.
COUNTED_AT_ONCE = 1 << 15


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


@dataclass(frozen=True, eq=False)
class Candidates(ABC):
    """One rule for each labeling of a subset of a window, in no particular order.

    `scores[i]` = number of all examples of the window that candidate i agrees with, int64
    (candidates,); `keys` are opaque to everybody but the class that made them. Which rules these
    are depends on the subset's points alone; the scores depend on the whole window.
    """

    scores: Scores
    keys: NDArray[Any]

    @abstractmethod
    def labels(self, point: Points) -> NDArray[np.bool_]:
        """What every candidate says to one point, given as a column of length 1; (candidates,)."""

    @abstractmethod
    def rule(self, index: int) -> Rule:
        """The rule of candidate `index`."""


class Labelings(ABC):
    """The labelings of subsets of one window's examples; made once of a window, immutable."""

    @abstractmethod
    def candidates(self, subset: NDArray[np.int64]) -> Candidates:
        """One rule of the class for each labeling, by the class, of the examples `subset`.

        `subset` (m,) holds different indices, rising, of examples of the window. Every two
        candidates differ on one of these examples, and every rule of the class agrees with one
        candidate on all of them. A class says which of the rules with the same labeling it takes,
        by a rule that looks at the subset's points alone: not at labels, not at other examples.

        Raises ClassError where `labelings_max(m)` is too large to be listed, which depends on
        public numbers and on the size m only.
        """


class VersionSpace(ABC):
    """The rules of a class that are approximately consistent with one teacher's data sets."""

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
        """Whether every point lies in the domain; the door's check, before anything is stored.

        A domain has with a point all those whose numbers, or features, are not greater.
        """

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

    def agreements(self, x: Points, y: Labels) -> Scores:
        """`scores` of the examples `x` (n,) with labels `y` (n,) alone, int64 (rule_count,)."""
        return self.scores(self.add(self.empty_statistics(), x, y))

    def rule(self, index: int) -> Rule:
        """The rule with this index, 0 <= index < rule_count."""
        raise ClassError(f"{self.name} has too many rules for dense selection; use sparse")

    def labels_of(self, numbers: NDArray[np.int64], point: Points) -> NDArray[np.bool_]:
        """What the rules with these numbers (m,) say to one point, a column of length 1; (m,)."""
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

    def essential_p_min(self, d: int) -> int | None:
        """The least p for which `essential_list` has the (p, d)-essential rules for all data.

        Lyu, Definition 4.3, with d at least the Littlestone dimension. None where this depends on
        the data; the class's version space then says how.
        """
        return None

    @abstractmethod
    def essential_rule(self, key: Hashable) -> Rule:
        """The rule behind a key of `essential_list`."""

    # -- what selections take ----------------------------------------------------------------

    @property
    def cells(self) -> int:
        """Cells of a matrix of rules that all scores are read from; 0 where there is none."""
        return 0

    def closing_bytes(self, examples: int, proposing: int) -> int:
        """Most bytes for the closures of so many examples, proposed by so many teachers."""
        return examples * CLOSED_BYTES

    def key_bytes(self, examples: int) -> int:
        """Most bytes of one key of an essential list, and of the text that orders it.

        `examples`: that the teacher has at the most.
        """
        return 2 * (INTEGER_BYTES + digits(128))

    def space_bytes(self, examples: int, epochs: int) -> int:
        """Most bytes for the version space of one teacher, of so many examples in so many epochs.

        Here counts of a class for dense selection, and scores of all of its rules.
        """
        return 8 * RULE_BYTES * (self.rule_count or 0) + examples * 64

    # -- private prediction ------------------------------------------------------------------

    @property
    def vc_dimension(self) -> int:
        """Vapnik-Chervonenkis dimension, or an upper bound where the class says so.

        Never more than the Littlestone dimension: a shattered set, asked point by point, is a tree.
        """
        return self.littlestone_dimension

    def labelings_max(self, n: int) -> int:
        """An upper bound of the number of labelings of any n points, n >= 0.

        Here that of Sauer and Shelah; a class that knows a smaller one says so.
        """
        return sauer_shelah(n, self.vc_dimension)

    @property
    def has_labelings(self) -> bool:
        """Whether labelings can be listed, so that `window` does not refuse."""
        return False

    def window(self, x: Points, y: Labels) -> Labelings:
        """The labelings of subsets of the examples `x` (n,) with labels `y` (n,).

        The expensive work on a window, done once: it may take seconds. Raises ClassError where
        `has_labelings` is False.
        """
        raise ClassError(f"{self.name} has too many labelings to be listed")

    @property
    def lines(self) -> int:
        """How many lines of thresholds, each in one direction, the rules are; 0 if they are not."""
        return 0

    @property
    def learns_from_noise(self) -> bool:
        """Whether estimates may reckon with rules of few errors from chunks with wrong labels."""
        return True

    @abstractmethod
    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """What a learner makes of one chunk of examples `x` (n,) with labels `y` (n,).

        A rule with the fewest errors on the chunk; where a class says that this is too hard, a rule
        without errors if there is one, and otherwise any rule. A function of the chunk alone, in
        which the order of the examples does not matter. A chunk may be empty.
        """

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """`empirical_rule` of every chunk 0..chunks-1; `chunk_numbers` (n,) numbers the examples'.

        The same rules as chunk by chunk, sooner where a class can.
        """
        parts = members_of_chunks(chunk_numbers, chunks)
        return [self.empirical_rule(x.take(part, axis=0), y.take(part)) for part in parts]

    def ballot(self, rules: Sequence[Rule]) -> Ballot:
        """The votes of these rules of the class.

        Thousands of chunks usually learn few different rules; each of these is asked once.
        """
        counts = Counter(rules)

        def votes(points: Points) -> NDArray[np.int64]:
            ones = np.zeros(len(points), dtype=np.int64)
            for rule, count in counts.items():
                ones += np.multiply(rule.evaluate(points), count, dtype=np.int64)
            return ones

        return votes


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
        return statistics + counts_by_label(x, y, self.point_count)

    def essential_rule(self, key: Hashable) -> Rule:
        """The rule with this number."""
        assert isinstance(key, int)
        return self.rule(key)


@dataclass(frozen=True, eq=False)
class NumberedVersionSpace(VersionSpace):
    """Some rules of a class for dense selection, by their numbers in rising order, (rules,)."""

    numbers: NDArray[np.int64]

    def essential(self, cap: int) -> list[Hashable]:
        """The numbers of all rules, evenly cut.

        For every p and d with p * 2^(d - LDim) >= rules - 1, and also with p * 2^(d - LDim) >=
        number of points, LDim being the dimension of any part of the class. Such a part is
        irreducible only if it is a single rule: while two are left some point tells them apart,
        and its SOA label drops one; and labels of all points leave at most one. So every leaf of a
        decomposition is one rule and all rules are essential (Corollary 4.1, item 4).
        """
        return [int(number) for number in self.numbers[evenly_cut(len(self.numbers), cap)]]


def counts_by_label(x: Points, y: Labels, point_count: int) -> NDArray[np.int64]:
    """How many of the examples with label 0, and with label 1, lie at each point, (2, point_count).

    x: unsigned (n,), below `point_count`. Counted in the narrowest type and in pieces that stay
    close to the processor; IndexError for a point beyond the last.
    """
    cells = 2 * point_count
    counts = np.zeros(cells, dtype=np.int64)
    greatest = int(np.iinfo(x.dtype).max) + point_count
    kind = np.dtype("u2" if greatest < 1 << 16 else "u4" if greatest < 1 << 32 else "i8")
    step = max(COUNTED_AT_ONCE, cells)
    for start in range(0, len(y), step):
        labels = y[start : start + step].astype(kind)
        points = x[start : start + step].astype(kind, copy=False)
        found = np.bincount(labels * kind.type(point_count) + points, minlength=cells)
        if len(found) > cells:
            raise IndexError("a point lies beyond the last one")
        counts += found
    return counts.reshape(2, point_count)


def consistent_numbers(
    hypotheses: HypothesisClass, data_sets: Sequence[DataSet], tolerance: Fraction
) -> NDArray[np.int64]:
    """The numbers, rising, of the approximately consistent rules of a class for dense selection."""
    consistent = np.ones(hypotheses.rule_count or 0, dtype=np.bool_)
    for x, y in data_sets:
        consistent &= len(y) - hypotheses.agreements(x, y) <= errors_allowed(tolerance, len(y))
    return np.flatnonzero(consistent).astype(np.int64)


def sauer_shelah(points: int, dimension: int) -> int:
    """C(n, 0) + ... + C(n, d): no class of VC dimension d labels n points in more ways.

    Source: Sauer 1972, Shelah 1972; Dagan and Feldman, Lemma 5.
    """
    total = ways = 1
    for size in range(min(points, dimension)):
        ways = ways * (points - size) // (size + 1)
        total += ways
    return total


def members_of_chunks(chunk_numbers: NDArray[np.int64], chunks: int) -> list[NDArray[np.int64]]:
    """The indices of the examples of every chunk 0..chunks-1, whose chunks these are (n,)."""
    order = np.argsort(chunk_numbers, kind="stable")
    return np.split(order, np.cumsum(np.bincount(chunk_numbers, minlength=chunks))[:-1])


def errors_allowed(tolerance: Fraction, size: int) -> int:
    """Largest number of errors e with e / size <= tolerance."""
    return tolerance.numerator * size // tolerance.denominator


def evenly_cut(count: int, cap: int) -> NDArray[np.int64]:
    """Indices of at most `cap` of `count` items, evenly spread: the public rule that cuts lists."""
    if count <= cap:
        return np.arange(count, dtype=np.int64)
    return np.arange(cap, dtype=np.int64) * count // cap
