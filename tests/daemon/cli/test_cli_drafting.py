"""`littled columns`: drafts load as they are, and say what they were made from."""

from __future__ import annotations

import csv
import datetime
import json
import os
import tomllib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from littled.cli.drafts.guesses import DraftError, drafted_columns, drafted_label
from littled.cli.drafts.profiles import DISTINCT_MAX, SAMPLE_MAX, Profile
from littled.cli.drafts.ranges import round_range
from littled.cli.drafts.writing import draft
from littled.configuration import parse_configuration
from littled_client.cells import odd_cells
from littled_protocol.encodings import column_from_dict
from support.commands import Littled

ROWS = 300
LABELS = ["yes" if i % 3 else "no" for i in range(ROWS)]


def profile_of(cells: Any, name: str = "c", batch: int = 70) -> Profile:
    profile = Profile(name)
    for start in range(0, len(cells), batch):
        profile.add(cells[start : start + batch])
    return profile


def table_of(cells: Any, name: str = "c") -> dict[str, Any]:
    """The table that is drafted for one column, which reads all its cells; {} if it is left out."""
    (column,) = drafted_columns([profile_of(cells, name)])
    if column.table:
        read = column_from_dict({**column.table, "name": name})
        assert "wrong" not in odd_cells(read, list(cells))
    return column.table


def remark_of(cells: Any, name: str = "c") -> str:
    (column,) = drafted_columns([profile_of(cells, name)])
    assert not column.table
    return column.remark


def write_csv(path: Path, columns: dict[str, Sequence[Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_lines(path: Path, columns: dict[str, Sequence[Any]]) -> Path:
    rows = zip(*columns.values(), strict=True)
    path.write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    )
    return path


def write_parquet(path: Path, columns: dict[str, Sequence[Any]]) -> Path:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({name: list(cells) for name, cells in columns.items()}), path)
    return path


KINDS: dict[str, Sequence[Any]] = {
    "income": [500 * i + 0.25 for i in range(ROWS)],
    "years": [i % 30 for i in range(ROWS)],
    "grade": [["A", "Very good", 'say "C"', "\\D"][i % 4] for i in range(ROWS)],
    "opened at": [f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}T{i % 24:02}:00:00" for i in range(ROWS)],
    "card_id": [100_000 + i * 7 for i in range(ROWS)],
    "mail": [f"user{i}@example.org" for i in range(ROWS)],
    "address": [f"10.0.{i % 7}.{i % 250}" for i in range(ROWS)],
    "host": [f"2001:db8::{i:x}" for i in range(ROWS)],
    'a."b" = \\ é': [i / 7 for i in range(ROWS)],
    "defaulted": LABELS,
}


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_draft_of_every_kind_loads_and_reads_its_file(
    littled: Littled, tmp_path: Path, suffix: str
) -> None:
    writers = {"csv": write_csv, "jsonl": write_lines, "parquet": write_parquet}
    file = writers[suffix](tmp_path / f"my loans.{suffix}", KINDS)
    toml = tmp_path / "draft.toml"
    said = littled("columns", file, "--output", toml)
    assert (said.status, said.out) == (0, "")
    assert said.err.startswith("note: this has read the file, and what it wrote will be public")
    tables = tomllib.loads(toml.read_text())["streams"]["my_loans"]["columns"]
    kinds = {name: table["kind"] for name, table in tables.items()}
    assert kinds == {
        "income": "number",
        "years": "number",
        "grade": "category",
        "opened at": "time",
        "card_id": "number",
        "mail": "id",
        "address": "address",
        "host": "address",
        'a."b" = \\ é': "number",
    }
    assert tables["address"]["bits"] == 32
    assert "bits" not in tables["host"]
    assert tables["grade"]["values"] == ["A", "Very good", "\\D", 'say "C"']
    checked = littled("check", toml, file)
    assert checked.status == 0, checked.err
    assert "my loans" in checked.out
    assert littled("columns", file).out == toml.read_text()


def test_what_it_prints(littled: Littled, tmp_path: Path) -> None:
    columns = {name: KINDS[name] for name in ("income", "grade", "opened at", "defaulted")}
    file = write_csv(tmp_path / "loans.csv", columns)
    said = littled("columns", file, "--label", "defaulted", "--stream", "cred.it")
    assert said.status == 0
    assert "guessed" not in said.out
    assert '[streams."cred.it".label]\ncolumn = "defaulted"\npositive = "yes"\n' in said.out
    assert (
        'columns.income]\nkind = "number"\nfrom = 0\nto = 150_000\nsteps = 30\n# unit' in said.out
    )
    assert 'kind = "time"\nparts = ["month", "weekday", "hour"]\n# zone = ' in said.out
    assert "from a sample that anybody may look at" in said.out


def test_a_new_file_is_asked_for_and_nothing_is_overwritten(
    littled: Littled, tmp_path: Path
) -> None:
    file = write_csv(tmp_path / "loans.csv", {"x": range(ROWS), "y": LABELS})
    said = littled("columns", file, "--output", file)
    assert (said.status, said.sentence) == (2, f"{file} exists; name a new file")


@pytest.mark.parametrize(
    ("arguments", "columns", "sentence"),
    [
        ([], {"x": [1, 2, 3], "y": ["a", "b", "c"]}, "no column has two values"),
        (["--label", "z"], {"x": [1, 2], "y": ["a", "b"]}, "there is no column 'z' in every row"),
        (
            ["--label", "y"],
            {"x": [1, 2, 3], "y": ["a", "b", "c"]},
            "column 'y' cannot be the label: it has 3 values, and a label has two; add a column "
            "that says yes or no",
        ),
        (["--label", "y"], {"x": [1, 2], "y": ["a", "a"]}, "it has 1 value, and a label has two"),
        (["--label", "y"], {"x": [1, 2, 3], "y": ["a", "b", ""]}, "1 cell is empty"),
        (["--label", "y"], {"x": [1, 2], "y": ["a", "b" * 81]}, "more than 80 characters"),
        (
            ["--label", "y"],
            {"x": range(5000), "y": range(5000)},
            "it has more than 4,096 values, and a label has two",
        ),
        ([], {"x": ["", ""], "y": ["a", "b"]}, "has no column besides the label"),
        (["--stream", "a b"], {"x": [1, 2], "y": ["a", "b"]}, "--stream takes letters"),
    ],
)
def test_what_has_no_draft(
    littled: Littled,
    tmp_path: Path,
    arguments: list[str],
    columns: dict[str, Sequence[Any]],
    sentence: str,
) -> None:
    said = littled("columns", write_csv(tmp_path / "t.csv", columns), *arguments)
    assert said.status in (1, 2)
    assert sentence in said.sentence


def test_files_that_hold_no_rows_or_no_names(littled: Littled, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n")
    assert littled("columns", file).sentence == f"{file} holds no row"
    file.write_text("")
    assert littled("columns", file).sentence == f"{file} holds no row"
    lines = tmp_path / "t.jsonl"
    lines.write_text("[1]\n")
    assert "line 1" in littled("columns", lines).sentence
    recording = tmp_path / "t.littled"
    recording.write_bytes(b"")
    assert "no columns" in littled("columns", recording).sentence


def test_a_pipe_is_not_drafted_from(littled: Littled) -> None:
    """As it would have to be read twice."""
    reading, writing = os.pipe()
    os.write(writing, b"a,b\n1,0\n2,1\n")
    os.close(writing)
    said = littled("columns", f"/dev/fd/{reading}", "--format", "csv")
    os.close(reading)
    assert said.status == 2
    assert f"/dev/fd/{reading} is no regular file" in said.sentence


def test_columns_that_not_every_row_has_are_left_out(littled: Littled, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b,b,y\n1,2,3,yes\n2,3,4,no\n")
    said = littled("columns", file)
    assert said.status == 0
    assert "column 'b' is left out: not every row has it, and once" in said.err
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"a": 1, "y": true}\n{"b": 2, "a": 3, "y": false}\n')
    said = littled("columns", lines)
    assert "column 'b' is left out" in said.err
    assert 'column = "y"\npositive = "true"' in said.out


# -- kinds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "", "NA"], "number"),
        ([1, 2.5, None, float("nan")], "number"),
        (np.array([1.0, np.nan, 3.0]), "number"),
        (["a", "b", ""], "category"),
        ([True, False, None], "category"),
        (["5", "unknown", "7", "5"], "category"),
        ([1, True, 1.0, "1", "a"], "category"),
        (["2026-01-01", "2026-02-01", ""], "time"),
        ([datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)], "time"),
        (["2026-01-01T10:00:00+02:00", "2026-01-01T12:00:00Z"], "time"),
        (["1.2.3.4", "10.0.0.1"], "address"),
        (["1.2.3.4", "::1"], "address"),
        (["00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"], "category"),
        ([f"name {i}" for i in range(ROWS)], "id"),
        ([f"name {i}" for i in range(2 * DISTINCT_MAX)], "id"),
        ([10**17 + i for i in range(ROWS)], "id"),
        (["only", ""], "category"),
        (["7", ""], "category"),
    ],
)
def test_the_kind_that_fits_all_cells(cells: Any, kind: str) -> None:
    assert table_of(cells)["kind"] == kind


def test_numbers_with_the_name_of_an_id_are_one_if_they_are_many() -> None:
    many = [str(3 * i) for i in range(2000)]
    assert table_of(many, "card_id")["kind"] == "id"
    assert table_of(many, "customerId")["kind"] == "id"
    assert table_of(many, "paid")["kind"] == "number"
    assert table_of(many[:500], "card_id")["kind"] == "number"


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        (["", "NA", "nan"], "all its cells are empty"),
        ([float("nan"), None], "all its cells are empty"),
        (["x", "x", " x"], "all its cells are the same"),
        ([[1], [2]], "it holds lists or objects"),
        ([{"a": 1}, None], "it holds lists or objects"),
        (
            ["2026-01-01", "2027-01-01"][:1] * 2 + ["2026-01-01T00:00:00"],
            "its times differ in no part",
        ),
        (["1.5e300", "0.5"] * 30, "must be a number from -2^53 to 2^53"),
        ([*(f"name {i}" for i in range(ROWS)), ""], "1 cell is empty, which ids cannot be"),
        ([i + 0.5 if i % 2 else f"t{i}" for i in range(ROWS)], "no numbers, times, texts or ids"),
    ],
)
def test_what_is_left_out_and_why(cells: Any, remark: str) -> None:
    assert remark in remark_of(cells)


def test_names_that_no_configuration_can_hold() -> None:
    assert "is empty" in remark_of([1, 2], "")
    assert "80 characters" in remark_of([1, 2], "n" * 81)
    assert "not printable" in remark_of([1, 2], "a\nb")
    (column,) = drafted_columns([profile_of([1, 2], "a\nb")])
    text = "\n".join(draft("s", 2, drafted_label([profile_of(["0", "1"])], None), [column], "\x1b"))
    assert "# 'a\\nb' is left out" in text
    assert "\x1b" not in text


def test_each_id_and_address_has_a_learner_and_the_planner_chooses_all_classes(
    littled: Littled, tmp_path: Path
) -> None:
    columns = {name: KINDS[name] for name in ("years", "mail", "address", "host", "defaulted")}
    said = littled("columns", write_csv(tmp_path / "loans.csv", columns))
    learners = tomllib.loads(said.out)["streams"]["loans"]["learners"]
    assert learners == {
        "rule": {"columns": ["years"]},
        "ids": {"columns": ["mail"]},
        "blocks1": {"columns": ["address"]},
        "blocks2": {"columns": ["host"]},
    }


def test_values_that_few_rows_have_are_left_to_the_others() -> None:
    cells = ["common"] * 200 + ["usual"] * 100 + ["rare"] * 4
    (column,) = drafted_columns([profile_of(cells)])
    assert column.table["values"] == ["common", "usual"]
    assert "1 more" in column.remark


def test_a_row_has_no_more_room_at_last() -> None:
    ids = [f"user {i}" for i in range(ROWS)]
    drafted = drafted_columns(profile_of(ids, f"c{i}") for i in range(257))
    assert [bool(column.table) for column in drafted] == [True] * 256 + [False]
    assert drafted[-1].remark == "there is no more room in a row"


def test_parts_of_times_that_differ() -> None:
    hours = [f"2026-05-04T{i % 24:02}:00:00" for i in range(ROWS)]
    days = [f"2026-05-{i % 28 + 1:02}" for i in range(ROWS)]
    minutes = [f"2026-05-04T08:{i % 60:02}:00" for i in range(ROWS)]
    assert table_of(hours)["parts"] == ["hour"]
    assert table_of(days)["parts"] == ["weekday"]
    assert table_of(minutes)["parts"] == ["minute"]


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "positive", "negative"),
    [
        (["no", "yes"], "yes", "no"),
        (["1", "0", "0"], "1", "0"),
        ([1.0, 0.0, 1.0], "1", "0"),
        ([True, False], "true", "false"),
        (["benign", "malignant", "malignant"], "malignant", "benign"),
        (["a", "b", "b"], "a", "b"),
        (["b", "a", "b", "b"], "a", "b"),
    ],
)
def test_which_word_is_yes(cells: list[Any], positive: str, negative: str) -> None:
    label = drafted_label([profile_of(cells)], None)
    assert (label.positive, label.negative, label.guessed) == (positive, negative, True)


def test_the_label_is_the_column_that_is_called_so_or_the_last_one() -> None:
    two = [profile_of(["a", "b"], name) for name in ("u", "target", "v")]
    assert drafted_label(two, None).column == "target"
    assert drafted_label([two[0], two[2]], None).column == "v"
    assert drafted_label(two, "u").column == "u"
    with pytest.raises(DraftError, match="lists or objects"):
        drafted_label([profile_of([[1], [2]], "u")], "u")


# -- ranges ----------------------------------------------------------------------------------------


def cut(numbers: Sequence[float], *, whole: bool = False) -> dict[str, Any]:
    found = round_range(np.sort(np.array(numbers, dtype=np.float64)), whole=whole).to_dict()
    return {key: float(v) if isinstance(v, Decimal) else v for key, v in found.items()}


def test_ranges_are_round() -> None:
    assert cut(range(10), whole=True) == {"from": 0, "to": 10, "steps": 10}
    assert cut([0, 0.5, 1]) == {"from": 0, "to": 1.5, "steps": 3}
    assert cut([-1, 1], whole=True) == {"from": -1, "to": 2, "steps": 3}
    assert cut(np.linspace(0.21, 2.4, 999).tolist()) == {"from": 0, "to": 2.5, "steps": 25}
    assert cut(np.linspace(-97.3, 88.1, 999).tolist()) == {"from": -100, "to": 100, "steps": 40}
    assert cut(np.geomspace(3.1, 41_000, 999).tolist()) == {
        "from": 2, "to": 50_000, "steps": 32, "scale": "log",
    }  # fmt: skip
    assert cut([0.0] * 500 + np.geomspace(0.013, 17, 499).tolist())["edges"] == tuple(
        map(Decimal, ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20"])
    )


def test_an_outlier_does_not_widen_a_range() -> None:
    assert cut([*np.linspace(0.1, 9.9, 999), 1e6]) == {"from": 0, "to": 10, "steps": 20}
    assert cut([*[5.0] * 999, 7.5]) == {"from": 5, "to": 10.0, "steps": 2}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.floats(-1e12, 1e12).map(lambda number: round(number, 4)) | st.integers(-99, 99),
        min_size=2,
        max_size=40,
        unique=True,
    )
)
def test_every_range_makes_a_column(numbers: list[float]) -> None:
    keys = round_range(np.sort(np.array(numbers, dtype=np.float64)), whole=False).to_dict()
    column = column_from_dict({"kind": "number", "name": "c", **keys})
    assert 2 <= column.features[0].size <= 100


def test_a_long_column_is_sampled() -> None:
    profile = profile_of(np.arange(3 * SAMPLE_MAX, dtype=np.float64), batch=10_000)
    assert SAMPLE_MAX / 2 <= len(profile.numbers) <= SAMPLE_MAX + 10_000
    assert profile.numbers[0] == 0
    assert profile.texts is None
    assert profile.rows == profile.present == 3 * SAMPLE_MAX


# -- anything --------------------------------------------------------------------------------------

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["", "NA", "a", "b", "1", "2.5", "1.2.3.4", "::1", "2026-01-01", "nan", "inf"]),
    st.lists(st.integers(), max_size=1),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=8), st.lists(CELLS, min_size=1, max_size=12))
def test_whatever_a_column_holds_its_draft_loads_and_reads_it(name: str, cells: list[Any]) -> None:
    column = drafted_columns([profile_of(cells, name)])
    other = drafted_columns([profile_of(list(range(len(cells) + 1)), "other of them")])
    label = drafted_label([profile_of(["0", "1"], "the label of rows")], None)
    text = "\n".join(draft("s", len(cells), label, [*column, *other], "f.csv"))
    schema = parse_configuration(text, Path("f.toml")).streams["s"].table_schema
    assert schema is not None
    for read in schema.columns:
        if read.name == name:
            odd = odd_cells(read, cells)
            assert "wrong" not in odd
            assert "missing" not in odd or read.to_dict()["missing"] == "bucket"
