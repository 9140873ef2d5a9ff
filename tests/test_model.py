"""Two owners, a store in PostgreSQL and its mark in etcd, in every order in which they may act.

The model (`tests/model/protocol.py`) says what is kept. Each guard is switched off once, and then
the model has to come to a violation: else it would show nothing.
"""

import json
import random
from pathlib import Path

import pytest

from model.explore import CASES, LONG, Case, explore, main, wander
from model.protocol import ALL, GUARDS, Bounds


@pytest.mark.long
@pytest.mark.parametrize("bounds", [Bounds(2, 3, 1), Bounds(2, 2, 2)], ids=str)
def test_whatever_happens_in_whatever_order_the_promises_are_kept(bounds: Bounds) -> None:
    found = explore(ALL, bounds)
    assert found.violation == "", "\n".join(found.way)
    assert found.states > 50_000


@pytest.mark.campaign
@pytest.mark.parametrize(
    "bounds",
    [Bounds(2, 3, 2), Bounds(3, 2, 1), Bounds(3, 2, 2, ("cancelled", "standby", "restarted"))],
    ids=str,
)
def test_the_promises_are_kept_within_wider_bounds(bounds: Bounds) -> None:
    found = explore(ALL, bounds)
    assert found.violation == "", "\n".join(found.way)
    assert found.states > 100_000


def test_every_guard_has_a_case() -> None:
    assert {case.guard for case in CASES} == set(GUARDS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.guard)
def test_without_one_guard_a_promise_is_broken(case: Case) -> None:
    """And with all of them it is not, within the same bounds and after the same first steps."""
    without = explore(ALL - {case.guard}, case.bounds, case.start)
    assert without.violation == case.violation
    assert len(without.way) > len(case.start)
    if case.start:
        assert explore(ALL, case.bounds, case.start).violation == ""


def test_long_ways_at_random_keep_the_promises() -> None:
    chance = random.Random(1)
    lengths = []
    for _ in range(300):
        found = wander(chance, ALL, LONG)
        assert found.violation == "", "\n".join(found.way)
        lengths.append(found.states)
    assert max(lengths) > 60


def test_seeds_that_once_failed_hold() -> None:
    kept = json.loads(Path(__file__).with_name("model").joinpath("failing_seeds.json").read_text())
    assert all(main(str(seed), "1") == 0 for seed in kept)


def test_long_ways_at_random_come_to_a_violation_without_a_guard() -> None:
    chance = random.Random(2)
    found = (wander(chance, ALL - {"epoch"}, LONG) for _ in range(1_000))
    assert any(each.violation for each in found)


@pytest.mark.long
def test_the_command_prints_the_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("guards") == 0
    printed = capsys.readouterr().out
    assert "without epoch: an example is learned twice, after" in printed
    assert main("0", "1") == 0
    assert "failing seeds: []" in capsys.readouterr().out
