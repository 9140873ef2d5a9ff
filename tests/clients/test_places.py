"""Where clients look for a stream, and where no daemon can send them; without any I/O."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.addresses import Address, TcpAddress, UnixAddress, parse_address
from littled_client.errors import (
    AddressError,
    ConnectionLostError,
    StreamElsewhereError,
)
from littled_client.places import HOPS_MAX, Addresses, Places, Walk
from littled_client.tls import Tls
from littled_protocol import limits
from littled_protocol.messages import Moved

TLS, UNIX, LOOPBACK, PLAIN = "tls://a.example:1", "unix:/a", "127.0.0.1:1", "a.example:1"


def places(*addresses: str, tls: Tls | None = None, has_token: bool = True) -> Places:
    return Places(addresses, tls, has_token=has_token)


def moved(*addresses: str, after_ms: int = 0) -> Moved:
    return Moved("s", list(addresses), after_ms, 0)


def asked(walk: Walk, said: dict[str, list[str]]) -> list[str]:
    """The places that a walk asks, in order; those of `said` name others, others are away."""
    found = []
    while (place := walk.next()) is not None:
        found.append(str(place.address))
        if found[-1] in said:
            walk.redirected(moved(*said[found[-1]]))
        else:
            walk.failed(ConnectionLostError(f"{found[-1]} is away"))
    return found


# --- Which addresses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_as", "found"),
    [
        ("unix:/a", ["unix:/a"]),
        ("a:1,b:2", ["a:1", "b:2"]),
        (" a:1 , tls://b:2,unix:/c ", ["a:1", "tls://b:2", "unix:/c"]),
        ("unix:/odd,name", ["unix:/odd,name"]),
        ("unix:/odd,name,b:2", ["unix:/odd,name", "b:2"]),
        ("a:1,[::1]:2", ["a:1", "[::1]:2"]),
        (UnixAddress("/a"), ["unix:/a"]),
        (["a:1", TcpAddress("b", 2), "a:1"], ["a:1", "b:2"]),
    ],
)
def test_addresses_are_one_or_several(given_as: Addresses, found: list[str]) -> None:
    assert list(map(str, Places(given_as, None, has_token=False).addresses)) == found


@pytest.mark.parametrize("wrong", [[], "", "a:1,", "a:1,b", ["a:1", ""]])
def test_addresses_that_are_none(wrong: Addresses) -> None:
    with pytest.raises(AddressError):
        Places(wrong, None, has_token=False)


def test_the_usual_places_may_be_several(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LITTLED_ADDRESS", f"unix:{tmp_path}/a,tls://b:1")
    found = Places(None, None, has_token=False).addresses
    assert list(map(str, found)) == [f"unix:{tmp_path}/a", "tls://b:1"]


def test_whoever_answered_last_is_asked_first() -> None:
    both = places("a:1", "b:2", "c:3")
    both.reached(both.given[1])
    assert asked(both.walk("s"), {}) == ["b:2", "a:1", "c:3"]
    elsewhere = Places("d:4", None, has_token=False).given[0]
    both.reached(elsewhere)
    assert asked(both.walk("s"), {}) == ["b:2", "a:1", "c:3"]


# --- Following ------------------------------------------------------------------------------------


def test_each_address_is_asked_and_followed_in_order() -> None:
    walk = places("unix:/a", "unix:/b").walk("s")
    said = {"unix:/a": ["unix:/c", "unix:/d"], "unix:/c": ["unix:/e"], "unix:/b": ["unix:/c"]}
    assert asked(walk, said) == [f"unix:/{name}" for name in "acedb"]
    failure = walk.failure()
    assert isinstance(failure, StreamElsewhereError)
    assert failure.stream == "s"
    assert failure.addresses == ("unix:/c", "unix:/d", "unix:/e")
    assert str(failure) == (
        "no daemon serves s where daemons say that it is: unix:/a names unix:/c and unix:/d; "
        "unix:/c names unix:/e; unix:/b names unix:/c (the last one that failed: unix:/d is away)"
    )


@pytest.mark.parametrize(
    "said",
    [
        {"unix:/a": ["unix:/a"]},
        {"unix:/a": ["unix:/b"], "unix:/b": ["unix:/a"]},
        {"unix:/a": ["unix:/b"], "unix:/b": ["unix:/c"], "unix:/c": ["unix:/a", "unix:/b"]},
    ],
)
def test_a_circle_is_left_after_one_round(said: dict[str, list[str]]) -> None:
    walk = places("unix:/a").walk("s")
    assert asked(walk, said) == list(said)
    failure = walk.failure()
    assert isinstance(failure, StreamElsewhereError)
    assert all(address in str(failure) for address in said)


def test_a_chain_has_an_end() -> None:
    said = {f"unix:/{number}": [f"unix:/{number + 1}"] for number in range(100)}
    assert asked(places("unix:/0").walk("s"), said) == [
        f"unix:/{number}" for number in range(HOPS_MAX + 1)
    ]


@given(
    st.dictionaries(
        st.integers(0, 30), st.lists(st.integers(0, 30), max_size=limits.moved_addresses_max)
    ),
    st.lists(st.integers(0, 30), min_size=1, max_size=4),
)
def test_every_walk_ends_and_asks_nobody_twice(
    graph: dict[int, list[int]], begin: list[int]
) -> None:
    said = {f"unix:/{at}": [f"unix:/{to}" for to in many] for at, many in graph.items()}
    first = [f"unix:/{at}" for at in begin]
    walk = places(*first).walk("s")
    found = asked(walk, said)
    assert len(set(found)) == len(found)
    assert set(first) <= set(found)
    known = set(first).union(*(said.get(each, []) for each in found))
    assert set(found) <= known
    assert walk.next() is None


def test_nobody_is_waited_for_as_long_as_daemons_say() -> None:
    walk = places("unix:/a", "unix:/b").walk("s")
    for after_ms in (500, 200):
        assert walk.next() is not None
        walk.redirected(moved(after_ms=after_ms))
    assert walk.next() is None
    assert walk.again_seconds == 0.5
    assert str(walk.failure()) == "no daemon serves s right now, as unix:/a and unix:/b knows"


def test_without_any_answer_the_last_failure_counts() -> None:
    walk = places("unix:/a", "unix:/b").walk(None)
    assert asked(walk, {}) == ["unix:/a", "unix:/b"]
    assert str(walk.failure()) == "unix:/b is away"


def test_an_address_of_a_later_grammar_is_passed_over() -> None:
    walk = places("unix:/a").walk("s")
    assert asked(walk, {"unix:/a": ["quic://b", "unix:/c"]}) == ["unix:/a", "unix:/c"]


# --- Safety ---------------------------------------------------------------------------------------

FOLLOWED = {
    TLS: {"tls://b.example:2"},
    UNIX: {"tls://b.example:2", "unix:/b", "127.0.0.1:2", "localhost:2", "[::1]:2"},
    LOOPBACK: {"tls://b.example:2", "127.0.0.1:2", "localhost:2", "[::1]:2"},
    PLAIN: {"tls://b.example:2"},
}
OTHERS = [
    "tls://b.example:2", "unix:/b", "127.0.0.1:2", "localhost:2", "[::1]:2", "b.example:2",
    "10.0.0.2:2", "[::ffff:10.0.0.2]:2", "localhost.b.example:2",
]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("first", FOLLOWED)
@pytest.mark.parametrize("has_token", [True, False])
def test_an_address_is_followed_exactly_where_it_is_as_safe(
    first: str, other: str, has_token: bool
) -> None:
    walk = places(first, has_token=has_token).walk("s")
    assert walk.next() is not None
    plain = not has_token and first == PLAIN and other in OTHERS[5:]
    if other in FOLLOWED[first] or plain:
        walk.redirected(moved(other))
        place = walk.next()
        assert place is not None
        assert place.address == parse_address(other)
        assert (place.tls is not None) == other.startswith("tls://")
        return
    with pytest.raises(StreamElsewhereError, match="is not as safe as") as caught:
        walk.redirected(moved(other))
    assert caught.value.addresses == (other,)
    assert walk.next() is None


def test_of_several_addresses_the_safe_ones_are_followed() -> None:
    walk = places(TLS).walk("s")
    walk.next()
    walk.redirected(moved("b:1", "tls://b:2", "unix:/b"))
    place = walk.next()
    assert place is not None
    assert str(place.address) == "tls://b:2"
    assert walk.next() is None


def test_an_address_that_was_given_is_as_safe_as_its_user_says() -> None:
    walk = places(TLS, "b:1").walk("s")
    assert asked(walk, {TLS: ["b:1"]}) == [TLS, "b:1"]


def test_what_is_named_on_the_way_is_judged_by_the_first_address() -> None:
    walk = places(UNIX).walk("s")
    walk.next()
    walk.redirected(moved("tls://b:2"))
    walk.next()
    walk.redirected(moved("127.0.0.1:3"))  # by a daemon that was reached over TLS
    place = walk.next()
    assert place is not None
    assert place.address == TcpAddress("127.0.0.1", 3)


def test_a_certificate_has_to_be_for_the_new_host() -> None:
    tls = Tls(ca="ca.pem", certificate="me.pem", server_name="a.internal")
    both = Places(["10.0.0.1:1", "10.0.0.2:1"], tls, has_token=True)
    assert [place.tls for place in both.given] == [tls, tls]
    walk = both.walk("s")
    walk.next()
    walk.redirected(moved("tls://b.example:1", "tls://10.0.0.2:1"))
    new, known = walk.next(), walk.next()
    assert new is not None
    assert new.tls == Tls(ca="ca.pem", certificate="me.pem", server_name=None)
    assert known is not None
    assert known.tls == tls  # its user said which name it has


def test_tls_is_not_for_sockets() -> None:
    with pytest.raises(AddressError, match="TLS is for TCP"):
        Places(["a:1", "unix:/b"], Tls(), has_token=False)


addresses = st.sampled_from([*FOLLOWED, *OTHERS]).map(parse_address)


@given(addresses, addresses, st.booleans())
def test_no_token_ever_goes_over_plain_tcp_where_a_daemon_says_so(
    first: Address, other: Address, has_token: bool
) -> None:
    found = Places(first, None, has_token=has_token)
    place = found.follow(found.given[0], str(other))
    if has_token and place is not None and other != first and isinstance(other, TcpAddress):
        assert other.tls or other.host in ("127.0.0.1", "localhost", "::1")
