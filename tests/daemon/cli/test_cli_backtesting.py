"""`littled backtest`: what a daemon would have published on a file, and how good it would be."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from support.commands import CONFIGURATION, Littled, Said, flights_csv

pytestmark = pytest.mark.long

COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
TWO = CONFIGURATION + '[streams.flights.learners.other]\nclass = "thresholds:200"\nnoise_rate = 0\n'
PREFIXES = """\
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 100000
[streams.flights.learners.block]
class = "prefixes:8"
"""


ASKED = """\
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000
learners.ask = { kind = "prediction", class = "thresholds:256", window = 4_000, answers = 40 }
"""


LAST_LINE = [
    *("examples", "progressive_error", "final_error", "majority_error", "releases", "halted"),
    *("epsilon", "epsilon_spent", "delta", "seconds", "rule"),
]


def last_line(said: Said) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said.out.splitlines()[-1])
    return found


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / "littled.toml"
    path.write_text(CONFIGURATION)
    return path


def test_errors_are_those_of_the_rules_on_the_file(
    littled: Littled, configuration: Path, tmp_path: Path
) -> None:
    file = flights_csv(tmp_path / "flights.csv", 20_000)
    command = ["backtest", "flights", file, *COLUMNS, "--config", configuration, "--seed", "3"]
    said = littled(*command, "--json")
    assert said.status == 0
    assert "this is not private" in said.err
    found, last = map(json.loads, said.out.splitlines())
    assert list(last) == LAST_LINE
    assert last == {key: found[key] for key in LAST_LINE}
    with file.open(newline="") as lines:
        rows = [(int(row["delay"]), int(row["late"])) for row in csv.DictReader(lines)]
    late = sum(label for _, label in rows)
    assert found["examples"] == len(rows) == 20_000
    assert found["majority_error"] == min(late, len(rows) - late) / len(rows)

    def error(threshold: int) -> float:
        wrong = [int(delay >= threshold) != label for delay, label in rows]
        return sum(wrong) / len(rows)

    thresholds = [point - 30 for point in range(257)]
    assert found["best_error"] == min(map(error, thresholds))
    assert found["rule"].startswith("late if departure delay >= ")
    assert found["final_error"] == error(int(found["rule"].split()[-2]))
    assert found["best_error"] == error(int(found["best_rule"].split()[-2]))
    # Before the first rule nothing is late; later rules are better.
    assert found["final_error"] <= found["progressive_error"] < found["majority_error"]
    assert found["releases"] >= 1
    assert found["halted"] is False
    assert (found["epsilon"], found["delta"]) == (1.0, 1e-6)
    assert 0 < found["epsilon_spent"] <= 1
    assert littled(*command, "--json").out.split('"seconds"')[0] == said.out.split('"seconds"')[0]
    pairs = littled(*command)
    assert f"progressive error  {100 * found['progressive_error']:.2f} %" in pairs.out
    assert pairs.out.isascii()


def test_noise_is_new_without_a_seed(littled: Littled, configuration: Path, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3000)
    command = ["backtest", "flights", file, *COLUMNS, "--config", configuration, "--json"]
    found = {last_line(littled(*command))["progressive_error"] for _ in range(6)}
    assert len(found) > 1


def test_every_learner_is_told_of(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    file = flights_csv(tmp_path / "flights.csv", 500)
    columns = [*COLUMNS[:4], "--clip", "-30", "150", "--offset", "-30"]
    said = littled(
        "backtest", "flights", file, *columns, "--config", tmp_path / "two.toml", "--json"
    )
    *learners, last = map(json.loads, said.out.splitlines())
    assert [one["learner"] for one in learners] == ["flights/late", "flights/other"]
    best = min(learners, key=lambda one: float(one["progressive_error"]))
    assert last == {key: best[key] for key in LAST_LINE}


def test_a_class_of_too_many_rules_has_no_best_one(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "prefixes.toml").write_text(PREFIXES)
    file = flights_csv(tmp_path / "flights.csv", 500)
    command = ["backtest", "flights", file, *COLUMNS, "--config", tmp_path / "prefixes.toml"]
    found = json.loads(littled(*command, "--json").out.splitlines()[0])
    assert found["best_error"] is found["best_rule"] is None
    assert "too many rules to weigh" in littled(*command).out


def test_a_plot_is_drawn(littled: Littled, configuration: Path, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 2000)
    plot = tmp_path / "errors.png"
    command = ["backtest", "flights", file, *COLUMNS, "--config", configuration, "--plot", plot]
    assert littled(*command).status == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    again = littled(*command)
    assert (again.status, again.out) == (2, "")
    assert "exists; name a new file" in again.sentence


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["nope", *COLUMNS], 2, "has no stream nope; it has flights"),
        (["flights", *COLUMNS, "--user", "delay"], 2, "protects single examples"),
        (["flights", *COLUMNS, "--plot", "errors.txt"], 2, "--plot needs a file that ends in"),
        (["flights", "--x", "nope", "--y", "late"], 1, "has no column named 'nope'"),
        (["flights", *COLUMNS, "--seed", "-1"], 2, "--seed"),
    ],
)
def test_wrong_use(
    littled: Littled,
    configuration: Path,
    tmp_path: Path,
    arguments: list[str],
    status: int,
    sentence: str,
) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3)
    stream, *options = arguments
    said = littled("backtest", stream, file, *options, "--config", configuration)
    assert said.status == status
    assert said.out == ""
    assert sentence in said.err


def test_a_file_without_examples(littled: Littled, configuration: Path, tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("delay,late\n")
    said = littled("backtest", "flights", file, *COLUMNS, "--config", configuration)
    assert (said.status, said.out) == (1, "")
    assert "holds no example" in said.err


def test_learners_that_publish_no_rules(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "asked.toml").write_text(ASKED)
    file = flights_csv(tmp_path / "flights.csv", 3)
    said = littled("backtest", "flights", file, *COLUMNS, "--config", tmp_path / "asked.toml")
    assert said.status == 2
    assert "no learner that publishes rules" in said.err


def test_the_document_shows_what_the_command_prints(littled: Littled, tmp_path: Path) -> None:
    document = (Path(__file__).parents[3] / "docs" / "backtest.md").read_text()
    command, printed = (
        document.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("sh", "text")
    )
    assert littled("demo", "--export", tmp_path).status == 0
    words = shlex.split(command.replace("\\\n", " "))
    assert words.pop(0) == "littled"
    files = {name: str(tmp_path / name) for name in ("flights.csv", "littled.toml")}
    said = littled(*[files.get(word, word) for word in words])
    without_seconds = [line for line in said.out.splitlines() if not line.startswith("seconds")]
    assert without_seconds == printed.splitlines()
