"""What a scorecard learner may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from littled.budget.charges import Charges
from littled.budget.events import PrepaidSelection, ScorecardSeason
from littled.budget.rounding import from_text

# What one example adds to a batch's sum at the most, in length, and what a row of features has.
EXAMPLE_LENGTH, ROW_LENGTH = 1 << 22, 1 << 10
# What is judged: a scorecard, a stump, and a rule that is always the same.
CANDIDATES = 3
# Four discrete Gaussians of standard deviation 1024, times 1, 400, 400^2 and 400^3.
NOISE_VARIANCE = (1 << 20) * sum(400 ** (2 * part) for part in range(4))


class LeaderCharges:
    """How the parameters of scorecard learners are read."""

    parameters: ClassVar[frozenset[str]] = frozenset(
        [
            "epsilon",
            "horizon",
            "batch_examples",
            "decay",
            "learning_rate",
            "scale",
            "warmup",
            "warmup_scale",
            "moments_scale",
            "user_examples_max",
            "columns_max",
            "monotone",
            "cosines",
            "average_batches",
            "publish_every",
            "stump_batches",
            "stump_rate",
            "stump_points",
            "stump_fade",
            "judging_scale",
            "judging_first",
            "judging_last",
            "least_change",
            "damping",
            "judging_lead",
            "short_share",
            "falling_after",
            "drift_batches",
            "drift_lead",
            "accounting",
            "trial_after",
            "trial_batches",
            "judging_return",
            "conversion_delta",
            "flags_from",
        ]
    )

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """All rows of noise of a season, and rules that cost nothing more."""
        horizon, batch = _count(parameters, "horizon", 1), _count(parameters, "batch_examples", 1)
        warmup, decay = _count(parameters, "warmup", 0), from_text(parameters["decay"])
        decay *= 1 - from_text(parameters.get("damping", "0/1"))
        most = parameters.get("user_examples_max")
        if most is not None and (type(most) is not int or most < 1):
            raise ValueError("user_examples_max")
        apart, batches = (2 * EXAMPLE_LENGTH * (most or 1)) ** 2, horizon // batch
        rest = batches - warmup - _later(parameters, "stump_batches")
        rest -= _later(parameters, "trial_batches")
        judging = _later(parameters, "judging_scale") * (most or 1)
        season = ScorecardSeason(
            warmup=apart * _squares(warmup, decay, _count(parameters, "warmup_scale", 0)),
            moments=5 * (_count(parameters, "moments_scale", 0) * ROW_LENGTH * (most or 1)) ** 2,
            rest=apart * _squares(rest, decay, _count(parameters, "scale", 1)),
            variance=NOISE_VARIANCE,
            judging=CANDIDATES * (2 * judging) ** 2,
            stump_rate=from_text(parameters.get("stump_rate", "0/1")) * (most or 1),
            accounting=parameters.get("accounting", "zcdp"),
            conversion_delta=from_text(parameters.get("conversion_delta", "0/1")),
        )
        if most is not None and season.conversion_delta:
            raise ValueError("conversion_delta")
        every = _later(parameters, "publish_every") or max(1, -(-batches // 4096))
        # of the distance from normal noise, Lemma N, at least that of one value a row
        rows = (warmup + rest) * (season.accounting == "gaussian")
        return Charges(
            trigger=(season,),
            segment=None,
            selection=(),
            epsilon=from_text(parameters["epsilon"]),
            call=PrepaidSelection(draws=1),
            calls_max=sum(1 for number in range(1, batches + 1) if _is_published(number, every)),
            precision=Fraction(rows, 8 * NOISE_VARIANCE),
        )

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: no requests are answered."""


def _squares(count: int, decay: Fraction, scale: int) -> int:
    """The sum of floor(scale r_k)^2 over k < count: r_0 = 1, r_k = r_(k-1) decay (2k - 1) / 2k.

    The r_k are rounded down to multiples of 2^-64, one after the other.
    """
    found, current = 0, 1 << 64
    for k in range(1, count + 1):
        found += (scale * current >> 64) ** 2
        current = current * (2 * k - 1) * decay.numerator // (2 * k * decay.denominator)
    return found


def _is_published(number: int, most: int) -> bool:
    """Whether the batch of this number, from 1, ends at a public time: see PRIVACY.md, section 16.

    most: batches between two of these times.
    """
    between = 1
    while between * 16 <= number and between < most:
        between *= 2
    return number % min(between, most) == 0


def _later(parameters: Mapping[str, Any], name: str) -> int:
    """What parameters of older plans do not have, and is 0 there."""
    return _count(parameters, name, 0) if name in parameters else 0


def _count(parameters: Mapping[str, Any], name: str, least: int) -> int:
    value = parameters[name]
    if type(value) is not int or value < least:
        raise TypeError(name)
    return value
