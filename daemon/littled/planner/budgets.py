"""One way to divide a stream's budget, and the largest rates that it pays for."""

import math
from dataclasses import dataclass
from fractions import Fraction

from littled.budget.conversion import rho_of_epsilon
from littled.learners.parameters import Accounting

# Rates are multiples of 2^-16: exact, short, and cheap to tabulate.
RATE_DENOMINATOR = 1 << 16
# Share of delta for the zCDP conversion; the rest covers list failures and finite precision.
DELTA_Z_SHARE = Fraction(3, 4)
# Of what is left of delta beside the conversion, this much is for list failures.
LIST_FAILURE_SHARE = Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a stream, shared evenly by `share` learners, and one way to divide it.

    `trigger_share` of a learner's epsilon pays for its trigger, the rest for its selections, all
    booked in one way.
    """

    epsilon: Fraction
    delta: Fraction
    horizon: int
    share: int
    accounting: Accounting
    trigger_share: float

    @property
    def trigger_rate(self) -> Fraction:
        """The trigger's e."""
        return rate_below(float(self.epsilon / self.share) * self.trigger_share)

    def selection_rate(self, draws: int) -> Fraction:
        """Largest e for which so many draws in all fit beside the trigger; 0 if none does."""
        left = self.epsilon / self.share - self.trigger_rate
        if left <= 0:
            return Fraction(0)
        if self.accounting == "pure":
            return rate_below(left / (2 * draws))
        rho = rho_of_epsilon(left * self.share, self.delta * DELTA_Z_SHARE) / self.share
        return rate_below(math.sqrt(float(2 * rho / draws)) * (1 - 1e-9))

    def bottom_score(self, list_cap: int, rate: Fraction, draws: int) -> int:
        """Least B whose L exp(e (1 - B)), over all draws, stays within its part of delta."""
        share = (1 - DELTA_Z_SHARE) if self.accounting == "zcdp" else Fraction(9, 10)
        delta = self.delta * share * LIST_FAILURE_SHARE / (self.share * draws)
        return 1 + math.ceil(math.log(list_cap / float(delta)) / float(rate))


def rate_below(value: float | Fraction) -> Fraction:
    """The largest rate on the grid that is at most `value`."""
    return Fraction(math.floor(value * RATE_DENOMINATOR), RATE_DENOMINATOR)
