"""Laboratory only: Lyu's Claims 6.1 to 6.4 and Lemmas 6.1 and 6.2, with their constants.

Source: L, section 6.2. The learner is the one that `selection = "paper"` plans, stepped here so
that its lists can be looked at; the streams are made up.

Two things are done. `Needed` is the constant C at which each statement is proven: the arguments of
the paper with every constant written out. `follow` runs the learner and holds each call against the
statements.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.laboratory.draws import words
from littled.laboratory.playing import in_order, planned, play
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.planner import OnlineRequest
from littled.planner.online.paper import FAILURE_EXPONENT, threshold_needed
from littled.planner.online.request import PaperConstants
from littled_protocol.columns import Labels, Points

# -- the constants at which the statements are proven --------------------------------------------


@dataclass(frozen=True, slots=True)
class Needed:
    """For one d and T: the constant C of K, k and U with which each statement is proven.

    claim_6_1, claim_6_2: of U. lists: of k, so that bottom hides a list. claim_6_4: of k, so that
    p(u) <= 1/100. lemma_6_1: of K, given the k of `lists`.
    """

    dimension: int
    horizon: float
    claim_6_1: float
    claim_6_2: float
    lists: float
    claim_6_4: float
    lemma_6_1: float
    mistakes: float


def constants_needed(
    dimension: int, horizon: float, epsilon: float, delta: float, list_cap: int
) -> Needed:
    """The constants for a class of this dimension whose lists have up to `list_cap` rules.

    A quarter of epsilon pays for either test and half of it for the draws, as paper mode divides
    it. K and the rate e of a draw depend on each other: K calls of R draws have e = sqrt(2 rho /
    (K R)), and by Claim 6.4 a stage ends after at most 1 + ln(1 / (100 p_min)) / ln 1.1 calls,
    where p_min = 1 / (1 + k L exp(e (k - B))), B = k / 10. So K is raised until it is enough.
    """
    d, log_t = dimension, math.log(horizon)
    failure = delta / (50 * (d + 1))
    kappa = math.log(1 / failure) / math.log(2)  # Lemma D for small rates, per unit of the rate
    trigger_rate = epsilon / 4 / kappa
    draws = math.ceil(log_t) | 1
    log_delta = math.log(1 / delta)
    rho = (math.sqrt(log_delta + epsilon / 2) - math.sqrt(log_delta)) ** 2
    calls = 1.0
    for _ in range(200):
        rate = math.sqrt(2 * rho / (calls * draws))
        bottom = 1 + math.log(list_cap * calls * draws * 20 / delta) / rate
        teachers = max(10 * bottom, math.log(99) / (17 / 30) / rate)
        exponent = rate * 0.9 * teachers + math.log(teachers * list_cap)
        calls = max(calls, (d + 1) * (1 + (exponent - math.log(100)) / math.log(1.1)))
    unit_k = d**3.5 * log_t * log_delta / epsilon
    unit_u = d**3 * max(math.log(d * log_t), 1.0) * teachers
    u_6_1 = 2 * (FAILURE_EXPONENT + 1) * log_t / trigger_rate
    c_6_2 = float(threshold_needed(d, math.ceil(min(horizon, 1e300))))
    return Needed(
        dimension=d,
        horizon=horizon,
        claim_6_1=u_6_1 / unit_u,
        claim_6_2=c_6_2,
        lists=10 * bottom / unit_k,
        claim_6_4=math.log(99) / (17 / 30) / rate / unit_k,
        lemma_6_1=calls / d**3,
        mistakes=(calls + 1) * 1.5 * max(c_6_2, u_6_1 / unit_u) * unit_u,
    )


def least_horizon(dimension: int, epsilon: float, delta: float, list_cap: int) -> Needed:
    """The constants at the least power of ten for T that Lemma 6.2's own bound is below."""
    horizon = 1e6
    while constants_needed(dimension, horizon, epsilon, delta, list_cap).mistakes > horizon:
        horizon *= 10
    return constants_needed(dimension, horizon, epsilon, delta, list_cap)


# -- Claim 6.2 by simulation ---------------------------------------------------------------------


def within(errors: NDArray[np.int64], sizes: NDArray[np.int64], d: int) -> bool:
    """Whether the shares of all teachers are within 1 +- 1/(5d) of each other (Claim 6.2)."""
    shares = errors / sizes
    return bool(shares.max() <= (1 + 1 / (5 * d)) * shares.min())


@dataclass(frozen=True, slots=True)
class Split:
    """How often a random split among k teachers kept to Claim 6.2, of some runs.

    rate: share of all mistakes on which the hypothesis errs; 0 for a single one.
    """

    share: int
    teachers: int
    rate: Fraction
    kept: int
    runs: int


def split(share: int, teachers: int, rate: Fraction, d: int, runs: int) -> Split:
    """Split `share` x `teachers` mistakes as the learner does, and look at one hypothesis."""
    count = share * teachers
    wrong = max(1, math.floor(count * rate))
    kept = 0
    for run in range(runs):
        number = (words(f"split {share} {rate}", run, count) % np.uint64(teachers)).astype(np.int64)
        sizes = np.bincount(number, minlength=teachers)
        errors = np.bincount(number[:wrong], minlength=teachers)
        kept += within(errors, sizes, d)
    return Split(share, teachers, rate, kept, runs)


# -- the learner, call by call -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One call of joint training: what the claims are about.

    mistakes: |E|. threshold: U. stage: j(u). bottom: p(u), exactly of this call's lists. nested:
    whether the lists' classes are as in Claim 6.3. most: largest number of lists with one rule.
    """

    mistakes: int
    threshold: int
    stage: int
    bottom: float
    nested: bool
    most: int


@dataclass(frozen=True, slots=True)
class Followed:
    """A run: its calls, mistakes and parameters."""

    calls: tuple[Call, ...]
    mistakes: int
    parameters: OnlineParameters
    halted: bool

    @property
    def claim_6_1(self) -> bool:
        """Every fire had more than U/2 and fewer than 3U/2 mistakes."""
        return all(c.threshold < 2 * c.mistakes < 3 * c.threshold for c in self.calls)

    @property
    def claim_6_3(self) -> bool:
        """H_i^(j + 1) lies in H_i'^j for all teachers, at every call."""
        return all(c.nested for c in self.calls)

    @property
    def claim_6_4(self) -> bool:
        """p(u) is at most 1/100, and grows by 1.1 unless the stage does."""
        growing = all(
            later.stage > call.stage or later.bottom >= 1.1 * call.bottom
            for call, later in zip(self.calls, self.calls[1:], strict=False)
        )
        return growing and all(c.bottom <= 0.01 for c in self.calls)

    @property
    def lemma_6_1(self) -> bool:
        """It did not run out of its K calls."""
        return not self.halted

    @property
    def lemma_6_2(self) -> bool:
        """At most (K + 1) 3U/2 mistakes."""
        p = self.parameters
        return 2 * self.mistakes <= 3 * (p.calls_max + 1) * p.trigger_threshold


def paper_learner(class_name: str, horizon: int, constants: PaperConstants) -> OnlineLearner:
    """The learner that `selection = "paper"` plans for (1, 1e-6); PlanError without a plan."""
    request = OnlineRequest("lab", class_from_name(class_name), selection="paper", paper=constants)
    return planned(request, horizon)


def follow(
    learner: OnlineLearner, stream: tuple[tuple[int, int], ...], seed: int, horizon: int
) -> Followed:
    """Run the learner on a fixed stream, each (point, label) in turn until it is learned.

    So every example that the learner sees is a mistake: what it labels rightly teaches it nothing.
    """
    turns = list(play(learner, in_order(learner.hypotheses, stream), horizon, seed))
    calls = [_call(learner, turn.state, turn.epoch_mistakes) for turn in turns if turn.called]
    last = turns[-1]
    return Followed(tuple(calls), last.mistakes, learner.parameters, last.state.halted)


def _call(learner: OnlineLearner, state: OnlineState, mistakes: int) -> Call:
    """What the claims say of the call that ended in this state."""
    p = learner.parameters
    votes = Counter(key for found in _lists(learner, state, state.stage) for key in set(found))
    rate, bottom = float(p.selection_rate), p.bottom_score
    weights = [math.exp(rate * (count - bottom)) for count in votes.values()]
    return Call(
        mistakes=mistakes,
        threshold=p.trigger_threshold,
        stage=state.stage,
        bottom=1 / (1 + math.fsum(weights)),
        nested=_nested(learner, state),
        most=max(votes.values(), default=0),
    )


def _lists(learner: OnlineLearner, state: OnlineState, stage: int) -> Iterator[list[Hashable]]:
    """The teachers' lists at this stage, each once more from the archive."""
    spaces = needed(learner.hypotheses.version_spaces)
    d = max(learner.hypotheses.littlestone_dimension, 1)
    tolerance = Fraction(1, 10) * (1 - Fraction(1, 5 * d)) ** stage
    for data_sets in zip(*_shares(learner, state), strict=True):
        yield spaces.essential_list(data_sets, tolerance, learner.parameters.list_cap)


def _shares(learner: OnlineLearner, state: OnlineState) -> list[list[tuple[Points, Labels]]]:
    """Of each epoch, the examples of each teacher: the secret word modulo k."""
    teachers = learner.parameters.teachers or 1
    found = []
    for epoch in state.archive:
        number = (epoch.teacher % np.uint64(teachers)).astype(np.int64)
        order = np.argsort(number, kind="stable")
        cuts = np.searchsorted(number[order], np.arange(1, teachers))
        x, y = np.split(epoch.x[order], cuts), np.split(epoch.y[order], cuts)
        found.append(list(zip(x, y, strict=True)))
    return found


def _nested(learner: OnlineLearner, state: OnlineState) -> bool:
    """Claim 6.3 for all rules of the class and all stages, by the errors of each teacher."""
    few = needed(learner.hypotheses.dense)
    d, teachers = max(learner.hypotheses.littlestone_dimension, 1), learner.parameters.teachers or 1
    numbers = [(e.teacher % np.uint64(teachers)).astype(np.int64) for e in state.archive]
    sizes = [np.bincount(number, minlength=teachers) for number in numbers]
    for index in range(few.rule_count):
        rule = few.rule(index)
        made = [
            np.bincount(number[rule.evaluate(epoch.x) != epoch.y], minlength=teachers)
            for number, epoch in zip(numbers, state.archive, strict=True)
        ]
        for stage in range(1, d + 1):
            outer, inner = (_is_in(made, sizes, d, j) for j in (stage, stage + 1))
            if inner.any() and not outer.all():
                return False
    return True


def _is_in(
    made: list[NDArray[np.int64]], sizes: list[NDArray[np.int64]], d: int, stage: int
) -> NDArray[np.bool_]:
    """For each teacher, whether a rule with these errors is in H_i^j: bool (teachers,)."""
    tolerance = Fraction(1, 10) * (1 - Fraction(1, 5 * d)) ** stage
    allowed = np.ones(len(sizes[0]), dtype=bool)
    for errors, size in zip(made, sizes, strict=True):
        allowed &= errors * tolerance.denominator <= size * tolerance.numerator
    return allowed
