"""The least window of a method: runs of the real learner, with noise of the real kind."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.batch.laws import LAWS, Law, Sample
from littled.classes.names import class_from_name
from littled.learners.batch import BatchLearner, BatchParameters, Method
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.mechanisms.noise import KeyedNoise
from littled.planner.batch.request import BatchRequest
from littled.planner.batch.search import estimate
from littled.planner.budgets import Budget
from littled_protocol.rules import Rule

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
ERROR, FAILED = 0.05, Fraction(1, 10)
HORIZON = 1_000_000
FIRST, RATIO, LONGEST = 40, 1.03, 20_000
HEAD = bytes(32)
# What is planned for, where a method depends on it: the least share of label 1 of a class's laws.
METHODS: dict[str, tuple[Method, ...]] = {
    "thresholds:256": ("dense", "teachers"),
    "points:64": ("histogram", "teachers"),
    "prefixes:128": ("proposals", "teachers"),
    "affine:64:8": ("closure",),
}


@dataclass(frozen=True)
class WindowRow:
    """The least window of one method; None if none up to `LONGEST` is enough.

    estimated, proven: what the planner says of the same error.
    """

    class_name: str
    method: str
    window: int | None
    chunks: int
    bottom_score: int
    estimated: float | None
    proven: float | None


def planned(class_name: str, method: Method, n: int) -> BatchParameters | None:
    """The planner's parameters for a window of n."""
    request = BatchRequest(
        "l", class_from_name(class_name), window=n, method=method, positives=_positives(class_name)
    )
    found = estimate(request, _budget(), method)
    return None if found is None else found.plan.parameters


def _positives(class_name: str) -> Fraction:
    return Fraction(str(min(law.positives for law in LAWS[class_name])))


def _budget() -> Budget:
    return Budget(EPSILON, DELTA, HORIZON, 1, "pure", 0.0, 1)


def drawn_rule(learner: BatchLearner, sample: Sample, key: bytes) -> Rule:
    """What the learner publishes after one window."""
    noise = KeyedNoise(key)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), noise).state
    step = learner.step(state, Examples(Place(HEAD, 0, 0), sample.x, sample.y), noise)
    (asked,) = step.effects
    assert isinstance(asked, CallRequested)
    return learner.step(step.state, CallAdmitted(asked.place), noise).state.rule


def key_of(*parts: object) -> bytes:
    """A key for one run."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=32).digest()


def failures(law: Law, learner: BatchLearner, runs: int) -> int:
    """Runs whose rule errs more than it may; it stops at more than are allowed."""
    n, failed = learner.parameters.window, 0
    for run in range(runs):
        target, sample = law.draw(np.random.default_rng([n, run]), n)
        rule = drawn_rule(learner, sample, key_of(law.class_name, law.name, n, run))
        failed += law.error(target, rule) > ERROR
        if failed > runs * FAILED:
            break
    return failed


def is_enough(class_name: str, parameters: BatchParameters, runs: int) -> bool:
    """Whether enough runs succeed on every law of the class."""
    learner = BatchLearner("s/l", class_from_name(class_name), parameters)
    return all(failures(law, learner, runs) <= runs * FAILED for law in LAWS[class_name])


def sizes() -> Iterator[int]:
    """The windows that are tried, in rising order."""
    n = float(FIRST)
    while n < LONGEST:
        yield int(n)
        n *= RATIO


def least_window(task: tuple[str, Method, int]) -> WindowRow:
    """The least window of one class and method."""
    class_name, method, runs = task
    request = BatchRequest(
        "l", class_from_name(class_name), alpha=Fraction(str(ERROR)), beta=FAILED,
        method=method, positives=_positives(class_name),
    )  # fmt: skip
    said = estimate(request, _budget(), method)
    # far below what is expected nothing is to be found
    first = 0.0 if said is None or said.expected is None else 0.6 * said.expected
    for n in sizes():
        if n < first:
            continue
        parameters = planned(class_name, method, n)
        if parameters is not None and is_enough(class_name, parameters, runs):
            return WindowRow(
                class_name, method, n, parameters.chunks, parameters.bottom_score,
                None if said is None else said.expected, None if said is None else said.proven,
            )  # fmt: skip
    return WindowRow(class_name, method, None, 0, 0, None, None)
