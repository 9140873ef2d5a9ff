"""How good rules were, as `littled` says it: in plans, statuses and backtests; and without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from littled.cli.quality import error_words, quality_table
from littled.cli.watching import stream_tables
from support.commands import Littled, flights_csv

CONFIGURATION = """\
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 20_000
{more}
[streams.flights.learners.late]
class = "thresholds:256"
"""
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
PLAN = ["plan", "--class", "thresholds:256", "--epsilon", "1", "--delta", "1e-6"]
FIGURE: dict[str, Any] = {
    "period_examples": 1000, "next_position": 4000, "error_rate": 0.0834, "error_rate_lower": 0.07,
    "error_rate_upper": 0.101, "level": 0.95, "number": 3, "season": 0, "first_position": 2000,
    "position": 3000, "first_version": 4, "last_version": 6,
}  # fmt: skip


def shown(table: Any) -> str:
    screen = Console(width=200, record=True)
    screen.print(table)
    return screen.export_text()


def configuration(tmp_path: Path, more: str = "") -> Path:
    path = tmp_path / "littled.toml"
    path.write_text(CONFIGURATION.format(more=more))
    return path


def test_a_status_has_a_table_of_error_rates() -> None:
    learner = {"version": 6, "epoch": 5, "halted": False, "rule": "always", "quality": FIGURE}
    stream = {
        "position": 3100, "season": 0, "horizon": 4500, "epsilon": 1.0, "epsilon_spent": 1.0,
        "delta": 1e-6, "learners": {"late": learner, "early": {**learner, "quality": {
            "period_examples": 1000, "next_position": None}}},
    }  # fmt: skip
    *_, last = stream_tables("flights", stream)
    text = shown(last)
    assert "8.3 % (7.0 to 10.1 %)" in text
    assert "2,000 to 2,999" in text
    assert "4 to 6" in text
    assert "4,000 examples" in text
    assert "none yet" in text
    assert "next season" in text


def test_learners_that_are_not_measured_have_no_table() -> None:
    assert quality_table("flights", {"late": {"rule": "always"}}) is None
    assert error_words({"period_examples": 5, "next_position": 5}) == "-"


@pytest.mark.long
def test_plans_say_what_it_takes_and_can_do_without(littled: Littled) -> None:
    usual = ["--horizon", "100000"]
    found = json.loads(littled(*PLAN, *usual, "--json").out)
    assert found == json.loads(littled(*PLAN, *usual, "--quality", "0.025", "--json").out)
    assert found["quality"]["periods"] == 16
    assert found["quality"]["period_examples"] == 6250
    assert found["quality"]["epsilon"] == pytest.approx(0.025, abs=1e-4)
    said = littled(*PLAN, *usual).out
    assert "tells how often published rules were wrong, after every 6,250 examples" in said
    without = littled(*PLAN, *usual, "--quality", "0", "--json").out
    assert json.loads(without)["quality"] is None
    assert "quality" not in json.loads(without)["plan"]["learners"]["learner"]["parameters"]
    more = json.loads(littled(*PLAN, *usual, "--quality", "0.1", "--json").out)
    assert more["quality"]["epsilon"] == pytest.approx(0.1, abs=1e-4)


def test_wrong_shares_are_refused(littled: Littled, tmp_path: Path) -> None:
    found = littled(*PLAN, "--horizon", "100000", "--quality", "0.6")
    assert found.status != 0
    assert "--quality must be at most 0.5, not 0.6" in found.err
    for wrong in ('"yes"', "-0.1", "0.51", "nan"):
        path = configuration(tmp_path, f"quality = {wrong}")
        found = littled("init", tmp_path / "store", "--config", path)
        assert found.status != 0
        assert "streams.flights.quality must be" in found.err
        assert not (tmp_path / "store").exists()


@pytest.mark.long
@pytest.mark.parametrize("off", ["quality = false", "quality = 0"])
def test_stores_say_what_it_takes_unless_it_is_off(
    littled: Littled, tmp_path: Path, off: str
) -> None:
    for number, on in enumerate(("quality = true", "")):
        path = configuration(tmp_path, on)
        found = littled("init", tmp_path / f"on{number}", "--config", path)
        assert found.status == 0
    said = " ".join(found.out.split())
    assert "epsilon 0.02499 tells how often published rules were wrong, after every 6,666" in said
    assert "quality = false keeps it for learning" in said
    assert found.err == ""
    found = littled("init", tmp_path / "off", "--config", configuration(tmp_path, off))
    assert found.status == 0
    assert "quality" not in found.out


def test_a_backtest_shows_what_a_daemon_would_tell(littled: Littled, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 20_000)
    command = ["backtest", "flights", file, *COLUMNS, "--seed", "3"]
    path = configuration(tmp_path, "quality = true")
    found, last = map(json.loads, littled(*command, "--config", path, "--json").out.splitlines())
    assert "quality" not in last
    periods = found["quality"]
    assert [one["position"] for one in periods] == [6666, 13332, 19998]
    truth = found["progressive_error"]
    mean = sum(one["error_rate"] for one in periods) / 3
    assert abs(mean - truth) < 0.03  # noise of three figures
    assert all(one["error_rate_lower"] <= one["error_rate_upper"] for one in periods)
    assert "is what a daemon would tell" in littled(*command, "--config", path).out
    path = configuration(tmp_path, "quality = false")
    said = littled(*command, "--config", path, "--json").out
    assert "quality" not in json.loads(said.splitlines()[0])
