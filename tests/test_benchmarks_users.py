"""What users cost, in mistakes: one run a cell, and a table of all kinds of streams."""

import statistics

import pytest

from benchmarks.learning import __main__ as learning
from benchmarks.learning import orders
from benchmarks.learning.report import percentile_95
from benchmarks.learning.runs import USERS, plan_for, run_littled, users_of
from benchmarks.users import __main__ as command
from benchmarks.users import mistakes

SHORT = ["--seeds", "2", "--horizon", "3000", "--jobs", "1", "--each", "10"]


def test_the_table_has_what_runs_on_the_asked_orders_made() -> None:
    asked = [*SHORT, "--classes", "points:64", "--streams", "uniform", "sorted", "jump"]
    arguments = command.parsed_arguments(asked)
    outcomes = mistakes.measured(arguments)
    assert len(outcomes) == 2 * 3 * 2
    plan = plan_for("points:64", 3000, USERS, 1)
    cells = []
    for kind in ("uniform", "sorted", "jump"):
        made = sorted(
            run_littled(
                orders.stream_of("points:64", kind, 3000, seed), plan, USERS,
                users_of(3000, 10, seed),
            ).mistakes
            for seed in range(2)
        )  # fmt: skip
        assert mistakes.mistakes_of(outcomes, "points:64", kind, 10) == made
        cells.append(f"{statistics.median(made):,.0f} ({made[-1]:,})")
    table = mistakes.markdown(outcomes, arguments)
    assert "| class, a user with 10 | uniform | sorted | jump |" in table
    assert f"| `points:64` | {' | '.join(cells)} |" in table
    assert "| class, one example | uniform | sorted | jump |" in table


@pytest.mark.parametrize(
    ("numbers", "expected"), [([7], 7), (list(range(20)), 18), (list(range(21)), 19)]
)
def test_the_95th_percentile_is_one_of_the_numbers(numbers: list[int], expected: int) -> None:
    assert percentile_95(numbers) == expected


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--streams shuffled", "invalid choice: 'shuffled'"),
        ("--classes lines:3", "there are no streams for the class 'lines:3'"),
        ("--seeds 0", "--seeds must be at least 1, not 0"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(
    options: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.parsed_arguments(options.split())
    assert sentence in capsys.readouterr().err.splitlines()[-1]


def test_the_learning_benchmark_refuses_no_seeds_as_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        learning.parsed_arguments(["--tuning-seeds", "0"])
    assert "--tuning-seeds must be at least 1, not 0" in capsys.readouterr().err
