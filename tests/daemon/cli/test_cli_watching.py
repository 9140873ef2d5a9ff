"""Watching, status and rules: what is published, in words and for programs."""

import contextlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from littled.cli.watching import stream_tables
from littled_client import Client
from littled_protocol.rules import PrefixRule, ThresholdRule, rule_from_dict
from support.commands import Daemon, Littled, Said, flights_csv, start

LEDGER_PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"
EXAMPLES = 20_000
LATE = ThresholdRule(256, 54)
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]


@pytest.fixture(scope="module")
def fed(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Daemon:
    """The daemon with two releases of flights/late at least."""
    file = flights_csv(tmp_path_factory.mktemp("fed") / "flights.csv", EXAMPLES)
    process = start("feed", "flights", file, *COLUMNS, "-a", daemon.address)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    with Client(daemon.address) as client:
        found = client.subscribe("flights/late", 1)
        assert next(found).version == 2
        found.close()
    return daemon


def lines(said: Said) -> list[dict[str, object]]:
    assert (said.status, said.err) == (0, "")
    return [json.loads(line) for line in said.out.splitlines()]


def test_releases_are_printed_as_lines_of_json(littled: Littled, fed: Daemon) -> None:
    watch = ["watch", "flights/late", "-a", fed.address, "--json", "--count"]
    first, second = lines(littled(*watch, "2"))
    assert (first["version"], first["position"], first["kind"]) == (1, 0, "rule")
    assert (second["version"], second["learner"]) == (2, "flights/late")
    assert isinstance(second["rule"], dict)
    rule = rule_from_dict(second["rule"])
    assert isinstance(rule, ThresholdRule)
    assert second["text"] == f"late if departure delay >= {rule.threshold - 30} min"
    assert lines(littled(*watch, "1", "--since", "1")) == [second]


def test_releases_are_printed_in_words(littled: Littled, fed: Daemon) -> None:
    said = littled("watch", "flights/late", "-a", fed.address, "--count", "2")
    first, second = said.out.splitlines()
    assert first.startswith("version 1 ")
    assert first.endswith("after            0 examples   late if departure delay >= 98 min")
    assert "late if departure delay >= " in second


def test_the_status_is_for_people_and_programs(littled: Littled, fed: Daemon) -> None:
    facts = littled("status", "-a", fed.address, "--json").json
    stream = facts["streams"]["flights"]
    assert (stream["position"], stream["x_type"]) == (EXAMPLES, "u8")
    assert set(facts["streams"]) == {"flights", "addresses"}
    said = littled("status", "-a", fed.address)
    assert (said.status, said.err) == (0, "")
    assert f"littled at {fed.address}" in said.out
    assert "flights: 20,000 examples, season 0 of 1,000,000 examples each, epsilon " in said.out
    assert stream["learners"]["late"]["rule"] in said.out
    assert "never 1" in said.out
    spent, prepaid = stream["epsilon_spent"], stream["epsilon_prepaid"]
    assert 0 <= prepaid <= spent <= stream["epsilon"] == 1.0
    if prepaid:
        assert f"{prepaid:.4g} of it is paid in advance for the whole season" in said.out


def test_a_ledger_sums_to_what_the_status_says(
    littled: Littled, fed: Daemon, capfd: pytest.CaptureFixture[str]
) -> None:
    # the daemon may still charge something in between
    for _ in range(20):
        status = littled("status", "-a", fed.address, "--json").json["streams"]
        found = littled("ledger", fed.store, "--format", "dp_accounting").json["streams"]
        said = {name: facts["seasons"][-1]["epsilon"] for name, facts in found.items()}
        if said == {name: facts["epsilon_spent"] for name, facts in status.items()}:
            break
    else:
        pytest.fail(f"{said} {status}")
    assert said["flights"] > 0
    program = re.findall(r"^```python\n(.*?)^```$", LEDGER_PAGE.read_text(), re.M | re.S)[0]
    with contextlib.chdir(fed.folder):
        exec(compile(program, LEDGER_PAGE.name, "exec"), {})  # noqa: S102 - our own page
    assert capfd.readouterr().out == f"[{said['flights']}]\n"


def test_what_is_paid_in_advance_is_told_from_what_is_spent() -> None:
    stream = {
        "position": 7,
        "season": 0,
        "horizon": 9,
        "epsilon": 1.0,
        "delta": 1e-6,
        "epsilon_spent": 0.75,
        "epsilon_prepaid": 0.5,
        "learners": {},
    }
    learner = {"version": 1, "epoch": 0, "halted": False, "rule": "never 1"}
    (table,) = stream_tables("s", {**stream, "learners": {"late": learner}})
    assert str(table.title).endswith(
        "epsilon 0.75 of 1 spent (delta 1e-06); 0.5 of it is paid in advance for the whole season"
    )
    older = {**stream, "epsilon_prepaid": 0.0, "learners": {"late": learner}}
    (table,) = stream_tables("s", older)
    assert "in advance" not in str(table.title)


def test_a_rule_is_shown(littled: Littled, fed: Daemon) -> None:
    text, place = littled("rule", "show", "flights/late", "-a", fed.address).out.splitlines()
    assert text.startswith("late if departure delay >= ")
    assert place.startswith("version ")
    facts = littled("rule", "show", "flights/late", "-a", fed.address, "--json").json
    assert facts["text"] == text
    assert facts["version"] >= 2


def threshold(facts: dict[str, dict[str, int]]) -> int:
    return facts["rule"]["threshold"] - 30


def test_a_rule_is_exported_and_used_without_a_daemon(
    littled: Littled, fed: Daemon, tmp_path: Path
) -> None:
    exported = littled("rule", "export", "flights/late", "-a", fed.address)
    path = tmp_path / "late.json"
    path.write_text(exported.out)
    minutes = threshold(exported.json)
    assert littled("rule", "show", path).out.startswith(f"late if departure delay >= {minutes} min")
    values = [str(minutes - 1), str(minutes), "-30", "225"]
    assert littled("rule", "eval", path, "--", *values).out.split() == ["0", "1", "0", "1"]
    said = littled("rule", "eval", path, "--words", "--", str(minutes), "-5")
    assert said.out.splitlines() == ["late", "not late"]
    assert littled("rule", "export", path, "--format", "text").out.strip() == exported.json["text"]


def test_the_sql_of_a_rule_says_the_same(littled: Littled, fed: Daemon) -> None:
    where = ["flights/late", "-a", fed.address]
    minutes = threshold(littled("rule", "export", *where).json)
    sql = littled("rule", "export", *where, "--format", "sql", "--column", "delay").out.strip()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE flights (delay INTEGER)")
    database.executemany("INSERT INTO flights VALUES (?)", [(d,) for d in range(-30, 226)])
    found = database.execute(f"SELECT count(*) FROM flights WHERE {sql}").fetchone()  # noqa: S608
    database.close()
    assert found == (225 - minutes + 1,)


def test_values_are_read_from_standard_input(littled: Littled, tmp_path: Path) -> None:
    path = tmp_path / "block.json"
    block = PrefixRule(bits=128, value=0x20010DB8, length=32)
    path.write_text(json.dumps({"rule": block.to_dict(), "words": {}}))
    addresses = tmp_path / "addresses.txt"
    addresses.write_text("2001:db8::1\n2001:db9::1\n192.0.2.1\n")
    with addresses.open() as given:
        process = start("rule", "eval", path, stdin=given)
        out, err = process.communicate(timeout=30)
    assert (out.split(), err) == (["1", "0", "0"], "")
    assert littled("rule", "show", path).out == "1 if x in 2001:db8::/32\n"


@pytest.mark.parametrize(
    ("text", "value", "sentence"),
    [
        ("{}", "1", "is no rule as"),
        ("[1]", "1", "is no rule as"),
        ("no json", "1", "is no rule as"),
        (json.dumps({"rule": {}, "words": {}}), "1", "is no rule as"),
        (json.dumps({"rule": LATE.to_dict(), "words": {"colour": 1}}), "1", "is no rule as"),
        (json.dumps({"rule": LATE.to_dict(), "words": []}), "1", "is no rule as"),
        (json.dumps({"rule": LATE.to_dict(), "words": {}}), "late31337", "value 1: "),
        (json.dumps({"rule": LATE.to_dict(), "words": {}}), "31337", "value 1: "),
    ],
)
def test_what_is_no_rule_or_no_value_is_refused(
    littled: Littled, tmp_path: Path, text: str, value: str, sentence: str
) -> None:
    path = tmp_path / "rule.json"
    path.write_text(text)
    said = littled("rule", "eval", path, value)
    assert said.status == 1
    assert sentence in said.sentence
    assert "31337" not in said.err


@pytest.mark.parametrize(
    "text",
    [
        LATE.to_json(),
        json.dumps({"learner": "flights/late", "kind": "rule", "rule": LATE.to_dict()}),
        json.dumps({"rule": LATE.to_dict(), "words": None}),
    ],
)
def test_a_rule_without_words_is_one_of_points_and_only_if_asked_for(
    littled: Littled, tmp_path: Path, text: str
) -> None:
    """As `Rule.to_json` writes it, and as earlier versions gave it over HTTP."""
    path = tmp_path / "rule.json"
    path.write_text(text)
    for command in (["show", path], ["eval", path, "60"], ["export", path]):
        said = littled("rule", *command)
        sentence = "does not say what its points stand for; use --raw to give points"
        assert (said.status, said.sentence) == (1, f"{path} {sentence}")
    assert littled("rule", "show", path, "--raw").out == "1 if x >= 54\n"
    assert littled("rule", "eval", path, "--raw", "53", "54").out.split() == ["0", "1"]
    exported = littled("rule", "export", path, "--raw")
    (tmp_path / "points.json").write_text(exported.out)
    assert littled("rule", "eval", tmp_path / "points.json", "53", "54").out.split() == ["0", "1"]


def test_points_can_be_given_where_there_are_words(littled: Littled, fed: Daemon) -> None:
    where = ["flights/late", "-a", fed.address]
    points = littled("rule", "show", *where, "--raw").out.splitlines()[0]
    minutes = threshold(littled("rule", "export", *where).json)
    assert points == f"1 if x >= {minutes + 30}"
    assert littled("rule", "eval", *where, "--raw", "255").out == "1\n"


def test_a_rule_that_an_earlier_version_exported_is_read(littled: Littled, tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    path.write_text(
        '{"learner": "flights/late", "version": 3, "kind": "rule", "season": 0, "epoch": 2, '
        '"position": 4096, "text": "late if departure delay >= 24 min", "rule": {"kind": '
        '"threshold", "size": 256, "threshold": 54}, "words": {"x_name": "departure delay", '
        '"unit": "min", "offset": -30, "positive": "late", "negative": "not late"}}'
    )
    assert littled("rule", "eval", path, "--words", "30", "5").out.splitlines() == [
        "late",
        "not late",
    ]


def test_a_rule_becomes_a_function_of_a_database(littled: Littled, tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    words = {"x_name": "delay", "unit": "min", "offset": -30}
    facts = {"learner": "flights/late", "rule": LATE.to_dict(), "words": words}
    path.write_text(json.dumps(facts))
    export = ["rule", "export", path, "--format", "sql-function"]
    assert littled(*export).out == (
        'CREATE OR REPLACE FUNCTION "late"("x" bigint) RETURNS boolean '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN ("x" >= 24);\n'
    )
    said = littled(*export, "--dialect", "duckdb", "--name", "is_late", "--column", "delay")
    assert said.out == 'CREATE OR REPLACE MACRO "is_late"("delay") AS ("delay" >= 24);\n'
    said = littled(*export, "--dialect", "sqlite")
    sentence = "SQLite has no functions in SQL; use the expression itself"
    assert (said.status, said.sentence) == (2, sentence)
    assert littled(*export, "--name", "").status == 2
    del facts["learner"]
    path.write_text(json.dumps(facts))
    assert littled(*export, "--dialect", "duckdb").out.startswith('CREATE OR REPLACE MACRO "rule"(')


def test_a_rule_that_is_not_there_is_refused(littled: Littled, fed: Daemon, tmp_path: Path) -> None:
    assert "No such file" in littled("rule", "show", tmp_path / "none.json").sentence
    assert littled("rule", "show", "flights/early", "-a", fed.address).status == 1
    said = littled("watch", "flights/early", "-a", fed.address)
    assert (said.status, "no learner 'flights/early'" in said.sentence) == (1, True)
    assert littled("watch", "early", "-a", fed.address).status == 1
