"""Addresses of brokers: what is one, and what a wrong one is told."""

import pytest

from littled_client.brokers.addresses import Secrets, broker_address, is_broker
from littled_client.errors import AddressError


@pytest.mark.parametrize(
    ("text", "hosts", "path", "options"),
    [
        ("nats://localhost/S", (("localhost", 4222),), ("S",), {}),
        ("nats://a:1,b:2/S/C?subject=s.*", (("a", 1), ("b", 2)), ("S", "C"), {"subject": "s.*"}),
        ("kafka://a,b:2/topic/3", (("a", 9092), ("b", 2)), ("topic", "3"), {}),
        ("redis://[::1]:7/a/key?db=2", (("[::1]", 7),), ("a/key",), {"db": "2"}),
        ("mqtt+tls://h/a/b/c?number=n", (("h", 8883),), ("a/b/c",), {"number": "n"}),
        ("mqtt://h/a%2Fb", (("h", 1883),), ("a/b",), {}),
    ],
)
def test_addresses(
    text: str, hosts: tuple[tuple[str, int], ...], path: tuple[str, ...], options: dict[str, str]
) -> None:
    assert is_broker(text)
    found = broker_address(text)
    assert (found.hosts, found.path, found.options) == (hosts, path, options)
    assert found.tls == ("+tls" in text)
    assert found.name.startswith(text.partition("://")[0])


@pytest.mark.parametrize(
    "text",
    [
        "nats://h",
        "nats://h/",
        "nats://h/a/b/c",
        "nats://h:99999/a",
        "nats://h/a?db=1",
        "nats://h/a#b",
        "nats:///a",
        "nats://h:x/a",
        "kafka://h/topic/first",
        "redis://a,b/key",
        "redis://h/key?db=one",
        "redis://h/key?db=",
        "mqtt://h/topic?number=",
    ],
)
def test_wrong_addresses_are_told_the_form(text: str) -> None:
    kind = text.partition(":")[0]
    with pytest.raises(AddressError, match=f"an address of {kind} is {kind}://"):
        broker_address(text)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(AddressError, match="--broker-password-file") as caught:
        broker_address("redis://me:4711@h/key")
    assert "4711" not in str(caught.value)
    assert "4711" not in repr(Secrets("me", "4711"))


@pytest.mark.parametrize("text", ["-", "nats", "a.csv", "nats:/h/S", "http://h/S", "nats+x://h/S"])
def test_other_texts_are_no_brokers(text: str) -> None:
    assert not is_broker(text)


def test_a_stream_is_told_from_others_wherever_its_broker_is() -> None:
    same = {broker_address(f"nats://{host}/S").digest for host in ("a", "b:1")}
    others = {
        broker_address(text).digest
        for text in ("nats://a/T", "nats://a/S?subject=x", "kafka://a/S", "redis://a/S?db=1")
    }
    assert len(same) == 1
    assert len(same | others) == 5
    # A consumer reads the same.
    assert broker_address("nats://a/S/C").digest in same
