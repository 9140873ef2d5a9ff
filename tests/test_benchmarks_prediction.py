"""The prediction benchmark: its figures are those of the learners, and it runs to the end."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.prediction import __main__ as command
from benchmarks.prediction import bound as bounds
from benchmarks.prediction import choices, errors, measuring, report, runs, windows
from littled.budget.events import PredictionStableVoting
from littled.budget.predictions import unstable_as_stable
from littled.budget.prices import price
from littled.classes.capabilities import needed
from littled.cli.flights import Flights
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.noisy_majority import ConcentratedLead
from littled.mechanisms.votes import VoteCoin
from oracle.learners.stable_voting import StableVoting, StableVotingState

TENTH = Fraction(1, 10)
NOISE = KeyedNoise(bytes(32))
SIZE = 600
SMALL = ("thresholds:256", "prefixes:32", "points:64", "stumps:16:64", "table:12x9")


# --- Windows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", windows.KINDS)
@pytest.mark.parametrize("name", SMALL)
def test_labels_are_a_rules_but_for_noise(name: str, kind: windows.Kind) -> None:
    clean, noisy = (windows.make_window(name, each, 4000, kind, 3) for each in (Fraction(0), TENTH))
    np.testing.assert_array_equal(clean.x, noisy.x)
    assert (clean.y != noisy.y).mean() == pytest.approx(0.1, abs=0.02)
    right = (clean.ones > 0).astype(np.float64)  # what the target says to the questions
    assert clean.excess(right) == noisy.excess(right) == 0
    assert clean.excess(1 - right) == pytest.approx(1)
    assert noisy.excess(1 - right) == pytest.approx(0.8)
    again = windows.make_window(name, TENTH, 4000, kind, 3)
    np.testing.assert_array_equal(again.y, noisy.y)
    assert clean.excess_of_rule(rule_like(clean)) == 0
    if kind == "even" or name.startswith("table"):
        assert 0.02 < clean.y.mean() < 0.98
    else:
        assert clean.y.mean() == pytest.approx(windows.RARE, abs=0.02)


def rule_like(window: Any) -> Any:
    """What the class learns from all questions with their right answers."""
    return window.hypotheses.empirical_rule(window.questions, window.ones.clip(0, 1).astype("u1"))


@pytest.mark.parametrize("name", ["thresholds:256", "stumps:16:64", "table:12x9"])
def test_every_rule_is_measured_as_by_itself(name: str) -> None:
    window = windows.make_window(name, TENTH, SIZE, "rare", 1)
    all_errors = window.excess_of_all()
    for number in (0, len(all_errors) // 3, len(all_errors) - 1):
        rule = needed(window.hypotheses.dense).rule(number)
        assert all_errors[number] == pytest.approx(window.excess_of_rule(rule), abs=1e-12)


def test_the_best_threshold_of_the_flights_has_no_excess_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a short year, in which late departures tend to arrive late."""
    random = np.random.default_rng(1)
    delays = random.integers(-20, 120, 4000)
    late = (delays + random.normal(0, 20, 4000) > 15).astype(np.uint8)
    year = Flights(delays, late)
    monkeypatch.setattr(windows, "flights", lambda: year)
    window = windows.make_window(windows.FLIGHTS, Fraction(0), 1000, seed=1)
    assert window.excess_of_rule(year.best_rule()) == pytest.approx(0, abs=1e-12)
    assert window.excess_of_all().min() == pytest.approx(0, abs=1e-12)
    assert window.excess(np.full(256, 0.5)) == pytest.approx(window.coin)
    assert window.flipped(0.01, 0.5) == pytest.approx(window.coin)


# --- Errors ---------------------------------------------------------------------------------------


PARAMETERS: dict[str, dict[str, Any]] = {
    "dense": {"rate": Fraction(1, 20)},
    "stability": {"rate": Fraction(1, 16), "subset_rate": Fraction(1, 20), "flip": TENTH},
    "relabelling": {
        "rate": Fraction(1, 16),
        "subset_rate": Fraction(1, 20),
        "chunks": 21,
        "vote_rate": TENTH,
        "net": TENTH,
    },
    "realizable": {"chunks": 21, "vote_rate": TENTH},
    "averaging": {"chunks": 21, "flip": TENTH},
    "majority": {"chunks": 21, "vote_rate": TENTH},
}


@pytest.mark.parametrize(
    ("method", "accounting"), [*((each, "pure") for each in PARAMETERS), ("majority", "zcdp")]
)
def test_expected_errors_are_those_of_answers(method: str, accounting: str) -> None:
    """Within five standard deviations of as many answers to random questions."""
    window = windows.make_window("thresholds:256", TENTH, SIZE, "even", 2)
    answers = 150 if method == "relabelling" else 600
    parameters = PredictionParameters(
        method=method,  # type: ignore[arg-type]
        epsilon=Fraction(1),
        window=SIZE,
        answers_max=answers,
        accounting=accounting,  # type: ignore[arg-type]
        **PARAMETERS[method],
    )
    learner = PredictionLearner("s/l", window.hypotheses, parameters)
    asked = np.random.default_rng(5).integers(0, 256, answers)
    found = learner.answer(
        learner.prepare(window.x, window.y),
        window.questions[asked],
        NOISE,
        Address(b"", "s/l", "predict", 0),
    )
    wrong = float((found != window.ones[asked]).mean())
    expected = errors.Measured(window).excess(parameters) / window.scale
    spread = math.sqrt(expected * (1 - expected) / answers)
    # rules of random subsets are drawn on both sides
    if method in ("stability", "relabelling"):
        spread *= 2
    assert wrong == pytest.approx(expected, abs=5 * spread + 1e-9)
    assert 0 < expected < 0.5


def noise_difference(weights: dict[int, float]) -> dict[int, float]:
    """The law of the difference of two independent noises with these weights."""
    total = sum(weights.values())
    found: dict[int, float] = {}
    for a, first in weights.items():
        for b, second in weights.items():
            found[a - b] = found.get(a - b, 0.0) + first * second / total**2
    return found


def test_the_concentrated_law_is_the_mechanisms() -> None:
    for chunks, rate in ((401, Fraction(1, 100)), (400, Fraction(1, 80))):
        law, ones = ConcentratedLead(rate, chunks), np.arange(chunks + 1)
        expected = [law.threshold(2 * each - chunks) / 2**64 for each in ones.tolist()]
        found = errors.concentrated(ones, chunks, float(rate))
        np.testing.assert_allclose(found, expected, atol=0.002)


@pytest.mark.parametrize(("link", "abs_"), [("laplace", 1e-9), ("gaussian", 1e-4)])
def test_noisy_counts_win_as_often_as_a_sum_over_all_noises_says(link: str, abs_: float) -> None:
    rate, chunks = 0.1, 60
    powers = {
        z: abs(rate * z) if link == "laplace" else (rate * z) ** 2 / 2 for z in range(-300, 301)
    }
    differs = noise_difference({z: math.exp(-power) for z, power in powers.items()})
    ones = np.arange(chunks + 1)
    found = getattr(errors, link)(ones, chunks, rate)
    expected = [sum(p for d, p in differs.items() if d > chunks - 2 * each) for each in ones]
    np.testing.assert_allclose(found, expected, atol=abs_)


def test_the_coin_is_the_mechanisms() -> None:
    coin = VoteCoin(Fraction(1, 4), 31)
    expected = [coin.threshold(each) / 2**64 for each in range(32)]
    np.testing.assert_allclose(errors.coin(np.arange(32), 31, 0.25), expected, atol=1e-12)


# --- Stable voting --------------------------------------------------------------------------------


def test_stable_voting_is_expected_to_do_what_it_does() -> None:
    window = windows.make_window("thresholds:256", Fraction(0), 5000, "even", 2)
    chunks, threshold, unstable_max = 601, 150, 30
    rate, vote_rate = Fraction(1, 4), Fraction(1, 50)
    voting = StableVoting(
        "s/l", window.hypotheses, 5000, chunks, rate, vote_rate, threshold,
        10_000, unstable_max, Fraction(1),
    )  # fmt: skip
    asked = np.random.default_rng(5).integers(0, 256, 10_000)
    _, found = voting.answer(
        StableVotingState(),
        voting.prepare(window.x, window.y),
        window.questions[asked],
        NOISE,
        Address(b"", "s/l", "predict", 0),
    )
    given = len(found.labels)
    setting = errors.StableSetting(chunks, float(rate), float(vote_rate), threshold, unstable_max)
    answers, excess = errors.Measured(window).stable_voting(setting)
    assert unstable_max < given < 10_000
    assert given == pytest.approx(answers, rel=0.6)
    wrong = float((found.labels != window.ones[asked[:given]]).mean())
    assert wrong == pytest.approx(excess, abs=5 * math.sqrt(excess / given))


def test_the_settings_of_stable_voting_are_paid_for() -> None:
    cell = choices.Cell("thresholds:256", Fraction(0), 20_000)
    found = list(choices.stable_settings(cell))
    assert {each.unstable_max for each in found} >= {1, 4}
    for each in found[::25]:
        rate, vote_rate = (Fraction(x) * (1 - TENTH**9) for x in (each.rate, each.vote_rate))
        cost = price(PredictionStableVoting(rate, vote_rate, each.threshold, each.unstable_max))
        assert cost.delta <= choices.DELTA
        segment = float(cost.epsilon_pure) / each.unstable_max
        pure = float(cost.epsilon_pure) <= 1
        rho = each.unstable_max * segment**2 / 2
        assert pure or rho <= float(choices.budget("zcdp", 20_000).answers_amount)
        smaller = unstable_as_stable(Fraction(each.rate), max(each.threshold - 2, 1))
        assert smaller * each.unstable_max > choices.DELTA / 20  # no larger than it must be


def test_answers_that_are_missing_are_tossed() -> None:
    """For one unstable answer the number of answers is exponential."""
    mean, asked = 100.0, 150
    missing = asked - mean * (1 - math.exp(-asked / mean))
    found = errors.with_missing(mean, 0.0, asked, 1, 0.5)
    assert found == pytest.approx(0.5 * missing / asked)
    assert errors.with_missing(10**9, 0.01, 100, 4, 0.5) == pytest.approx(0.01)
    assert errors.with_missing(4.0, 0.01, 10**6, 4, 0.5) == pytest.approx(0.5, abs=1e-4)


# --- Choices and search ---------------------------------------------------------------------------


def test_so_many_answers_cost_the_whole_budget() -> None:
    assert [choices.answers_at(each) for each in (1.0, 0.3)] == [1, 3]
    answers = choices.answers_at(0.01)
    rho = float(choices.budget("zcdp", 1).answers_amount)
    assert answers * 0.01**2 / 8 <= rho < (answers + 1) * 0.01**2 / 8


@pytest.mark.parametrize("most", [0, 1, 2, 37, 5_000, 123_456])
@pytest.mark.parametrize("start", [1, 40, 100_000])
def test_the_largest_good_number_is_found(most: int, start: int) -> None:
    found = runs.largest(lambda answers: answers <= most, start)
    assert most / runs.SEARCH_RATIO - 1 <= found <= most


def test_nothing_limits_what_is_always_good() -> None:
    assert runs.largest(lambda _: True, 3) == errors.ANSWERS_MAX


# --- The lower bound ------------------------------------------------------------------------------


@pytest.mark.parametrize("stability", [0.25, 1 / 64])
def test_the_stable_learner_errs_as_expected_and_above_the_bound(stability: float) -> None:
    found = bounds.bound_point(4, 500, stability, 60, 10)
    assert found.bound == pytest.approx(min(found.alpha, 3 / (8 * stability * 500)))
    assert found.bound < found.exact < 4 * found.bound
    assert found.measured == pytest.approx(found.exact, abs=5 * found.deviation)


# --- The whole ------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_small_run_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "QUICK_SIZE", 500)
    monkeypatch.setattr(measuring, "CLASSES", ("thresholds:256",))
    monkeypatch.setattr(runs, "SEARCH_RATIO", 2)
    monkeypatch.setattr(measuring, "flights", lambda: None)
    arguments = command.parsed_arguments(["--quick", "--jobs", "1", "--output", str(tmp_path)])
    rows = measuring.measure(arguments)
    kinds = [type(row).__name__ for row in rows]
    assert kinds.count("AnswersRow") == 1
    assert kinds.count("ErrorRow") == 2 * len(runs.METHODS)
    command.write(rows, tmp_path)
    text = (tmp_path / "prediction.md").read_text()
    for heading in ("Answers at", "Excess error", "Time", "The lower bound"):
        assert f"## {heading}" in text
    assert "Every error is above the bound" in text
    assert len((tmp_path / "prediction.jsonl").read_text().splitlines()) == len(rows)
    assert "igures" in capsys.readouterr().out


def test_what_the_planner_loses_against_is_said() -> None:
    """In the report, whether it is noisy majority or another way."""
    most = dict.fromkeys(runs.METHODS, 10) | {"dense": 100, "noisy-majority": 120, "rule": None}
    lost = runs.AnswersRow("thresholds:256", 0.1, 1000, "dense", 90, 0.04, most, 150)
    won = runs.AnswersRow(
        "thresholds:256", 0.0, 1000, "dense", 90, 0.04, {**most, "noisy-majority": 5}, 9
    )
    text = report.markdown([lost, won])
    assert "noise 10%, n = 1,000: 120 against 100; with the same chunks, the daemon's" in text
    assert "majority gives 150" in text
    assert "more answers than noisy majority in every line" in report.markdown([won])
    stable = runs.AnswersRow(
        "points:64", 0.0, 9, "dense", 1, 0.0, {**most, "stable-voting": 900}, 9
    )
    assert "- `points:64`, noise 0%, n = 9: stable voting 900" in report.markdown([stable])
