"""One way to divide a stream's budget, and the largest rates that it pays for."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from littled.budget.conversion import gaussian_of_epsilon, rho_of_epsilon
from littled.budget.unit import EXAMPLE, Unit
from littled.learners.online.values import Accounting
from littled.portable import exp, log

# Rates are multiples of 2^-16: exact, short, and cheap to tabulate.
RATE_DENOMINATOR = 1 << 16
# Share of delta for the zCDP conversion; the rest covers list failures and finite precision.
DELTA_Z_SHARE = Fraction(3, 4)
# The same for GDP, beside which nothing but finite precision takes any.
GAUSSIAN_SHARE = Fraction(999, 1000)
# Where nothing is said of how many users there are, each is reckoned to give so many examples.
EXAMPLES_OF_A_USER = 50
# Of what is left of delta beside the conversion, this much is for list failures.
LIST_FAILURE_SHARE = Fraction(9, 10)


@dataclass(frozen=True)
class Budget:
    """The budget of a stream, shared evenly by `share` learners, and one way to divide it.

    `trigger_share` of an online learner's epsilon pays for its trigger, the rest for its
    selections; `untriggered` of the learners have no trigger. All
    selections and answers are booked in one way. Where users are protected, every price is
    that of c examples of one user, c being the unit's, and of another one's in their place;
    `users_expected` is how many of them a season has, if that is known. `measuring`: what of
    epsilon is for saying how good the rules are, and so for no learner. `gaussian`: all that would
    be booked as zCDP is booked as GDP.

    What thousands of drafts ask of one budget is reckoned once (and so there are no slots).
    """

    epsilon: Fraction
    delta: Fraction
    horizon: int
    share: int
    accounting: Accounting
    trigger_share: float
    untriggered: int = 0
    unit: Unit = EXAMPLE
    users_expected: int | None = None
    measuring: Fraction = Fraction(0)
    gaussian: bool = False

    @cached_property
    def learning(self) -> Fraction:
        """What of epsilon is for the learners, all together."""
        return self.epsilon - self.measuring

    @property
    def users(self) -> int:
        """How many users are reckoned with; utility only."""
        if self.users_expected is not None:
            return self.users_expected
        return math.ceil(self.horizon / EXAMPLES_OF_A_USER)

    @property
    def user_examples_max(self) -> int | None:
        """c, as parameters of a learner have it: None where single examples are protected."""
        return self.unit.user_examples_max

    @cached_property
    def trigger_rate(self) -> Fraction:
        """The trigger's e."""
        return rate_below(float(self.learning / self.share) * self.trigger_share / self._changes)

    def selection_rate(self, draws: int) -> Fraction:
        """Largest e for which so many draws in all fit beside the trigger; 0 if none does."""
        return self._rate(draws, self._most)

    def list_rate(self, draws: int, fresh_calls: int = 1) -> Fraction:
        """The same of draws from lists of teachers, of whom one has all that a user may have.

        Of so many fresh calls a user's examples are in as many as there are examples on both sides.
        """
        return self._rate(draws * self._epochs(fresh_calls), 1)

    def _rate(self, draws: int, most: int) -> Fraction:
        """Largest e of so many draws whose scores change by up to `most` in either direction."""
        left = self.learning / self.share - self._trigger_price
        if left <= 0:
            return Fraction(0)
        if self.accounting == "pure":
            return rate_below(left / (2 * draws * most))
        return rate_below(math.sqrt(float(2 * self._rho / draws)) / most * (1 - 1e-9))

    @property
    def _most(self) -> int:
        """Examples by which one side differs."""
        return self.unit.examples

    @property
    def _changes(self) -> int:
        """What a trigger costs, in multiples of its rate."""
        return 2 * self.unit.examples if self.unit.is_user else 1

    @cached_property
    def _trigger_price(self) -> Fraction:
        return self.trigger_rate * self._changes

    def histogram_rate(self, change: int) -> Fraction:
        """Largest e of one histogram whose scores change by `change` at the most (Lemma E)."""
        return self.selection_rate(1 if self.accounting == "pure" else 2 * change)

    def histogram_threshold(self, rate: Fraction, *, apart: bool = False) -> int:
        """Least B for which exp(-e (B - 1)) / (1 + exp(-e)) stays within its part of delta.

        `apart`: whether users' examples may be in other fresh epochs on the other side.
        """
        alone = float(self.failure) * (1 + exp(-rate)) / self._sides(apart)
        return max(self._most + 1, hiding_score(-log(alone), rate, self._most))

    def bottom_score(
        self, list_cap: int, rate: Fraction, draws: int, *, apart: bool = False
    ) -> int:
        """Least B whose L exp(e (1 - B)), over all draws, stays within its part of delta.

        `apart`: whether users' examples may be in other fresh epochs on the other side.
        """
        candidates = list_cap * draws * self._sides(apart) / float(self.failure)
        return hiding_score(log(candidates), rate, self._most)

    def list_bottom_score(self, rate: Fraction, fresh_calls: int, list_cap: int = 1) -> int:
        """The same for lists of teachers; see `list_rate`."""
        epochs = self._epochs(fresh_calls)
        return hiding_score(log(list_cap * epochs / float(self.failure)), rate, 1)

    def _sides(self, apart: bool) -> int:
        return 2 if apart and self.unit.is_user else 1

    def _epochs(self, fresh_calls: int) -> int:
        """Of so many fresh calls, those that a user's examples of both sides can be in."""
        return max(1, min(fresh_calls, 2 * self.unit.examples)) if self.unit.is_user else 1

    @property
    def answers_amount(self) -> Fraction:
        """What all answers of a window may cost together: pure epsilon, rho, or mu^2 / 2 of GDP."""
        return self.learning / self.share if self.accounting == "pure" else self._rho

    @cached_property
    def failure(self) -> Fraction:
        """A learner's part of delta for lists that fail to hide, or nets that are none."""
        return self._delta * LIST_FAILURE_SHARE

    @cached_property
    def precision(self) -> Fraction:
        """A learner's part of delta for finite precision."""
        return self._delta * (1 - LIST_FAILURE_SHARE)

    @property
    def _delta(self) -> Fraction:
        """A learner's part of delta beside the conversion's."""
        share = (1 - self._conversion) if self.accounting == "zcdp" else Fraction(9, 10)
        return self.delta * share / self.share

    @property
    def conversion_delta(self) -> Fraction:
        """What of the stream's delta is for the conversion."""
        return self.delta * self._conversion

    @property
    def _conversion(self) -> Fraction:
        """The conversion's share of delta."""
        return GAUSSIAN_SHARE if self.gaussian else DELTA_Z_SHARE

    @cached_property
    def _rho(self) -> Fraction:
        """A learner's part of rho, or of mu^2 / 2, when all triggers are paid for."""
        left = self.learning - (self.share - self.untriggered) * self._trigger_price
        largest = gaussian_of_epsilon if self.gaussian else rho_of_epsilon
        return largest(left, self.conversion_delta) / self.share


def rate_below(value: float | Fraction) -> Fraction:
    """The largest rate on the grid that is at most `value`."""
    return Fraction(math.floor(value * RATE_DENOMINATOR), RATE_DENOMINATOR)


def hiding_score(logarithm: float, rate: Fraction, most: int) -> int:
    """Least B that hides what c = `most` examples propose, each apart or all of them the same.

    logarithm: of the number of candidates that one example offers alone, over all draws, divided by
    the failure that may come of them.
    """
    apart = 1 + math.ceil((logarithm + log(most)) / float(rate))
    return max(apart, most + math.ceil(logarithm / float(rate)))
