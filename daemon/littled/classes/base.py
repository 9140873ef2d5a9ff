"""What classes and their capabilities are written in: columns, candidates, and counts of them.

Points arrive as columns decoded by `littled_protocol.columns`; labels are uint8 arrays of 0 and 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
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
# Points (m,) to the number of rules that say 1 to each, int64 (m,).
Ballot = Callable[[Points], NDArray[np.int64]]

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
