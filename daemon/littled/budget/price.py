"""What an action costs: three amounts that are added separately.

A price (epsilon_pure, rho, delta) says of a mechanism M and every pair of neighbours, in both
directions: M = (1 - d) M_1 + d M_2 and M' = (1 - d) M'_1 + d M'_2 as mixtures with one d <= delta,
and the Renyi divergence of order a of M_1 from M'_1 is at most epsilon_pure + a * rho for EVERY
order a > 1. A pure epsilon-DP mechanism has the price (epsilon, 0, 0), a rho-zCDP one (0, rho, 0),
and a failure mass is the third amount. Prices of mechanisms that run one after the other, each
seeing what the earlier ones released, add up componentwise: conditioned on the first parts of all
mixtures, Renyi divergences add, and the probability to leave them is at most the sum of the deltas.
Tests that release step by step may be pure outside a set of transcripts of mass d instead
(Lemma D, one-sided; PRIVACY.md, Composition).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from littled.budget.rounding import from_text, in_words, to_text

AMOUNTS = ("epsilon_pure", "rho", "delta")
"""The fields of a price, in order."""


@dataclass(frozen=True, slots=True)
class Price:
    """Amounts that are exact, finite and not negative.

    TypeError for anything but fractions and integers: a float has lost what it stood for.
    ValueError for a negative amount.
    """

    epsilon_pure: Fraction
    rho: Fraction
    delta: Fraction

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
            self.epsilon_pure + other.epsilon_pure, self.rho + other.rho, self.delta + other.delta
        )

    def __mul__(self, times: int) -> "Price":
        """The price of the same action `times` times; ValueError for a negative number."""
        if isinstance(times, bool) or not isinstance(times, int):
            return NotImplemented
        return Price(self.epsilon_pure * times, self.rho * times, self.delta * times)

    __rmul__ = __mul__

    def __le__(self, other: "Price") -> bool:
        """Whether no amount is larger than the other's: a partial order, not a total one."""
        return (
            self.epsilon_pure <= other.epsilon_pure
            and self.rho <= other.rho
            and self.delta <= other.delta
        )

    def fits_in(self, caps: "Price") -> bool:
        """Whether every amount is within its cap."""
        return self <= caps

    def to_dict(self) -> dict[str, str]:
        """JSON-able: exact "numerator/denominator" of each amount."""
        return {name: to_text(getattr(self, name)) for name in AMOUNTS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The price that `to_dict` wrote; ValueError for anything else."""
        if set(values) != set(AMOUNTS):
            raise ValueError(f"a price must have exactly the amounts {', '.join(AMOUNTS)}")
        return cls(*(from_text(values[name]) for name in AMOUNTS))

    def in_words(self) -> str:
        """For people, rounded up to six digits."""
        return ", ".join(f"{name} {in_words(getattr(self, name))}" for name in AMOUNTS)
