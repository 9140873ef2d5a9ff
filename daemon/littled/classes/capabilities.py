"""What a hypothesis class may be able to do, one abstract class for each capability.

`HypothesisClass` has an attribute for each, which is None where the class lacks it:

- `dense`, numbered rules: the class is finite and small. Statistics condense labelled examples to
  an integer array of fixed size; from these every rule has a score, the number of examples that it
  agrees with;
- `nested`, numbered rules that form a chain: each contains the next one;
- `cuts`, numbered rules that are thresholds of one feature, in either direction: for each feature
  they are two chains;
- `proposing`, rules proposed by examples: a positive example proposes a short list of rules, a
  negative example vetoes rules;
- `paths`, proposed rules that are blocks: those around one point form a chain;
- `id_sets`, rules that are sets of ids: an example that contradicts the published rule votes to
  flip its id;
- `intersection_closed`: there is a smallest rule around any positive examples;
- `version_spaces`: the essential hypotheses (Lyu, Definition 4.3) of the rules that are
  approximately consistent with one teacher's data sets can be listed;
- `additive`, rules that add up points for the bucket of each column: they are learned as weights
  of public features;
- `unions`, rules that are unions of few blocks of points: the best one for given gains is found;
- `least_numbers`, rules that say 1 from a number on: which one is a value by itself;
- `items`, rules that say 1 to one item: which one is a value by itself;
- `sequences`, rules that continue a string from an index on: examples say which string;
- `window_labelings`: the labelings of a subset of a window can be listed, a rule for each, for
  stable predictions (Dagan and Feldman 2020).

Each says what its lists take: bytes are upper bounds, whatever the examples are.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import DataSet, Labelings, Labels, Points, Proposals, Scores, VersionSpace
from littled.classes.memory import CLOSED_BYTES, INTEGER_BYTES, digits
from littled_protocol.rules import Rule, ScorecardRule

Capability = TypeVar("Capability")
Integers = NDArray[np.int64]


def needed(capability: Capability | None) -> Capability:
    """A capability that a class is known to have, since classes without it were refused before."""
    assert capability is not None
    return capability


class NumberedRules(ABC):
    """Few rules, with the numbers 0..rule_count-1, all of which can be weighed."""

    @property
    @abstractmethod
    def rule_count(self) -> int:
        """Number of rules, at most `DENSE_RULES_MAX`."""

    @abstractmethod
    def empty_statistics(self) -> NDArray[np.int64]:
        """Statistics of no examples, int64, of a fixed public shape."""

    @abstractmethod
    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """New statistics that also count the examples `x` (n,) with labels `y` (n,)."""

    @abstractmethod
    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """For every rule the number of counted examples it agrees with, int64 (rule_count,).

        One example more or less changes every score by at most 1 in the same direction or not at
        all; one example replaced changes every score by -1, 0 or 1.
        """

    def agreements(self, x: Points, y: Labels) -> Scores:
        """`scores` of the examples `x` (n,) with labels `y` (n,) alone, int64 (rule_count,)."""
        return self.scores(self.add(self.empty_statistics(), x, y))

    @abstractmethod
    def rule(self, index: int) -> Rule:
        """The rule with this number, 0 <= index < rule_count."""

    @property
    def cells(self) -> int:
        """Cells of a matrix of rules that all scores are read from; 0 where there is none."""
        return 0


class NestedRules(NumberedRules):
    """Numbered rules that form a chain: rule i + 1 says 1 only where rule i does."""

    @abstractmethod
    def number(self, rule: Rule) -> int:
        """The number of a rule of the class."""

    @abstractmethod
    def mistakes(self, statistics: NDArray[np.int64], number: int) -> tuple[int, int]:
        """Counted false positives, and false negatives, of the rule with this number.

        One example replaced changes them by at most 1 each.
        """


class CutRules(NumberedRules):
    """Numbered rules "feature i >= t" and "feature i < t", t = 0..buckets, of rows of features."""

    # How many numbers rows have, and from which range 0..buckets - 1.
    features: int
    buckets: int

    @abstractmethod
    def cut_errors(self, statistics: NDArray[np.int64], cuts: Integers) -> Integers:
        """On how many counted examples rules err, int64 (2, features, 2).

        cuts: int64 (features, 2), for each feature i the t of "feature i >= t" and of "feature i <
        t". Of the examples with label 0, and of those with label 1. One example replaced changes
        each number by at most 1, and those of its own label alone.
        """


class ProposedRules(ABC):
    """Every positive example proposes a short list of rules."""

    @property
    @abstractmethod
    def proposals_per_example(self) -> int:
        """Most rules that one example proposes."""

    @abstractmethod
    def proposals(self, x: Points, y: Labels) -> Proposals:
        """Every rule that a positive example proposes, with proposals minus vetoes.

        A positive example proposes the rules of its list (at most `proposals_per_example`) and
        vetoes nothing; a negative example proposes nothing and vetoes rules.
        """

    @abstractmethod
    def proposed_rule(self, proposals: Proposals, index: int) -> Rule:
        """The rule behind candidate `index` of `proposals`."""


class PathRules(ProposedRules):
    """Rules that are blocks of points, and the constant 0, which is the class's first rule.

    A block has a length, 0 for that of all points, and a value, of so many bits as its length. A
    point is in one block of each length up to `longest`, and each of them lies in the shorter ones.
    """

    @property
    @abstractmethod
    def longest(self) -> int:
        """The length of a block of one point."""

    @abstractmethod
    def block(self, value: int, length: int) -> Rule:
        """The block of this value, 0 <= value < 2^length, and length."""

    @abstractmethod
    def block_of(self, rule: Rule) -> tuple[int, int] | None:
        """Value and length of a rule of the class; None for the constant 0."""

    @abstractmethod
    def blocks_around(self, x: Points, y: Labels, lengths: Iterable[int]) -> Proposals:
        """`proposals` of these lengths alone, at least one of them."""

    @abstractmethod
    def block_lengths(self, proposals: Proposals) -> NDArray[np.int64]:
        """The length of every block of `proposals`, int64 (candidates,)."""


class IdSets(ABC):
    """Rules are sets of ids, so that a selection can flip ids one by one."""

    @abstractmethod
    def flips(self, x: Points, y: Labels, published: Rule, *, vetoes: bool) -> Proposals:
        """Every id whose label some example contradicts, in rising order, with votes to flip it.

        An example votes to flip its id if the published rule errs on it: to add the id, or to take
        it away. With `vetoes` an example on which the rule is right counts against flipping its
        id, and a score is votes minus vetoes.
        """

    @abstractmethod
    def flipped_rule(self, flips: Proposals, passing: NDArray[np.int64], published: Rule) -> Rule:
        """The published rule with the ids of the candidates `passing` (n,), n >= 1, flipped.

        A function of these ids and of the published rule alone, also where the set would have more
        members than the class allows.
        """

    @abstractmethod
    def ids_of(self, published: Rule) -> tuple[int, ...]:
        """The ids that a rule of the class says 1 to, rising."""


class IntersectionClosed(ABC):
    """Any set of points has a smallest rule around it, its closure, or none of the class."""

    @property
    @abstractmethod
    def closure_examples(self) -> int:
        """Positive examples whose closure usually is the rule they were drawn from uniformly."""

    @abstractmethod
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

    @abstractmethod
    def closed_rule(self, proposals: Proposals, index: int) -> Rule:
        """The rule behind candidate `index` of `closures`."""

    @abstractmethod
    def around(self, published: Rule, point: int) -> Rule | None:
        """The smallest rule around everything that `published` says 1 to, and a point.

        None if the class has none. `published` is a rule of the class, the point in its domain.
        """

    @abstractmethod
    def joined(self, first: Rule, second: Rule) -> Rule | None:
        """The smallest rule around two rules of the class; None if the class has none.

        Joining is associative: the rule around several is that around them two by two.
        """

    @property
    def next_rules_max(self) -> int:
        """Most rules that `next_rules` lists."""
        return 0

    def next_rules(self, published: Rule) -> Sequence[Rule]:
        """The rules around a rule of the class with none in between, where these are few.

        A public list, of nothing where they are many.
        """
        return ()

    def is_whole(self, rule: Rule) -> bool:
        """Whether it can be seen that no other rule of the class is around this one."""
        return False

    def contradicts(self, published: Rule, x: Points, y: Labels) -> NDArray[np.bool_]:
        """Which of n examples, (n,), no rule around the published one fits.

        The negative ones to which it says 1; if it is whole, also the positive ones to which it
        says 0.
        """
        said = published.evaluate(x)
        return said != y if self.is_whole(published) else said > y

    def closing_bytes(self, examples: int, proposing: int) -> int:
        """Most bytes for the closures of so many examples, proposed by so many teachers."""
        return examples * CLOSED_BYTES


class VersionSpaces(ABC):
    """One teacher's approximately consistent rules have a list of essential hypotheses."""

    @abstractmethod
    def version_space(self, data_sets: Sequence[DataSet], tolerance: Fraction) -> VersionSpace:
        """{h : errors of h on T <= tolerance * |T| for every data set T}.

        Source: Lyu, Algorithm 4, `DefineClass`. Without data sets it is the class itself.
        """

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

    def key_bytes(self, examples: int) -> int:
        """Most bytes of one key of an essential list, and of the text that orders it.

        `examples`: that the teacher has at the most. Here a key is at most two integers.
        """
        return 2 * (INTEGER_BYTES + digits(128))

    @abstractmethod
    def space_bytes(self, examples: int, epochs: int) -> int:
        """Most bytes of one teacher's version space, of so many examples in so many epochs."""


@dataclass(frozen=True)
class Features:
    """Public integer features of rows: of each column a table, and the constant.

    tables: of each column the features of its buckets, int64 (size, count). constant: the feature
    of the constant, a positive integer.
    """

    constant: int
    tables: tuple[Integers, ...]

    @property
    def dimensions(self) -> int:
        """Features of a row, the constant counted."""
        return 1 + sum(len(table.T) for table in self.tables)

    @property
    def places(self) -> tuple[slice, ...]:
        """Where the weights of each column's features are among all of them."""
        ends = accumulate((len(table.T) for table in self.tables), initial=1)
        return tuple(slice(first, last) for first, last in pairwise(ends))


class AdditiveRules(ABC):
    """Rules that add up points for the bucket of each column, and say 1 above 0.

    What is learned are the weights of features, integers that are public functions of a bucket: the
    points of a bucket are the weighted sum of its features. The first of them is the constant, the
    same number for every row.
    """

    # Euclidean length of the features of a usual row.
    USUAL_LENGTH: ClassVar[int] = 1024

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Buckets of each column."""

    @abstractmethod
    def features(self, cosines: int, flags_from: int = 0) -> Features:
        """The features of rows, with so many cosines of a column in order at the most.

        flags_from: from so many categories on a column is told by them and not by their order; 0
        for never.
        """

    @property
    @abstractmethod
    def ordered(self) -> tuple[range, ...]:
        """Of each column the buckets that are values in order, not what is missing or other."""

    @abstractmethod
    def rule_of(self, constant: int, points: Integers) -> ScorecardRule:
        """The rule with these points: of the constant, and of the buckets of all columns in a row.

        points: int64 (buckets of all columns,). What no rule can have is limited.
        """


class BlockUnions(ABC):
    """Rules are unions of at most so many blocks: of addresses that begin with the same bits."""

    bits: int

    @abstractmethod
    def best_rule(
        self, starts: Sequence[int], lengths: Sequence[int], gains: Sequence[int], cost: int
    ) -> Rule:
        """The rule that gains most, and of these one of fewest blocks.

        Each of its blocks takes `cost` off its gain.

        `starts`: the first addresses of blocks that are apart, in rising order; `lengths`: how
        many of their first bits are fixed; `gains`: what taking a block gains.
        """


class OrderedNumbers(ABC):
    """Rules that say 1 from a number on, one for each number of some bits, and the constant 0."""

    @property
    @abstractmethod
    def number_bits(self) -> int:
        """Bits of a number."""

    @abstractmethod
    def rule_from(self, least: int) -> Rule:
        """The rule that says 1 from this number on, 0 <= least <= 2^number_bits.

        From the last of these on there is no number: it is always 0.
        """


class Items(ABC):
    """Rules that say 1 to one item; the first rule of the class says it to none."""

    @property
    @abstractmethod
    def item_bits(self) -> int:
        """There are 2^item_bits items, which are numbered from 0 on."""

    @abstractmethod
    def reported(self, x: Points, y: Labels) -> tuple[list[int], NDArray[np.int64]]:
        """The numbers of the different items with label 1, rising, and how often each has it.

        A function of the examples as a set: their order does not matter.
        """

    @abstractmethod
    def item_rule(self, item: int) -> Rule:
        """The rule of the item with this number."""


class Sequences(ABC):
    """Rules that continue a string from an index on, and the constant 0, the first rule.

    Points are an index and a string; from one string those of later indices follow.
    """

    @property
    @abstractmethod
    def index_bits(self) -> int:
        """Bits of an index."""

    @abstractmethod
    def indices(self, x: Points) -> Points:
        """The indices of points, a column of the smallest type of numbers that holds them."""

    @abstractmethod
    def votes(self, x: Points, index: int) -> Counter[tuple[bytes, int]]:
        """How many of these points, which have label 1, name each string and bit of an index.

        A point of this index or of an earlier one names at most one, others none. A function of the
        points as a set with repetitions: their order does not matter.
        """

    @abstractmethod
    def continuing_rule(self, index: int, sigma: bytes, label: int) -> Rule:
        """The rule that says from this index on what follows from its string and bit."""


class WindowLabelings(ABC):
    """The labelings of a window's examples, and of subsets of them, can be listed."""

    @abstractmethod
    def window(self, x: Points, y: Labels) -> Labelings:
        """The labelings of subsets of the examples `x` (n,) with labels `y` (n,).

        The expensive work on a window, done once: it may take seconds.
        """
