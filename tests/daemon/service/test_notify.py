"""systemd's readiness, watchdog and socket protocols, over real sockets and in real processes."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.service.notify import InheritedSocket, Notifier, inherited_sockets

# Run in a process of its own, where the descriptors from 3 on are what the parent handed over.
TAKE_SOCKETS = """
import os
from littled.service.notify import inherited_sockets
os.environ["LISTEN_PID"] = str(os.getpid())
taken = inherited_sockets(os.environ, os.getpid())
for each in taken:
    one = each.socket
    print(each.name, one.getsockname(), one.get_inheritable(), one.gettimeout())
print(sorted(name for name in os.environ if name.startswith("LISTEN_")))
print(inherited_sockets(os.environ, os.getpid()))
"""


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        yield listening


def test_every_message_reaches_the_manager(manager: socket.socket) -> None:
    notifier = Notifier(manager.getsockname())
    notifier.ready("serving 2 streams")
    notifier.watchdog()
    notifier.extend_start(1.5, "replaying flights")
    notifier.stopping()
    assert [manager.recv(200) for _ in range(4)] == [
        b"READY=1\nSTATUS=serving 2 streams",
        b"WATCHDOG=1",
        b"EXTEND_TIMEOUT_USEC=1500000\nSTATUS=replaying flights",
        b"STOPPING=1\nSTATUS=stopping",
    ]
    notifier.close()
    notifier.watchdog()
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(200)


def test_a_name_of_the_abstract_namespace() -> None:
    name = f"littled-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + name)
        listening.settimeout(5)
        notifier = Notifier(f"@{name}")
        notifier.watchdog()
        assert listening.recv(200) == b"WATCHDOG=1"
        notifier.close()


@pytest.mark.parametrize("address", [None, "", "relative", "vsock:2:1", "/nobody/is/here"])
def test_without_a_manager_nothing_happens(address: str | None) -> None:
    notifier = Notifier(address)
    notifier.ready("ready")
    notifier.close()


def test_a_full_manager_is_not_waited_for(manager: socket.socket) -> None:
    notifier = Notifier(manager.getsockname())
    for _ in range(10_000):
        notifier.watchdog()
    assert manager.recv(200) == b"WATCHDOG=1"
    notifier.close()


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "77"}, 0.5),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdogs_period(environment: dict[str, str], seconds: float | None) -> None:
    assert Notifier.from_environment(environment, 77).watchdog_seconds == seconds


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"LISTEN_FDS": "1"},
        {"LISTEN_FDS": "1", "LISTEN_PID": "78"},
        {"LISTEN_FDS": "0", "LISTEN_PID": "77"},
        {"LISTEN_FDS": "-1", "LISTEN_PID": "77"},
    ],
)
def test_sockets_of_others_are_left_alone(environment: dict[str, str]) -> None:
    assert inherited_sockets(environment, 77) == ()
    assert environment == {}


def take_sockets(descriptors: list[int], names: str | None) -> subprocess.CompletedProcess[str]:
    """Run a process that inherits `descriptors` as 3, 4, ... and takes them."""
    script = "; ".join(
        f"os.dup2({number}, {100 + index})" for index, number in enumerate(descriptors)
    )
    script += "; " + "; ".join(
        f"os.dup2({100 + index}, {3 + index})" for index in range(len(descriptors))
    )
    environment = {**os.environ, "LISTEN_FDS": str(len(descriptors))}
    if names is not None:
        environment["LISTEN_FDNAMES"] = names
    return subprocess.run(
        [sys.executable, "-c", f"import os; {script}\n{TAKE_SOCKETS}"],
        env=environment,
        pass_fds=descriptors,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_listening_sockets_are_taken_over_with_their_names(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:
        unix.bind(str(tmp_path / "socket"))
        unix.listen()
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        ended = take_sockets([unix.fileno(), tcp.fileno()], "littled.socket:http")
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.splitlines() == [
            f"littled.socket {tmp_path / 'socket'} False 0.0",
            f"http {tcp.getsockname()} False 0.0",
            "[]",
            "()",
        ]


def test_a_socket_without_a_name_is_unknown(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
        unix.listen()
        ended = take_sockets([unix.fileno()], None)
        assert ended.stdout.startswith("unknown ")


def test_a_descriptor_that_does_not_listen_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(str(tmp_path / "socket"))
        ended = take_sockets([datagrams.fileno()], "littled.socket")
        assert "descriptor 3 is no listening stream socket" in ended.stderr


def test_an_inherited_socket_is_a_value() -> None:
    with socket.socket() as one:
        assert InheritedSocket("http", one) == InheritedSocket("http", one)
