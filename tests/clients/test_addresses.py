"""Addresses: written forms, refusals, and the default's order of preference."""

from pathlib import Path

import pytest

from littled_client.addresses import (
    SYSTEM_SOCKET,
    TcpAddress,
    UnixAddress,
    default_address,
    parse_address,
)
from littled_client.errors import AddressError, TlsError
from littled_client.tls import Tls


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/littled/littled.sock", UnixAddress("/run/littled/littled.sock")),
        ("unix:here.sock", UnixAddress("here.sock")),
        ("localhost:4040", TcpAddress("localhost", 4040)),
        ("127.0.0.1:1", TcpAddress("127.0.0.1", 1)),
        ("[::1]:65535", TcpAddress("::1", 65535)),
    ],
)
def test_written_forms_parse_and_print_back(text: str, address: UnixAddress | TcpAddress) -> None:
    assert parse_address(text) == address
    assert str(address) == text
    assert parse_address(address) is address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unix:",
        "unix:a\0b",
        "localhost",
        ":4040",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:http",
        "localhost:٤٠",
        "::1:4040",
        "http://localhost:4040",
        "local host:4040",
        "a..b:4040",
        f"{'a' * 64}.example:4040",
        "unix:" + "x" * 108,
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 30


@pytest.mark.parametrize("name", ["", ".example", "a..b", "a" * 64])
def test_a_name_that_no_certificate_is_for_is_refused(name: str) -> None:
    with pytest.raises(TlsError, match="is no name of a machine"):
        Tls(server_name=name)


@pytest.mark.parametrize("name", ["example.", "a" * 63, "bücher.example", "127.0.0.1", "::1"])
def test_any_other_name_is_taken(name: str) -> None:
    assert Tls(server_name=name).server_name == name
    assert parse_address(f"[{name}]:4040") == TcpAddress(name, 4040)


@pytest.mark.parametrize("text", ["http://localhost:4040", "https://[::1]:4040/status"])
def test_an_address_of_http_is_told_from_one_of_a_daemon(text: str) -> None:
    with pytest.raises(AddressError, match="is one of HTTP, which clients do not speak"):
        parse_address(text)


def test_the_longest_socket_path_still_fits() -> None:
    assert parse_address("unix:" + "x" * 107) == UnixAddress("x" * 107)


def test_the_variable_decides_the_default(tmp_path: Path) -> None:
    variables = {"LITTLED_ADDRESS": "db:4040", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert default_address(variables) == TcpAddress("db", 4040)


def test_without_a_session_the_system_socket_is_meant() -> None:
    assert default_address({}) == UnixAddress(SYSTEM_SOCKET)


def test_a_session_has_its_own_socket(tmp_path: Path) -> None:
    path = tmp_path / "littled.sock"
    path.touch()
    assert default_address({"XDG_RUNTIME_DIR": str(tmp_path)}) == UnixAddress(str(path))


def test_a_system_daemon_that_is_there_beats_a_session_daemon_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "system.sock"
    monkeypatch.setattr("littled_client.addresses.SYSTEM_SOCKET", str(system))
    session = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert default_address(session) == UnixAddress(str(tmp_path / "littled.sock"))
    system.touch()
    assert default_address(session) == UnixAddress(str(system))


def test_the_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITTLED_ADDRESS", "unix:mine.sock")
    assert default_address() == UnixAddress("mine.sock")
