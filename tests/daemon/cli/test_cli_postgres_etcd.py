"""A store in PostgreSQL with its mark in etcd: killed, taken over, restored, with real commands."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from support.commands import Daemon, Littled, fed, kill_leftovers, serve
from support.databases import Postgres
from support.etcd import Cluster
from support.postgres import asked, url_of
from support.servers import needs
from support.serving import Peer

pytestmark = needs("etcd", "PostgreSQL")
CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 50000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"


@pytest.fixture(autouse=True)
def _nobody_left() -> Iterator[None]:
    yield
    kill_leftovers()


def feed_until_end(daemon: Daemon) -> None:
    """Feed batches of another rule until the daemon has ended."""
    with contextlib.suppress(OSError, AssertionError), Peer.greet(daemon.folder / "d.sock") as peer:
        sequence = peer.open("flights", "radar").next_sequence
        for _ in range(40):
            x = bytes((sequence + i) * 97 % 256 for i in range(1_000))
            peer.feed(sequence, x, bytes(int(value >= 200) for value in x))
            sequence += 1_000
            peer.acknowledged(sequence)


def copied(server: Postgres, schema: str, to: str) -> None:
    """A backup of a schema, by hand."""
    there = url_of(server, "public")
    asked(there, f"CREATE SCHEMA {to}")
    for (name,) in asked(url_of(server, schema), TABLES):
        asked(there, f"CREATE TABLE {to}.{name} (LIKE {schema}.{name} INCLUDING ALL)")
        asked(there, f"INSERT INTO {to}.{name} SELECT * FROM {schema}.{name}")  # noqa: S608
    asked(
        there,
        f"ALTER INDEX IF EXISTS {to}.predictions_learner_window_count_idx "
        "RENAME TO predictions_of_window",
    )


def test_a_store_on_a_server_with_its_mark_in_etcd(
    littled: Littled, server: Postgres, cluster: Cluster, tmp_path: Path
) -> None:
    asked(url_of(server, "public"), "CREATE SCHEMA one")
    url, mark = url_of(server, "one"), cluster.url("one")
    files = ("--key", tmp_path / "key", "--mark", mark)
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    said = littled("verify", url, "--key", tmp_path / "key")
    assert said.sentence.endswith("name both, --key FILE and --mark PLACE")
    made = littled("init", url, "--config", tmp_path / "littled.toml", *files)
    assert made.status == 0, made.err
    assert f"--mark {mark}" in made.out.replace("\n", "")

    one = serve(tmp_path, *files, store=url)
    fed(littled, one, 3_000)
    one.process.send_signal(signal.SIGSTOP)
    refused = littled("serve", url, "--unix", tmp_path / "other.sock", *files)
    assert (refused.status, "another process serves the store" in refused.err) == (3, True)
    one.process.send_signal(signal.SIGKILL)
    one.process.wait()
    backup = url_of(server, "backup")
    copied(server, "one", "backup")
    (tmp_path / "two").mkdir()
    two = serve(tmp_path / "two", *files, store=url)
    fed(littled, two, 6_000)
    assert two.stop() == 0

    report = littled("verify", url, "--replay", "--json", *files).json
    assert (report["sound"], report["streams"]["flights"]["examples"]) == (True, 6_000)
    assert littled("ledger", url, "--json", *files).json["streams"]["flights"]["seasons"]
    behind = littled("serve", backup, "--unix", tmp_path / "d.sock", *files)
    assert behind.status == 3
    assert "is behind its high-water mark" in behind.err
    said = littled("restore", backup, "--yes", *files)
    assert said.status == 0, said.err
    assert f"littled serve '{backup}' --key" in said.out.replace("\n", "")
    old = littled("serve", url, "--unix", tmp_path / "d.sock", *files)
    assert (old.status, "is behind its high-water mark" in old.err) == (3, True)
    assert littled("verify", backup, "--replay", *files).status == 0
    three = serve(tmp_path, *files, store=backup)
    assert three.stop() == 0


def test_a_daemon_that_was_put_off_shows_nothing_more(
    littled: Littled, server: Postgres, cluster: Cluster, tmp_path: Path
) -> None:
    """The mark alone tells it, where the store was copied to another schema."""
    asked(url_of(server, "public"), "CREATE SCHEMA first")
    url, mark = url_of(server, "first"), cluster.url("first")
    files = ("--key", tmp_path / "key", "--mark", mark)
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    assert littled("init", url, "--config", tmp_path / "littled.toml", *files).status == 0
    one = serve(tmp_path, *files, store=url)
    fed(littled, one, 3_000)
    copied(server, "first", "second")
    (tmp_path / "two").mkdir()
    two = serve(tmp_path / "two", *files, store=url_of(server, "second"))
    with psycopg.connect(url_of(server, "public")) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM first.releases), (SELECT count(*) FROM second.releases)"
        ).fetchone()
    assert found is not None
    assert found[0] == found[1]
    feed_until_end(one)
    _, err = one.process.communicate(timeout=60)
    assert one.process.returncode == 3
    assert "another daemon serves a copy of this store" in err.splitlines()[-1]
    assert two.stop() == 0
    assert littled("verify", url_of(server, "second"), "--replay", *files).status == 0
