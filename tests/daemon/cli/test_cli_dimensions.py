"""`littled dim`: dimensions of a table, exact or bounded, with a witness."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.commands import Littled
from support.littlestone import Matrix, all_functions, sparse_sets, thresholds

WEEK = (
    "rule,monday,tuesday,saturday,sunday\n"
    "weekend,0,0,1,1\nnever,0,0,0,0\nalways,1,1,1,1\nsundays,0,0,0,1\nmondays,1,0,0,0\n"
)


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.csv"
    path.write_text(text)
    return path


def table(folder: Path, matrix: Matrix) -> Path:
    lines = [",".join(["rule", *(f"x{x}" for x in range(matrix.shape[1]))])]
    lines += [
        ",".join([f"h{number}", *map(str, row)]) for number, row in enumerate(matrix.astype(int))
    ]
    return written(folder, "\n".join(lines))


def test_dimensions_and_a_witness_are_told_in_words(littled: Littled, tmp_path: Path) -> None:
    said = littled("dim", written(tmp_path, WEEK))
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        "rules                  5\n"
        "points                 4\n"
        "Littlestone dimension  2\n"
        "VC dimension           2\n"
        "dual VC dimension      1\n"
        "\n"
        "witness tree of depth 2:\n"
        "monday = 0\n"
        "  saturday = 0: never\n"
        "  saturday = 1: weekend\n"
        "monday = 1\n"
        "  tuesday = 0: mondays\n"
        "  tuesday = 1: always\n"
    )


def test_programs_get_the_same_as_json(littled: Littled, tmp_path: Path) -> None:
    facts = littled("dim", written(tmp_path, WEEK), "--json").json
    assert facts == {
        "rules": 5,
        "points": 4,
        "littlestone_dimension": 2,
        "littlestone_bounds": [2, 2],
        "vc_dimension": 2,
        "dual_vc_dimension": 1,
        "subclasses_max": 200_000,
        "witness_tree": {
            "point": "monday",
            "zero": {"point": "saturday", "zero": {"rule": "never"}, "one": {"rule": "weekend"}},
            "one": {"point": "tuesday", "zero": {"rule": "mondays"}, "one": {"rule": "always"}},
        },
    }


def test_a_single_rule_is_its_own_witness(littled: Littled, tmp_path: Path) -> None:
    said = littled("dim", written(tmp_path, "rule,a,b\nonly,0,1\n"))
    assert said.status == 0
    assert said.out.endswith("witness tree of depth 0:\nonly\n")


@pytest.mark.parametrize(
    ("matrix", "dimensions"),
    [(thresholds(20), [4, 1, 1]), (all_functions(4), [4, 4, 2]), (sparse_sets(8, 2), [2, 2, 2])],
)
def test_known_classes_have_their_dimensions(
    littled: Littled, tmp_path: Path, matrix: Matrix, dimensions: list[int]
) -> None:
    facts = littled("dim", table(tmp_path, matrix), "--json").json
    assert [facts[f"{name}_dimension"] for name in ("littlestone", "vc", "dual_vc")] == dimensions
    assert (facts["rules"], facts["points"]) == matrix.shape


def test_what_is_too_costly_is_bounded_and_said(littled: Littled, tmp_path: Path) -> None:
    path = table(tmp_path, sparse_sets(9, 3))
    said = littled("dim", path, "--limit", "3")
    assert said.status == 0
    why = "takes more than 3 sub-classes; see --limit"
    assert f"Littlestone dimension  at least 3, at most 5 (the exact value {why})\n" in said.out
    assert f"\nVC dimension           not computed ({why})\n" in said.out
    assert f"\ndual VC dimension      not computed ({why})\n" in said.out
    assert "\nwitness tree of depth 3:\n" in said.out
    facts = littled("dim", path, "--limit", "3", "--json").json
    assert facts["littlestone_bounds"] == [3, 5]
    unknown = ("littlestone_dimension", "vc_dimension", "dual_vc_dimension")
    assert [facts[name] for name in unknown] == [None] * 3


def test_the_witness_of_a_table_agrees_with_its_rules(littled: Littled, tmp_path: Path) -> None:
    cells = np.unique(np.random.default_rng(2).random((50, 20)) < 0.4, axis=0)
    facts = littled("dim", table(tmp_path, cells), "--json").json

    def check(tree: dict[str, object], examples: list[tuple[int, int]]) -> None:
        if "rule" in tree:
            row = cells[int(str(tree["rule"])[1:])]
            assert all(row[x] == y for x, y in examples)
            assert len(examples) == facts["littlestone_dimension"]
            return
        point = int(str(tree["point"])[1:])
        for label, name in enumerate(("zero", "one")):
            child = tree[name]
            assert isinstance(child, dict)
            check(child, [*examples, (point, label)])

    check(facts["witness_tree"], [])


def test_the_table_and_the_names_of_its_points_come_from_one_reading(
    littled: Littled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is replaced in between cannot give names of other points."""
    path, read, times = written(tmp_path, WEEK), Path.read_text, []

    def counted(self: Path, *how: Any, **more: Any) -> str:
        times.append(self)
        return read(self, *how, **more)

    monkeypatch.setattr(Path, "read_text", counted)
    assert "monday = 0" in littled("dim", path).out
    assert times.count(path) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rule,a,b\n", "needs a line of points and a line for each rule"),
        ("rule,a,b\nodd,0,2\n", "rule 1 of the table"),
        ("rule,a,b\none,0,1\nother,0,1\n", "a table lists the same rule twice"),
        ('rule,a,b\n"open,0,1\n', "is not well-formed CSV"),
    ],
)
def test_a_file_that_is_no_table_is_said_in_one_sentence(
    littled: Littled, tmp_path: Path, text: str, sentence: str
) -> None:
    said = littled("dim", written(tmp_path, text))
    assert (said.status, said.out) == (2, "")
    assert sentence in said.sentence


def test_wrong_use_is_said_in_one_sentence(littled: Littled, tmp_path: Path) -> None:
    said = littled("dim", tmp_path / "none.csv")
    assert said.status == 2
    assert said.sentence.endswith("none.csv: No such file or directory")
    said = littled("dim", written(tmp_path, WEEK), "--limit", "0")
    assert said.status == 2
    assert "'--limit'" in said.sentence
    assert json.loads(littled("dim", written(tmp_path, WEEK), "--json").out)["rules"] == 5
