"""An adversary that learns to tell two neighbouring windows apart by asking, and what it proves.

It knows both windows. In training games it asks at random, and counts what both windows answer.
From the counts it makes, by dynamic programming from the last answer back, the policy (which point
to ask next, after each sequence of answers) and the set of transcripts that tell the windows apart
best. Then it plays new games with this policy. How often the set came up on either side gives a
lower bound of epsilon (Clopper and Pearson): an answer that is dearer than its price is convicted.

All answers are those of the learner itself. A transcript of m answers about c points is a number
below (2c)^m: for each answer, the first one in front, 2 * number of the point + answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import shake_128
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from littled.classes.base import Labels, Points
from littled.learners.prediction import PredictionLearner, Prepared
from littled.mechanisms.noise import KEY_BYTES, Address, KeyedNoise, NoiseSource

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]
# For every answer and every transcript before it, the point to ask about.
Policy = tuple[Numbers, ...]
# Both windows.
Poison = tuple[tuple[Points, Labels], tuple[Points, Labels]]

# What a bound may be wrong with, both shares together.
DOUBT = 0.001
# Games whose answers are asked for together.
TOGETHER = 20_000
# Slopes, as shares of the claim, for which the training searches the best policy and set.
SLOPES = (0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2)


class QuickNoise:
    """Words of SHAKE-128 from key and address: as independent as the daemon's, and sooner there."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        stream = shake_128(self._key + address.to_bytes()).digest(8 * (offset + count))
        return np.frombuffer(stream, dtype="<u8")[offset:]


@dataclass(frozen=True)
class Game:
    """A learner as it runs, pairs of windows to choose from, and points to ask about.

    A game is `answers` answers from one window. Its answers are of one request each, in which many
    games are side by side, or with `one_request` its own request, answered point by point.
    """

    learner: PredictionLearner
    poisons: tuple[Poison, ...]
    points: Points
    answers: int
    source: Callable[[bytes], NoiseSource] = KeyedNoise
    noise: Callable[[NoiseSource], NoiseSource] = lambda source: source
    one_request: bool = False

    def play(
        self, poison: Poison, side: int, policy: Policy | None, games: int, seed: int
    ) -> Numbers:
        """The transcripts (games,) of new games on one side; without a policy points are random."""
        prepared = self.learner.prepare(*poison[side])
        noise = self.noise(self.source(seed.to_bytes(KEY_BYTES - 1, "big") + bytes([side])))
        random = np.random.default_rng((seed, side))
        found = []
        for batch, start in enumerate(range(0, games, TOGETHER)):
            codes = np.zeros(min(TOGETHER, games - start), dtype=np.int64)
            here = Address(batch.to_bytes(4, "big"), self.learner.name, "predict", 0)
            for level in range(self.answers):
                if policy is None:
                    chosen = random.integers(0, len(self.points), len(codes))
                else:
                    chosen = policy[level][codes]
                said = self._ask(prepared, self.points[chosen], noise, here, level)
                codes = codes * 2 * len(self.points) + 2 * chosen + said
            found.append(codes)
        return np.concatenate(found)

    def _ask(
        self, prepared: Prepared, points: Points, noise: NoiseSource, here: Address, level: int
    ) -> Labels:
        answer = self.learner.answer
        if not self.one_request:
            return answer(prepared, points, noise, replace(here, position=level))
        return np.concatenate([
            answer(prepared, points[j : j + 1], noise, replace(here, position=j, draw=level))
            for j in range(len(points))
        ])  # fmt: skip


@dataclass(frozen=True)
class Attack:
    """What a training came to: how to play, and the transcripts that speak for side `likely`."""

    poison: Poison
    policy: Policy
    convincing: NDArray[np.bool_]
    likely: int
    promised: float


@dataclass(frozen=True)
class Verdict:
    """How often a convincing transcript came up, of so many games, on the likely side and not."""

    hits: int
    false_hits: int
    games: int

    def epsilon(self, delta: float = 0.0) -> float:
        """A lower bound of epsilon at this delta; minus infinity where nothing is known."""
        return epsilon_at_least(self.hits, self.false_hits, self.games, delta)


def epsilon_at_least(hits: float, false_hits: float, games: int, delta: float) -> float:
    """log((p - delta) / r), p and r at the ends of intervals that both hold but for `DOUBT`."""
    tail = DOUBT / 2
    p = beta.ppf(tail, hits, games - hits + 1) if hits > 0 else 0.0
    r = beta.ppf(1 - tail, false_hits + 1, games - false_hits) if false_hits < games else 1.0
    return log((p - delta) / r) if p > delta else -np.inf


def audit(game: Game, claim: float, training: int, games: int, *, delta: float = 0.0) -> Verdict:
    """Train on every pair of windows, and play the most promising attack in so many new games."""
    attacks = [
        attack
        for number, poison in enumerate(game.poisons)
        for attack in _attacks(game, poison, claim, training, games, delta, 2 * number)
    ]
    best = max(attacks, key=lambda attack: attack.promised)
    hits = [
        int(best.convincing[game.play(best.poison, side, best.policy, games, 1)].sum())
        for side in (best.likely, 1 - best.likely)
    ]
    return Verdict(*hits, games)


def _attacks(
    game: Game, poison: Poison, claim: float, training: int, games: int, delta: float, seed: int
) -> Sequence[Attack]:
    size = (2 * len(game.points)) ** game.answers
    # answers given what was asked: every sequence of points is asked equally often
    asked = training / len(game.points) ** game.answers
    counts = [
        np.bincount(game.play(poison, side, None, training, seed + 2), minlength=size)
        for side in (0, 1)
    ]
    found = []
    for likely in (0, 1):
        # cautious, so that no transcript convinces by chance
        here, there = counts[likely], counts[1 - likely]
        p = np.maximum(here - np.sqrt(here), 0) / asked
        r = (there + np.sqrt(there) + 1) / asked
        for slope in SLOPES:
            gains = p - np.exp(slope * claim) * r
            convincing = gains > 0
            policy, mass = _best_policy(game, np.stack((gains, p, r)) * convincing)
            hits, false_hits = np.minimum(mass * games, games)
            promised = epsilon_at_least(hits, false_hits, games, delta)
            found.append(Attack(poison, policy, convincing, likely, promised))
    return found


def _best_policy(game: Game, leaves: Shares) -> tuple[Policy, Shares]:
    """The policy of greatest gain, and the shares of convincing transcripts (2,) on both sides.

    `leaves` (3, transcripts) are gains and both shares, 0 where a transcript does not convince.
    """
    policy: list[Numbers] = []
    for _ in range(game.answers):
        asked = leaves.reshape(3, -1, len(game.points), 2).sum(axis=3)
        chosen = asked[0].argmax(axis=1)
        policy.insert(0, chosen)
        leaves = asked[:, np.arange(len(chosen)), chosen]
    return tuple(policy), leaves[1:, 0]
