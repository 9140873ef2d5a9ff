"""Small stores for tests: plans, records, ledger entries and releases that belong together."""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import apsw

from littled.budget.codec import event_to_dict
from littled.budget.events import PredictionAnswersDense, PrepaidSelection, StageTest
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.store.records import (
    NewPrediction,
    NewRecord,
    StoredPrediction,
    StoredRelease,
    question_head,
)
from littled.store.store import Store
from littled_protocol.codec import encode
from littled_protocol.messages import Release
from littled_protocol.rules import ThresholdRule

STREAM = "flights"
LEARNER = "flights/late"
HORIZON = 1000
RATE = Fraction(1, 8)
CAPS = Price(Fraction(2), Fraction(0), Fraction(0))
# Answers from windows of one example each, so that window w ends with the example at position w.
NEAR = "flights/near"
ANSWERS_MAX = 1 << 20
ANSWERS = PredictionAnswersDense(Fraction(1, 1 << 40), ANSWERS_MAX, "pure")


class Changed(Protocol):
    """A database that tests change behind a store's back."""

    def change(self, statement: str, values: tuple[Any, ...]) -> None:
        """Run a statement in it."""

    def copy_to(self, folder: Path) -> None:
        """Make a copy that is called by another folder, which is there already."""


# By folder, the stores whose tables are on a server (`support.postgres`).
PLACES: dict[Path, Changed] = {}


def copy_store(path: Path, to: Path) -> Path:
    """A copy of a store at rest, as a backup makes one; a store that was there is replaced."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(path, to)
    if path in PLACES:
        PLACES[path].copy_to(to)
    return to


def plan_values(
    horizon: int = HORIZON, learners: Sequence[str] = ("late", "early")
) -> dict[str, Any]:
    """What the store needs of a plan: 16 charges of `entry` fill a season's budget."""
    return {
        "stream": STREAM,
        "epsilon": "2/1",
        "delta": "1/1000000",
        "delta_z": "9/10000000",
        "horizon": horizon,
        "caps": CAPS.to_dict(),
        "learners": {
            **{name: {"kind": "online"} for name in learners},
            "near": {
                "kind": "prediction",
                "parameters": {"window": 1, "answers_max": ANSWERS_MAX},
            },
        },
    }


def make_store(path: Path, streams: Sequence[str] = (STREAM,), **options: Any) -> Path:
    """A new store with these streams; returns its path."""
    Store.create(
        path, {"streams": list(streams)}, {name: plan_values() for name in streams}, **options
    )
    return path


def change(database: Path, statement: str, values: tuple[Any, ...] = ()) -> None:
    """Change the database of a store behind its back.

    Always by the one SQLite library that the store uses: another copy of it in one process would
    give up the locks of the first.
    """
    if database.parent in PLACES:
        PLACES[database.parent].change(statement, values)
        return
    connection = apsw.Connection(str(database))
    connection.execute(statement, values)
    connection.close()


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """What a statement finds in the database of a store, beside whoever has it open."""
    connection = apsw.Connection(str(path / "store.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [*connection.execute(statement)]
    finally:
        connection.close()


def column(seed: object, size: int) -> bytes:
    """Bytes that depend on nothing but `seed`."""
    return hashlib.shake_128(repr(seed).encode()).digest(size)


def new_record(
    sequence: int, count: int = 1, producer: str = "tower", stream: str = STREAM
) -> NewRecord:
    """A record of 8 bytes a point whose contents follow from the other fields."""
    name = (stream, producer, sequence, count)
    labels = bytes(byte & 1 for byte in column((*name, "y"), count))
    return NewRecord(stream, producer, sequence, count, column((*name, "x"), 8 * count), labels)


def feed(
    store: Store, counts: Sequence[int], producer: str = "tower", stream: str = STREAM
) -> None:
    """Append one record of each count, in one transaction, where the producer is."""
    sequence = store.producer_next(stream, producer)
    records = []
    for count in counts:
        records.append(new_record(sequence, count, producer, stream))
        sequence += count
    store.append(records)


def entry(
    number: int,
    position: int = 0,
    rate: Fraction = RATE,
    learner: str | None = "late",
    stream: str = STREAM,
) -> LedgerEntry:
    """A charge of `rate`, in the season of its position."""
    event = StageTest(rate=rate)
    return LedgerEntry(
        number=number,
        stream=stream,
        season=position // HORIZON,
        learner=learner,
        position=position,
        event=event_to_dict(event),
        price=price(event),
    )


def paid(number: int, position: int = 0) -> LedgerEntry:
    """A charge for all answers of a window."""
    values = event_to_dict(ANSWERS), price(ANSWERS)
    return LedgerEntry(number, STREAM, position // HORIZON, "near", position, *values)


def prepaid(number: int, position: int = 0) -> LedgerEntry:
    """A call that its season has paid for."""
    event = PrepaidSelection(draws=1)
    values = event_to_dict(event), price(event)
    return LedgerEntry(number, STREAM, position // HORIZON, "late", position, *values)


def new_prediction(store: Store, request: int, window: int = 0, count: int = 3) -> NewPrediction:
    """The next prediction of an open store; its contents follow from the other arguments."""
    end = store.prediction_end(STREAM)
    record = store.record_at(STREAM, window)
    assert record is not None
    (journal,) = (found for found in store.records(STREAM, record - 1) if found.number == record)
    name = request.to_bytes(16, "big")
    x = column((request, "asked"), 8 * count)
    return NewPrediction(
        learner=NEAR,
        number=end.number + 1,
        window=window,
        record=record,
        request=name,
        count=count,
        x=x,
        y=bytes(byte & 1 for byte in column((request, "answered"), count)),
        question_head=question_head(
            end.head, journal.chain_head, NEAR, end.number + 1, window, name, count, x
        ),
    )


def answer_entry(new: NewPrediction) -> LedgerEntry:
    """What pays for a prediction."""
    event = replace(ANSWERS, answers=new.count)
    return LedgerEntry(
        number=0,
        stream=STREAM,
        season=new.window // HORIZON,
        learner="near",
        position=new.window,
        event=event_to_dict(event),
        price=price(event),
        window=new.window,
    )


def answer(store: Store, request: int, window: int = 0, count: int = 3) -> StoredPrediction:
    """Answer a request; the season has to be paid for."""
    new = new_prediction(store, request, window, count)
    return store.answer(new, answer_entry(new))


def release(
    version: int, charge: int | None = None, learner: str = LEARNER, threshold: int = 7
) -> StoredRelease:
    """A release of a threshold rule."""
    message = Release(
        learner=learner,
        version=version,
        kind="rule",
        season=0,
        epoch=0,
        position=0,
        rule=ThresholdRule(size=256, threshold=threshold).to_dict(),
    )
    return StoredRelease(learner, version, encode(message), charge)


def fill(store: Store) -> None:
    """A little of everything: 3 records, 14 examples, 3 charges, 3 releases, a snapshot."""
    store.publish([release(1), release(1, learner="flights/early")], [entry(0)])
    feed(store, [5, 1])
    store.charge(entry(1, position=4))
    store.publish([release(2, charge=1, threshold=9)], ())
    feed(store, [8], producer="radar")
    store.save_snapshot(STREAM, 1, b"state after record 1")
    store.charge(entry(2, position=10, learner="early"))


def contents(store: Store, stream: str = STREAM) -> tuple[Any, ...]:
    """Everything that a store says about a stream."""
    learners = [f"{stream}/{name}" for name in store.plans[stream]["learners"]]
    return (
        list(store.records(stream)),
        [entry.to_bytes() for entry in store.ledger(stream)],
        [store.releases(learner) for learner in learners],
        store.position(stream),
        [store.producer_next(stream, name) for name in ("tower", "radar", "nobody")],
        store.configuration,
        store.plans,
    )
