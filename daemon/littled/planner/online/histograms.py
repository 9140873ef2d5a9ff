"""A model of histogram selection: how many mistakes a ladder of thresholds costs.

Utility only, in floating point: no price depends on it. Everything is about a realizable stream,
on which members of the target that the published set lacks are the only candidates.

**When the trigger fires.** With a mistake every `pace` steps, gaps U + rho - q fall by one every
`pace` steps, so the law of the mistakes at the fire, less U, is the same for every U that is large
enough. A slow pace means early fires: each step is one more chance for its noise.

**What an epoch shows.** n missing members share the M mistakes of an epoch by chance, as
independent examples would: each has M/n, give or take the root of M/n (1 - 1/n). A member with m
mistakes is found with probability P[nu >= B - m]. If none is found, the next rung of the ladder is
in force; else the first one is, and those that are left start from nothing.

**The worst stream that is reckoned with.** Members are revealed in groups of equal size, one group
after the other: one by one, all at once, and everything between; at a fast and at a slow pace; and
without a break, or after a time with nothing to learn, in which noise alone may climb the ladder.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from littled.portable import Floats, exp, exps, interpolated, log, logs, powers, total

# Steps from one mistake to the next: at once, and so slowly that noise has many chances between.
PACES = (1, 1000)
# Noise beyond this many multiples of 1/rate does not occur in the model.
NOISE_RANGE = 30
# Equally likely values that stand for the law of the mistakes at a fire.
FIRES = 9
# Deviations that stand for a normal law, with their weights (Gauss and Hermite, five nodes).
ROOTS = math.sqrt(5 - math.sqrt(10)), math.sqrt(5 + math.sqrt(10))
DEVIATIONS = np.array([-ROOTS[1], -ROOTS[0], 0.0, ROOTS[0], ROOTS[1]])
NEAR, FAR = (7 + 2 * math.sqrt(10)) / 60, (7 - 2 * math.sqrt(10)) / 60
WEIGHTS = np.array([FAR, NEAR, 8 / 15, NEAR, FAR])
# Up to here every size of a group is looked at, beyond it powers of two and the whole.
SIZES_ALL = 6
# Ladders that are tried: first thresholds, in multiples of 1/rate above B, and growth.
FIRST_MARGINS = (-1.0, 1.0, 3.0, 5.0, 7.0, 9.0, 12.0, 16.0)
GROWTHS = (1.4, 1.75, 2.25, 3.0)


@dataclass(frozen=True, slots=True)
class Setting:
    """A season of `horizon` steps with rates e_t of the trigger and e_s of the histogram.

    `bottom` is B; `last` the threshold that the ladder ends with, at the least.
    """

    trigger_rate: float
    rate: float
    bottom: int
    members: int
    horizon: int
    last: int

    def ladders(self) -> list[tuple[int, ...]]:
        """Thresholds, the first one of a season and those of the ladder, that are tried."""
        found = []
        for margin in FIRST_MARGINS:
            first = max(1, math.ceil(self.bottom + margin / self.rate))
            for growth in GROWTHS:
                climb = [first]
                while growth * climb[-1] < self.last:
                    climb.append(math.ceil(growth * climb[-1]))
                found.append((*climb, max(self.last, first)))
        return found

    def best_ladder(self) -> tuple[float, tuple[int, ...]]:
        """The least expected mistakes on the worst stream that is reckoned with, and its ladder."""
        ladders = self.ladders()
        return min(zip(self.expected_mistakes(ladders), ladders, strict=True))

    def expected_mistakes(self, ladders: Sequence[tuple[int, ...]]) -> list[float]:
        """Expected mistakes of a season on the worst stream that is reckoned with, of each ladder.

        All are worked out together, the short ones filled up with their last threshold.
        """
        rungs = np.array([len(thresholds) for thresholds in ladders])
        most = int(rungs.max())
        climbs = np.array([(*each, *[each[-1]] * (most - len(each))) for each in ladders])
        fired = np.stack([fires(self.trigger_rate, pace) for pace in PACES])
        seen = np.maximum(climbs[None, :, :, None] + fired[:, None, None, :], 1.0)
        starts = [self._start(thresholds) for thresholds in ladders]
        shares, worst = [np.zeros(seen.shape[:2])], np.zeros(len(ladders))
        sizes = [0.0]
        for size in group_sizes(self.members):
            value = self._until_found(size, seen, rungs, np.array(sizes), np.stack(shares))
            sizes.append(float(size))
            shares.append(value[:, :, 0] / size)
            for ladder, start in enumerate(starts):
                costs = value[:, ladder, : len(start)]
                dearest = max(float(costs[:, 0].max()), float(total(costs * start).max()))
                worst[ladder] = max(worst[ladder], dearest * self.members / size)
            if size == 1:  # between no member and one the expectation is linear
                shares[0] = shares[1]
        return [float(mistakes) for mistakes in worst]

    def _until_found(
        self, size: int, seen: Floats, rungs: NDArray[np.int64], sizes: Floats, shares: Floats
    ) -> Floats:
        """Expected mistakes until a group of this size is found, from each rung on.

        (paces, ladders, rungs), as `seen`, the mistakes of an epoch, is of (..., fires). `shares`
        (sizes, paces, ladders): what smaller groups cost, for each of their members.
        """
        per_member = seen / size
        spread = np.sqrt(per_member * (1 - 1 / size))[..., None] * DEVIATIONS
        found = total(passes(self.rate, self.bottom - per_member[..., None] - spread) * WEIGHTS)
        none = powers(1 - found, size)
        left = size - np.clip(size * found / np.maximum(1 - none, 1e-12), 1.0, size)
        after = interpolated(left, sizes, shares[..., None, None]) * left
        keeps = total(none) / FIRES
        value = total(seen + (1 - none) * after) / FIRES
        ends = value / np.maximum(1 - keeps, 1e-9)
        last = seen.shape[2] - 1
        value[:, :, last] = ends[:, :, last]
        for rung in reversed(range(last)):
            further = value[:, :, rung] + keeps[:, :, rung] * value[:, :, rung + 1]
            value[:, :, rung] = np.where(rung < rungs - 1, further, ends[:, :, rung])
        return value

    def _start(self, thresholds: tuple[int, ...]) -> Floats:
        """How likely each rung is in force after a share of the season with nothing to learn."""
        steps = self.horizon / self.members
        stays = [quiet(self.trigger_rate, threshold, steps) for threshold in thresholds[:-1]]
        climbed = np.cumprod([1.0, *(1 - stay for stay in stays)])
        return np.array([*(climbed[:-1] * stays), climbed[-1]])

    def needed(self, failure: float) -> list[int]:
        """Mistakes in an epoch of which one of n missing members is found, n = 1, 2, ...

        Except with this probability for each n. Of n m mistakes or more none is found with the
        greatest chance if all have m: ln P[nu < B - m] is concave in m, as is ln of the cumulative
        distribution of any law that is log-concave.
        """
        return [number * self._each(failure, number) for number in range(1, self.members + 1)]

    def _each(self, failure: float, number: int) -> int:
        """The least m for which P[nu < B - m] to the power of `number` is at most this."""
        most = self.bottom + math.ceil(-log(failure) / self.rate) + 1
        missed = log(failure) / number

        def found(each: int) -> bool:
            rest = self.bottom - each
            passed = float(passes(self.rate, np.array([float(rest)]))[0])
            return passed >= 1 or log(1 - passed) <= missed

        return bisect_left(range(most), True, key=found)

    def most_mistakes(
        self, needed: Sequence[int], early: float, thresholds: tuple[int, ...]
    ) -> tuple[float, int]:
        """Mistakes of a season at the most, but for the delays of its epochs, and these epochs.

        With n missing, an epoch of needed[n - 1] mistakes or more finds one: so one that finds none
        has fewer. It does not come to a rung whose threshold is above that by as much as an epoch
        may fire `early`.
        """
        mistakes, epochs = 0, 0
        for enough in needed:
            last = next(
                (rung for rung, each in enumerate(thresholds) if each >= enough + early),
                len(thresholds) - 1,
            )
            mistakes += sum(min(each, enough) for each in thresholds[:last]) + thresholds[last]
            epochs += last + 1
        return float(mistakes), epochs


def group_sizes(members: int) -> list[int]:
    """Sizes of groups that the model looks at, rising; the last one is all members at once."""
    sizes = {*range(1, min(members, SIZES_ALL) + 1), members}
    size = SIZES_ALL
    while size < members:
        sizes.add(size)
        size *= 2
    return sorted(sizes)


def passes(rate: float, gaps: Floats) -> Floats:
    """P[nu >= gap], interpolated between the integers."""
    beyond = exps(-rate * np.where(gaps > 0, gaps, 1 - gaps)) / (1 + exp(-rate))
    return np.where(gaps > 0, beyond, 1 - beyond)


@lru_cache(maxsize=256)
def fires(rate: float, pace: int) -> Floats:
    """`FIRES` equally likely values of the mistakes at a fire less the threshold U."""
    noise, weights, stays = _steps(rate)
    # no fire until the gap has come down to each value, from far above; then the fire at it
    alive = exps(pace * np.cumsum(stays[::-1])[::-1])
    fired = np.cumsum((np.append(alive[1:], 1.0) - alive)[::-1])
    numbers = np.arange(len(noise))

    def law(place: int) -> float:
        """The chance that noise and fire are together no further than at this place."""
        left = place - numbers
        return float(
            total(weights * np.where(left >= 0, fired[np.clip(left, 0, numbers[-1])], 0.0))
        )

    shares = [(number + 0.5) / FIRES for number in range(FIRES)]
    places = [bisect_left(range(2 * len(noise) - 2), share, key=law) for share in shares]
    offsets: Floats = np.array(places) - 2.0 * noise[-1]
    return offsets


@lru_cache(maxsize=4096)
def quiet(rate: float, threshold: int, steps: float) -> float:
    """The chance that so many steps without any mistake do not fire."""
    noise, weights, _ = _steps(rate)
    places = np.minimum(np.arange(len(noise)) + threshold, len(noise) - 1)
    return float(total(weights * _quiet_steps(rate, steps)[places]))


@lru_cache(maxsize=64)
def _quiet_steps(rate: float, steps: float) -> Floats:
    """P[no fire] of so many steps with each gap of `_steps`."""
    return exps(steps * _steps(rate)[2])


@lru_cache(maxsize=16)
def _steps(rate: float) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Values of the trigger's noise, their law, and ln P[no fire] of a step with such a gap."""
    reach = math.ceil(NOISE_RANGE / rate)
    noise = np.arange(-reach, reach + 1)
    weights = exps(-rate * np.abs(noise))
    return noise, weights / total(weights), logs(passes(rate, (1 - noise).astype(np.float64)))
