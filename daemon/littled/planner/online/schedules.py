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
from functools import lru_cache

import numpy as np

from littled.portable import exp, exps, power, total

# The share of mistakes before anything is found that `first` is chosen for.
USUAL_SHARE = 0.5
# First ends of an epoch that are tried: powers of the fourth root of 2, up to 2^22.
FIRST_STEPS, FIRST_DOUBLINGS = 4, 22
# Shares of mistakes among which a bad stream has the worst, as powers of the same root. Estimates
# repeat with every halving of the share, as epochs double.
SHARES = tuple(power(2.0, -step / FIRST_STEPS) for step in range(FIRST_STEPS, 3 * FIRST_STEPS + 1))
# Quantiles 1/64, 3/64, ... of the normal law, by which a mean over a binomial law is taken.
UPPER_QUANTILES = (
    0.03917608550309763, 0.1177698745790953, 0.19709908429431233, 0.27769043982157676,
    0.3601298917895694, 0.44509652498551633, 0.5334097062412806, 0.6260990123464212,
    0.7245143834923653, 0.8305108782053992, 0.9467817563010457, 1.0775155670402803,
    1.229858759216589, 1.4177971379962673, 1.6759397227734438, 2.1538746940614564,
)  # fmt: skip
QUANTILES = np.array([*(-quantile for quantile in reversed(UPPER_QUANTILES)), *UPPER_QUANTILES])

Share = Callable[[int], float]
# Of a share of positive examples and of facts: how likely something is found, and the error then.
Laws = Callable[..., tuple[Share, Share]]


@lru_cache(maxsize=1024)
def planned(
    horizon: int, laws: Laws, facts: tuple[float, ...], shares: tuple[float, ...] = SHARES
) -> tuple[int, float]:
    """The `first` with the fewest expected mistakes at the usual share, and those on a bad stream.

    A bad stream has that of the `shares` of positive examples that goes worst with the ends of the
    epochs.
    """
    ends = {
        round(power(2.0, step / FIRST_STEPS)) for step in range(FIRST_STEPS * FIRST_DOUBLINGS + 1)
    }
    choices = sorted(end for end in ends if end < horizon) or [1]
    usual = laws(USUAL_SHARE, *facts)
    first = min(choices, key=lambda end: season_mistakes(end, horizon, USUAL_SHARE, *usual))
    return first, max(season_mistakes(first, horizon, p, *laws(p, *facts)) for p in shares)


def season_mistakes(
    first: int, horizon: int, share: float, found: Share, error: Share, cap: int | None = None
) -> float:
    """Expected mistakes of a season whose epochs end at first, 2 first, 4 first, ...

    Epochs that would be longer than a `cap` are as long as that.
    `share` of the examples are mistakes until something is found; `found(n)` is the chance of it
    after an epoch of n examples, `error(n)` the share of mistakes of what is found then.
    """
    missing, total = 1.0, min(first, horizon) * share
    for seen, following in epochs(first, horizon, cap):
        missing *= 1 - found(seen)
        total += following * (share * missing + (1 - missing) * min(share, error(seen)))
    return total


def epochs(first: int, horizon: int, cap: int | None = None) -> Iterator[tuple[int, int]]:
    """Examples that each call sees, and those that its rule is published for."""
    seen, end, most = first, first, horizon if cap is None else cap
    while end < horizon:
        following = min(end, most)
        yield seen, min(following, horizon - end)
        seen, end = following, end + following


def spread_error(rules: float, decay: float, examples: float) -> float:
    """Mean error of a draw by weight among so many rules whose errors are spread evenly."""
    count = decay * examples
    return rules / (count * (rules + count)) if count > 0 else 1.0


def drawn_error(rules: float, decay: float, examples: float) -> float:
    """Mean error of a draw by weight among so many rules, for the worse of two kinds of classes."""
    weight = (rules - 1) * power(1 - decay / 2, examples)
    return max(spread_error(rules, decay, examples), USUAL_SHARE * weight / (1 + weight))


def drawn_laws(_: float, rules: float, decay: float) -> tuple[Share, Share]:
    """Of draws among so many rules: something is always found, and how wrong it is."""
    return always(1.0), lambda n: drawn_error(rules, decay, n)


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


def always(value: float) -> Share:
    """The same for every number of examples."""
    return lambda _: value
