"""Statuses of some streams, and pages of them where there are many."""

from collections.abc import Sequence
from typing import Any

import pytest

from littled.limits import STATUS_STREAMS_MAX
from littled.service.access import EVERYTHING, Grant, Permission, Rights
from littled.service.statuses import StatusFrames, status_page
from littled_protocol.codec import decode, encode_frame
from littled_protocol.errors import ProtocolError
from littled_protocol.limits import frame_bytes_max
from littled_protocol.messages import StatusRequest

NAMES = ["b", "a", "d", "c", "e"]
SOME = Rights((Grant("x", frozenset({Permission.FEED}), frozenset({"d", "e"})),))


def tell(streams: Sequence[str]) -> dict[str, Any]:
    return {"server": "littled", "streams": {name: {"position": 1} for name in streams}}


def page(rights: Rights = EVERYTHING, **how: Any) -> tuple[list[str], bool]:
    body = status_page(tell, NAMES, rights, **how)
    assert body["server"] == "littled"
    assert body.get("more") in (None, True)
    return [*body["streams"]], "more" in body


def test_a_page_goes_on_after_the_last_one() -> None:
    assert page() == (NAMES, False)
    assert page(most=2) == (["b", "a"], True)
    assert page(most=2, after="a") == (["d", "c"], True)
    assert page(most=2, after="c") == (["e"], False)
    assert page(most=2, after="e") == ([], False)
    assert page(most=5) == (NAMES, False)
    assert page(after="nobody") == ([], False)


def test_only_what_is_asked_for_and_may_be_seen_is_told() -> None:
    assert page(only={"c", "nobody"}) == (["c"], False)
    assert page(only={"c", "b"}, most=1) == (["b"], True)
    assert page(SOME) == (["d", "e"], False)
    assert page(SOME, most=1) == (["d"], True)
    assert page(SOME, most=1, after="d") == (["e"], False)
    assert page(SOME, only={"a"}) == ([], False)


def test_a_frame_has_as_many_streams_as_it_has_room_for() -> None:
    names = [f"s{number}" for number in range(3 * STATUS_STREAMS_MAX)]
    size = 10

    def large(streams: Sequence[str]) -> dict[str, Any]:
        return {"streams": {name: {"text": "x" * size} for name in streams}}

    def told(after: str | None = None) -> list[str]:
        status, frame = StatusFrames(large, names).answer(StatusRequest(after=after), EVERYTHING)
        assert decode(frame[4:]) == status
        assert frame == encode_frame(status)
        assert len(frame) <= frame_bytes_max
        assert status.body.get("more", False) == (names[-1] not in status.body["streams"])
        return [*status.body["streams"]]

    assert told() == names[:STATUS_STREAMS_MAX]
    size = frame_bytes_max // 10
    found = told()
    assert found == names[: len(found)]
    assert 1 < len(found) < 10
    assert told(found[-1])[0] == names[len(found)]
    size = frame_bytes_max
    with pytest.raises(ProtocolError):
        told()


def test_what_has_changed_is_encoded_again() -> None:
    facts = {name: {"position": 1} for name in NAMES}

    def told(streams: Sequence[str]) -> dict[str, Any]:
        return {"instance": "i", "streams": {name: facts[name] for name in streams}}

    frames = StatusFrames(told, NAMES)
    for _ in range(3):
        status, frame = frames.answer(StatusRequest(), EVERYTHING)
        assert frame == encode_frame(status)
        assert status.body == {"instance": "i", "streams": facts}
        facts["a"] = {"position": facts["a"]["position"] + 300}
    one, frame = frames.answer(StatusRequest("d"), EVERYTHING)
    assert decode(frame[4:]) == one
    assert one.body["streams"] == {"d": {"position": 1}}
