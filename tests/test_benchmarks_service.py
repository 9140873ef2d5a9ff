"""The service benchmark: that all of it runs, and that its ratios are of the same turns."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks.service import measuring, peers, plots, pumping, report, work

ROOT = Path(__file__).parent.parent


@pytest.mark.long
@pytest.mark.timeout(180)  # two servers and eleven runs on a busy machine
def test_a_quick_run_of_the_command_ends_with_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    options = ["--quick", "--no-peers", "--parts", "batches", "clients", "--json", str(path)]
    command = [sys.executable, "-m", "benchmarks.service", *options, "--disk", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    samples = json.loads(path.read_text())["samples"]
    seen = {(sample["part"], sample["contender"]) for sample in samples}
    assert seen == {
        *(("batches", name) for name in ("daemon", "bare server", "bare server, same points")),
        *(("clients", f"{name} client") for name in ("blocking", "asyncio")),
        ("users", "blocking client"),
    }
    assert all(sample["per_second"] > 0 for sample in samples)
    for row in ("single examples, u8 points", "batches of 10,000, u64", "`send_one` in a loop"):
        assert f"\n| {row}" in done.stdout
    assert list(tmp_path.glob("*")) == [path], "every folder is taken away"


@pytest.mark.long
@pytest.mark.timeout(180)  # some ten seconds of a core each
@pytest.mark.parametrize("part", ["connections", "subscribers", "streams"])
def test_every_curve_has_a_value_at_each_of_its_points(part: str, tmp_path: Path) -> None:
    plan = measuring.Plan(rounds=1, scale=200, with_peers=False, parts=(part,))
    with measuring.running(plan, tmp_path) as field:
        samples = list(getattr(measuring, part)(plan, field))
    assert all(sample.part == part and sample.per_second > 0 for sample in samples)
    points = {
        "connections": measuring.CONNECTIONS,
        "subscribers": measuring.SUBSCRIBERS,
        "streams": measuring.STREAMS,
    }
    daemon = [sample for sample in samples if sample.contender == "daemon"]
    assert {getattr(sample, part) for sample in daemon} == set(points[part])
    text = report.markdown(samples, [])
    assert f"| {part}, daemon | batches of 1,000 | {points[part][0]}: " in text


@pytest.mark.long
@pytest.mark.timeout(180)
def test_one_example_at_a_time_is_asked_of_all_in_turns(tmp_path: Path) -> None:
    plan = measuring.Plan(rounds=1, trips=5, with_peers=False)
    samples = list(measuring.one(plan, tmp_path, "memory"))
    names = [sample.contender for sample in samples]
    assert names == ["daemon", "blocking client", "bare server", measuring.ON_ITS_LOOP]
    assert all(sample.p99_us >= sample.p50_us > 0 for sample in samples)
    text = report.markdown(samples, [])
    for row in ("one at a time, memory, p50", "one at a time by `send_one`, memory, p50"):
        assert f"\n| {row}" in text


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "found_program", lambda _: None)
    monkeypatch.setattr(peers, "find_spec", lambda _: None)
    said = {peer.name: peer.missing() for peer in peers.peers()}
    assert said.pop("SQLite") == ""
    assert len(said) == 4
    assert all(sentence.endswith("is not installed") for sentence in said.values())
    text = report.markdown([], list(said.values()))
    assert "Not measured: redis-server is not installed." in text


@pytest.mark.parametrize(
    "name",
    ["Redis", "NATS", "SQLite", pytest.param("River", marks=pytest.mark.long), "Vowpal Wabbit"],
)
def test_every_peer_that_is_there_takes_examples(name: str, tmp_path: Path) -> None:
    (peer,) = (peer for peer in peers.peers() if peer.name == name)
    if peer.missing():
        pytest.skip(peer.missing())
    with peer.running(tmp_path):
        for some in (work.Work(1, examples=200), work.Work(100, examples=2000)):
            if peer.takes(some):
                assert peer.rate(some).per_second > 0
        assert all(micros > 0 for micros in peer.trips(5))


def test_ratios_are_of_the_same_turn_and_goals_stand_beside_them() -> None:
    """The machine was ten times as slow in the last turn, for both."""

    def samples(contender: str, rates: tuple[float, ...]) -> list[Any]:
        return [
            measuring.Sample("batches", contender, turn, batch=1, per_second=rate)
            for turn, rate in enumerate(rates)
        ]

    daemon = samples("daemon", (4e6, 6e6, 0.5e6))
    bare = samples("bare server", (2e6, 2e6, 0.2e6))
    assert report.ratio(daemon, bare, lambda sample: sample.per_second) == 2.5
    redis = [
        measuring.Sample("connections", name, 0, connections=number, per_second=rate)
        for name, number, rate in (("daemon", 1, 3e6), ("Redis", 2, 1e6), ("Redis", 1, 0.5e6))
    ]
    text = report.markdown([*daemon, *bare, *redis], [])
    assert "| single examples, u8 points | 4 M/s | 2 M/s | 2.5 | >= 2.0 | 0 and 0 |" in text
    assert "| single examples | 4 M/s | 1 M/s (3) |" in text


def test_a_flow_keeps_to_its_window_and_hears_every_acknowledgement() -> None:
    ours, theirs = socket.socketpair()
    most = 0

    def acknowledge() -> None:
        nonlocal most
        while data := theirs.recv(1 << 16):
            most = max(most, len(data))
            theirs.sendall(b"a" * 3 * (len(data) // 10))

    thread = threading.Thread(target=acknowledge)
    thread.start()
    flow = pumping.Flow(ours, [b"0123456789"], 1000, 8, pumping.of_length(3), 400)
    assert pumping.pump([flow]) > 0
    assert flow.done == 1000
    assert most <= 80
    ours.close()
    thread.join()
    theirs.close()


def test_a_server_that_refuses_or_leaves_is_noticed() -> None:
    with pytest.raises(pumping.Silent, match="refused"):
        pumping.counting(b"\n", 2, wrong=b"-ERR")(b"-ERR no\r\n")
    ours, theirs = socket.socketpair()
    theirs.close()
    flow = pumping.Flow(ours, [b"x"], 1, 1, pumping.of_length(1))
    with ours, pytest.raises((pumping.Silent, BrokenPipeError)):
        pumping.pump([flow])


@pytest.mark.long
def test_curves_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    samples = [
        measuring.Sample(part, "daemon", 0, batch=batch, per_second=1e6)
        for part in ("batches", "connections", "streams")
        for batch in (1, 1000)
    ]
    plots.draw(samples, tmp_path / "curves.png")
    assert os.path.getsize(tmp_path / "curves.png") > 1000  # noqa: PTH202
