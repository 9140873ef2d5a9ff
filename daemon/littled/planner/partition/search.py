"""The plan of a partition learner: public times and sizes by public numbers, and what it takes.

With noise of rate e a count is off by about sqrt(2)/e. A part is divided from `DIVIDED` / e labels
of its rarer kind on, a block has to gain `BLOCK` / e examples, about what noise makes of a part
where nobody is, and the first epoch has `FIRST` / e examples, so that some of its parts hold more
than noise. Epochs then double up to a season's 32nd, and what is older counts less by an
eighth after each: as a sum that is the examples of a quarter of a season. Chosen on the first four
countries of `benchmarks/addresses.py`, where the optimum is flat; the others were kept to judge it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.partition import PartitionParameters
from littled.learners.partition.parameters import COST_MAX, DIVIDED_MAX, HORIZON_MAX, PARTS_MAX
from littled.planner.budgets import Budget
from littled.planner.capacity import MEMORY_BYTES_MAX, SNAPSHOT_BYTES_MAX, fits_a_frame
from littled.planner.partition.plan import PartitionPlan
from littled.planner.partition.request import PartitionRequest
from littled.planner.planning import Cost, Planning
from littled.planner.requests import PlanError, StreamRequest
from littled.portable import log
from littled_protocol import limits

DIVIDED, FIRST, BLOCK = 2, 2048, 4
# Epochs of a season once they no longer double, and the least that a first one is of a season.
EPOCHS, FIRST_SHARE = 32, 8
DECAY = Fraction(7, 8)
# With more noise in a count than so many of its examples, nothing can be seen.
NOISE_MAX = 0.05
WORTHWHILE_NOISE = 0.001
# A user's two words, and the count; twice while counts are merged.
USER_BYTES = 2 * 20
# A part: its addresses as Python numbers, its counts, its node while a rule is searched.
PART_BYTES = 1000


@dataclass(frozen=True, slots=True)
class PartitionEstimate:
    """A plan and the standard deviation that noise gives a count, in examples."""

    plan: PartitionPlan
    count_noise: float


class PartitionPlanning(Planning[PartitionRequest, PartitionEstimate, PartitionPlan]):
    """How partition learners are planned, and what they take."""

    has_trigger: ClassVar[bool] = False
    takes_less: ClassVar[str] = ""

    def check(self, request: PartitionRequest, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        if request.hypotheses.unions is None:
            raise PlanError(
                f"learner {request.name}: kind partition needs the class prefix_sets, not "
                f"{request.hypotheses.name}"
            )
        if not fits_a_frame(request.hypotheses, 1):
            raise PlanError(
                f"learner {request.name}: a rule of {request.hypotheses.name} does not fit into a "
                f"frame of {limits.frame_bytes_max:,} bytes; ask for fewer blocks"
            )
        if stream.horizon > HORIZON_MAX:
            raise PlanError(
                f"learner {request.name}: horizon may be at most {HORIZON_MAX:,} for prefix_sets"
            )

    def best(self, request: PartitionRequest, budget: Budget) -> PartitionEstimate | None:
        """The plan under one way to divide the budget; None if it is too small."""
        rate = budget.histogram_rate(1)
        if not rate * NOISE_MAX * budget.horizon > 0 or _deviation(rate) > (
            NOISE_MAX * budget.horizon
        ):
            return None
        first = max(1, min(math.ceil(FIRST / rate), budget.horizon // FIRST_SHARE))
        parameters = PartitionParameters(
            epsilon=budget.epsilon,
            horizon=budget.horizon,
            rate=rate,
            accounting=budget.accounting,
            schedule_first=first,
            schedule_cap=max(first, -(-budget.horizon // EPOCHS)),
            decay=DECAY,
            divided_from=min(DIVIDED_MAX, math.ceil(DIVIDED / rate)),
            block_cost=min(COST_MAX, math.ceil(BLOCK / rate)),
            parts_max=PARTS_MAX,
            user_examples_max=budget.user_examples_max,
        )
        plan = PartitionPlan(request.name, request.hypotheses, parameters, request.words)
        too_large = (
            self.snapshot_bytes_max(plan) > SNAPSHOT_BYTES_MAX
            or self.memory_bytes_max(plan) > MEMORY_BYTES_MAX
        )
        return None if too_large else PartitionEstimate(plan, _deviation(rate))

    def cost(self, request: PartitionRequest, estimate: PartitionEstimate) -> Cost:
        """The noise of a count."""
        return Cost(logarithm=log(estimate.count_noise))

    def is_worthwhile(
        self, request: PartitionRequest, estimate: PartitionEstimate, stream: StreamRequest
    ) -> bool:
        """Whether noise hides only small parts of the examples."""
        return estimate.count_noise <= WORTHWHILE_NOISE * stream.horizon

    def why_not(
        self, request: PartitionRequest, stream: StreamRequest, budgets: tuple[Budget, ...]
    ) -> str | None:
        """Why there is no plan: the budget, the horizon, or the users."""
        if any(self.best(request, budget) for budget in budgets):
            return None
        return (
            f"epsilon {float(stream.epsilon):g} is too small for counts of {stream.horizon:,} "
            "examples in blocks of addresses, or their users need too much memory; raise epsilon"
            " or the horizon"
        )

    def snapshot_bytes_max(self, plan: PartitionPlan) -> int:
        """Most bytes of the learner's state in a snapshot: parts, counts, the rule, and users."""
        p = plan.parameters
        users = 20 * p.horizon if p.user_examples_max is not None else 0
        of_part = 4 * 8 + -(-needed(plan.hypotheses.unions).bits // 4) + 8
        return p.parts_max * of_part + users + limits.frame_bytes_max + 4096

    def memory_bytes_max(self, plan: PartitionPlan) -> int:
        """About how much memory the learner takes: its state twice, and the search for a rule.

        Of the tables of nodes in one depth none has more numbers than there are parts below it.
        """
        p = plan.parameters
        users = USER_BYTES * p.horizon if p.user_examples_max is not None else 0
        tables = 8 * (needed(plan.hypotheses.unions).bits + 1) * p.parts_max
        return 2 * self.snapshot_bytes_max(plan) + users + PART_BYTES * p.parts_max + tables


def _deviation(rate: Fraction) -> float:
    """About the standard deviation of discrete Laplace noise."""
    return math.sqrt(2) / float(rate)
