"""What is published of candidates that were judged."""

import numpy as np
import pytest

from littled.learners.leader.judging import Candidate, Judgement, candidate_scores
from littled.learners.leader.parameters import NOISE_VARIANCE

NOISE = round(NOISE_VARIANCE**0.5)
# All right, in the units in which counts were released: noise is nothing beside it.
WHOLE = 1000 * NOISE


def judged(*periods: tuple[float, float, float]) -> Candidate:
    found = Judgement()
    for shares in periods:
        found = found.after(tuple(round(WHOLE * share) for share in shares), WHOLE)
    return found.choice


@pytest.mark.parametrize(
    ("shares", "choice"),
    [
        ((0.5, 0.5, 0.1), Candidate.SCORECARD),
        ((0.5, 0.505, 0.1), Candidate.SCORECARD),  # not half a percent of the examples ahead
        ((0.5, 0.52, 0.1), Candidate.STUMP),
        ((0.5, 0.4, 0.52), Candidate.NEVER),
        ((0.5, 0.4, -0.52), Candidate.ALWAYS),
        ((-0.1, -0.2, 0.0), Candidate.NEVER),
    ],
)
def test_a_scorecard_is_left_for_what_leads_clearly(
    shares: tuple[float, float, float], choice: Candidate
) -> None:
    assert judged(shares) is choice


def test_noise_alone_is_no_lead() -> None:
    whole = 10 * NOISE
    assert Judgement().after((0, NOISE, 0), whole).choice is Candidate.SCORECARD
    assert Judgement().after((0, 2 * NOISE, 0), whole).choice is Candidate.STUMP


def test_a_plan_may_ask_for_a_lead_of_more_noise_or_of_none() -> None:
    whole = 10 * NOISE
    half_a_percent = 2 * whole // 200
    assert Judgement().after((0, half_a_percent, 0), whole, lead=0).choice is Candidate.SCORECARD
    assert Judgement().after((0, half_a_percent + 1, 0), whole, lead=0).choice is Candidate.STUMP
    assert Judgement().after((0, 2 * NOISE, 0), whole, lead=2).choice is Candidate.SCORECARD
    assert Judgement().after((0, 3 * NOISE, 0), whole, lead=2).choice is Candidate.STUMP


def test_a_scorecard_is_taken_again_when_nothing_leads_it_by_half_as_much() -> None:
    assert judged((0.5, 0.52, 0), (0.5, 0.5, 0)) is Candidate.STUMP
    assert judged((0.5, 0.52, 0), (0.515, 0.5, 0)) is Candidate.SCORECARD


def test_what_changed_counts_more_than_what_was() -> None:
    before = [(0.5, 0.6, 0.0)] * 20
    assert judged(*before) is Candidate.STUMP
    assert judged(*before, *[(0.5, 0.1, 0.0)]) is Candidate.SCORECARD


def test_standing_and_noise_fade_by_a_quarter() -> None:
    found = Judgement().after((8, 4, -3), 100).after((0, 0, 0), 100)
    assert (found.standing, found.examples) == ((6, 3, -3), 175)
    assert found.variance == NOISE_VARIANCE * 9 // 16 + NOISE_VARIANCE


def test_scores_of_a_trial_are_right_answers_less_those_of_never() -> None:
    # of 10 examples the scorecard was right on 7, the stump on 6, "never" on 4, "always" on 6
    sums = np.array([4, 2, -2], dtype=np.int64)
    assert candidate_scores(sums).tolist() == [3, 2, 0, 2]


@pytest.mark.parametrize("constant", [Candidate.NEVER, Candidate.ALWAYS])
def test_what_is_always_the_same_is_left_for_what_leads_it_after_a_trial(
    constant: Candidate,
) -> None:
    """By half a deviation of a lead, or by a whole one where that is no scorecard."""
    whole, sign = 10 * NOISE, 1 if constant is Candidate.NEVER else -1
    drawn = Judgement(choice=constant)
    for scorecard, stump, halves, choice in [
        (0.3, 0, 0, Candidate.SCORECARD), (0.3, 0, 1, constant), (0.9, 0, 1, Candidate.SCORECARD),
        (0.9, 0, 2, constant), (-9, 1.2, 1, constant), (-9, 1.2, 0, Candidate.STUMP),
        (-9, 1.6, 1, Candidate.STUMP),
    ]:  # fmt: skip
        released = (round(scorecard * NOISE), round(stump * NOISE), 0 * sign)
        assert drawn.after(released, whole, 1, halves).choice is choice, (scorecard, stump, halves)


def test_a_scorecard_comes_after_the_stump_of_a_trial_as_it_always_did() -> None:
    released = (NOISE // 10, 0, 0)
    for halves in (0, 1, 2):
        found = Judgement(choice=Candidate.STUMP).after(released, 10 * NOISE, 2, halves)
        assert found.choice is Candidate.SCORECARD
