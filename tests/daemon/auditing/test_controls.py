"""The six published variants are told apart, and so are faults of our own trigger."""

import ast
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import littled
from littled.auditing.bounds import Claim, Counts, Transcript
from littled.auditing.controls import (
    ABOVE,
    BELOW,
    HALTED,
    QueryPair,
    Variant,
    laplace,
    transcripts,
    trigger_controls,
    variant_controls,
    variants,
)
from littled.auditing.noise import derived_key, key_of_seed, quick_words
from littled.auditing.online import whole
from littled.auditing.trials import Auditor, Finding, TrialSubject, processes
from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from support.tails import tail_of

QUICK_RUNS, LONG_RUNS = 200_000, 1_000_000
LONG_ENGINE_RUNS = 200_000
KEY = key_of_seed(1)
BROKEN = {"variant 3", "variant 4", "variant 5", "variant 6"}


# -- the published variants ------------------------------------------------------------------------


def check_variants(runs: int) -> None:
    findings = {
        each.name: Auditor(KEY).audit(number, each, runs)
        for number, each in enumerate(variant_controls())
    }
    assert {name for name, each in findings.items() if each.exceeded} == BROKEN
    # the audit comes near enough to see something of the private ones as well
    assert all(each.epsilon > 0.2 for each in findings.values())
    # variant 4 is private, at (1 + 6c)/4 times what it claims
    assert findings["variant 4"].epsilon < 13 / 4


@pytest.mark.long
def test_exactly_the_broken_variants_are_found() -> None:
    check_variants(QUICK_RUNS)


@pytest.mark.campaign
def test_a_million_runs_find_exactly_the_broken_variants() -> None:
    check_variants(LONG_RUNS)


def said(variant: Variant, queries: tuple[float, ...], runs: int = 20_000) -> NDArray[np.uint8]:
    return transcripts(variant, queries, runs, KEY)


def test_variants_halt_when_they_should() -> None:
    high = (1000.0,) * 6
    for each in variants(aboves=2):
        rows = said(each, high, 50)
        if each.aboves is None:
            assert (rows == ABOVE).all()
        else:
            assert (rows[:, : each.aboves] != HALTED).all()
            assert (rows[:, each.aboves :] == HALTED).all()
        assert (said(each, (-1000.0,) * 6, 50) == BELOW).all()


def test_scales_of_noise_are_the_published_ones() -> None:
    """P[Above] of one query at the threshold plus q, from the law of nu - rho."""
    for each in variants(epsilon=1.0, aboves=3, answers=3):
        rng = np.random.default_rng(2)
        rho, nu = (
            rng.laplace(0, scale or 1e-9, 400_000)
            for scale in (each.threshold_scale, each.query_scale)
        )
        for query in (-2.0, 1.0):
            share = (said(each, (query,), 50_000) != BELOW).mean()
            assert share == pytest.approx((query + nu >= rho).mean(), abs=0.015)
    scales = [(each.threshold_scale, each.query_scale) for each in variants(aboves=3, answers=3)]
    assert scales == [(2, 12), (6, 12), (2, 6), (4, 4 / 3), (2, 0), (2, 2)]


def test_only_variant_2_draws_its_threshold_again() -> None:
    """Without query noise two queries at the threshold would agree, unless it is drawn again."""
    for each in variants(aboves=2):
        still = replace(each, query_scale=1e-9, aboves=None, says_answers=False)
        first, second = said(still, (0.0, 0.0)).T
        differ = (first != second).mean()
        assert (differ > 0.2) == each.drawn_again


def test_noisy_answers_are_told_and_lie_above_the_threshold() -> None:
    (lecture,) = (each for each in variants() if each.says_answers)
    rows = said(lecture, (0.0,))[:, 0]
    assert len(np.unique(rows)) > 20
    assert np.median(rows[rows > HALTED]) > 64


def test_laplace_noise_has_its_quantiles() -> None:
    noise = laplace(quick_words(KEY, 200_000), 3.0)
    for share in (0.05, 0.25, 0.5, 0.9):
        exact = 3 * np.sign(share - 0.5) * -np.log1p(-2 * abs(share - 0.5))
        assert (noise < exact).mean() == pytest.approx(share, abs=0.005)
    assert np.isfinite(laplace(np.array([0, 2**64 - 1], dtype=np.uint64), 1.0)).all()


def test_queries_of_neighbours_differ_by_at_most_one() -> None:
    with pytest.raises(ValueError, match="at most 1 apart"):
        QueryPair("p", (0, 0), (0, 2))


def test_nobody_but_the_command_imports_the_controls() -> None:
    home = Path(littled.__file__).parent
    users = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*.py")
        if "controls" in (text := path.read_text(encoding="utf-8"))  # others need not be parsed
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and "controls" in (node.module or "")
    }
    assert users == {"cli/auditing.py"}


# -- our own trigger -------------------------------------------------------------------------------

STEPS, THRESHOLD = 16, 3


@dataclass(frozen=True)
class TriggerTrial:
    """Seasons of `AboveThreshold` side by side, with its own tables; mistakes (STEPS,) of a side.

    `rate` is that of the noise, None for none; `reused`: whether epochs share a threshold's noise.
    """

    name: str
    mistakes: tuple[tuple[int, ...], tuple[int, ...]]
    rate: Fraction = Fraction(1)
    query_noise: bool = True
    reused: bool = False
    chunk: int = 50_000

    def counts(self, side: int, runs: int, key: bytes) -> Counts:
        words = quick_words(derived_key(key, side), runs * 2 * (STEPS + 1)).reshape(-1, runs)
        first = self._threshold_noise(words[-1])
        rho = first.copy()
        count = np.zeros(runs, dtype=np.int64)
        fires = np.zeros((runs, STEPS), dtype=np.bool_)
        for step, mistake in enumerate(self.mistakes[side]):
            count += mistake
            fired = self._fired(THRESHOLD + rho - count, words[2 * step])
            fires[:, step] = fired
            count[fired] = 0
            again = (
                first[fired] if self.reused else self._threshold_noise(words[2 * step + 1, fired])
            )
            rho[fired] = again
        packed = np.packbits(fires, axis=1).view("V2").ravel()
        found, times = np.unique(packed, return_counts=True)
        return Counter({
            each.tobytes(): number for each, number in zip(found, times.tolist(), strict=True)
        })  # fmt: skip

    def _threshold_noise(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The greatest g with word < 2^64 P[rho >= g]."""
        noise = DiscreteLaplace(self.rate)
        falling = noise.survival_table[::-1]
        above = np.searchsorted(falling, words, side="right")
        return (len(falling) - above - 1 - noise.reach).astype(np.int64)

    def _fired(self, gaps: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if not self.query_noise:
            return gaps <= 0
        noise = DiscreteLaplace(self.rate)
        rows = np.clip(gaps, -noise.reach, noise.reach + 1) + noise.reach
        fired: NDArray[np.bool_] = words < noise.survival_table[rows]
        return fired


def fires_of(transcript: Transcript) -> list[int]:
    assert isinstance(transcript, bytes)
    return np.flatnonzero(np.unpackbits(np.frombuffer(transcript, dtype=np.uint8))).tolist()


def first_fire(transcript: Transcript) -> int:
    return next(iter(fires_of(transcript)), STEPS)


def later_length(transcript: Transcript) -> tuple[int, int]:
    fires = fires_of(transcript)
    if len(fires) < 2:
        return first_fire(transcript), -1
    return fires[0], round(2 * (fires[-1] - fires[0]) / (len(fires) - 1))


def trigger_subject(**faults: object) -> TrialSubject:
    """Mistakes all along or one less; some and then none; one every second time."""
    restless = (1, 0) * (STEPS // 2)
    shapes = {
        "all along": ((1,) * STEPS, (0,) + (1,) * (STEPS - 1)),
        "four, then none": ((1,) * 4 + (0,) * 12, (1,) * 3 + (0,) * 13),
        "restless": ((1, *restless[1:]), (0, *restless[1:])),
    }
    trials = [TriggerTrial(name, shape, **faults) for name, shape in shapes.items()]  # type: ignore[arg-type]
    views = (whole, first_fire, later_length)
    return TrialSubject("t", "trigger", (Claim(1.0, 0.0),), trials, views)


FAULTS: dict[str, dict[str, object]] = {
    "half the noise": {"rate": Fraction(2)},
    "noise reused": {"reused": True},
    "no query noise": {"query_noise": False},
}


def check_trigger(asked: TrialSubject, runs: int) -> Finding:
    finding = Auditor(KEY).audit(0, asked, runs)
    assert not finding.exceeded
    assert finding.epsilon > 0.7
    return finding


def test_the_trigger_shows_no_more_than_its_rate_and_hardly_less() -> None:
    asked = trigger_subject()
    check_trigger(replace(asked, trials=asked.trials[-1:]), QUICK_RUNS)


@pytest.mark.campaign
def test_a_million_seasons_of_the_trigger_show_no_more_than_its_rate() -> None:
    assert check_trigger(trigger_subject(), LONG_RUNS).epsilon > 0.8


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_trigger_is_found(fault: str) -> None:
    finding = Auditor(KEY).audit(0, trigger_subject(**FAULTS[fault]), 40_000)
    assert finding.exceeded


def test_the_trigger_of_these_audits_is_the_mechanism() -> None:
    """The same fires as by `AboveThreshold`, step by step, from the same words."""
    trial = trigger_subject().trials[0]
    assert isinstance(trial, TriggerTrial)
    real = AboveThreshold(trial.rate)
    words = quick_words(KEY, 2000)
    gaps = (words >> np.uint64(32)).astype(np.int64) % 12 - 6
    fired = [real.first_above(gaps[i : i + 1], words[i : i + 1]) == 0 for i in range(2000)]
    assert trial._fired(gaps, words).tolist() == fired
    drawn = trial._threshold_noise(words)
    tails = [int(drawn[i]) for i in range(200)]
    assert all(
        tail_of(trial.rate, value + 1) <= int(word) < tail_of(trial.rate, value)
        for word, value in zip(words[:200], tails, strict=True)
    )


# -- faults planted in the whole engine ------------------------------------------------------------

# A pair of streams on which few runs are enough. Other faults take more of them.
SHOWN = {
    "trigger": ("waiting after 3 mistakes, the last or none", 200),
    "no query noise": ("waiting after 3 mistakes, the last or none", 200),
}
CONTROLS = ("trigger", "half the noise", "noise reused", "no query noise")


def control(name: str) -> TrialSubject:
    (asked,) = (each for each in trigger_controls() if each.name == name)
    return asked


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name == "trigger")) for name in SHOWN]
)
def test_faults_of_the_engines_trigger_are_found(name: str) -> None:
    asked, (pair, runs) = control(name), SHOWN[name]
    (trial,) = (each for each in asked.trials if each.name == pair)
    finding = Auditor(KEY).audit(0, replace(asked, trials=[trial]), runs)
    assert finding.exceeded == (not asked.private)


@pytest.mark.campaign
@pytest.mark.parametrize("name", CONTROLS)
def test_long_audits_of_the_engines_trigger_find_its_faults(name: str) -> None:
    asked = control(name)
    with processes(2) as pool:
        finding = Auditor(KEY, pool=pool).audit(0, asked, LONG_ENGINE_RUNS)
    assert finding.exceeded == (not asked.private)
    assert asked.private or finding.epsilon > 1.5 * asked.claims[0].epsilon
