"""Scorecard learners through a real daemon: plan, check, serve, feed, follow, status, replay."""

import csv
import json
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from littled.auditing.subjects import small_plan, subjects_of
from littled.auditing.subjects.leader import SCORECARDS
from littled.auditing.trials import TrialSubject
from littled_client import Client, Published, Rule
from littled_protocol.rules import ScorecardRule, ThresholdRule
from support.commands import Daemon, Littled, make_store, serve, start

CONFIGURATION = """
[streams.loans]
epsilon = 4.0
delta = 1e-6
horizon = 8_000
[streams.loans.label]
column = "defaulted"
positive = "yes"
negative = "no"
[streams.loans.columns.income]
kind = "number"
from = 0
to = 200_000
steps = 32
unit = "EUR"
missing = "bucket"
[streams.loans.columns.grade]
kind = "category"
values = ["A", "B", "C", "D"]
[streams.loans.columns.opened]
kind = "time"
parts = ["month", "weekday"]
[streams.loans.learners.risk]
class = "scorecard"
[streams.loans.learners.grades]
class = "scorecard"
columns = ["grade"]
[streams.loans.learners.short]
class = "scorecard"
columns_max = 2
monotone = { income = "falling", grade = "rising", "month of opened" = "rising" }
[streams.visits]
epsilon = 4.0
delta = 1e-6
horizon = 8_000
unit = "user"
user_examples_max = 1
learners.busy = { class = "scorecard:8x8" }
"""
EXAMPLES = 9_000


def loans(path: Path, count: int) -> Path:
    """Loans whose grade and income decide together, mostly."""
    chance = random.Random(7)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["income", "grade", "opened", "defaulted"])
        for _ in range(count):
            income, grade = chance.randrange(0, 200_000), chance.choice("ABCDE")
            risk = "ABCDE".index(grade) - income / 60_000 + chance.gauss(0, 0.4)
            shown = "" if chance.random() < 0.02 else income
            day = f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
            rows.writerow([shown, grade, day, "yes" if risk > 0.7 else "no"])
    return path


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose first season is over and whose second has begun."""
    folder = tmp_path_factory.mktemp("scorecards")
    make_store(folder, CONFIGURATION)
    running = serve(folder)
    file = loans(folder / "loans.csv", EXAMPLES)
    process = start("feed", "loans", file, "-a", running.address)
    assert process.wait(60) == 0, process.communicate()
    yield running
    assert running.stop() == 0


def last_of_first_season(address: str, learner: str) -> Published:
    with Client(address) as client:
        found = client.subscribe(learner)
        last = None
        for release in found:
            if release.kind == "season":
                break
            last = release
        found.close()
    assert last is not None
    return last


def test_a_season_ends_with_a_scorecard_that_says_what_it_learned(
    fed: Daemon,
) -> None:
    published = last_of_first_season(fed.address, "loans/risk")
    rule = published.rule
    assert isinstance(rule, ScorecardRule)
    income, grade, month, weekday = rule.tables
    assert grade[3] > grade[0]
    assert max(income[1:8]) > max(income[-8:])
    spread = [max(table) - min(table) for table in rule.tables]
    assert min(spread[:2]) > 2 * max(spread[2:]), (month, weekday)
    said = published.describe()
    assert said.startswith("yes if points are above ")
    assert "if grade is " in said
    assert "if income " in said


def test_a_rule_means_the_same_in_sql_and_in_a_program(fed: Daemon, tmp_path: Path) -> None:
    file = loans(tmp_path / "more.csv", 300)
    published = last_of_first_season(fed.address, "loans/risk")
    rule, words = Rule.of(published), published.words
    assert published.rule is not None
    assert words is not None
    sql = published.rule.to_sql(words, dialect="sqlite")
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    labels = list(rule.predict([{k: v for k, v in r.items() if k != "defaulted"} for r in rows]))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (income REAL, grade TEXT, opened TEXT)")
        values = [(float(r["income"]) if r["income"] else None, r["grade"], r["opened"])
                  for r in rows]  # fmt: skip
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", values)
        query = f"SELECT {sql} FROM t"  # noqa: S608 - what is exported is what is tested
        found = [one for (one,) in connection.execute(query)]
    assert labels == ["yes" if one else "no" for one in found]
    assert {*labels} == {"yes", "no"}


def test_decisions_are_explained_by_points(fed: Daemon, littled: Littled, tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    path.write_text(json.dumps(last_of_first_season(fed.address, "loans/risk").to_dict()))
    values = ["20000,D,2026-05-01", ",A,2026-12-31"]
    labels = littled("rule", "eval", path, "--words", "--", *values).out.split()
    said = littled("rule", "eval", path, "--explain", "--json", "--", *values)
    poor, unknown = (json.loads(line) for line in said.out.splitlines())
    assert [poor["word"], unknown["word"]] == labels == ["yes", "no"]
    for found in (poor, unknown):
        added = [column["points"] for column in found["columns"]]
        assert found["constant"] + sum(added) == found["total"]
        assert found["label"] == (found["total"] > 0)
    texts = {column["column"]: column["text"] for column in poor["columns"]}
    assert texts == {
        "income": "income >= 18750 EUR and income < 25000 EUR",
        "grade": "grade is D",
        "month of opened": "month of opened is May",
        "weekday of opened": "weekday of opened is Friday",
    }
    first, *lines = littled("rule", "eval", path, "--explain", "--", *values[1:]).out.splitlines()
    assert first == "no"
    assert sum(int(line.split()[0]) for line in lines[:-1]) == unknown["total"]
    assert "income is missing" in {line.split(maxsplit=1)[1] for line in lines}
    assert lines[-2].endswith("constant")
    assert lines[-1].endswith("in all, which is not above 0")


def test_what_has_no_points_is_not_explained(littled: Littled, tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    path.write_text(json.dumps({"rule": ThresholdRule(8, 3).to_dict(), "words": {}}))
    said = littled("rule", "eval", path, "--explain", "5")
    assert (said.status, said.out) == (1, "")
    assert "only a scorecard has points to explain" in said.sentence
    said = littled("rule", "eval", path, "--json", "5")
    assert said.status == 2
    assert "--json needs --explain" in said.sentence


def test_values_with_another_offset_are_explained_as_they_were_given(
    littled: Littled, tmp_path: Path
) -> None:
    path = tmp_path / "rule.json"
    rule = ScorecardRule(-1, ((0, 3), (0, -3)))
    path.write_text(json.dumps({"rule": rule.to_dict(), "words": {"x_name": "the host"}}))
    said = littled("rule", "eval", path, "--explain", "--offset", "10", "11,10")
    assert said.out.splitlines() == [
        "1",
        "  +3  feature 0 of the host = 11",
        "  +0  feature 1 of the host = 10",
        "  -1  constant",
        "  +2  in all, which is above 0",
    ]


def test_the_page_explains_its_rule_as_the_command_does(littled: Littled, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/classes/scorecard.md").read_text(encoding="utf-8")
    (rule,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    words = {"x_name": "the host", "positive": "slow", "negative": "quick"}
    path = tmp_path / "slow.json"
    path.write_text(json.dumps({"rule": json.loads(rule), "words": words}))
    said = littled("rule", "eval", path, "--explain", "3,1,2")
    assert f"```text\n{said.out}```" in page


def test_rules_have_few_columns_whose_points_rise_and_fall(fed: Daemon) -> None:
    rule = last_of_first_season(fed.address, "loans/short").rule
    assert isinstance(rule, ScorecardRule)
    (_, *income), (*grade, _), month, weekday = rule.tables
    assert income == sorted(income, reverse=True)
    assert grade == sorted(grade)
    assert (income[0] > income[-1], grade[0] < grade[-1]) == (True, True)
    assert not any((*month, *weekday))


def test_the_status_shows_what_is_learned_and_what_it_costs(fed: Daemon, littled: Littled) -> None:
    said = littled("status", "--json", "-a", fed.address).json["streams"]["loans"]
    assert said["learners"]["risk"]["kind"] == "leader"
    assert said["learners"]["risk"]["batch_examples"] > 0
    assert said["spent"] == said["caps"]
    assert "scorecards" in littled("status", "-a", fed.address).out


def test_the_store_replays_to_the_same_bytes_and_charges_are_as_planned(
    littled: Littled, tmp_path: Path
) -> None:
    make_store(tmp_path, CONFIGURATION)
    running = serve(tmp_path)
    file = loans(tmp_path / "loans.csv", 3_000)
    assert start("feed", "loans", file, "-a", running.address).wait(60) == 0
    running.process.kill()
    running.process.communicate()
    assert littled("verify", tmp_path / "store", "--replay").status == 0
    again = serve(tmp_path)
    assert start("feed", "loans", loans(file, 3_500), "-a", again.address).wait(60) == 0
    assert again.stop() == 0
    assert littled("verify", tmp_path / "store", "--replay").status == 0


def test_plans_are_shown_for_people_and_programs(littled: Littled) -> None:
    plan = ["plan", "--class", "scorecard:64x7co", "--epsilon", "1", "--delta", "1e-6",
            "--horizon", "100000"]  # fmt: skip
    said = littled(*plan)
    assert said.status == 0, said.err
    assert "2 columns with 71 buckets in all" in said.out
    assert "private per example (GDP, exactly)" in said.out
    assert "the last of a season" in said.out
    facts = json.loads(littled(*plan, "--json").out)
    assert facts["columns"] == 2
    assert facts["batch_examples"] * facts["batches_per_season"] <= 100_000
    assert 0.97 < facts["guarantee"]["epsilon"] <= 1
    assert facts["accounting"] == "gaussian"
    users = littled(*plan, "--unit", "user", "--user-examples-max", "3")
    assert "the first 3 examples of each and season" in users.out


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        ('{ class = "scorecard", noise_rate = 0.1 }', "a scorecard does not need; leave it out"),
        ('{ class = "scorecard", kind = "online" }', "learner risk: "),
        ('{ class = "stumps", kind = "leader" }', "kind leader needs the class scorecard"),
        ('{ class = "scorecard:3x3" }', "leave the sizes away: scorecard"),
        (
            '{ class = "scorecard", columns = ["grade"], monotone = { income = "rising" } }',
            "learners.risk.monotone.income, which is no number, category or part of a time that",
        ),
        (
            '{ class = "scorecard", monotone = { income = "up" } }',
            "monotone.income",
        ),
        ('{ class = "scorecard", columns_max = 0 }', "columns_max"),
        ('{ class = "scorecard", window = 3 }', "window is not a known key"),
    ],
)
def test_what_is_wrong_with_a_learner_is_said_in_a_sentence(
    littled: Littled, tmp_path: Path, learner: str, sentence: str
) -> None:
    head, _, _ = CONFIGURATION.partition("[streams.loans.learners.risk]")
    path = tmp_path / "littled.toml"
    path.write_text(f"{head}[streams.loans.learners]\nrisk = {learner}\n")
    said = littled("init", tmp_path / "store", "--config", path)
    assert said.status != 0
    assert sentence in said.sentence


@pytest.mark.parametrize("name", SCORECARDS)
def test_small_learners_have_streams_to_audit_them_with(name: str) -> None:
    plan = small_plan(name)
    (subject,) = subjects_of(plan)
    assert isinstance(subject, TrialSubject)
    assert len(subject.trials) > 5
