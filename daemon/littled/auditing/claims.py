"""What is claimed of a learner: every (epsilon, delta) that its price promises."""

from fractions import Fraction

from littled.auditing.bounds import Claim
from littled.budget.conversion import guarantee
from littled.budget.price import Price

# Every delta gives a claim where something is booked as zCDP; these are tried beside the plan's.
DELTAS = tuple(Fraction(1, 10**power) for power in (1, 2, 3, 4))


def claims_of(caps: Price, delta_z: Fraction) -> tuple[Claim, ...]:
    """Every (epsilon, delta) that these caps promise, that of the plan first."""
    deltas = [delta_z, *DELTAS] if caps.rho or caps.gaussian else [Fraction(0)]
    pairs = (guarantee(caps, delta) for delta in deltas)
    return tuple(Claim(float(epsilon), float(delta)) for epsilon, delta in pairs)
