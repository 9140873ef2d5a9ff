"""The planted faults of `make mutants` fit the program as it is; that run takes minutes."""

import ast
from pathlib import Path

import pytest

from mutants.planted import MUTANTS, Mutant

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "daemon" / "littled"
FEWEST = 60


def test_there_are_enough_and_no_name_twice() -> None:
    names = [each.name for each in MUTANTS]
    assert len(names) == len(set(names)) >= FEWEST


@pytest.mark.parametrize("mutant", MUTANTS, ids=[each.name for each in MUTANTS])
def test_a_fault_can_be_planted(mutant: Mutant) -> None:
    """Its text stands once in its file, what comes of it is another program, its tests exist."""
    sound = (PACKAGE / mutant.file).read_text(encoding="utf-8")
    assert sound.count(mutant.old) == 1
    planted = ast.parse(sound.replace(mutant.old, mutant.new))
    assert ast.dump(planted) != ast.dump(ast.parse(sound))
    assert mutant.tests
    for each in mutant.tests:
        file, _, test = each.partition("::")
        name, _, case = test.removesuffix("]").partition("[")
        text = (TESTS / file).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text
        assert not case or f'"{case}": ' in text
