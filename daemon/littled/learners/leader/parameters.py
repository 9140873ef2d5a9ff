"""Public parameters of the scorecard learner: fixed before any data, recorded in the store."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, Self, get_args

from littled.budget.events import EPSILON_MAX, NoiseAccounting
from littled.budget.unit import USER_EXAMPLES_MAX
from littled.classes.scorecard import COSINES_MAX
from littled.learners.leader.shaping import FALLING, FREE, RISING
from littled.learners.online.parameters import plain_values, stored_values
from littled.mechanisms.discrete_gaussian import VARIANCE
from littled.written import write_exactly

# Euclidean length that one example has in a batch's sum at the most; two of them apart, twice this.
LENGTH_MAX = 1 << 22
# The parameter of the discrete Gaussian noise in each entry of a row.
NOISE_VARIANCE = VARIANCE
# Steps of half of the greatest residual, 1/2: a residual is an integer from -64 to 64.
RESIDUAL_STEPS = 64
# Coefficients are multiples of 2^-64 before they are scaled.
_COEFFICIENT_BITS = 64
# Products of sums and coefficients stay below 2^63, and a season's sums below some hundred MB.
SCALE_MAX, BATCHES_MAX, BATCH_MAX = 1 << 12, 1 << 12, 1 << 30
# Damped sequences keep the last few hundred sums only, so there may be more batches.
DAMPED_BATCHES_MAX = 1 << 14

# Low bits of a release that the weights do without, so that their products stay below 2^63.
DROPPED_BITS = 14
# Those of damped sequences, and the bits of the numbers that their releases are multiplied by.
DAMPED_DROPPED_BITS, ROOT_BITS = 24, 16
JUDGING_LEAD_MAX, DRIFT_LEAD_MAX = 100, 100
# Rates that fall are multiples of 2^-14 of the first one.
RATE_BITS = 14

# Points of a scorecard for one unit of the logarithm of the odds of a usual row.
POINTS = 100
STUMP_POINTS_MAX, LEAST_CHANGE_MAX = 1 << 10, 1 << 10

_FRACTIONS = (
    *("epsilon", "decay", "learning_rate", "stump_rate", "damping", "short_share"),
    "conversion_delta",
)
_INTEGERS = (
    *("horizon", "batch_examples", "warmup", "warmup_scale", "moments_scale", "scale"),
    *("cosines", "average_batches", "publish_every", "stump_batches", "stump_points", "stump_fade"),
    *("judging_scale", "judging_first", "judging_last", "least_change", "judging_lead"),
    *("falling_after", "drift_batches", "drift_lead"),
    *("trial_after", "trial_batches", "judging_return", "flags_from"),
)
# What later versions added: not stored where it has its default, so that plans stay as they were.
_LATER = (
    *("columns_max", "monotone", "cosines", "average_batches", "publish_every"),
    *("stump_batches", "stump_rate", "stump_points", "stump_fade"),
    *("judging_scale", "judging_first", "judging_last", "least_change"),
    *("damping", "judging_lead", "short_share"),
    *("falling_after", "drift_batches", "drift_lead", "accounting"),
    *("trial_after", "trial_batches", "judging_return", "conversion_delta", "flags_from"),
)


@dataclass(frozen=True, slots=True)
class LeaderParameters:
    """Public parameters of the scorecard learner.

    Privacy-critical (they set prices): all but `learning_rate`, `columns_max`, `monotone`,
    `average_batches`, `publish_every`, `stump_points`, `stump_fade`, `least_change`,
    `judging_lead`, `judging_return`, `short_share`, `falling_after`, `drift_batches` and
    `drift_lead`.

    - `epsilon`: what is promised for all that is released about an example; finite precision is
      charged for it.
    - `horizon`: examples in a season. `batch_examples`: of a batch, at whose end a row is released.
    - `warmup`: batches of the warm-up, at the end of which the mean of the features is released; 0
      for none. `moments_scale`: by what this release is multiplied before noise is added.
    - `decay`: g, by which a sum counts less after each batch.
    - `warmup_scale`, `scale`: by what the coefficients of the warm-up, and of the rest, are
      multiplied before they are rounded down.
    - `learning_rate`: weight for a unit of the sum of residuals.
    - `user_examples_max`: c of "User-level privacy" (PRIVACY.md): the first c examples of each user
      and season are learned from; None where one example is protected.
    - `columns_max`: columns that have points in a published rule, at the most; None for all.
    - `monotone`: for each column "r", "f" or "-": its published points rise, fall or are free; ""
      for all free.
    - `cosines`: features of a column in order, at the most. `flags_from`: from so many categories
      on a column has one, and flags that weigh more; 0 for never.
    - `average_batches`: published weights move 1/`average_batches` of the way after each batch.
    - `publish_every`: batches from one public time to the next, at the most; a rule is published
      there if it differs from the last one. 0 for a rule after each batch, or each 4096th of a
      season, whatever it is.
    - `stump_batches`: batches before the warm-up, from which a stump is drawn at rate `stump_rate`,
      with `stump_points` that fade out in `stump_fade` batches; 0 for none.
    - `judging_scale`: by what counts of right answers are multiplied before noise is added, at the
      end of public periods of `judging_first` batches, twice as many, and so on up to
      `judging_last`, the first of which begins after as many; 0 if nothing is judged.
    - `damping`: by what share the coefficients fall more than `decay` from batch to batch; above 0
      only so many sums of batches are kept as have a coefficient, and `decay` is 1 - 1/k.
    - `judging_lead`: a scorecard is left for what leads by so many standard deviations of a lead,
      and by half a percent of the examples.
    - `short_share`: of the usual length of rows less their mean; shorter ones are not stretched to
      a common length, all others are.
    - `falling_after`: f, in batches: t batches after a sequence began the learning rate is
      (1 + t/f)^(-3/4) of `learning_rate`; 0 where it stays what it is. Damped sequences only.
    - `drift_batches`: m, of a decaying sum of releases, 1 - 1/m from batch to batch. Where it is
      longer than noise by `drift_lead` standard deviations, t begins anew; 0 where it never does.
    - `least_change`: a scorecard is published again when rows score differently by so many points,
      as a root mean square over rows whose buckets are all as likely; 0 for any change.
    - `accounting`: whether the price of a season is booked as zCDP or, exactly, as GDP.
    - `trial_batches`: batches that say by a draw at rate `stump_rate` what is published next: the
      scorecard, the stump, "never" or "always"; they come after `trial_after` batches of a season,
      nothing else is learned from them, and until then a first season publishes its stump. 0 for
      none.
    - `judging_return`: a scorecard that was left for "never" or "always" is taken again when it
      leads by so many halves of a standard deviation of a lead; 0 as soon as it is not behind, as
      after a stump.
    - `conversion_delta`: above 0 draws are pure, and a season costs what the rest of it costs, by
      the epsilon that this has at this delta; 0 where draws are booked with the rest.

    ValueError, one sentence, for values and combinations that no learner can have.
    """

    epsilon: Fraction
    horizon: int
    batch_examples: int
    decay: Fraction
    learning_rate: Fraction
    scale: int
    warmup: int = 0
    warmup_scale: int = 0
    moments_scale: int = 0
    user_examples_max: int | None = None
    columns_max: int | None = None
    monotone: str = ""
    cosines: int = 4
    average_batches: int = 2
    publish_every: int = 0
    stump_batches: int = 0
    stump_rate: Fraction = Fraction(0)
    stump_points: int = 0
    stump_fade: int = 0
    judging_scale: int = 0
    judging_first: int = 0
    judging_last: int = 0
    least_change: int = 0
    damping: Fraction = Fraction(0)
    judging_lead: int = 1
    short_share: Fraction = Fraction(1)
    falling_after: int = 0
    drift_batches: int = 0
    drift_lead: int = 0
    accounting: NoiseAccounting = "zcdp"
    trial_after: int = 0
    trial_batches: int = 0
    judging_return: int = 0
    conversion_delta: Fraction = Fraction(0)
    flags_from: int = 0

    def __post_init__(self) -> None:
        """Say the first thing that is wrong, if anything is."""
        write_exactly(self, *_FRACTIONS)
        for problem in chain(_wrong_types(self), _wrong_values(self)):
            raise ValueError(problem)

    @property
    def batches(self) -> int:
        """Batches after the warm-up that are learned from; what is left over is in none."""
        return self.all_batches - self.stump_batches - self.warmup - self.trial_batches

    @property
    def trial_end(self) -> int:
        """Batches of a season that are done when its trial ends."""
        return self.trial_after + self.trial_batches

    @property
    def all_batches(self) -> int:
        """Batches of a season."""
        return self.horizon // self.batch_examples

    @property
    def unjudged(self) -> int:
        """Batches before the first period, in which scorecards are only beginning, or on trial."""
        return self.trial_end if self.trial_batches else self.stump_batches + self.judging_first

    @property
    def periods(self) -> tuple[int, ...]:
        """Batches of a season that are done when a period of judging ends; public, rising."""
        found, done, length = [], self.unjudged, self.judging_first
        while self.judging_scale and done + length <= self.all_batches:
            done += length
            found.append(done)
            length = min(2 * length, self.judging_last)
        return tuple(found)

    @property
    def coefficients(self) -> tuple[int, ...]:
        """c_0, c_1, ... of the rows after the warm-up."""
        return self._coefficients(self.batches, self.scale)

    @property
    def warmup_coefficients(self) -> tuple[int, ...]:
        """The same of the warm-up."""
        return self._coefficients(self.warmup, self.warmup_scale)

    def _coefficients(self, count: int, scale: int) -> tuple[int, ...]:
        """Those of so many batches; of damped sequences without the zeros at the end."""
        found = coefficients(count, self.decay * (1 - self.damping), scale)
        if not self.damping:
            return found
        kept = next((k for k, each in enumerate(found) if not each), count)
        return found[:kept]

    @property
    def lasting(self) -> int:
        """k of a decay of 1 - 1/k, in damped sequences."""
        return (1 - self.decay).denominator

    @property
    def roots(self) -> tuple[int, ...]:
        """What undoes the coefficients of damped sequences, in units of 2^-16; as many of them."""
        count = max(len(self.coefficients), len(self.warmup_coefficients))
        return roots(count, self.decay * (1 - self.damping))

    def falling(self, batches: int) -> int:
        """The learning rate so many batches after the first, in units of 2^-14 of that one.

        2^14 (1 + batches / f)^(-3/4), rounded down.
        """
        f = self.falling_after
        power = (f << RATE_BITS) ** 3 << RATE_BITS
        return math.isqrt(math.isqrt(power // (f + batches) ** 3)) if f else 1 << RATE_BITS

    @property
    def dropped_bits(self) -> int:
        """Low bits of a release that are not kept."""
        return DAMPED_DROPPED_BITS if self.damping else DROPPED_BITS

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"; without what shapes no rule."""
        as_before = {one.name for one in fields(self) if getattr(self, one.name) == one.default}
        values = plain_values(self)
        return {k: v for k, v in values.items() if k not in _LATER or k not in as_before}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown."""
        return cls(**stored_values(cls, values, "scorecard learner", _FRACTIONS))


@lru_cache(maxsize=64)
def coefficients(count: int, decay: Fraction, scale: int) -> tuple[int, ...]:
    """floor(scale r_k), k = 0, ..., count - 1: r_0 = 1, r_k = r_(k-1) g (2k - 1) / (2k).

    The r_k are the series of (1 - g x)^(-1/2): the convolution of the sequence with itself is g^k,
    so that rows of noise and of sums which it is applied to twice are decaying sums.
    """
    current, found = 1 << _COEFFICIENT_BITS, []
    for k in range(count):
        if k:
            current = current * (2 * k - 1) * decay.numerator // (2 * k * decay.denominator)
        found.append(scale * current >> _COEFFICIENT_BITS)
    return tuple(found)


@lru_cache(maxsize=64)
def roots(count: int, decay: Fraction) -> tuple[int, ...]:
    """The integers nearest to 2^16 h_k, k < count: h_0 = 1, h_k = h_(k-1) g (2k - 3) / (2k).

    The h_k are the series of (1 - g x)^(1/2): convolved with the r_k of `coefficients` they are 1,
    0, 0, ...
    """
    found, current, half = [], 1 << _COEFFICIENT_BITS, 1 << (_COEFFICIENT_BITS - ROOT_BITS - 1)
    for k in range(count):
        if k:
            current = current * (2 * k - 3) * decay.numerator // (2 * k * decay.denominator)
        found.append((current + half) >> (_COEFFICIENT_BITS - ROOT_BITS))
    return tuple(found)


def _wrong_types(p: LeaderParameters) -> Iterator[str]:
    """Amounts that are not exact."""
    for name in _FRACTIONS:
        if not isinstance(getattr(p, name), Fraction):
            yield f"{name} must be a Fraction, so that it is exact"
    for name in _INTEGERS:
        if type(getattr(p, name)) is not int or getattr(p, name) < 0:
            yield f"{name} must be an integer of at least 0"


def _wrong_values(p: LeaderParameters) -> Iterator[str]:
    """What no value may be, and what values may not be together."""
    if p.accounting not in get_args(NoiseAccounting):
        yield f"accounting must be one of {', '.join(get_args(NoiseAccounting))}"
    if p.epsilon <= 0 or not 0 < p.learning_rate <= 1:
        yield "epsilon must be above 0, and learning_rate above 0 and at most 1"
    if not 0 < p.decay <= 1:
        yield "decay must be above 0 and at most 1"
    if not 1 <= p.batch_examples <= BATCH_MAX:
        yield f"batch_examples must be from 1 to {BATCH_MAX}"
    most_batches = DAMPED_BATCHES_MAX if p.damping else BATCHES_MAX
    if not 1 <= p.batches <= most_batches or p.warmup > most_batches:
        yield f"a season must have from 1 to {most_batches} batches after its warm-up, and in it"
    if not 1 <= p.scale <= SCALE_MAX or p.warmup_scale > SCALE_MAX:
        yield f"scale and warmup_scale must be from 1 to {SCALE_MAX}"
    yield from _wrong_damping(p)
    yield from _wrong_portfolio(p)
    if p.moments_scale > 1 << 24:
        yield "moments_scale must be at most 2^24"
    if bool(p.warmup) != bool(p.warmup_scale) or bool(p.warmup) != bool(p.moments_scale):
        yield "a warm-up needs warmup_scale and moments_scale above 0, and only a warm-up has them"
    most = p.user_examples_max
    if most is not None and not (type(most) is int and 1 <= most <= USER_EXAMPLES_MAX):
        yield f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}"
    if p.columns_max is not None and not (type(p.columns_max) is int and p.columns_max >= 1):
        yield "columns_max must be an integer of at least 1"
    if not isinstance(p.monotone, str) or not set(p.monotone) <= {RISING, FALLING, FREE}:
        yield f"monotone must be a text of {RISING}, {FALLING} and {FREE}, one for each column"


def _wrong_damping(p: LeaderParameters) -> Iterator[str]:
    """What neither damping nor sums may be."""
    if not 0 < p.short_share <= 1:
        yield "short_share must be above 0 and at most 1"
    if not 0 <= p.damping < 1 or (p.damping and (1 - p.decay).numerator != 1):
        yield "damping must be from 0 to below 1, and decay 1 - 1/k for an integer k with it"
    if p.falling_after and not p.damping:
        yield "falling_after needs damping"
    if bool(p.drift_batches) != bool(p.drift_lead) or p.drift_lead > DRIFT_LEAD_MAX:
        yield f"drift_batches needs drift_lead, from 1 to {DRIFT_LEAD_MAX}"
    if max(p.falling_after, p.drift_batches) > DAMPED_BATCHES_MAX:
        yield f"falling_after and drift_batches must be at most {DAMPED_BATCHES_MAX}"
    if p.drift_batches and not p.falling_after:
        yield "drift_batches needs falling_after"
    if any(_is_too_long(p, each) for each in (p.coefficients, p.warmup_coefficients)):
        yield "batches this long have sums that would not fit into 64 bits; shorten the horizon"


def _is_too_long(p: LeaderParameters, coefficients: tuple[int, ...]) -> bool:
    """Whether sums of a sequence with these coefficients could need more than 64 bits."""
    row = sum(coefficients) * p.batch_examples * LENGTH_MAX  # of c_k G, the largest
    if not p.damping:  # a weight is a sum of c_k O, without the lowest bits
        return row * sum(coefficients) >> DROPPED_BITS >= 1 << 61
    # a sum of h_k O, all of them below 2, for each batch, and at most `lasting` of these
    added = 2 * row << ROOT_BITS >> DAMPED_DROPPED_BITS
    return max(row, added * min(p.lasting, p.all_batches)) >= 1 << 61


def _wrong_portfolio(p: LeaderParameters) -> Iterator[str]:
    """What a stump and judging may not be."""
    if not 1 <= p.cosines <= COSINES_MAX or p.average_batches < 1:
        yield f"cosines must be from 1 to {COSINES_MAX}, and average_batches at least 1"
    if bool(p.stump_batches) != (p.stump_rate > 0) or p.stump_rate > EPSILON_MAX:
        yield "a stump needs stump_batches and a stump_rate above 0, and neither without the other"
    if p.stump_points > STUMP_POINTS_MAX or bool(p.stump_points) != bool(p.stump_fade):
        yield f"stump_points must be from 0 to {STUMP_POINTS_MAX}, and need stump_fade"
    if max(p.judging_lead, p.judging_return) > JUDGING_LEAD_MAX:
        yield f"judging_lead and judging_return must be from 0 to {JUDGING_LEAD_MAX}"
    if p.least_change > LEAST_CHANGE_MAX:
        yield f"least_change must be from 0 to {LEAST_CHANGE_MAX}"
    if bool(p.judging_scale) != (0 < p.judging_first <= p.judging_last):
        yield "judging needs judging_scale, and judging_first from 1 to judging_last"
    if (p.stump_batches or p.judging_scale or p.least_change) and not p.publish_every:
        yield "a stump, judging and least_change need publish_every"
    yield from _wrong_trial(p)
    if p.judging_scale * p.judging_last * p.batch_examples >= 1 << 62:
        yield "periods this long have counts that would not fit into 64 bits"


def _wrong_trial(p: LeaderParameters) -> Iterator[str]:
    """What a trial, and draws that are booked as pure, may not be."""
    if p.trial_batches and (
        not p.stump_batches
        or p.trial_after < p.stump_batches + p.warmup
        or p.trial_end > p.all_batches
    ):
        yield (
            "a trial needs a stump, and comes after it and the warm-up and before the season's end"
        )
    if p.trial_after and not p.trial_batches:
        yield "trial_after needs trial_batches"
    if p.conversion_delta and (not p.stump_rate or p.accounting != "gaussian"):
        yield "conversion_delta needs a stump, and accounting gaussian"
    if not 0 <= p.conversion_delta < 1:
        yield "conversion_delta must be from 0 to below 1"
    if p.user_examples_max is not None and (p.trial_batches or p.conversion_delta):
        yield "where users are protected, there is neither a trial nor a conversion_delta"
