"""A pool: examples that a fresh learner holds back for later calls, each for one of them.

Source: this project's; PRIVACY.md, section 4, "Held-back examples". A call that sees its own epoch
alone forgets what the examples of one region said as soon as the stream moves to another. So part
of a long epoch is held back: each of these examples goes to one of a number of *slots*, and
the c-th call of a season sees, beside its own epoch, slot c modulo their number, which is empty
from then on. Every example takes part in one call, as without a pool; which one is said by its
position's secret word and its place in the epoch, never by the example.

Two things empty the whole pool, both public: an epoch so short that the rule before it, which was
drawn with the pool's help, erred on much of it, and more calls since the last time than a target
that stays the same should need. Then what is remembered misleads: the target has moved.

Where users are protected the examples themselves are held back, so many in each slot at the most,
and a user's examples count as kept once a call sees them: what no call sees costs no user.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points
from littled.classes.capabilities import NumberedRules
from littled.learners.contract import Examples
from littled.learners.online.buffer import BACKGROUND_SLACK, PIECES_MAX, Buffer

Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
# Slots are numbered in one byte.
SLOTS_MAX = 256
WORD_RANGE = 1 << 64


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Stored parameters of a pool, fixed before any data; utility only.

    `slots`: their number, a power of two. `own`: of each epoch the first so many examples are for
    its own call; an epoch that is no longer empties the pool. `one_in`: of the others one in so
    many is held back. `calls`: so many calls after it was empty the pool is emptied as well.
    `most`: where users are protected, so many positions each slot holds at the most, those of the
    lowest words; 0 where examples are counted.
    """

    slots: int
    own: int
    one_in: int
    calls: int
    most: int = 0

    def wrong(self) -> str | None:
        """The first thing that is wrong with these values, in one sentence."""
        if any(type(value) is not int or value < 0 for value in asdict(self).values()):
            return "the settings of a pool must be integers of at least 0"
        if self.one_in < 1:
            return "of a pool one in at least 1 is held back"
        if not 1 <= self.slots <= SLOTS_MAX or self.slots & (self.slots - 1):
            return f"the slots of a pool must be a power of two up to {SLOTS_MAX}"
        return None

    def to_dict(self) -> dict[str, int]:
        """Plain values; as they were before users had pools where none is protected."""
        return {name: value for name, value in asdict(self).items() if name != "most" or value}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """What `to_dict` wrote; ValueError, one sentence, for anything else."""
        names = {setting.name for setting in fields(cls)} - {"most"}
        if not isinstance(values, dict) or set(values) - {"most"} != names:
            raise ValueError(f"the settings of a pool are {', '.join(sorted(names))}")
        return cls(**values)

    def held(self, words: Words, earlier: int) -> Flags:
        """Which examples are held back, (n,), by their positions' secret words, uint64 (n,).

        `earlier`: how many examples the epoch had before these.
        """
        held = words >= np.uint64(WORD_RANGE - WORD_RANGE // self.one_in)
        held[: max(0, self.own - earlier)] = False
        return held

    def slots_of(self, words: Words) -> NDArray[np.uint8]:
        """The slot of each held-back example, (n,), equally likely."""
        return (words % np.uint64(self.slots)).astype(np.uint8)

    @property
    def rows_max(self) -> int:
        """Rows that are held at the most, until those that cannot stay are dropped."""
        return 2 * self.slots * self.most + BACKGROUND_SLACK

    def empties(self, length: int, calls: int) -> bool:
        """Whether an epoch of so many examples, or so many calls, empties the pool."""
        return length <= self.own or calls > self.calls


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What is held back: the statistics of each slot, int64 (slots, *statistics).

    `calls`: calls since it was empty, with that of the epoch that goes on; public. `waiting`:
    examples that the statistics do not hold yet, with their slots uint8 (n,).
    """

    statistics: NDArray[np.int64]
    calls: int = 0
    waiting: tuple[tuple[Points, Labels, NDArray[np.uint8]], ...] = field(default=())

    @classmethod
    def empty(cls, slots: int, rules: NumberedRules) -> Self:
        """Nothing held back."""
        none = rules.empty_statistics()
        return cls(np.zeros((slots, *none.shape), dtype=none.dtype))

    def plus(self, x: Points, y: Labels, slots: NDArray[np.uint8]) -> "Pool":
        """With these examples, (n,) each, not counted yet."""
        return replace(self, waiting=(*self.waiting, (x, y, slots))) if len(y) else self

    def counted(self, rules: NumberedRules) -> "Pool":
        """With all that waits in the statistics of its slot."""
        if not self.waiting:
            return self
        x, y, slots = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
        statistics = self.statistics.copy()
        for slot in np.unique(slots).tolist():
            here = slots == slot
            statistics[slot] = rules.add(statistics[slot], x[here], y[here])
        return replace(self, statistics=statistics, waiting=())

    def spent(self, call: int) -> tuple[NDArray[np.int64], "Pool"]:
        """The statistics that this call of the season sees, and the pool without them."""
        slot = call % len(self.statistics)
        left = self.statistics.copy()
        left[slot] = 0
        return self.statistics[slot], replace(self, statistics=left)

    def to_dict(self) -> dict[str, Any]:
        """Plain values and arrays, for a snapshot."""
        waiting = [list(batch) for batch in self.waiting]
        return {"statistics": self.statistics, "calls": self.calls, "waiting": waiting}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; ValueError if fields are missing or unknown."""
        if set(values) != {value.name for value in fields(cls)}:
            raise ValueError("a pool has statistics, calls and examples that wait")
        waiting = tuple((x, y, slots) for x, y, slots in values["waiting"])
        return cls(values["statistics"], values["calls"], waiting)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """What is held back where users are protected: examples, each with its position's secret word.

    The word says the slot, and which ones stay where a slot has too many: the `most` lowest. So
    nobody's example decides which others do. `rows`: None if there are none. `calls` as in `Pool`.
    """

    rows: Buffer | None = None
    calls: int = 0

    def plus(self, event: Examples, words: Words, settings: PoolSettings) -> "HeldRows":
        """With these examples, (n,) with their words, as far as they can stay."""
        if not len(event.y):
            return self
        arriving = Buffer(
            event.x,
            event.y,
            np.zeros(len(event.y), dtype=np.bool_),
            words,
            np.zeros_like(words),
            event.users,
        )
        rows = Buffer.empty(event.x, event.users) if self.rows is None else self.rows
        grown = replace(rows, waiting=(*rows.waiting, arriving))
        if len(grown) > settings.rows_max or len(grown.waiting) > PIECES_MAX:
            return replace(self, rows=grown).cut(settings)
        return replace(self, rows=grown)

    def cut(self, settings: PoolSettings) -> "HeldRows":
        """With exactly what stays."""
        if self.rows is None:
            return self
        rows = self.rows.joined()
        slots, stays = settings.slots_of(rows.priority), np.zeros(len(rows), dtype=np.bool_)
        for slot in range(settings.slots):
            here = np.flatnonzero(slots == slot)
            if len(here) > settings.most:
                words = rows.priority[here]
                here = here[words <= np.partition(words, settings.most - 1)[settings.most - 1]]
            stays[here] = True
        return replace(self, rows=rows.take(stays))

    def spent(self, call: int, settings: PoolSettings) -> tuple[Buffer | None, "HeldRows"]:
        """The examples that this call of the season may see, and the pool without them."""
        rows = self.cut(settings).rows
        if rows is None:
            return None, self
        here = settings.slots_of(rows.priority) == call % settings.slots
        return rows.take(here), replace(self, rows=rows.take(~here))

    def to_dict(self) -> dict[str, Any]:
        """Plain values and arrays, for a snapshot."""
        return {"rows": None if self.rows is None else self.rows.to_dict(), "calls": self.calls}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; ValueError if fields are missing or unknown."""
        if set(values) != {value.name for value in fields(cls)}:
            raise ValueError("a pool of users has rows and calls")
        rows = values["rows"]
        return cls(None if rows is None else Buffer(**rows), values["calls"])
