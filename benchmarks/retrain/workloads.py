"""Joint trainings as large as the goals speak of: 10^6 candidate rules, or 4,000 teachers.

A workload is a class, the parameters of a learner and examples. `Workload.prepared` is a learner
right before a call, with everything kept that a season of this size keeps; `Workload.plan` is a
stream on which such calls follow one another without end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.budget.price import Price
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.learners.contract import SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.buffer import Buffer
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.values import EpochSettings
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlinePlan, StreamPlan
from littled_protocol.columns import point_type
from littled_protocol.rules import Words

CANDIDATES = 1_000_000
TEACHERS = 4_000
# So many mistakes a teacher are in an epoch that the planner plans for.
EXAMPLES_PER_TEACHER = 12
CALLS = 3
NOISE = KeyedNoise(bytes(range(32)))
ENOUGH = Price.from_dict({"epsilon_pure": "1000000/1", "rho": "1000000/1", "delta": "1000000/1"})

Rng = np.random.Generator
Points = NDArray[np.unsignedinteger[Any]]
Examples = tuple[Points, NDArray[np.uint8]]


def table() -> Table:
    """10,000 rules over 2,000 points."""
    rows = np.random.default_rng(0).random((10_000, 2_000)) < 0.5
    return Table.from_matrix([f"rule {number}" for number in range(len(rows))], rows)


@dataclass(frozen=True)
class Workload:
    """`kept` examples from `make` in `epochs` epochs; `more` are parameters of the learner."""

    name: str
    make: Callable[[Rng, int], Examples]
    kept: int
    more: dict[str, Any]
    epochs: int = 1
    source: Callable[[], HypothesisClass] | None = None
    # What keeps a stream at it: examples that lead to the first call, examples in a batch that is
    # sure to lead to another one, and the parameters that make it so.
    warm: int = 0
    batch: int = 0
    stream: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The class and how it is trained."""
        parts = [self.name, self.more["selection"]]
        if "teachers" in self.more:
            parts.append(f"{self.more['teachers']} teachers")
        if self.epochs > 1:
            parts.append(f"{self.epochs} epochs")
        if "stage_rate" in self.more:
            parts.append("stage tests")
        return ", ".join(parts)

    def hypotheses(self) -> HypothesisClass:
        """The class."""
        return class_from_name(self.name) if self.source is None else self.source()

    def parameters(self, **more: Any) -> OnlineParameters:
        """Parameters of the learner; prices do not matter here."""
        usual: dict[str, Any] = {
            "epsilon": Fraction(1),
            "horizon": 10**9,
            "noise_rate": Fraction(0),
            "trigger_rate": Fraction(1),
            "trigger_threshold": 20,
            "selection_rate": Fraction(1, 50),
            "selection_accounting": "pure",
            "draws": 1,
            "calls_max": 10**6,
            "buffer": "mistakes",
        }
        return OnlineParameters(**usual | self.more | more)

    def examples(self, seed: int, count: int) -> Examples:
        """Points as the class reads them, and labels."""
        hypotheses = self.hypotheses()
        x, y = self.make(np.random.default_rng(seed), count)
        return x.astype(point_type(hypotheses.point_type).dtype), y.astype(np.uint8)

    def prepared(self) -> tuple[OnlineLearner, OnlineState]:
        """A learner in front of a call."""
        learner = OnlineLearner("bench/l", self.hypotheses(), self.parameters())
        state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
        x, y = self.examples(1, self.kept)
        if state.statistics is not None:
            counted = needed(learner.hypotheses.dense).add(state.statistics, x, y)
            # just before they would have been counted anyway
            return learner, replace(
                state, statistics=counted, pending=((x[:60_000], y[:60_000], None),)
            )
        buffers = list(self._buffers(x, y))
        return learner, replace(state, archive=tuple(buffers[:-1]), buffer=buffers[-1])

    def _buffers(self, x: Points, y: NDArray[np.uint8]) -> list[Buffer]:
        words = np.random.default_rng(2).integers(0, 2**64, (2, len(y)), dtype=np.uint64)
        mistake = np.ones(len(y), dtype=bool)
        cuts = [len(y) * epoch // self.epochs for epoch in range(self.epochs + 1)]
        return [
            Buffer(x[a:b], y[a:b], mistake[a:b], words[0, a:b], words[1, a:b])
            for a, b in pairwise(cuts)
        ]

    def plan(self, stream: str) -> StreamPlan:
        """A stream that trains again and again as it is fed batches of `batch` examples."""
        parameters = self.parameters(**self.stream)
        learner = OnlinePlan("l", self.hypotheses(), parameters, Words())
        return StreamPlan(
            stream, Fraction(1), Fraction(1, 10**6), Fraction(1, 10**6), parameters.horizon,
            ENOUGH, (learner,),
        )  # fmt: skip


# -- examples ------------------------------------------------------------------------------------


def coins(rng: Rng, count: int) -> NDArray[np.uint8]:
    """Labels that nothing explains."""
    return rng.integers(0, 2, count, dtype=np.uint8)


def numbers(size: int) -> Callable[[Rng, int], Examples]:
    """Uniform numbers with labels by chance."""
    return lambda rng, count: (rng.integers(0, size, count, dtype=np.uint64), coins(rng, count))


def rows(rng: Rng, count: int) -> Examples:
    """16 features of 64 buckets."""
    return rng.integers(0, 64, (count, 16), dtype=np.uint64), coins(rng, count)


def different(words: int) -> Callable[[Rng, int], Examples]:
    """Ids of so many words that all differ, each with label 1."""

    def make(rng: Rng, count: int) -> Examples:
        shape = (count,) if words == 1 else (count, words)
        return rng.integers(0, 2**64, shape, dtype=np.uint64), np.ones(count, dtype=np.uint8)

    return make


def few_ids(rng: Rng, count: int) -> Examples:
    """A thousand ids; what is 1 and what 0 is chance, so that every id has to be looked at."""
    ids = np.random.default_rng(5).integers(0, 2**64, 1_000, dtype=np.uint64)
    return ids[rng.integers(0, len(ids), count)], coins(rng, count)


def one_block(rng: Rng, count: int) -> Examples:
    """Addresses of one block of 32 bits with label 1, and as many anywhere with label 0."""
    x = rng.integers(0, 2**64, (count, 2), dtype=np.uint64)
    y = coins(rng, count)
    x[y == 1, 0] = x[y == 1, 0] >> np.uint64(32) | np.uint64(0xC0A8 << 48)
    return x, y


def line(rng: Rng, count: int) -> Examples:
    """Numbers below 256, label 1 from 77 on."""
    x = rng.integers(0, 256, count, dtype=np.uint64)
    return x, (x >= 77).astype(np.uint8)


def subspace(rng: Rng, count: int) -> Examples:
    """Points of one subspace of 2^8 in GF(2)^64 with label 1, a tenth of other points with 0."""
    basis = np.random.default_rng(6).integers(0, 2**64, 8, dtype=np.uint64)
    x = np.bitwise_xor.reduce(np.where(rng.random((count, 8)) < 0.5, basis, np.uint64(0)), axis=1)
    y = (rng.random(count) < 0.9).astype(np.uint8)
    return np.where(y == 1, x, rng.integers(0, 2**64, count, dtype=np.uint64)), y


def subcube(rng: Rng, count: int) -> Examples:
    """Points with bits 0 to 15 set with label 1, a tenth of other points with 0."""
    x = rng.integers(0, 2**64, count, dtype=np.uint64)
    y = (rng.random(count) < 0.9).astype(np.uint8)
    return np.where(y == 1, x | np.uint64(0xFFFF), x & ~np.uint64(1)), y


# -- workloads -----------------------------------------------------------------------------------

KEPT = TEACHERS * EXAMPLES_PER_TEACHER
DENSE = {"selection": "dense", "buffer": "examples"}
DENSE_STREAM: dict[str, Any] = {"batch": 200}


def sparse(list_cap: int) -> dict[str, Any]:
    """One example a teacher; bottom is always drawn, so the rule stays as it is."""
    return {"selection": "sparse", "list_cap": list_cap, "bottom_score": 10**6}


# No id passes, so the rule stays as it is.
FLIPPING = {"selection": "histogram", "bottom_score": 10**6}


def growing_stream(kept: int) -> dict[str, Any]:
    """One call once so many are kept, and another one every few mistakes from then on."""
    ladder = {"trigger_threshold": kept, "ladder": (EpochSettings(20),)}
    return {"warm": kept + 1_000, "batch": 100, "stream": ladder}


TEACHING = {
    "selection": "sparse", "list_cap": 256, "teachers": TEACHERS, "selection_rate": Fraction(1, 8),
    "bottom_score": 10**6, "calls_max": CALLS, "buffer": "both", "background_max": KEPT,
}  # fmt: skip
# Bottom is always drawn, so the rule stays 0 and half of the labels are mistakes: three epochs of
# KEPT examples a season, with a call at the end of each.
TEACHING_STREAM: dict[str, Any] = {
    "batch": KEPT + 1_000,
    "stream": {"trigger_threshold": KEPT // 2, "horizon": CALLS * KEPT + 4_000},
}
CLOSING = {
    "selection": "closure", "list_cap": 1, "bottom_score": 10**6, "teachers": TEACHERS,
    "buffer": "both", "background_max": KEPT,
}  # fmt: skip
# Bottom is always drawn here as well; the ladder makes every call after the first one an early one.
CLOSING_STREAM: dict[str, Any] = {
    "warm": KEPT + 1_000,
    "batch": 100,
    "stream": {"trigger_threshold": KEPT // 3, "ladder": (EpochSettings(20, TEACHERS),)},
}
STAGES = {"stage_rate": Fraction(1, 8)}
POSITIVES_OF_PREFIXES = 9_000  # have about 10^6 prefixes

WORKLOADS = (
    Workload("thresholds:1000000", numbers(10**6), CANDIDATES, DENSE, **DENSE_STREAM),
    Workload("conjunctions:12", numbers(1 << 12), CANDIDATES, DENSE),
    Workload("stumps:16:64", rows, CANDIDATES, DENSE),
    Workload("table 10000 x 2000", numbers(2_000), CANDIDATES, DENSE, source=table),
    Workload(
        "prefixes:128", different(2), POSITIVES_OF_PREFIXES, sparse(129),
        **growing_stream(POSITIVES_OF_PREFIXES),
    ),
    Workload("points:64", different(1), CANDIDATES, FLIPPING, **growing_stream(CANDIDATES)),
    Workload("points:128", different(2), CANDIDATES, FLIPPING),
    Workload("sparse_sets:64:16", different(1), CANDIDATES, FLIPPING),
    Workload("sparse_sets:128:16", different(2), CANDIDATES, FLIPPING),
    Workload("affine:64:8", subspace, KEPT, CLOSING, **CLOSING_STREAM),
    Workload("affine:64:8", different(1), CANDIDATES, {**CLOSING, "teachers": None}),
    Workload("conjunctions:64", subcube, KEPT, CLOSING),
    Workload("points:64", few_ids, KEPT, TEACHING),
    Workload("points:64", few_ids, CALLS * KEPT, TEACHING, epochs=CALLS),
    Workload("points:64", few_ids, KEPT, {**TEACHING, **STAGES}),
    Workload("prefixes:128", one_block, KEPT, TEACHING, **TEACHING_STREAM),
    Workload("prefixes:128", one_block, CALLS * KEPT, TEACHING, epochs=CALLS),
    Workload("prefixes:128", one_block, KEPT, {**TEACHING, **STAGES}),
    Workload("thresholds:256", line, KEPT, TEACHING, **TEACHING_STREAM),
    Workload("thresholds:256", line, CALLS * KEPT, TEACHING, epochs=CALLS),
    Workload("thresholds:256", numbers(256), KEPT, {**TEACHING, **STAGES}),
)  # fmt: skip
