"""Other protocols, told by their first bytes, and never mistaken for ours."""

import pytest

from littled_protocol import limits
from littled_protocol.foreign import asks_by_http, http_refusal, speaks_tls

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI")


@pytest.mark.parametrize("method", METHODS)
def test_requests_of_http_are_told_by_four_bytes(method: str) -> None:
    first = f"{method} * HTTP/1.1".encode()[:4]
    assert asks_by_http(first)
    assert not speaks_tls(first)
    assert int.from_bytes(first, "big") > limits.frame_bytes_max


@pytest.mark.parametrize("first", [b"\x16\x03\x01\x02", b"\x16\x03\x03\x00", b"\x15\x03\x03\x00"])
def test_tls_is_told_by_its_records(first: bytes) -> None:
    assert speaks_tls(first)
    assert not asks_by_http(first)
    assert int.from_bytes(first, "big") > limits.frame_bytes_max


def test_no_length_of_a_frame_is_foreign() -> None:
    for length in (0, 1, limits.first_frame_bytes_max, limits.frame_bytes_max):
        first = length.to_bytes(4, "big")
        assert not asks_by_http(first)
        assert not speaks_tls(first)
    assert not asks_by_http(b"")
    assert not asks_by_http(b"GET")


def test_a_refusal_is_a_whole_answer() -> None:
    head, _, body = http_refusal("No.").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"Content-Length: 4" in head
    assert body == b"No.\n"
