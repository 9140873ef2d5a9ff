"""Models of time and memory of answers grow with what they model."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from littled.classes.names import class_from_name
from littled.learners.prediction import PredictionParameters
from littled.planner.prediction.costs import answer_seconds, memory_bytes, prepare_seconds
from littled.planner.prediction.plan import PredictionPlan
from littled_protocol.rules import Words

Model = Callable[[PredictionPlan], float]


def plan(name: str, **chosen: Any) -> PredictionPlan:
    parameters = PredictionParameters(
        epsilon=Fraction(1), window=chosen.pop("window", 10_000), answers_max=9, **chosen
    )
    return PredictionPlan("l", class_from_name(name), parameters, Words())


def grows(model: Model, small: PredictionPlan, **more: Any) -> bool:
    large = replace(small, parameters=replace(small.parameters, **more))
    return model(small) < model(large)


def test_windows_and_chunks_cost() -> None:
    voting = plan("points:64", method="realizable", chunks=11, vote_rate=Fraction(1, 10))
    for more in ({"window": 20_000}, {"chunks": 999}):
        assert grows(prepare_seconds, voting, **more)
        assert grows(memory_bytes, voting, **more)
    assert grows(answer_seconds, voting, chunks=999)


def test_subsets_and_relabelling_cost_at_every_answer() -> None:
    subset = {"rate": Fraction(1, 10), "subset_rate": Fraction(1, 100)}
    stable = plan("points:64", method="stability", flip=Fraction(1, 50), **subset)
    assert grows(answer_seconds, stable, subset_rate=Fraction(1, 10))
    assert grows(prepare_seconds, stable, window=20_000)
    votes = {"chunks": 11, "vote_rate": Fraction(1, 10), "net": Fraction(1, 10)}
    again = plan("points:64", method="relabelling", **subset, **votes)
    assert answer_seconds(again) > answer_seconds(stable)
    assert prepare_seconds(again) == prepare_seconds(stable)


def test_labelings_of_a_subset_take_memory_as_many_as_there_may_be() -> None:
    subset = {"rate": Fraction(1, 10), "flip": Fraction(1, 50)}
    small = plan("sparse_sets:64:2", method="stability", subset_rate=Fraction(1, 100), **subset)
    assert grows(memory_bytes, small, subset_rate=Fraction(1, 50))
    # half of the square of a subset's size, at least
    assert memory_bytes(small) > 100 * 100**2 // 2


def test_rules_cost() -> None:
    for model in (prepare_seconds, answer_seconds, memory_bytes):
        small, large = (
            plan(name, method="dense", rate=Fraction(1, 10))
            for name in ("thresholds:8", "thresholds:500000")
        )
        assert model(small) < model(large)
