"""What a scorecard learner knows, as values; and the same for a snapshot."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from littled.classes.capabilities import Integers
from littled.learners.leader.columns import Columns
from littled.learners.leader.judging import Candidate, Judgement
from littled.learners.leader.stumps import NOTHING_DRAWN
from littled.learners.snapshot import SnapshotUnusable, counts_from_dict, counts_to_dict
from littled.learners.users import UserCounts
from littled_protocol.rules import Rule, ScorecardRule, rule_from_dict


@dataclass(frozen=True, slots=True)
class Sequence:
    """One sequence of batches: the sums G of all so far, and what was released, a column for each.

    Public: `released` (O without its lowest bits), `start` (the weights that it began with),
    `centre` and `bound`. Private: `summed` (G), `partial`, the sum of the batch that is not full.
    Where a plan is damped, of `summed` and `released` only the last ones are kept, and `level` is
    the decaying sum that the weights follow, public; else it is None. Where its learning rate
    falls, `since` are batches since the first rate, and where that begins anew after a change,
    `recent` is the decaying sum by which a change is found; both public.
    """

    summed: Columns
    released: Columns
    partial: Integers
    start: Integers
    centre: Integers
    bound: int
    level: Integers | None = None
    since: int = 0
    recent: Integers | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """The stump that scores begin with: its number, and its score in 2^-16 log odds. Public.

    The score is that of a season's beginning, and fades.
    """

    number: int = NOTHING_DRAWN
    score: int = 0


NO_BASE, NOTHING_JUDGED = Base(), Judgement()


@dataclass(frozen=True, slots=True)
class LeaderState:
    """Everything the learner knows.

    Private, which never leaves: `moments`, `users_kept`, `cell_sums`, `judged`, and of `sequence`
    what it says there.

    `epoch` counts the rules that were published, over all seasons; `epoch_position` is where the
    season began. `batches` of the season are done, all counted. `weights` and `average` are of
    features of length 1, in units of 2^-24, int64 (dimensions,); `average` is what is published.
    `moments` are those of the warm-up so far. `card` is the scorecard of the last public time, and
    `judgement` what is published of it, the `stump`, and rules that are always the same; `judged`
    are the counts of the period so far. `cell_sums`: of each cell how many more ones than zeros
    the stage of a stump had so far; in a trial, of each candidate how much more often it was right
    than wrong.
    """

    rule: Rule
    weights: Integers
    average: Integers
    sequence: Sequence | None = None
    moments: Integers | None = None
    version: int = 0
    season: int = -1
    epoch: int = 0
    epoch_position: int = 0
    halted: bool = False
    batches: int = 0
    users_kept: UserCounts | None = None
    card: ScorecardRule | None = None
    base: Base = NO_BASE
    stump: int = NOTHING_DRAWN
    judgement: Judgement = NOTHING_JUDGED
    judged: Integers | None = None
    cell_sums: Integers | None = None


# What learners do not have whose plans are as they were first; left out there.
_LATER = ("card", "base", "stump", "judgement", "judged", "cell_sums")


def state_to_dict(state: LeaderState) -> dict[str, Any]:
    """Plain values and arrays of a state; of sums only what is there."""
    values = {one.name: getattr(state, one.name) for one in fields(state)}
    if _is_first(state):
        values = {name: value for name, value in values.items() if name not in _LATER}
    else:
        judgement = state.judgement
        values |= {
            "card": None if state.card is None else state.card.to_dict(),
            "base": [state.base.number, state.base.score],
            "judgement": {
                "standing": list(map(str, judgement.standing)),
                "variance": str(judgement.variance),
                "examples": str(judgement.examples),
                "choice": int(judgement.choice),
            },
        }
    return {
        **values,
        "rule": state.rule.to_dict(),
        "sequence": None if state.sequence is None else _sequence_to_dict(state.sequence),
        "users_kept": counts_to_dict(state.users_kept),
    }


def _is_first(state: LeaderState) -> bool:
    """Whether nothing is there that later versions added."""
    public = (state.card, state.base, state.stump, state.judgement)
    nothing_counted = state.judged is None and state.cell_sums is None
    return nothing_counted and public == (None, NO_BASE, NOTHING_DRAWN, NOTHING_JUDGED)


def state_from_dict(values: dict[str, Any]) -> LeaderState:
    """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""
    known = {one.name for one in fields(LeaderState)}
    if set(values) not in (known, known - set(_LATER)):
        raise SnapshotUnusable("the snapshot has the fields of another version")
    sequence = values["sequence"]
    read = {
        **values,
        "rule": rule_from_dict(values["rule"]),
        "sequence": None if sequence is None else _sequence_from_dict(sequence),
        "users_kept": counts_from_dict(values["users_kept"]),
    }
    if "card" in read:
        card, judgement = read["card"], read["judgement"]
        read |= {
            "card": None if card is None else rule_from_dict(card),
            "base": Base(*read["base"]),
            "judgement": Judgement(
                tuple(map(int, judgement["standing"])),
                int(judgement["variance"]),
                int(judgement["examples"]),
                Candidate(judgement["choice"]),
            ),
        }
    return LeaderState(**read)


def _sequence_to_dict(sequence: Sequence) -> dict[str, Any]:
    values = {one.name: getattr(sequence, one.name) for one in fields(sequence)}
    if sequence.level is None:  # as it always was
        del values["level"]
    if sequence.recent is None:
        del values["recent"]
    if not sequence.since:
        del values["since"]
    for name in ("summed", "released"):
        values[name] = np.ascontiguousarray(values[name].cells)
    return values


def _sequence_from_dict(values: dict[str, Any]) -> Sequence:
    if set(values) | {"level", "since", "recent"} != {one.name for one in fields(Sequence)}:
        raise SnapshotUnusable("the snapshot has the fields of another version")
    grown = {name: Columns(len(values[name]), values[name]) for name in ("summed", "released")}
    return Sequence(**{**values, **grown})
