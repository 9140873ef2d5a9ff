"""Models of excess errors are within a factor of 2 of what the learners themselves do."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.noisy_majority import ConcentratedLead
from littled.planner.prediction.errors import ErrorModel, Link, followed, lambert

WINDOW = 4_000
NOISE = KeyedNoise(bytes(32))
Points = NDArray[Any]


@dataclass(frozen=True)
class Stream:
    """Independent examples: how points are drawn, and how probable the label 1 is at each.

    The rule that says 1 where that is above 1/2 is in the class, so it is the best one.
    """

    points: Callable[[np.random.Generator, int], Points]
    ones: Callable[[Points], NDArray[np.float64]]

    def window(self, random: np.random.Generator) -> tuple[Points, NDArray[np.uint8]]:
        """A window of examples."""
        x = self.points(random, WINDOW)
        return x, (random.random(WINDOW) < self.ones(x)).astype(np.uint8)


def excess_error(
    hypotheses: HypothesisClass, stream: Stream, answers: int, windows: int = 4, **chosen: Any
) -> float:
    """What the answers of the learner err by, beyond the best rule, over some windows."""
    parameters = PredictionParameters(
        epsilon=Fraction(1), window=WINDOW, answers_max=answers, **chosen
    )
    learner = PredictionLearner("s/l", hypotheses, parameters)
    random = np.random.default_rng(7)
    found = []
    for window in range(windows):
        prepared = learner.prepare(*stream.window(random))
        x = stream.points(random, answers)
        y = learner.answer(prepared, x, NOISE, Address(b"", "s/l", "predict", window))
        ones = stream.ones(x)
        found.append(np.mean(np.abs(2 * ones - 1) * (y != (ones > 0.5))))
    return float(np.mean(found))


# -- streams that are bad for a method ---------------------------------------------------------


def flat(labels: NDArray[np.bool_], noise: float) -> NDArray[np.float64]:
    return np.where(labels, 1 - noise, noise)


def cut(noise: float, lead: float | None = None, least: int = 2048) -> Stream:
    """A threshold; labels are noisy everywhere, or almost fair in a band above it."""

    def points(random: np.random.Generator, count: int) -> Points:
        return random.integers(0, 4096, count).astype(np.uint16)

    def ones(x: Points) -> NDArray[np.float64]:
        if lead is None:
            return flat(x >= least, noise)
        band = (x >= least) & (x < least + 2 * noise * 4096)
        return np.where(band, 0.5 + lead, (x >= least).astype(np.float64))

    return Stream(points, ones)


def block(share: float, noise: float) -> Stream:
    """A block of addresses that so many examples come from; the others come from everywhere."""

    def points(random: np.random.Generator, count: int) -> Points:
        inside = 0x80000000 | random.integers(0, 1 << 16, count)
        outside = random.integers(0, 1 << 31, count)
        return np.where(random.random(count) < share, inside, outside).astype(np.uint32)

    return Stream(points, lambda x: flat(x >= 0x80000000, noise))


def rows_at(distance: int, rules: int = 100, points: int = 200) -> tuple[Table, Stream]:
    """A table whose rows differ from the best one at so many random points each."""
    random = np.random.default_rng(3)
    best = random.random(points) < 0.5
    matrix = np.tile(best, (rules, 1))
    for row in matrix[:-1]:  # the best one last: it has no advantage by its place
        row[random.choice(points, distance, replace=False)] ^= True
    table = Table.from_matrix([f"r{i}" for i in range(rules)], matrix)
    return table, Stream(
        lambda generator, count: generator.integers(0, points, count).astype(np.uint8),
        lambda x: flat(best[x], 0.1),
    )


def within_twice(measured: float, modelled: float) -> bool:
    return modelled / 2 <= measured <= 2 * modelled


THRESHOLDS = class_from_name("thresholds:4096")
PREFIXES = class_from_name("prefixes:32")


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_one_rule_from_all_thresholds(noise: float) -> None:
    rate = Fraction(1, 80)
    measured = excess_error(THRESHOLDS, cut(noise), 300, method="dense", rate=rate)
    model = ErrorModel(THRESHOLDS, WINDOW, noise)
    assert within_twice(measured, model.selection(float(rate), 4097) + model.sampling(WINDOW))


def test_noise_misleads_a_sharp_choice_of_thresholds() -> None:
    """Where the draw is nearly the best of the window, the window is what is wrong."""
    measured = max(
        excess_error(THRESHOLDS, cut(0.25, lead), 200, 12, method="dense", rate=Fraction(2))
        for lead in (0.02, 0.05)
    )
    assert within_twice(measured, ErrorModel(THRESHOLDS, WINDOW, 0.25).sampling(WINDOW))


def test_one_rule_from_a_table() -> None:
    rate, model = Fraction(1, 100), None
    measured = 0.0
    for distance in (20, 30, 40):
        table, stream = rows_at(distance)
        model = ErrorModel(table, WINDOW, 0.1)
        measured = max(measured, excess_error(table, stream, 200, method="dense", rate=rate))
    assert model is not None
    modelled = model.selection(float(rate), 100) + model.sampling(WINDOW)
    assert within_twice(measured, modelled)


@pytest.mark.parametrize("members", [20, 80])
def test_one_rule_from_a_subset_of_thresholds(members: int) -> None:
    chosen: dict[str, Any] = {
        "rate": Fraction(1, 60),
        "subset_rate": Fraction(members, WINDOW),
        "flip": Fraction(1, 50),
    }
    measured = excess_error(THRESHOLDS, cut(0.1), 300, method="stability", **chosen)
    model = ErrorModel(THRESHOLDS, WINDOW, 0.1)
    drawn = model.selection(1 / 60, members) + model.net(members) + model.sampling(WINDOW)
    flipped = model.flipped(np.array(drawn), np.array(0.02))
    assert within_twice(measured, float(flipped))


def test_one_rule_from_a_subset_of_prefixes() -> None:
    chosen: dict[str, Any] = {
        "rate": Fraction(1, 40),
        "subset_rate": Fraction(80, WINDOW),
        "flip": Fraction(1, 50),
    }
    measured = max(
        excess_error(PREFIXES, block(share, 0.1), 120, method="stability", **chosen)
        for share in (0.02, 0.04, 0.07)
    )
    model = ErrorModel(PREFIXES, WINDOW, 0.1)
    drawn = model.selection(1 / 40, model.labelings(80)) + model.net(80) + model.sampling(WINDOW)
    assert within_twice(measured, float(model.flipped(np.array(drawn), np.array(0.02))))


def voted(
    hypotheses: HypothesisClass, noise: float, chunks: int, rate: Fraction, link: Link = "coin"
) -> float:
    model = ErrorModel(hypotheses, WINDOW, noise)
    missed, sampling = (
        np.array([part(WINDOW / chunks)]) for part in (model.missed, model.sampling)
    )
    votes = model.votes(missed, sampling, np.array([float(chunks)]), np.array(float(rate)), link)
    return float(votes[0])


@pytest.mark.parametrize("size", [10, 40])
def test_votes_of_thresholds(size: int) -> None:
    """The worst of a band that is almost fair, and a threshold that small chunks seldom see."""
    chunks = WINDOW // size | 1
    chosen = {"method": "realizable", "chunks": chunks, "vote_rate": Fraction(6, chunks)}
    streams = (cut(0.1, 0.1), cut(0.1, least=120))
    measured = max(excess_error(THRESHOLDS, each, 2_000, 2, **chosen) for each in streams)
    assert within_twice(measured, voted(THRESHOLDS, 0.1, chunks, Fraction(6, chunks)))


def test_votes_of_prefixes_are_no_better_than_one_of_them() -> None:
    """Most chunks miss a block that is rare: they are wrong together."""
    chunks = 101
    chosen = {"method": "realizable", "chunks": chunks, "vote_rate": Fraction(10, chunks)}
    measured = max(
        excess_error(PREFIXES, block(share, 0.0), 1_500, 2, **chosen)
        for share in (0.02, 0.03, 0.05)
    )
    assert within_twice(measured, voted(PREFIXES, 0.0, chunks, Fraction(10, chunks)))


@pytest.mark.parametrize(("size", "lead"), [(40, 3), (100, 6)])
def test_noise_misleads_a_vote_less_than_a_rule(size: int, lead: int) -> None:
    """Chunks of noisy labels miss rare blocks together, and are misled each by its own labels."""
    chunks = WINDOW // size | 1
    rate = Fraction(lead, chunks)
    chosen = {"chunks": chunks, "vote_rate": rate, "accounting": "zcdp"}
    measured = max(
        excess_error(PREFIXES, block(share / size, 0.1), 4_000, 2, method="majority", **chosen)
        for share in (1, 2, 3)
    )
    assert within_twice(measured, voted(PREFIXES, 0.1, chunks, rate, "concentrated"))


def test_the_rule_of_one_chunk() -> None:
    chosen = {"method": "averaging", "chunks": 101, "flip": Fraction(1, 50)}
    measured = excess_error(THRESHOLDS, cut(0.0), 2_000, 2, **chosen)
    model = ErrorModel(THRESHOLDS, WINDOW, 0.0)
    modelled = model.flipped(np.array(model.learned(WINDOW / 101)), np.array(0.02))
    assert within_twice(measured, float(modelled))


def test_hard_classes_learn_nothing_from_a_chunk_with_a_wrong_label() -> None:
    for name, hard in (("affine:64:8", True), ("conjunctions:60", True), ("conjunctions:8", False)):
        model = ErrorModel(class_from_name(name), WINDOW, 0.1)
        assert (model.learned(100) - model.chunk(100) - model.sampling(100) > 0.3) == hard


# -- parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("logarithm", [-3.0, 0.0, 1.0, 5.0, 60.0, 5000.0])
def test_lambert_is_what_it_is_called(logarithm: float) -> None:
    found = lambert(logarithm)
    assert found + math.log(found) == pytest.approx(logarithm, abs=1e-9)


@pytest.mark.parametrize("candidates", [2, 10, 1000])
def test_the_worst_gap_is_where_the_formula_says(candidates: int) -> None:
    gaps = np.linspace(0.01, 30, 100_000)
    worst = (gaps / (1 + np.exp(gaps) / candidates)).max()
    assert lambert(math.log(candidates) - 1) == pytest.approx(float(worst), rel=1e-6)


def test_sharper_votes_err_less() -> None:
    chunks = np.array([51.0, 51.0, 51.0])
    for link in get_args(Link):
        base, left = followed(chunks, np.array([0.05, 0.1, 0.4]), link)
        assert np.all(np.diff(base) < 0)
        assert np.all(np.diff(left) < 0)
    coin, _ = followed(chunks[:1], np.array(0.1), "coin")
    assert coin[0] == pytest.approx(1 / (1 + math.exp(5.1)))
    for rate in (Fraction(1, 200), Fraction(1, 100), Fraction(1, 20)):
        base, _ = followed(chunks[:1], np.array(float(rate)), "concentrated")
        exact = ConcentratedLead(rate, 51).threshold(-51) / 2**64
        assert base[0] == pytest.approx(exact, rel=0.1)


def test_a_class_that_is_known_better_is_thought_simpler() -> None:
    """Rules on a line, and a line for each feature, are told apart from rules in no order."""
    stumps = ErrorModel(class_from_name("stumps:4:1000"), WINDOW, 0.0)
    lines = ErrorModel(THRESHOLDS, WINDOW, 0.0)
    blocks = ErrorModel(PREFIXES, WINDOW, 0.0)
    assert lines.complexity(10**6) == 1
    assert 1 < stumps.complexity(10**6) < blocks.complexity(10**6)
    wide = ErrorModel(class_from_name("conjunctions:60"), 10**6, 0.1)
    assert 0 < wide.sampling(10**6) < 0.1  # more labelings than a float holds
