"""Rows as JSON: the same columns as the clients make of them, or one sentence without any value."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.limits import HTTP_FEED_COLUMN_BYTES_MAX
from littled.service import rows as rows_module
from littled.service.channels import ExampleSchema
from littled.service.json_bodies import read_json
from littled.service.rows import RowsRefused, StreamRows
from littled.service.users import UserHash
from littled_client import Encoder, ExampleError, hash_users
from littled_protocol.columns import encode_labels, encode_users, point_type
from littled_protocol.encodings import TableSchema
from littled_protocol.rules import Words
from support.batches import pair
from support.tables import AMOUNT, CARD, GRADE, INCOME, OPENED

SECRET = 4711
COLUMNS = (INCOME, AMOUNT, GRADE, OPENED, CARD)
SCHEMA = TableSchema(COLUMNS, "defaulted", "yes", "no")
WITH_USERS = TableSchema((INCOME,), "defaulted", "yes", "no", user="customer")
GOOD = {
    "income": 3125, "amount": None, "grade": "A", "opened": "2024-07-01T23:30", "card": 17,
    "note": "not looked at", "defaulted": "yes",
}  # fmt: skip
HASH = UserHash(bytes(32), "s")


def of_points(x_type: str, words: Words | None = None, greatest: int | None = None) -> StreamRows:
    limit = point_type(x_type).greatest if greatest is None else greatest
    examples = ExampleSchema(point_type(x_type), lambda x: bool(np.all(x <= limit)))
    return StreamRows(x_type, examples, words or Words(), None, greatest)


def of_table(schema: TableSchema) -> StreamRows:
    users = HASH if schema.user is not None else None
    points = point_type(schema.x_type)
    return StreamRows(schema.x_type, ExampleSchema(points, schema.contains, users), schema=schema)


def refused(rows: StreamRows, body: Any, *, lines: bool = False) -> str:
    """The sentence with which a body is refused; it never shows what was in it."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(RowsRefused) as caught:
        rows.columns(sent, lines=lines)
    sentence = str(caught.value)
    assert str(SECRET) not in sentence
    assert len(sentence) < 200
    return sentence


def test_four_forms_of_one_table() -> None:
    rows = of_table(SCHEMA)
    table = [
        GOOD,
        {**GOOD, "grade": "B", "defaulted": 0},
        {**GOOD, "card": "18", "defaulted": "no"},
    ]
    points, labels = pair(Encoder(SCHEMA).examples(table))
    expected = (3, point_type(SCHEMA.x_type).encode(points), encode_labels(labels), b"")
    order = [*SCHEMA.names, "defaulted"]
    assert rows.names == tuple(order)
    lists = [[row[name] for name in order] for row in table]
    columns = {name: [row[name] for row in table] for name in table[0]}
    for body in (table, lists, columns):
        assert rows.columns(json.dumps(body).encode(), lines=False) == expected
    for each in (table, lists):
        sent = "\n\n".join(map(json.dumps, each)) + "\r\n"
        assert rows.columns(sent.encode(), lines=True) == expected


@given(
    st.lists(st.tuples(st.integers(-30, 225), st.sampled_from([0, 1, True, "late", "not late"])))
)
def test_points_are_in_the_units_of_the_stream(rows: list[tuple[int, Any]]) -> None:
    stream = of_points("u8", Words("delay", "min", -30, "late", "not late"))
    if not rows:
        assert refused(stream, rows) == "the body has no rows"
        return
    count, x, y, users = stream.columns(json.dumps(rows).encode(), lines=False)
    assert (count, users) == (len(rows), b"")
    assert x == bytes(value + 30 for value, _ in rows)
    assert y == bytes(label in (1, "late") for _, label in rows)


def test_features_wide_ids_and_texts() -> None:
    body = json.dumps({"x": [[1, 2], [3, 65535]], "y": [0, 1]}).encode()
    assert of_points("u16x2").columns(body, lines=False)[1] == bytes([1, 0, 2, 0, 3, 0, 255, 255])
    body = json.dumps({"x": ["::1", 2**128 - 1], "y": [False, True]}).encode()
    assert of_points("u128").columns(body, lines=False)[0] == 2
    body = json.dumps([{"x": "ab", "y": 1}]).encode()
    assert of_points("bytes4").columns(body, lines=False)[1][:2] == b"ab"


def test_users_are_digests_and_are_forgotten() -> None:
    rows = of_table(WITH_USERS)
    body = json.dumps({"income": [1, 2], "defaulted": [0, 1], "customer": ["ann", 17]}).encode()
    assert rows.columns(body, lines=False)[3] == encode_users(hash_users(["ann", 17]))
    wrong = {"income": [1, 2], "defaulted": [0, 1], "customer": ["ann", ""]}
    sentence = "row 2: column 'customer' holds no user (text or integer)"
    assert refused(rows, wrong) == sentence
    assert "ann" not in repr(vars(rows))


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("income", "4711 dollars"), ("income", [SECRET]), ("income", {"a": SECRET}),
        ("income", True), ("income", 1e999), ("grade", [SECRET]), ("opened", "4711"),
        ("opened", SECRET), ("card", SECRET + 0.5), ("card", None), ("card", {}),
        ("defaulted", SECRET), ("defaulted", None), ("defaulted", "4711"), ("defaulted", [[1]]),
    ],
)  # fmt: skip
def test_a_wrong_cell_has_the_clients_sentence(name: str, cell: Any) -> None:
    """With the number of its row and the name of its column."""
    table = [GOOD, {**GOOD, name: cell}, {**GOOD, name: cell}]
    with pytest.raises(ExampleError) as caught:
        Encoder(SCHEMA).examples(table)
    body = json.dumps(table).replace("Infinity", "1e999").encode()
    assert refused(of_table(SCHEMA), body) == str(caught.value)
    assert str(caught.value).startswith(f"row 2: column {name!r} ")


def test_a_wrong_point_or_label_is_named() -> None:
    rows = of_points("u8", greatest=199)
    good = [[1, 0]] * 9
    cells: list[Any] = [SECRET, -1, 1.5, "4711", None, [1], True, 200]
    for cell in cells:
        assert refused(rows, [*good, [cell, 0], [cell, 1]]).startswith("row 10: column 'x' ")
    cells = [2, -1, "4711", None, 0.5, {}]
    for cell in cells:
        assert refused(rows, [*good, [1, cell]]).startswith("row 10: column 'y' ")
    odd = StreamRows("u8", ExampleSchema(point_type("u8"), lambda x: 7 not in x))
    assert refused(odd, [*good, [7, 1], [7, 0]]) == "row 10: column 'x' holds no point it may"


@pytest.mark.parametrize("cell", [b"1.0", b"1e0", b"10E-1", b"true", b'"1.0"', b'"1_0"', b"-0.0"])
def test_points_that_are_integers_are_written_so(cell: bytes) -> None:
    """Alone and among others, in every form of a body and of points; labels are as in files."""
    sentence = "column 'x' does not hold an"
    for x_type in ("u8", "u64", "u128"):
        rows = of_points(x_type)
        for body in (b"[[%s, 1], [1, 1]]", b'{"x": [%s, 1], "y": [0, 1]}', b'[{"x": %s, "y": 0}]'):
            assert refused(rows, body % cell).startswith(f"row 1: {sentence}")
        assert refused(rows, b"[1, 0]\n[%s, 1]" % cell, lines=True).startswith(f"row 2: {sentence}")
    body = b"[[[1, 2], 0], [[1, %s], 1]]" % cell
    assert refused(of_points("u16x2"), body).startswith(f"row 2: {sentence}")
    for label in (b"1.0", b"true", b'"1.0"', b'"true"', b"1"):
        assert of_points("u8").columns(b"[[7, %s]]" % label, lines=False)[1:3] == (b"\7", b"\1")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is not JSON (line 1)"),
        (b"[[1, 0],\n[2, 4711", "the body is not JSON (line 2)"),
        (b"\xff\xfe[4711]", "the body is not JSON that can be read"),
        (b'{"x": [1], "x": [4711], "y": [0]}', "the body has an object in which a key comes twice"),
        (b'[{"x": 1, "y": 0, "y": 1}]', "the body has an object in which a key comes twice"),
        (b"[[NaN, 0]]", "the body has NaN or Infinity, which JSON has no numbers for"),
        (b'{"x": [-Infinity], "y": [0]}',
         "the body has NaN or Infinity, which JSON has no numbers for"),
        (b"[" * 100_000, "the body is nested too deep"),
        (b'{"a":' * 100_000, "the body is nested too deep"),
        (b"[[" + b"9" * 5000 + b", 0]]", "the body is not JSON that can be read"),
        (b"4711", "the body must be a list of rows, an object of columns, or JSON lines"),
        (b'"4711"', "the body must be a list of rows, an object of columns, or JSON lines"),
        (b"null", "the body must be a list of rows, an object of columns, or JSON lines"),
        (b"[]", "the body has no rows"),
        (b'{"x": [], "y": []}', "the body has no rows"),
        (b'{"x": [4711]}', "column 'y' is missing"),
        (b'{"x": [4711], "y": 1}', "column 'y' is no list"),
        (b'{"x": "4711", "y": [1]}', "column 'x' is no list"),
        (b'{"x": [4711, 1], "y": [1]}', "the columns need the same length"),
        (b"[[1, 0], {}]", "rows must be objects with the names of columns, or lists, all alike"),
        (b"[4711]", "rows must be objects with the names of columns, or lists, all alike"),
        (b'[{"x": 1, "y": 0}, {"x": 4711}]', "row 2: column 'y' is missing"),
        (b"[[1, 0], [1, 0, 4711]]", "row 2: a row that is a list needs 2 cells: 'x', 'y'"),
        (b"[[1, 0], []]", "row 2: a row that is a list needs 2 cells: 'x', 'y'"),
    ],
)  # fmt: skip
def test_what_is_no_table(body: bytes, sentence: str) -> None:
    assert refused(of_points("u8"), body) == sentence


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"[1, 0]\n[2,", "line 2 is not JSON"),
        (b"[1, 0]\n\n1, 0\n", "line 3 is not JSON"),
        (b'[1, 0]\n{"x": 1, "x": 2}', "line 2 has an object in which a key comes twice"),
        (b"[NaN, 0]", "line 1 has NaN or Infinity, which JSON has no numbers for"),
        (b"[[1, 0], [2, 1]]",
         "row 1: column 'x' does not hold an integer (digits 0 to 9, without a fraction)"),
        (b"\n\n", "the body has no rows"),
    ],
)  # fmt: skip
def test_json_lines_are_read_line_by_line(body: bytes, sentence: str) -> None:
    assert refused(of_points("u8"), body, lines=True) == sentence


def test_deep_cells_are_refused_wherever_they_are() -> None:
    deep = b"[" * 900 + b"]" * 900
    for name in [*SCHEMA.names, "defaulted"]:
        row = json.dumps({**GOOD, name: "DEEP"}).encode().replace(b'"DEEP"', deep)
        sentence = refused(of_table(SCHEMA), b"[" + row + b"]")
        assert name in sentence or sentence == "the body is nested too deep"


def test_columns_may_not_be_much_longer_than_their_json() -> None:
    rows = of_points("bytes4096")
    most = HTTP_FEED_COLUMN_BYTES_MAX // (4096 + 1 + 16)
    body: dict[str, list[Any]] = {"x": ["a"] * (most + 1), "y": [0] * (most + 1)}
    assert refused(rows, body) == f"a body for this stream has at most {most} rows"
    body = {name: cells[1:] for name, cells in body.items()}
    assert rows.columns(json.dumps(body).encode(), lines=False)[0] == most


def test_no_line_is_read_after_the_first_that_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int | None] = []

    def watched(text: bytes, line: int | None = None) -> Any:
        read.append(line)
        return read_json(text, line)

    monkeypatch.setattr(rows_module, "read_json", watched)
    alike = "rows must be objects with the names of columns, or lists, all alike"
    for wrong in (b"1", b'{"x":1,"y":0}'):
        read.clear()
        body = b"\n\n[1,0]\n" + wrong + b"\n[1,0]\n" * 3
        assert refused(of_points("u8"), body, lines=True) == alike
        assert read == [3, 4]


@pytest.mark.parametrize("form", ["[%d, %d]", '{"y": %d, "x": %d}'])
def test_many_rows_are_turned_into_columns_some_at_a_time(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, given = 100, []

    def watched(*each: Any, strict: bool) -> Any:
        given.append(len(each))
        return zip(*each, strict=strict)

    monkeypatch.setattr(rows_module, "HTTP_FEED_ROWS_AT_A_TIME", most)
    monkeypatch.setattr(rows_module, "zip", watched, raising=False)
    body = ("[" + ",".join(form % (row % 2, row % 2) for row in range(250)) + "]").encode()
    count, x, y, _ = of_points("u8").columns(body, lines=False)
    assert (count, x, y) == (250, bytes([0, 1] * 125), bytes([0, 1] * 125))
    assert max(given) == most
    wrong = body[:-1] + b",[1]]" if form[0] == "[" else body[:-1] + b',{"x": 1}]'
    assert refused(of_points("u8"), wrong).startswith("row 251: ")


def test_lines_are_as_many_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "HTTP_JSON_LISTS_MAX", 2)
    assert of_points("u8").columns(b"[1,0]\n" * 2, lines=True)[0] == 2
    sentence = "the body has more than 2 lines with rows"
    assert refused(of_points("u8"), b"[1,0]\n" * 3, lines=True) == sentence
