"""The benchmarks of rows and of parts of streams: what they send, where runs end, their tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real import prefixes, windows
from benchmarks.real.prefixes import Pair
from benchmarks.real.streams import stream_of
from benchmarks.rows import COLUMNS, LEARNERS, Run, configuration, frames, last_figure, rows, table
from benchmarks.service import bare
from benchmarks.service.work import THRESHOLD
from littled.configuration import parse_configuration
from littled.planner import StreamPlan, plan_stream
from littled_protocol.codec import decode
from littled_protocol.messages import Examples


def plan_of(learner: str, horizon: int) -> StreamPlan:
    text = configuration({"s": LEARNERS[learner]}, horizon)
    return plan_stream(parse_configuration(text, Path("rows.toml")).streams["s"].request())


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_run_ends_at_the_last_figure_that_comes_within_its_rows(learner: str) -> None:
    plan = plan_of(learner, 100_000)
    assert plan.x_type == f"u16x{COLUMNS}"
    assert plan.publishing[0].quality is not None
    period = plan.publishing[0].quality.period
    found = [last_figure(plan, rows) for rows in (period - 1, period, 50_000, 100_000)]
    assert found == [0, period, 50_000 // period * period, 100_000 // period * period]
    assert 40_000 < found[2] <= 50_000


def test_frames_hold_the_rows_one_after_the_other() -> None:
    x, y = rows()
    first, second = (decode(frame[4:]) for frame in frames(100, 2))
    assert isinstance(first, Examples)
    assert isinstance(second, Examples)
    assert (first.sequence, second.sequence) == (0, 100)
    assert (second.x, second.y) == (x[100:200].tobytes(), y[100:200].tobytes())


def test_the_bare_server_reads_rows() -> None:
    x, y = rows()
    step = bare.Step()
    wrong = int(((x[:50, 0] >= THRESHOLD) != y[:50]).sum())
    drawn = step.take(x[:50].tobytes(), y[:50].tobytes())
    assert wrong <= drawn <= wrong + 50
    (frame,) = bare.frames([(x[:1].tobytes(), y[:1].tobytes())])
    assert x[:1].tobytes() in frame


def test_the_table_has_medians_and_ratios_within_rounds() -> None:
    runs = [
        Run(name, turn, 1_000, 10, learned * (turn + 1), learned, 2.5, bytes_a_row)
        for turn in range(3)
        for name, learned, bytes_a_row in (
            *(("scorecard", 100.0, 23.0), ("thresholds", 400.0, 22.0), ("bare server", 800.0, 0.0)),
        )
    ]
    lines = table([*runs, Run("River", 0, 0, 1, 50.0)]).splitlines()
    season = "| seasons of 1,000, batches of 10: "
    assert lines[2] == f"{season}scorecard | 200 | 100 | 0.25 | 0.12 | 2.50 | 23.0 |"
    assert lines[3] == f"{season}thresholds | 800 | 400 |  | 0.50 | 2.50 | 22.0 |"
    assert lines[5] == "| River | 50 |  |  |  | 0.00 |  |"


def test_first_rows_are_those_of_the_stream() -> None:
    whole = stream_of("diamonds", 4_000)
    few = prefixes.first_rows(whole, 600)
    assert (len(few), few.y.tolist()) == (600, whole.y[:600].tolist())
    assert few.x.tolist() == whole.x[:600].tolist()


def test_the_tables_say_on_how_many_streams_scorecards_are_ahead() -> None:
    pairs = [
        *(Pair("a", 500, "1", 0.3, 0.4), Pair("b", 500, "1", 0.2, 0.1)),
        *(Pair("a", 2_000, "1", 0.3, 0.2), Pair("b", 2_000, "1", None, 0.2)),
        Pair("a", 500, "0.1", 0.3, None),
    ]
    found = prefixes.tables(pairs)
    assert list(found) == ["How many examples, epsilon 0.1", "How many examples, epsilon 1"]
    assert found["How many examples, epsilon 1"].splitlines()[2:] == [
        "| 500 | 25.0 | 25.0 | 1 of 2 |",
        "| 2,000 | 30.0 | 20.0 | 1 of 1 |",
    ]
    assert "| 500 | | no plan | |" in found["How many examples, epsilon 0.1"]


def window_row(stream: str, method: str, error: float | None, size: int = 0) -> windows.Row:
    return windows.Row(stream, method, 1_000, "1", size, error, method == "boosted")


def test_teachers_are_chosen_on_the_other_streams() -> None:
    errors = {("a", 20): 0.1, ("a", 60): 0.4, ("b", 20): 0.3, ("b", 60): 0.2, ("c", 20): 0.3}
    rows = [window_row(name, "aggregate", error, size) for (name, size), error in errors.items()]
    rows.append(window_row("c", "aggregate", 0.1, 60))
    found = {row.stream: row.size for row in windows.chosen(rows)}
    assert found == {"a": 60, "b": 20, "c": 20}


def test_the_table_of_windows_marks_what_the_planner_would_refuse() -> None:
    rows = [
        *(window_row("a", "boosted", 0.1), window_row("b", "boosted", 0.3)),
        *(window_row("a", "stumps", 0.2), window_row("b", "stumps", 0.2)),
        *(window_row("a", "exponential", 0.25), window_row("c", "boosted", None)),
    ]
    (title,) = found = windows.tables(rows)
    assert title == "A rule from a window, epsilon 1"
    assert found[title].splitlines()[2:] == ["| 1,000 | 20.0* | 20.0 | 25.0 |  | 1 of 2 |"]


@pytest.mark.parametrize(("epsilon", "refused"), [("1", False), ("0.1", True)])
def test_a_rule_of_a_window_is_judged_on_the_next_one(epsilon: str, refused: bool) -> None:
    task = windows.Task("diamonds", windows.BOOSTED, 1_000, epsilon, 1, 2)
    row = windows.measured(task)
    assert row.refused == refused
    assert row.error is not None
    assert 0 < row.error < 0.5
    stump = windows.measured(replace(task, method=windows.STUMP, window=30_000))
    assert stump.error is None  # no window has another one behind it
