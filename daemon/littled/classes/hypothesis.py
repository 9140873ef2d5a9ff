"""What a hypothesis class answers, whatever it is.

A class is a public, immutable value. What only some classes can do, which decides by which
selections and methods they are learned, is in `capabilities`.

For private predictions (Dagan and Feldman 2020) a class bounds the number of its labelings and
learns from one chunk (`empirical_rules`).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Ballot, Labels, Points, members_of_chunks, sauer_shelah
from littled.classes.capabilities import (
    AdditiveRules,
    BlockUnions,
    CutRules,
    IdSets,
    IntersectionClosed,
    Items,
    NestedRules,
    NumberedRules,
    OrderedNumbers,
    PathRules,
    ProposedRules,
    Sequences,
    VersionSpaces,
    WindowLabelings,
)
from littled_protocol.rules import Rule


class HypothesisClass(ABC):
    """A public set of rules over one type of points.

    A class that inherits from a capability has it. One that has it for some parameters only gives
    an object for it, or None, in place of the attribute.
    """

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

        Here 2^(v + 1) - 1, v being the VC dimension (Assouad 1983); a class that knows a smaller
        one says so.
        """
        return (2 << self.vc_dimension) - 1

    @property
    def not_online(self) -> str | None:
        """Why no learner can follow it example by example, in a sentence; None where some can."""
        return None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description from which `class_from_dict` makes an equal class."""

    @abstractmethod
    def contains(self, points: Points) -> bool:
        """Whether every point lies in the domain; the door's check, before anything is stored.

        A domain has with a point all those whose numbers, or features, are not greater.
        """

    @property
    def telling_points(self) -> Points | None:
        """Points that audits tell apart, the first two above all; None where small numbers do."""
        return None

    @abstractmethod
    def first_rule(self) -> Rule:
        """The rule published before any data: a public constant, so it costs nothing."""

    @property
    @abstractmethod
    def longest_rule(self) -> Rule:
        """A rule that no other one that a selection can come to exceeds on the wire, in bytes.

        What fits into a frame with this rule, or with a majority of copies of it, fits with any.
        """

    # -- capabilities ------------------------------------------------------------------------

    @property
    def dense(self) -> NumberedRules | None:
        """Its rules by number, where there are few: for dense selection."""
        return self if isinstance(self, NumberedRules) else None

    @property
    def nested(self) -> NestedRules | None:
        """Its rules by number, where they form a chain: for a public memory."""
        return self if isinstance(self, NestedRules) else None

    @property
    def cuts(self) -> CutRules | None:
        """Its rules by number, where they are thresholds of one feature each: for majorities."""
        return self if isinstance(self, CutRules) else None

    @property
    def proposing(self) -> ProposedRules | None:
        """What its examples propose, where that is a short list of rules."""
        return self if isinstance(self, ProposedRules) else None

    @property
    def paths(self) -> PathRules | None:
        """Its rules as blocks, where those around one point form a chain: for a public memory."""
        return self if isinstance(self, PathRules) else None

    @property
    def id_sets(self) -> IdSets | None:
        """Its rules as sets of ids, where they are: for histograms."""
        return self if isinstance(self, IdSets) else None

    @property
    def intersection_closed(self) -> IntersectionClosed | None:
        """Its closures, where it is closed under intersection."""
        return self if isinstance(self, IntersectionClosed) else None

    @property
    def version_spaces(self) -> VersionSpaces | None:
        """Its version spaces, where their essential hypotheses can be listed."""
        return self if isinstance(self, VersionSpaces) else None

    @property
    def additive(self) -> AdditiveRules | None:
        """Its features and points, where rules add up points for buckets."""
        return self if isinstance(self, AdditiveRules) else None

    @property
    def unions(self) -> BlockUnions | None:
        """Its best unions of blocks, where its rules are those."""
        return self if isinstance(self, BlockUnions) else None

    @property
    def least_numbers(self) -> OrderedNumbers | None:
        """Its rules as numbers from which on they say 1, where they are."""
        return self if isinstance(self, OrderedNumbers) else None

    @property
    def items(self) -> Items | None:
        """Its rules as items, where each says 1 to one."""
        return self if isinstance(self, Items) else None

    @property
    def sequences(self) -> Sequences | None:
        """Its rules as continued strings, where they are."""
        return self if isinstance(self, Sequences) else None

    @property
    def window_labelings(self) -> WindowLabelings | None:
        """The labelings of windows, where they can be listed."""
        return self if isinstance(self, WindowLabelings) else None

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
    def lines(self) -> int:
        """How many lines of thresholds, each in one direction, the rules are; 0 if they are not."""
        return 0

    @property
    def chunk_dimension(self) -> int:
        """d of estimates that what a chunk of m examples teaches misses about d / m of the others.

        The VC dimension; a class whose `empirical_rule` follows from fewer examples says so.
        """
        return self.vc_dimension

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
