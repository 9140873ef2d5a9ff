"""The buffer of an epoch: which examples a learner keeps for the next joint training.

Source: Lyu, Algorithm 3, lines 7, 13 and 22 (the set E), and PRIVACY.md, section 4.

What is kept is decided so that two neighbouring streams with the same public transcript keep data
that differs in at most one element:

- every position draws a secret *priority* from the keyed stream; it does not look at the example;
- the *background* is the examples at the `background_max` positions of lowest priority in the
  epoch: the same positions in both streams, as the epoch's limits are public;
- *mistakes* of the published rule are kept, if asked for, whatever their priority: another
  example at one position adds, removes or replaces that element only.

A cap on the mistakes would break this (a new one would push out another), so there is none: their
number is bounded because the trigger fires with certainty a bounded distance above its threshold.

Where users are protected, a learner keeps so many examples of one user only. This cap pushes out
nobody else's: a position of the background whose example is over it keeps its place, empty.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import DataSet, Labels, Points

Words = NDArray[np.uint64]
# Beside twice the background, a buffer may hold so many examples more until it is cut again.
BACKGROUND_SLACK: Final = 1024
# Pieces that wait to be joined to the columns; each costs some hundred bytes beside its examples.
PIECES_MAX: Final = 64
NO_LIMIT: Final = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Examples kept so far in this epoch: columns of equal length.

    `x` (n,) or (n, 2); `y`, `mistake` uint8 and bool (n,); `priority`, `teacher` uint64 (n,);
    `users` uint64 (n, 2), or None where examples are protected. `mistake` says what is kept
    whatever its priority. `limit`: no position above it can belong to the background any more; it
    may be higher than need be. `waiting`: later examples, which `joined` puts behind the columns;
    so a batch costs what it adds, however much is held. No snapshot has either of them.
    """

    x: Points
    y: Labels
    mistake: NDArray[np.bool_]
    priority: Words
    teacher: Words
    users: Words | None = None
    limit: np.uint64 = NO_LIMIT
    waiting: tuple["Buffer", ...] = ()

    @classmethod
    def empty(cls, template: Points, users: Words | None = None) -> Self:
        """No examples, for points shaped like `template`, with users if there are any."""
        nothing = np.zeros(0, dtype=np.uint64)
        return cls(
            template[:0],
            np.zeros(0, dtype=np.uint8),
            nothing.astype(bool),
            nothing,
            nothing,
            None if users is None else users[:0],
        )

    def __len__(self) -> int:
        """Number of examples held."""
        return len(self.y) + sum([len(piece.y) for piece in self.waiting])

    def extend(self, other: "Buffer", *, background_max: int, keep_mistakes: bool) -> "Buffer":
        """This buffer and `other`, with what can no longer be kept dropped now and then.

        Dropping is only a matter of memory: `final` gives the same examples however often it was
        done and however the stream was cut into batches.
        """
        wanted = np.zeros(len(other), dtype=bool)
        if background_max:
            wanted |= other.priority <= self.limit
        if keep_mistakes:
            wanted |= other.mistake
        if not wanted.any():
            return self
        grown = replace(self, waiting=(*self.waiting, other.take(wanted)))
        if background_max and len(grown) > 2 * background_max + BACKGROUND_SLACK:
            return grown.final(background_max=background_max, keep_mistakes=keep_mistakes)
        return grown if len(grown.waiting) < PIECES_MAX else grown.joined()

    def joined(self) -> "Buffer":
        """The same examples with none that wait."""
        if not self.waiting:
            return self
        pieces = (self, *self.waiting)

        def column(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(piece, name) for piece in pieces])

        return Buffer(
            x=column("x"),
            y=column("y"),
            mistake=column("mistake"),
            priority=column("priority"),
            teacher=column("teacher"),
            users=None if self.users is None else column("users"),
            limit=self.limit,
        )

    def final(self, *, background_max: int, keep_mistakes: bool) -> "Buffer":
        """Exactly the background and, if asked for, the mistakes."""
        whole = self.joined()
        limit = whole._limit(background_max) if background_max else None
        kept = np.zeros(len(whole), dtype=bool) if limit is None else whole.priority <= limit
        if keep_mistakes:
            kept |= whole.mistake
        return replace(whole.take(kept), limit=NO_LIMIT if limit is None else limit)

    def take(self, chosen: NDArray[np.bool_]) -> "Buffer":
        """The chosen examples, copied; none may wait to be joined."""
        assert not self.waiting, "what waits would be lost"
        places = np.flatnonzero(chosen)  # many times as fast for rows as the flags themselves
        return Buffer(
            self.x.take(places, axis=0),
            self.y.take(places),
            self.mistake.take(places),
            self.priority.take(places),
            self.teacher.take(places),
            None if self.users is None else self.users.take(places, axis=0),
            self.limit,
        )

    def _limit(self, background_max: int) -> np.uint64:
        """Highest priority that may still belong to the background."""
        if len(self) <= background_max:
            return NO_LIMIT
        return np.uint64(np.partition(self.priority, background_max - 1)[background_max - 1])

    def to_dict(self) -> dict[str, Any]:
        """The columns, for a snapshot."""
        joined = self.joined()
        names = [column.name for column in fields(self)]
        return {name: getattr(joined, name) for name in names if name not in ("limit", "waiting")}

    def data_set(self) -> DataSet:
        """Points and labels."""
        return self.x, self.y
