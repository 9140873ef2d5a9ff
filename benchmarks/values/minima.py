"""Robust minima: laws of times, and methods that name one."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from littled.classes.integers import Integers
from littled.learners.batch.methods import Draw
from littled.learners.minimum.draws import MinimumDraw, draw_of
from littled.mechanisms.noise import Address, KeyedNoise
from littled.planner.minimum.plan import MinimumRequest
from littled.planner.minimum.search import MinimumPlanning
from littled.planner.requests import StreamRequest
from littled.planner.search import budgets_of
from littled.planner.window_values import ValueEstimate

ALPHA, BETA, EPSILON, DELTA = Fraction(1, 20), Fraction(1, 10), Fraction(1), Fraction(1, 10**6)
HORIZON = 10**7
LAWS = ("even", "magnitudes", "near")
GRID = [math.ceil(60 * 1.1**step) for step in range(52)]
CANDIDATES = 1 << 12


def times(bits: int, law: str, n: int, run: int) -> list[int]:
    """The numbers of n reports, rising."""
    rng = np.random.default_rng([bits, LAWS.index(law), n, run])
    whole = 1 << bits
    if law == "even":
        found = [int.from_bytes(rng.bytes(16), "little") % whole for _ in range(n)]
    elif law == "magnitudes":
        found = [min(whole - 1, int(2.0 ** (share * bits))) for share in rng.random(n).tolist()]
    else:
        found = [whole // 3 + step for step in rng.integers(0, 97, n).tolist()]
    return sorted(found)


def is_robust(numbers: list[int], value: int) -> bool:
    """At least alpha n numbers up to the value, at most 2 alpha n below it."""
    n = len(numbers)
    upto = sum(number <= value for number in numbers)
    below = sum(number < value for number in numbers)
    return upto >= ALPHA * n and below <= 2 * ALPHA * n


def column(bits: int, numbers: list[int]) -> Any:
    """The numbers as a learner has them."""
    if bits <= 64:
        return np.array(numbers, dtype=np.uint64)
    return np.array([[v >> 64, v & (2**64 - 1)] for v in numbers], dtype=np.uint64)


@cache
def planned(bits: int, method: str) -> ValueEstimate[Any]:
    """The plan for the error that is asked for."""
    asked = MinimumRequest("m", Integers(bits), alpha=ALPHA, beta=BETA, method=method)
    stream = StreamRequest("s", EPSILON, DELTA, HORIZON, (asked,))
    found = [MinimumPlanning().estimate(asked, budget, method) for budget in budgets_of(stream)]
    return min(filter(None, found), key=lambda option: option.plan.parameters.window)


@cache
def drawing(bits: int, method: str, n: int) -> MinimumDraw:
    """The method with its rates, for a window of n and the rank in the middle."""
    p = planned(bits, method).plan.parameters
    rank = max(1, round(1.5 * float(ALPHA) * n))
    span = min(p.span, rank)
    changed = {"window": n, "rank": rank, "horizon": HORIZON}
    if p.span:
        changed |= {"span": span, "least_count": min(p.least_count, 2 * span - 1)}
    return draw_of(Integers(bits), replace(p, **changed))


def _ours(method: str) -> Callable[..., bool]:
    def named(bits: int, law: str, n: int, run: int) -> bool:
        numbers = times(bits, law, n, run)
        noise = KeyedNoise(run.to_bytes(32, "little"))
        draw = Draw(noise, Address(bytes(32), "s/m", "select", n))
        return is_robust(numbers, drawing(bits, method, n).drawn(column(bits, numbers), draw))

    return named


def _opendp(bits: int, law: str, n: int, run: int) -> bool:
    """The quantile 1.5 alpha among even candidates; floats have no room for more than 2^53."""
    numbers = times(bits, law, n, run)
    step = 2.0**bits / CANDIDATES
    measured = _quantile(n)
    shares = [number / step for number in numbers]
    return is_robust(numbers, int(measured(shares) * step))


@cache
def _quantile(n: int) -> Any:
    """What it costs is inverse to the scale: that of a scale of 1 says which one is needed."""
    return _of_scale(n, _of_scale(n, 1.0).map(2) / float(EPSILON))


def _of_scale(n: int, scale: float) -> Any:
    import opendp.prelude as dp  # noqa: PLC0415 - of an extra

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()
    return space[0:2] >> dp.m.then_private_quantile(
        dp.max_divergence(),
        candidates=[float(number) for number in range(CANDIDATES)],
        alpha=1.5 * float(ALPHA),
        scale=scale,
    )


METHODS: dict[str, Callable[..., bool]] = {
    "exponential": _ours("exponential"),
    "stable": _ours("stable"),
    "OpenDP quantile": _opendp,
}


def proven(bits: int, name: str) -> tuple[int, int]:
    """The proven window, and what the paper's proof of Theorem 13 asks for; 0 for none."""
    if name.startswith("OpenDP"):
        return 0, 0
    window: int = planned(bits, name).plan.parameters.window
    pure = 4 * (bits * math.log(2) - math.log(BETA)) / float(ALPHA * EPSILON)
    return window, math.ceil(pure) if name == "exponential" else 0
