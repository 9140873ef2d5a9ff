"""Streams that protect users: a store of a format of its own, with users in its records' chain."""

from dataclasses import replace
from pathlib import Path

import pytest

from littled.store.errors import StoreDamaged, StoreRefused
from littled.store.records import NewRecord, record_head
from littled.store.store import Store
from littled.store.verify import verify
from support.segments import pack_all, small_segments
from support.stores import (
    LEARNER,
    STREAM,
    change,
    column,
    contents,
    entry,
    fill,
    make_store,
    new_record,
    plan_values,
    release,
    rows,
)

pytestmark = pytest.mark.usefixtures("any_database")

VISITS = "visits"


def visit(sequence: int, count: int = 1, producer: str = "desk") -> NewRecord:
    """A record with users, whose contents follow from the other fields."""
    users = column((sequence, count, producer, "users"), 16 * count)
    return replace(new_record(sequence, count, producer, VISITS), users=users)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new store of two streams, of which one protects users."""
    plans = {STREAM: plan_values(), VISITS: plan_values() | {"unit": "user"}}
    Store.create(tmp_path / "store", {"streams": [STREAM, VISITS]}, plans)
    return tmp_path / "store"


def schema(path: Path) -> tuple[int, list[str]]:
    """The format of a store's database and the columns of its records."""
    ((version,),) = rows(path, "PRAGMA user_version")
    return version, [row[1] for row in rows(path, "PRAGMA table_info(records)")]


def test_records_keep_users_and_their_chain(path: Path) -> None:
    new = [visit(0, 3), new_record(0, 2), visit(3, 1), visit(0, 500, "door")]
    with Store.open(path) as store:
        stored = store.append(new)
        assert [each.users for each in stored] == [each.users for each in new]
        assert list(store.records(VISITS)) == [stored[0], stored[2], stored[3]]
        assert list(store.records(STREAM)) == [stored[1]]
        first, second = stored[0], stored[2]
        fields = ("count", "sequence", "producer", "x", "y", "users")
        values = [getattr(second, name) for name in fields]
        assert second.chain_head == record_head(first.chain_head, 1, 3, *values)
        assert second.chain_head != record_head(first.chain_head, 1, 3, *values[:-1])
    with Store.open(path) as store:
        assert list(store.records(VISITS, 0)) == stored[2:]
    report = verify(path)
    assert report.findings == ()
    assert [each.examples for each in report.streams] == [2, 504]


@pytest.mark.in_a_folder
def test_a_store_without_users_is_what_it_always_was(tmp_path: Path, path: Path) -> None:
    plain = make_store(tmp_path / "plain")
    columns = ["key", "first_position", "count", "sequence", "producer", "x", "y", "head"]
    assert schema(plain) == (1, columns)
    assert schema(path) == (2, [*columns, "users"])
    example = make_store(tmp_path / "example", [STREAM])
    assert schema(example) == schema(plain)


def test_users_are_stored_exactly_where_the_stream_protects_them(path: Path) -> None:
    named, plain = visit(0, 2), new_record(0, 2)
    wrong = [
        replace(named, users=b""),
        replace(named, users=named.users[:-1]),
        replace(named, users=named.users + bytes(16)),
        replace(plain, users=named.users),
    ]
    with Store.open(path) as store:
        before = contents(store, VISITS)
        for each in wrong:
            with pytest.raises(ValueError, match=r"users of a record .* do not fit"):
                store.append([each])
        assert contents(store, VISITS) == before
        store.append([named, plain])


@pytest.mark.parametrize(
    "change_of_users",
    [
        "users = CAST(x'00' || substr(users, 2) AS BLOB)",
        "users = x''",
        "users = substr(users, 1, 16)",
        "users = CAST(users || users AS BLOB)",
        "users = zeroblob(length(users))",
    ],
)
def test_a_change_of_users_is_found(path: Path, change_of_users: str) -> None:
    with Store.open(path) as store:
        store.append([visit(0, 2), visit(2, 2)])
    where = "WHERE key = (SELECT max(key) FROM records)"
    change(path / "store.sqlite", f"UPDATE records SET {change_of_users} {where}")  # noqa: S608
    sentence = f"the journal of {VISITS} is damaged at record 1"
    assert any(sentence in finding for finding in verify(path).findings)
    with pytest.raises(StoreRefused, match=sentence):
        Store.open(path)
    with Store.open(path, read_only=True) as store, pytest.raises(StoreDamaged, match=sentence):
        list(store.records(VISITS))


@pytest.mark.in_a_folder
@pytest.mark.parametrize("named", [False, True])
def test_a_format_that_is_not_that_of_the_plans_is_refused(
    tmp_path: Path, path: Path, named: bool
) -> None:
    folder = path if named else make_store(tmp_path / "plain")
    change(folder / "store.sqlite", f"PRAGMA user_version = {1 if named else 2}")
    with pytest.raises(StoreRefused, match="is not the one that the store was made with"):
        Store.open(folder)


@pytest.mark.in_a_folder
def test_a_plan_cannot_be_made_one_of_examples_afterwards(path: Path) -> None:
    change(
        path / "store.sqlite",
        "UPDATE streams SET plan = CAST(replace(CAST(plan AS TEXT), 'user', 'example') AS BLOB)",
    )
    change(path / "store.sqlite", "PRAGMA user_version = 1")
    with pytest.raises(StoreRefused, match="is not the one that the store was made with"):
        Store.open(path)


def test_everything_else_is_stored_beside_users(path: Path) -> None:
    with Store.open(path) as store:
        fill(store)
        store.append([visit(0, 2)])
        store.charge(entry(0, stream=VISITS))
        store.publish([release(1, learner="visits/late")], ())
        store.save_snapshot(VISITS, 0, b"state")
    with Store.open(path) as store:
        assert store.snapshot(VISITS) == (0, b"state")
        assert len(store.ledger(VISITS)) == 1
        assert store.releases(LEARNER)
    assert verify(path).findings == ()


def test_records_that_are_large_by_their_users_are_not_packed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their heads are those of columns that stand apart, wherever these stand."""
    small_segments(monkeypatch, records=3)
    with Store.open(path) as store:
        large = [visit(200 * number, 200) for number in range(60)]
        stored = store.append([*large, visit(0, 1, "door")])
        pack_all(store)
        assert list(store.records(VISITS)) == stored
    assert verify(path).findings == ()
