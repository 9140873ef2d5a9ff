"""Negative controls: six published variants of AboveThreshold, four of which are NOT private.

**Never use these for anything but audits.** An audit that finds nothing means something only if it
finds what is known to be wrong. Nothing but `littled audit --controls` and tests imports this
module; its noise is of floating-point numbers, as published, and not safe to release.

Source: Lyu, Su and Li, "Understanding the Sparse Vector Technique for Differential Privacy"
(2017), Algorithms 1 to 6 and Figure 2; the worst sequences of queries are those of their proofs and
of Ding and others 2018 and Bichsel and others 2021 (see `littled.auditing.bounds`).

All of them compare queries of sensitivity 1 with one noisy threshold, q + nu >= 0 + rho, and say
Above or Below for each. With epsilon the budget that was claimed and c the number of Aboves after
which they halt, scales of the noise of threshold and queries are:

| variant | threshold | queries | remark | true guarantee |
|---|---|---|---|---|
| 1, Lyu, Su and Li | 2/eps | 4c/eps | | eps |
| 2, Dwork and Roth 2014 | 2c/eps | 4c/eps | threshold drawn again after each Above | eps |
| 3, Roth's lecture notes 2011 | 2/eps | 2c/eps | says q + nu instead of Above | none |
| 4, Lee and Clifton 2014 | 4/eps | 4/(3 eps) | | (1 + 6c)/4 eps |
| 5, Stoddard and others 2014 | 2/eps | no noise | does not halt | none |
| 6, Chen and others 2015 | 2/eps | 2/eps | does not halt | none |
"""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.auditing.bounds import Claim, Counts
from littled.auditing.claims import claims_of
from littled.auditing.noise import derived_key, quick_words
from littled.auditing.online import online_subject, whole
from littled.auditing.trials import TrialSubject
from littled.classes.thresholds import Thresholds
from littled.learners.online.parameters import OnlineParameters
from littled.mechanisms.noise import Address, NoiseSource
from littled.planner import OnlinePlan, StreamPlan, season_cost
from littled_protocol.rules import Words

# Runs of a variant that are drawn together, and those that usually decide.
TOGETHER = 50_000
USUAL_RUNS = 200_000
# Budget that is claimed, and Aboves after which a variant halts. Variant 3 adds so much noise for
# more of them that no audit of this size would convict it.
EPSILON, ABOVES, ABOVES_WITH_ANSWERS = 1.0, 2, 1
# Streams of `trigger_plan` that show one fault or another.
TELLING = (
    "a mistake less, of two kinds",
    "waiting after 3 mistakes, the last or none",
    "labels that nothing fits",
)
# How far the threshold is above the queries that worst cases are made of.
LEVELS = (0.0, 1.0)
# Noisy answers are rounded to so many parts of a unit, a function of what was released.
ANSWER_PARTS = 2
ANSWER_MAX = 20

BELOW, ABOVE, HALTED = 0, 1, 2
# Said for a noisy answer: an even larger code for a larger answer.
_ANSWER_ZERO = 64

Floats = NDArray[np.float64]
Queries = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One published variant with its claimed epsilon.

    `private`: whether the claim holds, as Lyu, Su and Li prove. `threshold_scale` and `query_scale`
    are of Laplace noise, in units of 1 / epsilon. `aboves`: after so many Aboves it halts, None for
    never.
    """

    name: str
    source: str
    private: bool
    epsilon: float
    threshold_scale: float
    query_scale: float
    aboves: int | None
    drawn_again: bool = False
    says_answers: bool = False


def variants(
    epsilon: float = EPSILON, aboves: int = ABOVES, answers: int = ABOVES_WITH_ANSWERS
) -> tuple[Variant, ...]:
    """The six variants, each claimed to be epsilon-DP with at most so many Aboves or answers."""
    c, a = aboves, answers
    lyu, roth, lecture = "Lyu, Su and Li 2017", "Dwork and Roth 2014", "Roth's lecture notes 2011"
    return (
        Variant("variant 1", lyu, True, epsilon, 2, 4 * c, c),
        Variant("variant 2", roth, True, epsilon, 2 * c, 4 * c, c, drawn_again=True),
        Variant("variant 3", lecture, False, epsilon, 2, 2 * a, a, says_answers=True),
        Variant("variant 4", "Lee and Clifton 2014", False, epsilon, 4, 4 / 3, c),
        Variant("variant 5", "Stoddard and others 2014", False, epsilon, 2, 0, None),
        Variant("variant 6", "Chen and others 2015", False, epsilon, 2, 2, None),
    )


@dataclass(frozen=True)
class QueryPair:
    """Answers to the same queries on two neighbouring inputs: each differs by at most 1."""

    name: str
    here: Queries
    there: Queries

    def __post_init__(self) -> None:
        """ValueError unless these are answers of neighbours to queries of sensitivity 1."""
        changes = [abs(a - b) for a, b in zip(self.here, self.there, strict=True)]
        if max(changes) > 1:
            raise ValueError("neighbours answer a query of sensitivity 1 at most 1 apart")


def query_pairs() -> tuple[QueryPair, ...]:
    """Pairs that are known to be bad for one variant or another.

    Queries that rise by 1, at which Below says much, and then queries that fall by 1, at which
    Above does.
    """
    shapes: list[tuple[str, Queries, Queries]] = [
        (f"{low} queries rise, {high} fall", (0,) * low + (1,) * high, (1,) * low + (0,) * high)
        for low in (3, 7)
        for high in (1, 3)
    ]
    half = 4
    shapes.append(
        (f"{half} queries rise, {half} fall", (0,) * 2 * half, (1,) * half + (-1,) * half)
    )
    return tuple(
        QueryPair(
            f"{name}, threshold {level:g}", *(_lowered(answers, level) for answers in queries)
        )
        for level in LEVELS
        for name, *queries in shapes
    )


def _lowered(queries: Queries, level: float) -> Queries:
    return tuple(query - level for query in queries)


@dataclass(frozen=True)
class VariantTrial:
    """Runs of one variant on one pair."""

    variant: Variant
    pair: QueryPair

    @property
    def name(self) -> str:
        """What the pair is called."""
        return self.pair.name

    @property
    def chunk(self) -> int:
        """Runs that are counted at a time."""
        return TOGETHER

    def counts(self, side: int, runs: int, key: bytes) -> Counts:
        """How often each transcript came up in so many runs on one side."""
        queries = self.pair.there if side else self.pair.here
        answers = transcripts(self.variant, queries, runs, derived_key(key, side))
        rows = answers.view(f"V{answers.shape[1]}").ravel()
        found, times = np.unique(rows, return_counts=True)
        return Counter(
            {row.tobytes(): count for row, count in zip(found, times.tolist(), strict=True)}
        )


def transcripts(variant: Variant, queries: Queries, runs: int, key: bytes) -> NDArray[np.uint8]:
    """What so many runs say to each query: uint8 (runs, queries).

    `BELOW`, `ABOVE`, `HALTED`; or for a noisy answer, a code that rises with it.
    """
    draws = 1 + len(queries) * (1 + variant.drawn_again)
    words = iter(quick_words(key, runs * draws).reshape(-1, runs))
    scale = variant.threshold_scale / variant.epsilon
    rho = laplace(next(words), scale)
    left = np.full(runs, len(queries) if variant.aboves is None else variant.aboves)
    answers = np.full((runs, len(queries)), HALTED, dtype=np.uint8)
    for step, query in enumerate(queries):
        noisy = query + laplace(next(words), variant.query_scale / variant.epsilon)
        runs_on = left > 0
        fires = runs_on & (noisy >= rho)
        answers[runs_on, step] = BELOW
        answers[fires, step] = _answers(noisy[fires]) if variant.says_answers else ABOVE
        left -= fires
        if variant.drawn_again:
            rho = np.where(fires, laplace(next(words), scale), rho)
    return answers


def laplace(words: NDArray[np.uint64], scale: float) -> Floats:
    """Laplace noise of this scale for each word, as textbooks draw it: never to be released."""
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52 - 0.5
    return np.asarray(-scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform)))


def _answers(noisy: Floats) -> NDArray[np.uint8]:
    """A code for each noisy answer, rounded and cut."""
    rounded = np.floor(np.clip(noisy, -ANSWER_MAX, ANSWER_MAX) * ANSWER_PARTS)
    return np.asarray(_ANSWER_ZERO + rounded, dtype=np.uint8)


# -- our own trigger, with faults ------------------------------------------------------------------


@dataclass(frozen=True)
class ThresholdNoiseReused:
    """Noise with which all epochs of a season share the noise of their threshold."""

    source: NoiseSource

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        """Those of position 0 for every threshold."""
        if address.purpose == "trigger-threshold":
            address = replace(address, position=0)
        return self.source.words(address, count, offset)


@dataclass(frozen=True)
class NoQueryNoise:
    """Noise with which a step fires exactly where its count reaches the noisy threshold."""

    source: NoiseSource

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        """The middle of all words for every step: a noise of 0."""
        if address.purpose == "trigger":
            return np.full(count, 1 << 63, dtype=np.uint64)
        return self.source.words(address, count, offset)


def trigger_plan(rate: Fraction) -> StreamPlan:
    """A plan whose trigger has this rate, and whose selections cost and say next to nothing."""
    parameters = OnlineParameters(
        epsilon=Fraction(2),
        horizon=64,
        noise_rate=Fraction(0),
        trigger_rate=rate,
        trigger_threshold=3,
        selection="dense",
        selection_rate=Fraction(1, 64),
        selection_accounting="pure",
        draws=1,
        calls_max=16,
        buffer="examples",
        fresh=True,
    )
    learner = OnlinePlan("trigger", Thresholds(2), parameters, Words())
    caps = season_cost(learner.learner("control"))
    delta = Fraction(1, 100)
    return StreamPlan("control", Fraction(2), delta, Fraction(0), 64, caps, (learner,))


def trigger_controls() -> tuple[TrialSubject, ...]:
    """The engine as it is, and with three faults of its trigger."""
    plan, half = trigger_plan(Fraction(1)), trigger_plan(Fraction(2))
    claims = claims_of(plan.caps, plan.delta_z)
    made = [
        ("trigger", "the engine as it is", plan, None),
        ("half the noise", "its trigger at twice the rate", half, None),
        ("noise reused", "one threshold noise for all epochs", plan, ThresholdNoiseReused),
        ("no query noise", "noise on the threshold alone", plan, NoQueryNoise),
    ]
    found = []
    for name, what, subject_plan, fault in made:
        subject = online_subject(subject_plan, subject_plan.of(OnlinePlan)[0], name, fault)
        trials = [trial for trial in subject.trials if trial.name in TELLING]
        private = name == "trigger"
        found.append(
            replace(subject, what=what, claims=claims, trials=trials, private=private, cheap=True)
        )
    return tuple(found)


def variant_controls() -> tuple[TrialSubject, ...]:
    """The six published variants."""
    return tuple(
        TrialSubject(
            variant.name,
            variant.source,
            (Claim(variant.epsilon, 0.0),),
            [VariantTrial(variant, pair) for pair in query_pairs()],
            (whole,),
            private=variant.private,
            usual_runs=USUAL_RUNS,
            cheap=True,
        )
        for variant in variants()
    )
