"""What parameters a window learner may have, and how they are stored."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.learners.batch import BatchParameters

F = Fraction
DENSE = BatchParameters(method="dense", epsilon=F(1), horizon=1000, window=300, rate=F(1, 2))
TEACHERS = replace(
    DENSE, method="teachers", bottom_score=29, list_cap=257, chunks=60,
    tolerance=F(1, 20), stage_rate=F(1, 4), user_examples_max=2,
)  # fmt: skip


def test_what_is_left_over_at_the_end_of_a_season_is_in_no_window() -> None:
    assert DENSE.windows == 3
    assert replace(DENSE, window=1000).windows == 1


@pytest.mark.parametrize(("most", "windows"), [(None, 1), (1, 1), (2, 2), (7, 3)])
def test_a_user_is_in_as_many_windows_as_there_are_examples(most: int | None, windows: int) -> None:
    assert replace(DENSE, user_examples_max=most).user_windows_max == windows


@pytest.mark.parametrize("parameters", [DENSE, TEACHERS])
def test_parameters_are_read_as_they_were_stored(parameters: BatchParameters) -> None:
    stored = parameters.to_dict()
    assert all(isinstance(each, str | int | None) for each in stored.values())
    assert BatchParameters.from_dict(stored) == parameters


def test_floats_are_amounts_as_they_are_written() -> None:
    half: Any = 0.5
    assert replace(DENSE, rate=half).to_dict() == DENSE.to_dict()
    floats: dict[str, Any] = {"epsilon": 1, "rate": 0.1, "tolerance": 0.05, "stage_rate": 0.25}
    written = replace(TEACHERS, **floats)
    assert written.to_dict() == replace(TEACHERS, rate=F(1, 10)).to_dict()


def test_parameters_that_came_later_have_defaults_and_unknown_ones_are_named() -> None:
    stored = {name: value for name, value in DENSE.to_dict().items() if name != "stage_rate"}
    assert BatchParameters.from_dict(stored) == DENSE
    with pytest.raises(ValueError, match="window learner differ in: shuffle"):
        BatchParameters.from_dict({**stored, "shuffle": 1})
    del stored["window"]
    with pytest.raises(ValueError, match="differ in: window"):
        BatchParameters.from_dict(stored)


WRONG: dict[str, tuple[BatchParameters, dict[str, Any]]] = {
    "method must be one of": (DENSE, {"method": "closest"}),
    "accounting must be one of": (DENSE, {"accounting": "renyi"}),
    "rate must be a Fraction": (DENSE, {"rate": "0.5"}),
    "stage_rate must be a Fraction": (TEACHERS, {"stage_rate": "1"}),
    "window must be an integer": (DENSE, {"window": 3.0}),
    "noise_rate must not be negative": (DENSE, {"noise_rate": F(-1)}),
    "window must be at least 1": (DENSE, {"window": 0}),
    "window must be at most the horizon": (DENSE, {"window": 1001}),
    "tolerance must be below 1": (TEACHERS, {"tolerance": F(1)}),
    "user_examples_max must be an integer": (DENSE, {"user_examples_max": 0}),
    "dense has no use for chunks": (DENSE, {"chunks": 3}),
    "histogram needs bottom_score": (DENSE, {"method": "histogram"}),
    "proposals needs list_cap": (DENSE, {"method": "proposals", "bottom_score": 3}),
    "stage_rate must be above 0": (TEACHERS, {"stage_rate": F(0)}),
    "chunks must be at most": (TEACHERS, {"chunks": 301}),
    "closure needs list_cap 1": (
        DENSE, {"method": "closure", "bottom_score": 3, "list_cap": 2, "chunks": 3}
    ),
    "it needs noise_rate 0": (TEACHERS, {"noise_rate": F(1, 10)}),
}  # fmt: skip


@pytest.mark.parametrize("problem", WRONG)
def test_wrong_parameters_are_refused_with_a_sentence(problem: str) -> None:
    parameters, changes = WRONG[problem]
    with pytest.raises(ValueError, match=problem):
        replace(parameters, **changes)
