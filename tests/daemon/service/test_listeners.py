"""Listening sockets in the file system and on the loopback interface."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from littled.service.listeners import ListenError, bind_tcp, bind_unix
from littled_client.addresses import TcpAddress, UnixAddress


def test_a_unix_socket_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "littled.sock"
    listener = bind_unix(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert listener.is_unix
    assert listener.is_local
    assert listener.address == f"unix:{path}"
    listener.close()
    assert not path.exists()


def test_a_dead_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "littled.sock"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    before = path.stat().st_ino
    listener = bind_unix(path)
    assert path.exists()
    listener.close()
    assert before
    assert not path.exists()


@pytest.mark.parametrize("backlog_full", [False, True])
def test_a_live_socket_is_left_alone(tmp_path: Path, backlog_full: bool) -> None:
    path = tmp_path / "littled.sock"
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as waiting:
        other.bind(str(path))
        other.listen(0)
        if backlog_full:
            waiting.connect(str(path))
        with pytest.raises(ListenError, match="another program listens"):
            bind_unix(path)
        assert path.exists()


def test_the_socket_of_a_daemon_that_is_still_starting_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "of one that starts.sock"
    starting = bind_unix(path)
    with pytest.raises(ListenError, match=r"another program has taken unix:.* and will listen"):
        bind_unix(path)
    assert path.stat().st_ino == starting.inode
    starting.socket.close()  # as a kill does, which leaves the file
    bind_unix(path).close()
    assert not path.exists()


def test_a_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(ListenError, match="is no socket"):
        bind_unix(path)
    assert path.read_text() == "mine"


def test_the_socket_of_another_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "littled.sock"
    listener = bind_unix(path)
    path.rename(tmp_path / "old")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        listener.close()
        assert path.exists()


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ListenError, match="longer than 107 bytes"):
        bind_unix(tmp_path / ("a" * 120))
    with pytest.raises(ListenError, match=r"cannot listen on unix:.*No such file"):
        bind_unix(tmp_path / "missing" / "littled.sock")
    if os.geteuid() != 0:
        with pytest.raises(ListenError, match="Permission denied"):
            bind_unix(Path("/littled.sock"))


def test_a_tcp_port() -> None:
    listener = bind_tcp(TcpAddress("127.0.0.1", 0))
    host, port = listener.socket.getsockname()
    assert listener.address == f"127.0.0.1:{port}"
    assert host == "127.0.0.1"
    assert listener.is_local
    assert not listener.is_unix
    listener.socket.listen()
    with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{port}: Address already"):
        bind_tcp(f"127.0.0.1:{port}")
    listener.close()


def test_a_tcp_port_of_version_six() -> None:
    try:
        listener = bind_tcp(TcpAddress("::1", 0))
    except ListenError:
        pytest.skip("this machine has no IPv6 loopback")
    assert listener.address.startswith("[::1]:")
    assert listener.is_local
    listener.close()


def test_addresses_that_cannot_be() -> None:
    with pytest.raises(ListenError, match="neither unix:PATH nor HOST:PORT"):
        bind_tcp("nowhere")
    with pytest.raises(ListenError, match=r"unix:/x is no HOST:PORT"):
        bind_tcp(UnixAddress("/x"))
    with pytest.raises(ListenError, match="cannot listen on"):
        bind_tcp("192.0.2.1:80")


@pytest.mark.parametrize(("soft", "hard", "fits"), [(64, 4096, True), (64, 128, False)])
def test_descriptors_are_raised_or_missed_in_one_sentence(soft: int, hard: int, fits: bool) -> None:
    code = (
        "import resource\n"
        "from littled.service.listeners import ListenError, ensure_descriptors\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "try:\n"
        "    ensure_descriptors(1536)\n"
        "except ListenError as error:\n"
        "    print(error)\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *sentences, limit = done.stdout.splitlines()
    if fits:
        assert (sentences, int(limit)) == ([], 1536)
    else:
        assert sentences == [
            "this process may open 128 files and needs 1536 for its connections; "
            "raise the hard limit (LimitNOFILE= of a unit, ulimit -Hn of a shell)"
        ]
