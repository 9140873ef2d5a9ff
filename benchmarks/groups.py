"""How soon a group's streams are served again when one of its machines is gone.

    python -m benchmarks.groups --etcd etcd://HOST:PORT/PREFIX --postgres postgresql:///littled \\
        [--streams 1000] [--partitions 12] [--members 3] [--rounds 3] [--lease 3]

Makes a group at the prefix, in schemas of that database, whose members all run on this machine and
so share its processors. In each round one of them is killed with all its daemons (SIGKILL); every
stream that it served is then fed an example, which has to become durable. Each line is a JSON
object with seconds since the kill, of the last partition each: until its lease had ended, until
another member had taken it, until its daemon was ready, and until all its streams had their
example. Beside them are the seconds of the processor that the new daemons took, which do not depend
on what else the machine does. The last line has the largest of all rounds, and what of it is the
lease's. Without the URLs there is nothing to measure.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from littled.groups.agreement import Agreement, Served
from littled.groups.membership import share
from littled.groups.partitions import divided
from littled.store.etcd_place import MarkInEtcd
from littled_client import Client

STREAM = """
[streams.stream-{0}]
epsilon = 1.0
delta = 1e-6
horizon = 100_000
learners.rule = {{ class = "thresholds:256" }}
"""
COMMAND = [sys.executable, "-P", "-m", "littled.cli"]
FIRST_PORT = 20_000
WAIT_SECONDS = 600.0
LOOK_SECONDS = 0.05
STAGES = ("lease_ended", "taken", "ready", "fed")


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def processor_seconds(process: int) -> float:
    """Processor time of a process that runs."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Group:
    """A group with members on this machine."""

    def __init__(self, url: str, folder: Path, streams: int, partitions: int, lease: int) -> None:
        """Nothing is made yet."""
        self.url, self.folder, self.partitions, self.lease = url, folder, partitions, lease
        self.names = [f"stream-{number}" for number in range(streams)]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def make(self, postgres: str) -> float:
        """Make it; seconds."""
        config = self.folder / "littled.toml"
        config.write_text("".join(STREAM.format(number) for number in range(len(self.names))))
        command = ["group", "init", self.url, "--config", str(config), "--store", postgres]
        command += ["--partitions", str(self.partitions), "--keys", str(self.folder / "keys")]
        before = time.monotonic()
        subprocess.run([*COMMAND, *command], check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - before

    def join(self, name: str) -> None:
        """Start a member."""
        first = FIRST_PORT + self.partitions * int(name[1:])
        command = ["group", "member", self.url, "--keys", str(self.folder / "keys")]
        command += ["--address", f"127.0.0.1:{first}", "--name", name, "--log", "json"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*COMMAND, *command, "--lease", str(self.lease)], stderr=log
            )

    def kill(self, name: str) -> None:
        """End a member and its daemons as a power cut would."""
        process = self.processes.pop(name)
        for each in (process.pid, *children(process.pid)):
            os.kill(each, signal.SIGKILL)
        process.wait()

    def daemons(self) -> set[int]:
        """The processes of all daemons."""
        return {each for member in self.processes.values() for each in children(member.pid)}

    def tenures(self) -> Mapping[int, Served]:
        """Who has which partition."""
        with closing(Agreement(MarkInEtcd.parse(self.url))) as agreement:
            return agreement.present().tenures

    def wait(self) -> None:
        """Wait until every partition is served, and each member has its share at the most."""
        until = time.monotonic() + WAIT_SECONDS
        most = share(self.partitions, len(self.processes))
        while time.monotonic() < until:
            served = [each.member for each in self.tenures().values() if each.addresses]
            fair = all(served.count(member) <= most for member in served)
            if len(served) == self.partitions and fair:
                return
            time.sleep(LOOK_SECONDS)
        raise TimeoutError("the group does not come to rest")

    def stop(self) -> None:
        """Stop all members."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            process.wait(WAIT_SECONDS)


@contextmanager
def group_at(
    url: str, postgres: str, streams: int, partitions: int, members: int, lease: int = 3
) -> Iterator[Group]:
    """A group that is served by so many members."""
    with TemporaryDirectory() as name:
        group = Group(url, Path(name), streams, partitions, lease)
        seconds = group.make(postgres)
        before = time.monotonic()
        try:
            for number in range(members):
                group.join(f"m{number}")
            group.wait()
            made = {"init": round(seconds, 1), "start": round(time.monotonic() - before, 1)}
            print(json.dumps({"streams": streams, "partitions": partitions} | made), flush=True)
            yield group
        finally:
            group.stop()


def fed(address: str, streams: list[str]) -> None:
    """Feed each of these streams an example, and wait until all are durable."""
    with Client(address, producer="bench") as client, ExitStack() as stack:
        feeders = [stack.enter_context(client.feed(each)) for each in streams]
        for feeder in feeders:
            feeder.send([7], [0])
        for feeder in feeders:
            feeder.flush()


def after_a_kill(group: Group, name: str) -> dict[str, float]:
    """Kill a member; seconds until each stage is over for all that it served."""
    streams = divided(group.names, group.partitions)
    lost = {
        partition: served.number
        for partition, served in group.tenures().items()
        if served.member.startswith(f"{name}-")
    }
    group.kill(name)
    killed = time.monotonic()
    before = group.daemons()
    reached: dict[str, dict[int, float]] = {stage: {} for stage in STAGES}

    def feed(partition: int, address: str) -> None:
        fed(address, streams[partition])
        reached["fed"][partition] = time.monotonic() - killed

    with ThreadPoolExecutor(len(lost)) as threads:
        under_way = []
        while len(reached["ready"]) < len(lost):
            assert time.monotonic() < killed + WAIT_SECONDS, "not served again"
            present, now = group.tenures(), time.monotonic() - killed
            for partition, number in lost.items():
                served = present.get(partition)
                if served is not None and served.number == number:
                    continue
                reached["lease_ended"].setdefault(partition, now)
                if served is not None:
                    reached["taken"].setdefault(partition, now)
                    if served.addresses and partition not in reached["ready"]:
                        reached["ready"][partition] = now
                        under_way.append(threads.submit(feed, partition, served.addresses[0]))
            time.sleep(LOOK_SECONDS)
        for each in under_way:
            each.result()
    found = {stage: round(max(reached[stage].values()), 2) for stage in STAGES}
    count = sum(len(streams[partition]) for partition in lost)
    seconds = sum(map(processor_seconds, group.daemons() - before))
    facts = {"partitions": len(lost), "streams": count, "processor_seconds": round(seconds, 2)}
    print(json.dumps(facts | found), flush=True)
    return found


def measured(group: Group, rounds: int) -> dict[str, float]:
    """The largest seconds of some rounds; prints each of them."""
    found = []
    names = list(group.processes)
    for number in range(rounds):
        name = names[number % len(names)]
        found.append(after_a_kill(group, name))
        group.join(name)
        group.wait()
    most = {stage: max(each[stage] for each in found) for stage in STAGES}
    return most | {"lease_share": round(max(e["lease_ended"] / e["fed"] for e in found), 2)}


def main() -> None:
    """Parse the command line and run."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=about)
    parser.add_argument("--etcd", help="a prefix that is free")
    parser.add_argument("--postgres", help="a database, without options")
    for name, count in (("streams", 1000), ("partitions", 12), ("members", 3), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--lease", type=int, default=3, help="seconds")
    asked = parser.parse_args()
    if asked.etcd is None or asked.postgres is None:
        return
    sizes = asked.streams, asked.partitions, asked.members, asked.lease
    with group_at(asked.etcd, asked.postgres, *sizes) as group:
        print(json.dumps(measured(group, asked.rounds)))


if __name__ == "__main__":
    main()
