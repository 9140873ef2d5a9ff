"""Tokens, and the rule that nothing off the loopback interface is open without one."""

import socket

import pytest

from littled.service.access import Access, AccessError, is_loopback

TOKEN = "0123456789abcdef" * 2


def test_without_a_token_everybody_is_admitted() -> None:
    assert Access().admits(None)
    assert Access().admits("anything")


@pytest.mark.parametrize("shown", [None, "", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "é" * 16])
def test_only_the_exact_token_is_admitted(shown: str | None) -> None:
    assert Access(TOKEN).admits(TOKEN)
    assert not Access(TOKEN).admits(shown)


@pytest.mark.parametrize("token", ["", "0" * 31])
def test_a_token_that_can_be_guessed_is_refused(token: str) -> None:
    with pytest.raises(AccessError, match="shorter than 32 bytes"):
        Access(token)


def test_the_token_is_not_shown() -> None:
    assert TOKEN not in repr(Access(TOKEN))
    assert TOKEN not in str([Access(TOKEN)])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_loopback_addresses(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["::", "192.0.2.1", "::ffff:192.0.2.1", "box", ""])
def test_addresses_that_others_may_reach(host: str) -> None:
    assert not is_loopback(host)


def test_a_listener_off_the_loopback_interface_needs_a_token() -> None:
    with socket.socket() as everywhere:
        everywhere.bind(("0.0.0.0", 0))  # noqa: S104 - never listened on
        Access(TOKEN).check_listener(everywhere, "TCP")
        with pytest.raises(AccessError, match=r"the TCP address 0\.0\.0\.0:\d+ can be reached"):
            Access().check_listener(everywhere, "TCP")


def test_loopback_and_unix_listeners_need_none() -> None:
    with socket.socket() as here, socket.socket(socket.AF_UNIX) as unix:
        here.bind(("127.0.0.1", 0))
        Access().check_listener(here, "HTTP")
        Access().check_listener(unix, "unix")
