"""Why a rule gives a value its label: the points that each of its columns adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Share:
    """What one column adds to the sum: its value in words, "grade is D", and points."""

    column: str
    text: str
    points: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one value has its label, 1 iff `constant` and the points of `shares` sum above 0.

    shares: of all columns, the most points in either direction first, equal ones in the order of
    columns. word: for the label.
    """

    label: int
    word: str
    constant: int
    shares: tuple[Share, ...]

    @property
    def total(self) -> int:
        """The sum that decides."""
        return self.constant + sum(share.points for share in self.shares)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object: label, word, total, constant, and a list of the columns."""
        shares = [{"column": s.column, "text": s.text, "points": s.points} for s in self.shares]
        return {
            "label": self.label,
            "word": self.word,
            "total": self.total,
            "constant": self.constant,
            "columns": shares,
        }

    def __str__(self) -> str:
        """Return lines: the label, each column, the constant, and the sum."""
        rows = [(f"{share.points:+}", share.text) for share in self.shares]
        rows.append((f"{self.constant:+}", "constant"))
        rows.append((f"{self.total:+}", f"in all, which is {'' if self.label else 'not '}above 0"))
        width = max(len(points) for points, _ in rows)
        return "\n".join([self.word, *(f"  {points:>{width}}  {text}" for points, text in rows)])
