"""What a configuration asks of a scorecard learner."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from littled.classes.hypothesis import HypothesisClass
from littled.learners.leader.shaping import FALLING, FREE, RISING
from littled_protocol.rules import Words

Way = Literal["rising", "falling"]


def letters(ways: Iterable[Way | None]) -> str:
    """How the columns' points may go, None for any way, as parameters have it."""
    found = {None: FREE, "rising": RISING, "falling": FALLING}
    return "".join(found[way] for way in ways)


@dataclass(frozen=True, slots=True)
class LeaderRequest:
    """What a configuration asks of one scorecard learner: its columns, and the shape of its rules.

    `noise_rate` is not reckoned with: labels may be as noisy as they are. `columns_max` and
    `monotone` are those of `LeaderParameters`.
    """

    kind: ClassVar[str] = "leader"

    name: str
    hypotheses: HypothesisClass
    noise_rate: Fraction = Fraction(0)
    words: Words = field(default_factory=Words)
    columns_max: int | None = None
    monotone: str = ""
