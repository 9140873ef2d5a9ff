"""Messages as rows: read and refused as lines of files are, and nothing shown of what they hold."""

import json
from typing import Any

import numpy as np
import pytest

from littled_client.brokers.base import Taken
from littled_client.brokers.rows import MessageRows
from littled_client.conversions import Fields
from littled_client.errors import SourceError
from littled_protocol.encodings import TableSchema
from support.brokers import row

SCHEMA = TableSchema.from_dict(
    {
        "columns": [
            {"kind": "number", "name": "delay", "from": "0", "to": "256", "steps": 256},
            {"kind": "category", "name": "grade", "values": ["A", "B"]},
        ],
        "label": "late",
        "positive": "yes",
        "negative": "no",
    }
)
FIELDS = Fields("x", "y")


def taken(*rows: Any) -> list[Taken]:
    """Messages with these numbers from 1 on."""
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in rows]
    return [Taken(str(index + 1), b"", text) for index, text in enumerate(texts)]


def test_json_and_csv_are_the_same_rows() -> None:
    in_json = MessageRows("s", SCHEMA.x_type, SCHEMA)
    in_csv = MessageRows("s", SCHEMA.x_type, SCHEMA, as_csv=True)
    rows: list[dict[str, Any]] = [
        {"grade": "B", "late": "yes", "delay": 17, "other": [1]},
        {"late": "no", "delay": "3", "grade": "A"},
    ]
    expected = [[17, 1], [3, 0]]
    cells = [Taken(str(index + 1), b"", each) for index, each in enumerate(rows)]
    for batch, good in (
        in_json.examples(taken(*rows)),
        in_csv.examples(taken(b"17,B,yes", b'3,"A",no\r\n')),
        in_json.examples(cells),
    ):
        assert batch is not None
        assert batch[0].tolist() == expected
        assert batch[1].tolist() == [1, 0]
        assert [each.number for each in good] == ["1", "2"]


def test_fields_name_keys_of_json_and_numbers_of_cells() -> None:
    batch, _ = MessageRows("s", "u64", FIELDS).examples(taken(row(5), row(2**40)))
    assert batch is not None
    assert batch[0].tolist() == [5, 2**40]
    assert batch[0].dtype == np.uint64
    cells = MessageRows("s", "u64", Fields("3", "1"), as_csv=True, delimiter=";")
    batch, _ = cells.examples(taken(b"1;no;7"))
    assert batch is not None
    assert (batch[0].tolist(), batch[1].tolist()) == ([7], [1])
    with pytest.raises(ValueError, match="numbers from 1 on"):
        MessageRows("s", "u64", FIELDS, as_csv=True)
    with pytest.raises(ValueError, match="--skip-bad"):
        MessageRows("s", "u64", Fields("x", "y", skip_incomplete=True))


BAD = {
    "no JSON": (b"4711", "is not a JSON object"),
    "a list": ([4711], "is not a JSON object"),
    "cut off": (b'{"x": 4711', "is not a JSON object"),
    "nested deeply": (b"[" * 100_000, "is not a JSON object"),
    "a key twice": (b'{"x": 4711, "x": 4711, "y": 1}', "a key comes twice"),
    "a key missing": ({"x": 4711}, "has no key 'y'"),
    "no UTF-8": (b"\xff4711", "is not text in UTF-8"),
    "a label that is none": ({"x": 1, "y": 4711}, "label"),
    "a point that is none": ({"x": "4711.5", "y": 1}, "x"),
    "nothing": (b"", "is not a JSON object"),
}


@pytest.mark.parametrize(("bad", "reason"), BAD.values(), ids=BAD)
def test_what_is_no_example_is_named_by_its_number_alone(bad: Any, reason: str) -> None:
    rows = MessageRows("nats://h/S", "u64", FIELDS)
    with pytest.raises(SourceError, match="message 2 of nats://h/S") as caught:
        rows.examples(taken(row(0), bad, row(1)))
    assert reason in str(caught.value)
    assert "4711" not in str(caught.value)
    told: list[SourceError] = []
    batch, good = rows.examples(taken(row(0), bad, row(1), bad), told.append)
    assert batch is not None
    assert batch[0].tolist() == [0, 1]
    assert [each.number for each in good] == ["1", "3"]
    assert [str(each).split(":")[0] for each in told] == ["message 2 of nats", "message 4 of nats"]


def test_nothing_but_bad_messages_are_no_batch() -> None:
    told: list[SourceError] = []
    rows = MessageRows("s", "u64", FIELDS)
    assert rows.examples(taken(b"no", {"x": -1, "y": 1}), told.append) == (None, [])
    assert len(told) == 2
    assert rows.examples([]) == (None, [])


@pytest.mark.parametrize(
    "cells", [b"17,B", b"17,B,yes,more", b'17,"B,yes', b"", b"17,B,yes\n18,B,yes"]
)
def test_cells_are_one_row_with_all_columns(cells: bytes) -> None:
    rows = MessageRows("s", SCHEMA.x_type, SCHEMA, as_csv=True)
    with pytest.raises(SourceError, match="message 1 of s"):
        rows.examples(taken(cells))
