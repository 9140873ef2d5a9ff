"""Tables of rules in files."""

from pathlib import Path

import numpy as np
import pytest

from littled.classes.base import ClassError
from littled.tables import TableFileError, read_named_table, read_table

WEEK = "rule,monday,tuesday,saturday,sunday\nweekend,0,0,1,1\nnever,0,0,0,0\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.csv"
    path.write_text(text)
    return path


def test_a_table_is_read_as_it_is_written(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, WEEK))
    assert table.rule_names == ("weekend", "never")
    assert table.points == 4
    assert table.rule(0).evaluate(np.arange(4, dtype=np.uint8)).tolist() == [0, 0, 1, 1]
    assert table.rule(1).evaluate(np.arange(4, dtype=np.uint8)).tolist() == [0, 0, 0, 0]


def test_points_have_their_names_or_their_numbers(tmp_path: Path) -> None:
    found = read_named_table(written(tmp_path, "\ufeff\n rule , a ,\n x,0,1\n"))
    assert found.point_names == ("a", "point 1")
    assert found.table == read_table(written(tmp_path, "rule,b,c\nx,0,1\n"))


def test_blank_lines_and_spaces_do_not_matter(tmp_path: Path) -> None:
    spaced = "\ufeff" + WEEK.replace(",0,0,1,1", ", 0,0 ,1,1\n\n")
    assert read_table(written(tmp_path, spaced)) == read_table(written(tmp_path, WEEK))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "needs a line of points and a line for each rule"),
        ("rule,a,b\n", "needs a line of points and a line for each rule"),
        ("rule\nnever\n", "needs a line of points and a line for each rule"),
        ("rule,a,b\nshort,0\n", "rule 1 of the table"),
        ("rule,a,b\ngood,0,1\nodd,0,2\n", "rule 2 of the table"),
        ('rule,a,b\n"open,0,1\n', "is not well-formed CSV"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TableFileError, match=sentence):
        read_table(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableFileError, match=r"cannot read the table .*none\.csv: No such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableFileError, match="not text in UTF-8"):
        read_table(tmp_path / "binary.csv")


def test_rules_that_make_no_class_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClassError, match="same rule twice"):
        read_table(written(tmp_path, "rule,a,b\none,0,1\nother,0,1\n"))
