"""Addresses of HTTP that commands take."""

import pytest

from littled.cli.urls import PORTS, url_parts


@pytest.mark.parametrize(
    ("address", "scheme", "host", "port"),
    [
        ("https://a.example/path?query", "https", "a.example", None),
        ("HTTP://A:8790", "http", "a", 8790),
        ("http://[::1]:1/", "http", "::1", 1),
    ],
)
def test_a_scheme_and_a_host_are_an_address(
    address: str, scheme: str, host: str, port: int | None
) -> None:
    parts = url_parts(address)
    assert parts is not None
    assert (parts.scheme, parts.hostname, parts.port) == (scheme, host, port)
    assert scheme in PORTS


@pytest.mark.parametrize(
    "address",
    ["", "a.example", "ftp://a", "unix:littled.sock", "http://", "http://a:0", "http://a:99999",
     "http://[::1", "https:///path"],
)  # fmt: skip
def test_anything_else_is_none(address: str) -> None:
    assert url_parts(address) is None
