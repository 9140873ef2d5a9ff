"""Feeding: formats, resuming, recordings, and what is refused."""

import json
import signal
import time
from pathlib import Path

import pytest

from littled.cli.feeding import producer_name
from littled_client import Client
from support.commands import START_SECONDS, Daemon, Littled, flights_csv, start

COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
CANARY = "31337"


def position(daemon: Daemon, stream: str = "flights") -> int:
    with Client(daemon.address) as client:
        found = client.status()["streams"][stream]["position"]
    assert isinstance(found, int)
    return found


def test_a_file_is_fed_once_however_often_the_command_is_run(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 2_500)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
    said = littled(*feed)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("flights: 2,500 examples acknowledged in ")
    assert position(daemon) == before + 2_500
    again = littled(*feed)
    assert again.status == 0
    assert again.err == "2,500 examples were acknowledged before; going on there\n"
    assert position(daemon) == before + 2_500
    with file.open("a") as lines:
        lines.write("10,0\n90,1\n")
    longer = littled(*feed, "--json").json
    assert (longer["examples"], longer["acknowledged"]) == (2, 2_502)
    assert position(daemon) == before + 2_502


def test_a_feeder_that_is_interrupted_goes_on_where_it_stopped(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 5_000)
    feed = ["feed", "flights", str(file), *COLUMNS, "-a", daemon.address, "--batch", "50"]
    process = start(*feed, "--rate", "1000")
    deadline = time.monotonic() + START_SECONDS
    while position(daemon) < before + 100 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=START_SECONDS)
    assert process.returncode == 130
    assert err.startswith("littled: stopped after ")
    assert "the same command goes on there" in err
    assert before + 100 <= position(daemon) < before + 5_000
    rest = littled(*feed, "--json").json
    assert 0 < rest["examples"] < 5_000
    assert position(daemon) == before + 5_000


def test_producers_are_named_after_the_stream_and_the_file(tmp_path: Path) -> None:
    file = str(tmp_path / "day 1.csv")
    name = producer_name("flights", file)
    assert name == producer_name("flights", str(tmp_path / "x" / ".." / "day 1.csv"))
    assert name.startswith("day-1.csv-")
    assert name != producer_name("trains", file)
    assert name != producer_name("flights", str(tmp_path / "day 2.csv"))
    assert producer_name("flights", "-") != producer_name("flights", "-")
    assert len(producer_name("flights", str(tmp_path / ("long" * 60)))) <= 128


def test_standard_input_and_json_lines_and_addresses(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon, "addresses")
    rows = [{"from": "192.0.2.7", "bad": True}, {"from": "2001:db8::1", "bad": False}]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ["--x", "from", "--y", "bad", "-a", daemon.address]
    assert littled("feed", "addresses", file, *columns).status == 0
    with file.open() as lines:
        process = start("feed", "addresses", "-", "--format", "jsonl", *columns, stdin=lines)
        _, err = process.communicate(timeout=START_SECONDS)
    assert (process.returncode, err) == (0, "")
    assert position(daemon, "addresses") == before + 4


def test_a_rate_is_kept(littled: Littled, daemon: Daemon, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 300)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address, "--batch", "100"]
    assert littled(*feed, "--rate", "500", "--json").json["seconds"] >= 0.6


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (f"{CANARY},2", "line 3 of "),
        (f"late{CANARY},1", "line 3 of "),
        (f"{CANARY}", "line 3 of "),
        (",1", "line 3 of "),
    ],
)
def test_a_bad_row_is_named_by_its_line_and_never_shown(
    littled: Littled, daemon: Daemon, tmp_path: Path, row: str, sentence: str
) -> None:
    file = tmp_path / "flights.csv"
    file.write_text(f"delay,late\n5,0\n{row}\n")
    said = littled("feed", "flights", file, *COLUMNS, "-a", daemon.address)
    assert said.status == 1
    assert sentence in said.sentence
    assert CANARY not in said.err


def test_a_point_outside_the_domain_is_refused_without_being_shown(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = tmp_path / "flights.csv"
    file.write_text(f"delay,late\n{CANARY},0\n")
    said = littled("feed", "flights", file, "--x", "delay", "--y", "late", "-a", daemon.address)
    assert said.status == 1
    assert CANARY not in said.sentence
    assert position(daemon) == before


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["flights", "FILE"], 2, "name the columns with --x COL and --y COL"),
        (["flights", "FILE", "--x", "delay"], 2, "name the columns with --x COL and --y COL"),
        (["flights", "FILE", "--x", "delay", "--y", "early"], 1, "has no column named 'early'"),
        (["flights", "FILE", *COLUMNS, "--clip", "5", "1"], 2, "clip needs a least and a greatest"),
        (["trains", "FILE", *COLUMNS], 1, "unknown_stream"),
        (["flights", "FILE", *COLUMNS, "--producer", "a b"], 1, "producer"),
    ],
)
def test_what_cannot_be_fed_is_said_in_one_sentence(
    littled: Littled,
    daemon: Daemon,
    tmp_path: Path,
    arguments: list[str],
    status: int,
    sentence: str,
) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3)
    words = [str(file) if each == "FILE" else each for each in arguments]
    said = littled("feed", *words, "-a", daemon.address)
    assert said.status == status
    assert sentence in said.sentence


def test_a_file_of_an_unknown_format_asks_for_it(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    file = flights_csv(tmp_path / "flights.data", 3)
    said = littled("feed", "flights", file, *COLUMNS, "-a", daemon.address)
    assert said.status == 2
    assert "names no format" in said.sentence
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address, "--format", "csv"]
    assert littled(*feed).status == 0


def test_without_a_daemon_the_address_is_named(littled: Littled, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3)
    nobody = f"unix:{tmp_path / 'd.sock'}"
    said = littled("feed", "flights", file, *COLUMNS, "-a", nobody)
    assert said.status == 1
    assert nobody in said.sentence
    began = time.monotonic()
    assert littled("feed", "flights", file, *COLUMNS, "-a", nobody, "--wait", "0.3").status == 1
    assert time.monotonic() - began >= 0.3
