"""One learner and one way to divide the budget: what the plans of all ways have in common."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.values import EpochSettings, Keep
from littled.planner.bounds import TriggerNoise, draws_for_majority
from littled.planner.budgets import Budget
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import OnlineRequest
from littled.planner.online.sizes import CANDIDATES_MAX
from littled.planner.online.ways.base import Estimate, Way, estimated, preference
from littled.portable import LN2, log, log1p

# Background examples that a sparse learner keeps per epoch.
BACKGROUND_EXAMPLES = 1 << 14
BACKGROUND_EXAMPLES_NOISY = 1 << 16
# Where users are protected: what is kept of a user for the background cannot be kept for a mistake.
BACKGROUND_OF_USERS = 1 << 10
BACKGROUND_OF_USERS_NOISY = 1 << 13
BACKGROUND_BOTTOMS = 8
# Of what the trigger costs a user, the part that is for its threshold where rules are drawn among
# all: it is drawn a few times, and steps are many.
THRESHOLD_SHARE = Fraction(1, 4)
CALLS_MAX = 256
# Steps of a season whose noise alone may be expected to fire; each needs a spare call.
EXCEEDANCES = (0.01, 0.3, 2.0)
# Multiples of 1/e that a season's thresholds are tried at.
MARGINS = (1.0, 1.7, 2.7, 4.5)
# Steps between two mistakes, up to which estimates allow for early fires.
USUAL_PACE_STEPS = 1000
# Calls tried where nothing better is known than to try.
CALLS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
# Fresh selections cost nothing each, but the finite precision of each is counted.
FRESH_CALLS_MAX = 10_000
# Where users are protected, so many: each may have counted mistakes of users of its own.
FRESH_CALLS_OF_USERS_MAX = 300


@dataclass(frozen=True, slots=True)
class Draft:
    """One learner, one way and one way to divide the budget.

    `way` is the way's name, `selection` the word that its parameters have. `threshold_share`: of
    what a trigger costs a user, the part that is for the noise on its threshold; None for half.
    """

    request: OnlineRequest
    budget: Budget
    way: str
    selection: str
    threshold_share: Fraction | None = None

    @property
    def rates(self) -> tuple[Fraction, Fraction | None]:
        """The rate of the noise on the trigger's steps, and that on its threshold if it differs."""
        rate, share = self.budget.trigger_rate, self.threshold_share
        return (rate, None) if share is None else (2 * rate * (1 - share), 2 * rate * share)

    @property
    def trigger(self) -> TriggerNoise:
        """The trigger's noise."""
        rate, own_rate = self.rates
        own = None if own_rate is None else float(own_rate)
        return TriggerNoise(float(rate), self.budget.horizon, own)

    @property
    def fresh_calls(self) -> int:
        """Calls of a learner with fresh selections, which cost nothing each."""
        most = FRESH_CALLS_OF_USERS_MAX if self.budget.user_examples_max else FRESH_CALLS_MAX
        return min(most, self.budget.horizon)

    @property
    def whole_failure(self) -> float:
        """Failure probability of a bound that divides it itself."""
        return float(self.request.failure_probability)

    @property
    def failure(self) -> float:
        """Failure probability of each of the three parts of a bound."""
        return float(self.request.failure_probability) / 3

    def parameters(self, calls: int, threshold: float, **more: Any) -> OnlineParameters:
        """Parameters of `calls` calls; the selection's rate is 0 where the budget has no room."""
        draws = more.setdefault("draws", 1)
        more.setdefault("selection_rate", self.budget.selection_rate(calls * draws))
        trigger_rate, threshold_rate = self.rates
        return OnlineParameters(
            epsilon=self.budget.epsilon,
            horizon=self.budget.horizon,
            noise_rate=self.request.noise_rate,
            trigger_rate=trigger_rate,
            threshold_rate=threshold_rate,
            trigger_threshold=max(1, math.ceil(threshold)),
            selection=self.selection,
            selection_accounting=self.budget.accounting,
            calls_max=calls,
            user_examples_max=self.budget.user_examples_max,
            **more,
        )

    @property
    def endless(self) -> float:
        """Mistakes where somebody who sees each rule can go on for the whole season."""
        return float(self.budget.horizon)

    def made(
        self,
        parameters: OnlineParameters,
        expected: float,
        guaranteed: float | None,
        if_chosen: float | None = None,
    ) -> Estimate:
        """The plan with these parameters, and what it is expected to do."""
        if guaranteed is not None:
            guaranteed = min(guaranteed, float(self.budget.horizon))
        request = self.request
        plan = OnlinePlan(request.name, request.hypotheses, parameters, request.words)
        return estimated(self.way, plan, expected, guaranteed, self.budget, if_chosen)

    def majority_draws(self, deviation: float, failure: float) -> int:
        """R for a majority that is right everywhere up to `deviation`."""
        hypotheses = self.request.hypotheses
        return draws_for_majority(
            log_points(hypotheses.point_type), hypotheses.dual_vc_dimension, deviation, failure
        )

    @property
    def early(self) -> float:
        """Mistakes by which a fire usually comes before U."""
        return log(USUAL_PACE_STEPS) / self.trigger.rate

    def fresh(
        self,
        threshold: int,
        bottom: int,
        ladder: tuple[EpochSettings, ...],
        list_cap: int = 1,
        draws: int = 1,
        **more: Any,
    ) -> OnlineParameters:
        """Parameters of fresh selections, of which one is paid for and any number can be made."""
        parameters = self.sparse(
            1, threshold, list_cap, bottom, ladder=ladder, draws=draws, fresh=True, **more
        )
        return replace(parameters, calls_max=self.fresh_calls)

    def sparse(
        self,
        calls: int,
        threshold: float,
        list_cap: int,
        bottom: int,
        *,
        keep: Keep = "both",
        **more: Any,
    ) -> OnlineParameters:
        """Parameters of draws from lists; `keep` is for labels without noise."""
        keep = "examples" if self.request.noise_rate else keep
        return self.parameters(
            calls, threshold,
            buffer=keep,
            background_max=0 if keep == "mistakes" else self.background(calls, keep, bottom),
            list_cap=list_cap,
            bottom_score=bottom,
            **more,
        )  # fmt: skip

    def background(self, calls: int, keep: Keep, bottom: int) -> int:
        """Size of an epoch's background; half of the room for candidates is for mistakes."""
        noisy = bool(self.request.noise_rate)
        wanted = BACKGROUND_EXAMPLES_NOISY if noisy else BACKGROUND_EXAMPLES
        if self.budget.user_examples_max:
            least = BACKGROUND_OF_USERS_NOISY if noisy else BACKGROUND_OF_USERS
            wanted = min(wanted, max(least, BACKGROUND_BOTTOMS * bottom))
        room = CANDIDATES_MAX // (1 if keep == "examples" else 2)
        return min(wanted, room // (calls * proposals_per_example(self.request)))

    def by_calls(
        self, parameters: OnlineParameters, seen: float, choices: int, spare: float
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
        yield self.made(parameters, mistakes, None)


class TriggeredWay(Way):
    """A way whose epochs end once a trigger fires.

    `selection` is the word that its parameters have.
    """

    selection: ClassVar[str]
    # Of the shares of epsilon tried for a trigger, the largest that leaves enough to select. Where
    # users are protected a trigger costs more, and has more.
    trigger_share_max: ClassVar[float] = 0.5

    @abstractmethod
    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """Plans under this division of the budget, in any order."""

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """The drafts in order."""
        if budget.trigger_rate <= 0:
            return []
        if budget.trigger_share > self.trigger_share_max and not budget.unit.is_user:
            return []
        drafts = self.drafts(Draft(request, budget, self.name, self.selection))
        return sorted(drafts, key=preference)


def proposals_per_example(request: OnlineRequest) -> int:
    """Candidates that one kept example can add to a selection; 1 where it proposes no list."""
    proposing = request.hypotheses.proposing
    return 1 if proposing is None else proposing.proposals_per_example


def short_rate(rate: float) -> float:
    """A rate rounded down a little, so that tails are computed once for rates that are alike."""
    return float(f"{rate * 0.999:.3g}")


def log_points(point_type: str) -> float:
    """ln of the number of points of a type; infinite for rows, which have their dual bound."""
    bits = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "u128": 128}.get(point_type)
    return math.inf if bits is None else bits * LN2
