"""Most frequent items: reports, and methods that name the item that leads."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from littled.classes.points import PointFunctions
from littled.learners.batch.methods import Draw
from littled.learners.most_frequent.draws import draw_of
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.noise import Address, KeyedNoise
from littled.planner.most_frequent.plan import MostFrequentRequest
from littled.planner.most_frequent.search import MostFrequentPlanning
from littled.planner.requests import StreamRequest
from littled.planner.search import budgets_of
from littled.planner.window_values import ValueEstimate

REPORTS, ITEMS = 10_000, 5_000
BETA, EPSILON, DELTA = Fraction(1, 10), Fraction(1), Fraction(1, 10**6)
GRID = [*range(1, 60), *(math.ceil(60 * 1.03**step) for step in range(60))]
RIGHT = 1


def counts_of(lead: int, run: int) -> dict[int, int]:
    """Reports of each item: spread like 1/rank, but that one leads all others by so many."""
    rng = np.random.default_rng([lead, run])
    shares = 1 / np.arange(1, ITEMS + 1)
    found = rng.multinomial(REPORTS // 10, shares / shares.sum())
    counts = {item: int(n) for item, n in enumerate(found, RIGHT) if n}
    others = [n for item, n in counts.items() if item != RIGHT]
    return counts | {RIGHT: max(others) + lead}


@cache
def planned(bits: int, method: str) -> ValueEstimate[Any]:
    """The plan for a window of so many reports."""
    asked = MostFrequentRequest("m", PointFunctions(bits), window=REPORTS, beta=BETA, method=method)
    stream = StreamRequest("s", EPSILON, DELTA, 100 * REPORTS, (asked,))
    found = [MostFrequentPlanning().estimate(asked, each, method) for each in budgets_of(stream)]
    return min(filter(None, found), key=lambda option: option.margin)


def _ours(method: str) -> Callable[..., bool]:
    def named(bits: int, lead: int, run: int) -> bool:
        counts = counts_of(lead, run)
        chosen = draw_of(PointFunctions(bits), planned(bits, method).plan.parameters)
        noise = KeyedNoise(run.to_bytes(32, "little"))
        draw = Draw(noise, Address(bytes(32), "s/m", "select", lead))
        items = sorted(counts)
        scores = np.array([counts[item] for item in items], dtype=np.int64)
        return chosen.drawn(items, scores, draw) == RIGHT

    return named


def _histogram(_: int, lead: int, run: int) -> bool:
    """Noise on every count that is not 0; the largest noisy count, if it passes."""
    counts = counts_of(lead, run)
    rate = EPSILON / 2
    e = float(rate)
    threshold = 1 + math.ceil(math.log(1 / (float(DELTA) * (1 + math.exp(-e)))) / e)
    words = np.random.default_rng([run, lead, 1]).integers(
        0, 1 << 64, (len(counts), DiscreteLaplace.WORDS), dtype=np.uint64
    )
    noise = DiscreteLaplace(rate)
    noisy = {item: n + noise.sample(w) for (item, n), w in zip(counts.items(), words, strict=True)}
    best = max(noisy, key=noisy.__getitem__)
    return best == RIGHT and noisy[best] >= threshold


def _opendp(_: int, lead: int, run: int) -> bool:
    """Noisy top-1 of the counts of all public items."""
    counts = counts_of(lead, run)
    (found,) = _top()([counts.get(item, 0) for item in range(RIGHT, ITEMS + 1)])
    return bool(found + RIGHT == RIGHT)


@cache
def _top() -> Any:
    """Replacing one report changes one count by 1 and another one by -1."""
    import opendp.prelude as dp  # noqa: PLC0415 - of an extra

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    return dp.binary_search_chain(
        lambda scale: space[0:2] >> dp.m.then_noisy_top_k(dp.max_divergence(), k=1, scale=scale),
        d_in=1,
        d_out=float(EPSILON),
    )


METHODS: dict[str, Callable[..., bool]] = {
    "stable": _ours("stable"),
    "exponential": _ours("exponential"),
    "stable histogram": _histogram,
    "OpenDP top-k, list of items": _opendp,
}


def proven(bits: int, name: str) -> int:
    """The proven lead; 0 for none."""
    return planned(bits, name).margin if name in ("stable", "exponential") else 0
