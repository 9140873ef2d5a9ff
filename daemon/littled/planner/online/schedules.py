"""Plans for independent examples: epochs that end at public times, and nothing spent on a trigger.

With `adversary = "none"` nobody has chosen the order: examples are independent draws from one law.
A learner then publishes after first, 2 first, 4 first, ... examples of a season. Its selections are
fresh, and one of them has the whole budget. As epochs double, each sees half of all examples so
far, and what a selection does not know yet costs little until the next.

Estimates of mistakes are utility only:

- *Found.* Something has to outweigh bottom once, and until then the positive examples are mistakes.
  What is published stays, so it is found for good. A dense selection has no bottom.
- *Error.* A rule that errs on a share p of the examples weighs (1 - c p)^n of one without errors
  after n examples, on average, with c = 1 - exp(-e). If the N rules have shares spread evenly over
  0..1, as thresholds have on even points, the mean error of a drawn rule is about
  N / (c n (N + c n)). If all but one err on half of the examples, it is half the chance that one of
  these is drawn. The worse of the two is taken.

**What is proven.** If some rule fits all examples, a dense selection from n of them errs on a share
of at most (1 + ln N) / (c n) in the mean, whatever the N rules are and however examples are
distributed. Proof: let a rule h weigh w(h) = exp(-e errors(h)), at least 1 in all. So for every x
the drawn rule has a share above x with probability at most the sum of E w(h) over the rules with
such a share, N exp(-c n x) at most; and the integral of min(1, N exp(-c n x)) over x is
(1 + ln N) / (c n).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from littled.learners.online.parameters import OnlineParameters, scheduled_calls
from littled.planner.budgets import Budget
from littled.planner.online.histograms import passes
from littled.planner.online.plan import LearnerPlan
from littled.planner.online.request import LearnerRequest, Way
from littled.planner.online.sizes import CANDIDATES_MAX
from littled.planner.online.ways import BACKGROUND_EXAMPLES_NOISY, Estimate
from littled.portable import exp, exps, log, power, total

# The ways whose epochs can follow a schedule.
SCHEDULED_WAYS: tuple[Way, ...] = ("fresh", "sparse", "closure", "histogram")
# Mistakes that an epoch keeps at the most, or examples where these propose paths of rules.
MISTAKES_MAX = 1 << 20
KEPT_EXAMPLES = 1 << 15
# Where users are protected, as each epoch may keep mistakes of users of its own.
MISTAKES_OF_USERS_MAX = 1 << 18
# The share of mistakes before anything is found that `first` is chosen for.
USUAL_SHARE = 0.5
# First ends of an epoch that are tried: powers of the fourth root of 2, up to 2^22.
FIRST_STEPS, FIRST_DOUBLINGS = 4, 22
# Shares of mistakes among which a bad stream has the worst, as powers of the same root. Estimates
# repeat with every halving of the share, as epochs double.
SHARES = tuple(power(2.0, -step / FIRST_STEPS) for step in range(FIRST_STEPS, 3 * FIRST_STEPS + 1))
# Shares of teachers that a closure may need, of those that would outweigh bottom.
TEACHERS_PARTS = (1.1, 1.2, 1.35, 1.6)
# Quantiles 1/64, 3/64, ... of the normal law, by which a mean over a binomial law is taken.
UPPER_QUANTILES = (
    0.03917608550309763, 0.1177698745790953, 0.19709908429431233, 0.27769043982157676,
    0.3601298917895694, 0.44509652498551633, 0.5334097062412806, 0.6260990123464212,
    0.7245143834923653, 0.8305108782053992, 0.9467817563010457, 1.0775155670402803,
    1.229858759216589, 1.4177971379962673, 1.6759397227734438, 2.1538746940614564,
)  # fmt: skip
QUANTILES = np.array([*(-each for each in reversed(UPPER_QUANTILES)), *UPPER_QUANTILES])

Share = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class ScheduledDraft:
    """One learner on independent examples, one way and one way to divide the budget."""

    request: LearnerRequest
    budget: Budget

    def estimate(self, way: Way) -> Estimate | None:
        """The best plan of this way, None if the budget pays for none."""
        made = {
            "fresh": self._dense,
            "sparse": self._proposed,
            "closure": self._closure,
            "histogram": self._histogram,
        }[way]
        return None if self._rate <= 0 else made()

    @property
    def _alone(self) -> Budget:
        """The budget without a trigger.

        Pure sums of learners may be divided as one likes. Where several are converted together,
        what others spend on their triggers stays unspent here.
        """
        if self.budget.accounting == "pure" or self.budget.share == 1:
            return replace(self.budget, trigger_share=0.0)
        return self.budget

    @property
    def _rate(self) -> Fraction:
        """e of the one selection that is paid for."""
        return self._alone.selection_rate(1)

    @property
    def _most_calls(self) -> int:
        """Calls of the schedule with the most of them."""
        return scheduled_calls(1, self.budget.horizon)

    @property
    def _decay(self) -> float:
        """By how much a wrong prediction lowers a rule's weight on average: c.

        A noisy label raises it instead. Above ln((1 - noise) / noise) / 2 a larger e is of no use:
        the likeliest rule is the drawn one then, and noise decides which it is.
        """
        rate, noise = float(self._rate), float(self.request.noise_rate)
        if noise:
            rate = min(rate, log((1 - noise) / noise) / 2)
        return 1 - (1 - noise) * exp(-rate) - noise * exp(rate)

    @property
    def _kept(self) -> int:
        """Examples of an epoch that single ones propose from."""
        most = CANDIDATES_MAX // (self.request.hypotheses.proposals_per_example or 1)
        return min(BACKGROUND_EXAMPLES_NOISY if self.request.noise_rate else KEPT_EXAMPLES, most)

    @property
    def _mistakes(self) -> int:
        """Mistakes that an epoch keeps at the most."""
        return MISTAKES_OF_USERS_MAX if self.budget.user_examples_max else MISTAKES_MAX

    def _made(self, way: Way, first: int, expected: float, **more: Any) -> Estimate:
        """The plan with epochs from `first` on."""
        more.setdefault("selection_rate", self._rate)
        request, horizon = self.request, self.budget.horizon
        parameters = OnlineParameters(
            epsilon=self.budget.epsilon,
            horizon=horizon,
            noise_rate=request.noise_rate,
            trigger_rate=Fraction(0),
            trigger_threshold=0,
            selection="dense" if way == "fresh" else way,  # type: ignore[arg-type]
            selection_accounting=self.budget.accounting,
            draws=1,
            calls_max=scheduled_calls(first, horizon),
            fresh=True,
            schedule_first=first,
            user_examples_max=self.budget.user_examples_max or None,
            **more,
        )
        plan = LearnerPlan(request.name, request.hypotheses, parameters, request.words)
        return Estimate(way, plan, expected, None)

    def _dense(self) -> Estimate:
        """All rules by weight; mistakes beyond the noise rate."""
        rules, horizon = float(self.request.hypotheses.rule_count or 1), self.budget.horizon
        first, expected = planned(horizon, "dense", (rules, self._decay))
        return self._made("fresh", first, expected, buffer="examples")

    def _proposed(self) -> Estimate:
        """The path of rules that positive examples propose; negative ones veto."""
        list_cap = self.request.hypotheses.proposals_per_example or 1
        bottom = self.budget.bottom_score(list_cap, self._rate, 1)
        kept = self._kept
        facts = float(list_cap), self._decay, float(self._rate), float(bottom), float(kept)
        first, expected = planned(self.budget.horizon, "sparse", facts)
        return self._made(
            "sparse", first, expected,
            buffer="examples", background_max=kept, list_cap=list_cap, bottom_score=bottom,
        )  # fmt: skip

    def _closure(self) -> Estimate | None:
        """The closures of teachers, as many as find the target soonest.

        Users are in several calls, so that fewer calls leave more for each: after a plan for the
        most that there can be, as few are paid for as will do.
        """
        found = self._closures_in(self._most_calls)
        if found is None or not self.budget.user_examples_max:
            return found
        for calls in range(found.plan.parameters.calls_max, self._most_calls):
            fewer = self._closures_in(calls)
            if fewer is not None and fewer.plan.parameters.calls_max <= calls:
                return fewer
        return found

    def _closures_in(self, calls: int) -> Estimate | None:
        """The best plan at a rate that pays for so many calls."""
        enough = self.request.hypotheses.closure_examples
        rate = self._alone.list_rate(1, calls)
        if rate <= 0:
            return None
        bottom = self.budget.list_bottom_score(rate, calls)
        votes = bottom + 2 / float(rate)
        found = []
        for part in TEACHERS_PARTS:
            teachers = math.ceil(part * votes)
            facts = float(teachers), float(enough), float(rate), float(bottom)
            found.append((*planned(self.budget.horizon, "closure", facts), teachers))
        first, expected, teachers = min(found, key=lambda each: each[1])
        return self._made(
            "closure", first, expected,
            selection_rate=rate, buffer="mistakes", mistakes_max=self._mistakes, teachers=teachers,
            list_cap=1, bottom_score=bottom,
        )  # fmt: skip

    def _histogram(self) -> Estimate:
        """Every id that passes; with noise, examples on which the rule is right veto."""
        noise, members = self.request.noise_rate, self.request.hypotheses.littlestone_dimension
        rate = self._alone.histogram_rate(2 if noise else 1)
        bottom = self.budget.histogram_threshold(rate, apart=not noise)
        kept = self._kept if noise else self._mistakes
        clear = float(1 - 2 * noise) / members
        facts = clear, float(rate), float(bottom), float(kept)
        first, expected = planned(self.budget.horizon, "histogram", facts)
        return self._made(
            "histogram", first, expected,
            selection_rate=rate, bottom_score=bottom,
            buffer="examples" if noise else "mistakes",
            background_max=kept if noise else 0,
            mistakes_max=0 if noise else kept,
        )  # fmt: skip


# -- estimates -----------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def planned(horizon: int, way: str, facts: tuple[float, ...]) -> tuple[int, float]:
    """The `first` with the fewest expected mistakes at the usual share, and those on a bad stream.

    A bad stream has the share of positive examples that goes worst with the ends of the epochs.
    """
    laws = _LAWS[way]
    ends = {
        round(power(2.0, step / FIRST_STEPS)) for step in range(FIRST_STEPS * FIRST_DOUBLINGS + 1)
    }
    choices = sorted(end for end in ends if end < horizon) or [1]
    usual = laws(USUAL_SHARE, *facts)
    first = min(choices, key=lambda each: season_mistakes(each, horizon, USUAL_SHARE, *usual))
    shares = (USUAL_SHARE,) if way == "dense" else SHARES
    return first, max(season_mistakes(first, horizon, p, *laws(p, *facts)) for p in shares)


def season_mistakes(first: int, horizon: int, share: float, found: Share, error: Share) -> float:
    """Expected mistakes of a season whose epochs end at first, 2 first, 4 first, ...

    `share` of the examples are mistakes until something is found; `found(n)` is the chance of it
    after an epoch of n examples, `error(n)` the share of mistakes of what is found then.
    """
    missing, total = 1.0, min(first, horizon) * share
    for seen, following in epochs(first, horizon):
        missing *= 1 - found(seen)
        total += following * (share * missing + (1 - missing) * min(share, error(seen)))
    return total


def epochs(first: int, horizon: int) -> Iterator[tuple[int, int]]:
    """Examples that each call sees, and those that its rule is published for."""
    seen, end = first, first
    while end < horizon:
        yield seen, min(end, horizon - end)
        seen, end = end, 2 * end


def spread_error(rules: float, decay: float, examples: float) -> float:
    """Mean error of a draw by weight among so many rules whose errors are spread evenly."""
    count = decay * examples
    return rules / (count * (rules + count)) if count > 0 else 1.0


def drawn_error(rules: float, decay: float, examples: float) -> float:
    """Mean error of a draw by weight among so many rules, for the worse of two kinds of classes."""
    weight = (rules - 1) * power(1 - decay / 2, examples)
    return max(spread_error(rules, decay, examples), USUAL_SHARE * weight / (1 + weight))


def outweighs(count: float, share: float, rate: float, bottom: float) -> float:
    """The chance that a score of binomial law outweighs bottom in a draw."""
    mean = count * share
    scores = mean + QUANTILES * math.sqrt(mean * max(1 - share, 0.0))
    return float(total(1 / (1 + exps(np.minimum(rate * (bottom - scores), 700)))) / len(scores))


def spanning(load: float, enough: float) -> float:
    """The chance that a closure of a Poisson number of uniform examples is the whole target.

    With m examples it is about exp(-2^(enough - 4 - m)): each further one halves what is missing.
    So it is for affine subspaces, and for conjunctions that leave half of their bits open.
    """
    if load >= 2 * enough + 40:
        return 1.0
    count, term, total = 0, exp(-load), 0.0
    while count < load or term > 1e-9:
        count += 1
        term *= load / count
        total += term * exp(-power(2.0, min(enough - 4 - count, 9.0)))
    return min(total, 1.0)


def _always(value: float) -> Share:
    return lambda _: value


def _dense_laws(_: float, rules: float, decay: float) -> tuple[Share, Share]:
    return _always(1.0), lambda n: drawn_error(rules, decay, n)


def _proposed_laws(
    share: float, rules: float, decay: float, rate: float, bottom: float, kept: float
) -> tuple[Share, Share]:
    return (
        lambda n: outweighs(min(n, kept), share, rate, bottom),
        lambda n: drawn_error(rules, decay, min(n, kept)),
    )


def _closure_laws(
    share: float, teachers: float, enough: float, rate: float, bottom: float
) -> tuple[Share, Share]:
    def found(n: int) -> float:
        load = min(n * share, MISTAKES_MAX) / teachers
        return outweighs(teachers, spanning(load, enough), rate, bottom)

    return found, _always(0.0)


def _histogram_laws(
    share: float, clear: float, rate: float, threshold: float, kept: float
) -> tuple[Share, Share]:
    def found(n: int) -> float:
        mean = min(n, kept) * share * clear
        gaps = threshold - mean - QUANTILES * math.sqrt(mean)
        return float(total(passes(rate, gaps)) / len(gaps))

    return found, _always(0.0)


_LAWS: dict[str, Callable[..., tuple[Share, Share]]] = {
    "dense": _dense_laws,
    "sparse": _proposed_laws,
    "closure": _closure_laws,
    "histogram": _histogram_laws,
}
