"""Laboratory only: all rules of a class as experts, drawn privately; for streams that no rule fits.

Exponential weights with private draws: known, and not the learner of Li, Wang and Ye (arXiv
2510.00574), whose abstract promises a regret of about sqrt(T) for every Littlestone class. This one
is for classes that are a list of N rules.

The learner. Before example t it publishes a rule h_t, drawn with P[h] proportional to
exp(rate * agreements of h with examples 1..t-1), by `littled.mechanisms.exponential`. With
`hold` = B it draws before examples 1, B + 1, 2B + 1, ... and publishes the rule in between.

Privacy. Replacing an example changes each number of agreements of later draws by -1, 0 or 1. So a
draw is (rate^2 / 2)-zCDP (PRIVACY.md, section 4, dense selection), also if who chooses examples has
seen earlier draws, and all of them together cost ceil(T / B) rate^2 / 2.

Regret. Let p_t be the law of h_t, l_t(h) = 1 if h errs on example t, else 0, and L_t their sums.
The potential -ln(sum_h exp(-rate L_t(h))) / rate begins at -ln(N) / rate, ends at most at
min_h L_T(h), and grows by at least <p_t, l_t> - rate / 8 at step t (Hoeffding's lemma). So

    sum_t <p_t, l_t> <= min_h L_T(h) + ln(N) / rate + rate T / 8.

If example t may follow from h_1, ..., h_(t-1) but not from h_t, <p_t, l_t> is the chance of a
mistake given all that was before, and the bound holds for expected mistakes against adaptive
adversaries. With B > 1 the loss of a block is at most B, so the last term is rate B T / 8, and
nothing may follow from a rule that is still held: the bound is for oblivious adversaries only. The
largest rate that the budget allows is sqrt(2 rho B / T), rho that of (epsilon, delta): for a class
and a budget regret grows with sqrt(T).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.budget.conversion import guarantee, rho_of_epsilon
from littled.budget.events import DenseSelection, PrecisionLoss
from littled.budget.prices import price
from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.engine import Runner
from littled.laboratory.draws import key, uniforms, words
from littled.laboratory.playing import alone
from littled.mechanisms.exponential import ExponentialMechanism
from littled.planner import OnlineRequest, plan_stream
from littled_protocol.columns import point_type

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
# Rates are multiples of this.
RATE_STEP = Fraction(1, 1 << 30)

# Point and label of an example, from its number and the labels that the rule has which was
# published before it; None for the first example.
Adversary = Callable[[int, NDArray[np.bool_] | None], tuple[int, bool]]


def coins(seed: int, length: int, points: int) -> Adversary:
    """Uniform points and fair coins, whatever is published: the worst case up to constants."""
    drawn = (words("private experts points", seed, length) % np.uint64(points)).tolist()
    tossed = (uniforms("private experts coins", seed, length) < 0.5).tolist()
    return lambda t, _: (drawn[t], tossed[t])


def contrarian(seed: int, length: int, points: int) -> Adversary:
    """Uniform points; labels contradict the rule that was seen last."""
    examples = coins(seed, length, points)

    def choose(t: int, seen: NDArray[np.bool_] | None) -> tuple[int, bool]:
        x, coin = examples(t, None)
        return x, coin if seen is None else not seen[x]

    return choose


@dataclass(frozen=True, slots=True)
class Experts:
    """What is drawn: N rules, T examples, one draw for `hold` examples, and the rate of a draw."""

    rules: int
    horizon: int
    hold: int
    rate: Fraction

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return -(-self.horizon // self.hold)

    @property
    def guarantee(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) of all draws, replacing one example."""
        loss = self.draws * ExponentialMechanism(self.rate).total_variation(self.rules)
        spent = price(DenseSelection(self.rate, self.draws, "zcdp"))
        spent += price(PrecisionLoss(loss, EPSILON))
        return guarantee(spent, DELTA / 2)

    @property
    def bound(self) -> float:
        """Expected regret at most; adaptive adversaries included if `hold` is 1."""
        rate = float(self.rate)
        return math.log(self.rules) / rate + rate * self.hold * self.horizon / 8


def experts_for(rules: int, horizon: int, hold: int = 1) -> Experts:
    """The plan of (1, 1e-6) with the least bound."""
    rho = rho_of_epsilon(EPSILON, DELTA / 2)
    paid = math.sqrt(2 * float(rho) / -(-horizon // hold)) * (1 - 1e-9)
    useful = math.sqrt(8 * math.log(rules) / (hold * horizon))
    rate = Fraction(min(paid, useful)) // RATE_STEP * RATE_STEP
    return Experts(rules, horizon, hold, rate)


def best_hold(rules: int, horizon: int) -> int:
    """The number of examples a draw whose bound is least."""
    return min(range(1, 65), key=lambda hold: experts_for(rules, horizon, hold).bound)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mistakes of the published rules, and of the best rule in hindsight."""

    mistakes: int
    best: int

    @property
    def regret(self) -> int:
        """The difference."""
        return self.mistakes - self.best


def labels_of(class_name: str) -> NDArray[np.bool_]:
    """All rules of a class of thresholds or points on its points: (rules, points)."""
    hypotheses = class_from_name(class_name)
    few = needed(hypotheses.dense)
    domain = np.arange(few.rule_count - 1).astype(point_type(hypotheses.point_type).dtype)
    return np.array(
        [few.rule(index).evaluate(domain) for index in range(few.rule_count)], dtype=np.bool_
    )


def follow(labels: NDArray[np.bool_], experts: Experts, adversary: Adversary, seed: int) -> Outcome:
    """Draw and publish, learn an example, and so on."""
    mechanism = ExponentialMechanism(experts.rate)
    noise = words("private experts", seed, 4 * experts.draws).reshape(-1, 4)
    agreements = np.zeros(experts.rules, dtype=np.int64)
    published, seen, mistakes = labels[0], None, 0
    for t in range(experts.horizon):
        if t % experts.hold == 0:
            published = labels[mechanism.sample(agreements, noise[t // experts.hold])]
        x, y = adversary(t, seen)
        mistakes += int(published[x] != y)
        agreements += labels[:, x] == y
        seen = published
    return Outcome(mistakes, experts.horizon - int(agreements.max()))


def follow_capped(class_name: str, length: int, adversary: Adversary, seed: int) -> Outcome:
    """The same by the daemon's learner that is planned where nothing is told of the stream."""
    hypotheses, labels = class_from_name(class_name), labels_of(class_name)
    request = OnlineRequest("lab", hypotheses, adversary="none", nothing_told=True)
    runner = Runner(plan_stream(alone(request, length)), key(seed))
    dtype = point_type(hypotheses.point_type).dtype
    domain = np.arange(labels.shape[1]).astype(dtype)
    agreements = np.zeros(len(labels), dtype=np.int64)
    seen, version, mistakes = None, 0, 0
    for t in range(length):
        last = runner.published("lab")[-1]
        if last.version != version:
            version, published = last.version, last.rule.evaluate(domain).astype(np.bool_)
        x, y = adversary(t, seen)
        mistakes += int(published[x] != y)
        agreements += labels[:, x] == y
        runner.learn(np.array([x], dtype), np.array([y], np.uint8))
        seen = published
    return Outcome(mistakes, length - int(agreements.max()))
