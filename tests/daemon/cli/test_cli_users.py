"""Feeding streams that protect users: who they are, recordings, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.service.users import UserHash
from littled.store.store import Store
from littled_client import RecordingReader, hash_users
from littled_protocol.columns import encode_users
from support.batches import triple
from support.commands import Daemon, Littled, make_store, serve

CONFIGURATION = """
[streams.visits]
epsilon = 4.0
delta = 1e-6
horizon = 100_000
unit = "user"
user_examples_max = 3
learners.late = { class = "thresholds:256", noise_rate = 0 }

[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 100_000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""
COLUMNS = ["--x", "x", "--y", "y"]
USERS = ["ann", "17", "canary-4711", "ann"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon of two streams, of which one protects users."""
    folder = tmp_path_factory.mktemp("users")
    make_store(folder, CONFIGURATION)
    running = serve(folder)
    yield running
    assert running.stop() == 0


def write(path: Path) -> Path:
    """A small file of examples with users, in the format that the suffix names."""
    rows = [(10 * i, i % 2, user) for i, user in enumerate(USERS)]
    if path.suffix == ".csv":
        path.write_text("x,y,who\n" + "".join(f"{x},{y},{who}\n" for x, y, who in rows))
    elif path.suffix == ".jsonl":
        lines = [json.dumps({"x": x, "y": y, "who": who}) for x, y, who in rows]
        path.write_text("\n".join(lines))
    else:
        import pyarrow
        from pyarrow import parquet

        x, y, who = (list(column) for column in zip(*rows, strict=True))
        parquet.write_table(pyarrow.table({"x": x, "y": y, "who": who}), path)
    return path


def stored_users(daemon: Daemon, producer: str) -> bytes:
    """What the store keeps for a producer's users."""
    with Store.open(daemon.store, read_only=True) as store:
        records = [each for each in store.records("visits") if each.producer == producer]
    return b"".join(each.users for each in records)


def expected_users(daemon: Daemon) -> bytes:
    """What it should keep for `USERS`."""
    with Store.open(daemon.store, read_only=True) as store:
        return bytes(UserHash(store.noise_key, "visits").column(encode_users(hash_users(USERS))))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_column_names_the_users(
    littled: Littled, daemon: Daemon, tmp_path: Path, suffix: str
) -> None:
    file = write(tmp_path / f"visits{suffix}")
    feed = ["feed", "visits", file, *COLUMNS, "--user", "who", "-a", daemon.address, "--batch", "3"]
    assert littled(*feed, "--producer", f"p{suffix}", "--json").json["examples"] == 4
    assert littled(*feed, "--producer", f"p{suffix}", "--json").json["examples"] == 0
    assert stored_users(daemon, f"p{suffix}") == expected_users(daemon)


@pytest.mark.parametrize("offline", [False, True])
def test_a_recording_has_its_users(
    littled: Littled, daemon: Daemon, tmp_path: Path, offline: bool
) -> None:
    file, recording = write(tmp_path / "visits.csv"), tmp_path / "visits.littled"
    columns, where = [*COLUMNS, "--user", "who"], ["-a", daemon.address]
    if offline:
        assert littled("record", "visits", file, recording, *columns, *where).status == 0
    else:
        feed = ["feed", "visits", file, *columns, *where, "--producer", "on-the-way"]
        assert littled(*feed, "--record", recording).status == 0
    with RecordingReader(recording) as reader:
        assert reader.names_users
    assert encode_users(hash_users(USERS)) in recording.read_bytes()
    producer = f"replayed-{offline}"
    for command in (["replay", recording], ["feed", "visits", recording]):
        assert littled(*command, *where, "--producer", producer).status == 0
        assert stored_users(daemon, producer) == expected_users(daemon)
    copy = tmp_path / "copy.littled"
    assert littled("record", "visits", recording, copy, *where).status == 0
    with RecordingReader(copy) as reader:
        assert [triple(batch)[2].tolist() for batch in reader.batches()] == [
            hash_users(USERS).tolist()
        ]
    said = littled("replay", recording, "--stream", "flights", *where)
    assert (said.status, said.sentence) == (
        1,
        "the stream protects single examples and takes no users",
    )
    said = littled("feed", "visits", recording, "--user", "who", *where)
    assert (said.status, said.sentence) == (2, "a recording has its users; leave --user away")


@pytest.mark.parametrize(
    ("stream", "options", "status", "sentence"),
    [
        ("visits", [], 2, "visits protects users; name the column with them: --user COL"),
        ("flights", ["--user", "who"], 2, "flights protects single examples; leave --user away"),
        ("visits", ["--user", "whom"], 1, "has no column named 'whom'"),
        ("visits", ["--user", ""], 2, "the user column needs a name"),
    ],
)
def test_users_are_named_exactly_where_they_are_protected(
    littled: Littled,
    daemon: Daemon,
    tmp_path: Path,
    stream: str,
    options: list[str],
    status: int,
    sentence: str,
) -> None:
    file = write(tmp_path / "visits.csv")
    said = littled("feed", stream, file, *COLUMNS, *options, "-a", daemon.address)
    assert said.status == status
    assert sentence in said.sentence
    assert "canary" not in said.err


def test_a_recording_without_users_is_not_fed_to_a_stream_of_users(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    file, recording = write(tmp_path / "visits.csv"), tmp_path / "plain.littled"
    assert littled("record", "any", file, recording, *COLUMNS, "--x-type", "u8").status == 0
    said = littled("replay", recording, "--stream", "visits", "-a", daemon.address)
    assert said.status == 1
    assert said.sentence == "the stream protects users: give the user of each example"


def test_a_row_without_a_user_is_named_by_its_line(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("x,y,who\n1,0,canary-1\n2,1,\n")
    said = littled(*("feed", "visits", file, *COLUMNS, "--user", "who"), "-a", daemon.address)
    assert said.status == 1
    assert "line 3 of " in said.sentence
    assert "'who' is empty" in said.sentence
    assert "canary" not in said.err


def test_the_status_says_whose_budget_it_is(littled: Littled, daemon: Daemon) -> None:
    text = " ".join(littled("status", "-a", daemon.address).out.split())
    visits, flights = text.index("visits:"), text.index("flights:")
    of_visits = text[visits:flights] if visits < flights else text[visits:]
    assert "spent for each user (delta" in of_visits
    assert text.count("for each user") == 1
