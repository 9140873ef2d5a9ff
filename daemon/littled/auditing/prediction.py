"""Audits of learners that answer questions: an adversary that adapts, and what it proves.

It knows both windows. In training games it asks at random, and counts what both windows answer.
From the counts it makes, by dynamic programming from the last answer back, the policy (which point
to ask next, after each sequence of answers) and the set of transcripts that tell the windows apart
best. Then it plays new games with this policy. How often the set came up on either side gives a
lower bound of epsilon (`littled.auditing.bounds`): an answer that is dearer than its price is
convicted.

All answers are those of the learner itself. A transcript of m answers about c points is a number
below (2c)^m: for each answer, the first one in front, 2 * number of the point + answer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from littled.auditing.bounds import (
    DOUBT,
    SLOPES,
    Claim,
    Shares,
    Verdict,
    cautious,
    epsilon_at_least,
)
from littled.auditing.claims import claims_of
from littled.auditing.noise import derived_key, quick_words
from littled.auditing.streams import RIGHT_A, WRONG_A, Example, Scene
from littled.auditing.trials import Auditor, Finding
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.base import Labels, Points
from littled.learners.prediction import PredictionLearner, Prepared
from littled.mechanisms.noise import Address, KeyedNoise, NoiseSource
from littled.planner import StreamPlan
from littled.planner.prediction.plan import PredictionPlan

Numbers = NDArray[np.int64]
# For every answer and every transcript before it, the point to ask about.
Policy = tuple[Numbers, ...]
# Both windows.
Poison = tuple[tuple[Points, Labels], tuple[Points, Labels]]

# Games whose answers are asked for together.
TOGETHER = 20_000
# Answers of a game in an audit of a plan, points it may ask about, and the part of its games that
# the training has.
ANSWERS, ASKED, TRAINING_PART = 2, 2, 2
# Hears of games that were played.
Told = Callable[[int], None]


@dataclass(frozen=True)
class Game:
    """A learner as it runs, pairs of windows to choose from, and points to ask about.

    A game is `answers` answers from one window. Its answers are of one request each, in which many
    games are side by side, or with `one_request` its own request, answered point by point. All
    noise and all random questions follow from `key`.
    """

    learner: PredictionLearner
    poisons: tuple[Poison, ...]
    points: Points
    answers: int
    source: Callable[[bytes], NoiseSource] = KeyedNoise
    noise: Callable[[NoiseSource], NoiseSource] = lambda source: source
    one_request: bool = False
    key: bytes = b""
    told: Told = lambda _: None

    def play(
        self, poison: Poison, side: int, policy: Policy | None, games: int, seed: int
    ) -> Numbers:
        """The transcripts (games,) of new games on one side; without a policy points are random."""
        prepared = self.learner.prepare(*poison[side])
        key = derived_key(self.key, seed, side)
        noise = self.noise(self.source(key))
        found = []
        for batch, start in enumerate(range(0, games, TOGETHER)):
            codes = np.zeros(min(TOGETHER, games - start), dtype=np.int64)
            here = Address(batch.to_bytes(4, "big"), self.learner.name, "predict", 0)
            for level in range(self.answers):
                if policy is None:
                    chosen = self._at_random(derived_key(key, batch, level), len(codes))
                else:
                    chosen = policy[level][codes]
                label = self._ask(prepared, self.points[chosen], noise, here, level)
                codes = codes * 2 * len(self.points) + 2 * chosen + label
            found.append(codes)
            self.told(len(codes))
        return np.concatenate(found)

    def _at_random(self, key: bytes, count: int) -> Numbers:
        """Numbers (count,) of points, uniform up to 2^-32."""
        return (quick_words(key, count) % np.uint64(len(self.points))).astype(np.int64)

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


def audit(
    game: Game,
    claim: float,
    training: int,
    games: int,
    *,
    delta: float = 0.0,
    doubt: float = DOUBT,
) -> Verdict:
    """Train on every pair of windows, and play the most promising attack in so many new games."""
    attacks = [
        attack
        for number, poison in enumerate(game.poisons)
        for attack in _attacks(game, poison, claim, training, games, delta, 2 * number)
    ]
    best = max(attacks, key=lambda attack: attack.promised)
    hits, false_hits = (
        int(best.convincing[game.play(best.poison, side, best.policy, games, 1)].sum())
        for side in (best.likely, 1 - best.likely)
    )
    return Verdict(hits, false_hits, games, doubt)


def _attacks(
    game: Game, poison: Poison, claim: float, training: int, games: int, delta: float, seed: int
) -> Iterator[Attack]:
    size = (2 * len(game.points)) ** game.answers
    # answers given what was asked: every sequence of points is asked equally often
    asked = training / len(game.points) ** game.answers
    counts = [
        np.bincount(game.play(poison, side, None, training, seed + 2), minlength=size).astype(float)
        for side in (0, 1)
    ]
    for likely in (0, 1):
        p, r = cautious(counts[likely], counts[1 - likely], asked)
        for slope in SLOPES:
            gains = p - np.exp(slope * claim) * r
            convincing = gains > 0
            policy, mass = _best_policy(game, np.stack((gains, p, r)) * convincing)
            hits, false_hits = np.minimum(mass * games, games)
            promised = epsilon_at_least(hits, false_hits, games, delta)
            yield Attack(poison, policy, convincing, likely, promised)


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


# -- audits of plans -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PredictionSubject:
    """The audit of one learner that answers questions, by games of `ANSWERS` answers."""

    name: str
    learner: PredictionLearner
    claims: tuple[Claim, ...]
    poisons: tuple[Poison, ...]
    points: Points
    private: bool = True
    usual_runs: int = 4_000

    @property
    def what(self) -> str:
        """Which class answers, and how."""
        p = self.learner.parameters
        return f"{self.learner.hypotheses.name}, {p.method}, {ANSWERS} answers"

    def runs_needed(self, runs: int) -> int:
        """Games in all, with so many that decide on each side."""
        return 2 * (len(self.poisons) * (runs // TRAINING_PART) + runs)

    def audited(self, auditor: Auditor, key: bytes, runs: int) -> Finding:
        """Train on all windows, and decide by new games."""
        game = Game(self.learner, self.poisons, self.points, ANSWERS, key=key, told=auditor.told)
        claim = self.claims[0]
        training = runs // TRAINING_PART
        verdict = audit(game, claim.epsilon, training, runs, delta=claim.delta, doubt=auditor.doubt)
        return Finding(self, "an adversary that adapts", verdict)


def prediction_subject(plan: StreamPlan, learner: PredictionPlan, name: str) -> PredictionSubject:
    """The audit of one learner of a plan; its claim is the price of the answers of one game."""
    made = learner.learner(plan.stream)
    loss = Price(Fraction(0), Fraction(0), ANSWERS * made.precision_error())
    scene = Scene.of(made.hypotheses)
    return PredictionSubject(
        name,
        made,
        claims_of(price(made.answers_event(ANSWERS)) + loss, plan.delta_z),
        tuple(windows(scene, made)),
        scene.points[:ASKED],
    )


def windows(scene: Scene, learner: PredictionLearner) -> Iterator[Poison]:
    """Pairs of windows whose first example has the one label or the other.

    Without chunks: about half of all labels are wrong, or all. With k chunks (example i is in chunk
    i modulo k) the first one is as undecided as it can be, and half of the others vote for either
    label, or all for one.
    """
    p, k = learner.parameters, learner.parameters.chunks
    if k is None or p.method == "relabelling":
        for wrong in sorted({p.window // 2, p.window // 2 + 1, p.window}):
            rest = [WRONG_A] * (wrong - 1) + [RIGHT_A] * (p.window - wrong)
            yield _poison(scene, rest)
        return
    others = len(range(k, p.window, k))
    for wrong, voting in product(sorted({others // 2, (others + 1) // 2}), (k // 2, k - 1)):
        undecided = [WRONG_A] * wrong + [RIGHT_A] * (others - wrong)
        yield _poison(
            scene,
            [(0, i % k <= voting) if i % k else undecided[i // k - 1] for i in range(1, p.window)],
        )


def _poison(scene: Scene, rest: list[Example]) -> Poison:
    pair = scene.pair("", WRONG_A, RIGHT_A, rest)
    return (pair.x[0], pair.y[0]), (pair.x[1], pair.y[1])
