"""`littled check`: what a configuration would make, and how a file would be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import CONFIGURATION, Littled

LOANS = """\
[streams.loans]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000

[streams.loans.label]
column = "defaulted"
positive = "yes"
negative = "no"

[streams.loans.columns.income]
kind = "number"
from = 0
to = 100
steps = 10

[streams.loans.columns.grade]
kind = "category"
values = ["A", "NA"]
missing = "bucket"

[streams.loans.columns.opened]
kind = "time"
parts = ["month"]

[streams.loans.learners.rule]
class = "stumps"
noise_rate = 0
"""
HEAD = "income,grade,opened,note,defaulted\n"
GOOD = "5,A,2026-01-01,x,yes\n-3,NA,2026-01-02,x,no\n200,,2026-01-03,x,0\n7,Z,2026-01-04,x,1\n"


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.toml"
    path.write_text(LOANS)
    return path


@pytest.mark.long
def test_a_good_configuration_and_file(littled: Littled, loans: Path, tmp_path: Path) -> None:
    file = tmp_path / "loans.csv"
    file.write_text(HEAD + GOOD)
    said = littled("check", loans, file)
    assert (said.status, said.err) == (0, "")
    assert "stumps:3:12" in said.out
    assert said.out.splitlines()[-4:] == [
        f"{file}: 4 rows",
        "  income: 25 % above, clipped; 25 % below, clipped",
        "  grade: 25 % missing, a bucket of its own; 25 % other, in one bucket",
        "  opened: every cell is read as it is",
    ]
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("change", "row", "problem"),
    [
        ("", "x,A,2026-01-01,x,yes\n", "1 cell of column 'income': wrong"),
        ("", ",A,2026-01-01,x,yes\n", "1 cell of column 'income': missing"),
        ("", "5,A,soon,x,yes\n", "1 cell of column 'opened': wrong"),
        ("", "5,A,2026-01-01,x,maybe\n", "1 cell of column 'defaulted': no label"),
        ('outside = "refuse"', "", "1 cell of column 'income': below"),
        ('outside = "refuse"', "", "1 cell of column 'income': above"),
    ],
)
def test_rows_that_would_be_refused(
    littled: Littled, loans: Path, tmp_path: Path, change: str, row: str, problem: str
) -> None:
    loans.write_text(LOANS.replace("steps = 10", f"steps = 10\n{change}"))
    file = tmp_path / "loans.csv"
    file.write_text(HEAD + GOOD + row)
    said = littled("check", loans, file)
    assert said.status == 1
    assert f"problem: {problem}" in said.err
    assert "maybe" not in said.err + said.out


def test_a_category_that_refuses_others(littled: Littled, loans: Path, tmp_path: Path) -> None:
    loans.write_text(LOANS.replace('missing = "bucket"', 'missing = "bucket"\nother = "refuse"'))
    file = tmp_path / "loans.csv"
    file.write_text(HEAD + GOOD)
    said = littled("check", loans, file)
    assert said.status == 1
    assert "problem: 1 cell of column 'grade': other" in said.err


@pytest.mark.long
def test_a_season_that_is_too_short_is_a_problem_and_a_note(
    littled: Littled, loans: Path, tmp_path: Path
) -> None:
    loans.write_text(LOANS.replace("1_000_000", "200"))
    said = littled("check", loans)
    assert said.status == 1
    assert "problem: loans/rule is expected to make about " in said.err
    assert "mistakes on a bad stream of 200 examples" in said.err
    made = littled("init", tmp_path / "store", "--config", loans)
    assert made.status == 0
    assert "note: loans/rule is expected to make about " in made.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{flights}", "{file}"], "name the stream of the file with --stream: flights, addresses"),
        (["{flights}", "{file}", "--stream", "nope"], "there is no stream nope; there are flights"),
        (["{flights}", "{file}", "--stream", "flights"], "streams.flights names no columns"),
        (["{nothing}"], "cannot read"),
    ],
)
def test_wrong_use(littled: Littled, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    paths = {name: tmp_path / name for name in ("flights", "file", "nothing")}
    paths["flights"].write_text(CONFIGURATION)
    paths["file"].write_text(HEAD)
    said = littled("check", *[a.format(**paths) for a in arguments])
    assert said.status == 2
    assert sentence in said.err


def test_a_file_without_rows(littled: Littled, loans: Path, tmp_path: Path) -> None:
    file = tmp_path / "loans.csv"
    file.write_text(HEAD)
    said = littled("check", loans, file)
    assert said.status == 1
    assert f"problem: {file} holds no row" in said.err


def test_what_was_chosen_for_a_learner_without_a_class_is_said(
    littled: Littled, loans: Path, tmp_path: Path
) -> None:
    loans.write_text(LOANS.replace('class = "stumps"', ""))
    note = "loans/rule names no class; stumps was chosen for its columns: income, grade, opened"
    assert note in littled("check", loans).err
    (tmp_path / "loans.csv").write_text(HEAD + GOOD)
    config = ["--config", loans]
    assert note in littled("backtest", "loans", tmp_path / "loans.csv", *config).err
    made = littled("init", tmp_path / "store", *config)
    assert note in made.err
    assert "stumps:3:12" in made.out
