"""What is claimed of a learner: every (epsilon, delta) that its price promises."""

from collections.abc import Iterable
from fractions import Fraction

from littled.auditing.bounds import Claim
from littled.budget.conversion import guarantee
from littled.budget.events import PrivacyEvent
from littled.budget.price import Price
from littled.budget.prices import stands_alone

# Every delta gives a claim where something is booked as zCDP; these are tried beside the plan's.
DELTAS = tuple(Fraction(1, 10**power) for power in (1, 2, 3, 4))


def claims_of(
    caps: Price, delta_z: Fraction, events: Iterable[PrivacyEvent] = ()
) -> tuple[Claim, ...]:
    """Every (epsilon, delta) that these caps promise, that of the plan first.

    events: what they are charged. Where parts of one stand side by side, they were compared at
    `delta_z`, and nothing is promised for a larger delta (PRIVACY.md, "Parts side by side").
    """
    deltas = [delta_z, *DELTAS] if caps.rho or caps.gaussian else [Fraction(0)]
    if any(stands_alone(event) for event in events):
        deltas = [delta for delta in deltas if delta <= delta_z]
    pairs = (guarantee(caps, delta) for delta in deltas)
    return tuple(Claim(float(epsilon), float(delta)) for epsilon, delta in pairs)
