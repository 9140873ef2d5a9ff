"""The planted faults of `make mutants` fit the program as it is; that run takes minutes."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.__main__ import copy_of_the_program, main
from mutants.planted import MUTANTS, Mutant

pytestmark = pytest.mark.long

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "daemon" / "littled"
PAGE = TESTS.parent / "docs" / "checking.md"


def test_there_are_enough_and_no_name_twice() -> None:
    names = [mutant.name for mutant in MUTANTS]
    told = re.search(r"plants more than (\d+) faults", PAGE.read_text(encoding="utf-8"))
    assert told
    assert len(names) == len(set(names)) > int(told[1])


@pytest.mark.long
def test_the_tests_that_are_to_notice_them_are_collected() -> None:
    """Cases by their names as well: a case that is renamed takes its faults along."""
    named = {f"tests/{test}" for mutant in MUTANTS for test in mutant.tests if "::" in test}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not campaign"]
    done = subprocess.run(
        [*command, *sorted(named)], cwd=TESTS.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_copy_has_all_that_tests_read(tmp_path: Path) -> None:
    """Some do as they are imported: without it no test beside them is run."""
    copy = copy_of_the_program(tmp_path)
    read = re.findall(r'ROOT / "([\w.]+)"', "".join(map(Path.read_text, TESTS.rglob("*.py"))))
    assert "packaging" in read
    made = {".git", ".campaign"}  # by whoever works on the program
    assert [name for name in read if name not in made and not (copy / name).exists()] == []


def test_words_that_name_no_fault_run_no_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help", "no such fault"]) == 2
    assert capsys.readouterr() == ("", "no fault has '--help' or 'no such fault' in its name\n")


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_fault_can_be_planted(mutant: Mutant) -> None:
    """Its text stands once in its file, what comes of it is another program, its tests exist."""
    sound = (PACKAGE / mutant.file).read_text(encoding="utf-8")
    assert sound.count(mutant.old) == 1
    planted = ast.parse(sound.replace(mutant.old, mutant.new))
    assert ast.dump(planted) != ast.dump(ast.parse(sound))
    assert mutant.tests
    for test in mutant.tests:
        assert (TESTS / test.partition("::")[0]).is_file()
