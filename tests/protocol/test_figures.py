"""Figures as values: what there can be, and their one written form."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.figures import Figure, figures_of, measured_by

FIGURE = Figure(3, 1, 2000, 3000, 4, 7, -2)


@given(
    wrong=st.integers(-(10**6), 10**18),
    right=st.none() | st.integers(-(10**6), 10**18),
    first=st.integers(0, 10**15),
    length=st.integers(1, 10**15),
)
def test_a_figure_is_read_as_it_was_written(
    wrong: int, right: int | None, first: int, length: int
) -> None:
    figure = replace(FIGURE, first=first, end=first + length, wrong=wrong, right=right)
    assert Figure.from_bytes(figure.to_bytes()) == figure
    assert figure.examples == length
    assert ("right" in figure.to_dict()) == (right is not None)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 0}, {"season": -1}, {"first": -1}, {"end": 2000}, {"first_version": 0},
        {"last_version": 3}, {"wrong": None}, {"wrong": 1.0}, {"right": True}, {"first": "0"},
    ],
    ids=str,
)  # fmt: skip
def test_what_no_figure_has_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="figure"):
        replace(FIGURE, **change)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"1", FIGURE.to_bytes() + b" ", b'{"number":1,"more":2}']
)
def test_other_bytes_are_no_figure(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Figure.from_bytes(data)


def test_figures_are_stored_under_a_name_that_no_learner_has() -> None:
    assert figures_of("flights/late") == "flights/late/quality"
    assert measured_by("flights/late/quality") == "flights/late"
    assert measured_by("flights/quality/quality") == "flights/quality"
    assert measured_by("flights/late") is None


def test_a_learner_may_be_called_quality() -> None:
    assert measured_by("flights/quality") is None
