"""How many mistakes a public memory of a chain makes. Utility only: no price depends on it.

**Halving, proven.** Let some rule fit all examples, chosen by whoever sees all releases. N rules,
F = floor(log2 N), T steps, rates e_t of the trigger and e_s of the draw, and x = ln(T / p_1) / e_t,
y = ln(F / p_2) / e_t, z = ln(F / p_3) / e_s, U = ceil(x + y + z). Then but for p_1 + p_2 + p_3 +
p_4 the mistakes of a memory's first season are at most F U + 2 (F ln 3 - ln p_4) / e_t. (With two
rates of the trigger y has that of the threshold's noise, and the last term the lower one.)

1. No step has noise of x or more, but for p_1: a union over T steps. No threshold is lowered by
   more than y in the first F epochs, but for p_2. So every fire of theirs has seen more than
   U - x - y >= z mistakes.
2. The target lies in the public interval, and the published rule is its middle. So the mistakes of
   an epoch are of one kind, M >= z false positives or M false negatives, and a draw between the two
   counts is wrong with probability 1 / (1 + exp(e_s M)) <= p_3 / F.
3. If no draw is wrong the target stays in the interval, of whose n rules (n - 1) // 2 or n // 2 are
   left. After F fires it is alone. Then there are no more mistakes, and by 1 no more fires.
4. So there are at most F epochs with mistakes, and these wait for U and for `TriggerNoise.delays`.

A later season begins with the rule of the one before, which need not be a middle: one epoch more.
With J direct calls before, nothing is asked of those, so J U_1 and their delays are added.

**Direct calls, a model.** Idealised, a fired rule convicts all rules on its side, and the next one
is drawn evenly among the n that are left. An adversary that sees it keeps the larger side of the
targets. The calls that this takes are E(n) = 1 + (1/n) sum_i max(E(n - i), E(i - 1)).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from littled.planner.bounds import TriggerNoise
from littled.portable import LN2, log, log2

# Up to so many rules the calls of the game are computed; beyond, each doubling adds as many as the
# mean lowering of ln n in a call, 1 - ln 2, says.
RULES_OF_GAME_MAX = 4097
CALLS_OF_A_DOUBLING = LN2 / (1 - LN2)
# Direct calls, in multiples of those that an adversary is expected to take.
DIRECT_FACTOR = 1.5


@dataclass(frozen=True, slots=True)
class Halving:
    """The threshold U of halving, and the mistakes that are proven at most, delays included."""

    threshold: int
    mistakes: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure probability divided so that what is proven is least."""

    reach: float
    undershoot: float
    draws: float
    delays: float

    @classmethod
    def divided(cls, failure: float, epochs: int, trigger_rate: float, rate: float) -> "Failure":
        """Each part is as large as what a factor in it costs: its multiple of ln(1 / p)."""
        costs = (epochs / trigger_rate, epochs / trigger_rate, epochs / rate, 2 / trigger_rate)
        return cls(*(failure * cost / math.fsum(costs) for cost in costs))


def halving(
    rules: int,
    trigger: TriggerNoise,
    rate: float,
    failure: float,
    direct: float = 0.0,
    calls: int = 0,
) -> Halving:
    """What is proven of a chain of so many rules, after direct `calls` at threshold `direct`."""
    epochs = rules.bit_length() - 1
    parts = Failure.divided(failure, max(epochs, 1), trigger.rate, rate)
    threshold = math.ceil(
        trigger.reach(parts.reach)
        + trigger.undershoot(epochs, parts.undershoot)
        + log(max(epochs, 1) / parts.draws) / rate
    )
    delays = trigger.delays(calls + epochs, parts.delays)
    return Halving(threshold, calls * direct + epochs * threshold + delays)


def drawn_calls(rules: int) -> float:
    """Calls that somebody who sees every rule makes direct calls take, the first rule a middle."""
    known = min(rules, RULES_OF_GAME_MAX)
    return 1 + _calls_of_game()[(known - 1) // 2] + CALLS_OF_A_DOUBLING * log2(rules / known)


def direct_calls(rules: int) -> int:
    """J: calls after which an interval is halved."""
    return math.floor(DIRECT_FACTOR * drawn_calls(rules))


@lru_cache(maxsize=1)
def _calls_of_game() -> tuple[float, ...]:
    """E(n) up to half of `RULES_OF_GAME_MAX`; E rises, so the larger side is the longer one."""
    calls, sums = [0.0], [0.0]
    for n in range(1, RULES_OF_GAME_MAX // 2 + 1):
        # i = 1..n: max(n - i, i - 1) is each of (n // 2)..(n - 1) twice; with odd n the middle once
        larger = 2 * (sums[n - 1] - (sums[n // 2 - 1] if n > 1 else 0.0))
        if n % 2:
            larger -= calls[n // 2]
        calls.append(1 + larger / n)
        sums.append(sums[-1] + calls[-1])
    return tuple(calls)
