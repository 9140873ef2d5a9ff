"""A stream in three lines: releases, mistakes and charges are those of the engine."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import littled
from littled.classes.base import ClassError
from littled.classes.names import class_from_name
from littled.configuration import parse_configuration
from littled.planner import OnlineRequest, PlanError, StreamRequest, plan_stream
from littled.programs.research import plan_of, run
from littled_protocol.columns import point_type

X = np.random.default_rng(1).integers(0, 256, 20_000).astype(np.uint8)
Y = (X >= 100).astype(np.uint8)


def test_a_threshold_is_found() -> None:
    plan = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=20_000)
    found = run(plan, [(X[:5000], Y[:5000]), (X[5000:], Y[5000:])], seed=1)
    last = found.releases[-1].rule
    assert np.mean(last.evaluate(X) != Y) < 0.02
    wrong, start = 0, 0
    for release, after in zip(found.releases, [*found.releases[1:], None], strict=True):
        end = len(X) if after is None else after.position
        wrong += int((release.rule.evaluate(X[start:end]) != Y[start:end]).sum())
        start = end
    assert found.mistakes == wrong
    assert len(found.charges) >= len(found.releases)
    assert run(plan, [(X, Y)], seed=2) != found


def test_seeds_say_which_noise() -> None:
    plan = plan_of("thresholds:256", epsilon=0.5, delta=1e-6, horizon=20_000, adversary="none")
    assert float(plan.epsilon) == 0.5
    first, second = (run(plan, [(X, Y)], seed=5) for _ in range(2))
    assert first == second


def test_the_planner_takes_floats_as_they_are_written() -> None:
    learner = OnlineRequest("rule", class_from_name("thresholds:256"), noise_rate=0.1)  # type: ignore[arg-type]
    request = StreamRequest("s", 0.1, 1e-6, 10**6, (learner,))  # type: ignore[arg-type]
    assert (request.epsilon, request.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert learner.noise_rate == Fraction(1, 10)
    assert plan_stream(request).epsilon == Fraction(1, 10)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ClassError):
        plan_of("circles:3", epsilon=1, delta=1e-6, horizon=100)
    with pytest.raises(PlanError):
        plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=100, selection="tally")
    plan = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=100)
    with pytest.raises(ValueError, match="horizon is a whole number of examples, at least 1"):
        plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=0)
    with pytest.raises(ValueError, match=r"delta must be above 0 and below 1, not 1\.5"):
        plan_of("thresholds:256", epsilon=1, delta=1.5, horizon=100)
    with pytest.raises(ValueError, match="a seed is an integer"):
        run(plan, [], seed=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        ((X[:3], Y[:2]), "points of thresholds:256 are integers from 0 to 255, in an array of sha"),
        (([1, 300], [0, 1]), "points of thresholds:256 are integers from 0 to 255"),
        (([1.5], [0]), "points of thresholds:256 are integers from 0 to 255"),
        ((X[:2], [0, 2]), "labels are True and False, or 1 and 0, in one dimension"),
        ((X[:2], ["no", "yes"]), "labels are True and False, or 1 and 0, in one dimension"),
        (X[:2], "it is no pair of points and labels"),
        ((X, Y, Y), "it is no pair of points and labels"),
    ],
)
def test_examples_that_do_not_fit_are_refused(batch: Any, sentence: str) -> None:
    plan = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=100)
    with pytest.raises(ValueError, match=f"^batch 2: {sentence}"):
        run(plan, [([1, 2], [True, False]), batch])


TABLE = """
[streams.rides]
epsilon = 4.0
delta = 1e-6
horizon = 2000

[streams.rides.label]
column = "late"
positive = "yes"
negative = "no"

[streams.rides.columns]
who = { kind = "id" }
far = { kind = "number", from = 0, to = 100, steps = 50 }

[streams.rides.learners.rule]
class = "scorecard"
"""


def test_learners_of_a_table_see_their_columns_of_its_rows() -> None:
    plan = plan_stream(parse_configuration(TABLE, Path("t.toml")).streams["rides"].request())
    assert plan.schema is not None
    columns = point_type(plan.x_type).columns
    x = np.random.default_rng(2).integers(0, 50, (2_000, columns)).astype(np.uint16)
    y = (x[:, -1] >= 25).astype(np.uint8)
    assert run(plan, [(x, y)], seed=1).wrong[1_000:].mean() < 0.2
    with pytest.raises(ValueError, match=r"^batch 1: points of rides are integers from 0 to 65535"):
        run(plan, [(x[:, 1:], y)])


def test_what_the_package_offers_is_there() -> None:
    for name in littled.__all__:
        assert getattr(littled, name).__name__ == name
        assert name in dir(littled)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = littled.nothing


def test_scikit_learn_is_asked_for_where_it_is_used_only() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; import littled; littled.run; littled.Ledger\n"
    )
    code += "try: littled.PrivateOnlineClassifier\nexcept ImportError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'littled[sklearn]'" in done.stdout
