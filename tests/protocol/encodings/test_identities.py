"""Ids and addresses: one wide number each, in words of 16 bits."""

from __future__ import annotations

from typing import Any

import pytest

from littled_protocol.encodings import AddressColumn, EncodingError, IdColumn, column_from_dict
from support.tables import ADDRESS, CARD, HOST


@pytest.mark.parametrize(("column", "words"), [(CARD, 4), (ADDRESS, 8), (HOST, 2)])
def test_words(column: Any, words: int) -> None:
    assert column.words == words
    assert column.features == ()
    assert column_from_dict(column.to_dict()) == column


def test_bits_are_said_where_they_are_not_the_usual_ones() -> None:
    assert IdColumn("c", 64).to_dict() == {"kind": "id", "name": "c"}
    assert IdColumn("c", 20).to_dict() == {"kind": "id", "name": "c", "bits": 20}
    assert IdColumn("c", 20).words == 2
    assert AddressColumn("a", 32).to_dict() == {"kind": "address", "name": "a", "bits": 32}


@pytest.mark.parametrize(
    ("keys", "key", "sentence"),
    [
        ({"kind": "id"}, "name", "must be a text"),
        ({"kind": "id", "name": "c", "bits": 0}, "bits", "must be a whole number from 1 to 128"),
        ({"kind": "id", "name": "c", "bits": 129}, "bits", "must be a whole number from 1 to 128"),
        ({"kind": "id", "name": "c", "bit": 1}, "bit", "is not a known key; did you mean bits?"),
        ({"kind": "address", "name": "a", "bits": 64}, "bits", "must be 32 for IPv4 alone, or 128"),
        ({"kind": "address", "name": "a", "bits": True}, "bits", "must be 32 for IPv4 alone"),
        ({"kind": "address", "name": "a", "zone": 1}, "zone", "is not a known key; the keys here"),
        ({"kind": "text", "name": "a"}, "kind", 'must be "number", "category", "time", "id" or'),
        ({"name": "a"}, "kind", "must be"),
    ],
)
def test_columns_that_cannot_be(keys: dict[str, Any], key: str, sentence: str) -> None:
    with pytest.raises(EncodingError) as raised:
        column_from_dict(keys)
    assert (raised.value.key, raised.value.sentence[: len(sentence)]) == (key, sentence)
