"""What an action costs: four amounts that are added separately.

A price (epsilon_pure, rho, delta) says of a mechanism M and every pair of neighbours, in both
directions: M = (1 - d) M_1 + d M_2 and M' = (1 - d) M'_1 + d M'_2 as mixtures with one d <= delta,
and the Renyi divergence of order a of M_1 from M'_1 is at most epsilon_pure + a * rho for EVERY
order a > 1. A pure epsilon-DP mechanism has the price (epsilon, 0, 0), a rho-zCDP one (0, rho, 0),
and a failure mass is the third amount. Prices of mechanisms that run one after the other, each
seeing what the earlier ones released, add up componentwise: conditioned on the first parts of all
mixtures, Renyi divergences add, and the probability to leave them is at most the sum of the deltas.

The fourth amount, `gaussian`, is mu^2/2 of M_1 and M'_1 that are mu-GDP (Dong, Roth, Su, "Gaussian
Differential Privacy"): as hard to tell apart as N(0, 1) and N(mu, 1); beside what is drawn from
other examples, where an event says so (`littled.budget.prices.stands_alone`). A mechanism is priced
by its rho or by it, never by both. Squares of mu add up; and as mu-GDP is (mu^2/2)-zCDP, the
divergence of all together is at most epsilon_pure + a * (rho + gaussian). Alone it says more than a
rho of the same size (`littled.budget.conversion`). It is written only where it is not 0: prices
that were charged before there was one are written as they were.

Tests that release step by step may be pure outside a set of transcripts of mass d instead
(Lemma D, one-sided; PRIVACY.md, Composition).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from littled.budget.rounding import from_text, in_words, to_text

AMOUNTS = ("epsilon_pure", "rho", "delta", "gaussian")
"""The fields of a price, in order."""
# Those of every written price; the last one is told where it is not 0.
_ALWAYS = AMOUNTS[:-1]


@dataclass(frozen=True, slots=True)
class Price:
    """Amounts that are exact, finite and not negative.

    TypeError for anything but fractions and integers: a float has lost what it stood for.
    ValueError for a negative amount.
    """

    epsilon_pure: Fraction
    rho: Fraction
    delta: Fraction
    gaussian: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse what is no exact amount, and make integers fractions."""
        for name in AMOUNTS:
            amount = getattr(self, name)
            if type(amount) is not Fraction:
                if isinstance(amount, bool) or not isinstance(amount, int | Fraction):
                    raise TypeError(f"{name} of a price must be a Fraction")
                amount = Fraction(amount)
                object.__setattr__(self, name, amount)
            if amount.numerator < 0:
                raise ValueError(f"{name} of a price must not be negative")

    @classmethod
    def zero(cls) -> Self:
        """The price of what does not depend on data."""
        return cls(Fraction(0), Fraction(0), Fraction(0))

    def __add__(self, other: "Price") -> "Price":
        """The price of both actions."""
        return Price(
            self.epsilon_pure + other.epsilon_pure,
            self.rho + other.rho,
            self.delta + other.delta,
            self.gaussian + other.gaussian,
        )

    def __mul__(self, times: int) -> "Price":
        """The price of the same action `times` times; ValueError for a negative number."""
        if isinstance(times, bool) or not isinstance(times, int):
            return NotImplemented
        return Price(*(getattr(self, name) * times for name in AMOUNTS))

    __rmul__ = __mul__

    def __le__(self, other: "Price") -> bool:
        """Whether no amount is larger than the other's: a partial order, not a total one."""
        return (
            self.epsilon_pure <= other.epsilon_pure
            and self.rho <= other.rho
            and self.delta <= other.delta
            and self.gaussian <= other.gaussian
        )

    def fits_in(self, caps: "Price") -> bool:
        """Whether every amount is within its cap."""
        return self <= caps

    def to_dict(self) -> dict[str, str]:
        """JSON-able: exact "numerator/denominator" of each amount; `gaussian` where it is not 0."""
        return {name: to_text(getattr(self, name)) for name in self.told}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The price that `to_dict` wrote; ValueError for anything else."""
        if set(values) - {"gaussian"} != set(_ALWAYS):
            raise ValueError(
                f"a price must have exactly the amounts {', '.join(_ALWAYS)}, and may have gaussian"
            )
        found = cls(**{name: from_text(value) for name, value in values.items()})
        if "gaussian" in values and not found.gaussian:
            raise ValueError("a price of which no part is gaussian is written without that amount")
        return found

    def in_words(self) -> str:
        """For people, rounded up to six digits."""
        return ", ".join(f"{name} {in_words(getattr(self, name))}" for name in self.told)

    @property
    def told(self) -> tuple[str, ...]:
        """The names of the amounts that are told: `gaussian` only where it is not 0."""
        return AMOUNTS if self.gaussian else _ALWAYS
