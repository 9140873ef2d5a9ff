"""Audits of randomized response, whose epsilon is known: what they prove, and how they are made."""

from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from littled.auditing.bounds import Claim, Counts
from littled.auditing.noise import key_of_seed, quick_words
from littled.auditing.trials import RUNS_MIN, Auditor, TrialSubject, processes

RUNS = 20_000


def whole(transcript: object) -> object:
    return transcript


@dataclass(frozen=True)
class Response:
    """Says the side, or with probability 1 / (1 + e^epsilon) the other one."""

    epsilon: float
    chunk: int = 3_000

    @property
    def name(self) -> str:
        return f"at {self.epsilon:g}"

    def counts(self, side: int, runs: int, key: bytes) -> Counts:
        lies = quick_words(key, runs) < 2**64 / (1 + np.exp(self.epsilon))
        return Counter((lies ^ bool(side)).tolist())


def subject(claim: float, *epsilons: float) -> TrialSubject:
    trials = [Response(each) for each in epsilons]
    return TrialSubject("r", "randomized response", (Claim(claim, 0.0),), trials, (whole,))


def test_the_most_telling_trial_decides_and_proves_nearly_the_truth() -> None:
    finding = Auditor(key_of_seed(1)).audit(0, subject(1.0, 0.2, 1.0, 0.5), RUNS)
    assert finding.trial == "at 1"
    assert 0.9 < finding.epsilon < 1
    assert not finding.exceeded
    assert finding.claim == Claim(1.0, 0.0)


def test_a_claim_that_is_too_small_is_disproved() -> None:
    finding = Auditor(key_of_seed(1)).audit(0, subject(0.8, 1.0), RUNS)
    assert finding.exceeded
    assert finding.claim == Claim(0.8, 0.0)


def test_no_noise_at_all_is_seen_from_the_least_number_of_runs() -> None:
    finding = Auditor(key_of_seed(1)).audit(0, subject(1.0, 700.0), RUNS_MIN)
    assert finding.exceeded
    assert (finding.verdict.hits, finding.verdict.false_hits) == (RUNS_MIN, 0)


def test_fewer_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 100 runs"):
        Auditor(key_of_seed(1)).audit(0, subject(1.0, 1.0), RUNS_MIN - 1)


def test_the_runs_that_are_announced_are_made() -> None:
    told: list[int] = []
    asked = subject(1.0, 1.0, 0.5)
    Auditor(key_of_seed(1), told=told.append).audit(0, asked, 5_001)
    assert sum(told) == asked.runs_needed(5_001)


def test_audits_repeat_by_their_key_and_number() -> None:
    def hits(seed: int, number: int) -> tuple[int, int]:
        verdict = Auditor(key_of_seed(seed)).audit(number, subject(1.0, 1.0), RUNS).verdict
        return verdict.hits, verdict.false_hits

    assert hits(1, 0) == hits(1, 0)
    assert len({hits(seed, number) for seed, number in product((1, 2), (0, 1))}) == 4


def test_other_processes_find_the_same() -> None:
    """Small chunks, so that they come back in any order; the controls' trials can be sent."""
    from littled.auditing.controls import variant_controls

    asked = variant_controls()[4]
    alone = Auditor(key_of_seed(3)).audit(0, asked, 2_000)
    with processes(2) as pool:
        assert pool is not None
        together = Auditor(key_of_seed(3), pool=pool).audit(0, asked, 2_000)
    assert (alone.trial, alone.verdict) == (together.trial, together.verdict)
    with processes(1) as pool:
        assert pool is None
