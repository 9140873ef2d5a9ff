"""Values of windows through a real daemon: plan, check, serve, feed, follow, status, replay."""

from pathlib import Path

import pytest

from littled.auditing.subjects import small_plan, subjects_of
from littled.auditing.subjects.minimum import SMALL as MINIMA
from littled.auditing.subjects.most_frequent import SMALL as ITEMS
from littled.auditing.trials import TrialSubject
from littled_client import Client, Published
from littled_protocol.rules import AtLeastRule, StringRule
from support.commands import Littled, make_store, serve

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
    asked = ("--epsilon", "1", "--delta", "1e-6", "--horizon", "1000000")
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
