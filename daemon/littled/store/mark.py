"""The high-water mark: how far a store had come, kept outside its database.

Restoring an older copy of a database would hide budget that was spent. The mark says what a store
must at least contain; it is replaced after every charge and every publication, before anybody
hears of them. A store without its mark, or behind it, is refused.

The mark also bounds how many examples each producer can have sent, ahead of their acknowledgement:
when a store goes on from an older copy, no example that was lost may be learned a second time.

Where it is kept, and how it is replaced: `littled.store.register`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from json.encoder import encode_basestring_ascii as _name
from typing import Any, Self

from littled.budget.price import Price
from littled.limits import MARK_PRODUCERS_MAX
from littled.store.records import prediction_genesis

MARK_NAME = "high-water-mark"
_FORMAT = 1
# Of what stands in the place of a mark whose store was moved away; earlier versions refuse it.
_MOVED_FORMAT = 2


class StoreMoved(ValueError):
    """The store of a mark was moved away; the text is where to."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a chain: its last number (-1 before the first) and its head."""

    number: int
    head: bytes

    def to_list(self) -> list[Any]:
        """JSON-able."""
        return [self.number, self.head.hex()]

    def to_text(self) -> str:
        """The same as JSON."""
        return f'[{self.number},"{self.head.hex()}"]'

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` wrote; ValueError or TypeError otherwise."""
        number, head = values
        if type(number) is not int:
            raise TypeError("a number in a chain is an integer")
        return cls(number, bytes.fromhex(head))


def no_predictions(genesis: bytes) -> Point:
    """The place before the first prediction of a stream with this genesis."""
    return Point(-1, prediction_genesis(genesis))


@dataclass(frozen=True, slots=True)
class Numbers:
    """For every producer of a stream a number that none of its durable examples has reached.

    named: those that needed a new one last, in this order. others: for all producers not named.
    """

    named: Mapping[str, int]
    others: int = 0

    def bound(self, producer: str) -> int:
        """The number for this producer."""
        return self.named.get(producer, self.others)

    def with_bounds(self, bounds: Mapping[str, int]) -> "Numbers":
        """The same with other numbers for some producers, and as many names as there may be."""
        named = {name: bound for name, bound in self.named.items() if name not in bounds}
        named |= bounds
        surplus = set(list(named)[: max(len(named) - MARK_PRODUCERS_MAX, 0)])
        return Numbers(
            {name: bound for name, bound in named.items() if name not in surplus},
            max([self.others, *(named[name] for name in surplus)]),
        )

    def raised(self, known: Mapping[str, int], first: int = 0) -> "Numbers":
        """The same with no bound below what is known.

        known: how far each producer has come that was ever seen. first: where any other begins.
        """
        above = self.missing(known, first)
        return replace(self, others=max(self.others, first)).with_bounds(above)

    def missing(self, known: Mapping[str, int], first: int = 0) -> dict[str, int]:
        """What the bounds of some producers would have to be at least; empty if all are enough."""
        least = {**dict.fromkeys(self.named, first), **known}
        return {name: bound for name, bound in least.items() if bound > self.bound(name)}

    def to_list(self) -> list[Any]:
        """JSON-able."""
        return [list(map(list, self.named.items())), self.others]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` wrote; ValueError or TypeError otherwise."""
        named, others = values
        found = cls({str(name): number for name, number in named}, others)
        if any(type(number) is not int or number < 0 for number in (*found.named.values(), others)):
            raise TypeError("a number of examples is an integer")
        return found


@dataclass(frozen=True, slots=True)
class StreamMark:
    """How far one stream had come.

    genesis: binds configuration and plan. journal, ledger: last record and last entry. position:
    number of examples. season, spent: the season of the last entry and the sum of its prices.
    predictions: the last one. Answers do not count as spent: their season has paid for all of them.
    numbers: how far its producers can have come, None if that was not known yet. closed: whether
    it takes no more examples, for ever.
    """

    genesis: bytes
    journal: Point
    position: int
    ledger: Point
    season: int
    spent: Price
    predictions: Point
    numbers: Numbers | None = None
    closed: bool = False
    # As JSON, once that was asked for: a mark of thousands of streams is made of the same parts
    # over and over, of which a charge changes one.
    _text: str | None = field(default=None, init=False, repr=False, compare=False)

    def with_journal(self, journal: Point, position: int) -> "StreamMark":
        """The same after more records; made for every commit, and quicker than `replace`."""
        return StreamMark(
            self.genesis,
            journal,
            position,
            self.ledger,
            self.season,
            self.spent,
            self.predictions,
            self.numbers,
            self.closed,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        numbers = {} if self.numbers is None else {"numbers": self.numbers.to_list()}
        closed = {"closed": True} if self.closed else {}
        return (
            numbers
            | closed
            | {
                "genesis": self.genesis.hex(),
                "journal": self.journal.to_list(),
                "ledger": self.ledger.to_list(),
                "position": self.position,
                "predictions": self.predictions.to_list(),
                "season": self.season,
                "spent": self.spent.to_dict(),
            }
        )

    def to_text(self) -> str:
        """The same as JSON, made once."""
        if self._text is None:
            object.__setattr__(self, "_text", _text(self.to_dict()))
        assert self._text is not None
        return self._text

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; KeyError, ValueError or TypeError otherwise.

        A mark that was written before there were predictions knows of none, and one that was
        written before there were numbers of producers has none.
        """
        genesis = bytes.fromhex(values["genesis"])
        predictions, numbers = values.get("predictions"), values.get("numbers")
        return cls(
            genesis=genesis,
            journal=Point.from_list(values["journal"]),
            position=int(values["position"]),
            ledger=Point.from_list(values["ledger"]),
            season=int(values["season"]),
            spent=Price.from_dict(values["spent"]),
            predictions=no_predictions(genesis)
            if predictions is None
            else Point.from_list(predictions),
            numbers=None if numbers is None else Numbers.from_list(numbers),
            closed=bool(values.get("closed")),
        )


@dataclass(frozen=True, slots=True)
class HighWaterMark:
    """How far a store had come: by stream, and the last release by learner ("stream/learner").

    versions: the last version that was lost, of learners that have published nothing since.
    """

    instance: str
    streams: Mapping[str, StreamMark]
    releases: Mapping[str, Point]
    versions: Mapping[str, int] = field(default_factory=dict)

    def version(self, learner: str) -> int:
        """The last version of a learner that anybody may have, 0 before the first."""
        found = self.releases.get(learner)
        return max(0 if found is None else found.number, self.versions.get(learner, 0))

    def to_bytes(self) -> bytes:
        """The file's contents: one line of JSON and a line with its checksum."""
        releases = {name: point.to_text() for name, point in self.releases.items()}
        streams = {name: mark.to_text() for name, mark in self.streams.items()}
        parts = {
            "format": _text(_FORMAT),
            "instance": _text(self.instance),
            "releases": _object(releases),
            "streams": _object(streams),
        }
        if self.versions:
            parts["versions"] = _text(dict(self.versions))
        return _checked(_object(parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` wrote; KeyError, ValueError or TypeError otherwise.

        StoreMoved, a ValueError, for what `moved_bytes` made.
        """
        line, checksum = data.splitlines(keepends=True)
        if checksum != _checksum(line) + b"\n":
            raise ValueError("the checksum does not fit")
        values = json.loads(line)
        check_format(values)
        return cls(
            instance=str(values["instance"]),
            streams={name: StreamMark.from_dict(mark) for name, mark in values["streams"].items()},
            releases={name: Point.from_list(point) for name, point in values["releases"].items()},
            versions={name: int(version) for name, version in values.get("versions", {}).items()},
        )


def moved_values(instance: str, target: str) -> dict[str, Any]:
    """What takes the place of a mark when its store is moved to another one, JSON-able."""
    return {"format": _MOVED_FORMAT, "instance": instance, "moved": target}


def moved_bytes(instance: str, target: str) -> bytes:
    """The same as the contents of a file: no store passes it."""
    return _checked(_text(moved_values(instance, target)))


def check_format(values: Mapping[str, Any]) -> None:
    """StoreMoved for what `moved_values` made; ValueError unless it is of a mark known here."""
    if values["format"] == _MOVED_FORMAT:
        raise StoreMoved(str(values["moved"]))
    if values["format"] != _FORMAT:
        raise ValueError("the format is unknown")


def _checked(text: str) -> bytes:
    """A line of JSON and a line with its checksum."""
    line = text.encode() + b"\n"
    return line + _checksum(line) + b"\n"


def _text(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _object(parts: Mapping[str, str]) -> str:
    """An object whose values are written already, as `_text` would write it."""
    return "{" + ",".join([f"{_name(name)}:{parts[name]}" for name in sorted(parts)]) + "}"


def _checksum(line: bytes) -> bytes:
    return blake2b(line, digest_size=16, person=b"littled mark").hexdigest().encode()
