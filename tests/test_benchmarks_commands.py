"""The benchmarks as commands: each one starts, `make benchmarks` runs it, and pages name it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "benchmarks"
# Packages with a command, and modules that end in one.
COMMANDS = sorted(
    [
        *(path.parent.name for path in FOLDER.glob("*/__main__.py")),
        *(
            path.stem
            for path in FOLDER.glob("*.py")
            if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
        ),
    ]
)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_benchmark_starts_in_the_root_and_says_what_it_takes(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: python -m benchmarks.{name} ")


def test_make_runs_every_benchmark() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^BENCHMARKS := (.+)$", makefile, re.MULTILINE)
    assert "python -m benchmarks.service" in makefile  # with an option of its own
    assert sorted([*listed.split(), "service"]) == COMMANDS


def test_the_package_lists_every_benchmark() -> None:
    said = ast.get_docstring(ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8")))
    assert re.findall(r"python -m benchmarks\.(\w+)", said or "") == COMMANDS


def test_every_command_that_is_named_exists() -> None:
    named = set()
    for path in (*PAGES, *MODULES):
        text = path.read_text(encoding="utf-8")
        assert "python benchmarks/" not in text, path
        named |= set(re.findall(r"-m benchmarks\.(\w+)", text))
    assert named == set(COMMANDS)


def test_nobody_changes_where_python_looks_for_modules() -> None:
    tests = ROOT.joinpath("tests").glob("test_benchmarks*.py")
    changing = {
        path.name
        for path in (*MODULES, *tests)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path"
    }
    assert changing == set()
