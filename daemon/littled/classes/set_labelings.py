"""Labelings of ids by sets of at most so many ids, of which point functions are those of one.

A labeling of a subset T is a set of at most `members` of T's different ids, and the rule that
represents it is that set itself: it says 1 to no other id. The rules are a function of T's points,
in rising order of their sizes and then of their ids.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Candidates, Labelings, Labels, Points
from littled.classes.chunks import chunk_votes
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import check_labelings
from littled.classes.wide import as_pairs, ranked, starts_of_runs, to_int, to_ints
from littled_protocol.rules import PointsRule

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SetCandidates(Candidates):
    """Sets of some of the ids (ids, 2), in rising order of their sizes.

    A key (2,), int64, is a candidate of one id less and the place of the further id, the greatest
    one; `starts` are the first candidates of each size.
    """

    bits: int
    ids: NDArray[np.uint64]
    starts: tuple[int, ...]

    def labels(self, point: Points) -> NDArray[np.bool_]:
        """Which sets hold the point."""
        held = np.zeros(len(self.scores), dtype=np.bool_)
        place = np.flatnonzero((self.ids == as_pairs(point)).all(axis=1))
        if len(place):
            ends = (*self.starts[1:], len(held))
            for start, end in zip(self.starts[1:], ends[1:], strict=True):
                smaller, further = self.keys[start:end].T
                held[start:end] = held.take(smaller) | (further == place)
        return held

    def rule(self, index: int) -> PointsRule:
        """The set of candidate `index`."""
        members = []
        while index:
            index, place = self.keys[index].tolist()
            members.append(to_int(self.ids[place]))
        return PointsRule(bits=self.bits, members=tuple(members[::-1]))


@dataclass(frozen=True, eq=False)
class SetLabelings(Labelings):
    """The labelings of subsets of ids by sets of at most `members` of `bits` bits.

    `ids` (ids, 2) are the different ids of the window, `votes` (ids,) their examples with label 1
    less those with label 0, `ranks` (n,) the id of every example, and `zeros` the number of labels
    0. Memory: 8 bytes an example and 24 bytes an id; 24 bytes a candidate.
    """

    hypotheses: HypothesisClass
    bits: int
    members: int
    ids: NDArray[np.uint64]
    votes: Numbers
    ranks: Numbers
    zeros: int

    @classmethod
    def of(
        cls, hypotheses: HypothesisClass, bits: int, members: int, x: Points, y: Labels
    ) -> "SetLabelings":
        """The labelings of subsets of the examples `x` (n,) with labels `y` (n,)."""
        ids, ranks = ranked(x)
        examples = np.bincount(ranks, minlength=len(ids))
        votes = 2 * np.bincount(ranks[y == 1], minlength=len(ids)) - examples
        zeros = len(y) - int(y.sum(dtype=np.int64))
        return cls(hypotheses, bits, members, as_pairs(ids), votes, ranks, zeros)

    def candidates(self, subset: Numbers) -> SetCandidates:
        """All sets of at most `members` of the subset's ids."""
        check_labelings(self.hypotheses, len(subset))
        ranks = np.sort(self.ranks.take(subset))
        ranks = ranks.take(starts_of_runs(ranks))
        votes = self.votes.take(ranks)
        keys, starts = [np.zeros((1, 2), dtype=np.int64)], [0]
        scores = [np.array([self.zeros], dtype=np.int64)]
        further = np.full(1, -1, dtype=np.int64)
        for _ in range(min(self.members, len(ranks))):
            # every set grows by each id greater than all of its own
            growing = len(ranks) - 1 - further
            smaller = np.repeat(np.arange(len(further)), growing)
            before = np.repeat(np.cumsum(growing) - growing, growing)
            further = np.arange(len(smaller)) - before + further.take(smaller) + 1
            scores.append(scores[-1].take(smaller) + votes.take(further))
            keys.append(np.stack((smaller + starts[-1], further), axis=1))
            starts.append(starts[-1] + len(keys[-2]))
        ids = self.ids.take(ranks, axis=0)
        found = np.concatenate(scores), np.concatenate(keys)
        return SetCandidates(*found, self.bits, ids, tuple(starts))


def most_voted(
    x: Points, y: Labels, chunk_numbers: Numbers, chunks: int, members: int
) -> list[tuple[int, ...]]:
    """Of every chunk the ids with the most votes, at most `members` and none without, rising.

    Votes are examples with label 1 less those with label 0, so these sets have the fewest errors;
    of equals the lesser ids are taken.
    """
    ids, ranks = ranked(x)
    seen = chunk_votes(ranks, y, chunk_numbers, len(ids))
    liked = np.flatnonzero(seen.votes > 0)
    liked = liked[np.lexsort((-seen.votes[liked], seen.chunk[liked]))]
    starts = starts_of_runs(seen.chunk[liked])
    place = np.arange(len(liked)) - np.repeat(starts, np.diff(starts, append=len(liked)))
    taken = np.sort(liked[place < members])
    found: list[list[int]] = [[] for _ in range(chunks)]
    chosen = to_ints(ids.take(seen.value[taken], axis=0))
    for chunk, id_ in zip(seen.chunk[taken].tolist(), chosen, strict=True):
        found[chunk].append(id_)
    return [tuple(members) for members in found]
