"""Whole seasons by exact enumeration: no neighbour's transcript exceeds what a season is charged.

The mechanisms are replaced by their ideal laws, of which every outcome is tried in turn; what is
tested is all the rest: what the learner asks them, in which order, and what it is charged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes import SparseSets, Thresholds
from littled.learners import online
from littled.learners.online import OnlineLearner
from littled.learners.parameters import OnlineParameters, Rung
from support.small_classes import Cubes, Sets
from support.transcripts import Stream, charged, failure_mass, law_of

PARAMETERS = OnlineParameters(
    epsilon=Fraction(8),
    horizon=8,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1),
    trigger_threshold=1,
    selection="closure",
    selection_rate=Fraction(3, 4),
    selection_accounting="pure",
    draws=1,
    calls_max=2,
    buffer="mistakes",
    list_cap=1,
    bottom_score=3,
    tests="cohen_lyu",
    tests_failure=Fraction(1, 20),
)
HISTOGRAM = replace(PARAMETERS, selection="histogram")
# So little that no mistake is expected, but enough for examples to veto.
SLIGHT = Fraction(1, 10**6)
# Epochs end after 1, 2 and 4 examples, nothing is spent on a trigger.
SCHEDULED = replace(
    PARAMETERS, trigger_rate=Fraction(0), trigger_threshold=0, tests="above_threshold",
    tests_failure=Fraction(0), fresh=True, schedule_first=1, mistakes_max=8, calls_max=3,
)  # fmt: skip


def neighbours(examples: Stream, points: int) -> Iterator[Stream]:
    for at, other in product(range(len(examples)), product(range(points), (0, 1))):
        if other != examples[at]:
            yield (*examples[:at], other, *examples[at + 1 :])


def worst_failures(
    learner: OnlineLearner, streams: Sequence[Stream], epsilons: Sequence[float]
) -> list[float]:
    """The largest hockey-stick divergence of a stream and a neighbour at each epsilon."""
    points, worst = 1 << getattr(learner.hypotheses, "bits", 2), [0.0] * len(epsilons)
    for examples in streams:
        here = law_of(learner, examples)
        for other in neighbours(examples, points):
            there = law_of(learner, other)
            for i, epsilon in enumerate(epsilons):
                both = failure_mass(here, there, epsilon), failure_mass(there, here, epsilon)
                worst[i] = max(worst[i], *both)
    return worst


STREAMS: list[Stream] = [
    ((1, 1), (1, 1), (2, 0), (1, 1)),
    ((1, 1), (2, 1), (1, 1), (2, 0)),
    ((2, 0), (2, 0), (3, 1), (1, 1)),
]
CASES: dict[str, OnlineLearner] = {
    "closures": OnlineLearner("s/l", Cubes(2), PARAMETERS),
    "closures of teachers": OnlineLearner("s/l", Cubes(2), replace(PARAMETERS, teachers=2)),
    "ladder": OnlineLearner(
        "s/l", Cubes(2), replace(PARAMETERS, ladder=(Rung(0, 2), Rung(2, None)), calls_max=3)
    ),
    "histograms": OnlineLearner("s/l", Sets(2), HISTOGRAM),
    "histograms with vetoes": OnlineLearner(
        "s/l", Sets(2),
        replace(HISTOGRAM, noise_rate=SLIGHT, buffer="examples", background_max=8),
    ),
    "fresh closures": OnlineLearner(
        "s/l", Cubes(2), replace(PARAMETERS, fresh=True, ladder=(Rung(0, 2),), calls_max=4)
    ),
    "fresh histograms": OnlineLearner(
        "s/l", Sets(2), replace(HISTOGRAM, fresh=True, ladder=(Rung(2),), calls_max=4)
    ),
    "fresh histograms with vetoes": OnlineLearner(
        "s/l", SparseSets(2, 1),
        replace(
            HISTOGRAM, fresh=True, noise_rate=SLIGHT, buffer="both", background_max=8, calls_max=4,
        ),
    ),
    "scheduled closures": OnlineLearner("s/l", Cubes(2), replace(SCHEDULED, bottom_score=2)),
    "scheduled teachers": OnlineLearner("s/l", Cubes(2), replace(SCHEDULED, teachers=2)),
    "scheduled ids": OnlineLearner(
        "s/l", Sets(2), replace(SCHEDULED, selection="histogram", bottom_score=2)
    ),
    "scheduled rules": OnlineLearner(
        "s/l", Thresholds(4), replace(SCHEDULED, selection="dense", buffer="examples")
    ),
    "stages": OnlineLearner(
        "s/l", Cubes(1),
        replace(
            PARAMETERS, selection="sparse", teachers=2, list_cap=2, stage_rate=Fraction(1),
            bottom_score=6, calls_max=1,
        ),
    ),
}  # fmt: skip


def check_season(case: str, streams: Sequence[Stream]) -> None:
    learner = CASES[case]
    if case == "stages":
        streams = [tuple((x % 2, y) for x, y in each) for each in streams]
    cost = charged(learner)
    enough, little = worst_failures(learner, streams, (float(cost.epsilon_pure), 0.1))
    assert enough <= float(cost.delta) + 1e-12
    # the enumeration does see losses: a price that is much too low is exceeded
    assert little > 0.1


@pytest.mark.parametrize("case", CASES)
def test_seasons_with_fresh_tests_cost_at_most_what_they_are_charged(case: str) -> None:
    check_season(case, [STREAMS[0][:3]])


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES)
def test_longer_seasons_cost_at_most_what_they_are_charged(case: str) -> None:
    check_season(case, STREAMS)


def test_a_season_with_threshold_noise_costs_at_most_what_it_is_charged() -> None:
    parameters = replace(
        PARAMETERS, tests="above_threshold", tests_failure=Fraction(0), trigger_rate=Fraction(3),
        bottom_score=12, ladder=(Rung(0, 2),),
    )  # fmt: skip
    learner = OnlineLearner("s/l", Cubes(1), parameters)
    cost = charged(learner)
    epsilon, streams = float(cost.epsilon_pure), [((1, 1), (0, 1))]
    enough, little = worst_failures(learner, streams, (epsilon, epsilon / 3))
    assert enough <= float(cost.delta) + 1e-12
    assert little > 1e-3


@pytest.mark.parametrize("vetoes", [False, True])
def test_histograms_of_a_season_cost_exactly_what_they_are_charged(vetoes: bool) -> None:
    """A vote that changes hands, or that becomes a veto: some transcript shows all of 2e."""
    parameters = replace(
        SCHEDULED, selection="histogram", schedule_first=4, calls_max=1, bottom_score=2,
        noise_rate=SLIGHT if vetoes else Fraction(0),
        buffer="both" if vetoes else "mistakes", background_max=8 if vetoes else 0,
    )  # fmt: skip
    learner = OnlineLearner("s/l", Sets(2), parameters)
    cost = charged(learner)
    assert cost.epsilon_pure == 2 * parameters.selection_rate
    before = ((1, 1), (1, 1), (2, 1), (1, 1)) if vetoes else ((1, 1), (1, 1), (2, 1), (3, 1))
    after = (*before[:1], (1, 0) if vetoes else (2, 1), *before[2:])
    here, there = law_of(learner, before), law_of(learner, after)
    assert set(here) == set(there)
    losses = [abs(float(np.log(p / there[said]))) for said, p in here.items()]
    epsilon = float(cost.epsilon_pure)
    assert max(losses) <= epsilon + 1e-9
    assert max(losses) > (0.8 if vetoes else 0.9999) * epsilon


# --- epochs on a schedule -------------------------------------------------------------------------


def largest_loss(learner: OnlineLearner, streams: Sequence[Stream]) -> float:
    """The largest logarithm of a ratio of a transcript's probabilities under two neighbours."""
    worst = 0.0
    for examples in streams:
        here = law_of(learner, examples)
        for other in neighbours(examples, 4):
            there = law_of(learner, other)
            assert set(here) == set(there)
            worst = max(worst, *(abs(float(np.log(p / there[said]))) for said, p in here.items()))
    return worst


def test_all_selections_of_a_schedule_cost_what_one_costs_and_hardly_less() -> None:
    learner = CASES["scheduled rules"]
    cost = charged(learner)
    assert (cost.epsilon_pure, cost.delta) == (2 * SCHEDULED.selection_rate, 0)
    worst = largest_loss(learner, [((0, 1), (3, 1), (0, 0))])
    assert 0.75 * float(cost.epsilon_pure) < worst <= float(cost.epsilon_pure) + 1e-9


def test_a_schedule_that_remembers_costs_more_than_one_selection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OnlineLearner, "_forgetful", lambda _, state: state)
    learner = CASES["scheduled rules"]
    worst = largest_loss(learner, [((0, 1), (3, 1), (0, 0))])
    assert worst > 1.5 * float(charged(learner).epsilon_pure)


def test_releases_of_a_schedule_have_the_same_positions_on_every_stream() -> None:
    for examples in STREAMS:
        for case in ("scheduled closures", "scheduled rules"):
            law = law_of(CASES[case], examples)
            assert {tuple(each[1] for each in said) for said in law} == {(1, 2, 4)}


# --- variants that must be caught -----------------------------------------------------------------


@pytest.mark.parametrize("fresh", [True, False])
def test_calls_that_see_older_epochs_cost_more_than_one_selection(fresh: bool) -> None:
    """What a fresh learner is charged does not pay for one that remembers."""
    parameters = replace(
        PARAMETERS, trigger_rate=Fraction(1, 1 << 16), trigger_threshold=0, bottom_score=1,
        tests_failure=Fraction(1, 1000), selection_rate=Fraction(3), calls_max=3,
    )  # fmt: skip
    cost = charged(OnlineLearner("s/l", Cubes(2), replace(parameters, fresh=True)))
    learner = OnlineLearner("s/l", Cubes(2), replace(parameters, fresh=fresh))
    # one example proposes at every call; delta pays for the proposals that only one side has
    epsilon, streams = float(cost.epsilon_pure) / 2, [((1, 1), (0, 0), (0, 0))]
    (worst,) = worst_failures(learner, streams, [epsilon])
    (alone,) = worst_failures(
        OnlineLearner("s/l", Cubes(2), replace(parameters, fresh=True, calls_max=1)),
        streams, [epsilon],
    )  # fmt: skip
    assert (worst > 1.2 * alone) != fresh


def equal_parts(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
    """Algorithm 3, line 19, read literally: one example more moves others to other teachers."""
    parts = np.array_split(np.arange(len(words)), teachers)
    return np.repeat(np.arange(teachers), [len(part) for part in parts]).astype(np.int64)


@pytest.mark.parametrize("broken", [False, True])
def test_a_split_that_moves_other_examples_is_caught(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(online, "_numbers", equal_parts)
    # a trigger that hardly looks at its count, so that the selection's loss stands alone
    parameters = replace(
        PARAMETERS, teachers=3, trigger_rate=Fraction(1, 1 << 16), trigger_threshold=0,
        tests_failure=Fraction(1, 1000), calls_max=1, selection_rate=Fraction(2), bottom_score=2,
    )  # fmt: skip
    learner = OnlineLearner("s/l", Cubes(2), parameters)
    cost = charged(learner)
    mistakes = [(1, 1), (1, 1), (2, 1), (2, 1), (1, 1), (1, 1)]
    # a mistake more, or none, at the last position; transcripts whose call comes after it
    laws = [law_of(learner, (*mistakes, last)) for last in ((0, 1), (0, 0))]
    here, there = (
        {said: p for said, p in law.items() if said and said[0][1] == len(mistakes) + 1}
        for law in laws
    )
    mass = sum(here.values())
    worst = max(
        failure_mass(first, second, float(cost.epsilon_pure)) / mass
        for first, second in ((here, there), (there, here))
    )
    assert (worst > 2 * float(cost.delta)) == broken
