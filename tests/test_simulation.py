"""Seeds of the simulated service hold, come to the same each time, and would notice faults."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.soak import slope

TESTS = Path(__file__).parent
SEEDS = 10
KEPT: list[int] = json.loads((TESTS / "sim/failing_seeds.json").read_text(encoding="utf-8"))


def simulate(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Seeds in a process of their own, as they replace its threads and clocks."""
    return subprocess.run(
        [sys.executable, "-m", "sim.run", *map(str, arguments)],
        cwd=TESTS, capture_output=True, text=True, check=False, timeout=88,
        env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 10])
def test_the_service_keeps_its_promises_whatever_happens(first: int) -> None:
    done = simulate(first, SEEDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SEEDS} seeds held" in done.stdout


@pytest.mark.long
def test_seeds_that_once_failed_hold() -> None:
    for seed in KEPT:
        done = simulate(seed)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_a_seed_tells_the_same_story_each_time() -> None:
    stories = [simulate(5, PYTHONHASHSEED=seed).stdout for seed in "12"]
    assert stories[0] == stories[1]
    assert stories[0].startswith("seed 5 ")


def test_a_disk_that_does_not_sync_is_noticed() -> None:
    """Else the seeds that hold would show nothing."""
    done = simulate(6, 3, "no syncs")
    assert done.returncode == 1
    assert "failing seed" in done.stdout


@pytest.mark.long
def test_a_few_lives_of_the_soak() -> None:
    """Kills, a full disk and a power cut, in the order of the campaign; memory after each hour."""
    program = "from sim import soak; soak.HOUR_SECONDS = 60.0; print(soak.soak(2))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTS, capture_output=True, text=True, check=False,
        timeout=88,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hour 2: 4 lives" in done.stdout


def test_memory_that_grows_has_a_slope() -> None:
    assert slope([100, 10, 10, 10]) == 0
    assert slope([0, 10, 30, 50]) == 20
    assert slope([5, 9]) == 0
