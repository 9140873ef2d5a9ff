"""Figures: how often published rules were wrong in a stretch of a stream, as they are released.

A figure is public: counts with noise, which a budget has paid for, and positions.
"""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

# Figures of a learner are a chain of releases of their own; no learner has this in its name.
_FIGURES: Final = "/quality"


def figures_of(learner: str) -> str:
    """The name under which the figures of the learner "stream/learner" are stored."""
    return f"{learner}{_FIGURES}"


def measured_by(name: str) -> str | None:
    """The learner whose figures are stored under this name; None for a learner's own name."""
    learner = name.removesuffix(_FIGURES)  # of a learner that is called "quality" its stream
    return learner if learner != name and "/" in learner else None


@dataclass(frozen=True, slots=True)
class Figure:
    """The noisy counts of one period, of the examples at positions `first` to `end` - 1.

    number: counts a learner's figures from 1. first_version, last_version: those of the rules that
    were in force at the first and the last of these examples. wrong: mistakes, each of the rule in
    force when its example came, with noise, so that it may be negative or larger than there are
    examples. right: the same of all other counted examples where it is not public how many are
    counted (users are protected); None where every example of the period is.

    ValueError, one sentence, for values that no figure has.
    """

    number: int
    season: int
    first: int
    end: int
    first_version: int
    last_version: int
    wrong: int
    right: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no figure."""
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int and not (value is None and field.name == "right"):
                raise ValueError(f"{field.name} of a figure must be an integer")
        if not (self.number >= 1 and self.season >= 0 and 0 <= self.first < self.end):
            raise ValueError("a figure has a number from 1, a season and a stretch of positions")
        if not 1 <= self.first_version <= self.last_version:
            raise ValueError("a figure has the versions of the rules in force, from first to last")

    @property
    def examples(self) -> int:
        """Examples of the period."""
        return self.end - self.first

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; without `right` where there is none."""
        values = asdict(self)
        if self.right is None:
            del values["right"]
        return values

    def to_bytes(self) -> bytes:
        """Canonical: JSON, sorted keys, no spaces."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` wrote; ValueError for anything else."""
        try:
            found = cls(**json.loads(data))
        except TypeError as error:
            raise ValueError(f"a figure has other fields: {error}") from None
        if found.to_bytes() != data:
            raise ValueError("a figure is not written in its canonical form")
        return found
