"""Statuses of some streams, and pages of them where there are many."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from littled.limits import (
    HTTP_UNITS_PER_STREAM,
    STATUS_STREAMS_MAX,
    STATUS_UNITS,
    STATUS_UNITS_PER_STREAM,
    STREAM_ANEW_UNITS,
)
from littled.service.access import EVERYTHING, Grant, Permission, Rights
from littled.service.statuses import Names, StatusFrames, StatusTexts, json_text, status_page
from littled_protocol.codec import decode, encode_frame
from littled_protocol.errors import ProtocolError
from littled_protocol.limits import frame_bytes_max
from littled_protocol.messages import StatusRequest
from support.making import made

NAMES = ["b", "a", "d", "c", "e"]
SOME = Rights((Grant("x", frozenset({Permission.FEED}), frozenset({"d", "e"})),))


def tell(streams: Sequence[str]) -> dict[str, Any]:
    return {"server": "littled", "streams": {name: {"position": 1} for name in streams}}


def page(rights: Rights = EVERYTHING, **how: Any) -> tuple[list[str], bool]:
    names, more = status_page(Names(NAMES), rights, **how)
    text, _ = made(StatusTexts(tell).answer(names, more=more))
    body = json.loads(text)
    assert body["server"] == "littled"
    assert body.get("more") in (None, True)
    assert [*body["streams"]] == names
    assert text == json_text(body) or names != sorted(names)
    return names, "more" in body


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


@pytest.mark.parametrize("after", ["b", "c", "nobody"])
def test_what_comes_after_a_stream_that_may_not_be_seen_is_not_told(after: str) -> None:
    """It would tell whether there is a stream of that name, and its place."""
    assert page(SOME, after=after) == ([], False)


def test_a_frame_has_as_many_streams_as_it_has_room_for() -> None:
    names = [f"s{number}" for number in range(3 * STATUS_STREAMS_MAX)]
    size = 10

    def large(streams: Sequence[str]) -> dict[str, Any]:
        return {"streams": {name: {"text": "x" * size} for name in streams}}

    def told(after: str | None = None) -> list[str]:
        making = StatusFrames(large, names).answer(StatusRequest(after=after), EVERYTHING)
        (status, frame), _ = made(making)
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
        (status, frame), _ = made(frames.answer(StatusRequest(), EVERYTHING))
        assert frame == encode_frame(status)
        assert status.body == {"instance": "i", "streams": facts}
        facts["a"] = {"position": facts["a"]["position"] + 300}
    (one, frame), _ = made(frames.answer(StatusRequest("d"), EVERYTHING))
    assert decode(frame[4:]) == one
    assert one.body["streams"] == {"d": {"position": 1}}


def test_what_has_changed_is_charged_for() -> None:
    facts = {name: {"position": 1} for name in NAMES}

    def told(streams: Sequence[str]) -> dict[str, Any]:
        return {"streams": {name: facts[name] for name in streams}}

    frames, texts = StatusFrames(told, NAMES), StatusTexts(told)
    for changed in (len(NAMES), 0, 1, 3, 0):
        facts |= {name: {"position": 2} for name in NAMES[:changed]}
        anew = [STREAM_ANEW_UNITS] * changed
        _, pieces = made(frames.answer(StatusRequest(), EVERYTHING))
        assert pieces == [STATUS_UNITS + STATUS_UNITS_PER_STREAM * len(NAMES), *anew]
        _, pieces = made(texts.answer(NAMES, more=False))
        assert pieces == [HTTP_UNITS_PER_STREAM * len(NAMES), *anew]


class Counted(tuple[str, ...]):
    """Names that are counted when they are looked at."""

    looked = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        Counted.looked += len(found) if isinstance(place, slice) else 1
        return found

    def __iter__(self) -> Any:
        Counted.looked += len(self)
        return super().__iter__()


@pytest.mark.parametrize("rights", [EVERYTHING, SOME])
def test_as_many_names_are_looked_at_as_are_told(rights: Rights) -> None:
    names = Names(["d", "e", *(f"s{number:05}" for number in range(10_000))])
    names.all = Counted(names.all)
    for how in ({"only": {"d", "s00007"}}, {"after": "s09990", "most": 3}, {"most": 5}):
        Counted.looked = 0
        found, _ = status_page(names, rights, **how)
        assert len(found) <= 5
        assert Counted.looked <= 6
