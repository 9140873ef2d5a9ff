"""Questions from the command line and over HTTP, to a real daemon: asked, repeated, refused."""

import json
import shutil
import socket
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from littled.cli.replaying import compare_stream
from littled.store.store import Store
from littled_client import Client
from support.commands import Daemon, Littled, flights_csv, make_store, serve, start

CONFIGURATION = """
[streams.flights]
epsilon = 8.0
delta = 1e-6
horizon = 1_000_000
x = { name = "departure delay", unit = "min", offset = -30 }
y = { positive = "late", negative = "not late" }
learners.late = { class = "thresholds:256", noise_rate = 0 }
learners.ask = { kind = "prediction", class = "thresholds:256", window = 4_000, answers = 40 }

[streams.blocks]
epsilon = 8.0
delta = 1e-6
horizon = 1_000_000
learners.bad = { kind = "prediction", class = "prefixes:32", window = 300, answers = 1_100 }
"""
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
EXAMPLES = 9_000
NAME = "00112233445566778899aabbccddeeff"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def place() -> str:
    """Where the daemon answers over HTTP."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def asked(place: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with two full windows of flights and one of blocks, also on HTTP."""
    folder = tmp_path_factory.mktemp("asked")
    make_store(folder, CONFIGURATION)
    running = serve(folder, "--http", place)
    file = flights_csv(folder / "flights.csv", EXAMPLES)
    process = start("feed", "flights", file, *COLUMNS, "-a", running.address)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    with Client(running.address) as client, client.feed("blocks") as feeder:
        feeder.send([0x0A000000 + i for i in range(200)] + list(range(100)), [1] * 200 + [0] * 100)
    yield running
    assert running.stop() == 0


def facts(littled: Littled, daemon: Daemon, learner: str = "flights/ask") -> dict[str, Any]:
    stream, _, name = learner.partition("/")
    found: dict[str, Any] = littled("status", "-a", daemon.address, "--json").json
    learner_facts: dict[str, Any] = found["streams"][stream]["learners"][name]
    return learner_facts


@pytest.mark.long
def test_answers_are_labels_and_cost_one_each(littled: Littled, asked: Daemon) -> None:
    before = facts(littled, asked)
    said = littled("predict", "flights/ask", "-a", asked.address, "--", "-30", "225")
    assert (said.status, said.err, said.out) == (0, "", "0\n1\n")
    words = littled("predict", "flights/ask", "-a", asked.address, "--words", "--", "-30", "225")
    assert words.out == "not late\nlate\n"
    after = facts(littled, asked)
    assert before["answers_left"] - after["answers_left"] == 4
    assert (after["window"], after["window_first"], after["window_last"]) == (1, 4_000, 7_999)
    assert after["next_window"] == 12_000


@pytest.mark.long
def test_a_named_request_is_repeated_at_no_charge(littled: Littled, asked: Daemon) -> None:
    ask = ["predict", "flights/ask", "--request", NAME, "--json", "-a", asked.address]
    first = littled(*ask, "200", "100").json
    assert first["request"] == NAME
    assert (first["repeated"], len(first["y"])) == (False, 2)
    assert first["labels"] == [("not late", "late")[label] for label in first["y"]]
    again = littled(*ask, "200", "100").json
    assert again == first | {"repeated": True}
    other = littled(*ask, "200", "101")
    assert (other.status, "request_reused: " in other.sentence) == (1, True)


def test_values_are_read_from_standard_input_and_addresses_understood(asked: Daemon) -> None:
    text = "10.0.0.7\n" * 1_050  # more than one request of the protocol holds
    given = asked.folder / "addresses.txt"
    given.write_text(text)
    with given.open() as lines:
        process = start("predict", "blocks/bad", "-a", asked.address, stdin=lines)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.count("\n") == 1_050
    assert set(out.split()) <= {"0", "1"}


def test_what_is_refused_is_said_in_one_sentence(littled: Littled, asked: Daemon) -> None:
    many = [str(each) for each in range(60)]
    for learner, values, sentence in (
        ("flights/ask", many, "(60 asked, "),
        ("flights/ask", many, "; the next window is full after 12,000 examples"),
        ("flights/late", ["5"], "no_predictions: The learner publishes rules"),
        ("flights/none", ["5"], "unknown_learner: "),
        ("trains/ask", ["5"], "the daemon has no stream trains"),
        ("ask", ["5"], "the daemon has no stream ask"),
        ("flights/ask", ["300"], "value 1: "),
        ("flights/ask", ["5", "soon"], "value 2: column 'x' does not hold an integer"),
    ):
        said = littled("predict", learner, "-a", asked.address, *values)
        assert (said.status, said.out) == (1, "")
        assert sentence in said.sentence
    short = littled("predict", "flights/ask", "-a", asked.address, "--request", "12", "5")
    assert (short.status, "32 hexadecimal digits" in short.sentence) == (2, True)


def test_a_learner_that_answers_has_no_rules_to_show(littled: Littled, asked: Daemon) -> None:
    for command in (("watch",), ("rule", "show")):
        said = littled(*command, "flights/ask", "-a", asked.address)
        assert (said.status, said.out) == (1, "")
        assert "'flights/ask' publishes no rules; ask it for predictions" in said.sentence


def test_nothing_is_no_question(asked: Daemon) -> None:
    with Path("/dev/null").open() as nothing:
        process = start("predict", "flights/ask", "-a", asked.address, stdin=nothing)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, "ask about 1 to 100,000 values" in err) == (2, True)


def test_the_status_shows_windows(littled: Littled, asked: Daemon) -> None:
    said = littled("status", "-a", asked.address)
    assert "flights: answers\n" in said.out
    assert "4,000 to 7,999" in said.out
    assert " of 40" in said.out
    assert "12,000 examples" in said.out
    assert said.out.count("season 0 of 1,000,000 examples each") == 2


# -- HTTP ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def http(asked: Daemon, place: str) -> str:
    assert asked.process.poll() is None
    return f"http://{place}"


def post(url: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(  # noqa: S310 - a URL of this test
        f"{url}/predict", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_questions_over_http(http: str, littled: Littled, asked: Daemon) -> None:
    body = {"learner": "flights/ask", "x": [0, 255], "request": NAME[::-1]}
    status, first = post(http, body)
    assert (status, first["y"], first["repeated"]) == (200, [0, 1], False)
    assert post(http, body) == (200, first | {"repeated": True})
    assert first["left"] == facts(littled, asked)["answers_left"]
    spent = post(http, {"learner": "flights/ask", "x": list(range(60))})
    assert (spent[0], spent[1]["code"], spent[1]["next_window"]) == (429, "window_spent", 12_000)
    assert post(http, {"learner": "flights/late", "x": [0]})[0] == 409
    assert post(http, {"learner": "flights/none", "x": [0]})[0] == 404
    assert post(http, {"learner": "blocks/bad", "x": [300.5]})[1]["error"] == (
        "x[0] does not hold an integer (digits 0 to 9, without a fraction)"
    )


def test_metrics_tell_what_the_status_tells(http: str, littled: Littled, asked: Daemon) -> None:
    with urllib.request.urlopen(f"{http}/metrics", timeout=30) as response:  # noqa: S310
        lines = response.read().decode().splitlines()
    known = facts(littled, asked)
    for name, key in (
        ("littled_window", "window"),
        ("littled_window_next", "next_window"),
        ("littled_window_answers_given", "answers_given"),
        ("littled_window_answers_left", "answers_left"),
    ):
        assert f'{name}{{learner="flights/ask"}} {float(known[key])}' in lines


# -- afterwards ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copied(asked: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the store in its present state, which has some answers, to be read only."""
    with Client(asked.address) as client:
        for _ in range(2):
            client.predict_points("flights/ask", [5, 250])
            client.predict_points("blocks/bad", [0x0A000007] * 20)
    folder = tmp_path_factory.mktemp("copied") / "store"
    with closing(sqlite3.connect(asked.store / "store.sqlite")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(asked.store, folder)
    return folder


def test_answers_are_verified_and_made_again(littled: Littled, copied: Path) -> None:
    found = littled("verify", copied, "--replay", "--json").json
    assert (found["sound"], found["findings"]) == (True, [])
    for stream, least in (("flights", 2), ("blocks", 2)):
        stored, compared = found["streams"][stream], found["replay"][stream]
        assert compared["predictions"] == stored["predictions"] >= least
        assert compared["ledger_entries"] == stored["ledger_entries"] - stored["predictions"]
    said = littled("verify", copied, "--replay")
    assert f", {found['streams']['flights']['predictions']} requests answered" in said.out


def test_an_answer_that_the_journal_does_not_lead_to_is_found(copied: Path) -> None:
    with Store.open(copied, read_only=True) as store:
        good = compare_stream(store, "blocks")
        odd = compare_stream(_WithAnotherKey(store), "blocks")  # type: ignore[arg-type]
    assert good.findings == ()
    assert "prediction 0 of blocks is not what the journal leads to" in odd.findings


class _WithAnotherKey:
    """A store whose noise is not what its answers were drawn with."""

    noise_key = bytes(32)

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
