"""Public parameters of the learner of robust minima: fixed before any data, kept in the store."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from littled.learners.window_values import ValueParameters

MinimumMethod = Literal["exponential", "stable"]


@dataclass(frozen=True, slots=True)
class MinimumParameters(ValueParameters):
    """Public parameters of the learner of robust minima.

    Those of `ValueParameters`, and:

    - `method`: "exponential" draws among all numbers; "stable" draws a length of prefixes, a
      prefix, and one of the ends of its block.
    - `rank`: T. A window's number should have T examples with label 1 up to it.
    - `span`: w of "stable", which looks at the examples of ranks T - w + 1 to T + w.
    - `length_rate`, `prefix_rate`: e of the draws of a length and of a prefix; `rate` is that of
      the number. `bottom_score`: B of the draw of a prefix. `least_count`: what the prefix of a
      length should have in the span. All for "stable" only.
    """

    LEARNER: ClassVar[str] = "learner of minima"
    METHODS: ClassVar[tuple[str, ...]] = get_args(MinimumMethod)
    FRACTIONS: ClassVar[tuple[str, ...]] = ("epsilon", "rate", "length_rate", "prefix_rate")
    INTEGERS: ClassVar[tuple[str, ...]] = (
        *("horizon", "window", "rank", "span", "bottom_score", "least_count"),
    )

    rank: int = 0
    span: int = 0
    length_rate: Fraction = Fraction(0)
    prefix_rate: Fraction = Fraction(0)
    bottom_score: int = 0
    least_count: int = 0

    def _wrong_combinations(self) -> Iterator[str]:
        """What a method lacks, and ranks that no window has."""
        yield from self._only_with(
            "stable", "span", "length_rate", "prefix_rate", "bottom_score", "least_count"
        )
        if not 1 <= self.rank <= self.window:
            yield "rank must be from 1 to the window"
        if self.span > self.rank or self.rank + self.span > self.window:
            yield "span must leave its ranks within the window"
        if self.span and not self.least_count < 2 * self.span:
            yield "least_count must be below the examples of the span"
