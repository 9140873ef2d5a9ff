"""What the learner is compared with: other methods on the same streams, at the same guarantee.

Every private baseline is (EPSILON, DELTA)-differentially private for the change of one labelled
example, over its whole output on the stream, as littled is: two streams are neighbours when they
differ at one position. Each docstring says where the method comes from, proves its guarantee with
the constants used, and says how its free parameters were chosen. Three choices favour baselines:

- where a tighter analysis than the published one is easy, it is used;
- noise is floating-point noise of numpy, at no charge for its precision;
- parameters that a bound does not settle come from a public grid. The best value is picked for
  each class and kind on streams with seeds of their own, and that tuning is not charged.

Two facts are used throughout. *Bounded range*: drawing with weights exp(-e * losses), where a
replaced example changes every loss by -1, 0 or 1, changes no log-ratio of probabilities by more
than an interval of width 2e; so a draw is (e^2 / 2)-zCDP (Cesar and Rogers, "Bounding,
Concentrating, and Truncating"; r^2 / 8 for range r) and pure 2e-DP. *Epochs*: if a stream is cut
into epochs, each of whose ends is a function of what was released before it, and an output of an
epoch uses that epoch's examples only, then a replaced example touches one epoch, and everything
costs what one epoch costs (parallel composition, which holds adaptively).
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.finite import FiniteClass, Labels, drawn_from, finite_class, finite_refusal
from benchmarks.learning.soa import lazy_mistakes
from benchmarks.learning.streams import (
    ADDRESS_BITS,
    AffineTarget,
    ConjunctionTarget,
    Numbers,
    Points,
    PrefixTarget,
    Stream,
    Target,
    canonical_subspace,
    parsed,
    reduced_basis,
)
from littled.budget.conversion import rho_of_epsilon

EPSILON = Fraction(1)
DELTA = Fraction(1, 10**6)
# Chance, aimed at, that a bound behind a choice of parameters fails somewhere in a stream.
FAILURE = 0.05
CHUNK = 1 << 16

Variant = Mapping[str, float | str]


@dataclass
class Outcome:
    """What a method did: positions of its mistakes in rising order, and how often it published."""

    wrong: list[Numbers] = field(default_factory=list)
    publications: int = 1

    def add(self, first: int, wrong: NDArray[np.bool_]) -> None:
        """Count a slice that begins at position `first`."""
        self.wrong.append(np.flatnonzero(wrong) + first)

    @property
    def positions(self) -> Numbers:
        """Positions of all mistakes."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.wrong])


class Baseline(ABC):
    """One method; `name` is short and stable, `title` is for people."""

    name: str
    title: str

    @abstractmethod
    def refusal(self, class_name: str) -> str | None:
        """Why the method does not apply to a class; None if it does."""

    def variants(self, class_name: str) -> tuple[Variant, ...]:
        """The public grid of parameters to choose from; one variant where bounds settle all."""
        return ({},)

    @abstractmethod
    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """Run on a stream."""


# --- 1. The lower line: no privacy ----------------------------------------------------------------


class StandardOptimal(Baseline):
    """The standard optimal algorithm or what equals it in closed form, without any privacy.

    Source: Littlestone, "Learning Quickly when Irrelevant Attributes Abound". Guarantee: none; the
    lower line of the comparison. It corrects itself after each mistake, so at most d happen.
    """

    name, title = "soa", "no privacy (SOA)"

    def refusal(self, class_name: str) -> str | None:
        """Applies to all."""
        return None

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """Deterministic."""
        wrong = lazy_mistakes(stream)
        return Outcome([np.array(wrong, dtype=np.int64)], 1 + len(wrong))


# --- 2. Exponential mechanism on a grid -----------------------------------------------------------


class PeriodicExponential(Baseline):
    """Exponential mechanism every fixed number of rounds, over all rules of a finite class.

    Source: McSherry and Talwar, "Mechanism Design via Differential Privacy".

    Guarantee: with `data` = "all", the K draws are adaptive and each sees every earlier example:
    K * e^2 / 2 of zCDP, and e = sqrt(2 rho / K) where rho is the largest that is (EPSILON, DELTA)
    by `littled.budget.conversion`. With `data` = "fresh", a draw sees only the examples since the
    draw before it (epochs), so all draws together cost what one costs, pure 2e = EPSILON.

    Calibration: by grid; the length of a period, and the data that a draw sees.
    """

    name, title = "exponential", "exponential mechanism, fixed periods"

    def refusal(self, class_name: str) -> str | None:
        """Finite classes only."""
        return finite_refusal(class_name)

    def variants(self, class_name: str) -> tuple[Variant, ...]:
        """Lengths of periods."""
        return (
            *({"every": every, "data": "all"} for every in (3000, 10_000, 30_000, 100_000)),
            *({"every": every, "data": "fresh"} for every in (300, 1000, 3000, 10_000, 30_000)),
        )

    def __init__(self, epsilon: Fraction = EPSILON) -> None:
        """`epsilon` is in the place of EPSILON above."""
        self.epsilon = epsilon

    def positions(self, horizon: int, variant: Variant) -> list[int]:
        """Public positions at which a rule is drawn."""
        return list(range(int(variant["every"]), horizon, int(variant["every"])))

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """Weigh the rules of the stream's class."""
        return self.run_on(finite_class(stream), stream.y, variant, rng)

    def run_on(
        self,
        rules: FiniteClass,
        labels: Labels,
        variant: Variant,
        rng: np.random.Generator,
        first_rule: int | None = None,
    ) -> Outcome:
        """Draw, predict a slice, count it; the first rule is drawn from no data, or given."""
        drawn = self.positions(len(labels), variant)
        fresh = variant["data"] == "fresh"
        composed = math.sqrt(2 * _rho(self.epsilon) / max(1, len(drawn)))
        rate = float(self.epsilon) / 2 if fresh else composed
        losses = rules.losses(rules.cells[:0], labels[:0])
        outcome, first = Outcome(publications=len(drawn) + 1), 0
        for end in [*drawn, len(labels)]:
            given = first_rule if first == 0 else None
            group = rules.drawn(losses, rate, rng) if given is None else given
            cells, y = rules.cells[first:end], labels[first:end]
            outcome.add(first, rules.labels(group, cells) != y)
            seen = rules.losses(cells, y)
            losses = seen if fresh else losses + seen
            first = end
        return outcome


class DoublingExponential(PeriodicExponential):
    """Exponential mechanism in epochs that double: as good as it gets when examples are i.i.d.

    Source and guarantee: as `PeriodicExponential`; the positions first, 2 first, 4 first, ... are
    as public. With "fresh" data each epoch's half of all examples so far buys the whole EPSILON.

    Calibration: by grid; the first position, and the data that a draw sees. Nothing corrects a rule
    before its epoch ends, so whoever orders the stream can make half of it wrong.
    """

    name, title = "doubling", "exponential mechanism, doubling epochs"

    def variants(self, class_name: str) -> tuple[Variant, ...]:
        """First positions."""
        return tuple(
            {"first": first, "data": data}
            for first in (32, 64, 128, 256, 512, 1024, 4096)
            for data in ("all", "fresh")
        )

    def positions(self, horizon: int, variant: Variant) -> list[int]:
        """Powers of two times the first."""
        first = int(variant["first"])
        return [
            first << number for number in range(horizon.bit_length()) if first << number < horizon
        ]


@cache
def _rho(epsilon: Fraction) -> float:
    """The largest rho that is (epsilon, DELTA)-DP."""
    return float(rho_of_epsilon(epsilon, DELTA))


# --- 3a. Experts in the realizable case -----------------------------------------------------------


@dataclass(frozen=True)
class SparseVectorPlan:
    """Parameters of `RealizableExperts`: draws K, their rate, and the threshold L on losses."""

    draws: int
    rate: float
    threshold: float


class RealizableExperts(Baseline):
    """Sparse vector and exponential mechanism, for experts one of which has no loss.

    Source: Asi, Feldman, Koren and Talwar, "Near-Optimal Algorithms for Private Online Optimization
    in the Realizable Regime" (ICML 2023), the algorithm for zero-loss experts: keep an expert until
    AboveThreshold says that its losses since it was drawn exceed L, then draw another with weights
    exp(-e * all losses so far), K = O(log N) times at the most.

    Guarantee: half of EPSILON for the sparse vector, half for the draws. Within an epoch the
    queries are counts of sensitivity 1; with Laplace noise 2/e1 on the threshold and 4/e1 on each
    query, fresh in each epoch, AboveThreshold is pure e1-DP for one epoch (Dwork and Roth, Theorem
    3.23), and for all of them, as an epoch's queries see that epoch only: e1 = EPSILON / 2. The K
    draws see everything: K * e^2 / 2 of zCDP (bounded range), (EPSILON / 2, DELTA)-DP by the exact
    conversion. After the K-th draw the expert stays. Together (EPSILON, DELTA).

    Calibration, by the published argument with its constants kept: except with probability FAILURE
    all noise together stays below a = (4 ln(T / f) + 2 ln(K / f)) / e1 (f = FAILURE / 3), so with
    L = a + c / e an expert has lost at least c / e when it is replaced, and at most L + a. Order
    experts by the time at which they lose c / e: against an oblivious adversary the drawn one is in
    the later half, by weight, with probability at least 1/2, and then at least half of the weight
    shrinks by exp(-c). So each draw shrinks the weight by (1 + exp(-c)) / 2 with probability 1/2,
    and ln N / -ln((1 + exp(-c)) / 2) such draws leave the perfect experts only. K is the number of
    draws that has so many successes except with probability f; c minimises K (c / e + 2 a).
    """

    name, title = "realizable-experts", "experts, realizable (AFKT, ICML 2023)"

    def refusal(self, class_name: str) -> str | None:
        """Finite classes only."""
        return finite_refusal(class_name)

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """One epoch after the other."""
        rules = finite_class(stream)
        plan = sparse_vector_plan(rules.log_count, len(stream))
        losses = rules.losses(rules.cells[:0], stream.y[:0])
        outcome, first = Outcome(), 0
        for draw in range(plan.draws + 1):
            group = rules.drawn(losses, plan.rate, rng)
            limit = plan.threshold if draw < plan.draws else math.inf
            end = _epoch(rules, stream.y, group, first, limit, rng, outcome)
            outcome.publications = draw + 1
            if end == len(stream):
                break
            losses = losses + rules.losses(rules.cells[first:end], stream.y[first:end])
            first = end
        return outcome


@cache
def sparse_vector_plan(log_count: float, horizon: int) -> SparseVectorPlan:
    """The plan with the smallest bound, over constants c from 0.25 to 8."""
    share = float(EPSILON) / 2
    failure = FAILURE / 3
    best: tuple[float, SparseVectorPlan] | None = None
    for constant in np.geomspace(0.25, 8, 31):
        successes = math.ceil(log_count / -math.log((1 + math.exp(-constant)) / 2))
        draws = _trials(successes, failure)
        noise = (4 * math.log(horizon / failure) + 2 * math.log(draws / failure)) / share
        rate = math.sqrt(2 * _rho(EPSILON / 2) / draws)
        bound = draws * (constant / rate + 2 * noise)
        if best is None or bound < best[0]:
            best = bound, SparseVectorPlan(draws, rate, noise + constant / rate)
    assert best is not None
    return best[1]


def _trials(successes: int, failure: float) -> int:
    """Fair coins among which, except with probability `failure`, at least so many show heads."""

    def too_few(trials: int) -> float:
        logs = [
            math.lgamma(trials + 1) - math.lgamma(heads + 1) - math.lgamma(trials - heads + 1)
            for heads in range(successes)
        ]
        return sum(math.exp(each - trials * math.log(2)) for each in logs)

    low, high = successes, 8 * successes + 64
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if too_few(middle) <= failure else (middle + 1, high)
    return high


def _epoch(
    rules: FiniteClass,
    y: Labels,
    group: int,
    first: int,
    threshold: float,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Predict until AboveThreshold fires on the losses, count them, and return where it ended."""
    wrong = _slices(len(y), first, lambda part: rules.labels(group, rules.cells[part]) != y[part])
    level = threshold + rng.laplace(0, 2 / (float(EPSILON) / 2))
    total = 0
    for at, mistakes in wrong:
        counts = total + np.cumsum(mistakes)
        total = int(counts[-1])
        if math.isfinite(threshold):
            noise = rng.laplace(0, 4 / (float(EPSILON) / 2), len(counts))
            fires = np.flatnonzero(counts + noise >= level)
            if len(fires):
                outcome.add(at, mistakes[: fires[0] + 1])
                return at + int(fires[0]) + 1
        outcome.add(at, mistakes)
    return len(y)


def _slices(
    count: int, first: int, of: Callable[[slice], NDArray[np.bool_]]
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """First positions and values of consecutive slices, lazily."""
    for at in range(first, count, CHUNK):
        yield at, of(slice(at, min(at + CHUNK, count)))


# --- 3b. Experts against oblivious adversaries ----------------------------------------------------


@dataclass(frozen=True)
class DartboardPlan:
    """Parameters of `ShrinkingDartboard`: step size, probability of a new dart, cap on darts."""

    step: float
    redraw: float
    draws: int


class ShrinkingDartboard(Baseline):
    """The private shrinking dartboard.

    Source: Asi, Feldman, Koren and Talwar, "Private Online Prediction from Experts: Separations and
    Faster Rates" (COLT 2023), after Geulen, Voecking and Winkler. Weights w(x) shrink by the factor
    1 - step with every loss. After each round the expert is kept with probability
    (1 - redraw) * w_new / w_old of its own weights, else drawn anew in proportion to the weights.
    Against an oblivious adversary its law at each round is the weights' own, so with a perfect
    expert the expected number of mistakes is at most ln N / step.

    Guarantee, with smaller constants than the published ones. Let one round's losses be replaced.
    (a) Whether the expert is kept looks at its loss in this round alone: 1 - redraw without a loss,
    (1 - redraw)(1 - step) with one. So only one such bit changes its law; a redraw has probability
    redraw against redraw + step (1 - redraw), a ratio of at most 1 + step (1 - redraw) / redraw,
    and keeping has the ratio 1 / (1 - step): pure e1-DP with e1 the larger logarithm. (b) A draw
    changes each weight by at most one factor 1 - step, up or down: bounded range 2 s with
    s = -ln(1 - step), s^2 / 2 of zCDP. There are at most `draws` of them, as after the last one the
    expert stays: draws * s^2 / 2. Together (EPSILON, DELTA) by e1 + e2 = EPSILON with e2 from the
    exact conversion of (b).

    Calibration: `draws` is four standard deviations above the expected number of redraws; e1 and
    redraw are searched for the largest step, which minimises the bound.
    """

    name, title = "dartboard", "experts, shrinking dartboard (AFKT, COLT 2023)"

    def refusal(self, class_name: str) -> str | None:
        """Finite classes only."""
        return finite_refusal(class_name)

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """From redraw to redraw; between two of them the expert is applied to a whole slice."""
        rules = finite_class(stream)
        plan = dartboard_plan(rules.log_count, len(stream))
        darts = _Darts(rules, stream.y, -math.log1p(-plan.step), rng)
        y, first, outcome = stream.y, 0, Outcome()
        while first < len(y):
            group = darts.thrown(first)
            last = outcome.publications > plan.draws
            end = len(y) if last else min(len(y), first + int(rng.geometric(plan.redraw)))
            wrong = rules.labels(group, rules.cells[first:end]) != y[first:end]
            if not last:
                missed = np.flatnonzero(wrong)
                left = missed[rng.random(len(missed)) < plan.step]
                wrong = wrong[: left[0] + 1] if len(left) else wrong
            outcome.add(first, wrong)
            first += len(wrong)
            outcome.publications += first < len(y)
        return outcome


class _Darts:
    """Draws from the weights of all examples up to a position, positions rising.

    The weights of an earlier position are kept: a draw from them, accepted with the probability
    exp(-rate * losses since then), has exactly the present law, and asks for one rule's losses.
    """

    TRIES_MAX = 3
    SINCE_MAX = 1 << 13

    def __init__(
        self, rules: FiniteClass, y: Labels, rate: float, rng: np.random.Generator
    ) -> None:
        """No example has been seen."""
        self.rules, self.y, self.rate, self.rng = rules, y, rate, rng
        self.position = 0
        self.losses = rules.losses(rules.cells[:0], y[:0])
        self.chances = rules.chances(self.losses, rate)

    def thrown(self, position: int) -> int:
        """A group, drawn from the weights after `position` examples."""
        part = slice(self.position, position)
        cells, y = self.rules.cells[part], self.y[part]
        for _ in range(self.TRIES_MAX if len(y) < self.SINCE_MAX else 0):
            group = drawn_from(self.chances, self.rng)
            since = np.count_nonzero(self.rules.labels(group, cells) != y)
            if self.rng.random() < math.exp(-self.rate * since):
                return group
        # whether the weights are brought up to date may depend on anything but the present draw
        self.losses = self.losses + self.rules.losses(cells, y)
        self.chances = self.rules.chances(self.losses, self.rate)
        self.position = position
        return drawn_from(self.chances, self.rng)


@cache
def dartboard_plan(log_count: float, horizon: int) -> DartboardPlan:
    """The largest step that fits, over shares of epsilon for the kept bit."""
    plans = []
    for percent in range(5, 96, 5):
        kept = float(EPSILON) * percent / 100
        rho = _rho(EPSILON * (100 - percent) / 100)
        low, high = 0.0, 0.5
        for _ in range(50):
            step = (low + high) / 2
            plan = _dartboard(step, kept, log_count, horizon)
            low, high = (step, high) if _dart_cost(plan) <= rho else (low, step)
        plans.append(_dartboard(low, kept, log_count, horizon))
    return max(plans, key=lambda plan: plan.step)


def _dartboard(step: float, kept: float, log_count: float, horizon: int) -> DartboardPlan:
    """The smallest redraw probability whose bit costs `kept`, and a cap for its draws."""
    redraw = step / (math.expm1(kept) + step)
    if -math.log1p(-step) > kept:
        redraw = 1.0
    # a mistake causes a redraw with probability `step`, and ln N / step of them are expected
    expected = horizon * redraw + log_count
    return DartboardPlan(step, redraw, math.ceil(expected + 4 * math.sqrt(expected)))


def _dart_cost(plan: DartboardPlan) -> float:
    return plan.draws * math.log1p(-plan.step) ** 2 / 2


# --- 4. Stable histograms -------------------------------------------------------------------------


class StableHistogram(Baseline):
    """A stable histogram of the missed ids, released when it is above its threshold.

    Source: Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing Search Queries and Clicks
    Privately"; Bun, Nissim and Stemmer, "Simultaneous Private Learning of Multiple Concepts".

    Within an epoch, count for each id the examples (id, 1) that the published set missed. At its
    end, add Laplace noise 2 / e2 to every count that is not 0, and add the ids with more than
    t = 1 + 2 ln(1 / DELTA) / e2 to the set. Epochs see their own examples only, so s additions cost
    what one does and nothing is composed.

    Guarantee of one histogram: a replaced example takes 1 from one count and adds 1 to another. A
    count that is 1 here and 0 there is released with probability DELTA / 2 (Laplace tail above
    t - 1). Outside of these at most two releases, one on each side, both counts cost e2 / 2:
    (e2, DELTA)-DP. `every`: epochs are `every` examples long, e2 = EPSILON. `threshold`: an epoch
    ends when AboveThreshold fires on the largest count, a query of sensitivity 1, with Laplace
    noise 2 / e1 and 4 / e1 as above; e1 = e2 = EPSILON / 2, and both are charged once.

    Calibration: by grid.
    """

    name, title = "histogram", "stable histogram of mistakes"

    def refusal(self, class_name: str) -> str | None:
        """Sets of ids only."""
        if parsed(class_name)[0] in ("points", "sparse_sets"):
            return None
        return "rules are not sets of ids"

    def variants(self, class_name: str) -> tuple[Variant, ...]:
        """Lengths of epochs, and thresholds."""
        return (
            *(
                {"every": every}
                for every in (100, 300, 1000, 3000, 10_000, 30_000, 60_000, 120_000)
            ),
            *({"threshold": threshold} for threshold in (60, 80, 100, 120, 140, 160)),
        )

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """Only positive examples can be missed, as a set grows by positive ids only."""
        positions = np.flatnonzero(stream.y)
        _, ids = np.unique(stream.x[positions], return_inverse=True)
        outcome, known = Outcome(), np.zeros(ids.max(initial=-1) + 1, dtype=bool)
        first = 0
        while first < len(stream):
            every = int(variant.get("every", len(stream)))
            begin, stop = np.searchsorted(positions, (first, first + every))
            missed = begin + np.flatnonzero(~known[ids[begin:stop]])
            if "every" in variant:
                end, share = first + every, float(EPSILON)
            else:
                share = float(EPSILON) / 2
                columns = (positions[missed], ids[missed])
                end = _fires(columns, (first, len(stream)), float(variant["threshold"]), share, rng)
            seen = missed[positions[missed] < end]
            outcome.wrong.append(positions[seen])
            counts = np.bincount(ids[seen], minlength=len(known))
            known |= np.isfinite(noisy_counts(counts, share, rng))
            outcome.publications += 1
            first = end
        return outcome


def noisy_counts(counts: Numbers, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """The released counts of one stable histogram, minus infinity where nothing is released."""
    noisy = counts + rng.laplace(0, 2 / epsilon, len(counts))
    threshold = 1 + 2 * math.log(1 / float(DELTA)) / epsilon
    return np.where((counts > 0) & (noisy > threshold), noisy, -np.inf)


def _fires(
    missed: tuple[Numbers, Numbers],
    limits: tuple[int, int],
    threshold: float,
    epsilon: float,
    rng: np.random.Generator,
) -> int:
    """Where AboveThreshold fires on the largest count of an id, or the stream's end.

    missed: positions and ids of the missed examples. limits: first position and end.
    """
    positions, ids = missed
    level = threshold + rng.laplace(0, 2 / epsilon)
    largest = np.maximum.accumulate(_occurrence(ids)) if len(ids) else ids
    largest = np.concatenate(([0], largest))
    for at in range(limits[0], limits[1], CHUNK):
        steps = np.arange(at, min(at + CHUNK, limits[1]))
        counts = largest[np.searchsorted(positions, steps, side="right")]
        fires = np.flatnonzero(counts + rng.laplace(0, 4 / epsilon, len(steps)) >= level)
        if len(fires):
            return at + int(fires[0]) + 1
    return limits[1]


def _occurrence(ids: Numbers) -> Numbers:
    """For every element how many times its id has occurred up to it."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.append(starts, len(ids)))
    number = np.arange(len(ids)) - np.repeat(starts, lengths) + 1
    result = np.empty_like(number)
    result[order] = number
    return result


# --- 5. Subsample and aggregate -------------------------------------------------------------------


class SubsampleAggregate(Baseline):
    """The smallest rules that disjoint parts of the data agree on, from a stable histogram.

    Source: Nissim, Raskhodnikova and Smith, "Smooth Sensitivity and Sampling in Private Data
    Analysis"; Thakurta and Smith, "Differentially Private Feature Selection via Stability".

    In every epoch of public length, example number t belongs to teacher t mod k. A teacher that has
    positive examples which the published rule says 0 to votes for the smallest rule around them and
    the published one. The votes are released by a stable histogram; the rule with the largest noisy
    count, if any, is published.

    Guarantee: a replaced example changes one teacher's vote in one epoch, as a replaced example of
    `StableHistogram` changes one id: (EPSILON, DELTA), and epochs cost what one does.

    Calibration: length of the epochs and number of teachers by grid.
    """

    name, title = "aggregate", "subsample and aggregate, fixed periods"

    def refusal(self, class_name: str) -> str | None:
        """Where sets of points have a smallest rule around them that is worth a vote."""
        if parsed(class_name)[0] in ("affine", "conjunctions", "prefixes"):
            return None
        return "weighing all rules, or counting ids, is stronger"

    def variants(self, class_name: str) -> tuple[Variant, ...]:
        """Epochs and teachers."""
        choices = ((250, 45), (500, 45), (1000, 45), (1000, 90), (2000, 45), (2000, 90), (5000, 90))
        return tuple({"every": every, "teachers": teachers} for every, teachers in choices)

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """Epoch by epoch; one without mistakes has no votes and publishes nothing."""
        every, teachers = int(variant["every"]), int(variant["teachers"])
        around = _AROUND[parsed(stream.class_name)[0]]
        published: Target | None = None
        outcome = Outcome()
        for first in range(0, len(stream), every):
            x, y = stream.x[first : first + every], stream.y[first : first + every]
            labels = np.zeros(len(x), dtype=bool) if published is None else published.labels(x)
            outcome.add(first, labels != y)
            missed = np.flatnonzero((y == 1) & ~labels)
            votes = Counter(
                around(x[missed[missed % teachers == teacher]], published)
                for teacher in np.unique(missed % teachers)
            )
            rules = list(votes)
            noisy = noisy_counts(
                np.array(list(votes.values()), dtype=np.int64), float(EPSILON), rng
            )
            if rules and np.isfinite(noisy.max()):
                published = rules[int(noisy.argmax())]
                outcome.publications += 1
        return outcome


def _hull(x: Points, published: Target | None) -> Target:
    """The affine hull of the points and the published subspace."""
    points = [int(each) for each in x]
    inside = published if isinstance(published, AffineTarget) else AffineTarget(points[0], ())
    basis = [*inside.basis, *(point ^ inside.offset for point in points)]
    return AffineTarget(*canonical_subspace(inside.offset, reduced_basis(basis)))


def _subcube(x: Points, published: Target | None) -> Target:
    """The smallest conjunction around the points and the published one."""
    every = int(np.iinfo(x.dtype).max)
    mask = ~int(np.bitwise_or.reduce(x) ^ np.bitwise_and.reduce(x)) & every
    values = int(x[0])
    if isinstance(published, ConjunctionTarget):
        mask &= published.mask & ~(published.values ^ values)
    return ConjunctionTarget(mask, values & mask)


def _block(x: Points, published: Target | None) -> Target:
    """The longest prefix that the points and the published block share."""
    if isinstance(published, PrefixTarget):
        x = np.concatenate((x, np.array([published.anchor], dtype=np.uint64)))
    differs = [int(each) for each in np.bitwise_or.reduce(x) ^ np.bitwise_and.reduce(x)]
    length = ADDRESS_BITS - (differs[0] << 64 | differs[1]).bit_length()
    if isinstance(published, PrefixTarget):
        length = min(length, published.length)
    first = (
        (int(x[0, 0]) << 64 | int(x[0, 1])) >> (ADDRESS_BITS - length) << (ADDRESS_BITS - length)
    )
    return PrefixTarget((first >> 64, first % 2**64), length)


_AROUND: dict[str, Callable[[Points, Target | None], Target]] = {
    "affine": _hull,
    "conjunctions": _subcube,
    "prefixes": _block,
}


# --- 6. DP-SGD ------------------------------------------------------------------------------------


class PrivateGradient(Baseline):
    """Online logistic regression by noisy gradient steps, one pass over minibatches.

    Source: Abadi et al., "Deep Learning with Differential Privacy"; Song, Chaudhuri and Sarwate,
    "Stochastic gradient descent with differentially private updates". Each step adds up the
    gradients of one batch, each clipped to Euclidean norm 1, and Gaussian noise. The label is 1
    where the linear score is positive. Features lie in -1..1, and there is a constant one.

    Guarantee: each example is in one batch only, and batches are epochs, so all steps cost what one
    costs: a Gaussian mechanism of sensitivity 2 (a clipped gradient is replaced). Its noise is the
    smallest that is (EPSILON, DELTA)-DP (Balle and Wang, "Improving the Gaussian Mechanism",
    Theorem 8), which is less than zCDP's conversion would ask for.

    Calibration: batch size and step size by grid; the step size falls as 1 / sqrt(step) or not.
    """

    name, title = "gradient", "DP-SGD, logistic regression"

    def refusal(self, class_name: str) -> str | None:
        """Where the target is linear in a few numbers."""
        if parsed(class_name)[0] in ("thresholds", "stumps", "conjunctions"):
            return None
        return "the target is not linear in the features of a point"

    def variants(self, class_name: str) -> tuple[Variant, ...]:
        """Batches and steps."""
        return tuple(
            {"batch": batch, "step": step, "decay": decay}
            for batch in (300, 1000)
            for step in (4.0, 16.0, 64.0)
            for decay in (0.0, 0.5)
        )

    def run(self, stream: Stream, variant: Variant, rng: np.random.Generator) -> Outcome:
        """Predict a batch with the weights published before it, then learn from it."""
        batch, outcome = int(variant["batch"]), Outcome()
        deviation = 2 * gaussian_deviation(float(EPSILON), float(DELTA))
        weights = np.zeros(0)
        for number, first in enumerate(range(0, len(stream), batch)):
            part = slice(first, first + batch)
            features, y = _features(stream, part), stream.y[part]
            weights = weights if len(weights) else np.zeros(features.shape[1])
            score = features @ weights
            outcome.add(first, (score > 0) != y)
            gradient = clipped_gradient(features, y, score)
            noisy = gradient + rng.normal(0, deviation, len(weights))
            step = float(variant["step"]) / (1 + number) ** float(variant["decay"])
            weights = weights - step * noisy / batch
            outcome.publications += 1
        return outcome


def _features(stream: Stream, part: slice) -> NDArray[np.float64]:
    """Numbers in -1..1 and a constant 1, (n, features + 1)."""
    family, numbers = parsed(stream.class_name)
    x = stream.x[part]
    if family == "conjunctions":
        columns = (x[:, None] >> np.arange(numbers[0], dtype=x.dtype) & x.dtype.type(1)) * 2.0 - 1
    else:
        columns = x.reshape(len(x), -1) * (2.0 / (numbers[-1] - 1)) - 1
    return np.concatenate((columns, np.ones((len(x), 1))), axis=1)


def clipped_gradient(
    features: NDArray[np.float64], y: Labels, score: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum of the logistic loss's gradients, each of norm at most 1."""
    slope = 0.5 * (1 + np.tanh(score / 2)) - y
    norm = np.abs(slope) * np.sqrt((features**2).sum(axis=1))
    gradient: NDArray[np.float64] = (slope / np.maximum(1, norm)) @ features
    return gradient


@cache
def gaussian_deviation(epsilon: float, delta: float) -> float:
    """Smallest standard deviation, for sensitivity 1, that is (epsilon, delta)-DP."""

    def normal(z: float) -> float:
        return math.erfc(-z / math.sqrt(2)) / 2

    low, high = 0.01, 1000.0
    for _ in range(200):
        s = (low + high) / 2
        spent = normal(1 / (2 * s) - epsilon * s) - math.exp(epsilon) * normal(
            -1 / (2 * s) - epsilon * s
        )
        low, high = (low, s) if spent <= delta else (s, high)
    return high


BASELINES: tuple[Baseline, ...] = (
    StandardOptimal(),
    PeriodicExponential(),
    DoublingExponential(),
    RealizableExperts(),
    ShrinkingDartboard(),
    StableHistogram(),
    SubsampleAggregate(),
    PrivateGradient(),
)
