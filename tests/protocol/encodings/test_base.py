"""What all columns share: names, and sets of buckets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.encodings import EncodingError, column_from_dict
from littled_protocol.encodings.base import runs, sql_name, sql_text


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_runs_are_the_longest_rows_of_neighbours(flags: list[bool]) -> None:
    found = list(runs(np.array(flags)))
    assert [i for low, high in found for i in range(low, high)] == [
        i for i, flag in enumerate(flags) if flag
    ]
    assert all(high < low for (_, high), (low, _) in pairwise(found))


@pytest.mark.parametrize("name", ["", 5, None, "x\n", "x" * 81])
def test_names_are_texts_of_one_line(name: Any) -> None:
    with pytest.raises(EncodingError, match=r"^name must"):
        column_from_dict({"kind": "id", "name": name})


def test_quoting() -> None:
    assert sql_text("it's") == "'it''s'"
    assert sql_name('a"b') == '"a""b"'
