"""Learners of every class, selection, trigger and buffer, each in a plan of its own, for tests."""

import functools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch import BatchParameters
from littled.learners.leader import LeaderParameters
from littled.learners.minimum import MinimumParameters
from littled.learners.most_frequent import MostFrequentParameters
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.groups import GroupSettings
from littled.learners.online.length_search import LengthSettings
from littled.learners.online.majority_memory import MajoritySettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.path_memory import PathSettings
from littled.learners.online.pool import PoolSettings
from littled.learners.online.standing_memory import StandingSettings
from littled.learners.online.values import EpochSettings
from littled.learners.partition import PartitionParameters
from littled.learners.prediction import PredictionParameters
from littled.learners.sequences import SequencesParameters
from littled.planner import OnlinePlan, StreamPlan
from littled.planner.batch.plan import BatchPlan
from littled.planner.leader.plan import LeaderPlan
from littled.planner.minimum.plan import MinimumPlan
from littled.planner.most_frequent.plan import MostFrequentPlan
from littled.planner.online.lengths import length_plan
from littled.planner.partition.plan import PartitionPlan
from littled.planner.prediction.plan import PredictionPlan
from littled.planner.sequences.plan import SequencesPlan
from littled_protocol.rules import Words
from support.class_cases import STREAMS
from support.twins import plan_of, points_of

HORIZON = 32

DENSE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=5,
    selection="dense",
    selection_rate=Fraction(1, 3),
    selection_accounting="pure",
    draws=1,
    calls_max=3,
    buffer="examples",
)
SPARSE = replace(
    DENSE, selection="sparse", buffer="both", background_max=12, list_cap=9, bottom_score=3
)
CLOSURE = replace(
    DENSE, selection="closure", buffer="mistakes", list_cap=1, bottom_score=3,
    selection_rate=Fraction(1),
)  # fmt: skip
TEACHERS = replace(CLOSURE, selection="sparse", teachers=4, list_cap=6, trigger_threshold=7)
STAGES = replace(TEACHERS, stage_rate=Fraction(2))
SETS = replace(CLOSURE, selection="histogram", list_cap=0)
TALLY = replace(
    SETS, selection="tally", fresh=True, calls_max=9, trigger_rate=Fraction(0), trigger_threshold=0,
    threshold_rate=Fraction(3), selection_rate=Fraction(3), bottom_score=5,
)  # fmt: skip
GROUPS = GroupSettings(
    groups=3,
    singles=1,
    later_singles=1,
    stable=1,
    renewed_after=8,
    next_score=4,
    tested_every=2,
    forgets_after=16,
)
CLOSURE_TALLY = replace(TALLY, selection="closure-tally", groups=GROUPS)
STARTS_OVER = replace(CLOSURE_TALLY, starts_over=True)
FRESH: dict[str, Any] = {"tests": "cohen_lyu", "tests_failure": Fraction(1, 1000)}
VETOES: dict[str, Any] = {"noise_rate": Fraction(1, 10**6), "buffer": "both", "background_max": 12}
SCHEDULE: dict[str, Any] = {
    "trigger_rate": Fraction(0), "trigger_threshold": 0, "fresh": True, "schedule_first": 4,
    "calls_max": 3,
}  # fmt: skip
KEPT = SCHEDULE | {"mistakes_max": 12}
# Epochs of 2 examples, 2, 4, and then 5 each.
CAPPED = SCHEDULE | {"schedule_first": 2, "schedule_cap": 5, "calls_max": 7}
CHAIN = replace(
    DENSE, selection="chain", fresh=True, calls_max=9, trigger_threshold=2,
    ladder=(EpochSettings(3),), memory=ChainSettings(3, 7, 0, 1000, 20, 0),
)  # fmt: skip
MAJORITY = replace(
    DENSE, selection="majority", buffer="mistakes", fresh=True, calls_max=9, trigger_threshold=2,
    ladder=(EpochSettings(3),), memory=MajoritySettings(step=2, levels=3, cap=5, doubt=1, slack=9),
)  # fmt: skip
LADDER = (EpochSettings(3, 3), EpochSettings(6, None))
BLOCKS: dict[str, Any] = {"fresh": True, "calls_max": 9, "trigger_threshold": 3}
PATH = replace(
    SPARSE, selection="path", ladder=(EpochSettings(2), EpochSettings(4)),
    memory=PathSettings(conviction=2, floor=5, bit=1, longer=1, full_length=3), **BLOCKS,
)  # fmt: skip
ELSEWHERE = replace(PATH, memory=PathSettings(2, 5, 1, 1, 3, leaves=1, elsewhere=1))
LENGTHS = replace(
    SPARSE, selection="lengths", buffer="mistakes", background_max=0, list_cap=2,
    ladder=(EpochSettings(2),), memory=LengthSettings(1, length_plan(3, 3, 2, 2).cuts), **BLOCKS,
)  # fmt: skip

ONLINE: dict[str, tuple[str, OnlineParameters]] = {
    "dense": ("thresholds", DENSE),
    "dense mistakes": ("stumps", replace(DENSE, buffer="mistakes")),
    "dense draws": ("table", replace(DENSE, draws=3, ladder=(EpochSettings(3), EpochSettings(8)))),
    "dense zcdp": ("table", replace(DENSE, selection_accounting="zcdp")),
    "dense noisy": ("conjunctions", replace(DENSE, noise_rate=Fraction(1, 10))),
    "dense fresh": ("thresholds", replace(DENSE, fresh=True, calls_max=9, trigger_threshold=3)),
    "dense fresh tests": ("thresholds", replace(DENSE, **FRESH)),
    "dense schedule": ("stumps", replace(DENSE, **SCHEDULE)),
    "sparse": ("prefixes", SPARSE),
    "sparse draws": ("long prefixes", replace(SPARSE, draws=3, list_cap=13, buffer="examples")),
    "sparse fresh": ("prefixes", replace(SPARSE, fresh=True, calls_max=9, trigger_threshold=3)),
    "sparse schedule": ("prefixes", replace(SPARSE, **KEPT)),
    "teachers": ("thresholds", TEACHERS),
    "teachers of points": ("points", TEACHERS),
    "teachers of prefixes": ("prefixes", replace(TEACHERS, draws=3)),
    "teachers of sets": ("sets", replace(TEACHERS, buffer="both", background_max=9)),
    "stages": ("cubes", STAGES),
    "stages of affine spaces": ("affine", STAGES),
    "fresh stages": ("thresholds", replace(STAGES, **FRESH)),
    "closure": ("cubes", CLOSURE),
    "closure of affine spaces": ("affine", replace(CLOSURE, **FRESH)),
    "closure of teachers": ("conjunctions", replace(CLOSURE, teachers=4, bottom_score=2)),
    "closure ladder": ("cubes", replace(CLOSURE, ladder=LADDER, calls_max=5)),
    "closure fresh": ("affine", replace(CLOSURE, fresh=True, calls_max=9, trigger_threshold=3)),
    "closure that starts over": (
        "affine", replace(CLOSURE, fresh=True, calls_max=9, trigger_threshold=3, starts_over=True)
    ),
    "closure that starts over together": (
        "affine",
        replace(
            CLOSURE, fresh=True, calls_max=9, trigger_threshold=3, teachers=3, starts_over=True,
            starts_over_together=True,
        ),
    ),
    "closure schedule": ("conjunctions", replace(CLOSURE, **KEPT, teachers=3)),
    "histogram": ("all sets", SETS),
    "histogram of points": ("points", replace(SETS, fresh=True, calls_max=9)),
    "histogram of wide ids": ("wide sets", SETS),
    "histogram vetoes": ("sets", replace(SETS, **VETOES)),
    "histogram fresh vetoes": (
        "all sets",
        replace(SETS, **VETOES, fresh=True, ladder=(EpochSettings(3),)),
    ),
    "histogram schedule": ("points", replace(SETS, **KEPT)),
    "tally": ("all sets", TALLY),
    "tally of wide ids": ("wide sets", replace(TALLY, bottom_score=5)),
    "tally, published": ("all sets", replace(TALLY, published_score=3)),
    "closure tally": ("conjunctions", CLOSURE_TALLY),
    "closure tally of affine spaces": ("affine", CLOSURE_TALLY),
    "closure tally that starts over": ("affine", STARTS_OVER),
    "path": ("prefixes", PATH),
    "path, elsewhere": ("prefixes", ELSEWHERE),
    "lengths": ("prefixes", LENGTHS),
    "majority": ("stumps", MAJORITY),
    "chain": ("thresholds", CHAIN),
    "chain medians": ("thresholds", replace(CHAIN, memory=ChainSettings(9, 7, 0, 1000, 20, 2))),
    "chain halving": (
        "thresholds", replace(CHAIN, memory=ChainSettings(0, 0, 0, 1000, 0, 0), ladder=()),
    ),
}  # fmt: skip
WITH_A_CAP: dict[str, tuple[str, OnlineParameters]] = {
    "dense capped": ("stumps", replace(DENSE, **CAPPED)),
    "dense capped, standing": ("stumps", replace(DENSE, **CAPPED, memory=StandingSettings(3))),
    "histogram capped": ("points", replace(SETS, **CAPPED, mistakes_max=12)),
}
WINDOW: dict[str, Any] = {"epsilon": Fraction(30), "window": 12, "answers_max": 9}
E, Q, A, V = Fraction(1, 3), Fraction(1, 5), Fraction(1, 10), Fraction(1, 2)
RELABELLING = PredictionParameters(
    "relabelling", **WINDOW, rate=E, subset_rate=Q, chunks=4, vote_rate=V, net=Fraction(1, 5)
)
PREDICTIONS: dict[str, tuple[str, PredictionParameters]] = {
    "answers, dense": ("stumps", PredictionParameters("dense", **WINDOW, rate=E)),
    "answers, stability": (
        "points", PredictionParameters("stability", **WINDOW, rate=E, subset_rate=Q, flip=A)
    ),
    "answers, relabelling": ("thresholds", RELABELLING),
    "answers, relabelling, flipped": ("prefixes", replace(RELABELLING, flip=A)),
    "answers, realizable": (
        "affine", PredictionParameters("realizable", **WINDOW, chunks=4, vote_rate=V)
    ),
    "answers, realizable by stumps": (
        "stumps", PredictionParameters("realizable", **WINDOW, chunks=3, vote_rate=V)
    ),
    "answers, averaging": (
        "conjunctions", PredictionParameters("averaging", **WINDOW, chunks=4, flip=A)
    ),
    "answers, majority": (
        "sets", PredictionParameters("majority", **WINDOW, chunks=4, vote_rate=V)
    ),
    "answers, concentrated majority": (
        "table",
        PredictionParameters("majority", **WINDOW, chunks=4, vote_rate=V, accounting="zcdp"),
    ),
}  # fmt: skip


ONE_WINDOW = BatchParameters(
    "dense", epsilon=Fraction(30), horizon=HORIZON, window=10, rate=Fraction(1, 3)
)
OF_CHUNKS: dict[str, Any] = {"bottom_score": 2, "list_cap": 1, "chunks": 4, "rate": Fraction(1)}
BATCH: dict[str, tuple[str, BatchParameters]] = {
    "windows, dense": ("thresholds", ONE_WINDOW),
    "windows, zcdp": ("table", replace(ONE_WINDOW, accounting="zcdp")),
    "windows, histogram": ("points", replace(ONE_WINDOW, method="histogram", bottom_score=2)),
    "windows, vetoes": (
        "sets",
        replace(ONE_WINDOW, method="histogram", bottom_score=2, noise_rate=Fraction(1, 10)),
    ),
    "windows, proposals": (
        "prefixes", replace(ONE_WINDOW, method="proposals", bottom_score=3, list_cap=4)
    ),
    "windows, closure": ("affine", replace(ONE_WINDOW, method="closure", **OF_CHUNKS)),
    "windows, teachers": (
        "thresholds", replace(ONE_WINDOW, method="teachers", **{**OF_CHUNKS, "list_cap": 9})
    ),
    "windows, stages": (
        "thresholds",
        replace(
            ONE_WINDOW, method="teachers", tolerance=Fraction(9, 10), stage_rate=Fraction(2),
            **{**OF_CHUNKS, "list_cap": 9, "chunks": 2},
        ),
    ),
    "windows, boosted": ("scorecard", replace(ONE_WINDOW, method="boosted", rounds=3, step=110)),
}  # fmt: skip


def of_users(case: str, most: int, **changes: Any) -> tuple[str, OnlineParameters]:
    """The same learner where users are protected, with fewer mistakes to an epoch."""
    of_class, parameters = {**ONLINE, **WITH_A_CAP}[case]
    threshold = min(parameters.trigger_threshold, 3)
    changes = {"trigger_threshold": threshold, **changes}
    return of_class, replace(parameters, user_examples_max=most, **changes)


TWO_RATES: dict[str, Any] = {"buffer": "both", "threshold_rate": Fraction(1, 4)}
# Of every way of selection, trigger and buffer; a name ends with c.
USERS: dict[str, tuple[str, OnlineParameters]] = {
    "dense, users 1": of_users("dense", 1),
    "dense mistakes, users 2": of_users("dense mistakes", 2),
    "dense draws, users 3": of_users("dense draws", 3),
    "dense fresh, users 2": of_users("dense fresh", 2),
    "dense schedule, users 1": of_users("dense schedule", 1),
    "sparse, users 2": of_users("sparse", 2),
    "sparse fresh, users 1": of_users("sparse fresh", 1, background_max=3),
    "sparse schedule, users 3": of_users("sparse schedule", 3),
    "teachers, users 2": of_users("teachers", 2),
    "teachers of sets, users 1": of_users("teachers of sets", 1),
    "stages, users 1": of_users("stages", 1),
    "closure, users 1": of_users("closure", 1),
    "closure of teachers, users 3": of_users("closure of teachers", 3),
    "closure ladder, users 2": of_users(
        "closure ladder", 2, ladder=(EpochSettings(2, 3), EpochSettings(3, None))
    ),
    "closure fresh, users 1": of_users("closure fresh", 1),
    "closure that starts over, users 2": of_users("closure that starts over", 2),
    "closure that starts over together, users 3": of_users(
        "closure that starts over together", 3, teachers=None
    ),
    "closure schedule, users 2": of_users("closure schedule", 2),
    "histogram, users 1": of_users("histogram", 1),
    "histogram of points, users 3": of_users("histogram of points", 3),
    "histogram vetoes, users 2": of_users("histogram vetoes", 2),
    "histogram fresh vetoes, users 1": of_users("histogram fresh vetoes", 1),
    "histogram schedule, users 2": of_users("histogram schedule", 2),
    "path, users 2": of_users("path", 2),
    "lengths, users 1": of_users("lengths", 1),
    "chain, users 2": of_users("chain", 2),
    "chain halving, users 1": of_users("chain halving", 1),
    "chain background, users 1": of_users("chain", 1, **TWO_RATES, background_max=3),
    "chain halving mistakes, users 2": of_users("chain halving", 2, buffer="mistakes"),
    "dense background, users 1": of_users("dense fresh", 1, **TWO_RATES, background_max=2),
    "dense background, users 2": of_users("dense fresh", 2, **TWO_RATES, background_max=5),
    "dense capped, users 2": of_users("dense capped", 2),
    "dense capped standing, users 2": of_users("dense capped, standing", 2),
    "dense capped background, users 1": of_users("dense capped", 1, background_max=3),
}


def windows_of_users(case: str, most: int, **changes: Any) -> tuple[str, BatchParameters]:
    """The same window learner where users are protected."""
    of_class, parameters = BATCH[case]
    return of_class, replace(parameters, user_examples_max=most, **changes)


# Of every method of windows; a name ends with c.
BATCH_USERS: dict[str, tuple[str, BatchParameters]] = {
    "windows, dense, users 1": windows_of_users("windows, dense", 1),
    "windows, zcdp, users 2": windows_of_users("windows, zcdp", 2),
    "windows, histogram, users 3": windows_of_users("windows, histogram", 3),
    "windows, vetoes, users 2": windows_of_users("windows, vetoes", 2),
    "windows, proposals, users 1": windows_of_users("windows, proposals", 1),
    "windows, closure, users 2": windows_of_users("windows, closure", 2, window=7),
    "windows, teachers, users 1": windows_of_users("windows, teachers", 1),
    "windows, stages, users 3": windows_of_users("windows, stages", 3),
    "windows, boosted, users 2": windows_of_users("windows, boosted", 2),
}
VALUE: dict[str, Any] = {"epsilon": Fraction(30), "horizon": HORIZON, "window": 10}
SINCE = MinimumParameters("exponential", **VALUE, rate=Fraction(1), rank=3)
SINCE_STABLE = MinimumParameters(
    "stable", **VALUE, rate=Fraction(1), rank=3, span=2, length_rate=Fraction(1),
    prefix_rate=Fraction(1), bottom_score=2, least_count=1,
)  # fmt: skip
WHICH = MostFrequentParameters("exponential", **VALUE, rate=Fraction(1))
WHICH_STABLE = MostFrequentParameters("stable", **VALUE, rate=Fraction(1), bottom_score=2)
MINIMA: dict[str, tuple[str, MinimumParameters]] = {
    "minimum": ("integers", SINCE),
    "minimum of wide numbers": ("wide integers", replace(SINCE, accounting="zcdp")),
    "minimum, stable": ("integers", SINCE_STABLE),
}
ITEMS: dict[str, tuple[str, MostFrequentParameters]] = {
    "most frequent": ("points", WHICH),
    "most frequent string": ("strings", WHICH),
    "most frequent, stable": ("points", WHICH_STABLE),
    "most frequent string, stable": ("strings", replace(WHICH_STABLE, accounting="zcdp")),
}
# A name ends with c.
VALUE_USERS: dict[str, tuple[str, Any]] = {
    "minimum, users 2": ("integers", replace(SINCE, user_examples_max=2)),
    "minimum, stable, users 1": ("integers", replace(SINCE_STABLE, user_examples_max=1)),
    "most frequent, users 1": ("points", replace(WHICH, user_examples_max=1)),
    "most frequent, stable, users 3": ("strings", replace(WHICH_STABLE, user_examples_max=3)),
}
# Examples are held back for later calls.
POOLED = replace(
    DENSE, fresh=True, calls_max=20, trigger_threshold=0, selection_rate=Fraction(1, 20),
    pool=PoolSettings(slots=2, own=0, one_in=1, calls=30),
)  # fmt: skip
POOLS: dict[str, tuple[str, OnlineParameters]] = {
    "dense pool": ("thresholds", POOLED),
    "dense slot": (
        "thresholds",
        replace(
            POOLED, trigger_threshold=1, trigger_rate=Fraction(3, 2),
            pool=PoolSettings(slots=1, own=0, one_in=2, calls=30),
        ),
    ),
    "dense emptied": (
        "thresholds",
        replace(
            POOLED, trigger_threshold=2, selection_rate=Fraction(1, 10),
            pool=PoolSettings(slots=2, own=0, one_in=2, calls=6),
        ),
    ),
}  # fmt: skip
# Epochs end at public places before a trigger looks.
WARMED_UP: dict[str, tuple[str, OnlineParameters]] = {
    "dense warm-up": (
        "thresholds",
        replace(
            POOLED, trigger_threshold=1, trigger_rate=Fraction(3, 2), warmup_ends=(2, 6, 12),
            pool=PoolSettings(slots=2, own=1, one_in=2, calls=30),
        ),
    ),
    "chain warm-up": ("thresholds", replace(CHAIN, warmup_ends=(3, 9))),
}  # fmt: skip
# And of users, beside a background; a slot that keeps few ranks them.
POOL_OF_USERS = replace(
    POOLED, background_max=2, **TWO_RATES, user_examples_max=1,
    pool=PoolSettings(slots=2, own=0, one_in=2, calls=30, most=3),
)  # fmt: skip
POOL_USERS: dict[str, tuple[str, OnlineParameters]] = {
    "dense pool, users 1": ("thresholds", POOL_OF_USERS),
    "dense slot, users 2": (
        "thresholds",
        replace(
            POOL_OF_USERS, trigger_threshold=1, user_examples_max=2,
            pool=PoolSettings(slots=1, own=1, one_in=2, calls=30, most=2),
        ),
    ),
    "dense emptied, users 1": (
        "thresholds",
        replace(
            POOL_OF_USERS, trigger_threshold=2, selection_rate=Fraction(1, 10),
            pool=PoolSettings(slots=2, own=0, one_in=2, calls=6, most=1),
        ),
    ),
}  # fmt: skip
COLD = LeaderParameters(
    epsilon=Fraction(1), horizon=HORIZON, batch_examples=4, decay=Fraction(9, 10),
    learning_rate=Fraction(1, 5), scale=1000,
)  # fmt: skip
WARM = replace(COLD, warmup=2, warmup_scale=900, moments_scale=10**6)
COMPARED = replace(
    WARM, cosines=6, average_batches=3, publish_every=2, stump_batches=2, stump_rate=Fraction(1, 3),
    stump_points=100, stump_fade=4, judging_scale=10**9, judging_first=1, judging_last=2,
)  # fmt: skip
TRIED = replace(COMPARED, trial_after=5, trial_batches=2, judging_return=1)
SCORECARDS: dict[str, tuple[str, LeaderParameters]] = {
    "scorecard": ("scorecard", COLD),
    "scorecard warm": ("scorecard", WARM),
    "scorecard shaped": ("scorecard", replace(WARM, columns_max=1, monotone="rf")),
    "scorecard compared": ("scorecard", COMPARED),
    "scorecard seldom": ("scorecard", replace(COMPARED, publish_every=1, least_change=40)),
    "scorecard damped": (
        "scorecard",
        replace(COMPARED, damping=Fraction(4, 5), judging_lead=2, short_share=Fraction(4, 5)),
    ),
    "scorecard falling": (
        "scorecard",
        replace(COMPARED, damping=Fraction(4, 5), falling_after=3, drift_batches=2, drift_lead=1),
    ),
    "scorecard flagged": ("categories", replace(COMPARED, flags_from=3)),
    "scorecard exact": ("scorecard", replace(COMPARED, accounting="gaussian")),
    "scorecard tried": ("scorecard", TRIED),
    "scorecard pure": (
        "scorecard",
        replace(
            TRIED,
            damping=Fraction(4, 5),
            accounting="gaussian",
            conversion_delta=Fraction(1, 100),
            stump_rate=Fraction(1, 100),
        ),
    ),
}
# A name ends with c.
SCORECARD_USERS: dict[str, tuple[str, LeaderParameters]] = {
    "scorecard, users 1": ("scorecard", replace(WARM, user_examples_max=1)),
    "scorecard, users 3": ("scorecard", replace(COLD, user_examples_max=3)),
    "scorecard compared, users 2": ("scorecard", replace(COMPARED, user_examples_max=2)),
}
PARTITION = PartitionParameters(
    epsilon=Fraction(1), horizon=HORIZON, rate=Fraction(1, 3), accounting="pure", schedule_first=4,
    schedule_cap=6, decay=Fraction(7, 8), divided_from=3, block_cost=1, parts_max=8,
)  # fmt: skip
PARTITIONS: dict[str, tuple[str, PartitionParameters]] = {
    "partition": ("prefix sets", PARTITION),
    "partition zcdp": ("prefix sets", replace(PARTITION, accounting="zcdp", parts_max=3)),
}
# A name ends with c.
PARTITION_USERS: dict[str, tuple[str, PartitionParameters]] = {
    "partition, users 1": ("prefix sets", replace(PARTITION, user_examples_max=1)),
    "partition, users 3": ("prefix sets", replace(PARTITION, user_examples_max=3)),
}
OF_STRINGS: dict[str, Any] = {"vote_rate": Fraction(1), "threshold": 2}
SEQUENCE = SequencesParameters("exponential", **VALUE, rate=Fraction(1), rank=3, **OF_STRINGS)
SEQUENCE_STABLE = SequencesParameters(
    "stable", **VALUE, rate=Fraction(1), rank=3, span=2, length_rate=Fraction(1),
    prefix_rate=Fraction(1), bottom_score=2, least_count=1, **OF_STRINGS,
)  # fmt: skip
SEQUENCES: dict[str, tuple[str, SequencesParameters]] = {
    "sequence": ("sequences", SEQUENCE),
    "sequence zcdp": ("sequences", replace(SEQUENCE, accounting="zcdp")),
    "sequence, stable": ("sequences", SEQUENCE_STABLE),
}
# A name ends with c.
SEQUENCE_USERS: dict[str, tuple[str, SequencesParameters]] = {
    "sequence, users 2": ("sequences", replace(SEQUENCE, user_examples_max=2, threshold=3)),
    "sequence, stable, users 1": ("sequences", replace(SEQUENCE_STABLE, user_examples_max=1)),
}
TOGETHER = ("dense", "dense draws", "answers, dense", "answers, relabelling")
LEARNERS: dict[str, tuple[str, Any]] = {
    **ONLINE, **PREDICTIONS, **USERS, **BATCH, **BATCH_USERS, **POOLS, **WITH_A_CAP,
    **SCORECARDS, **SCORECARD_USERS, **PARTITIONS, **PARTITION_USERS,
    **MINIMA, **ITEMS, **VALUE_USERS, **SEQUENCES, **SEQUENCE_USERS, **POOL_USERS,
    **WARMED_UP,
}  # fmt: skip
# A scorecard's rule shows nearly every change of its releases: its twins, which say the same
# as long as these are the same, are in `tests/daemon/learners/leader/test_laws.py`. Those of values
# of windows, which are drawn among all numbers, are in `tests/daemon/learners/values`.
# A case's streams follow from its place: what is new stands at the end.
NEW = ["majority", "path, elsewhere", "tally, published"]
OLD = [name for name in ONLINE if name not in NEW]
CASES = [
    *OLD, *PREDICTIONS, *BATCH, "a small budget", "one stream for all", *POOLS, *WITH_A_CAP, *NEW,
    *WARMED_UP,
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A stream's plan, and the points of its examples."""

    plan: StreamPlan
    points: NDArray[Any]


def learner_plan(name: str, hypotheses: HypothesisClass | None = None) -> Any:
    """One learner under its own name without blanks."""
    kind: type[Any] = PredictionPlan if name in PREDICTIONS else OnlinePlan
    kind = BatchPlan if name in BATCH | BATCH_USERS else kind
    kind = LeaderPlan if name in SCORECARDS | SCORECARD_USERS else kind
    kind = PartitionPlan if name in PARTITIONS | PARTITION_USERS else kind
    of_class, parameters = LEARNERS[name]
    kind = MinimumPlan if isinstance(parameters, MinimumParameters) else kind
    kind = MostFrequentPlan if isinstance(parameters, MostFrequentParameters) else kind
    kind = SequencesPlan if isinstance(parameters, SequencesParameters) else kind
    plain = name.replace(",", "").replace(" ", "_")
    return kind(plain, hypotheses or STREAMS[of_class][0], parameters, Words())


@functools.cache
def case_of(name: str) -> Case:
    if name == "one stream for all":
        hypotheses, points = STREAMS["thresholds"]
        plans = [learner_plan(each, hypotheses) for each in TOGETHER]
        return Case(plan_of(plans, HORIZON), points_of(hypotheses, points))
    if name == "a small budget":  # which refuses the second or third call
        hypotheses, points = STREAMS["thresholds"]
        plan = plan_of([learner_plan("dense")], HORIZON, share=Fraction(2, 3))
        return Case(plan, points_of(hypotheses, points))
    hypotheses, points = STREAMS[LEARNERS[name][0]]
    return Case(plan_of([learner_plan(name)], HORIZON), points_of(hypotheses, points))
