"""Public parameters that all learners have which publish a value of each window."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, get_args

from littled.budget.events import Accounting
from littled.budget.unit import USER_EXAMPLES_MAX
from littled.learners.batch.parameters import WINDOW_MAX
from littled.learners.online.parameters import plain_values, stored_values
from littled.written import write_exactly


@dataclass(frozen=True, slots=True)
class ValueParameters:
    """Public parameters of a learner that publishes a value of each window.

    Privacy-critical (they set prices): all of them.

    - `method`: how a window's value is drawn, one of `METHODS`.
    - `epsilon`: what is promised for all that is released about an example; finite precision is
      charged for it.
    - `horizon`: examples in a season. `window`: examples in a window, n.
    - `rate`: e of one unit of score. `accounting`: how its price is booked.
    - `user_examples_max`: c of "User-level privacy" (PRIVACY.md): the first c examples of each user
      and season are used, and everything is priced for them together; None where one example is
      protected.

    ValueError, one sentence, for values and combinations that no learner can have.
    """

    LEARNER: ClassVar[str]
    METHODS: ClassVar[tuple[str, ...]]
    FRACTIONS: ClassVar[tuple[str, ...]] = ("epsilon", "rate")
    INTEGERS: ClassVar[tuple[str, ...]] = ("horizon", "window")

    method: str
    epsilon: Fraction
    horizon: int
    window: int
    rate: Fraction
    accounting: Accounting = "pure"
    user_examples_max: int | None = None

    def __post_init__(self) -> None:
        """Say the first thing that is wrong, if anything is."""
        write_exactly(self, *self.FRACTIONS)
        for problem in self._wrong():
            raise ValueError(problem)

    @property
    def windows(self) -> int:
        """Windows of a season, each with one release; what is left over at its end is in none."""
        return self.horizon // self.window

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""
        return plain_values(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError names what is missing or unknown."""
        return cls(**stored_values(cls, values, cls.LEARNER, cls.FRACTIONS))

    def _wrong(self) -> Iterator[str]:
        """What is wrong, one after the other: amounts are compared only if they are amounts."""
        for name, words in (("method", self.METHODS), ("accounting", get_args(Accounting))):
            if getattr(self, name) not in words:
                yield f"{name} must be one of {', '.join(words)}"
        for name in self.FRACTIONS:
            if not isinstance(getattr(self, name), Fraction):
                yield f"{name} must be a Fraction, so that it is exact"
        for name in self.INTEGERS:
            if type(getattr(self, name)) is not int:
                yield f"{name} must be an integer"
        for name in (*self.FRACTIONS, *self.INTEGERS):
            if getattr(self, name) < 0:
                yield f"{name} must not be negative"
        if not 1 <= self.window <= WINDOW_MAX:
            yield "window must be at least 1"
        if self.window > self.horizon:
            yield "window must be at most the horizon, or no window would ever be full"
        most = self.user_examples_max
        if most is not None and not (type(most) is int and 1 <= most <= USER_EXAMPLES_MAX):
            yield f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}"
        yield from self._wrong_combinations()

    def _wrong_combinations(self) -> Iterator[str]:
        """What a method lacks, and what it has no use for."""
        return iter(())

    def _only_with(self, method: str, *names: str) -> Iterator[str]:
        """Parameters that this method needs above 0, and the others have no use for."""
        for name in names:
            if bool(getattr(self, name)) != (self.method == method):
                needs = (
                    f"needs {name} above 0"
                    if self.method == method
                    else (f"has no use for {name}; leave it out")
                )
                yield f"{self.method} {needs}"
