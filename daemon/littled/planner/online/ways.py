"""Ways of selection: for each, the parameters with the fewest expected mistakes under a budget.

Every estimate is for a realizable stream (or one with the given noise rate) and is utility only.
`guaranteed` is a bound that holds but for the failure probability whatever oblivious realizable
stream comes (an adaptive one where that was asked for); it rests on `littled.planner.bounds` and is
None where nothing is proven.

Where users are protected, all of this is about streams in which no user makes the published rules
err more often than a season counts. What is kept of a user is soon used up if users give many
examples, so it is mistakes wherever that will do, and few others; a learner that needs examples of
every epoch ("fresh") has to be asked for.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from littled.learners.online.parameters import OnlineParameters, Rung
from littled.planner.bounds import (
    TriggerNoise,
    adaptive_lowering,
    calls_expected,
    calls_needed,
    draws_for_majority,
    fires_beyond,
    poisson_quantile,
)
from littled.planner.budgets import Budget
from littled.planner.online.histograms import Setting
from littled.planner.online.plan import LearnerPlan
from littled.planner.online.request import LearnerRequest, Way
from littled.planner.online.sizes import CANDIDATES_MAX, misfit
from littled.portable import LN2, log, log1p, log2
from littled_protocol import limits

# Background examples that a sparse learner keeps per epoch.
BACKGROUND_EXAMPLES = 1 << 14
BACKGROUND_EXAMPLES_NOISY = 1 << 16
# Where users are protected: what is kept of a user for the background cannot be kept for a mistake.
BACKGROUND_OF_USERS = 1 << 10
BACKGROUND_OF_USERS_NOISY = 1 << 13
BACKGROUND_BOTTOMS = 8
TEACHER_LIST_CAP = 256
CALLS_MAX = 256
# Steps of a season whose noise alone may be expected to fire; each needs a spare call.
EXCEEDANCES = (0.01, 0.3, 2.0)
# Multiples of 1/e that a season's thresholds are tried at.
MARGINS = (1.0, 1.7, 2.7, 4.5)
# A plan whose number of calls is proven to suffice is preferred to one with so much fewer mistakes.
UNPROVEN_FACTOR = 1.15
# Steps between two mistakes, up to which estimates allow for early fires.
USUAL_PACE_STEPS = 1000
# Calls tried where nothing better is known than to try.
CALLS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
# Examples that a teacher holds at the rungs of the ladder: a few, then parts of `closure_examples`.
CLOSURE_FEW = (2, 4)
CLOSURE_PARTS = (1.1, 2.2, 4.4)
# Fresh dense selections beyond the expected number, over which epochs grow by half of U each.
GROWTH_CALLS = 30
# Fresh selections cost nothing each, but the finite precision of each is counted.
FRESH_CALLS_MAX = 10_000
# Where users are protected, so many: each may have counted mistakes of users of its own.
FRESH_CALLS_OF_USERS_MAX = 300
# Share of teachers that come to the same closure once they hold `closure_examples` examples.
AGREEING_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Estimate:
    """A feasible plan of one learner with what it is expected to do in a season."""

    way: Way
    plan: LearnerPlan
    expected_mistakes: float
    guaranteed_mistakes: float | None


@dataclass(frozen=True, slots=True)
class Draft:
    """One learner, one way and one way to divide the budget: makes estimates."""

    request: LearnerRequest
    budget: Budget

    # -- what every way needs ----------------------------------------------------------------

    @property
    def trigger(self) -> TriggerNoise:
        """The trigger's noise."""
        return TriggerNoise(float(self.budget.trigger_rate), self.budget.horizon)

    @property
    def fresh_calls(self) -> int:
        """Calls of a learner with fresh selections, which cost nothing each."""
        most = FRESH_CALLS_OF_USERS_MAX if self.budget.user_examples_max else FRESH_CALLS_MAX
        return min(most, self.budget.horizon)

    @property
    def failure(self) -> float:
        """Failure probability of each of the three parts of a bound."""
        return float(self.request.failure_probability) / 3

    def estimate(self, way: Way) -> Estimate | None:
        """The best plan of this way within all limits, None if the budget pays for none."""
        return next((each for each in self.estimates(way) if misfit(each.plan) is None), None)

    def estimates(self, way: Way) -> list[Estimate]:
        """All plans of this way that the budget pays for, the best first."""
        if self.budget.trigger_rate <= 0:
            return []
        found: Iterator[Estimate]
        if way == "teachers":
            found = self._teachers()
        elif way == "histogram":
            found = self._histogram()
        elif self.request.noise_rate:
            found = self._noisy(way)
        elif way == "dense" and self.request.adversary == "adaptive":
            found = self._dense_adaptive()
        elif way == "dense":
            found = self._dense_mistakes() if self.budget.user_examples_max else self._dense()
        elif way == "fresh":
            found = self._dense_fresh()
        elif way == "sparse":
            found = self._proposed()
        else:
            found = self._closure()
        return sorted(found, key=preference)

    def _parameters(self, way: Way, calls: int, threshold: float, **more: Any) -> OnlineParameters:
        """Parameters of `calls` calls; the selection's rate is 0 where the budget has no room."""
        draws = more.setdefault("draws", 1)
        more.setdefault("selection_rate", self.budget.selection_rate(calls * draws))
        return OnlineParameters(
            epsilon=self.budget.epsilon,
            horizon=self.budget.horizon,
            noise_rate=self.request.noise_rate,
            trigger_rate=self.budget.trigger_rate,
            trigger_threshold=max(1, math.ceil(threshold)),
            selection="sparse" if way == "teachers" else way,  # type: ignore[arg-type]
            selection_accounting=self.budget.accounting,
            calls_max=calls,
            user_examples_max=self.budget.user_examples_max or None,
            **more,
        )

    def _made(
        self, way: Way, parameters: OnlineParameters, expected: float, guaranteed: float | None
    ) -> Estimate:
        if guaranteed is not None:
            guaranteed = min(guaranteed, float(self.budget.horizon))
        request = self.request
        plan = LearnerPlan(request.name, request.hypotheses, parameters, request.words)
        return Estimate(way, plan, expected, guaranteed)

    # -- dense -------------------------------------------------------------------------------

    def _dense(self) -> Iterator[Estimate]:
        """Oblivious adversary: one draw a call, the number of calls from its exact tail."""
        rules = log(self.request.hypotheses.rule_count or 1)
        trigger, failure = self.trigger, self.failure
        for exceedances in EXCEEDANCES:
            reach = trigger.reach(exceedances)
            spare = poisson_quantile(exceedances, failure)
            for margin in MARGINS:
                calls = self._enough_calls(rules, reach, margin, spare)
                if calls is None:
                    continue
                rate = float(self.budget.selection_rate(calls))
                threshold = math.ceil(reach + margin / rate)
                usual = fires_beyond(rules, _short(rate), threshold, trigger.rate)
                over = trigger.overshoot(calls, failure)
                yield self._made(
                    "dense",
                    self._parameters("dense", calls, threshold, buffer="examples"),
                    calls_expected(usual) * threshold,
                    (calls + 1) * (threshold + over),
                )

    def _dense_mistakes(self) -> Iterator[Estimate]:
        """Only the mistakes of published rules are remembered: what is kept of users lasts longer.

        They say nothing of rules that err elsewhere, so nothing is proven. About half of the rules
        that still fit are ruled out by the mistakes of one that was drawn; the number of calls that
        this takes strays by about its root.
        """
        halvings = log2(max(self.request.hypotheses.rule_count or 2, 2))
        for exceedances in EXCEEDANCES:
            spare = poisson_quantile(exceedances, self.failure)
            calls = math.ceil(1 + halvings + 3 * math.sqrt(halvings)) + spare
            rate = float(self.budget.selection_rate(calls))
            if rate <= 0:
                continue
            for margin in MARGINS:
                threshold = math.ceil(self.trigger.reach(exceedances) + margin / rate)
                made = self._parameters("dense", calls, threshold, buffer="mistakes")
                yield self._made("dense", made, (1 + halvings) * threshold, None)

    def _enough_calls(
        self, rules: float, reach: float, margin: float, spare: int, draws: int = 1
    ) -> int | None:
        """The least number of calls that suffices at the rate that it leaves for each."""
        calls = max(2, math.ceil(rules))
        while calls <= CALLS_MAX:
            rate = float(self.budget.selection_rate(calls * draws))
            if rate <= 0:
                return None
            seen = math.ceil(reach + margin / rate) - reach
            tails = fires_beyond(rules, _short(rate), round(seen, 1), self.trigger.rate)
            needed = calls_needed(tails, self.failure)
            if needed is None:
                return None
            if needed + spare <= calls:
                return calls
            calls = max(calls + 1, min(needed + spare, calls + calls // 2))
        return None

    def _dense_adaptive(self) -> Iterator[Estimate]:
        """Adaptive adversary: the majority of R draws, every fire lowers the weights for sure."""
        hypotheses = self.request.hypotheses
        rules = log(hypotheses.rule_count or 1)
        trigger, failure = self.trigger, self.failure
        for exceedances in EXCEEDANCES:
            reach, spare = trigger.reach(exceedances), poisson_quantile(exceedances, failure)
            for deviation in (1 / 12, 1 / 8, 1 / 6, 1 / 5, 1 / 4, 1 / 3):
                for reached in (0.5, 1.0, 2.0, 4.0, 8.0):
                    lowering = adaptive_lowering(1.0, reached, deviation)
                    calls = math.ceil(rules / lowering) + 1 + spare if lowering else CALLS_MAX + 1
                    draws = self._majority_draws(deviation, failure / calls)
                    if calls > CALLS_MAX or draws > limits.majority_members_max:
                        continue
                    rate = float(self.budget.selection_rate(calls * draws))
                    if rate <= 0:
                        continue
                    below = trigger.undershoot(calls, failure)
                    threshold = math.ceil(reach + below + reached / rate)
                    # what is proven needs the mistakes only
                    keep = "mistakes" if self.budget.user_examples_max else "examples"
                    made = self._parameters("dense", calls, threshold, buffer=keep, draws=draws)
                    most = (calls + 1) * (threshold + trigger.overshoot(calls, failure))
                    yield self._made("dense", made, (calls - spare) * threshold, most)

    def _dense_fresh(self) -> Iterator[Estimate]:
        """Fresh selections among all rules: one is paid for, any number can be made.

        A selection knows its own epoch only, which holds every example since the last one. The
        expected number of calls is that of a learner that remembers; a stream that goes round in
        three or more regions can make this one forget, so nothing is proven. Whenever there are
        more calls than expected, epochs were too short for what is to be learned: from then on
        each is longer than the last.
        """
        rules = log(self.request.hypotheses.rule_count or 1)
        rate = self.budget.selection_rate(1)
        if rate <= 0:
            return
        for exceedances, margin in product(EXCEEDANCES, MARGINS):
            threshold = math.ceil(self.trigger.reach(exceedances) + margin / float(rate))
            usual = fires_beyond(rules, _short(float(rate)), threshold, self.trigger.rate)
            calls = calls_expected(usual)
            growth = (math.ceil(threshold * (1 + step / 2)) for step in range(1, GROWTH_CALLS + 1))
            ladder = tuple(map(Rung, (*[threshold] * math.floor(calls), *growth)))
            parameters = self._parameters(
                "dense", 1, threshold, buffer="examples", fresh=True, ladder=ladder
            )
            parameters = replace(parameters, calls_max=self.fresh_calls)
            yield self._made("fresh", parameters, calls * threshold, None)

    def _majority_draws(self, deviation: float, failure: float) -> int:
        """R for a majority that is right everywhere up to `deviation`."""
        hypotheses = self.request.hypotheses
        return draws_for_majority(
            log_points(hypotheses.point_type), hypotheses.dual_vc_dimension, deviation, failure
        )

    # -- histograms --------------------------------------------------------------------------

    def _histogram(self) -> Iterator[Estimate]:
        """Every id that passes is flipped: points and sparse sets, by fresh selections.

        The ladder is the best of those that `littled.planner.online.histograms` tries. What is
        proven is for realizable streams, whoever chooses them, from the empty set on. Only members
        that the published set lacks are candidates then, so a call is never wrong. Let n be
        missing, and let a call come at a rung with U >= n s + b, where s = B + ln(1/f) / e and b is
        by how much a fire may come early: one missing member has s mistakes of the epoch, and
        passes but for the chance P[nu < B - s] <= f. A call that finds something is followed by the
        first rung. So with n missing the ladder is climbed no further than to this rung, and for
        every n there is one such climb at the most, each epoch of which takes U mistakes and the
        trigger's delay.

        With noise nothing is proven. Noise alone climbs the ladder then, so the last rung is
        reckoned with, and that honest noise strays by its standard deviation over a season.
        """
        noise, members = (
            float(self.request.noise_rate),
            self.request.hypotheses.littlestone_dimension,
        )
        rate = self.budget.histogram_rate(2 if noise else 1)
        if rate <= 0:
            return
        trigger, failure = self.trigger, self.failure / members
        bottom = self.budget.histogram_threshold(rate, apart=not noise)
        needed = bottom + log(1 / failure) / float(rate)
        below = trigger.undershoot(members, failure) + trigger.reach(EXCEEDANCES[0])
        setting = Setting(
            trigger.rate, float(rate), bottom, members, self.budget.horizon,
            last=math.ceil(members * needed + below),
        )  # fmt: skip
        expected, thresholds = setting.best_ladder()
        if noise:
            strays = math.sqrt(noise * (1 - noise) * self.budget.horizon)
            yield self._flipping(
                rate, bottom, thresholds, members * (thresholds[-1] + strays), None
            )
            return
        climbs = setting.climbs(needed, below, thresholds)
        most = float(sum(sum(thresholds[:rungs]) for rungs in climbs))
        most += trigger.delays(sum(climbs), failure)
        yield self._flipping(rate, bottom, thresholds, expected, most)

    def _flipping(
        self,
        rate: Fraction,
        bottom: int,
        thresholds: tuple[int, ...],
        expected: float,
        guaranteed: float | None,
    ) -> Estimate:
        """An estimate with a histogram; without noise the right examples need not be kept."""
        noise = self.request.noise_rate
        parameters = self._parameters(
            "histogram", 1, thresholds[0],
            buffer="examples" if noise else "mistakes",
            background_max=self._background(1, "examples", bottom) if noise else 0,
            bottom_score=bottom,
            ladder=tuple(Rung(each) for each in thresholds[1:]),
            fresh=True,
        )  # fmt: skip
        parameters = replace(parameters, calls_max=self.fresh_calls, selection_rate=rate)
        return self._made("histogram", parameters, expected, guaranteed)

    # -- sparse, one example a teacher -------------------------------------------------------

    def _fresh(
        self,
        way: Way,
        threshold: int,
        bottom: int,
        ladder: tuple[Rung, ...],
        list_cap: int = 1,
        draws: int = 1,
        **more: Any,
    ) -> OnlineParameters:
        """Parameters of fresh selections, of which one is paid for and any number can be made."""
        parameters = self._sparse(
            way, 1, threshold, list_cap, bottom, ladder=ladder, draws=draws, fresh=True, **more
        )
        return replace(parameters, calls_max=self.fresh_calls)

    def _proposed(self) -> Iterator[Estimate]:
        """Positive examples propose a path of rules each: prefixes, by fresh selections.

        A path is searched like the rules of a dense class; how often that can fail is modelled, not
        proven. Epochs without positive examples propose nothing, so the ladder lengthens them.
        """
        list_cap = self.request.hypotheses.proposals_per_example or 1
        draws = 1
        if self.request.adversary == "adaptive":
            draws = self._majority_draws(1 / 4, self.failure / 16)
        rate = self.budget.selection_rate(draws)
        if rate <= 0 or draws > limits.majority_members_max:
            return
        bottom = self.budget.bottom_score(list_cap, rate, draws, apart=True)
        threshold = math.ceil(bottom + 2 / rate + self._early)
        ladder = tuple(Rung(threshold << height) for height in (1, 2, 3))
        parameters = self._fresh("sparse", threshold, bottom, ladder, list_cap, draws)
        usual = fires_beyond(log(list_cap), _short(float(rate)), threshold, self.trigger.rate)
        yield self._made("sparse", parameters, calls_expected(usual) * threshold, None)

    @property
    def _early(self) -> float:
        """Mistakes by which a fire usually comes before U."""
        return log(USUAL_PACE_STEPS) / self.trigger.rate

    def _sparse(
        self, way: Way, calls: int, threshold: float, list_cap: int, bottom: int, **more: Any
    ) -> OnlineParameters:
        keep = "examples" if self.request.noise_rate else "both"
        if way in ("closure", "teachers") and keep == "both":
            keep = "mistakes"
        return self._parameters(
            way, calls, threshold,
            buffer=keep,
            background_max=0 if keep == "mistakes" else self._background(calls, keep, bottom),
            list_cap=list_cap,
            bottom_score=bottom,
            **more,
        )  # fmt: skip

    @property
    def _per_example(self) -> int:
        """Candidates that one kept example can add to a selection."""
        return self.request.hypotheses.proposals_per_example or 1

    def _background(self, calls: int, keep: str, bottom: int) -> int:
        """Size of an epoch's background; half of the room for candidates is for mistakes."""
        noisy = bool(self.request.noise_rate)
        wanted = BACKGROUND_EXAMPLES_NOISY if noisy else BACKGROUND_EXAMPLES
        if self.budget.user_examples_max:
            least = BACKGROUND_OF_USERS_NOISY if noisy else BACKGROUND_OF_USERS
            wanted = min(wanted, max(least, BACKGROUND_BOTTOMS * bottom))
        room = CANDIDATES_MAX // (1 if keep == "examples" else 2)
        return min(wanted, room // (calls * self._per_example))

    # -- sparse, closures --------------------------------------------------------------------

    def _closure(self) -> Iterator[Estimate]:
        """Teachers propose the closure of the published rule and of their own positive examples.

        What the published rule already says is not lost when older examples are forgotten, so
        selections are fresh. The ladder: first every example is a teacher of its own, which finds
        one part more when all mistakes agree on it; if that fails, a few examples each; then as
        many as usually span the whole target, and more. Expected mistakes are the worse of two
        streams, parts revealed one at a time and all at once; nothing is proven about others.
        """
        hypotheses = self.request.hypotheses
        parts, enough = hypotheses.littlestone_dimension, hypotheses.closure_examples
        rate = self.budget.list_rate(1, self.fresh_calls)
        if rate <= 0:
            return
        bottom = self.budget.list_bottom_score(rate, self.fresh_calls)
        votes = bottom + 2 / float(rate)
        teachers = math.ceil(votes / AGREEING_SHARE)
        threshold = math.ceil(votes + self._early)
        examples = (*CLOSURE_FEW, *(enough * part for part in CLOSURE_PARTS))
        ladder = tuple(Rung(max(threshold, math.ceil(m * teachers)), teachers) for m in examples)
        parameters = self._fresh("closure", threshold, bottom, ladder, selection_rate=rate)
        together = threshold + sum(
            each.trigger_threshold for each in ladder[: len(CLOSURE_FEW) + 1]
        )
        yield self._made("closure", parameters, max(parts * threshold, together), None)

    # -- sparse, k teachers (Algorithm 4) ----------------------------------------------------

    def _teachers(self) -> Iterator[Estimate]:
        """Algorithm 4 with Lemma B and bottom taken as Below; estimates are rough."""
        hypotheses, teachers = self.request.hypotheses, self.request.teachers or 2
        list_cap = min(TEACHER_LIST_CAP, hypotheses.rule_count or TEACHER_LIST_CAP)
        choices = hypotheses.rule_count or 1 << min(hypotheses.littlestone_dimension, 60)
        for calls in CALLS:
            rate = self.budget.list_rate(calls)
            if rate <= 0:
                break
            bottom = self.budget.list_bottom_score(rate, 1, list_cap * calls)
            margin = log(list_cap / self.failure) / float(rate)
            # a teacher's list is short once it holds a few examples, so all k need some
            seen = max(3.0 * teachers, bottom + margin)
            parameters = self._sparse(
                "teachers", calls, 1, list_cap, bottom, teachers=teachers, selection_rate=rate
            )
            yield from self._by_calls("teachers", parameters, seen, choices, spare=1.0)

    # -- noisy labels ------------------------------------------------------------------------

    def _noisy(self, way: Way) -> Iterator[Estimate]:
        """Labels that contradict every rule at the noise rate: heuristics, nothing proven."""
        hypotheses = self.request.hypotheses
        for calls in CALLS if way != "closure" else ():
            rate = self.budget.selection_rate(calls)
            if rate <= 0:
                break
            if way == "dense":
                parameters = self._parameters("dense", calls, 1, buffer="examples")
                yield from self._by_calls(way, parameters, 0.0, hypotheses.rule_count or 1, 6.0)
                continue
            list_cap = hypotheses.proposals_per_example or 1
            bottom = self.budget.bottom_score(list_cap, rate, calls)
            parameters = self._sparse("sparse", calls, 1, list_cap, bottom)
            seen = bottom + log(list_cap / self.failure) / float(rate)
            yield from self._by_calls(way, parameters, seen, list_cap, 6.0)

    def _by_calls(
        self, way: Way, parameters: OnlineParameters, seen: float, choices: int, spare: float
    ) -> Iterator[Estimate]:
        """Each needed call costs U and the trigger's own delay; too few calls cost dearly.

        U is what keeps noise alone quiet for a whole season and what a selection needs to see.
        """
        rate, trigger = float(parameters.selection_rate), self.trigger
        noise = float(self.request.noise_rate)
        # honest noise strays from its rate by about one standard deviation over a season
        quiet = trigger.reach(float(self.request.failure_probability))
        quiet += math.sqrt(noise * (1 - noise) * self.budget.horizon)
        threshold = math.ceil(quiet) + math.ceil(seen)
        needed = 1 + log(choices) / log1p(rate * threshold)
        calls = parameters.calls_max
        if calls < needed:
            return
        mistakes = needed * (threshold + 1 / trigger.rate)
        if calls < needed + spare:
            mistakes = 1e6 * needed * threshold
        parameters = replace(parameters, trigger_threshold=threshold)
        yield self._made(way, parameters, mistakes, None)


def preference(estimate: Estimate) -> float:
    """Fewest expected mistakes; a plan with a proven bound may have somewhat more."""
    proven = estimate.guaranteed_mistakes is not None
    return estimate.expected_mistakes * (1.0 if proven else UNPROVEN_FACTOR)


def _short(rate: float) -> float:
    """A rate rounded down a little, so that tails are computed once for rates that are alike."""
    return float(f"{rate * 0.999:.3g}")


def log_points(point_type: str) -> float:
    """ln of the number of points of a type; infinite for rows, which have their dual bound."""
    bits = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "u128": 128}.get(point_type)
    return math.inf if bits is None else bits * LN2
