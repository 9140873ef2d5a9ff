"""Values of windows through a real daemon: plan, check, serve, feed, follow, status, replay."""

import csv
import json
import time
from collections import Counter
from pathlib import Path

import pytest

from littled.auditing.subjects import small_plan, subjects_of
from littled.auditing.subjects.minimum import SMALL as MINIMA
from littled.auditing.subjects.most_frequent import SMALL as ITEMS
from littled.auditing.trials import TrialSubject
from littled_client import Client, Published
from littled_protocol.rules import AtLeastRule, StringRule
from support.commands import START_SECONDS, Littled, make_store, serve

CONFIGURATION = """
[streams.transactions]
epsilon = 4.0
delta = 1e-6
horizon = 4_000
x = { name = "time", unit = "unix s" }
y = { positive = "compromised", negative = "sound" }
learners.since = { class = "integers:32", window = 2_000 }
[streams.reports]
epsilon = 4.0
delta = 1e-6
horizon = 1_000
x = { name = "domain" }
y = { positive = "reported" }
learners.which = { class = "strings:32", window = 500 }
[streams.ids]
epsilon = 4.0
delta = 1e-6
horizon = 1_000
unit = "user"
user_examples_max = 2
learners.id = { kind = "most_frequent", class = "points:64", alpha = 0.25, method = "stable" }
"""
START = 1_709_251_200


def latest(address: str, learner: str) -> Published:
    """The first release that a window has made."""
    with Client(address) as client:
        found = client.subscribe(learner)
        release = next(each for each in found if each.version == 2)
        found.close()
    return release


def wait_for_version(address: str, stream: str, version: int) -> None:
    """Wait until the status has this version of every learner."""
    deadline = time.monotonic() + START_SECONDS
    with Client(address) as client:
        while True:
            learners = client.status()["streams"][stream]["learners"].values()
            if all(each["version"] == version for each in learners):
                return
            assert time.monotonic() < deadline, "not all windows were learned"
            time.sleep(0.05)


def test_values_are_published_followed_shown_and_replayed(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path, CONFIGURATION)
    disputed = [int(i % 100 == 3 or (i >= 1_000 and i % 2 == 0)) for i in range(2_000)]
    times = [f"{START + 10 * i},{y}" for i, y in enumerate(disputed)]
    names = ["login-bank.example" if i % 4 == 0 else f"{i}.example" for i in range(500)]
    domains = [f"{name},{int(i % 2 == 0)}" for i, name in enumerate(names)]
    for file, lines in (("t.csv", ["time,disputed", *times]), ("d.csv", ["domain,bad", *domains])):
        (tmp_path / file).write_text("\n".join(lines) + "\n")
    daemon = serve(tmp_path)
    at = ("-a", daemon.address)
    for stream, file, x, y in (
        ("transactions", "t.csv", "time", "disputed"), ("reports", "d.csv", "domain", "bad"),
    ):  # fmt: skip
        told = littled("feed", stream, tmp_path / file, "--x", x, "--y", y, "--wait", "20", *at)
        assert told.status == 0, told.err
    since = latest(daemon.address, "transactions/since").rule
    which = latest(daemon.address, "reports/which").rule
    assert isinstance(since, AtLeastRule)
    assert since.least is not None
    assert START + 9_000 < since.least < START + 20_000
    assert which == StringRule(32, b"login-bank.example".ljust(32, b"\0"))
    facts = littled("status", "--json", *at).json["streams"]["reports"]["learners"]["which"]
    assert facts["rule"] == "reported if domain is login-bank.example"
    assert facts["method"] == "stable"
    shown = littled("status", *at)
    assert "stable" in shown.out
    sql = littled("rule", "export", "reports/which", "--format", "sql", "--column", "d", *at)
    assert sql.out.strip() == "(\"d\" = 'login-bank.example')"
    assert daemon.stop() == 0
    assert littled("verify", tmp_path / "store", "--replay").status == 0


# Time, amount and card of disputed transactions.
COLUMNS = """
[streams.transactions]
epsilon = 4.0
delta = 1e-6
horizon = 4_000
label = { column = "disputed", positive = "yes", negative = "no" }
columns.amount = { kind = "number", from = 0, to = 1000, steps = 100, unit = "EUR" }
columns.card = { kind = "id" }
[streams.transactions.learners.since]
kind = "minimum"
class = "integers"
columns = ["amount"]
window = 1_000
[streams.transactions.learners.which]
kind = "most_frequent"
class = "points"
columns = ["card"]
window = 1_000
"""


def disputes(file: Path) -> list[dict[str, str]]:
    """Transactions of 700 EUR and more are disputed, many of them of one card."""
    rows = [
        {
            "amount": str(i * 617 % 1_000),
            "card": "4711-0815" if i % 3 == 0 else f"{i:04}-0000",
            "disputed": "yes" if i * 617 % 1_000 >= 700 else "no",
        }
        for i in range(3_000)
    ]
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_a_backtest_on_columns_finds_the_edge_and_the_text_that_a_file_holds(
    littled: Littled, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(COLUMNS)
    rows = disputes(tmp_path / "t.csv")
    asked = ("--config", tmp_path / "c.toml", "--seed", "1", "--json")
    told = littled("backtest", "transactions", tmp_path / "t.csv", *asked)
    assert told.status == 0, told.err
    since, which, last = map(json.loads, told.out.splitlines())
    assert last == {key: since[key] for key in last}  # the better one
    assert [each["learner"] for each in (since, which)] == [
        "transactions/since", "transactions/which",
    ]  # fmt: skip
    assert [each["releases"] for each in (since, which)] == [4, 4]
    said, least, unit = since["rule"].rsplit(" ", 2)
    assert (said, unit) == ("yes if amount >=", "EUR")
    assert 700 < int(least) < 900
    wrong = sum((int(row["amount"]) >= int(least)) != (row["disputed"] == "yes") for row in rows)
    assert since["final_error"] == wrong / len(rows)
    # a text is said by its hash, and means the rows with that text
    assert which["rule"].startswith("yes if hash of card is ")
    wrong = sum((row["card"] == "4711-0815") != (row["disputed"] == "yes") for row in rows)
    assert which["final_error"] == wrong / len(rows)
    assert Counter(row["card"] for row in rows if row["disputed"] == "yes").most_common(1)[0][
        0
    ] == ("4711-0815")


def test_columns_are_served_asked_in_words_and_written_as_sql(
    littled: Littled, tmp_path: Path
) -> None:
    make_store(tmp_path, COLUMNS)
    disputes(tmp_path / "t.csv")
    daemon = serve(tmp_path)
    at = ("-a", daemon.address)
    told = littled("feed", "transactions", tmp_path / "t.csv", "--wait", "20", *at)
    assert told.status == 0, told.err
    wait_for_version(daemon.address, "transactions", 4)
    asked = littled("rule", "eval", "transactions/which", "--words", "4711-0815", "0001-0000", *at)
    assert asked.out.split() == ["yes", "no"]
    asked = littled("rule", "eval", "transactions/since", "--words", "10", "990", *at)
    assert asked.out.split() == ["no", "yes"]
    sql = littled("rule", "export", "transactions/since", "--format", "sql", *at)
    assert sql.out.startswith('("amount" >= ')
    sql = littled("rule", "export", "transactions/which", "--format", "sql", *at)
    assert 'SHA256(CONVERT_TO(CAST("card" AS TEXT)' in sql.out
    assert daemon.stop() == 0
    assert littled("verify", tmp_path / "store", "--replay").status == 0


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"integers"', '"integers:32"', "make BITS 7, not 32; leave the sizes away: integers"),
        ('["amount"]', '["amount", "card"]', "integers"),
        ('["card"]', '["amount", "card"]', "points"),
        ('"points"', '"strings"', "strings"),
    ],
)
def test_columns_that_do_not_fit_get_a_sentence(
    littled: Littled, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    (tmp_path / "c.toml").write_text(COLUMNS.replace(old, new))
    told = littled("check", tmp_path / "c.toml")
    assert told.status != 0
    assert sentence in told.sentence


def test_a_backtest_of_plain_points_has_the_times_and_texts(
    littled: Littled, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(CONFIGURATION)
    disputed = [int(i % 100 == 3 or (i >= 1_000 and i % 2 == 0)) for i in range(2_000)]
    times = [f"{START + 10 * i},{y}" for i, y in enumerate(disputed)]
    (tmp_path / "t.csv").write_text("\n".join(["time,disputed", *times]) + "\n")
    columns = ("--x", "time", "--y", "disputed", "--config", tmp_path / "c.toml", "--seed", "2")
    told = littled("backtest", "transactions", tmp_path / "t.csv", *columns)
    assert told.status == 0, told.err
    assert "rule               compromised if time >= 2024-03-01 0" in told.out
    assert "best rule          - (too many rules to weigh them all)" in told.out


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('class = "integers:32"', "needs either window or alpha"),
        ('class = "integers:32", window = 9, alpha = 0.1', "needs either window or alpha"),
        ('class = "integers:32", window = 9, noise_rate = 0', "has no use for noise_rate"),
        ('class = "integers:32", alpha = 0.6', "alpha must be above 0, at most 0.5"),
        ('class = "integers:32", window = 5000', "window must be at most 4000"),
        ('class = "integers:32", window = 9, method = "dense"', "method must be"),
        ('class = "integers:200", window = 9', "integers needs a number of bits from 1 to 128"),
        ('kind = "minimum", class = "points:8", window = 9', "no rules that say 1 from a number"),
    ],
)
def test_a_wrong_configuration_gets_a_sentence(
    littled: Littled, tmp_path: Path, line: str, sentence: str
) -> None:
    wrong = CONFIGURATION.replace('class = "integers:32", window = 2_000', line)
    (tmp_path / "c.toml").write_text(wrong)
    told = littled("init", tmp_path / "store", "--config", tmp_path / "c.toml")
    assert told.status != 0
    assert sentence in told.sentence
    assert not (tmp_path / "store").exists()


def test_a_plan_says_what_is_proven_and_what_the_paper_asks_for(littled: Littled) -> None:
    asked = ("--epsilon", "1", "--delta", "1e-6", "--horizon", "1000000", "--quality", "0")
    since = littled("plan", "--class", "integers:64", "--alpha", "0.05", *asked, "--json").json
    assert since["window"] == 3720
    assert since["methods"][0] | {"remark": ""} == {
        "method": "exponential", "chosen": True, "window": 3720, "alpha": 0.05, "remark": "",
    }  # fmt: skip
    assert "= 3,734 examples" in since["paper"][0]
    which = littled("plan", "--class", "strings:200", "--window", "10000", *asked)
    assert "too many to draw among all of them" in which.out
    online = littled("plan", "--kind", "online", "--class", "strings:64", *asked)
    assert online.status != 0
    assert "no way of selection applies" in online.sentence


@pytest.mark.parametrize("name", [*MINIMA, *ITEMS])
def test_small_learners_can_be_audited(name: str) -> None:
    plan = small_plan(name)
    (subject,) = subjects_of(plan)
    assert isinstance(subject, TrialSubject)
