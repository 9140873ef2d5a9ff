"""A stream of tables from its configuration to SQL: fed as files are, and told by its columns."""

from __future__ import annotations

import csv
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from littled_client import Client, Encoder, ExampleError
from littled_protocol.encodings import TableSchema
from littled_protocol.errors import ProtocolError
from support.commands import Daemon, Littled, make_store, serve, start

LOANS = """\
[streams.loans]
epsilon = 4.0
delta = 1e-6
horizon = 100_000

[streams.loans.label]
column = "defaulted"
positive = "yes"
negative = "no"

[streams.loans.columns.income]
kind = "number"
from = 0
to = 200_000
steps = 16
unit = "EUR"

[streams.loans.columns.grade]
kind = "category"
values = ["A", "B", "C", "D"]
missing = "bucket"

[streams.loans.columns.opened]
kind = "time"
parts = ["month"]

[streams.loans.columns.card]
kind = "id"

[streams.loans.learners.rule]
class = "stumps"
noise_rate = 0

[streams.loans.learners.cards]
class = "points"

[streams.loans.learners.grades]
class = "conjunctions"
noise_rate = 0
columns = ["grade"]

[streams.loans.learners.ask]
kind = "prediction"
class = "thresholds"
noise_rate = 0
columns = ["income"]
window = 5_000
answers = 8  # so few that each is as good as certain
"""
COUNT = 12_000
LEARNED_SECONDS = 60.0


def rows(count: int = COUNT) -> list[dict[str, str]]:
    """Loans that default from 125,000 EUR on, without exception."""
    return [
        {
            "number": str(i),
            "income": str((i * 7919) % 200_000),
            "grade": ["A", "B", "C", "D", "E", ""][i % 6],
            "opened": f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}",
            "card": f"card {i % 97}",
            "defaulted": "yes" if (i * 7919) % 200_000 >= 125_000 else "no",
        }
        for i in range(count)
    ]


def write_csv(path: Path, table: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)
    return path


def told(client: Client) -> str:
    """The rule of the stumps in words."""
    facts = client.status()["streams"]["loans"]["learners"]["rule"]
    return str(facts["rule"])


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that has learned."""
    folder = tmp_path_factory.mktemp("loans")
    make_store(folder, LOANS)
    running = serve(folder)
    file = write_csv(folder / "loans.csv", rows())
    feeding = start("feed", "loans", file, "-a", running.address)
    out, err = feeding.communicate(timeout=LEARNED_SECONDS)
    assert feeding.returncode == 0, err
    assert f"{COUNT:,} examples acknowledged" in out
    deadline = time.monotonic() + LEARNED_SECONDS
    with Client(running.address) as client:
        while not client.status()["streams"]["loans"]["learners"]["rule"]["rule"].startswith(
            "yes if"
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield running
    assert running.stop() == 0


@pytest.mark.long
def test_rules_are_told_and_evaluated_by_columns(
    littled: Littled, loans: Daemon, tmp_path: Path
) -> None:
    where = ["-a", loans.address]
    said = littled("rule", "show", "loans/rule", *where)
    assert said.out.splitlines()[0].startswith("yes if ")
    exported = tmp_path / "rule.json"
    exported.write_text(littled("rule", "export", "loans/rule", *where).out)
    expression = littled(
        "rule", "export", "loans/rule", "--format", "sql", "--dialect", "sqlite", *where
    ).out
    table = rows(40)
    values = [f"{row['income']},{row['grade']},{row['opened']}" for row in table]
    by_daemon = littled("rule", "eval", "loans/rule", "--words", *where, "--", *values)
    by_file = littled("rule", "eval", exported, "--words", "--", *values)
    assert by_daemon.out == by_file.out
    labels = by_file.out.split()
    with Client(loans.address) as client:
        published = client.latest("loans/rule")
    assert published is not None
    assert [("no", "yes")[label] for label in published.predict(table).tolist()] == labels
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE loans (number, income REAL, grade TEXT, opened TEXT)")
        for row in table:
            grade = row["grade"] or None
            kept = (int(row["number"]), float(row["income"]), grade, row["opened"])
            base.execute("INSERT INTO loans VALUES (?, ?, ?, ?)", kept)
        found = base.execute(f"SELECT {expression} FROM loans ORDER BY number").fetchall()  # noqa: S608
    assert [("no", "yes")[bool(label)] for (label,) in found] == labels
    assert labels.count("yes") in range(1, 40)


@pytest.mark.long
def test_questions_are_asked_by_columns(littled: Littled, loans: Daemon) -> None:
    said = littled("predict", "loans/ask", "--words", "-a", loans.address, "--", "10", "190000")
    assert (said.status, said.out.split()) == (0, ["no", "yes"])
    with Client(loans.address) as client:
        found = client.predict("loans/ask", {"income": [10, 190_000], "note": ["x", "y"]})
        assert found.labels.tolist() == [0, 1]
        with pytest.raises(ExampleError, match="the table has no column 'income'"):
            client.predict("loans/ask", {"incomes": [10]})


def test_every_kind_of_file_is_read_alike(littled: Littled, loans: Daemon, tmp_path: Path) -> None:
    """Fed by a program, and recorded from CSV and JSON lines, the same rows are the same bytes."""
    table = rows(50)
    lines = tmp_path / "loans.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in table))
    files = [write_csv(tmp_path / "loans.csv", table), lines]
    recorded = []
    for number, file in enumerate(files):
        recording = tmp_path / f"{number}.littled"
        said = littled("record", "loans", file, recording, "-a", loans.address)
        assert (said.status, said.err) == (0, "")
        recorded.append(recording.read_bytes())
    assert recorded[0] == recorded[1]
    with Client(loans.address, producer="program") as client:
        schema = TableSchema.from_dict(client.status()["streams"]["loans"]["schema"])
        before = client.status()["streams"]["loans"]["position"]
        with client.feed("loans") as feeder:
            feeder.send(*Encoder(schema).examples(table))
            feeder.flush()
        assert client.status()["streams"]["loans"]["position"] == before + 50


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"income": "secret"}, "line 3 of {file}: column 'income' does not hold a number"),
        ({"income": ""}, "line 3 of {file}: column 'income' is empty, and its missing values"),
        ({"opened": "secret"}, "line 3 of {file}: column 'opened' does not hold a time such as"),
        ({"card": ""}, "line 3 of {file}: column 'card' is empty, and ids cannot be missing"),
        ({"defaulted": "secret"}, "line 3 of {file}: column 'defaulted' holds a label other than"),
    ],
)
def test_a_bad_cell_is_named_by_its_line_and_column(
    littled: Littled, loans: Daemon, tmp_path: Path, change: dict[str, str], sentence: str
) -> None:
    table = rows(4)
    table[1].update(change)
    file = write_csv(tmp_path / "bad.csv", table)
    said = littled("feed", "loans", file, "-a", loans.address)
    assert said.status == 1
    assert sentence.format(file=file) in said.sentence
    assert "secret" not in said.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["feed", "loans", "{file}", "--x", "income", "--y", "defaulted"], "knows its columns"),
        (["feed", "loans", "{file}", "--offset", "5"], "knows its columns"),
        (["feed", "loans", "{file}", "--x", "income"], "name the columns with --x COL"),
        (
            ["feed", "loans", "{file}", "--user", "card"],
            "name the columns with --x COL",
        ),
        (["rule", "eval", "loans/rule", "5"], "a row has the cells income, grade, opened"),
        (
            ["rule", "eval", "loans/rule", "5,A,soon"],
            "value 1: column 'opened' does not hold",
        ),
        (
            ["rule", "eval", "loans/rule", "--offset", "5", "5,A,soon"],
            "--offset and --clip are",
        ),
    ],
)
def test_wrong_use(
    littled: Littled, loans: Daemon, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    file = write_csv(tmp_path / "few.csv", rows(3))
    said = littled(*[a.format(file=file) for a in arguments], "-a", loans.address)
    assert said.status != 0
    assert sentence in said.sentence


def test_rows_that_no_encoder_made_are_refused(loans: Daemon) -> None:
    """A bucket that the column does not have is no example, and nothing of its batch is learned."""
    with Client(loans.address, producer="hostile") as client:
        before = client.status()["streams"]["loans"]["position"]
        x = np.zeros((3, 7), dtype=np.uint16)
        x[1, 0] = 16
        feeder = client.feed("loans")
        with pytest.raises(ProtocolError) as caught, feeder:  # noqa: PT012 - leaving raises
            feeder.send(x, np.zeros(3, dtype=np.uint8))
            feeder.flush()
        assert caught.value.code == "invalid_examples"
        assert client.status()["streams"]["loans"]["position"] == before


def test_a_missing_column_is_named(littled: Littled, loans: Daemon, tmp_path: Path) -> None:
    table = [{key: cell for key, cell in row.items() if key != "grade"} for row in rows(3)]
    file = write_csv(tmp_path / "few.csv", table)
    said = littled("feed", "loans", file, "-a", loans.address)
    assert (said.status, said.sentence) == (
        1,
        f"the first line of {file} has no column named 'grade'",
    )


def test_a_store_of_tables_replays_and_goes_on(littled: Littled, tmp_path: Path) -> None:
    """Killed in between, and fed again: what was published is what a replay leads to."""
    make_store(tmp_path, LOANS)
    running = serve(tmp_path)
    file = write_csv(tmp_path / "loans.csv", rows(6000))
    assert littled("feed", "loans", file, "-a", running.address).status == 0
    running.process.kill()
    running.process.communicate()
    again = serve(tmp_path)
    said = littled("feed", "loans", file, "-a", again.address)
    assert "6,000 examples were acknowledged before" in said.err
    assert littled("predict", "loans/ask", "-a", again.address, "--", "10").status == 0
    assert again.stop() == 0
    said = littled("verify", again.store, "--replay")
    assert said.status == 0, said.err
    assert "sound" in said.out


ROWS = """\
[streams.rows]
epsilon = 1.0
delta = 1e-6
horizon = 100_000

[streams.rows.learners.wide]
class = "stumps:3:64"
noise_rate = 0

[streams.rows.learners.narrow]
class = "stumps:3:16"
noise_rate = 0

[streams.scores]
epsilon = 1.0
delta = 1e-6
horizon = 100_000
x = { offset = 10 }

[streams.scores.learners.high]
class = "thresholds:100"
noise_rate = 0
"""


@pytest.mark.long
def test_a_bucket_that_no_learner_has_is_refused_with_its_column(
    littled: Littled, tmp_path: Path
) -> None:
    make_store(tmp_path, ROWS)
    running = serve(tmp_path)
    file = tmp_path / "rows.csv"
    feed = ["feed", "rows", file, "--x", "a", "--x", "b", "--x", "c", "--y", "y"]
    file.write_text("a,b,c,y\n1,2,3,0\n1,16,3,1\n")
    said = littled(*feed, "-a", running.address)
    assert said.sentence == f"line 3 of {file}: column 'b' is outside 0 to 15"
    file.write_text("a,b,c,y\n1,2,3,0\n1,15,3,1\n")
    assert littled(*feed, "-a", running.address).status == 0
    file.write_text("s,y\n10,0\n110,1\n")
    scores = ["feed", "scores", file, "--x", "s", "--y", "y", "-a", running.address]
    said = littled(*scores)
    assert said.sentence == f"line 3 of {file}: column 's' less the offset 10 is outside 0 to 99"
    assert running.stop() == 0
