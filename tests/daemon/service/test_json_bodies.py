"""JSON in bodies: what is a value, and what is refused in one sentence without quoting it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.service.json_bodies import NotJson, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    # not half of a pair, which UTF-8 cannot write
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
)  # fmt: skip


@given(VALUES, st.booleans())
def test_every_value_is_read_as_it_was_written(value: Any, ascii_alone: bool) -> None:
    assert read_json(json.dumps(value, ensure_ascii=ascii_alone).encode("utf-8")) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "is not JSON"),
        (b'{"a": 4711', "is not JSON"),
        (b"[4711]\0", "is not JSON"),
        (b"\xef\xbb\xbf[4711]", "is not JSON"),
        ("[4711]".encode("utf-16"), "is not JSON that can be read"),
        ("[4711]".encode("utf-16-be"), "is not JSON"),
        ("[4711]".encode("utf-32-le"), "is not JSON"),
        (b'["\xff4711"]', "is not JSON that can be read"),
        (b'{"a": 4711, "a": 4711}', "has an object in which a key comes twice"),
        (b'[{"a": {"b": 1, "c": 2, "\\u0062": 4711}}]', "has an object in which a key comes twice"),
        (b"[4711, NaN]", "has NaN or Infinity, which JSON has no numbers for"),
        (b"[4711, -Infinity]", "has NaN or Infinity, which JSON has no numbers for"),
        (b"[" * 100_000, "is nested too deep"),
        (b"4711" * 2000, "is not JSON that can be read"),
    ],
)
def test_what_is_no_value(text: bytes, sentence: str) -> None:
    for line, where in ((None, "the body"), (7, "line 7")):
        with pytest.raises(NotJson) as caught:
            read_json(text, line)
        at = " (line 1)" if line is None and sentence == "is not JSON" else ""
        assert str(caught.value) == f"{where} {sentence}{at}"
