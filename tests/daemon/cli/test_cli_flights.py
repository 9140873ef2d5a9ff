"""The stream of the demo: its table, its labels, and how often rules err on it."""

import importlib.util
import io

import numpy as np
import pytest

from littled.cli.flights import (
    HORIZON,
    WORDS,
    DemoError,
    Errors,
    Flights,
    Year,
    read_flights,
    read_year,
    schema,
)
from littled_protocol.rules import ScorecardRule, ThresholdRule

EXAMPLES = 327_346


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


@pytest.mark.long
def test_the_table_is_that_of_the_flights_with_their_weather(flights: Flights) -> None:
    year = read_year()
    assert len(year) == EXAMPLES
    assert list(year.columns) == [column.name for column in schema().columns]
    assert list(map(int, year.columns["departure_delay"])) == flights.delays.tolist()
    changing = read_flights(changing=True)
    assert year.flights.late.tolist() == changing.late.tolist()
    assert year.flights.change == changing.change
    first = [texts[0] for texts in year.columns.values()]
    assert first[:6] == ["2", "2013-01-01 05:15", "EWR", "UA", "1400", "39.02"]
    for name in ("temperature", "wind", "rain", "visibility"):
        missing = sum(text in ("", "NA") for text in year.columns[name])
        assert missing < 0.01 * EXAMPLES


def test_rules_are_held_against_the_rows_that_learners_see() -> None:
    cells = [
        *(["-40", "2013-12-31 05:00", "EWR", "UA", "100", "", "0", "0", "10"],),
        *(["24", "2013-12-31 22:00", "JFK", "B6", "5000", "20", "70", "1", "NA"],),
    ]
    names = [column.name for column in schema().columns]
    flights = Flights(np.array([-40, 24]), np.array([0, 1], dtype=np.uint8), change=1)
    few = Year(dict(zip(names, map(list, zip(*cells, strict=True)), strict=True)), flights)
    assert few.rows.shape == (2, 10)
    assert few.rows[:, 0].tolist() == [0, 54]
    assert few.errors([(0, ThresholdRule(150, 55))]) == Errors(0.5, 0.0, 1.0)
    features = [feature for column in schema().columns for feature in column.features]
    of_kennedy = [(0, 1, 0, 0) if each.name == "origin" else (0,) * each.size for each in features]
    by_origin = ScorecardRule(0, tuple(of_kennedy))
    assert few.errors([(0, by_origin)]) == Errors(0.0, 0.0, 0.0)
    file = io.StringIO()
    few.write(file)
    assert file.getvalue().splitlines()[1] == "-40,2013-12-31 05:00,EWR,UA,100,,0,0,10,0"


def test_without_the_flights_the_demo_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoError, match=r"pip install 'littled\[demo\]'"):
        read_flights()
