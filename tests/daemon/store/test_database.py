"""What never changes about a store, in whatever database it is."""

from pathlib import Path

import pytest

from littled.store.database import json_bytes, plan_of, read_facts, record_key
from littled.store.errors import StoreDamaged
from littled.store.sqlite import SqliteReaders
from support.stores import STREAM, change, make_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The database of a new store."""
    return make_store(tmp_path / "store") / "store.sqlite"


def test_keys_of_one_stream_stand_together() -> None:
    keys = [
        record_key(stream, number) for stream in (1, 2, 500_000) for number in (0, 1, 2**44 - 1)
    ]
    assert keys == sorted(set(keys))
    assert keys[-1] < 2**63


def test_stored_mappings_keep_their_order() -> None:
    assert json_bytes({"b": 1, "a": {"z": "é"}}) == b'{"b":1,"a":{"z":"\\u00e9"}}'
    with pytest.raises(ValueError, match="JSON"):
        json_bytes({"a": float("nan")})


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM meta WHERE name = 'instance'",
        "UPDATE meta SET value = x'ff' WHERE name = 'instance'",
        "UPDATE streams SET genesis = zeroblob(32)",
        "UPDATE streams SET name = 'other'",
    ],
)
def test_a_changed_description_is_damage(path: Path, statement: str) -> None:
    change(path, statement)
    readers = SqliteReaders(path)
    with pytest.raises(StoreDamaged, match="put back a backup"):
        read_facts(readers)
    readers.close()


def test_a_plan_that_is_no_plan_is_damage(path: Path) -> None:
    readers = SqliteReaders(path)
    facts = read_facts(readers)
    readers.close()
    assert plan_of(facts, STREAM)["horizon"] == 1000
    for plan in (b"[]", b"{"):
        object.__setattr__(facts.streams[STREAM], "plan", plan)
        with pytest.raises(StoreDamaged, match="plan"):
            plan_of(facts, STREAM)
