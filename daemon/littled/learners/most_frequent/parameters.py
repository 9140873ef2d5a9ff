"""Public parameters of the learner of most frequent items: fixed before any data, stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from littled.learners.window_values import ValueParameters

MostFrequentMethod = Literal["exponential", "stable"]


@dataclass(frozen=True, slots=True)
class MostFrequentParameters(ValueParameters):
    """Public parameters of the learner of most frequent items.

    Those of `ValueParameters`, and:

    - `method`: "exponential" draws among all items there are; "stable" among those that examples
      name, and bottom.
    - `bottom_score`: B, the score of bottom, for "stable" only.
    """

    LEARNER: ClassVar[str] = "learner of most frequent items"
    METHODS: ClassVar[tuple[str, ...]] = get_args(MostFrequentMethod)
    INTEGERS: ClassVar[tuple[str, ...]] = ("horizon", "window", "bottom_score")

    bottom_score: int = 0

    def _wrong_combinations(self) -> Iterator[str]:
        """Bottom is for one method only."""
        yield from self._only_with("stable", "bottom_score")
