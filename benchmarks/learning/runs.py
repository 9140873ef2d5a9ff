"""One stream, all methods: littled as the daemon runs it, then every baseline that applies.

littled goes the public way: a plan from the planner, the engine with keyed noise over journal
records, and mistakes counted from the public releases alone, each rule applied from the position
of its release on. Baselines are fed the same arrays. Seconds are those of the processor, so that
what else runs on the machine hardly shows.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.baselines import BASELINES, DELTA, EPSILON, Baseline, Variant
from benchmarks.learning.orders import stream_of
from benchmarks.learning.streams import Kind, Numbers, Stream, parsed, table_matrix
from littled.budget.price import AMOUNTS, Price
from littled.budget.unit import Unit
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.engine import Transcript, replay
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.store.records import Record
from littled_protocol.codec import decode
from littled_protocol.columns import encode_labels, encode_users, point_type
from littled_protocol.messages import Release
from littled_protocol.rules import rule_from_dict

RECORD_EXAMPLES = 10_000
# Seeds from here on are for choosing among a baseline's variants, and for nothing else.
TUNING_SEED = 1_000_000
TIMELINE_POINTS = 400
# littled as it is planned by itself, for independent examples, and to protect users; of these
# each has so many examples.
LITTLED, INDEPENDENT, USERS = "littled", "independent", "users"
WAYS = (LITTLED, INDEPENDENT, USERS)
USER_EXAMPLES = 10


@dataclass(frozen=True)
class Run:
    """One method on one stream.

    spent: shares of the caps, by amount, littled only. retrains: processor seconds of each call of
    joint training, littled only. timeline: mistakes up to each of `TIMELINE_POINTS` even positions.
    told: whether the variant was chosen for this kind of stream, instead of once for all kinds.
    """

    class_name: str
    kind: Kind
    seed: int
    method: str
    variant: Variant
    mistakes: int
    publications: int
    seconds: float
    spent: Mapping[str, float]
    retrains: tuple[float, ...]
    timeline: tuple[int, ...]
    told: bool = False


@dataclass(frozen=True)
class Task:
    """What one process does at a time.

    plans: littled's, by method. chosen: baselines and their variants, one for all kinds of streams;
    told: those that were chosen for this kind.
    """

    class_name: str
    kind: Kind
    seed: int
    horizon: int
    plans: Mapping[str, StreamPlan]
    chosen: Mapping[str, Variant]
    told: Mapping[str, Variant]


def hypotheses_of(class_name: str) -> HypothesisClass:
    """The daemon's class behind a name; `table:1000x500` is the generated table of that size.

    Raises littled.classes.base.ClassError for a class that this version does not have.
    """
    family, numbers = parsed(class_name)
    if family != "table":
        return class_from_name(class_name)
    matrix = table_matrix(*numbers)
    return Table.from_matrix([f"rule {number}" for number in range(len(matrix))], matrix)


def plan_for(class_name: str, horizon: int, method: str = LITTLED, kept: int = 1) -> StreamPlan:
    """The planner's own plan, nothing chosen by hand but the way of littled.

    `kept`: user_examples_max, where users are protected.
    """
    adversary: Literal["oblivious", "none"] = "none" if method == INDEPENDENT else "oblivious"
    learners = (OnlineRequest("l", hypotheses_of(class_name), adversary=adversary),)
    request = StreamRequest("bench", EPSILON, DELTA, horizon, learners)
    if method == USERS:
        request = replace(request, unit=Unit(kept))
    return plan_stream(request)


def users_of(count: int, each: int, seed: int) -> NDArray[np.uint64]:
    """Whose every example is, (count, 2): each user's are so many, at places of chance."""
    rng = np.random.default_rng([seed, each])
    names = rng.integers(0, 2**64, (-(-count // each), 2), dtype=np.uint64)
    return names[rng.permutation(count) // each]


def perform(task: Task) -> list[Run]:
    """All methods of a task."""
    stream = stream_of(task.class_name, task.kind, task.horizon, task.seed)
    users = users_of(len(stream), USER_EXAMPLES, task.seed)
    runs = [
        run_littled(stream, plan, method, users if method == USERS else None)
        for method, plan in task.plans.items()
    ]
    for baseline in (each for each in BASELINES if each.name in task.chosen):
        variant, told = task.chosen[baseline.name], task.told[baseline.name]
        runs.append(run_baseline(stream, baseline, variant))
        if len(baseline.variants(task.class_name)) > 1:
            again = runs[-1] if told == variant else run_baseline(stream, baseline, told)
            runs.append(replace(again, told=True))
    return runs


def tune(task: Task) -> dict[str, list[Run]]:
    """Every variant of every baseline that has a choice, on one tuning stream."""
    stream = stream_of(task.class_name, task.kind, task.horizon, TUNING_SEED + task.seed)
    return {
        baseline.name: [run_baseline(stream, baseline, each) for each in variants]
        for baseline in applicable(task.class_name)
        if len(variants := baseline.variants(task.class_name)) > 1
    }


def applicable(class_name: str) -> list[Baseline]:
    """The baselines that apply to a class."""
    return [baseline for baseline in BASELINES if baseline.refusal(class_name) is None]


# --- Baselines ------------------------------------------------------------------------------------


def run_baseline(stream: Stream, baseline: Baseline, variant: Variant) -> Run:
    """One baseline; its noise depends on the stream's seed and the method."""
    name = hashlib.blake2b(baseline.name.encode(), digest_size=8).digest()
    rng = np.random.default_rng([stream.seed, int.from_bytes(name, "big")])
    begun = time.process_time()
    outcome = baseline.run(stream, variant, rng)
    seconds = time.process_time() - begun
    wrong = outcome.positions
    return Run(
        stream.class_name, stream.kind, stream.seed, baseline.name, variant, len(wrong),
        outcome.publications, seconds, {}, (), timeline(wrong, len(stream)),
    )  # fmt: skip


def timeline(wrong: Numbers, horizon: int) -> tuple[int, ...]:
    """Mistakes before each of the even positions, from the positions of all."""
    ends = horizon * np.arange(1, TIMELINE_POINTS + 1) // TIMELINE_POINTS
    return tuple(np.searchsorted(wrong, ends).tolist())


# --- littled --------------------------------------------------------------------------------------


class TimedExecutor(Executor):
    """Runs what it is given at once, in the calling thread, and keeps how long it took."""

    def __init__(self) -> None:
        """Nothing has run."""
        self.seconds: list[float] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run, and return the finished future."""
        future: Future[Any] = Future()
        begun = time.process_time()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 -- an executor hands every error to the future
            future.set_exception(error)
        self.seconds.append(time.process_time() - begun)
        return future


def run_littled(
    stream: Stream,
    plan: StreamPlan,
    method: str = LITTLED,
    users: NDArray[np.uint64] | None = None,
) -> Run:
    """The engine over the stream's journal, with noise of the stream's seed.

    `users` (n, 2): whose each example is, for a plan that protects users.
    """
    noise = KeyedNoise(hashlib.blake2b(f"{stream.seed}".encode(), digest_size=32).digest())
    executor = TimedExecutor()
    begun = time.process_time()
    transcript = replay(plan, noise, records(stream, users), executor)
    seconds = time.process_time() - begun
    wrong = mistakes(transcript, stream)
    return Run(
        stream.class_name, stream.kind, stream.seed, method, {}, len(wrong),
        len(transcript.releases), seconds, spent_shares(transcript, plan.caps),
        tuple(executor.seconds), timeline(wrong, len(stream)),
    )  # fmt: skip


def records(stream: Stream, users: NDArray[np.uint64] | None = None) -> Iterator[Record]:
    """Journal records of 10,000 examples with a chain head of their own, made one at a time."""
    kind = point_type(stream.x_type)
    for number, first in enumerate(range(0, len(stream), RECORD_EXAMPLES)):
        part = slice(first, first + RECORD_EXAMPLES)
        count = len(stream.y[part])
        head = hashlib.blake2b(f"{stream.seed}/{number}".encode(), digest_size=32).digest()
        yield Record(
            "bench", number, first, "bench", first, count,
            kind.encode(stream.x[part]), encode_labels(stream.y[part]), head,
            users=b"" if users is None else encode_users(users[part]),
        )  # fmt: skip


def mistakes(transcript: Transcript, stream: Stream) -> Numbers:
    """Positions of the mistakes, from the public releases only."""
    decoded = (decode(each.body) for each in transcript.releases)
    releases = [each for each in decoded if isinstance(each, Release)]
    assert len(releases) == len(transcript.releases)
    ends = [each.position for each in releases[1:]] + [len(stream)]
    wrong: list[NDArray[np.int64]] = []
    for release, end in zip(releases, ends, strict=True):
        assert release.rule is not None
        part = slice(release.position, end)
        missed = rule_from_dict(release.rule).evaluate(stream.x[part]) != stream.y[part]
        wrong.append(np.flatnonzero(missed) + release.position)
    return np.concatenate(wrong)


def spent_shares(transcript: Transcript, caps: Price) -> dict[str, float]:
    """The ledger's sum as shares of the caps, for each amount that has a cap."""
    spent = sum((entry.price for entry in transcript.entries), Price.zero())
    pairs = {name: (getattr(spent, name), getattr(caps, name)) for name in AMOUNTS}
    return {name: float(Fraction(used, cap)) for name, (used, cap) in pairs.items() if cap}
