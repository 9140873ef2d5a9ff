"""Public parameters of the partition learner: fixed before any data, recorded in the store."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Self, get_args

from littled.budget.events import Accounting
from littled.budget.unit import USER_EXAMPLES_MAX
from littled.learners.online.parameters import plain_values, stored_values
from littled.learners.online.values import scheduled_calls
from littled.written import write_exactly

# Parts of a partition at the most: its counts are in the state, and drawn for at every release.
PARTS_MAX = 1 << 13
# A part is divided once it has so many labels of the rarer kind; products with it stay small.
DIVIDED_MAX = COST_MAX = 1 << 30
# Sums of all that was ever released stay below 2^48.
HORIZON_MAX, DECAY_MAX = 1 << 40, Fraction(127, 128)

_FRACTIONS = ("epsilon", "rate", "decay")
_INTEGERS = ("horizon", "schedule_first", "schedule_cap", "divided_from", "parts_max")


@dataclass(frozen=True, slots=True)
class PartitionParameters:
    """Public parameters of the partition learner.

    Privacy-critical (they set prices): `rate`, `accounting`, `user_examples_max`, and `epsilon`
    and `horizon` for what finite precision costs.

    - `epsilon`: what is promised for all that is released about an example; finite precision is
      charged for it.
    - `horizon`: examples in a season.
    - `rate`: e of the discrete Laplace noise of each count. `accounting`: whether it is booked as
      pure or as zCDP.
    - `schedule_first`, `schedule_cap`: epochs end after F, 2F, 4F, ... examples of a season, and
      from then on, where one would be longer than that, after every `schedule_cap`.
    - `decay`: by what a count counts less after each epoch.
    - `block_cost`: by how much the labels 1 in a block must outnumber its labels 0 for the block to
      be worth its place in a rule.
    - `divided_from`: labels of the rarer kind from which on a part is divided. `parts_max`: parts
      that a partition has at the most.
    - `user_examples_max`: c of "User-level privacy" (PRIVACY.md): the first c examples of each user
      and season are counted; None where one example is protected.

    ValueError, one sentence, for values and combinations that no learner can have.
    """

    epsilon: Fraction
    horizon: int
    rate: Fraction
    accounting: Accounting
    schedule_first: int
    schedule_cap: int
    decay: Fraction
    divided_from: int
    block_cost: int = 0
    parts_max: int = PARTS_MAX
    user_examples_max: int | None = None

    def __post_init__(self) -> None:
        """Take floats as they are written; say in one sentence what is wrong, if anything is."""
        write_exactly(self, *_FRACTIONS)
        for problem in chain(_wrong_types(self), _wrong_values(self)):
            raise ValueError(problem)

    @property
    def calls_max(self) -> int:
        """Epochs of a season that end with a rule."""
        return scheduled_calls(self.schedule_first, self.horizon, self.schedule_cap)

    def epoch_length(self, calls: int) -> int | None:
        """Examples of the epoch after so many; None for the season's last, which has no end."""
        if calls >= self.calls_max:
            return None
        doublings = max(min(calls, self.horizon.bit_length()) - 1, 0)
        return min(self.schedule_first << doublings, self.schedule_cap)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""
        return plain_values(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown."""
        return cls(**stored_values(cls, values, "partition learner", _FRACTIONS))


def _wrong_types(p: PartitionParameters) -> Iterator[str]:
    """Amounts that are not exact."""
    for name in _FRACTIONS:
        if not isinstance(getattr(p, name), Fraction):
            yield f"{name} must be a Fraction, so that it is exact"
    for name in _INTEGERS:
        if type(getattr(p, name)) is not int or getattr(p, name) < 1:
            yield f"{name} must be an integer of at least 1"
    if type(p.block_cost) is not int or not 0 <= p.block_cost <= COST_MAX:
        yield f"block_cost must be an integer from 0 to {COST_MAX:,}"


def _wrong_values(p: PartitionParameters) -> Iterator[str]:
    """What no value may be, and what values may not be together."""
    if p.epsilon <= 0 or p.rate <= 0:
        yield "epsilon and rate must be above 0"
    if p.accounting not in get_args(Accounting):
        yield f"accounting must be one of {', '.join(get_args(Accounting))}"
    if not 0 <= p.decay <= DECAY_MAX:
        yield f"decay must be from 0 to {DECAY_MAX}"
    if p.horizon > HORIZON_MAX:
        yield f"horizon must be at most {HORIZON_MAX:,}"
    if not p.schedule_first <= p.schedule_cap:
        yield "schedule_first must be at most schedule_cap"
    if p.divided_from > DIVIDED_MAX or p.parts_max > PARTS_MAX:
        yield f"divided_from must be at most {DIVIDED_MAX:,}, and parts_max {PARTS_MAX:,}"
    most = p.user_examples_max
    if most is not None and not (type(most) is int and 1 <= most <= USER_EXAMPLES_MAX):
        yield f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}"
