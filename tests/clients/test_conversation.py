"""The conversation that both clients share: messages, errors, what may pass, which store."""

from typing import Any

import pytest

from littled_client.addresses import parse_address
from littled_client.conversation import (
    Conversation,
    Identity,
    Witness,
    agent,
    given_up,
    greeting,
    is_passing,
    newest_version,
    random_producer,
    words_of,
    x_types_of,
)
from littled_client.errors import (
    ChangedStoreError,
    ClientError,
    ConnectionLostError,
    StreamElsewhereError,
    UnreachableError,
)
from littled_protocol import limits
from littled_protocol.connection import Connection, Role
from littled_protocol.errors import (
    ErrorCode,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
)
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    Error,
    Hello,
    Message,
    Ping,
    Welcome,
    check_producer,
)
from littled_protocol.rules import Words
from support.small_daemon import small_release

WELCOME = Welcome(1, "test", "store-1", limits.credit_bytes, limits.frame_bytes_max)


def greeted() -> tuple[Conversation, Connection]:
    """A conversation right after the greeting, and the server's side of it."""
    conversation, server = Conversation(), Connection(Role.SERVER)
    server.receive_data(conversation.send(greeting("token")))
    assert server.next_event() == Hello(PROTOCOL_VERSION, agent(), "token")
    assert list(conversation.receive(server.send(WELCOME))) == [WELCOME]
    return conversation, server


def test_the_greeting_says_who_we_are() -> None:
    assert agent().startswith("littled_client/")
    conversation, _ = greeted()
    assert conversation.welcome == WELCOME
    with pytest.raises(ProtocolError):
        greeting("x" * (limits.token_bytes_max + 1))


def test_messages_arrive_however_the_bytes_are_cut() -> None:
    conversation, server = greeted()
    data = b"".join(server.send(Ping(n)) for n in range(5))
    for size in (1, 7, len(data)):
        conversation, _ = greeted()
        found: list[Message] = []
        for start in range(0, len(data), size):
            found += conversation.receive(data[start : start + size])
        assert found == [Ping(n) for n in range(5)]


def test_what_came_before_an_error_is_still_handed_out() -> None:
    conversation, server = greeted()
    error = Error(ErrorCode.SHUTTING_DOWN, "later")
    found: list[Message] = []
    with pytest.raises(RemoteProtocolError, match="later") as caught:
        found.extend(conversation.receive(server.send(Ping(1)) + server.send(error)))
    assert caught.value.code is ErrorCode.SHUTTING_DOWN
    assert found == [Ping(1)]


def test_an_ill_behaved_daemon_is_noticed() -> None:
    conversation, _ = greeted()
    with pytest.raises(RemoteProtocolError) as caught:
        list(conversation.receive(b"\x00\x00\x00\x01\xc0"))
    assert caught.value.code is ErrorCode.MALFORMED_FRAME


@pytest.mark.parametrize("code", list(ErrorCode))
@pytest.mark.parametrize("coming_back", [True, False])
def test_only_refusals_that_say_not_now_may_pass(code: ErrorCode, coming_back: bool) -> None:
    passing = {ErrorCode.SHUTTING_DOWN, ErrorCode.SLOW_SUBSCRIBER, ErrorCode.LIMIT_EXCEEDED}
    if coming_back:
        passing.add(ErrorCode.PRODUCER_BUSY)
    assert is_passing(RemoteProtocolError(code), coming_back=coming_back) == (code in passing)
    assert not is_passing(LocalProtocolError(code), coming_back=coming_back)


def test_a_lost_connection_may_pass_and_a_changed_store_may_not() -> None:
    assert is_passing(ConnectionLostError("gone"), coming_back=False)
    assert not is_passing(ChangedStoreError("another"), coming_back=True)


def test_giving_up_says_where_and_why() -> None:
    address = parse_address("unix:/nowhere")
    error = given_up([address], ConnectionLostError("No such file or directory"))
    assert isinstance(error, UnreachableError)
    assert "unix:/nowhere (No such file or directory)" in str(error)
    refusal = RemoteProtocolError(ErrorCode.PRODUCER_BUSY)
    assert given_up([address], refusal) is refusal
    elsewhere = StreamElsewhereError("s", [], "no daemon serves s")
    assert given_up([address], elsewhere) is elsewhere
    both = given_up([address, parse_address("a:1")], ConnectionLostError("gone"))
    assert "at unix:/nowhere or a:1 (gone)" in str(both)


def test_a_client_keeps_to_one_store() -> None:
    identity = Identity()
    assert not identity.is_other(None, WELCOME)
    for _ in range(2):
        identity.met(WELCOME)
        identity.serves("flights", WELCOME)
    assert identity.instance == "store-1"
    assert identity.frame_bytes_max == WELCOME.frame_bytes_max
    other = Welcome(1, "test", "store-2", 4096, 4096)
    identity.met(other)
    assert identity.instance == "store-1"
    assert identity.is_other(None, other)
    assert identity.is_other("flights", other)
    assert not identity.is_other("ids", other)
    with pytest.raises(ChangedStoreError):
        identity.serves("flights", other)
    # Each stream may be in a store of its own.
    identity.serves("ids", other)
    assert identity.is_other("ids", WELCOME)


def test_a_subscriber_compares_what_it_gets_again() -> None:
    seen = Witness(3)
    assert seen.since() == 3
    assert seen.is_new(small_release("a/b", 4))
    assert seen.is_new(small_release("a/b", 7))
    assert seen.since() == 6
    assert not seen.is_new(small_release("a/b", 7))
    assert seen.is_new(small_release("a/b", 8))
    assert (seen.version, seen.since()) == (8, 7)
    with pytest.raises(ChangedStoreError, match="version 8 of a/b is another one than was seen"):
        seen.is_new(small_release("a/b", 8, threshold=1))


def test_a_subscriber_goes_on_where_a_release_is_missing_that_it_saw() -> None:
    """As after a restore, which begins a new season under a version that was never shown."""
    seen = Witness(0)
    assert seen.is_new(small_release("a/b", 1))
    assert seen.since() == 0
    assert seen.is_new(small_release("a/b", 3))
    assert seen.since() == 2


def test_random_producers_are_legal_and_differ() -> None:
    names = {random_producer() for _ in range(100)}
    assert len(names) == 100
    for name in names:
        check_producer(name, "producer")


def test_the_words_of_all_learners_come_from_the_status() -> None:
    learners = {
        "late": {"words": {"x_name": "delay", "offset": -30}},
        "plain": {"words": {}},
        "silent": {},
        "later": {"words": {"columns": []}},
        "strange": 5,
    }
    status = {"streams": {"flights": {"learners": learners}, "none": {}, "strange": 5}}
    assert words_of(status) == {
        "flights/late": Words("delay", offset=-30),
        "flights/plain": Words(),
        "flights/silent": None,
        "flights/later": None,
        "flights/strange": None,
    }
    empties: list[dict[str, Any]] = [{}, {"streams": None}, {"streams": {"s": {"learners": []}}}]
    for empty in empties:
        assert words_of(empty) == {}


def test_the_newest_version_comes_from_the_status() -> None:
    status: dict[str, Any] = {"streams": {"flights": {"learners": {"late": {"version": 3}}}}}
    assert newest_version(status, "flights/late") == 3
    for unknown in ("flights/early", "ships/late", "flights"):
        with pytest.raises(ClientError, match="no learner"):
            newest_version(status, unknown)
    with pytest.raises(ClientError, match="no learner"):
        newest_version({}, "flights/late")
    status["streams"]["flights"]["learners"]["ask"] = {"kind": "prediction"}
    with pytest.raises(ClientError, match="'flights/ask' publishes no rules; ask it for"):
        newest_version(status, "flights/ask")


def test_the_type_of_points_comes_from_the_status() -> None:
    status = {"streams": {"flights": {"x_type": "u8"}, "old": {}}}
    assert x_types_of(status, "flights")["flights"] == "u8"
    for unknown in ("ships", "old"):
        with pytest.raises(ClientError, match=f"no stream '{unknown}'"):
            x_types_of(status, unknown)
    for body in ({}, {"streams": None}):
        with pytest.raises(ClientError, match="no stream"):
            x_types_of(body, "flights")
