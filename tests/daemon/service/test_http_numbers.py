"""Numbers in requests: ASCII digits alone, up to a greatest one."""

import pytest

from littled.service.http_numbers import number_in


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("900", 900), ("999", 999)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert number_in(text, 999) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1_0", " 1", "1000", "0001", "\u0661"])
def test_anything_else_is_none(text: str) -> None:
    assert number_in(text, 999) is None
