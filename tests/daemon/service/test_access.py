"""Who may come in, and what they may do there: tokens, certificates, users, listening sockets."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from littled.service.access import (
    EVERYTHING,
    OVERFLOW_ID,
    Access,
    AccessError,
    Caller,
    Gate,
    Grant,
    Permission,
    Rights,
    Shown,
    common_name_in,
    digest_of,
    is_loopback,
    one_token,
)

TOKEN = "0123456789abcdef" * 2
FEED, SUBSCRIBE, PREDICT, OPERATE = Permission
FEEDER = Grant("feeder", frozenset({FEED}), frozenset({"flights"}))
WATCHER = Grant("watcher", frozenset({SUBSCRIBE, OPERATE}))
STRANGER = Caller(1, frozenset({1}))
CARER = Grant("carer", frozenset({PREDICT}), frozenset({"ids"}))


def remote(access: Access, token: str | None, common_name: str | None = None) -> Rights | None:
    """The rights of a peer on TCP."""
    return access.rights(Shown(digest_of(token or ""), common_name))


def local(access: Access, token: str | None, caller: Caller) -> Rights | None:
    """The rights of a peer on a Unix socket."""
    return access.rights(Shown(digest_of(token or ""), None, caller))


def test_where_nothing_is_asked_for_everybody_may_do_everything() -> None:
    for shown in (None, "", "anything"):
        assert remote(Access(), shown) == EVERYTHING
        assert local(Access(), shown, STRANGER) == EVERYTHING
    assert all(EVERYTHING.may(permission, "any") for permission in Permission)
    assert EVERYTHING.refused_types == frozenset()
    assert not Access().closes_ports


@pytest.mark.parametrize("shown", [None, "", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "\udcff", "é"])
def test_only_the_exact_token_is_admitted(shown: str | None) -> None:
    access = Access(tokens=one_token(TOKEN))
    found = remote(access, TOKEN)
    assert found is not None
    assert all(found.may(permission, "any") for permission in Permission)
    assert remote(access, shown) is None


@pytest.mark.parametrize("token", ["", "0" * 31])
def test_a_token_that_can_be_guessed_is_refused(token: str) -> None:
    with pytest.raises(AccessError, match="openssl rand"):
        one_token(token)


def test_no_token_is_shown() -> None:
    access = Access(tokens=one_token(TOKEN))
    assert TOKEN not in repr(access)
    assert digest_of(TOKEN).hex() not in repr(access)
    assert str(digest_of(TOKEN)) not in repr([access])


def test_every_guess_is_compared_with_every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the first one matches, and by a comparison that takes the same time for all."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(guess: bytes, digest: bytes) -> bool:
        compared.append((guess, digest))
        return guess == digest

    monkeypatch.setattr("littled.service.access.hmac.compare_digest", compare)
    tokens = {digest_of(str(index)): Grant(str(index), frozenset({FEED})) for index in range(5)}
    for shown in ("0", "2", "4", "none", None):
        compared.clear()
        remote(Access(tokens=tokens), shown)
        assert [digest for _, digest in compared] == list(tokens)
        assert {len(each) for pair in compared for each in pair} == {32}


def test_a_grant_is_for_its_permissions_and_its_streams() -> None:
    access = Access(tokens={digest_of("a"): FEEDER, digest_of("b"): WATCHER})
    feeder, watcher = remote(access, "a"), remote(access, "b")
    assert feeder is not None
    assert watcher is not None
    assert feeder.may(FEED, "flights")
    assert not feeder.may(FEED, "ids")
    assert not feeder.may(SUBSCRIBE, "flights")
    assert feeder.sees("flights")
    assert not feeder.sees("ids")
    assert watcher.may(SUBSCRIBE, "ids")
    assert watcher.may(OPERATE)
    assert not watcher.may(PREDICT)
    assert feeder.refused_types == {"subscribe", "predict"}
    assert watcher.refused_types == {"open", "examples", "predict"}


def test_grants_of_one_peer_add_up_and_do_not_mix() -> None:
    both = Rights((FEEDER, CARER))
    assert both.may(FEED, "flights")
    assert both.may(PREDICT, "ids")
    assert not both.may(FEED, "ids")
    assert not both.may(PREDICT, "flights")


def test_a_certificate_has_a_grant_by_its_name() -> None:
    access = Access(certificates={"feeder-1": FEEDER}, client_ca=True)
    assert remote(access, None, "feeder-1") == Rights((FEEDER,))
    for name in (None, "", "feeder-2", "FEEDER-1"):
        assert remote(access, None, name) is None
    assert remote(Access(client_ca=True), None, "anybody of our authority") == EVERYTHING


def test_a_token_is_asked_for_beside_a_certificate_that_has_no_grant() -> None:
    access = Access(tokens={digest_of("a"): FEEDER}, client_ca=True)
    assert remote(access, None, "feeder-1") is None
    assert remote(access, "a", "feeder-1") == Rights((FEEDER,))
    mixed = Access(tokens={digest_of("a"): FEEDER}, certificates={"c": CARER}, client_ca=True)
    assert remote(mixed, "a", "c") == Rights((FEEDER, CARER))
    assert remote(mixed, None, "c") == Rights((CARER,))


def test_users_and_groups_of_a_unix_socket() -> None:
    access = Access(users={1000: FEEDER}, groups={50: WATCHER, 60: CARER})
    assert local(access, None, Caller(1000, frozenset({1000}))) == Rights((FEEDER,))
    assert local(access, None, Caller(1, frozenset({50, 60}))) == Rights((WATCHER, CARER))
    assert local(access, None, Caller(1, frozenset({1}))) is None


def test_a_token_opens_a_unix_socket_that_asks_who_comes() -> None:
    access = Access(tokens={digest_of("a"): CARER}, users={1000: FEEDER})
    assert local(access, "a", STRANGER) == Rights((CARER,))
    assert local(access, "b", STRANGER) is None
    assert local(access, "a", Caller(1000, frozenset())) == Rights((CARER, FEEDER))
    assert local(Access(tokens={digest_of("a"): CARER}), "wrong", STRANGER) == EVERYTHING


def test_whom_the_kernel_cannot_name_has_no_grant() -> None:
    """In a user namespace everybody outside is 65534, and none of them is meant."""
    grants = {0: FEEDER, 50: WATCHER, OVERFLOW_ID: CARER}
    access = Access(users=grants, groups=grants)
    for groups in ({OVERFLOW_ID}, {50}, {0, 50, OVERFLOW_ID}):
        assert local(access, None, Caller(OVERFLOW_ID, frozenset(groups))) is None
    assert local(access, None, Caller(7, frozenset({OVERFLOW_ID}))) is None


def test_the_kernel_names_who_is_at_the_other_end() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        caller = Caller.of(ours)
    assert caller.user == os.geteuid()
    assert {os.getegid(), *os.getgroups()} <= caller.groups
    with socket.socket() as unconnected:
        unconnected.close()
        assert Caller.of(unconnected).user == OVERFLOW_ID


def test_rights_follow_the_rules_in_force() -> None:
    shown = Shown(digest_of("a"))
    gate = Gate(Access())
    assert gate.rights(shown) == EVERYTHING
    gate.access = Access(tokens={digest_of("a"): FEEDER})
    assert gate.rights(shown) == Rights((FEEDER,))
    gate.access = Access(tokens={digest_of("b"): FEEDER})
    assert gate.rights(shown) is None


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        (None, None),
        ({}, None),
        ({"subject": ((("organizationName", "Lab"),), (("commonName", "feeder-1"),))}, "feeder-1"),
        ({"subject": ((("commonName", "a"), ("commonName", "b")),)}, None),
        ({"subject": ((("commonName", "a"),), (("commonName", "b"),))}, None),
        ({"subject": ((("organizationName", "commonName"),),)}, None),
    ],
)
def test_a_certificate_has_one_common_name_or_none(certificate: Any, name: str | None) -> None:
    assert common_name_in(certificate) == name


def test_grants_are_for_streams_that_there_are() -> None:
    access = Access(tokens={digest_of("a"): FEEDER})
    access.check_streams(["flights", "ids"])
    with pytest.raises(
        AccessError, match="feeder names the stream 'flights', which the store lacks"
    ):
        access.check_streams(["ids"])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["192.0.2.1", "::", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_a_listener_off_the_loopback_interface_needs_a_token_and_tls() -> None:
    tokens = one_token(TOKEN)
    with socket.socket() as everywhere:
        everywhere.bind(("0.0.0.0", 0))  # noqa: S104 - nothing listens
        with pytest.raises(AccessError, match="other machines; set a token"):
            Access().check_listener(everywhere, "TCP", tls=True)
        with pytest.raises(AccessError, match="--plaintext-beyond-loopback"):
            Access(tokens=tokens).check_listener(everywhere, "TCP", tls=False)
        with pytest.raises(AccessError, match="set a token"):
            Access(plaintext=True).check_listener(everywhere, "TCP", tls=False)
        Access(tokens=tokens).check_listener(everywhere, "TCP", tls=True)
        Access(tokens=tokens, plaintext=True).check_listener(everywhere, "TCP", tls=False)
        Access(client_ca=True).check_listener(everywhere, "TCP", tls=True)


def test_other_listeners_do_without(tmp_path: Path) -> None:
    with socket.socket() as here, socket.socket(socket.AF_UNIX) as unix:
        here.bind(("127.0.0.1", 0))
        unix.bind(str(tmp_path / "s"))
        Access().check_listener(here, "HTTP", tls=False)
        Access().check_listener(unix, "unix", tls=False)
