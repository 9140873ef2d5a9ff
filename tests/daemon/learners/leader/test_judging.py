"""What is published of candidates that were judged."""

import pytest

from littled.learners.leader.judging import Candidate, Judgement
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


def test_a_plan_may_ask_for_a_lead_of_more_noise() -> None:
    whole = 10 * NOISE
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
