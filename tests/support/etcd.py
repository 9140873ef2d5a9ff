"""Real clusters of etcd on this machine, whose members are stopped, frozen, killed and restored."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from littled.store.etcd import Etcd, EtcdRefused, EtcdSilent
from littled.store.etcd_place import MarkInEtcd
from littled.store.registers import silent
from support.servers import program

START_SECONDS = 30.0
HEARTBEAT_MS, ELECTION_MS = 50, 300


@dataclass(frozen=True)
class EtcdTls:
    """Files that members show and ask for. client_ca: who else has to show a certificate."""

    ca: Path
    certificate: Path
    key: Path
    client_ca: Path | None = None


@dataclass
class Member:
    """One member: a process and its folder."""

    name: str
    data: Path
    client: int
    peer: int
    process: subprocess.Popen[bytes] | None = None

    def signal(self, number: int) -> None:
        """Send its process a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def freeze(self) -> None:
        """Stop it as a long pause would."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Cluster:
    """Some members; `url` names a mark among them."""

    folder: Path
    members: list[Member]
    tls: EtcdTls | None = None
    cluster_name: str = "the same"
    user: str = ""  # for etcdctl, with its password, where users are asked for
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        """Write what all members log into one file."""
        self.log = self.folder / "etcd.log"

    @classmethod
    def made(cls, folder: Path, count: int = 3, tls: EtcdTls | None = None) -> "Cluster":
        """A cluster whose members do not run yet."""
        ports = free_ports(2 * count)
        members = [
            Member(f"m{number}", folder / f"m{number}", ports[2 * number], ports[2 * number + 1])
            for number in range(count)
        ]
        return cls(folder, members, tls)

    @property
    def scheme(self) -> str:
        """Of the addresses for clients."""
        return "http" if self.tls is None else "https"

    def url(self, prefix: str, user: str = "", query: str = "", members: int | None = None) -> str:
        """The name of a mark; members: how many of them it names."""
        hosts = ",".join(f"127.0.0.1:{each.client}" for each in self.members[:members])
        scheme = "etcd" if self.tls is None else "etcds"
        return f"{scheme}://{user and f'{user}@'}{hosts}/{prefix}{query and f'?{query}'}"

    def place(self, prefix: str = "test") -> MarkInEtcd:
        """The same as a place."""
        query = "" if self.tls is None else f"ca={self.tls.ca}"
        return MarkInEtcd.parse(self.url(prefix, query=query))

    def start(self, members: Sequence[Member] | None = None) -> None:
        """Start members, all of them unless told, and wait until the cluster has a leader."""
        peers = ",".join(f"{each.name}=http://127.0.0.1:{each.peer}" for each in self.members)
        for each in members or self.members:
            client = f"{self.scheme}://127.0.0.1:{each.client}"
            peer = f"http://127.0.0.1:{each.peer}"
            with self.log.open("ab") as log:
                each.process = subprocess.Popen(
                    [
                        *(str(program("etcd")), "--name", each.name, "--data-dir", str(each.data)),
                        *("--listen-client-urls", client, "--advertise-client-urls", client),
                        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
                        *("--initial-cluster", peers, "--initial-cluster-token", self.cluster_name),
                        *("--heartbeat-interval", str(HEARTBEAT_MS)),
                        *("--election-timeout", str(ELECTION_MS), "--log-outputs", "stderr"),
                        *self._of_tls(),
                    ],
                    stderr=log,
                    stdout=subprocess.DEVNULL,
                )
        self.wait()

    def _of_tls(self) -> list[str]:
        if self.tls is None:
            return []
        own = ["--cert-file", str(self.tls.certificate), "--key-file", str(self.tls.key)]
        if self.tls.client_ca is not None:
            own += ["--client-cert-auth", "--trusted-ca-file", str(self.tls.client_ca)]
        return own

    def wait(self) -> None:
        """Wait until the cluster answers."""
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            assert time.monotonic() < deadline, self.log.read_text()[-2_000:]
            time.sleep(0.1)

    def _answers(self) -> bool:
        done = self.ctl("endpoint", "health", check=False)
        return done.returncode == 0

    def ctl(
        self, *arguments: str, check: bool = True, members: Sequence[Member] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run etcdctl against the members that run, or against those named."""
        running = members or [each for each in self.members if each.process is not None]
        hosts = ",".join(f"{self.scheme}://127.0.0.1:{each.client}" for each in running)
        files = []
        if self.tls is not None:
            files = ["--cacert", str(self.tls.ca)]
            files += ["--cert", str(self.tls.certificate), "--key", str(self.tls.key)]
        files += ["--user", self.user] if self.user else []
        done = subprocess.run(
            [str(program("etcdctl")), "--endpoints", hosts, *files, *arguments],
            env={**os.environ, "ETCDCTL_API": "3"},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def leader(self) -> Member:
        """The member that leads now."""
        for each in self.members:
            etcd = Etcd(MarkInEtcd((("127.0.0.1", each.client),), "x"), silent)
            with closing(etcd), suppress(EtcdRefused, EtcdSilent):
                answer = etcd.ask("/v3/maintenance/status", {})
                if answer["leader"] == answer["header"]["member_id"]:
                    return each
        raise AssertionError("there is no leader")

    def restore(self, backup: Path, cluster_name: str) -> None:
        """Put every member back to a snapshot, with a name of the cluster, and start them."""
        self.stop()
        self.cluster_name = cluster_name
        peers = ",".join(f"{each.name}=http://127.0.0.1:{each.peer}" for each in self.members)
        for each in self.members:
            each.data = each.data.with_name(f"{each.data.name}-restored")
            self.ctl(
                *("snapshot", "restore", str(backup), "--name", each.name),
                *("--data-dir", str(each.data), "--initial-cluster", peers),
                *("--initial-cluster-token", cluster_name),
                *("--initial-advertise-peer-urls", f"http://127.0.0.1:{each.peer}"),
                members=self.members,
            )
        self.start()

    def stop(self) -> None:
        """End all members."""
        for each in self.members:
            each.kill()


@contextmanager
def etcd_cluster(folder: Path, count: int = 3, tls: EtcdTls | None = None) -> Iterator[Cluster]:
    """A cluster that runs."""
    folder.mkdir(exist_ok=True)
    cluster = Cluster.made(folder, count, tls)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody has at the moment."""
    taken = [socket.socket() for _ in range(count)]
    for each in taken:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports
