"""The demo: its stream, its measure, and a whole run with all its processes."""

import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from littled.cli.flights import (
    CONFIGURATION,
    HORIZON,
    WORDS,
    DemoError,
    Errors,
    Flights,
    Sight,
    read_flights,
    run_demo,
    write_csv,
)
from littled_protocol.rules import ThresholdRule

EXAMPLES = 327_346
# What a run must reach in 18 of 20 cases; a single run in a test gets a little more room.
ERROR_MAX = 0.067
ERROR_MAX_ONCE = 0.07
RUNS, RUNS_GOOD_MIN = 20, 18
SECONDS_MAX = 30.0


@pytest.fixture(scope="module")
def flights() -> Flights:
    return read_flights()


def test_the_stream_is_every_complete_flight_of_the_year(flights: Flights) -> None:
    assert len(flights) == EXAMPLES <= HORIZON
    assert flights.points.dtype == np.uint8
    assert set(np.unique(flights.late)) == {0, 1}
    assert round(float(flights.late.mean()), 3) == 0.237
    assert (flights.delays[0], flights.points[0]) == (2, 32)
    assert flights.points[flights.delays >= 225].tolist() == [255] * int(
        (flights.delays >= 225).sum()
    )


def test_the_best_rule_in_hindsight_is_the_best(flights: Flights) -> None:
    best = flights.best_rule()
    assert best.describe(WORDS) == "late if departure delay >= 24 min"
    errors = [flights.error(ThresholdRule(256, t)) for t in range(40, 70)]
    assert flights.error(best) == min(errors)
    assert round(flights.error(best), 3) == 0.1
    assert flights.error(ThresholdRule(256, 256)) == flights.late.mean()


def test_the_demo_s_question_changes_in_the_middle_of_the_year(flights: Flights) -> None:
    changing = read_flights(changing=True)
    assert changing.delays.tolist() == flights.delays.tolist()
    before, after = slice(changing.change), slice(changing.change, None)
    assert 0.45 < changing.change / EXAMPLES < 0.55
    assert changing.late[before].tolist() == flights.late[before].tolist()
    assert set(changing.late[after] - flights.late[after].astype(int)) == {-1, 0}
    assert round(float(changing.late[after].mean()), 3) == 0.079


def test_errors_are_those_of_the_rules_in_force() -> None:
    few = Flights(np.array([-30, 0, 24, 225]), np.array([0, 1, 1, 0], dtype=np.uint8), change=3)
    always, never = ThresholdRule(256, 0), ThresholdRule(256, 256)
    assert few.errors([(0, never)]) == Errors(0.5, 2 / 3, 0.0)
    assert few.errors([(0, never), (1, always)]) == Errors(0.25, 0.0, 1.0)
    assert few.errors([(0, never), (1, always), (3, never)]) == Errors(0.0, 0.0, 0.0)


def test_the_error_of_a_rule_is_the_share_of_flights_it_errs_on() -> None:
    few = Flights(np.array([-40, 0, 24, 300]), np.array([0, 1, 1, 0], dtype=np.uint8))
    assert few.points.tolist() == [0, 30, 54, 255]
    assert few.error(ThresholdRule(256, 54)) == 0.5
    assert few.error(ThresholdRule(256, 0)) == 0.5
    assert few.best_rule() == ThresholdRule(256, 1)
    file = io.StringIO()
    write_csv(few, file)
    assert file.getvalue() == "departure_delay,late\n-40,0\n0,1\n24,1\n300,0\n"


def test_without_the_flights_the_demo_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoError, match=r"pip install 'littled\[demo\]'"):
        read_flights()


def test_a_process_that_fails_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = CONFIGURATION.replace("epsilon = 1.0", "epsilon = 0")
    monkeypatch.setattr("littled.cli.flights.CONFIGURATION", wrong)
    with pytest.raises(
        DemoError, match=r"the init stopped: littled: streams\.flights\.epsilon must"
    ):
        run_demo(lambda _: None)


def test_a_run_learns_good_rules_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sights: list[Sight] = []
    outcome = run_demo(sights.append)
    assert list(tmp_path.iterdir()) == []
    assert (outcome.last.examples, outcome.last.position) == (EXAMPLES, EXAMPLES)
    assert outcome.last.seconds < SECONDS_MAX
    assert outcome.published.year < ERROR_MAX_ONCE < outcome.best.year
    assert outcome.published.after < 0.04 < outcome.best.after
    assert 0 < outcome.last.epsilon_spent <= 1.0
    assert [each.version for each in outcome.last.releases] == list(
        range(1, len(outcome.last.releases) + 1)
    )
    positions = [sight.position for sight in sights]
    assert positions == sorted(positions)
    assert outcome.rule.text.startswith("late if departure delay >= ")


@pytest.mark.campaign
def test_most_runs_follow_the_change() -> None:
    command = [sys.executable, "-P", "-m", "littled.cli", "demo", "--json"]
    good = 0
    for _ in range(RUNS):
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=dict(os.environ), timeout=120
        )
        good += json.loads(done.stdout.splitlines()[-1])["error"] <= ERROR_MAX
    assert good >= RUNS_GOOD_MIN
