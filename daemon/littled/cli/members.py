"""`littled group member`: one machine's share of a group."""

import asyncio
import os
import secrets
import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from littled.cli.failures import STORE_NEEDS_ATTENTION, WRONG_USE, Failure
from littled.cli.grouping import group_argument, group_explained, key_of, keys_option
from littled.cli.serving import FILE, chosen_log, handed_over, log_option
from littled.groups.agreement import Agreement, Directory, mark_of
from littled.groups.partitions import label
from littled.groups.running import CannotServe, Running, Settings
from littled.limits import (
    GROUP_LEASE_SECONDS,
    GROUP_LEASE_SECONDS_MAX,
    GROUP_LEASE_SECONDS_MIN,
)
from littled.service.logs import Log
from littled.store.etcd_place import PORT_MAX, MarkInEtcd
from littled.store.place import is_url

_AS_SERVE = "As of littled serve."


@dataclass(frozen=True, slots=True)
class Ports:
    """Consecutive ports of a host, one for each partition. last: the last that may be taken."""

    host: str
    first: int
    last: int

    @classmethod
    def parse(cls, text: str, option: str, partitions: int) -> "Ports":
        """HOST:PORT or HOST:PORT-PORT. Failure for anything else, or too few."""
        host, colon, numbers = text.rpartition(":")
        first, dash, last = numbers.partition("-")
        numeric = first.isdecimal() and (last.isdecimal() if dash else True)
        if not colon or not host or (":" in host and host[:1] != "[") or not numeric:
            raise Failure(f"{option} is HOST:PORT or HOST:PORT-PORT, not {text}", WRONG_USE)
        # Without a last one, partitions that are added take the ports behind.
        found = cls(host, int(first), int(last) if dash else PORT_MAX)
        if found.first < 1 or found.last > PORT_MAX or found.last - found.first + 1 < partitions:
            raise Failure(
                f"{option} has no port for each of {partitions} partitions: they take "
                f"{found.first} to {found.first + partitions - 1}, of {PORT_MAX} at the most",
                WRONG_USE,
            )
        return found

    def of(self, partition: int, host: str | None = None) -> str:
        """The address of a partition, perhaps at another host. Failure where there is no port."""
        if self.first + partition > self.last:
            raise Failure(
                f"partition {label(partition)} takes the port {self.first + partition}, and those "
                f"of this member end at {self.last}: start it again with more of them, such as "
                f"{self.host}:{self.first}-{self.first + partition}",
                WRONG_USE,
            )
        return f"{host or self.host}:{self.first + partition}"


@dataclass(frozen=True, slots=True)
class Daemons:
    """How the daemons of a member are started. passed: options that go to each as they are."""

    place: MarkInEtcd
    ports: Ports
    listen: str | None
    http: Ports | None
    keys: Path | None
    tls: bool
    passed: tuple[str, ...]

    def address(self, partition: int) -> str:
        """Where clients reach a partition."""
        return ("tls://" if self.tls else "") + self.ports.of(partition)

    def key(self, directory: Directory, partition: int) -> Path | None:
        """The noise key of a partition; None where it is in the store. Failure if it is missing."""
        found = key_of(self.keys, partition)
        if found is None:
            found = handed_over(os.environ, f"keys_{label(partition)}.key")
        if found is None and is_url(directory.stores[partition]):
            raise Failure("noise keys are not in PostgreSQL: say --keys FOLDER", WRONG_USE)
        if found is not None and not found.exists():
            raise Failure(
                f"the noise key {found} is missing: give this machine the keys of all partitions",
                STORE_NEEDS_ATTENTION,
            )
        return found

    def command(self, directory: Directory, partition: int) -> list[str]:
        """Arguments of `littled` that serve a partition. CannotServe where it cannot."""
        try:
            return self._command(directory, partition)
        except Failure as failure:
            raise CannotServe(failure.sentence) from None

    def _command(self, directory: Directory, partition: int) -> list[str]:
        key = self.key(directory, partition)
        http = [] if self.http is None else ["--http", self.http.of(partition)]
        return [
            *("serve", directory.stores[partition]),
            *("--group", str(self.place), "--partition", str(partition)),
            *("--mark", str(mark_of(self.place, partition))),
            *([] if key is None else ["--key", str(key)]),
            *("--tcp", self.ports.of(partition, self.listen), *http),
            *self.passed,
        ]


@click.command()
@group_argument
@click.option(
    "--address", required=True, metavar="HOST:PORT[-PORT]",
    help="Where clients reach the daemons here: partition 00 at the first port, 01 at the next. "
    "With a last port no other one is ever taken, so that a firewall may let in these alone.",
)  # fmt: skip
@click.option(
    "--listen", metavar="HOST", help="Where they listen, if that is not the host of --address."
)
@click.option(
    "--http", metavar="HOST:PORT[-PORT]",
    help="The same for HTTP: partition 00 at the first port, 01 at the next.",
)  # fmt: skip
@keys_option
@click.option("--name", metavar="NAME", help="What the member is called, if not as the machine is.")
@click.option(
    "--lease",
    type=click.IntRange(GROUP_LEASE_SECONDS_MIN, GROUP_LEASE_SECONDS_MAX),
    default=GROUP_LEASE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="After so long without a word from it the others take over what this member has.",
)
@click.option("--token-file", type=FILE, envvar="LITTLED_TOKEN_FILE", help=_AS_SERVE)
@click.option("--tls-cert", type=FILE, help=_AS_SERVE)
@click.option("--tls-key", type=FILE, help=_AS_SERVE)
@click.option("--tls-client-ca", type=FILE, help=_AS_SERVE)
@click.option("--plaintext-beyond-loopback", is_flag=True, help=_AS_SERVE)
@log_option
def member(
    place: MarkInEtcd,
    address: str,
    listen: str | None,
    http: str | None,
    keys: Path | None,
    name: str | None,
    lease: int,
    style: str,
    plaintext_beyond_loopback: bool,
    **files: Path | None,
) -> None:
    """Serve this machine's share of GROUP until it is interrupted or terminated.

    One member runs on each machine. It starts a daemon, `littled serve`, for each partition that it
    has; takes over what others leave; gives up what is above its share; and hands over all it has
    when it is stopped. SIGHUP is passed on to its daemons. Credentials of systemd are used as by
    littled serve, and keys_00.key, keys_01.key and so on where --keys is not given.
    """
    log = chosen_log(style)
    with group_explained(), closing(Agreement(place)) as agreement:
        directory = agreement.directory()
    partitions = directory.partitions
    passed = ["--log", style]
    for option, path in files.items():
        if path is not None:
            passed += [f"--{option.replace('_', '-')}", str(path.absolute())]
    if plaintext_beyond_loopback:
        passed.append("--plaintext-beyond-loopback")
    daemons = Daemons(
        place,
        Ports.parse(address, "--address", partitions),
        listen,
        None if http is None else Ports.parse(http, "--http", partitions),
        keys,
        tls=(files["tls_cert"] or handed_over(os.environ, "tls.crt")) is not None,
        passed=tuple(passed),
    )
    for partition in range(partitions):
        daemons.key(directory, partition)
    own_name = f"{name or socket.gethostname()}-{secrets.token_hex(3)}"
    settings = Settings(place, own_name, directory, lease, daemons.address, daemons.command)
    asyncio.run(_run(settings, log))


async def _run(settings: Settings, log: Log) -> None:
    await Running(settings, log).run()
