"""Sources: every format read in bounded batches, every bad row named by its line, never shown."""

import gzip
import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.errors import RecordingError, SourceError
from littled_client.recordings import RecordingWriter
from littled_client.sources import PART_ROWS, Batch, Fields, Mark, Source, skip_examples
from littled_client.users import hash_users
from littled_protocol.encodings import TableSchema, column_from_dict
from littled_protocol.messages import Opened, Welcome
from support.batches import pair, triple

FIELDS = Fields("delay", "late")
ROWS = [(7, 0), (200, 1), (31, 1), (0, 0), (255, 1)]


def examples(batches: Iterable[Batch]) -> list[tuple[Any, int]]:
    found = []
    for x, y in map(pair, batches):
        assert len(x) == len(y) > 0
        assert y.dtype == np.uint8
        found += list(zip(x.tolist(), y.tolist(), strict=True))
    return found


def write(path: Path, rows: list[tuple[int, int]]) -> Path:
    """Write rows in the format that the suffix names."""
    if path.suffix == ".csv":
        lines = ["name,late,delay", *(f'"a, b",{y},{x}' for x, y in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix in (".jsonl", ".ndjson"):
        path.write_text("".join(json.dumps({"late": y, "delay": x}) + "\n" for x, y in rows))
    elif path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        table = {"delay": [x for x, _ in rows], "late": [y for _, y in rows]}
        parquet.write_table(pyarrow.table(table), path, row_group_size=3)
    else:
        with RecordingWriter.offline(path, "flights", "u8") as writer:
            for start in range(0, len(rows), 2):
                part = rows[start : start + 2]
                writer.write_batch([x for x, _ in part], [y for _, y in part])
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_the_columns_of_a_file_and_their_cells(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"some{suffix}", ROWS)
    found = Source(path, fields=()).columns()
    assert set(found.names) >= {"delay", "late"}
    assert found.others == ()
    cells = Source(path, fields=("late", "delay"), batch_examples=2).cells()
    delays = [int(cell) for batch in cells for cell in batch[1]]
    assert delays == [x for x, _ in ROWS]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".csv", "a,b,a\n1,2,3\n"),
        (".jsonl", '{"b": 1, "a": 2}\n\n{"b": 3, "c": 4}\n'),
    ],
)
def test_columns_that_not_every_row_has_once_are_told_apart(
    tmp_path: Path, suffix: str, text: str
) -> None:
    path = tmp_path / f"some{suffix}"
    path.write_text(text)
    found = Source(path, fields=()).columns()
    assert found.names == ("b",)
    assert set(found.others) <= {"a", "c"}


def test_a_recording_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no columns"):
        Source(write(tmp_path / "some.littled", ROWS), fields=()).columns()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".ndjson", ".parquet", ".littled"])
@pytest.mark.parametrize("batch_examples", [1, 2, 5, 100])
def test_every_format_gives_the_same_examples(
    tmp_path: Path, suffix: str, batch_examples: int
) -> None:
    path = write(tmp_path / f"some{suffix}", ROWS)
    source = Source(path, "u8", FIELDS, batch_examples=batch_examples)
    assert source.progress is None
    assert examples(source) == ROWS
    assert source.progress == 1.0
    assert examples(source) == ROWS, "a source can be read again"
    if suffix != ".littled":
        assert max(len(y) for _, y in map(pair, source)) <= batch_examples


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 1)), max_size=30), st.integers(1, 9))
def test_text_formats_agree_on_any_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]], batch_examples: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    for name in ("a.csv", "a.jsonl"):
        path = write(folder / name, rows)
        assert examples(Source(path, "u8", FIELDS, batch_examples=batch_examples)) == rows


def test_progress_grows(tmp_path: Path) -> None:
    for suffix in (".csv", ".jsonl", ".parquet", ".littled"):
        source = Source(write(tmp_path / f"a{suffix}", ROWS * 40), "u8", FIELDS, batch_examples=10)
        seen = [source.progress or 0.0 for _ in source]
        assert seen == sorted(seen)
        assert 0.0 <= seen[0] < seen[-1] <= 1.0


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str) -> None:
    content = write(tmp_path / f"a.{file_format}", ROWS).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    source = Source("-", "u8", FIELDS, file_format=file_format)
    assert examples(source) == ROWS
    assert source.progress is None
    assert not sys.stdin.closed


def test_standard_input_is_csv_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"late,delay\n1,9\n2,9\n")))
    source = Source("-", "u8", FIELDS)
    assert source.format == "csv"
    with pytest.raises(SourceError, match=r"^line 3 of standard input: column 'late'"):
        examples(source)


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.csv", "delay,late\n1,0\ncanary,1\n", "line 3 of .*a.csv: column 'delay' does not"),
        ("a.csv", 'delay,late\n"1\n",0\n\n,1\n', "line 5 of .*: column 'delay' is empty"),
        ("a.csv", "delay,late\n1,0\n2,canary\n", "line 3 of .*: column 'late' does not"),
        ("a.csv", "delay,late\n1,0\n2\n", "line 3 of .* has too few columns"),
        ("a.csv", 'delay,late\n1,0\n"can"ary,1\n', "in line 3 a quoted cell goes on after"),
        ("a.csv", 'delay,late\n1,0\n"canary\n2,1\n', "a quote in line 3 is not closed"),
        ("a.csv", 'delay,late\n1,0\n2,"' + "canary\n" * 30_000, "line 3 begins a cell of more"),
        ("a.csv", "delay,late\r1,0\rcanary,1\r", "line 1 has a carriage return inside"),
        ("a.csv", "delay,late\n1,0\n2,1,\udcff", "line 3 of .* is not UTF-8 text"),
        ("a.csv", "canary,late\n", "first line of .* has no column named 'delay'"),
        ("a.csv", "delay,delay,late\n", "first line of .* has 2 columns named 'delay'"),
        ("a.csv", "", "a.csv is empty; its first line has to name its columns"),
        ("a.csv", "\n\n", "a.csv is empty; its first line has to name its columns"),
        ("a.jsonl", '{"delay":1,"late":0}\n{"delay":"canary","late":1}\n', "line 2 of .*: column"),
        ("a.jsonl", '{"delay":1,"late":0}\n\n{"canary":1}\n', "line 3 of .* has no key 'delay'"),
        ("a.jsonl", '{"delay":1,"late":0}\n["canary"]\n', "line 2 of .* is not a JSON object"),
        ("a.jsonl", '{"delay":1,"late":0}\n{canary\n', "line 2 of .* is not a JSON object"),
        ("a.jsonl", "[" * 100_000 + "\n", "line 1 of .* is not a JSON object"),
        ("a.jsonl", '{"delay":1,"delay":2,"late":0}\n', "line 1 of .* in which a key comes twice"),
        ("a.parquet", "canary", "cannot read .*a.parquet as a Parquet file"),
    ],
)
def test_a_bad_row_is_named_but_not_shown(
    tmp_path: Path, name: str, content: str, place: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(SourceError, match=place) as caught:
        examples(Source(path, "u8", FIELDS))
    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in str(error)
        error = None if error.__suppress_context__ else error.__context__


def test_a_bad_row_of_a_parquet_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [*ROWS, (256, 0)])
    with pytest.raises(SourceError, match=r"^row 6 of .*a\.parquet: column 'delay' is outside 0 "):
        examples(Source(path, "u8", FIELDS, batch_examples=2))
    with pytest.raises(SourceError, match="no column named 'early'"):
        examples(Source(path, "u8", Fields("delay", "early")))
    with pytest.raises(SourceError, match="standard input"):
        examples(Source("-", "u8", FIELDS, file_format="parquet"))
    import pyarrow
    from pyarrow import parquet

    twice = pyarrow.table([[1], [2], [0]], names=["delay", "delay", "late"])
    parquet.write_table(twice, path)
    with pytest.raises(SourceError, match=r"a\.parquet has 2 columns named 'delay'"):
        examples(Source(path, "u8", FIELDS))


def test_without_pyarrow_there_is_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"pip install 'littled\[parquet\]'"):
        examples(Source(path, "u8", FIELDS))


def test_parquet_columns_of_every_kind(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    columns: dict[str, Any] = {
        "delay": pyarrow.array([1.0, None, 3.0, float("nan"), 5.0]),
        "label": pyarrow.array([True, False, True, False, False]),
        "word": pyarrow.array(["yes", "no", "yes", "no", None]),
        "address": pyarrow.array([bytes(15) + b"\1"] * 5, pyarrow.binary(16)),
        "row": pyarrow.array([[1, 2, 3]] * 5),
        "money": pyarrow.array([Decimal("7.00")] * 5),
    }
    parquet.write_table(pyarrow.table(columns), path)
    whole = Fields("delay", "label", skip_incomplete=True)
    assert examples(Source(path, "u8", whole)) == [(1, 1), (3, 1), (5, 0)]
    words = Fields("delay", "word", positive="yes", skip_incomplete=True)
    assert examples(Source(path, "u8", words)) == [(1, 1), (3, 1)]
    wide = examples(Source(path, "u128", Fields("address", "label")))
    assert wide[0] == ([0, 1], 1)
    rows = examples(Source(path, "u16x3", Fields("row", "label")))
    assert rows[1] == ([1, 2, 3], 0)
    assert examples(Source(path, "u8", Fields("money", "label")))[0] == (7, 1)


def test_names_of_columns_may_have_spaces_around_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("delay, late ,note\n1, 0,x\n2, 1,y\n")
    assert examples(Source(path, "u8", FIELDS)) == [(1, 0), (2, 1)]
    assert Source(path, fields=()).columns().names == ("delay", "late", "note")


def test_floats_of_a_parquet_file_are_those_of_its_texts(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    share = {"name": "share", "kind": "number", "edges": ["0.7"], "missing": "bucket"}
    schema = TableSchema((column_from_dict(share),), "late", "1", "0")
    file = tmp_path / "x.parquet"
    shares = pyarrow.array([0.7, None, 0.5], pyarrow.float32())
    parquet.write_table(pyarrow.table({"share": shares, "late": [1, 0, 1]}), file)
    assert examples(Source(file, schema.x_type, schema)) == [(2, 1), (0, 0), (1, 1)]


def test_a_time_that_python_has_not_is_named(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    at = {"name": "at", "kind": "time", "parts": ["month"]}
    schema = TableSchema((column_from_dict(at),), "late", "1", "0")
    file = tmp_path / "x.parquet"
    times = pyarrow.array([0, 2**50], pyarrow.timestamp("ms", "UTC"))
    parquet.write_table(pyarrow.table({"at": times, "late": [1, 0]}), file)
    with pytest.raises(SourceError, match=r"^row 2 of .*: column 'at' does not hold a time such"):
        examples(Source(file, schema.x_type, schema))


@pytest.mark.parametrize("kind", ["s", "ms", "us", "ns", "date", "zone", "text"])
def test_times_of_a_parquet_file_are_those_of_its_texts(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    days = "date" in kind
    texts = ["2026-05-01" if days else "2026-05-01T13:45:59", None, "1960-02-29", "2026-12-31"]
    whole = ["2026-05-01T13:45:59", None, "1960-02-29T00:00:00", "2026-12-31T00:00:00"]
    column = pa.array(texts if days else whole)
    if kind in ("s", "ms", "us", "ns"):
        column = column.cast(pa.timestamp(kind))
    elif kind == "zone":
        column = column.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    elif kind == "date":
        column = column.cast(pa.timestamp("s")).cast(pa.date32())
    file = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"at": column, "late": [1, 0, 1, 0]}), file)
    parts = ["hour", "weekday", "month", "day", "minute"]
    at = {"name": "at", "kind": "time", "parts": parts, "missing": "bucket"}
    schema = TableSchema((column_from_dict(at),), "late", "1", "0")
    (found,) = Source(file, schema.x_type, schema, batch_examples=10)
    hour, minute = (1, 1) if days else (14, 46)
    first = [hour, 5, 5, 1, minute]
    # 29 February 1960 was a Monday, 31 December 2026 will be a Thursday
    assert pair(found)[0].tolist() == [first, [0] * 5, [1, 1, 2, 29, 1], [1, 4, 12, 31, 1]]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("batch", [1, PART_ROWS - 1, PART_ROWS, PART_ROWS + 1, 1000])
def test_batches_are_full_whatever_their_size(tmp_path: Path, suffix: str, batch: int) -> None:
    rows = [(number % 251, number % 2) for number in range(2 * PART_ROWS + 3)]
    file = tmp_path / f"x{suffix}"
    if suffix == ".csv":
        file.write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in rows))
    else:
        file.write_text("".join(json.dumps({"a": x, "b": y}) + "\n" for x, y in rows))
    fields = Fields(("a",), "b")
    found = [pair(one) for one in Source(file, "u8", fields, batch_examples=batch)]
    *full, last = [len(x) for x, _ in found]
    assert set(full) <= {batch}
    assert last == len(rows) - batch * len(full)
    assert [(int(a), int(b)) for x, y in found for a, b in zip(x, y, strict=True)] == rows


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_a_file_is_closed_while_its_error_is_kept(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("a,b\n300,1\n" if name == "x.csv" else '{"a": 300, "b": 1}\n')
    with pytest.raises(SourceError) as raised:
        list(Source(file, "u8", Fields(("a",), "b")))
    assert raised.tb is not None
    opened = {one.readlink() for one in Path("/proc/self/fd").iterdir() if one.exists()}
    assert file not in opened


@pytest.mark.parametrize("row", [0, PART_ROWS - 1, PART_ROWS, 2 * PART_ROWS])
@pytest.mark.parametrize("bad", ["1", "1,1,1", "300,1"])
def test_a_bad_row_anywhere_in_a_batch_has_its_line(tmp_path: Path, row: int, bad: str) -> None:
    lines = ["1,1"] * (3 * PART_ROWS)
    lines[row] = bad
    file = tmp_path / "x.csv"
    file.write_text("\n".join(["a,b", *lines, ""]))
    source = Source(file, "u8", Fields(("a",), "b"))
    with pytest.raises(SourceError, match=rf"^line {row + 2} of "):
        list(source)
    told: list[str] = []
    kept = sum(len(pair(one)[1]) for one in source.batches(lambda error: told.append(str(error))))
    assert kept == len(lines) - 1
    assert len(told) == 1
    assert told[0].startswith(f"line {row + 2} of ")


def test_incomplete_rows_are_left_out_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("delay,late\n1,0\nNA,1\n,0\n4,1\n5,NA\n6,0\n7,7\n")
    fields = Fields("delay", "late", skip_incomplete=True)
    with pytest.raises(SourceError, match=r"^line 8 of"):
        examples(Source(path, "u8", fields))
    path.write_text("delay,late\n1,0\nNA,1\n,0\n4,1\n5,NA\n6,0\n")
    for batch_examples in (1, 2, 100):
        source = Source(path, "u8", fields, batch_examples=batch_examples)
        assert examples(source) == [(1, 0), (4, 1), (6, 0)]
    with pytest.raises(SourceError, match=r"^line 3 of .* is empty"):
        examples(Source(path, "u8", FIELDS))


def test_a_byte_order_mark_and_other_line_ends_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfdelay,late\r\n1,0\r\n2,1\r\n")
    assert examples(Source(path, "u8", FIELDS)) == [(1, 0), (2, 1)]


def test_flights_as_the_demo_feeds_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("dep_delay,late\n-45,0\n24.0,1\n1301.0,1\n")
    fields = Fields("dep_delay", "late", offset=-30, clip=(-30, 225))
    assert examples(Source(path, "u8", fields)) == [(0, 0), (54, 1), (255, 1)]


def test_a_recording_of_other_points_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.littled", ROWS)
    assert examples(Source(path)) == ROWS
    with pytest.raises(SourceError, match="recorded with points of type u8, not u64"):
        examples(Source(path, "u64"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RecordingError, match="cut off"):
        examples(Source(path))


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    for name in ("a.csv", "a.jsonl", "a.littled"):
        with pytest.raises(SourceError, match=f"cannot read .*{name}: No such file"):
            examples(Source(tmp_path / name, "u8", FIELDS))
    with pytest.raises(SourceError, match="cannot read"):
        examples(Source(tmp_path / "a.parquet", "u8", FIELDS))


def test_senseless_sources_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="names no format"):
        Source("a.xls", "u8", FIELDS)
    with pytest.raises(ValueError, match="is no format"):
        Source("a.csv", "u8", FIELDS, file_format="xls")
    with pytest.raises(ValueError, match="batch_examples"):
        Source("a.csv", "u8", FIELDS, batch_examples=0)
    with pytest.raises(ValueError, match="needs x_type and fields"):
        Source("a.csv", "u8")
    with pytest.raises(ValueError, match="needs x_type and fields"):
        Source("a.csv", None, FIELDS)


def test_skipping_goes_by_examples_not_by_batches(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ROWS)
    for count in range(len(ROWS) + 1):
        for batch_examples in (1, 2, 3, 10):
            source = Source(path, "u8", FIELDS, batch_examples=batch_examples)
            assert examples(skip_examples(iter(source), count)) == ROWS[count:]
            assert examples(skip_examples(source, count)) == ROWS[count:]
    with pytest.raises(SourceError, match="fewer than the 6 examples"):
        examples(skip_examples(iter(Source(path, "u8", FIELDS)), 6))
    with pytest.raises(SourceError, match="fewer than the 6 examples"):
        examples(Source(path, "u8", FIELDS).after(6))


def test_what_was_fed_before_is_not_looked_at_again(tmp_path: Path) -> None:
    """But for its number: a row that is left out was no example."""
    path = tmp_path / "a.csv"
    path.write_text("delay,late\n" + "seen,before\n" * 6 + "7,0\n200,1\n31,1\n")
    source = Source(path, "u8", FIELDS, batch_examples=2)
    assert examples(source.after(6)) == [(7, 0), (200, 1), (31, 1)]
    assert examples(source.after(8)) == [(31, 1)]
    mark = source.mark()
    assert mark is not None
    assert mark.examples == 9
    with pytest.raises(SourceError, match=r"line 6 of .*: column 'delay' does not hold an integer"):
        examples(source.after(5))
    path.write_text("delay,late\n" + "NA,1\n7,0\n" * 3)
    source = Source(path, "u8", Fields("delay", "late", skip_incomplete=True), batch_examples=2)
    assert examples(source.after(2)) == [(7, 0)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".littled"])
@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_every_format_names_the_users(tmp_path: Path, suffix: str, count: int) -> None:
    path = tmp_path / f"visits{suffix}"
    x, y, who = [7, 200, 31, 0], [0, 1, 1, 0], [17, 4, 17, 2**40]
    if suffix == ".csv":
        rows = zip(x, y, who, strict=True)
        path.write_text("".join(["x,y,who\n", *(f"{a},{b},{c}\n" for a, b, c in rows)]))
    elif suffix == ".jsonl":
        rows = zip(x, y, who, strict=True)
        path.write_text("".join(json.dumps({"x": a, "y": b, "who": c}) + "\n" for a, b, c in rows))
    elif suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"x": x, "y": y, "who": who}), path)
    else:
        with RecordingWriter.offline(path, "visits", "u8", names_users=True) as writer:
            for part in (slice(0, 3), slice(3, 4)):
                writer.write_batch(x[part], y[part], who[part])
    source = Source(path, "u8", Fields("x", "y", user="who"), batch_examples=3)
    batches = list(skip_examples(source, count))
    columns = [np.concatenate([part[i] for part in batches]) for i in range(3)] if batches else []
    expected = [x[count:], y[count:], hash_users(who)[count:].tolist()] if count < 4 else []
    assert [column.tolist() for column in columns] == expected


def test_a_row_without_a_user_is_refused_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("x,y,who\n1,0,ann\n2,1,\n3,1,bob\n")
    with pytest.raises(SourceError, match=r"line 3 .*'who' is empty"):
        list(Source(path, "u8", Fields("x", "y", user="who")))
    with pytest.raises(SourceError, match="no column named 'whom'"):
        list(Source(path, "u8", Fields("x", "y", user="whom")))
    (batch,) = Source(path, "u8", Fields("x", "y", skip_incomplete=True, user="who"))
    x, y, users = triple(batch)
    assert (x.tolist(), y.tolist()) == ([1, 3], [0, 1])
    assert users.tolist() == hash_users(["ann", "bob"]).tolist()


def test_a_row_with_more_cells_than_the_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "surplus.csv"
    path.write_text("x,y\n1,0\n31,337,1\n")
    with pytest.raises(SourceError, match=r"^line 3 of .* has more columns than the first$"):
        list(Source(path, "u8", Fields("x", "y")))


# --- Ways to write a table ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.tsv", "delay\tlate\n7\t0\n200\t1\n", {}),
        ("a.csv", "delay;late\n7;0\n200;1\n", {"delimiter": ";"}),
        ("a.csv", "7,0\n200,1\n", {"header": False, "fields": Fields("1", "2")}),
        ("a.tsv", "7\t0\n200\t1\n", {"header": False, "fields": Fields("1", "2")}),
        ("a.data", "delay|late\n7|0\n200|1\n", {"delimiter": "|", "file_format": "csv"}),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_cells_stand_as_is_said(
    tmp_path: Path, name: str, content: str, options: dict[str, Any], packed: bool
) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    fields = options.get("fields", FIELDS)
    others = {key: value for key, value in options.items() if key != "fields"}
    assert examples(Source(path, "u8", fields, **others)) == [(7, 0), (200, 1)]


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("7,0\n200,1\n", {"fields": Fields("7", "0")}, "holds numbers and no names of columns"),
        ("7,,1.5\n", {}, "holds numbers and no names of columns"),
        ("delay;late\n7;0\n", {}, "if ';' stands between its cells, say so with --delimiter"),
        ("7,0\n", {"header": False}, "are 1 to 2, and 'delay' is none of them"),
        ("7,0\n", {"header": False, "fields": Fields("1", "3")}, "'3' is none of them"),
        ("7,0\n1\n", {"header": False, "fields": Fields("1", "2")}, "line 2 .* too few columns"),
        ("7,0\n1,0,0\n", {"header": False, "fields": Fields("1", "2")}, "line 2 .* more columns"),
    ],
)
def test_a_first_line_that_is_not_what_was_said_is_refused(
    tmp_path: Path, content: str, options: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    fields = options.get("fields", FIELDS)
    with pytest.raises(SourceError, match=sentence):
        examples(Source(path, "u8", fields, header=options.get("header", True)))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.csv", {"delimiter": ""}),
        ("a.csv", {"delimiter": ";;"}),
        ("a.csv", {"delimiter": '"'}),
        ("a.csv", {"delimiter": "\n"}),
        ("a.jsonl", {"delimiter": ";"}),
        ("a.parquet", {"header": False}),
    ],
)
def test_a_delimiter_has_to_make_sense(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"delimiter"):
        Source(name, "u8", FIELDS, **options)


# --- All that is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("batch_examples", [1, 3, 100])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_every_bad_row_can_be_told_of_and_the_others_read(
    tmp_path: Path, name: str, batch_examples: int
) -> None:
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("delay,late\n1,0\n256,1\n3\n4,1\n5,maybe\n6,0\n7,0,0\n8,1\n")
        wrong = ["line 3 of", "line 4 of", "line 6 of", "line 8 of"]
    else:
        rows: list[Any] = [[1, 0], [256, 1], None, [4, 1], [5, "maybe"], [6, 0], {}, [8, 1]]
        lines = [
            {"delay": row[0], "late": row[1]} if isinstance(row, list) else row for row in rows
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        wrong = ["line 2 of", "line 3 of", "line 5 of", "line 7 of"]
    told: list[SourceError] = []
    source = Source(path, "u8", FIELDS, batch_examples=batch_examples)
    assert examples(source.batches(told.append)) == [(1, 0), (4, 1), (6, 0), (8, 1)]
    assert sorted(str(error)[:9] for error in told) == wrong


# --- Places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_mark_says_what_stands_before_it(tmp_path: Path, suffix: str, packed: bool) -> None:
    path = write(tmp_path / f"a{suffix}", ROWS)
    content = path.read_bytes()
    if packed:
        path = tmp_path / f"a{suffix}.gz"
        path.write_bytes(gzip.compress(content))
    source = Source(path, "u8", FIELDS, batch_examples=2)
    assert source.mark() is None
    marks = [source.mark() for _ in source]
    first = 1 if suffix == ".csv" else 0
    for count, mark in zip((2, 4, 5), marks, strict=True):
        before = b"".join(content.splitlines(keepends=True)[: first + count])
        assert mark == Mark(count, len(before), blake2b(before, digest_size=16).hexdigest())


@pytest.mark.parametrize("suffix", [".parquet", ".littled"])
def test_a_mark_of_a_binary_file_is_the_whole(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}", ROWS)
    content = path.read_bytes()
    source = Source(path, "u8", FIELDS, batch_examples=2)
    digest = blake2b(content, digest_size=16).hexdigest()
    marks = [source.mark() for _ in source]
    assert marks == [Mark(count, len(content), digest) for count in (2, 4, 5)]


@pytest.mark.parametrize("suffix", [".parquet", ".littled"])
def test_a_binary_file_is_digested_once_in_each_reading(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / f"a{suffix}", ROWS)
    source = Source(path, "u8", FIELDS, batch_examples=1)
    digested = []

    def counted(*arguments: Any, **options: Any) -> Any:
        digested.append(path)
        return blake2b(*arguments, **options)

    monkeypatch.setattr("littled_client.sources.blake2b", counted)
    for rows in (ROWS, ROWS * 2):
        path.unlink()
        content = write(path, rows).read_bytes()
        digested.clear()
        marks = [source.mark() for _ in source]
        digest = blake2b(content, digest_size=16).hexdigest()
        assert [*marks[-1:], source.mark()] == [Mark(len(rows), len(content), digest)] * 2
        assert (len(marks) > 2, len(digested)) == (True, 1)


# --- Recordings that go on by their numbers -------------------------------------------------------


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A recording of examples whose producer had three others before."""
    path = tmp_path / "later.littled"
    opened = Opened(0, "flights", "u8", 3, 3)
    with RecordingWriter(path, Welcome(1, "a", "b", 1 << 20, 1 << 20), opened) as writer:
        writer.write_batch([x for x, _ in ROWS[:2]], [y for _, y in ROWS[:2]])
        writer.write_batch([x for x, _ in ROWS[2:]], [y for _, y in ROWS[2:]])
    return path


@pytest.mark.parametrize("count", [3, 4, 5, 7, 8])
def test_a_recording_goes_on_by_its_numbers(later: Path, count: int) -> None:
    source = Source(later)
    assert source.first_number() == 3
    assert examples(source.after(count, numbered=True)) == ROWS[count - 3 :]
    assert source.mark() is None
    if count <= len(ROWS):
        assert examples(source.after(count)) == ROWS[count:], "as a file of its own"


def test_examples_that_are_missing_before_a_recording_are_not_passed_over(later: Path) -> None:
    source = Source(later)
    for count in range(3):
        with pytest.raises(SourceError, match=rf"begins with example 3 .* has {count} under"):
            next(source.after(count, numbered=True))
    with pytest.raises(SourceError, match="fewer than the 9 examples"):
        list(source.after(9, numbered=True))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".littled"])
def test_what_begins_with_its_producers_first_example_has_marks(
    tmp_path: Path, suffix: str
) -> None:
    source = Source(write(tmp_path / f"a{suffix}", ROWS), "u8", FIELDS)
    assert source.first_number() == 0
    assert examples(source.after(2, numbered=True)) == ROWS[2:]
    assert source.mark() is not None


# --- Pipes ----------------------------------------------------------------------------------------


@contextmanager
def piped(way: str, path: Path, first: bytes, rest: bytes) -> Iterator[tuple[str, threading.Event]]:
    """The name of a pipe, and what lets the rest into it."""
    go_on = threading.Event()
    if way == "named":
        os.mkfifo(path)
        reading, name = os.open(path, os.O_RDONLY | os.O_NONBLOCK), str(path)
        writing = os.open(path, os.O_WRONLY)
    else:
        reading, writing = os.pipe()
        name = f"/dev/fd/{reading}"

    def write_all() -> None:
        with os.fdopen(writing, "wb", buffering=0) as writer:
            writer.write(first)
            go_on.wait(5.0)
            writer.write(rest)

    thread = threading.Thread(target=write_all)
    thread.start()
    try:
        yield name, go_on
    finally:
        go_on.set()
        thread.join()
        os.close(reading)


@pytest.mark.parametrize("way", ["named", "descriptor"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "recording"])
def test_a_pipe_is_read_once(tmp_path: Path, way: str, kind: str) -> None:
    suffix = "littled" if kind == "recording" else kind
    begins = write(tmp_path / f"begins.{suffix}", ROWS[:2]).read_bytes()
    content = write(tmp_path / f"all.{suffix}", ROWS).read_bytes()
    found, rest = [], content.removeprefix(begins)
    with piped(way, tmp_path / "pipe", begins, rest) as (name, go_on):
        source = Source(name, "u8", FIELDS, file_format=kind)
        for batch in source:
            found += examples([batch])
            mark = source.mark()
            go_on.set()
        assert source.first_number() == (None if kind == "recording" else 0)
    assert found == ROWS
    digest = blake2b(content, digest_size=16).hexdigest()
    assert mark == (None if kind == "recording" else Mark(len(ROWS), len(content), digest))


@pytest.mark.parametrize("way", ["named", "descriptor"])
def test_parquet_that_comes_by_a_pipe_is_refused(tmp_path: Path, way: str) -> None:
    with piped(way, tmp_path / "pipe", b"PAR1", b"PAR1") as (name, _):
        source = Source(name, "u8", FIELDS, file_format="parquet")
        for read in (lambda: next(iter(source)), source.columns):
            with pytest.raises(SourceError, match=rf"from {name}, which is no regular file; save"):
                read()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe."""
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    return path


def test_rows_of_a_pipe_are_handed_out_soon_however_few(pipe: Path) -> None:
    source = Source(pipe, "u8", FIELDS)
    batches = iter(source)

    def write_later() -> None:
        with pipe.open("w", buffering=1) as writer:
            writer.write('name,late,delay\n"a\nb",0,7\n"c')
            written.wait(5.0)
            writer.write('d",1,200\n')

    written = threading.Event()
    thread = threading.Thread(target=write_later)
    thread.start()
    began = time.monotonic()
    assert examples([next(batches)]) == [(7, 0)]
    assert time.monotonic() - began < 1.0
    assert source.waiting
    mark = source.mark()
    assert mark is not None
    assert mark.bytes == len('name,late,delay\n"a\nb",0,7\n')
    written.set()
    assert examples(batches) == [(200, 1)]
    thread.join()


def test_a_pipe_that_is_stopped_gives_what_was_read(pipe: Path) -> None:
    source = Source(pipe, "u8", FIELDS)
    # Open for both, as nobody reads yet.
    with os.fdopen(os.open(pipe, os.O_RDWR), "w", buffering=1) as writer:
        writer.write("late,delay\n0,7\n1,20")
        threading.Timer(0.05, source.stop).start()
        assert examples(source) == [(7, 0)]
    assert source.stopped


@pytest.mark.parametrize("header", [True, False])
def test_a_pipe_may_be_stopped_before_its_first_row(pipe: Path, header: bool) -> None:
    source = Source(pipe, "u8", Fields("1", "2"), header=header)
    threading.Timer(0.05, source.stop).start()
    assert examples(source) == []


def test_a_file_that_is_stopped_ends_behind_the_batch(tmp_path: Path) -> None:
    source = Source(write(tmp_path / "a.csv", ROWS), "u8", FIELDS, batch_examples=2)
    found = []
    for batch in source:
        found += examples([batch])
        source.stop()
    assert found == ROWS[:2]


def test_a_pipe_has_to_begin_as_expected(pipe: Path) -> None:
    content = b"late,delay\n0,7\n"
    mark = Mark(1, len(content), blake2b(content, digest_size=16).hexdigest())
    for row, fits in (("0,7\n", True), ("0,8\n", False)):
        source = Source(pipe, "u8", FIELDS)
        source.expect([mark])
        thread = threading.Thread(target=pipe.write_text, args=(f"late,delay\n{row}1,9\n",))
        thread.start()
        if fits:
            assert examples(source) == [(7, 0), (9, 1)]
        else:
            with pytest.raises(SourceError, match="does not begin with what was fed"):
                examples(source)
        thread.join()
