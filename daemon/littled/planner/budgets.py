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

    `trigger_share` of an online learner's epsilon pays for its trigger, the rest for its
    selections; `predictions` of the learners answer questions instead, and have no trigger. All
    selections and answers are booked in one way.
    """

    epsilon: Fraction
    delta: Fraction
    horizon: int
    share: int
    accounting: Accounting
    trigger_share: float
    predictions: int = 0

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
        return rate_below(math.sqrt(float(2 * self._rho / draws)) * (1 - 1e-9))

    def histogram_rate(self, change: int) -> Fraction:
        """Largest e of one histogram whose scores change by `change` at the most (Lemma E)."""
        return self.selection_rate(1 if self.accounting == "pure" else 2 * change)

    def histogram_threshold(self, rate: Fraction) -> int:
        """Least B for which exp(-e (B - 1)) / (1 + exp(-e)) stays within its part of delta."""
        alone = float(self.failure) * (1 + math.exp(-rate))
        return max(2, 1 + math.ceil(-math.log(alone) / float(rate)))

    def bottom_score(self, list_cap: int, rate: Fraction, draws: int) -> int:
        """Least B whose L exp(e (1 - B)), over all draws, stays within its part of delta."""
        return 1 + math.ceil(math.log(list_cap * draws / float(self.failure)) / float(rate))

    @property
    def answers_amount(self) -> Fraction:
        """What all answers of a window may cost together: pure epsilon, or rho."""
        return self.epsilon / self.share if self.accounting == "pure" else self._rho

    @property
    def failure(self) -> Fraction:
        """A learner's part of delta for lists that fail to hide, or nets that are none."""
        return self._delta * LIST_FAILURE_SHARE

    @property
    def precision(self) -> Fraction:
        """A learner's part of delta for finite precision."""
        return self._delta * (1 - LIST_FAILURE_SHARE)

    @property
    def _delta(self) -> Fraction:
        """A learner's part of delta beside the conversion's."""
        share = (1 - DELTA_Z_SHARE) if self.accounting == "zcdp" else Fraction(9, 10)
        return self.delta * share / self.share

    @property
    def _rho(self) -> Fraction:
        """A learner's part of rho, when all triggers are paid for."""
        left = self.epsilon - (self.share - self.predictions) * self.trigger_rate
        return rho_of_epsilon(left, self.delta * DELTA_Z_SHARE) / self.share


def rate_below(value: float | Fraction) -> Fraction:
    """The largest rate on the grid that is at most `value`."""
    return Fraction(math.floor(value * RATE_DENOMINATOR), RATE_DENOMINATOR)
