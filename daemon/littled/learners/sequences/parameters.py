"""Public parameters of the learner of one-way sequences: fixed before any data, stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from littled.learners.minimum import MinimumParameters


@dataclass(frozen=True, slots=True)
class SequencesParameters(MinimumParameters):
    """Public parameters of the learner of one-way sequences.

    Those of `MinimumParameters`, which are about the draw of an index, and:

    - `vote_rate`: e of the histogram of what examples name at that index. `threshold`: its B.
    """

    LEARNER: ClassVar[str] = "learner of one-way sequences"
    FRACTIONS: ClassVar[tuple[str, ...]] = (*MinimumParameters.FRACTIONS, "vote_rate")
    INTEGERS: ClassVar[tuple[str, ...]] = (*MinimumParameters.INTEGERS, "threshold")

    vote_rate: Fraction = Fraction(0)
    threshold: int = 0

    def _wrong_combinations(self) -> Iterator[str]:
        """What is wrong with the draw of an index, and a histogram that would hide nothing."""
        yield from MinimumParameters._wrong_combinations(self)
        for name in ("vote_rate", "threshold"):
            if not getattr(self, name):
                yield f"{name} must be above 0"
