"""What may follow what, before the disk is touched."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.store.database import Facts, StreamFacts
from littled.store.errors import StoreDamaged
from littled.store.mark import Point, StreamMark, no_predictions
from littled.store.records import NewRecord, StoredRelease, ledger_genesis, record_head
from littled.store.staging import INTEGER_MAX, Arrivals, Batch
from littled.store.store import Store
from support.stores import (
    CAPS,
    LEARNER,
    STREAM,
    entry,
    fill,
    make_store,
    new_record,
    release,
)

pytestmark = pytest.mark.usefixtures("any_database")

GENESIS = bytes(range(32))
STREAMS = {name: StreamFacts(number, b"{}", GENESIS) for number, name in enumerate(("a", "b"), 1)}
FACTS = Facts("instance", bytes(32), b"", b"{}", STREAMS)
EMPTY = StreamMark(
    GENESIS,
    Point(-1, GENESIS),
    0,
    Point(-1, ledger_genesis(GENESIS)),
    0,
    Price.zero(),
    no_predictions(GENESIS),
)


def batch(marks: dict[str, StreamMark] | None = None, known: int = 0) -> Batch:
    return Batch(FACTS, marks or {"a": EMPTY, "b": EMPTY}, lambda stream, name: None, known)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["p", "q"]), st.integers(1, 5)),
        min_size=1,
        max_size=12,
    )
)
def test_a_batch_continues_every_stream_and_every_producer(
    parts: list[tuple[str, str, int]],
) -> None:
    staged = batch(known=40)
    following: dict[tuple[str, str], int] = {}
    heads = {"a": GENESIS, "b": GENESIS}
    positions = {"a": 0, "b": 0}
    numbers = {"a": 0, "b": 0}
    for stream, producer, count in parts:
        sequence = following.get((stream, producer), 0)
        new = new_record(sequence, count, producer, stream)
        staged.add(new)
        following[stream, producer] = sequence + count
        stored = staged.stored[-1]
        heads[stream] = record_head(
            heads[stream],
            numbers[stream],
            positions[stream],
            count,
            sequence,
            producer,
            new.x,
            new.y,
        )
        assert (stored.number, stored.first_position) == (numbers[stream], positions[stream])
        assert stored.chain_head == heads[stream]
        numbers[stream] += 1
        positions[stream] += count
    assert {name: each[1] for name, each in staged.producers.items()} == following
    assert sorted(each[0] for each in staged.producers.values()) == list(
        range(41, 41 + len(following))
    )
    for stream, mark in staged.marks().items():
        assert mark.journal == Point(numbers[stream] - 1, heads[stream])
        assert mark.position == positions[stream]
    assert len({row[0] for row in staged.rows}) == len(parts)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sequence": 1}, "producer tower of stream a is at 0, not at 1"),
        ({"sequence": -1}, "producer tower of stream a is at 0, not at -1"),
        ({"count": 0, "x": b"", "y": b""}, "do not fit its count"),
        ({"count": 3}, "do not fit its count"),
        ({"y": b"\0"}, "do not fit its count"),
        ({"x": b""}, "do not fit its count"),
        ({"x": bytes(17)}, "do not fit its count"),
    ],
)
def test_what_does_not_continue_is_refused(changes: dict[str, Any], sentence: str) -> None:
    good = new_record(0, 2, stream="a")
    staged = batch()
    with pytest.raises(ValueError, match=sentence):
        staged.add(replace(good, **changes))
    with pytest.raises(KeyError):
        staged.add(replace(good, stream="c"))
    assert not staged.stored


def test_a_stream_ends_at_the_greatest_position() -> None:
    full = replace(EMPTY, position=INTEGER_MAX - 2)
    staged = batch({"a": full})
    with pytest.raises(ValueError, match="stream a is full"):
        staged.add(new_record(0, 3, stream="a"))
    staged.add(new_record(0, 2, stream="a"))
    assert staged.marks()["a"].position == INTEGER_MAX


def test_a_known_producer_goes_on_where_it_was() -> None:
    staged = Batch(FACTS, {"a": EMPTY}, lambda stream, name: (7, 20), 9)
    staged.add(new_record(20, 2, stream="a"))
    assert staged.producer_rows() == [(7, 1, "tower", 22)]


# --- charges and releases -------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An open store with three charges and two releases of the learner."""
    with Store.open(make_store(tmp_path / "store")) as opened:
        fill(opened)
        yield opened


@pytest.fixture
def arrivals(store: Store) -> Arrivals:
    """Nothing yet, after what is in the store."""
    return Arrivals(store._facts, store._history, store._marks, store._releases, {STREAM: CAPS})


def test_new_charges_and_releases_follow(arrivals: Arrivals) -> None:
    arrivals.add_entry(entry(3, position=14))
    arrivals.add_entry(entry(4, position=15))
    arrivals.add_release(release(3, charge=4))
    arrivals.add_release(release(4))
    assert [row[1] for row in arrivals.entry_rows] == [3, 4]
    assert [row[1] for row in arrivals.release_rows] == [3, 4]
    assert arrivals.marks[STREAM].ledger.number == 4
    assert arrivals.marks[STREAM].spent.epsilon_pure == Fraction(5, 8)
    assert arrivals.points[LEARNER].number == 4


def test_what_is_stored_already_is_left_out(arrivals: Arrivals) -> None:
    arrivals.add_entry(entry(1, position=4))
    arrivals.add_release(release(2, charge=1, threshold=9))
    arrivals.add_entry(entry(3, position=14))
    assert [row[1] for row in arrivals.entry_rows] == [3]
    assert not arrivals.release_rows


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (entry(1, position=5), "ledger entry 1 of flights came out different"),
        (entry(1, position=4, rate=Fraction(1, 9)), "ledger entry 1 of flights came out different"),
        (entry(1, position=4, learner="early"), "ledger entry 1 of flights came out different"),
        (entry(4, position=14), "ledger entry 4 of flights came where entry 3 is due"),
        (entry(3, position=14, rate=Fraction(15, 8)), "would exceed the budget of season 0"),
    ],
)
def test_any_other_charge_is_fatal(arrivals: Arrivals, wrong: LedgerEntry, sentence: str) -> None:
    with pytest.raises(StoreDamaged, match=sentence):
        arrivals.add_entry(wrong)


def test_a_budget_may_be_spent_to_its_end_and_begins_anew_with_the_season(
    arrivals: Arrivals,
) -> None:
    arrivals.add_entry(entry(3, position=14, rate=Fraction(13, 8)))
    with pytest.raises(StoreDamaged, match="exceed the budget of season 0"):
        arrivals.add_entry(entry(4, position=14, rate=Fraction(1, 10**9)))
    arrivals.add_entry(entry(4, position=1000, rate=Fraction(2)))
    with pytest.raises(StoreDamaged, match="season 0, which is over"):
        arrivals.add_entry(entry(5, position=14))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (release(2, charge=1, threshold=8), "release 2 of flights/late came out different"),
        (release(2, charge=0, threshold=9), "release 2 of flights/late came out different"),
        (release(2, threshold=9), "release 2 of flights/late came out different"),
        (release(4), "release 4 of flights/late came where 3 is due"),
        (release(3, charge=3), "names charge 3, which is not in the ledger"),
        (release(3, charge=-1), "names charge -1, which is not in the ledger"),
        (replace(release(1), version=0), "release 0 of flights/late came where 3 is due"),
    ],
)
def test_any_other_release_is_fatal(
    arrivals: Arrivals, wrong: StoredRelease, sentence: str
) -> None:
    with pytest.raises(StoreDamaged, match=sentence):
        arrivals.add_release(wrong)


def test_a_stream_that_does_not_exist_is_a_mistake_of_the_caller(arrivals: Arrivals) -> None:
    with pytest.raises(KeyError):
        arrivals.add_entry(entry(0, stream="nowhere"))
    with pytest.raises(KeyError):
        arrivals.add_release(release(1, learner="nowhere/late"))


def test_private_values_are_in_no_message() -> None:
    secret = NewRecord("a", "tower", 0, 2, b"secret", b"secret")
    with pytest.raises(ValueError, match="do not fit") as caught:
        batch().add(secret)
    assert "secret" not in str(caught.value)
