"""Numbers as they are written: exact, of any type that numbers have, and nothing else."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.written import as_written, write_exactly

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    "number",
    [0.1, np.float64(0.1), np.float32(0.1), np.float16(0.1), np.longdouble("0.1"), Decimal("0.1"),
     TENTH],
)  # fmt: skip
def test_floats_of_any_width_are_what_is_written(number: Any) -> None:
    assert as_written(number) == TENTH


@pytest.mark.parametrize("number", [1e-6, np.float32(1e-6), Decimal("1e-6")])
def test_exponents_are_read(number: Any) -> None:
    assert as_written(number) == Fraction(1, 10**6)


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint64])
def test_integers_do_not_overflow(kind: Any) -> None:
    found = as_written(kind(100))
    assert found**100 == 100**100
    assert type(found.numerator) is int


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_nearest_float_is_the_one_that_was_given(number: float) -> None:
    assert float(as_written(number)) == number


@pytest.mark.parametrize("number", [float("inf"), float("nan"), Decimal("NaN"), np.float32("inf")])
def test_what_is_not_finite_is_refused(number: Any) -> None:
    with pytest.raises(ValueError, match="has to be finite"):
        as_written(number)


@pytest.mark.parametrize("other", ["0.1", None, [1], 1j, np.array([0.1])])
def test_what_is_no_number_is_refused(other: Any) -> None:
    with pytest.raises(TypeError, match=r"such as 0\.1 or a Fraction"):
        as_written(other)


@dataclass(frozen=True, slots=True)
class Sample:
    rate: Any
    other: Any = 0.25


def test_fields_become_exact_and_others_stay() -> None:
    sample = Sample(0.1)
    write_exactly(sample, "rate")
    assert sample == Sample(TENTH)
    assert isinstance(sample.rate, Fraction)
    assert isinstance(sample.other, float)
    for left in (None, "1/10", TENTH):
        sample = Sample(left)
        write_exactly(sample, "rate", "other")
        assert sample.rate is left
        assert isinstance(sample.other, Fraction)
    with pytest.raises(ValueError, match="finite"):
        write_exactly(Sample(float("nan")), "rate")
