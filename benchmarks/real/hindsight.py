"""Rules that are known only when everything is over: what a constant and a stump could do."""

from functools import lru_cache

import numpy as np

from benchmarks.learning.finite import FiniteStumps
from benchmarks.real.method import Method, Setting
from benchmarks.real.streams import Flags, RealStream, Rows


class _Points:
    """Rows as a stream of the other benchmark has them."""

    def __init__(self, x: Rows) -> None:
        self.x = x


def stumps_of(rows: Rows, buckets: int) -> FiniteStumps:
    """All stumps over these rows, and both constants, which are the last two."""
    return FiniteStumps(_Points(rows), rows.shape[1], buckets)


@lru_cache(maxsize=4)
def _stumps(stream: RealStream) -> FiniteStumps:
    return stumps_of(stream.rows, max(stream.sizes))


def least_error(stream: RealStream) -> float:
    """The error of the best stump; where labels change, of the best one of each part."""
    half = stream.change or len(stream)
    parts = [slice(0, half), slice(half, len(stream))]
    rules = _stumps(stream)
    least = sum(int(rules.losses(rules.cells[part], stream.y[part]).min()) for part in parts)
    return least / len(stream)


class Majority(Method):
    """Always the label that is the more frequent one in the end."""

    name, title, private, seeded = "majority", "majority", False, False

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Every example of the other label."""
        wrong: Flags = stream.y != (2 * int(stream.y.sum()) > len(stream))
        return wrong


class BestStump(Method):
    """The stump that errs least on the whole stream; where labels change, on each part."""

    name, title, private, seeded = "best-stump", "best stump in hindsight", False, False

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Counted on the examples that chose it."""
        rules, half = _stumps(stream), stream.change or len(stream)
        wrong = np.zeros(len(stream), dtype=np.bool_)
        for part in (slice(0, half), slice(half, len(stream))):
            cells, y = rules.cells[part], stream.y[part]
            wrong[part] = rules.labels(int(rules.losses(cells, y).argmin()), cells) != y
        return wrong
