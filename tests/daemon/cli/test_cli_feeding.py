"""Feeding: formats, resuming, recordings, and what is refused."""

import gzip
import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from littled.cli.resuming import producer_name
from support.commands import START_SECONDS, Daemon, Littled, flights_csv, position, start

COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
CANARY = "31337"


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
    process = start(*feed, "--rate", "300")
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


# --- Progress by content --------------------------------------------------------------------------


def test_a_file_that_changed_is_refused_and_says_what_to_do(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 500)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
    assert littled(*feed).status == 0
    flights_csv(file, 600, seed=7)  # tomorrow's export under the same name
    said = littled(*feed)
    assert said.status == 1
    assert said.sentence == (
        f"{file} has changed in what was fed of it, 500 examples: put that back, or feed all of it "
        "as new examples, under another name: --producer NAME"
    )
    assert position(daemon) == before + 500
    assert littled(*feed, "--producer", "tomorrow", "--json").json["examples"] == 600
    again = littled(*feed, "--json").json
    assert (again["examples"], again["producer"]) == (0, "tomorrow"), "its content is known now"
    flights_csv(file, 500)
    assert littled(*feed, "--json").json["examples"] == 0
    file.write_text("")
    assert "has changed in what was fed of it" in littled(*feed).sentence
    assert position(daemon) == before + 1_100


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_the_same_content_goes_on_under_another_path(
    littled: Littled, daemon: Daemon, tmp_path: Path, suffix: str
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 500)
    options = [*COLUMNS, "-a", daemon.address]
    assert littled("feed", "flights", file, *options).status == 0
    moved = tmp_path / f"flights.1{suffix}"
    content = file.read_bytes() + b"10,0\n90,1\n"
    moved.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    file.unlink()
    said = littled("feed", "flights", moved, *options)
    assert said.status == 0
    assert said.err == f"500 examples were acknowledged before, from {file}; going on there\n"
    assert position(daemon) == before + 502
    flights_csv(file, 40, seed=3)
    new = littled("feed", "flights", file, *options, "--json").json
    assert new["examples"] == 40, "what was fed is elsewhere, so this is another file"
    assert littled("feed", "flights", file, *options, "--json").json["examples"] == 0


def test_progress_that_was_kept_without_content_is_still_progress(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 500)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
    assert littled(*feed).status == 0
    shutil.rmtree(tmp_path / "state")
    with file.open("a") as lines:
        lines.write("10,0\n")
    assert littled(*feed, "--json").json["examples"] == 1
    assert position(daemon) == before + 501
    flights_csv(file, 502, seed=9)
    assert "has changed" in littled(*feed).sentence, "from then on its content is known"


def test_where_nothing_can_be_kept_feeding_goes_on_and_says_so(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file where a folder would be")
    file = flights_csv(tmp_path / "flights.csv", 50)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
    said = littled(*feed)
    assert said.status == 0
    assert said.err.startswith("note: cannot keep in ")
    assert said.err.count("\n") == 1
    assert littled(*feed, "--json").json["examples"] == 0


def test_a_feeder_that_was_killed_goes_on_exactly_and_checks_what_it_fed(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 5_000)
    feed = ["feed", "flights", str(file), *COLUMNS, "-a", daemon.address, "--batch", "50"]
    process = start(*feed, "--rate", "300")
    deadline = time.monotonic() + START_SECONDS
    while position(daemon) < before + 100 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    content = file.read_bytes()
    flights_csv(file, 5_000, seed=2)
    assert "has changed in what was fed of it" in littled(*feed).sentence
    file.write_bytes(content)
    assert littled(*feed).status == 0
    assert position(daemon) == before + 5_000


def test_names_of_producers_say_nothing_of_examples(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    names = []
    for seed in (1, 2):
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
        file = flights_csv(tmp_path / "flights.csv", 50, seed=seed)
        feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
        names.append(littled(*feed, "--json").json["producer"])
    assert names == [producer_name("flights", str(tmp_path / "flights.csv"))] * 2


# --- Labels ---------------------------------------------------------------------------------------


def words_csv(path: Path) -> Path:
    path.write_text("delay,late\n5,on time\n90,late\n7,on time\n")
    return path


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--positive", "ltae", "--negative", "on time"], "line 3 of "),
        (["--positive", "late", "--negative", "in time"], "line 2 of "),
        (["--positive", "late"], "line 2 of "),
        ([], "line 2 of "),
    ],
)
def test_a_word_that_was_mistyped_labels_nothing(
    littled: Littled, daemon: Daemon, tmp_path: Path, options: list[str], sentence: str
) -> None:
    before = position(daemon)
    file = words_csv(tmp_path / "flights.csv")
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
    said = littled(*feed, *options)
    assert said.status == 1
    assert sentence in said.sentence
    assert "column 'late' does not hold a label" in said.sentence
    assert position(daemon) == before
    right = littled(*feed, "--positive", "late", "--negative", "on time", "--json")
    assert right.json["examples"] == 3, "and the right words feed it"


def test_a_file_of_one_label_is_fed_only_when_that_is_said(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = tmp_path / "flights.csv"
    file.write_text("delay,late\n" + "5,0\n" * 30)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address]
    for options, count in (([], 30), (["--batch", "7"], 7)):
        assert littled(*feed, *options).sentence == (
            f"the first {count} examples of {file} all have the same label, so nothing was sent: "
            "name the right column and words, or say --one-label if that is right"
        )
    recording = tmp_path / "day.littled"
    record = ["record", "flights", file, recording, *COLUMNS, "--x-type", "u8"]
    assert "all have the same label" in littled(*record).sentence
    assert position(daemon) == before
    assert littled(*record, "--one-label").status == 0
    assert littled(*feed, "--one-label").status == 0
    with file.open("a") as lines:
        lines.write("6,0\n")
    assert littled(*feed).status == 0, "it was said once"
    assert position(daemon) == before + 31


# --- Looking first --------------------------------------------------------------------------------


def test_a_check_reads_everything_and_sends_nothing(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 2_500)
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address, "--check"]
    ones = sum(line.endswith(",1") for line in file.read_text().splitlines())
    said = littled(*feed)
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        f"{file}: 2,500 examples, {ones:,} with label 1 and {2_500 - ones:,} with label 0; 0 rows "
        "refused; nothing was sent\n"
    )
    with file.open("a") as lines:
        lines.write(f"late{CANARY},1\n7,0\n8,{CANARY}\n")
    said = littled(*feed, "--json")
    assert said.status == 1
    assert json.loads(said.out) == {
        "stream": "flights",
        "examples": 2_501,
        "labels": {"0": 2_501 - ones, "1": ones},
        "refused": 2,
    }
    assert "the first row that is refused is line 2502 of " in said.sentence
    assert CANARY not in said.err
    assert position(daemon) == before
    assert not (tmp_path / "state").exists()


def test_a_check_refuses_what_feeding_would(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    file = tmp_path / "flights.csv"
    file.write_text("delay,late\n5,0\n")
    check = ["--check", "-a", daemon.address]
    said = littled("feed", "flights", file, *COLUMNS, *check)
    assert (said.status, said.sentence.partition(";")[0]) == (1, "all labels are the same")
    assert littled("feed", "flights", file, *COLUMNS, *check, "--one-label").status == 0
    said = littled("feed", "trains", file, *COLUMNS, *check)
    assert said.sentence == f"the daemon at {daemon.address} has no stream 'trains'"


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", "delay;late\n5;0\n90;1\n", ["--x", "delay", "--y", "late", "--delimiter", ";"]),
        ("a.tsv", "delay\tlate\n5\t0\n90\t1\n", ["--x", "delay", "--y", "late"]),
        ("a.csv.gz", "delay,late\n5,0\n90,1\n", ["--x", "delay", "--y", "late"]),
        ("a.csv", "5,0\n90,1\n", ["--x", "1", "--y", "2", "--no-header"]),
    ],
)
def test_tables_in_other_spellings_are_fed(
    littled: Littled, daemon: Daemon, tmp_path: Path, name: str, text: str, options: list[str]
) -> None:
    before = position(daemon)
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert littled("feed", "flights", file, *options, "-a", daemon.address).status == 0
    assert position(daemon) == before + 2


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("5,0\n90,1\n", ["--x", "5", "--y", "0"], "holds numbers and no names of columns"),
        ("5,0\n90,1\n", ["--x", "0", "--y", "1", "--no-header"], "the columns of "),
        ("delay;late\n5;0\n", ["--x", "delay", "--y", "late"], "say so with --delimiter"),
        ("delay,late\n5,0\n1,0,0\n", ["--x", "delay", "--y", "late"], "line 3 of "),
        ("a,late\n5,0\n", ["--x", "a", "--x", "a", "--y", "late"], "--x a is given twice"),
    ],
)
def test_a_table_that_is_not_what_was_said_is_refused(
    littled: Littled,
    daemon: Daemon,
    tmp_path: Path,
    text: str,
    options: list[str],
    sentence: str,
) -> None:
    before = position(daemon)
    file = tmp_path / "flights.csv"
    file.write_text(text)
    said = littled("feed", "flights", file, *options, "-a", daemon.address)
    assert said.status in (1, 2)
    assert sentence in said.sentence
    assert position(daemon) == before
