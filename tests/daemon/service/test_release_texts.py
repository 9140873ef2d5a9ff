"""What is told of releases: made once of each, in turns, and paid for by who asks first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from littled.limits import HTTP_UNITS_PER_STREAM, RELEASE_ANEW_UNITS, RELEASE_VALUE_UNITS
from littled.service import release_texts
from littled.service.release_texts import ReleaseTexts, values_in
from littled_client.published import Published
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, RuleError, Words, rule_from_dict
from support.making import made

WORDS = Words("departure delay", "min", -30, "late", "not late")


def release(version: int, members: int = 5) -> Release:
    rule = {"kind": "points", "bits": 16, "members": list(range(1, 2 * members, 2))}
    return Release("flights/late", version, "rule", 0, version, 10 * version, rule)


@pytest.fixture
def texts() -> ReleaseTexts:
    return ReleaseTexts(lambda _: WORDS)


def anew(members: int) -> float:
    """What it costs to make something of such a release: its kind and its bits are values too."""
    return RELEASE_ANEW_UNITS + RELEASE_VALUE_UNITS * (members + 2)


def test_a_release_is_made_once_and_paid_for_by_its_values(texts: ReleaseTexts) -> None:
    short, large = release(1), release(2, 300)
    found, pieces = made(texts.shorts([short, large, short]))
    assert [one["version"] for one in found] == [1, 2, 1]
    assert pieces == [anew(5), anew(300), HTTP_UNITS_PER_STREAM]
    assert made(texts.shorts([short, large])) == (found[:2], 2 * [HTTP_UNITS_PER_STREAM])


def test_every_form_is_what_it_is_by_itself(
    texts: ReleaseTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    parse = rule_from_dict

    def watched(rule: Any) -> Rule:
        read.append(rule)
        return parse(rule)

    monkeypatch.setattr(release_texts, "rule_from_dict", watched)
    one = release(3)
    whole = Published.from_release(one, WORDS).to_dict()
    for _ in range(2):
        assert json.loads(made(texts.text(one))[0]) == json.loads(made(texts.event(one))[0])
        assert json.loads(made(texts.text(one))[0]) == json.loads(json.dumps(whole))
        for column in ("x", "z"):
            form = ("sql", column)
            sql, _ = made(texts.written(one, form, lambda rule, w, c=column: rule.to_sql(w, c)))  # type: ignore[misc]
            assert sql == parse(one.rule or {}).to_sql(WORDS, column)
    assert len(read) == 1


def test_no_more_is_kept_than_there_is_room_for(
    texts: ReleaseTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_texts, "HTTP_RELEASES_KEPT_BYTES", 20_000)
    for version in range(1, 101):
        made(texts.text(release(version)))
        assert texts._bytes == sum(size for _, size in texts._kept.values()) <= 20_000
    assert 1 < len(texts._kept) < 50
    _, pieces = made(texts.text(release(100)))
    assert pieces == [HTTP_UNITS_PER_STREAM]
    _, pieces = made(texts.text(release(1)))
    assert pieces == [anew(5)]


def test_a_release_without_a_rule_is_told() -> None:
    halt = Release("flights/late", 1, "halt", 0, 1, 10, None)
    (found,), _ = made(ReleaseTexts(lambda _: WORDS).shorts([halt]))
    assert (found["kind"], found["text"], found["cut"]) == ("halt", None, None)


def test_values_are_counted_at_any_depth() -> None:
    assert values_in({"a": [1, [2, "x"], {"b": True}], "c": None}) == 4


@pytest.mark.parametrize("form", ["short", "event"])
def test_what_is_told_of_many_large_releases_is_kept(
    texts: ReleaseTexts, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """It is short: the rules that it was made of, which take many times as much, are not kept."""
    monkeypatch.setattr(release_texts, "HTTP_RELEASES_KEPT_BYTES", 32 * 10_000)
    releases = [release(version, 1_000) for version in range(1, 33)]
    tell = getattr(texts, form)
    told = [made(tell(one)) for one in releases]
    assert [pieces for _, pieces in told] == [[anew(1_000)]] * 32
    again = [made(tell(one)) for one in releases]
    assert again == [(value, [HTTP_UNITS_PER_STREAM]) for value, _ in told]


def test_what_two_ask_for_at_a_time_is_made_once(texts: ReleaseTexts) -> None:
    first, second = texts.event(release(1)), texts.event(release(1))
    assert [next(first), next(second)] == [anew(5), HTTP_UNITS_PER_STREAM]
    assert made(second) == made(first)


def test_what_goes_wrong_is_paid_for(texts: ReleaseTexts) -> None:
    def wrong(_: Rule, __: Words) -> str:
        raise RuleError("no such column")

    making = texts.written(release(1, 300), ("sql", "x"), wrong)
    assert next(making) == anew(300)
    with pytest.raises(RuleError, match="no such column"):
        next(making)
