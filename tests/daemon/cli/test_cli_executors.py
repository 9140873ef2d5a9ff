"""Work on a real Dask cluster: a scheduler and workers as processes, with and without TLS."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from littled.auditing.noise import key_of_seed
from littled.auditing.subjects import small_plan, subjects_of
from littled.auditing.trials import Auditor
from littled.executors import Certificates, ExecutorError, cluster
from littled.store.store import Store
from littled_client import Client
from littled_protocol.codec import decode
from littled_protocol.messages import Release
from support.certificates import Authority, Issued
from support.commands import Daemon, Littled, make_store, serve

pytestmark = pytest.mark.long

STARTED_SECONDS_MAX = 60
DASK = (sys.executable, "-m", "dask")


@contextmanager
def started(*command: str, says: str, log: Path) -> Iterator[re.Match[str]]:
    """A process of the cluster, once it has said that it is there."""
    with log.open("wb") as file, subprocess.Popen([*DASK, *command], stderr=file) as process:
        try:
            end = time.monotonic() + STARTED_SECONDS_MAX
            while (found := re.search(says, log.read_text())) is None:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.05)
            yield found
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def options(authority: Authority | None, name: str) -> list[str]:
    """The options that give a process a certificate."""
    if authority is None:
        return []
    issued = authority.issue(name, peer=True)
    return [
        *("--tls-ca-file", str(authority.path)),
        *("--tls-cert", str(issued.certificate), "--tls-key", str(issued.key)),
    ]


@contextmanager
def scheduler(folder: Path, authority: Authority | None = None) -> Iterator[str]:
    """A scheduler's port."""
    protocol = "tcp" if authority is None else "tls"
    place = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--protocol", protocol]
    says = rf"{protocol}://127\.0\.0\.1:(\d+)"
    command = ("scheduler", *place, *options(authority, "scheduler"))
    with started(*command, says=says, log=folder / "scheduler.log") as found:
        yield found[1]


@contextmanager
def workers(folder: Path, port: str, authority: Authority | None = None) -> Iterator[None]:
    """Two workers of a scheduler."""
    protocol = "tcp" if authority is None else "tls"
    place = [f"{protocol}://127.0.0.1:{port}", "--nworkers", "2", "--nthreads", "1"]
    command = ("worker", *place, "--no-dashboard", *options(authority, "worker"))
    says = r"Registered to(?s:.*)Registered to"
    with started(*command, says=says, log=folder / "workers.log"):
        yield


def shown(authority: Authority, issued: Issued | None = None) -> Certificates:
    issued = issued or authority.issue("client")
    return Certificates(authority.path, issued.certificate, issued.key)


@pytest.mark.timeout(180)
def test_an_audit_comes_to_the_same_on_a_cluster(littled: Littled, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ours")
    asked = ("audit", "--learner", "dense", "--runs", "100", "--seed", "7", "--json")
    client = authority.issue("client")
    files = [
        *("--executor-ca", authority.path, "--executor-cert", client.certificate),
        *("--executor-key", client.key),
    ]
    with scheduler(tmp_path, authority) as port:
        at = ["--executor", f"dask://127.0.0.1:{port}"]
        nobody = littled(*asked, *at, *files)
        assert nobody.status != 0
        assert "has no workers: start some with dask worker" in nobody.sentence
        with workers(tmp_path, port, authority):
            there = littled(*asked, *at, *files)
            assert there.status == 0, there.err
            assert json.loads(there.out) == json.loads(littled(*asked, "--processes", "1").out)
            for wrong in (shown(Authority(tmp_path, "theirs")), None):
                with (
                    pytest.raises(ExecutorError, match="no scheduler answers there, or TLS"),
                    cluster(f"dask://127.0.0.1:{port}", wrong),
                ):
                    pytest.fail("a stranger was let in")


@pytest.mark.timeout(180)
def test_a_task_whose_worker_was_killed_runs_on_another(tmp_path: Path) -> None:
    plan = small_plan("dense")
    (subject, *_) = subjects_of(plan, None)
    # the first one that runs this loses its life
    marker = tmp_path / "killed"
    once = f"test -e {marker} || {{ touch {marker}; kill -9 $PPID; }}"
    here = Auditor(key_of_seed(3)).audit(0, subject, 100)
    with (
        scheduler(tmp_path) as port,
        workers(tmp_path, port),
        cluster(f"dask://127.0.0.1:{port}") as executor,
    ):
        assert not executor.submit(subprocess.getoutput, once).result(120)
        assert marker.exists()
        assert Auditor(key_of_seed(3), pool=executor).audit(0, subject, 100) == here


def test_plans_come_to_the_same_on_a_cluster(littled: Littled, tmp_path: Path) -> None:
    asked = "epsilon = 1.0\ndelta = 1e-6\nhorizon = 10_000\nlearners.rule.class = "
    classes = {"a": "thresholds:64", "b": "thresholds:64", "c": "points:16"}
    configuration, wrong = tmp_path / "littled.toml", tmp_path / "wrong.toml"
    text = "".join(f'[streams.{name}]\n{asked}"{kind}"\n' for name, kind in classes.items())
    configuration.write_text(text)
    wrong.write_text(text.replace("1e-6", "1e-300", 1))
    with scheduler(tmp_path) as port, workers(tmp_path, port):
        at = ("--executor", f"dask://127.0.0.1:{port}")
        there = littled("init", tmp_path / "there", "--config", configuration, *at)
        checked = littled("check", configuration, *at)
        refused = littled("init", tmp_path / "wrong", "--config", wrong, *at)
    assert there.status == 0, there.err
    assert littled("init", tmp_path / "here", "--config", configuration).status == 0
    with (
        Store.open(tmp_path / "there", read_only=True) as one,
        Store.open(tmp_path / "here", read_only=True) as other,
    ):
        assert one.plans == other.plans
    assert checked == littled("check", configuration)
    here = littled("init", tmp_path / "wrong", "--config", wrong)
    assert (refused.status, refused.sentence) == (here.status, here.sentence)
    assert refused.status == 2
    assert not (tmp_path / "wrong").exists()


LATE, LEFT = "flights/late", "training not done elsewhere"
TRAINED = """
[streams.flights]
epsilon = 4.0
delta = 1e-6
horizon = 2_000
learners.late = { class = "thresholds:256", noise_rate = 0, selection = "dense" }
"""


@pytest.mark.cluster
@pytest.mark.timeout(180)
def test_a_daemon_has_trainings_done_on_a_cluster(littled: Littled, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ours")
    client = authority.issue("client")
    store = make_store(tmp_path, TRAINED)
    with scheduler(tmp_path, authority) as port:
        asked = (
            *("--executor", f"dask://127.0.0.1:{port}", "--executor-ca", authority.path),
            *("--executor-cert", client.certificate, "--executor-key", client.key),
        )
        with workers(tmp_path, port, authority):
            first = serve(tmp_path, *asked)
            fed(first, 0)
            assert LEFT not in stopped(first)
            second = serve(tmp_path, *asked)
        fed(second, 1)
        assert LEFT in stopped(second)
    with Store.open(store, read_only=True) as opened:
        key = opened.noise_key
        found = [decode(each.body) for each in opened.releases(LATE)]
    seasons = Counter(each.season for each in found if isinstance(each, Release))
    assert min(seasons[0], seasons[1]) > 3
    assert not any(key in each.read_bytes() for each in tmp_path.glob("*.log"))
    # the same steps made here lead to every release and every charge
    said = littled("verify", store, "--replay")
    assert said.status == 0, said.err


def fed(daemon: Daemon, season: int) -> None:
    """Feed a whole season in which rules are wrong again and again, and wait for some of them."""
    random, rules = np.random.default_rng(season), 0
    with Client(daemon.address) as client:
        with client.feed("flights", producer="me") as feeder:
            for _ in range(20):
                labels = random.integers(0, 2, 100).astype(np.uint8)
                feeder.send(random.integers(0, 256, 100).astype(np.uint8), labels)
        for published in client.subscribe(LATE):
            rules += published.season == season
            if rules > 5:
                return


def stopped(daemon: Daemon) -> str:
    """What a daemon wrote until it ended, which it does cleanly."""
    daemon.process.send_signal(signal.SIGTERM)
    _, told = daemon.process.communicate(timeout=STARTED_SECONDS_MAX)
    assert daemon.process.returncode == 0, told
    return str(told)


def test_trainings_need_tls_on_this_machine_too(littled: Littled, tmp_path: Path) -> None:
    store = make_store(tmp_path, TRAINED)
    said = littled("serve", store, "--executor", "dask://127.0.0.1:1")
    assert "trainings send examples, so --executor needs TLS here" in said.sentence
    assert said.status == 2


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("dask://127.0.0.1:1", "cannot be reached: no scheduler answers there"),
        ("dask://192.0.2.1:8786", "is another machine, so it needs TLS: give --executor-ca"),
        ("dask://cluster.example:8786", "is another machine, so it needs TLS"),
        ("dask://127.0.0.1", "is no address of a cluster: write dask://HOST:PORT"),
        ("dask://127.0.0.1:99999", "is no address of a cluster"),
        ("tcp://127.0.0.1:8786", "is no address of a cluster"),
        ("dask://me@127.0.0.1:8786/x", "is no address of a cluster"),
    ],
)
def test_an_address_without_a_cluster_gets_a_sentence(
    littled: Littled, address: str, sentence: str
) -> None:
    said = littled("audit", "--learner", "dense", "--runs", "100", "--executor", address)
    assert said.status != 0
    assert sentence in said.sentence


def test_options_that_do_not_go_together_are_refused(littled: Littled, tmp_path: Path) -> None:
    file = tmp_path / "a.pem"
    file.touch()
    alone = littled("audit", "--executor-ca", file)
    assert "go together with --executor" in alone.sentence
    both = littled("audit", "--executor", "dask://127.0.0.1:1", "--processes", "2")
    assert "--processes is for this machine" in both.sentence
    assert (alone.status, both.status) == (2, 2)
