"""What a stream has spent at which position, in the one number that people compare with a budget.

All of it is public: charges, positions and what is left are part of what a daemon shows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from littled.budget.price import Price
from littled.budget.spending import epsilon_of
from littled.engine import Runner


@dataclass(frozen=True, slots=True)
class Spending:
    """A budget over the positions of a stream. All numbers are epsilons at `delta`, but positions.

    budget, delta: of a season. steps: position and what was spent of its season from there on; the
    first of a new season begins anew. position: where the stream is. next_call: what one more rule
    of the first learner would add; None where it does not fit, or is not known.
    """

    budget: float
    delta: float
    steps: tuple[tuple[int, float], ...]
    position: int
    next_call: float | None = None

    @property
    def spent(self) -> float:
        """Of the season that is running."""
        return self.steps[-1][1] if self.steps else 0.0

    @property
    def left(self) -> float:
        """Of the season that is running; never below 0."""
        return max(0.0, self.budget - self.spent)


def spending_of(runner: Runner) -> Spending:
    """The spending of a stream in this process so far."""
    plan, steps = runner.plan, dict[int, float]()
    season, spent = -1, Price.zero()
    # the learners of a stream take turns, each with many examples: their charges are not in order
    entries = sorted(runner.transcript.entries, key=lambda entry: (entry.season, entry.position))
    for entry in entries:
        if entry.season != season:
            season, spent = entry.season, Price.zero()
        spent += entry.price
        # the last word at a position is what is spent there
        steps[entry.position] = epsilon_of(spent, plan.delta_z)
    learner = plan.publishing[0]
    following = runner.status()["learners"][learner.name]["next_call"]
    adds = following["epsilon"] if following is not None and following["fits"] else None
    return Spending(
        float(plan.epsilon), float(plan.delta), tuple(steps.items()), runner.position, adds
    )


def spending_of_statuses(statuses: Iterable[Mapping[str, Any]]) -> Spending:
    """The spending of a daemon's stream, by what it said of it, oldest first.

    statuses: `client.status()["streams"][name]`, as often as somebody has asked. ValueError for
    none, and for those of another daemon than one that says what is spent.
    """
    facts = list(statuses)
    if not facts or not all("epsilon_spent" in fact for fact in facts):
        raise ValueError("a budget needs at least one status of a stream, with epsilon_spent")
    steps = tuple((int(fact["position"]), float(fact["epsilon_spent"])) for fact in facts)
    last = facts[-1]
    return Spending(float(last["epsilon"]), float(last["delta"]), steps, steps[-1][0])
