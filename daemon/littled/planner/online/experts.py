"""The baseline "experts": sparse vector and exponential mechanism with textbook constants.

Source: Asi, Feldman, Koren and Talwar, "Near-Optimal Algorithms for Private Online Optimization
in the Realizable Regime" (2023): an expert is kept until the sparse vector technique says that its
losses are above a threshold, then drawn anew by the exponential mechanism, at most K times. Its
skeleton is that of dense selection; what differs is the accounting, which is compared here: every
restart of the sparse vector is charged, with half of epsilon for all of them, and noise for query
and threshold of scale 4/e and 2/e (Dwork and Roth, "The Algorithmic Foundations of Differential
Privacy", Theorem 3.23), where Lemma A charges one season e once.
"""

import math
from dataclasses import dataclass

from littled.budget.conversion import rho_of_epsilon
from littled.planner.bounds import calls_expected, calls_needed, fires_beyond
from littled.planner.budgets import DELTA_Z_SHARE
from littled.planner.online.request import OnlineRequest
from littled.planner.requests import StreamRequest
from littled.portable import log

EXPERTS_WORDS = "baseline of Asi et al. 2023"
EXPERTS_REMARK = "same selection as dense, but every restart of its test is charged"
EXPERTS_LIMITS = "for rules that can be listed, labels without noise, oblivious adversaries"
EXPERTS_UNIT = "for single examples only"
CALLS_MAX = 256


@dataclass(frozen=True, slots=True)
class Experts:
    """Expected mistakes on a bad oblivious realizable stream, and the switches K it pays for."""

    expected_mistakes: float
    calls_max: int


def experts_mistakes(request: StreamRequest, learner: OnlineRequest) -> Experts | None:
    """The baseline at the same budget; None where it does not apply or K never suffices.

    With a budget of rho zCDP for the K restarts, each is a pure e-DP test, so e^2/2-zCDP.
    """
    few = learner.hypotheses.dense
    if few is None or learner.noise_rate or learner.adversary != "oblivious":
        return None
    failure = float(learner.failure_probability) / 3
    rho = float(rho_of_epsilon(request.epsilon / 2, request.delta * DELTA_Z_SHARE / 2))
    best: Experts | None = None
    for calls in range(2, CALLS_MAX):
        rate = math.sqrt(2 * rho / calls)
        # a threshold that noise alone, of scale 4/e for queries and 2/e for itself, does not reach
        quiet = (4 * log(request.horizon / failure) + 2 * log(calls / failure)) / rate
        tails = fires_beyond(log(few.rule_count), float(f"{rate:.3g}"), round(quiet, 1), rate / 2)
        needed = calls_needed(tails, failure)
        if needed is not None and needed <= calls:
            found = Experts(calls_expected(tails) * quiet, calls)
            if best is None or found.expected_mistakes < best.expected_mistakes:
                best = found
    return best
