"""The tallies of a season: how near each id with votes is to its threshold, and when it passes.

PRIVACY.md, section 4, "Lemma T". All of it is private: what leaves is which ids pass, and when.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from littled.classes.wide import Pairs, to_int
from littled.learners.contract import Place
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.values import ParameterValues
from littled.mechanisms.tallies import TallyTests

# No position comes so far: of what never passes.
NEVER = (1 << 63) - 1
# What is drawn at one position besides a vote: when a season begins, and after a call.
SEASON_DRAW, CALL_DRAW = 0, 1


@dataclass(frozen=True, slots=True)
class Watched:
    """One id: its `gap`, B + rho less its votes, and the position after which it `passes`.

    It is `NEVER` where that is beyond the season.
    """

    gap: int
    passes: int


@dataclass(frozen=True, slots=True)
class Tallies:
    """The ids that have votes in a spell that lasts; a mapping that nobody changes."""

    watched: Mapping[int, Watched] = field(default_factory=dict)
    # When the first of them passes.
    first: int = NEVER

    def passing(self, position: int) -> list[int]:
        """The ids, rising, that pass after the example at this position."""
        return sorted(id_ for id_, one in self.watched.items() if one.passes == position)

    def without(self, ids: set[int]) -> Self:
        """The spells of other ids go on."""
        return type(self).of({id_: one for id_, one in self.watched.items() if id_ not in ids})

    @classmethod
    def of(cls, watched: Mapping[int, Watched]) -> Self:
        """The tallies of these ids."""
        return cls(watched, min((one.passes for one in watched.values()), default=NEVER))

    def to_dict(self) -> dict[str, Any]:
        """Columns, for a snapshot, by rising id; `ids` are (high, low) pairs."""
        rising = sorted(self.watched)
        return {
            "ids": pairs_of(rising),
            "gaps": np.array([self.watched[id_].gap for id_ in rising], dtype=np.int64),
            "passes": np.array([self.watched[id_].passes for id_ in rising], dtype=np.int64),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; ValueError if columns are missing or unknown."""
        if set(values) != {"ids", "gaps", "passes"}:
            raise ValueError("tallies have ids, gaps and passes")
        ids = [to_int(pair) for pair in values["ids"]]
        columns = zip(ids, values["gaps"].tolist(), values["passes"].tolist(), strict=True)
        return cls.of({id_: Watched(gap, passes) for id_, gap, passes in columns})


def published_spells(
    parameters: ParameterValues,
    ids: Sequence[int],
    position: int,
    place: Place,
    noise: LearnerNoise,
) -> dict[int, Watched]:
    """The spells of ids that are published, which begin without votes at this position.

    A rho of its own is drawn for each of them, and how long it waits, at `place`: where a season's
    first example is, or the one after which the ids were published. None of them where published
    ids have no threshold of their own.
    """
    threshold = parameters.published_score
    if threshold is None or not ids:
        return {}
    tests = tests_of(parameters)
    draw = CALL_DRAW if position > place.position else SEASON_DRAW
    address = noise.address(place, "tally-spell", draw)
    rows = noise.source.words(address, tests.words * len(ids)).reshape(-1, tests.words)
    spells = {}
    for id_, words in zip(ids, rows, strict=True):
        gap = threshold + tests.threshold_noise(words)
        spells[id_] = Watched(gap, passes_after(tests.wait(gap, words), position))
    return spells


def passes_after(wait: int | None, position: int) -> int:
    """The position after which an id passes that waits so many steps, this one being the first."""
    return NEVER if wait is None else position + wait - 1


def tests_of(parameters: ParameterValues) -> TallyTests:
    """The mechanism of a learner whose parameters have a `threshold_rate`."""
    assert parameters.threshold_rate is not None
    return TallyTests(parameters.selection_rate, parameters.threshold_rate, parameters.horizon)


def pairs_of(ids: list[int]) -> Pairs:
    """Integers as rows (high, low), (n, 2) uint64."""
    rows = [(id_ >> 64, id_ % (1 << 64)) for id_ in ids]
    return np.array(rows, dtype=np.uint64).reshape(len(ids), 2)
