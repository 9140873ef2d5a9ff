"""How many examples of each user a season has admitted, and which ones are admitted next.

Of one user's examples the first `most` of a season are admitted, in the order of their positions,
and no more. Whether an example is admitted depends on earlier ones of the same user alone, so that
what one user does decides about nobody else's examples: PRIVACY.md, "User-level privacy".

A user is a keyed hash of 128 bits, two words; no two users of a store share one except with
negligible probability. Counts are an immutable value, like all state of a learner. They lie in
*runs*, sorted by user, each more than twice as long as the next: a batch is one more run, and runs
of alike lengths are merged. So n examples, one by one or in batches, take about log n passes over
each, in numpy, and a look-up takes one binary search a run.

Shapes: users uint64 (n, 2), in the order of their positions; chosen and wanted bool (n,).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.noise import Address, NoiseSource

Users = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]

# What the secret word of a user is for, in the address of its noise.
USER_PURPOSE: Final = "user-teacher"


@dataclass(frozen=True, slots=True)
class Run:
    """Different users, uint64 (2, n), in rising order, and their counts, uint32 (n,)."""

    users: Users
    counts: NDArray[np.uint32]

    def __len__(self) -> int:
        """Number of users."""
        return len(self.counts)

    def of(self, users: Users) -> Numbers:
        """The count of each user (m, 2), 0 for one that is not here; int64 (m,)."""
        found = np.zeros(len(users), dtype=np.int64)
        places = np.searchsorted(self.users[0], users[:, 0])
        asked = np.arange(len(users))
        while len(asked):  # again only for users that share their first word with another
            asked = asked[places[asked] < len(self)]
            at = places[asked]
            same = self.users[0, at] == users[asked, 0]
            equal = same & (self.users[1, at] == users[asked, 1])
            found[asked[equal]] = self.counts[at[equal]]
            asked = asked[same & ~equal]
            places[asked] += 1
        return found


@dataclass(frozen=True, slots=True)
class UserCounts:
    """Admitted examples of every user of a season; private."""

    runs: tuple[Run, ...] = ()

    def admitted(self, users: Users, wanted: Flags, most: int) -> Flags:
        """Which of the `wanted` examples are admitted, `most` being the most of one user."""
        chosen = np.zeros(len(users), dtype=np.bool_)
        places = np.flatnonzero(wanted)
        if not len(places):
            return chosen
        asking = users.take(places, axis=0)
        order, starts = _grouped(asking)
        sizes = np.diff(starts, append=len(order))
        left = most - self._of(asking[order[starts]]) + starts  # the first place that is too late
        chosen[places[order]] = np.arange(len(order)) < np.repeat(left, sizes)
        return chosen

    def plus(self, users: Users) -> "UserCounts":
        """These counts and one more for each of the users, a user as often as it is named."""
        if not len(users):
            return self
        order, starts = _grouped(users)
        sizes = np.diff(starts, append=len(order)).astype(np.uint32)
        new = Run(np.ascontiguousarray(users.take(order[starts], axis=0).T), sizes)
        runs = list(self.runs)
        while runs and len(runs[-1]) <= 2 * len(new):
            new = _merged(runs.pop(), new)
        return UserCounts((*runs, new))

    def whole(self) -> Run:
        """All counts as one run."""
        runs: Iterator[Run] = iter(self.runs[::-1])
        whole = next(runs, Run(np.zeros((2, 0), dtype=np.uint64), np.zeros(0, dtype=np.uint32)))
        for run in runs:
            whole = _merged(run, whole)
        return whole

    def _of(self, users: Users) -> Numbers:
        counts = np.zeros(len(users), dtype=np.int64)
        for run in self.runs:
            counts += run.of(users)
        return counts


def user_numbers(users: Users) -> Numbers:
    """A number for each user (n, 2), the same for all of a user's examples; int64 (n,)."""
    order, starts = _grouped(users)
    numbers = np.zeros(len(users), dtype=np.int64)
    numbers[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    return numbers


def user_words(users: Users, name: str, season: int, noise: NoiseSource) -> NDArray[np.uint64]:
    """The secret word of each example's user (n, 2), the same in the whole season; uint64 (n,).

    `name` is that of the learner. In the address the user stands in place of a record's head, as it
    has to be the same word for examples of different records.
    """
    numbers = user_numbers(users)
    _, firsts = np.unique(numbers, return_index=True)
    words = [np.zeros(0, dtype=np.uint64)]
    for first in firsts.tolist():
        head = users[first].astype("<u8").tobytes()
        words.append(noise.words(Address(head, name, USER_PURPOSE, season), 1))
    return np.concatenate(words)[numbers]


def _grouped(users: Users) -> tuple[Numbers, Numbers]:
    """Places of the examples by user, those of one user in their order; where each user begins."""
    order = np.argsort(users[:, 0], kind="stable")
    first, second = users[order, 0], users[order, 1]
    same_first, same_second = first[1:] == first[:-1], second[1:] == second[:-1]
    if (same_first & ~same_second).any():
        order = np.lexsort((users[:, 1], users[:, 0]))
        first, second = users[order, 0], users[order, 1]
        same_first, same_second = first[1:] == first[:-1], second[1:] == second[:-1]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = ~(same_first & same_second)
    return order, np.flatnonzero(begins)


def _merged(left: Run, right: Run) -> Run:
    """The counts of both, added up."""
    users = np.concatenate((left.users, right.users), axis=1)
    counts = np.concatenate((left.counts, right.counts))
    order, starts = _grouped(users.T)
    return Run(users[:, order[starts]], np.add.reduceat(counts[order], starts, dtype=np.uint32))
