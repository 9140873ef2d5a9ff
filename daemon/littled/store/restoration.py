"""A restore as a record of the journal: where a store goes on from an older copy of itself.

A copy that is behind its high-water mark hides what was spent since. `littled restore` lets it go
on without reusing anything: a record without examples is appended to the journal of every stream,
and what it says is public. By it

- the season in which the copy stands ends, and a new one begins at `Record.first_position`, above
  every season and position of the copy and of the mark;
- the chain of heads takes a turn, by the new random name of the store, so that no noise is drawn
  from an address that the lost history has used;
- every producer goes on above the numbers of all its examples that were lost, so that none of them
  is learned a second time;
- every learner goes on above the versions that were lost.

Why the guarantee holds across all this: PRIVACY.md, "Restoring".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, Self

from littled.budget.price import Price
from littled.store.mark import Numbers
from littled.store.records import Record

# Who has written the record. No producer has this name: theirs are without blanks.
RESTORER: Final = "littled restore"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Restoration:
    """What the record of a restore says about one stream.

    instance: what the store is called from here on. season, spent, position: those of the stream in
    the high-water mark. records, entries, predictions: how many of each the mark had and the copy
    had not. versions: the last version of each learner ("stream/learner") in mark and copy.
    numbers: where each producer goes on, unless its own number in the copy is higher.
    """

    instance: str
    season: int
    spent: Price
    position: int
    records: int
    entries: int
    predictions: int
    versions: Mapping[str, int]
    numbers: Numbers

    def to_bytes(self) -> bytes:
        """Canonical: JSON, sorted keys, no spaces."""
        values = {field.name: getattr(self, field.name) for field in fields(self)} | {
            "format": _FORMAT,
            "spent": self.spent.to_dict(),
            "versions": dict(self.versions),
            "numbers": self.numbers.to_list(),
        }
        return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """What a record without examples says; KeyError, TypeError or ValueError for nothing."""
        values: dict[str, Any] = json.loads(record.x)
        if values.pop("format") != _FORMAT:
            raise ValueError("the format is unknown")
        values["spent"] = Price.from_dict(values["spent"])
        values["numbers"] = Numbers.from_list(values["numbers"])
        found = cls(**values)
        if found.to_bytes() != record.x:
            raise ValueError("it is not written in its canonical form")
        return found

    def counted(self, season: int, caps: Price, horizon: int) -> Price:
        """What a season that the restore closes counts as having spent, with what was lost.

        Where the mark stands in the same season it says so; else it may have been all of `caps`.
        """
        known = season == self.season == self.position // horizon
        return self.spent if known else caps

    def charge(self, season: int, spent: Price, caps: Price, horizon: int) -> Price:
        """What is charged to that season, which has spent `spent` by what is stored."""
        counted, nothing = self.counted(season, caps, horizon), Fraction(0)
        return Price(
            max(counted.epsilon_pure - spent.epsilon_pure, nothing),
            max(counted.rho - spent.rho, nothing),
            max(counted.delta - spent.delta, nothing),
            max(counted.gaussian - spent.gaussian, nothing),
        )


def closing_position(position: int, season: int, horizon: int) -> int:
    """Where a restore at this position charges the season that it closes: inside the season."""
    return min(position, (season + 1) * horizon - 1)
