"""Marks in etcd by their names: what is understood, and what is refused without repeating it."""

from pathlib import Path

import pytest

from littled.store.errors import StoreRefused
from littled.store.etcd_place import MarkInEtcd
from littled.store.place import MarkFile, mark_place


@pytest.mark.parametrize(
    "url",
    [
        "etcd://127.0.0.1:2379/littled",
        "etcd://one:2379,two.example:2380,[::1]:2379/littled/of/mine",
        "etcds://one:2379/a?ca=/etc/ca.pem",
        "etcds://littled@one:2379/a?ca=ca&cert=c.pem&key=c.key&password_file=/run/with%20blank",
        "etcd://me@localhost:2379/a?password_file=secret",
    ],
)
def test_a_name_says_what_was_understood(url: str) -> None:
    place = mark_place(url)
    assert isinstance(place, MarkInEtcd)
    assert str(place) == url
    assert MarkInEtcd.parse(str(place)) == place


def test_every_part_is_understood() -> None:
    assert MarkInEtcd.parse(
        "etcds://me@one:1,[::1]:65535/a/b?ca=ca&cert=c&key=k&password_file=p"
    ) == MarkInEtcd(
        (("one", 1), ("[::1]", 65535)),
        "a/b",
        tls=True,
        user="me",
        ca=Path("ca"),
        cert=Path("c"),
        key=Path("k"),
        password_file=Path("p"),
    )


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("etcd://one/a", "endpoints of the mark are not understood"),
        ("etcd://one:2379,/a", "endpoints of the mark are not understood"),
        ("etcd://one:0/a", "endpoints of the mark are not understood"),
        ("etcd://one:65536/a", "endpoints of the mark are not understood"),
        ("etcd://one:2379", "needs a prefix"),
        ("etcd://one:2379/", "needs a prefix"),
        ("etcd://one:2379/a/", "needs a prefix"),
        ("etcd://one:2379/a b", "needs a prefix"),
        ("etcds://me:canary@one:2379/a", "a password does not belong"),
        ("etcds://me@one:2379/a", "needs a password_file"),
        ("etcds://one:2379/a?password_file=f", "needs a password_file, and that needs a user"),
        ("etcd://me@one:2379/a?password_file=f", "for another machine needs TLS"),
        ("etcd://me@127.0.0.1.example:2379/a?password_file=f", "for another machine needs TLS"),
        ("etcd://one:2379/a?ca=f", "are for etcds://"),
        ("etcds://one:2379/a?cert=f", "needs both cert and key"),
        ("etcds://one:2379/a?ca=f&ca=g", "each once"),
        ("etcds://one:2379/a?ca=", "each once"),
        ("etcds://one:2379/a?password=canary", "each once"),
    ],
)
def test_anything_else_is_refused_and_not_repeated(url: str, sentence: str) -> None:
    with pytest.raises(StoreRefused, match=sentence) as refused:
        mark_place(url)
    assert "canary" not in str(refused.value)


def test_paths_stay_paths() -> None:
    assert mark_place("etcd") == MarkFile(Path("etcd"))
    assert mark_place("etcd:/x") == MarkFile(Path("etcd:/x"))
    assert mark_place("file://x") == MarkFile(Path("file://x"))
    assert mark_place(Path("etcd://x:1/y")) == MarkFile(Path("etcd:/x:1/y"))
