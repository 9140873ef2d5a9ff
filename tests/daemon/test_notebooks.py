"""What notebooks import: the names are there, say what they guarantee, and cost nothing before."""

import importlib
import inspect
import subprocess
import sys
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from littled import littlestone, mechanisms, plan_of
from littled.learners import (
    CallAdmitted,
    CallRequested,
    OnlineLearner,
    Published,
    SeasonOpened,
    SeasonPriced,
    examples_of,
)

ROOMS = ("learners", "littlestone", "mechanisms")


def room(name: str) -> ModuleType:
    return importlib.import_module(f"littled.{name}")


@pytest.mark.parametrize("name", ROOMS)
def test_everything_on_the_list_is_there_and_documented(name: str) -> None:
    offered = room(name).__all__
    assert sorted(offered) == list(offered)
    for public in offered:
        assert inspect.getdoc(getattr(room(name), public)), public


@pytest.mark.parametrize("name", mechanisms.__all__)
def test_every_mechanism_states_its_guarantee(name: str) -> None:
    offered = getattr(mechanisms, name)
    module = inspect.getmodule(offered)
    assert module is not None
    if module is mechanisms.noise:  # where the words come from
        return
    assert "Guarantee:" in (module.__doc__ or "")
    assert "Neighbouring relation:" in (module.__doc__ or "")


def test_a_mechanism_takes_words_of_the_system() -> None:
    law = mechanisms.DiscreteLaplace(0.1)  # type: ignore[arg-type]
    assert law.rate == Fraction(1, 10)
    words = np.random.default_rng(5).integers(0, 1 << 64, (4000, law.WORDS), dtype=np.uint64)
    drawn = [law.sample(row) for row in words]
    assert abs(np.mean(drawn)) < 1
    assert np.std(drawn) == pytest.approx(14.13, abs=0.6)  # sqrt(2 a) / (1 - a), a = exp(-0.1)


def test_a_learner_is_stepped_by_hand() -> None:
    plan = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=20_000).publishing[0]
    learner = plan.learner("notebook")
    assert isinstance(learner, OnlineLearner)
    noise = mechanisms.KeyedNoise(bytes(32))
    step = learner.step(learner.initial(), SeasonOpened(0, 0), noise)
    assert isinstance(step.effects[0], SeasonPriced)
    x = np.random.default_rng(1).integers(0, 256, 5000)
    start, releases = 0, []
    while start < len(x):
        batch = examples_of(learner.hypotheses, x[start:], x[start:] >= 100, position=start)
        step = learner.step(step.state, batch, noise)
        start += step.consumed
        for effect in step.effects:
            if isinstance(effect, CallRequested):
                step = learner.step(step.state, CallAdmitted(effect.place), noise)
        releases += [effect for effect in step.effects if isinstance(effect, Published)]
    assert np.mean(releases[-1].rule.evaluate(x.astype(np.uint8)) != (x >= 100)) < 0.05


def test_trees_are_walked() -> None:
    matrix = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    found, tree = littlestone.bounds_and_witness(matrix)  # type: ignore[arg-type]
    assert found == littlestone.Bounds(2, 2)
    assert littlestone.tree_depth(tree) == 2
    for examples, hypothesis in littlestone.branches(tree):
        assert all(matrix[hypothesis][point] == label for point, label in examples)


def test_the_package_itself_imports_nothing() -> None:
    code = "import sys, littled; print(sorted({n.partition('.')[0] for n in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'littled'" in done.stdout
    for name in ("numpy", "sklearn", "matplotlib", "cryptography", "pydantic", "river"):
        assert f"'{name}'" not in done.stdout
