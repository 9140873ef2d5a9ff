"""The public memory of a schedule: which rule stands, so that it leaves for a better one only.

Source: Lemma M and Theorem M of PRIVACY.md, section 4, "Public memory". The rule that was drawn
last in a season has an offset in the next draw. It is known to everybody, as it was published.
"""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.online.memory import Memory, MemorySettings

# Offsets are added to scores of up to 2^44 examples, so that 63 bits hold them.
OFFSET_MAX = 1 << 40
NOTHING_STANDS = -1


@dataclass(frozen=True, slots=True)
class StandingSettings(MemorySettings):
    """What the rule that stands has beyond its agreements, in scores: `offset`."""

    word: ClassVar[str] = "standing"

    offset: int

    def wrong(self) -> str | None:
        """An offset out of its range."""
        if not 1 <= self.offset <= OFFSET_MAX:
            return "the offset of a rule that stands must be from 1 to 2^40 scores"
        return None


@dataclass(frozen=True, slots=True)
class StandingMemory(Memory):
    """The number of the rule that was drawn last in this season; `NOTHING_STANDS` before."""

    word: ClassVar[str] = "standing"

    number: int = NOTHING_STANDS
