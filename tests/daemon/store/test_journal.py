"""Reading a journal: from anywhere, and never past a break."""

from pathlib import Path

import pytest

from littled.store.errors import StoreDamaged
from littled.store.history import History
from support.stores import STREAM, change

pytestmark = pytest.mark.usefixtures("any_database")


def test_records_are_read_from_anywhere_to_anywhere(history: History) -> None:
    everything = list(history.journal.records(STREAM))
    assert [(each.number, each.first_position, each.count) for each in everything] == [
        (0, 0, 5),
        (1, 5, 1),
        (2, 6, 8),
    ]
    assert [(each.producer, each.sequence) for each in everything] == [
        ("tower", 0),
        ("tower", 5),
        ("radar", 0),
    ]
    for after in range(-1, 4):
        for last in range(-1, 4):
            found = list(history.journal.records(STREAM, after, last))
            assert found == everything[after + 1 : last + 1]


def test_a_break_is_noticed_where_it_is_and_not_before(small_store: Path, history: History) -> None:
    change(small_store / "store.sqlite", "UPDATE records SET y = zeroblob(1) WHERE sequence = 5")
    change(small_store / "store.sqlite", "UPDATE records SET x = zeroblob(64) WHERE count = 8")
    reading = history.journal.records(STREAM)
    assert next(reading).number == 0
    with pytest.raises(StoreDamaged, match="journal of flights is damaged at record 1"):
        next(reading)
    with pytest.raises(StoreDamaged, match="at record 2"):
        list(history.journal.records(STREAM, after=1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET key = key + 5 WHERE sequence = 5",
        "UPDATE records SET first_position = -1 WHERE sequence = 5",
        "UPDATE records SET count = 0 WHERE sequence = 5",
        "UPDATE records SET sequence = -6 WHERE sequence = 5",
        "UPDATE records SET producer = 99 WHERE sequence = 5",
        "UPDATE records SET head = x'00' WHERE sequence = 5",
    ],
)
def test_no_field_of_a_record_can_be_changed(
    small_store: Path, history: History, statement: str
) -> None:
    change(small_store / "store.sqlite", statement)
    with pytest.raises(StoreDamaged, match="at record 1"):
        list(history.journal.records(STREAM))


def test_damage_is_described_without_private_values(small_store: Path, history: History) -> None:
    change(small_store / "store.sqlite", "UPDATE records SET x = CAST('secretsecret' AS BLOB)")
    with pytest.raises(StoreDamaged) as caught:
        list(history.journal.records(STREAM))
    assert "secret" not in str(caught.value)
