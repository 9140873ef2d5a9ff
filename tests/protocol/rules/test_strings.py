"""One byte string: what cannot be, and how it is said and compared."""

from typing import Any

import numpy as np
import pytest

from littled_protocol.rules import RuleError, StringRule, Words, sql_function


@pytest.mark.parametrize(("size", "value"), [(1, b"a"), (4097, None), (2, b"a"), (2, "ab")])
def test_strings_that_no_point_is_are_refused(size: int, value: Any) -> None:
    with pytest.raises(RuleError, match=r"size needs|value needs"):
        StringRule(size, value)


def test_a_text_is_said_as_it_is_and_anything_else_in_digits() -> None:
    words = Words("domain", positive="reported")
    assert StringRule(4, b"a'b\0").describe(words) == "reported if domain is a'b"
    assert StringRule(2, b"\xff\xfe").to_sql(words, "d") == "(\"d\" = '0xfffe')"
    made = sql_function(StringRule(2, b"ab"), words, "f", column="d")
    assert '("d" text)' in made


def test_one_point_has_the_label() -> None:
    points = np.array([[97, 98], [97, 0], [98, 97]], dtype=np.uint8)
    assert StringRule(2, b"ab").evaluate(points).tolist() == [1, 0, 0]
    assert StringRule(2, None).evaluate(points).tolist() == [0, 0, 0]
