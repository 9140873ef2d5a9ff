"""Parameters of predictions: what fits together, what is refused, what is stored."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import pytest

from littled.learners.prediction.parameters import Method, PredictionParameters

TENTH = Fraction(1, 10)
EXAMPLES: dict[Method, dict[str, Any]] = {
    "dense": {"rate": TENTH},
    "stability": {"rate": TENTH, "subset_rate": TENTH, "flip": TENTH},
    "relabelling": {
        "rate": TENTH, "subset_rate": TENTH, "chunks": 5, "vote_rate": TENTH, "net": TENTH,
    },
    "realizable": {"chunks": 5, "vote_rate": TENTH},
    "averaging": {"chunks": 5, "flip": TENTH},
    "majority": {"chunks": 5, "vote_rate": TENTH, "accounting": "zcdp"},
}  # fmt: skip


def parameters(method: Method, **more: Any) -> PredictionParameters:
    common = {"epsilon": Fraction(1), "window": 100, "answers_max": 7}
    return PredictionParameters(method=method, **{**common, **EXAMPLES[method], **more})


def test_every_method_has_an_example() -> None:
    assert set(EXAMPLES) == set(get_args(Method))


@pytest.mark.parametrize("method", EXAMPLES)
def test_parameters_are_stored_and_read_again(method: Method) -> None:
    made = parameters(method)
    written = made.to_dict()
    assert PredictionParameters.from_dict(written) == made
    assert set(map(type, written.values())) <= {str, int, type(None)}


def test_what_came_later_may_lack_and_what_is_unknown_may_not_be_there() -> None:
    written = parameters("dense").to_dict()
    older = {name: value for name, value in written.items() if name not in {"net", "chunks"}}
    assert PredictionParameters.from_dict(older) == parameters("dense")
    with pytest.raises(ValueError, match="differ in: colour"):
        PredictionParameters.from_dict({**written, "colour": 1})
    with pytest.raises(ValueError, match="differ in: epsilon"):
        PredictionParameters.from_dict({n: v for n, v in written.items() if n != "epsilon"})


def test_floats_are_amounts_as_they_are_written() -> None:
    made = parameters("stability", epsilon=1, rate=0.1, subset_rate=0.1, flip=0.1)
    assert made == parameters("stability")
    assert made.to_dict() == parameters("stability").to_dict()


@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method, given in EXAMPLES.items() for name in given]
)
def test_a_method_needs_all_it_uses(method: Method, name: str) -> None:
    if name == "accounting":
        return
    with pytest.raises(ValueError, match=f"{method} needs {name} above 0"):
        parameters(method, **{name: None if name == "chunks" else Fraction(0)})


@pytest.mark.parametrize("method", EXAMPLES)
@pytest.mark.parametrize("name", ["rate", "subset_rate", "flip", "chunks", "vote_rate", "net"])
def test_a_method_refuses_what_it_has_no_use_for(method: Method, name: str) -> None:
    if name in EXAMPLES[method] or (method, name) == ("relabelling", "flip"):
        return
    with pytest.raises(ValueError, match=f"{method} has no use for {name}; leave it out"):
        parameters(method, **{name: 5 if name == "chunks" else TENTH})


def test_relabelling_may_flip() -> None:
    assert parameters("relabelling", flip=TENTH).flip == TENTH


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"method": "guessing"}, "method must be one of dense, stability"),
        ({"accounting": "free"}, "accounting must be one of pure, zcdp"),
        ({"rate": "0.1"}, "rate must be a Fraction"),
        ({"epsilon": None}, "epsilon must be a Fraction"),
        ({"window": 9.0}, "window must be an integer"),
        ({"chunks": True}, "chunks must be an integer"),
        ({"rate": Fraction(-1)}, "rate must not be negative"),
        ({"window": 0}, "at least 1"),
        ({"answers_max": 0}, "at least 1"),
        ({"subset_rate": Fraction(1)}, "subset_rate must be below 1"),
        ({"flip": Fraction(1, 2)}, "flip must be below 1/2"),
        ({"chunks": 0}, "chunks must be from 1"),
        ({"chunks": 101}, "chunks must be from 1"),
    ],
)
def test_values_that_cannot_be_are_refused_in_one_sentence(
    change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        replace(parameters("stability"), **change)
    assert "\n" not in str(refused.value)
