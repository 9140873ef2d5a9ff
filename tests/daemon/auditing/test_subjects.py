"""One small learner of every kind is audited, and no claim is exceeded."""

from dataclasses import replace
from fractions import Fraction

import pytest

from littled.auditing.noise import key_of_seed
from littled.auditing.prediction import PredictionSubject
from littled.auditing.streams import NoStreams
from littled.auditing.subjects import SMALL, small_plan, subjects_of
from littled.auditing.subjects.online import PUBLISHING
from littled.auditing.subjects.prediction import ANSWERING
from littled.auditing.trials import Auditor, Subject, TrialSubject, processes
from littled.classes.names import class_from_name
from littled.learners.online.selections.register import SELECTIONS
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.planner.batch.request import BatchRequest
from littled.planner.leader.request import LeaderRequest
from littled.planner.minimum.plan import MinimumRequest
from littled.planner.most_frequent.plan import MostFrequentRequest
from littled.planner.partition.request import PartitionRequest
from littled.planner.prediction.request import PredictionRequest
from littled.planner.requests import Request

KEY = key_of_seed(1)
LONG_RUNS = 200_000
# A pair of streams that shows much, and the least share of the claim that few runs of it prove.
SHOWN = {
    "dense": ("a mistake less", 0.03),
    "fresh-warmup": ("3 mistakes of 5", 0.2),
    "memory": ("a mistake less, of two kinds", 0.1),
    "sparse-scheduled": ("8 mistakes of 11", 0.3),
    "histogram-noisy": ("waiting after 6 mistakes, the last or none", 0.2),
    "teachers": ("waiting after 46 mistakes, the first or none", 0.0),
    "users-fresh": ("waiting after 4 mistakes, the last or none", 0.03),
    "users-scheduled": ("5 mistakes of 6", 0.1),
}
# What takes longest of these, and of the ways to answer.
DEAR = {"memory", "sparse-scheduled", "histogram-noisy", "teachers", "users-fresh"}
DEAR_ANSWERS = {"answers-stability", "answers-dense"}


def subject(name: str) -> Subject:
    (found,) = subjects_of(small_plan(name))
    return found


def test_every_way_of_selection_and_trigger_is_among_the_small_learners() -> None:
    parameters = [small_plan(name).publishing[0].parameters for name in PUBLISHING]
    assert {each.selection for each in parameters} == set(SELECTIONS)
    assert {each.tests for each in parameters} == {"above_threshold", "cohen_lyu"}
    assert {each.fresh for each in parameters} == {True, False}
    assert {each.selection_accounting for each in parameters} == {"pure", "zcdp"}
    assert any(each.stage_rate for each in parameters)
    assert any(each.threshold_rate and each.background_max for each in parameters)
    scheduled = {each.selection for each in parameters if each.schedule_first}
    assert scheduled == {"dense", "sparse", "closure", "histogram"}
    assert {each.selection for each in parameters if each.warmup_ends} == {"dense", "chain"}
    assert any(each.selection == "histogram" and each.noise_rate for each in parameters)
    methods = [small_plan(name).answering[0].parameters.method for name in ANSWERING]
    assert methods == list(ANSWERING.values())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in DEAR)) for name in SHOWN]
)
def test_few_runs_of_the_engine_exceed_no_claim(name: str) -> None:
    asked, (pair, share) = subject(name), SHOWN[name]
    assert isinstance(asked, TrialSubject)
    trials = [each for each in asked.trials if each.name == pair]
    finding = Auditor(KEY).audit(0, replace(asked, trials=trials), 200)
    assert not finding.exceeded
    assert finding.epsilon >= share * finding.claim.epsilon


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in DEAR_ANSWERS)) for name in ANSWERING],
)
def test_games_of_answers_exceed_no_claim(name: str) -> None:
    asked = subject(name)
    assert isinstance(asked, PredictionSubject)
    told: list[int] = []
    runs = 500 if name == "answers-stability" else 2_000
    finding = Auditor(KEY, told=told.append).audit(0, asked, runs)
    assert sum(told) == asked.runs_needed(runs)
    assert not finding.exceeded
    assert finding.epsilon > 0.15 * finding.claim.epsilon


# Least shares of the claim that many runs prove. Of teachers hardly one example's list ever shows,
# and the paper's constants pay for far more than so short a season can.
NEAR = dict.fromkeys(SMALL, 0.3) | {
    "teachers": 0.1,
    "closure-scheduled": 0.2,
    "paper": 0.0,
    "users-fresh": 0.2,
    "halving-blocks": 0.2,
}


@pytest.mark.campaign
@pytest.mark.parametrize("name", SMALL)
def test_many_runs_of_the_engine_exceed_no_claim(name: str) -> None:
    with processes(2) as pool:
        finding = Auditor(KEY, pool=pool).audit(0, subject(name), LONG_RUNS)
    assert not finding.exceeded
    assert finding.epsilon >= NEAR[name] * finding.claim.epsilon


def test_learners_of_a_stream_are_audited_one_by_one() -> None:
    small = (small_plan("fresh").plans[0].hypotheses, small_plan("dense").plans[0].hypotheses)
    request = StreamRequest(
        "s", *(small_plan("fresh").epsilon, small_plan("fresh").delta), 64,
        (
            OnlineRequest("one", small[0], selection="fresh"),
            OnlineRequest("two", small[1], selection="fresh"),
            PredictionRequest("three", small[0], 24, excess_error=None, answers=2),
        ),
    )  # fmt: skip
    plan = plan_stream(request)
    found = list(subjects_of(plan))
    assert [each.name for each in found] == ["s/one", "s/three", "s/two"]
    assert all(each.claims[0].epsilon < float(plan.epsilon) / 2 for each in found)
    assert [each.name for each in subjects_of(plan, "two")] == ["s/two"]
    assert list(subjects_of(plan, "four")) == []


# One small learner of each kind whose audits are the engine's.
OF_KINDS = [
    *("window-dense", "scorecard", "scorecard-trial", "prefix-sets", "minimum-stable"),
    "most-frequent-stable",
    "sequence-exponential",
]


@pytest.mark.parametrize("name", OF_KINDS)
def test_a_small_learner_of_each_kind_exceeds_no_claim(name: str) -> None:
    asked = subject(name)
    assert isinstance(asked, TrialSubject)
    finding = Auditor(KEY).audit(0, replace(asked, trials=asked.trials[:1]), 100)
    assert not finding.exceeded


@pytest.mark.parametrize(
    "learner",
    [
        LeaderRequest("long", class_from_name("scorecard:3x3")),
        PartitionRequest("long", class_from_name("prefix_sets:8:2")),
        BatchRequest("long", class_from_name("thresholds:8"), window=200_000),
        MinimumRequest("long", class_from_name("integers:3"), window=200_000),
        MostFrequentRequest("long", class_from_name("points:8"), window=200_000),
    ],
    ids=lambda learner: learner.kind,
)
def test_what_takes_too_long_for_many_runs_is_refused(learner: Request) -> None:
    asked = StreamRequest("s", Fraction(1, 100), Fraction(1, 10**6), 200_000_000, (learner,))
    with pytest.raises(NoStreams, match="too many for runs to be repeated"):
        list(subjects_of(plan_stream(asked)))
