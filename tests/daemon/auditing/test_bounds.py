"""Limits against exact binomial tails, how often bounds are wrong, and what a training believes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from littled.auditing.bounds import Claim, Counts, Verdict, epsilon_at_least, learn

DOUBT = 0.01


def whole(transcript: object) -> object:
    return transcript


@given(st.integers(1, 3000), st.data())
def test_limits_are_those_of_clopper_and_pearson(games: int, data: st.DataObject) -> None:
    """P[at least so many hits] at the lower limit, and of so few at the upper one, is the tail."""
    hits = data.draw(st.integers(1, games))
    false_hits = data.draw(st.integers(0, games - 1))
    sure = epsilon_at_least(hits, games, games, 0.0, DOUBT)  # r = 1
    assert binom.sf(hits - 1, games, np.exp(sure)) == pytest.approx(DOUBT / 2, rel=1e-6)
    ratio = epsilon_at_least(hits, false_hits, games, 0.0, DOUBT)
    r = np.exp(sure - ratio)
    assert binom.cdf(false_hits, games, r) == pytest.approx(DOUBT / 2, rel=1e-6)


def test_nothing_is_known_without_hits_or_below_delta() -> None:
    assert epsilon_at_least(0, 0, 100, 0.0) == -np.inf
    assert epsilon_at_least(10, 0, 100, 0.2) == -np.inf
    assert epsilon_at_least(100, 0, 100, 0.2) > 0


def test_bounds_exceed_the_truth_as_seldom_as_they_say() -> None:
    """Randomized response at epsilon 1, audited so often that the doubt can be seen."""
    p, games, doubt = np.e / (1 + np.e), 400, 0.1
    rng = np.random.default_rng(1)
    hits, false_hits = (rng.binomial(games, share, 4000) for share in (p, 1 - p))
    bounds = [
        epsilon_at_least(a, b, games, 0.0, doubt)
        for a, b in zip(hits.tolist(), false_hits.tolist(), strict=True)
    ]
    assert 0.0005 < np.mean(np.array(bounds) > 1) < doubt
    assert 0.5 < np.median(bounds) < 1


def drawn(law: list[float], runs: int, seed: int) -> Counts:
    found = np.random.default_rng(seed).multinomial(runs, law)
    return Counter({number: count for number, count in enumerate(found.tolist()) if count})


def test_a_training_believes_what_tells_the_sides_apart() -> None:
    here, there = [0.5, 0.3, 0.15, 0.05], [0.5, 0.3, 0.05, 0.15]
    counts, checks = (
        (drawn(here, 20_000, seed), drawn(there, 20_000, seed + 1)) for seed in (1, 3)
    )
    belief = learn(counts, checks, (whole,), Claim(1.0, 0.0), 20_000)
    assert (set(belief.convincing), belief.likely) in [({2}, 0), ({3}, 1)]
    assert 0.8 < belief.promised < np.log(3)
    assert belief.count(Counter({2: 5, 3: 7, 0: 9})) == (5 if belief.likely == 0 else 7)


def test_the_best_view_is_found_where_whole_transcripts_are_too_many() -> None:
    """Half of a transcript is chance; the other half tells."""
    rng = np.random.default_rng(3)

    def counts(share: float) -> Counts:
        telling = rng.random(3000) < share
        return Counter(zip(rng.integers(0, 1000, 3000).tolist(), telling.tolist(), strict=True))

    def second(transcript: object) -> object:
        assert isinstance(transcript, tuple)
        return transcript[1]

    first, then = ((counts(0.6), counts(0.2)) for _ in range(2))
    belief = learn(first, then, (whole, second), Claim(1.0, 0.0), 3000)
    assert belief.view is second
    assert belief.promised > 0.6


def test_chance_convinces_nobody() -> None:
    """The same law on both sides, of more transcripts than runs."""
    law = [1 / 5000] * 5000
    first, then = ((drawn(law, 20_000, seed), drawn(law, 20_000, seed + 1)) for seed in (4, 6))
    belief = learn(first, then, (whole,), Claim(1.0, 0.0), 100_000)
    assert belief.promised < 0.1
    # without a check it would be more: some transcripts came up on one side alone
    assert learn(first, first, (whole,), Claim(1.0, 0.0), 100_000).promised > 0.5


def test_a_verdict_names_the_claims_that_it_disproves() -> None:
    verdict = Verdict(hits=900, false_hits=100, games=1000)
    assert 1.5 < verdict.epsilon() < np.log(9)
    low, high, loose = Claim(1.0, 0.0), Claim(3.0, 0.0), Claim(1.0, 0.9)
    assert verdict.exceeded((high, low, loose)) == (low,)
