"""One-way sequences through a real daemon: check, serve, feed, follow, ask a rule, replay."""

import json
from pathlib import Path

import numpy as np
import pytest

from littled.auditing.subjects import small_plan, subjects_of
from littled.auditing.subjects.sequences import SMALL
from littled.auditing.trials import TrialSubject
from littled_client import Client
from littled_protocol.rules import SequenceRule
from littled_protocol.rules.sequences import leaf_of, point_of
from support.commands import Littled, make_store, serve
from support.javascript import answers

CONFIGURATION = """
[streams.tickets]
epsilon = 4.0
delta = 1e-6
horizon = 1_500
x = { name = "ticket" }
y = { positive = "prize", negative = "nothing" }
learners.prizes = { class = "oneway:16", window = 1_500 }
"""


COLUMNS = ("--x", "ticket", "--y", "prize")


def tickets(windows: int = 1) -> list[tuple[str, int]]:
    """Points and labels of a seed, a tenth of them forged, for so many windows."""
    rng = np.random.default_rng(3)
    seed, forger = rng.bytes(16), rng.bytes(16)
    found = []
    count = 1500 * windows
    numbers = rng.integers(0, 65536, count).tolist()
    for number, forged in zip(numbers, rng.random(count), strict=True):
        leaf = leaf_of(forger if forged < 0.1 else seed, number, 16)
        point = f"0x{point_of(number, leaf.sigma, 16).hex()}"
        found.append((point, 0 if forged < 0.1 else leaf.bit))
    return found


def write(file: Path, rows: list[tuple[str, int]]) -> Path:
    """The tickets as a file."""
    file.write_text("\n".join(["ticket,prize", *(f"{x},{y}" for x, y in rows)]) + "\n")
    return file


def test_a_sequence_is_published_followed_asked_and_replayed(
    littled: Littled, tmp_path: Path
) -> None:
    make_store(tmp_path, CONFIGURATION)
    rows = tickets()
    write(tmp_path / "t.csv", rows)
    daemon = serve(tmp_path)
    at = ("-a", daemon.address)
    told = littled("feed", "tickets", tmp_path / "t.csv", *COLUMNS, "--wait", "20", *at)
    assert told.status == 0, told.err
    with Client(daemon.address) as client:
        found = client.subscribe("tickets/prizes")
        rule = next(each for each in found if each.version == 2).rule
        found.close()
    assert isinstance(rule, SequenceRule)
    x = np.array([list(bytes.fromhex(point[2:])) for point, _ in rows], dtype=np.uint8)
    labels = rule.evaluate(x).tolist()
    wrong = sum(label != y for label, (_, y) in zip(labels, rows, strict=True))
    assert wrong < 150
    (there,) = answers(
        [{"ask": "labels", "rule": rule.to_dict(), "points": [point for point, _ in rows[:60]]}]
    )
    assert [int(label) for label in there] == labels[:60]
    facts = littled("status", "--json", *at).json["streams"]["tickets"]["learners"]["prizes"]
    assert facts["rule"].startswith("prize if ticket is in the one-way sequence that is known from")
    sql = littled("rule", "export", "tickets/prizes", "--format", "sql", "--column", "t", *at)
    assert sql.status != 0
    assert "chains of SHA-256, which SQL does not compute" in sql.sentence
    shown = littled("rule", "eval", "tickets/prizes", rows[0][0], "--words", *at)
    assert shown.out.strip() == ("prize" if labels[0] else "nothing")
    assert daemon.stop() == 0
    assert littled("verify", tmp_path / "store", "--replay").status == 0


def test_a_backtest_counts_the_tickets_that_a_rule_gets_wrong(
    littled: Littled, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(CONFIGURATION.replace("1_500", "3_000", 1))
    rows = tickets(2)
    asked = ("--config", tmp_path / "c.toml", *COLUMNS, "--seed", "3", "--json")
    told = littled("backtest", "tickets", write(tmp_path / "t.csv", rows), *asked)
    assert told.status == 0, told.err
    found, last = map(json.loads, told.out.splitlines())
    assert last == {key: found[key] for key in last}
    assert (found["releases"], found["best_error"]) == (3, None)
    said = found["rule"]
    assert said.startswith("prize if ticket is in the one-way sequence that is known from index ")
    first = int(said.split("from index ")[1].split()[0])
    # what is forged stays without a prize, and prizes before the first index are missed
    prizes = [int(point[2:6], 16) for point, label in rows if label]
    assert found["final_error"] == sum(index < first for index in prizes) / len(rows)
    # before the first window is full nothing has a prize
    assert found["progressive_error"] > sum(label for _, label in rows[:1500]) / len(rows)
    assert found["progressive_error"] < found["majority_error"]


def test_other_kinds_say_what_they_do_with_the_class(littled: Littled) -> None:
    asked = ("--class", "oneway:64", "--epsilon", "1", "--delta", "1e-6", "--horizon", "1000000")
    online = littled("plan", "--kind", "online", *asked)
    assert online.status != 0
    assert "oneway:64 cannot be learned online in practice" in online.sentence
    assert "Bun, Proposition 7" in online.sentence
    batch = littled("plan", "--kind", "batch", "--window", "5000", *asked)
    assert batch.status != 0
    assert "auto does not apply" in batch.sentence
    answering = ("--kind", "prediction", "--window", "5000", "--answers", "100")
    assert littled("plan", *answering, *asked, "--json").json["method"] == "majority"
    plan = littled("plan", "--alpha", "0.1", "--quality", "0", *asked, "--json").json
    assert (plan["window"], plan["method"]) == (4315, "exponential")
    assert "3,409,830 examples for alpha 0.1 by its proof; not served" in plan["paper"][0]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('class = "oneway:16"', "needs either window or alpha"),
        ('class = "oneway:0", window = 9', "oneway needs a number of bits from 1 to 128"),
        ('class = "oneway:16", window = 9, noise_rate = 0', "has no use for noise_rate"),
        ('class = "oneway:16", window = 9, method = "dense"', "method must be"),
        ('kind = "sequences", class = "points:8", window = 9', "no rules that continue a string"),
        ('class = "oneway:16", window = 100', "a window of 100 examples is too small"),
    ],
)
def test_a_wrong_configuration_gets_a_sentence(
    littled: Littled, tmp_path: Path, line: str, sentence: str
) -> None:
    wrong = CONFIGURATION.replace('class = "oneway:16", window = 1_500', line)
    (tmp_path / "c.toml").write_text(wrong.replace("epsilon = 4.0", "epsilon = 1.0"))
    told = littled("init", tmp_path / "store", "--config", tmp_path / "c.toml")
    assert told.status != 0
    assert sentence in told.sentence
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", SMALL)
def test_small_learners_can_be_audited(name: str) -> None:
    (subject,) = subjects_of(small_plan(name))
    assert isinstance(subject, TrialSubject)
