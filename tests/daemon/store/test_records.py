"""Values and chains: golden heads, and nothing that can be moved or left out."""

import dataclasses
import struct
from hashlib import blake2b, sha256
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from littled.limits import COLUMNS_BESIDE_RECORD_BYTES_MIN
from littled.store.records import (
    HEAD_BYTES,
    NewRecord,
    Record,
    StoredRelease,
    continues,
    genesis,
    ledger_genesis,
    ledger_head,
    prediction_genesis,
    prediction_head,
    question_head,
    record_head,
    record_head_beside,
    release_genesis,
    release_head,
    snapshot_checksum,
)

HEAD = bytes(range(32))
NUMBERS = st.integers(0, 2**63 - 1)
RECORDS = st.tuples(
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.text(max_size=4),
    st.binary(max_size=4),
    st.binary(max_size=4),
    st.binary(max_size=4),
)


def test_a_record_head_is_the_documented_hash() -> None:
    lengths = struct.pack(">7Q", 3, 70, 2, 9, 5, 4, 2)
    expected = blake2b(
        HEAD + lengths + b"tower" + b"\1\2\3\4" + b"\0\1", digest_size=32, person=b"littled record"
    ).digest()
    assert record_head(HEAD, 3, 70, 2, 9, "tower", b"\1\2\3\4", b"\0\1") == expected


def test_the_head_of_a_record_with_users_is_the_documented_hash() -> None:
    lengths = struct.pack(">7Q", 3, 70, 2, 9, 5, 4, 2)
    users = bytes(range(32))
    expected = blake2b(
        HEAD + lengths + b"tower" + b"\1\2\3\4" + b"\0\1" + sha256(users).digest(),
        digest_size=32,
        person=b"littled of users",
    ).digest()
    columns = ("tower", b"\1\2\3\4", b"\0\1")
    assert record_head(HEAD, 3, 70, 2, 9, *columns, users) == expected
    assert record_head(HEAD, 3, 70, 2, 9, *columns, b"") == record_head(HEAD, 3, 70, 2, 9, *columns)
    assert expected.hex()[:16] == "e0d65cd262f5af5a"


def test_the_head_of_a_record_beside_the_database_is_the_documented_hash() -> None:
    lengths = struct.pack(">8Q", 3, 70, 2, 9, 5, 4, 2, 32)
    users = bytes(range(32))
    columns = b"\1\2\3\4" + b"\0\1"
    for of_users, length in ((users, 32), (b"", 0)):
        frame = lengths[:-8] + struct.pack(">Q", length)
        expected = blake2b(
            HEAD + frame + b"tower" + blake3(columns + of_users).digest(),
            digest_size=32,
            person=b"littled beside",
        ).digest()
        values = (HEAD, 3, 70, 2, 9, "tower", columns[:4], columns[4:], of_users)
        assert record_head_beside(*values) == expected
    assert expected.hex()[:16] == "05139c6b344918d1"


@given(RECORDS, RECORDS)
def test_a_record_continues_by_either_of_its_heads_and_no_other(one: Any, other: Any) -> None:
    for of_record in (record_head, record_head_beside):
        assert continues(of_record(HEAD, *one), HEAD, *one)
        assert continues(of_record(HEAD, *other), HEAD, *one) == (one == other)
    large = (*one[:5], bytes(COLUMNS_BESIDE_RECORD_BYTES_MIN), *one[6:])
    for of_record in (record_head, record_head_beside):
        assert continues(of_record(HEAD, *large), HEAD, *large)
        assert not continues(of_record(HEAD, *one), HEAD, *large)
    assert record_head(HEAD, *one) != record_head_beside(HEAD, *one)


def test_heads_never_change_between_versions() -> None:
    """Noise is bound to heads: another value would be another history of the same store."""
    start = genesis(bytes(32), "flights", b"{}", b'{"horizon":1}')
    first = record_head(start, 0, 0, 1, 0, "tower", b"\5", b"\1")
    entries = ledger_head(ledger_genesis(start), b"{}")
    releases = release_head(
        release_genesis(start, "flights/late"), StoredRelease("flights/late", 1, b"body", None)
    )
    question = question_head(
        prediction_genesis(start), first, "flights/near", 0, 7, bytes(16), 1, b"\5"
    )
    answer = prediction_head(question, b"\1")
    heads = (start, first, entries, releases, question, answer)
    assert [each.hex()[:16] for each in heads] == [
        "cd170d15d029a4ae",
        "fbf9d853739bc480",
        "10d5fc3e435ac683",
        "2ec468b59b5ed170",
        "a34ec7a73b898500",
        "442592afbba600c8",
    ]


@given(RECORDS, RECORDS)
def test_different_records_have_different_heads(one: tuple[Any, ...], other: Any) -> None:
    for of_record in (record_head, record_head_beside):
        assert (of_record(HEAD, *one) == of_record(HEAD, *other)) == (one == other)


def test_a_byte_that_moves_to_the_next_column_changes_the_head() -> None:
    heads = {
        of_record(HEAD, 0, 0, 1, 0, producer, x, y)
        for of_record in (record_head, record_head_beside)
        for producer, x, y in [
            ("ab", b"c", b"d"),
            ("a", b"bc", b"d"),
            ("a", b"b", b"cd"),
            ("abcd", b"", b""),
        ]
    }
    assert len(heads) == 8


@pytest.mark.parametrize("part", range(4))
def test_the_genesis_binds_every_part(part: int) -> None:
    parts: list[Any] = [bytes(32), "flights", b"configuration", b"plan"]
    other = list(parts)
    other[part] = bytes([1] * 32) if part == 0 else "fligths" if part == 1 else b"else"
    assert genesis(*parts) != genesis(*other)
    assert len(genesis(*parts)) == HEAD_BYTES


def test_the_genesis_knows_where_a_part_ends() -> None:
    assert genesis(bytes(32), "s", b"ab", b"c") != genesis(bytes(32), "s", b"a", b"bc")


def test_the_chains_of_one_stream_are_apart() -> None:
    starts = {
        HEAD,
        ledger_genesis(HEAD),
        release_genesis(HEAD, "flights/late"),
        release_genesis(HEAD, "flights/early"),
        snapshot_checksum(HEAD, -1, b""),
        prediction_genesis(HEAD),
    }
    assert len(starts) == 6


QUESTIONS = st.tuples(
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=32, max_size=32),
    st.text(max_size=4),
    NUMBERS,
    NUMBERS,
    st.binary(max_size=4),
    NUMBERS,
    st.binary(max_size=4),
)


@given(QUESTIONS, QUESTIONS, st.integers(0, 7))
def test_a_question_covers_every_part(
    one: tuple[Any, ...], other: tuple[Any, ...], part: int
) -> None:
    changed = (*one[:part], other[part], *one[part + 1 :])
    assert (question_head(*one) == question_head(*changed)) == (one == changed)
    assert (question_head(*one) == question_head(*other)) == (one == other)


def test_a_byte_that_moves_between_name_and_points_changes_a_question() -> None:
    heads = {
        question_head(HEAD, HEAD, learner, 0, 0, request, 1, x)
        for learner, request, x in [("ab", b"c", b"d"), ("a", b"bc", b"d"), ("a", b"b", b"cd")]
    }
    assert len(heads) == 3
    assert prediction_head(HEAD, b"\0") != prediction_head(HEAD, b"\1")


@pytest.mark.parametrize(
    "other",
    [
        StoredRelease("a/b", 2, b"body", None),
        StoredRelease("a/b", 1, b"bodies", None),
        StoredRelease("a/b", 1, b"body", 0),
    ],
)
def test_a_release_head_covers_every_field(other: Any) -> None:
    assert release_head(HEAD, StoredRelease("a/b", 1, b"body", None)) != release_head(HEAD, other)


def test_a_snapshot_belongs_to_one_history() -> None:
    checksum = snapshot_checksum(HEAD, 3, b"state")
    assert checksum != snapshot_checksum(HEAD[::-1], 3, b"state")
    assert checksum != snapshot_checksum(HEAD, 4, b"state")
    assert checksum != snapshot_checksum(HEAD, 3, b"State")


def test_values_cannot_be_changed() -> None:
    for value in (
        NewRecord("s", "p", 0, 1, b"x", b"y"),
        Record("s", 0, 0, "p", 0, 1, b"x", b"y", HEAD),
        StoredRelease("s/l", 1, b"", None),
    ):
        name = dataclasses.fields(value)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "other")


def test_a_release_knows_its_stream() -> None:
    assert StoredRelease("flights/late", 1, b"", None).stream == "flights"
