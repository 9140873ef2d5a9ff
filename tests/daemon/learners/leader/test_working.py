"""What one step of a scorecard learner adds and finishes: sums of stages, counts of candidates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from littled.classes.scorecard import Scorecards
from littled.learners.contract import Examples, Place, SeasonOpened
from littled.learners.leader import LeaderLearner, LeaderParameters
from littled.learners.leader.judging import Candidate, Judgement
from littled.learners.leader.working import Working
from littled.mechanisms.noise import KeyedNoise
from support.learning import HEAD

F = Fraction
NOISE = KeyedNoise(bytes(32))
PARAMETERS = LeaderParameters(
    epsilon=F(1), horizon=200, batch_examples=10, decay=F(39, 40), learning_rate=F(1, 8), scale=900,
    publish_every=1, stump_batches=2, stump_rate=F(1), stump_points=100, stump_fade=10,
    judging_scale=10**9, judging_first=1, judging_last=2,
)  # fmt: skip
LEARNER = LeaderLearner("s/l", Scorecards("4x2"), PARAMETERS)
X = np.array([[i % 4, i % 2] for i in range(10)], dtype=np.uint16)
Y = (X[:, 0] >= 2).astype(np.uint8)


def working(batches: int) -> Working:
    """Ten examples, where so many batches are done."""
    state = LEARNER.step(LEARNER.initial(), SeasonOpened(0, 0), NOISE).state
    state = replace(state, batches=batches, stump=2, judged=np.zeros(3, dtype=np.int64))
    return Working(LEARNER, state, Examples(Place(HEAD, 0, 0), X, Y), NOISE)


def test_examples_of_a_stage_are_counted_by_cells_and_teach_nothing_else() -> None:
    one = working(0)
    one.add(0, 10)
    assert one.cell_sums is not None
    assert one.cell_sums.tolist() == [-3, -3, 2, 2, -1, -1]
    assert not one.partial.any()
    assert one.judged is not None
    assert not one.judged.any()


def test_candidates_are_judged_after_the_first_scorecards() -> None:
    early, late = working(2), working(3)
    for each in (early, late):
        each.add(0, 10)
        assert each.partial.any()
        assert each.cell_sums is None
    assert early.judged is not None
    assert not early.judged.any()
    assert late.judged is not None
    # no scorecard yet, which is "never": right on 6 of 10; the stump is right on all
    assert late.judged.tolist() == [2, 10, 2]


def test_examples_of_a_trial_count_candidates_and_teach_nothing_else() -> None:
    tried = replace(PARAMETERS, trial_after=3, trial_batches=1)
    learner = LeaderLearner("s/l", Scorecards("4x2"), tried)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
    state = replace(state, batches=3, stump=2, judged=np.zeros(3, dtype=np.int64))
    one = Working(learner, state, Examples(Place(HEAD, 0, 0), X, Y), NOISE)
    one.add(0, 10)
    assert one.cell_sums is not None
    assert one.cell_sums.tolist() == [2, 10, 2]
    assert not one.partial.any()
    assert one.judged is not None
    assert not one.judged.any()
    weights = one.weights
    one.finish(Place(HEAD, 0, 9))
    assert (one.batches, one.weights is weights) == (4, True)
    assert one.result().cell_sums is None
    # at rate 1 the stump, four right answers ahead, is drawn, and nothing is judged yet
    assert one.judgement == Judgement(choice=Candidate.STUMP)


def test_a_first_season_publishes_its_stump_until_the_trial() -> None:
    tried = replace(PARAMETERS, trial_after=3, trial_batches=1, stump_rate=F(4))
    for parameters, at_once in ((PARAMETERS, Candidate.SCORECARD), (tried, Candidate.STUMP)):
        learner = LeaderLearner("s/l", Scorecards("4x2"), parameters)
        state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
        one = Working(learner, state, Examples(Place(HEAD, 0, 0), X, Y), NOISE)
        for at in (0, 1):
            one.add(0, 10)
            one.finish(Place(HEAD, 0, at))
        assert one.batches == 2
        assert one.judgement == Judgement(choice=at_once)
