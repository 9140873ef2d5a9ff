"""`make mutants`: plant each fault in a copy of the program, and see the tests notice.

Each fault is planted alone; tests run until the first one fails. A fault that none of its tests
notices *survives*: the run then ends with status 1, as it does when a test fails without a fault.
Arguments are words; only faults whose name has one of them are planted.
"""

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants.planted import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
FOLDERS = ("daemon", "protocol", "clients", "tests", "benchmarks", "docs", "packaging")
FILES = (
    *("pyproject.toml", "Makefile", "LICENSE", ".pre-commit-config.yaml"),
    *("README.md", "PRIVACY.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
)
PROCESSES = 2
SECONDS_MAX = 300
# All tests that are to notice something, once and one after the other, on a busy machine as well.
SOUND_SECONDS_MAX = 3600
FAILED_TESTS = 1  # what pytest exits with when tests ran and some failed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fault: the test that noticed it, "" for none, and then why there is none."""

    mutant: Mutant
    noticed: str
    problem: str
    seconds: float


def copy_of_the_program(folder: Path) -> Path:
    """All that the tests need, in a folder of its own."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


def run_tests(folder: Path, tests: Sequence[str], seconds: float = SECONDS_MAX) -> tuple[int, str]:
    """Status and output of pytest on some test files of a copy."""
    rooms = os.pathsep.join(str(folder / name) for name in ("daemon", "protocol", "clients"))
    files = [f"tests/{each}" for each in tests]
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--tb=line"]
    # Also tests with servers of their own, where these are.
    command += ["-m", "not campaign", *files]
    options = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    try:
        done = subprocess.run(
            [*command, *options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": rooms},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED_TESTS, "FAILED (the tests never ended)"
    return done.returncode, done.stdout


def plant(folder: Path, mutant: Mutant) -> Outcome:
    """Plant one fault, run its tests, and put the file back."""
    path = folder / "daemon" / "littled" / mutant.file
    sound = path.read_text(encoding="utf-8")
    start = time.monotonic()
    if sound.count(mutant.old) != 1:
        return Outcome(mutant, "", "the text to replace is not there once", 0.0)
    path.write_text(sound.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        status, output = run_tests(folder, mutant.tests)
    finally:
        path.write_text(sound, encoding="utf-8")
    found = re.search(r"^FAILED (.*?)(?: - |$)", output, re.MULTILINE)
    noticed = found[1].rpartition("/")[2] if status == FAILED_TESTS and found else ""
    problem = "" if noticed else f"pytest ended with {status}: {output.strip()[-300:]}"
    return Outcome(mutant, noticed, problem, time.monotonic() - start)


def plant_all(mutants: Sequence[Mutant]) -> Iterator[Outcome]:
    """Outcomes in the order of the faults, with so many processes as there are copies."""
    with tempfile.TemporaryDirectory() as scratch:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(PROCESSES):
            copies.put(copy_of_the_program(Path(scratch) / str(number)))

        def one(mutant: Mutant) -> Outcome:
            folder = copies.get()
            try:
                return plant(folder, mutant)
            finally:
                copies.put(folder)

        with ThreadPoolExecutor(PROCESSES) as pool:
            yield from pool.map(one, mutants)


def main(words: Sequence[str]) -> int:
    """Print one line for each fault; 0 if every one was noticed."""
    chosen = [each for each in MUTANTS if not words or any(word in each.name for word in words)]
    if not chosen:  # no files would be all of them
        print(f"no fault has {' or '.join(map(repr, words))} in its name", file=sys.stderr)
        return 2
    tests = sorted({test for each in chosen for test in each.tests})
    print(f"{len(tests)} files of tests without a fault:", end=" ", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        sound = copy_of_the_program(Path(scratch) / "sound")
        status, output = run_tests(sound, tests, SOUND_SECONDS_MAX)
    print("all pass" if not status else f"pytest ends with {status}\n{output[-3000:]}", flush=True)
    if status:
        return 1
    survivors = 0
    for outcome in plant_all(chosen):
        survivors += not outcome.noticed
        verdict = f"noticed by {outcome.noticed}" if outcome.noticed else "SURVIVED"
        print(f"{outcome.mutant.name:<58} {outcome.seconds:5.1f} s  {verdict}", flush=True)
        if outcome.problem:
            print(f"    {outcome.problem}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} faults noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
