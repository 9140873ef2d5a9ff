"""Predictions in a store: their chain, their places in the ledger, and whatever may be wrong."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.ledger import without_answers
from littled.engine.predictions import differing
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.store.database import record_key
from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused
from littled.store.history import History
from littled.store.mark import no_predictions
from littled.store.records import (
    StoredPrediction,
    ledger_genesis,
    ledger_head,
    prediction_genesis,
    prediction_head,
    question_head,
)
from littled.store.store import Store
from littled.store.verify import verify
from support import predictions
from support.marks import read_mark
from support.stores import (
    NEAR,
    STREAM,
    answer,
    answer_entry,
    change,
    copy_store,
    entry,
    feed,
    fill,
    make_store,
    new_prediction,
    paid,
    release,
)

pytestmark = pytest.mark.usefixtures("any_database")


def answered(store: Store) -> None:
    """4 records, 18 examples; ledger entries 3, 5, 6 and 8 are for the predictions 0 to 3."""
    fill(store)
    feed(store, [4])
    # the ledger has three entries by now; a window is paid for before it answers
    store.charge(paid(3, position=14))
    answer(store, 1, window=5)
    store.charge(entry(4, position=15))
    answer(store, 2, window=6)
    answer(store, 3, window=5, count=1)
    store.publish([release(3, charge=4, threshold=11)], [])
    store.charge(entry(5, position=17))
    answer(store, 4, window=17, count=7)


def make_answered(path: Path) -> None:
    with Store.open(make_store(path)) as store:
        answered(store)


@pytest.fixture
def path(copy_of: Callable[..., Path]) -> Path:
    """A closed store with four predictions."""
    return copy_of(make_answered)


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """The same, open."""
    with Store.open(path) as opened:
        yield opened


def history(store: Store) -> History:
    return store._history


# --- The chain ------------------------------------------------------------------------------------


def test_each_prediction_follows_from_the_one_before_and_from_its_window(store: Store) -> None:
    stored = list(store.predictions(STREAM))
    head = prediction_genesis(store._facts.streams[STREAM].genesis)
    heads = [each.chain_head for each in store.records(STREAM)]
    assert [each.record for each in stored] == [1, 2, 1, 3]
    for number, each in enumerate(stored):
        question = question_head(
            head, heads[each.record], NEAR, number, each.window, each.request, each.count, each.x
        )
        head = prediction_head(question, each.y)
        assert (each.number, each.question_head, each.head) == (number, question, head)
    assert store.prediction_end(STREAM).head == head
    assert stored[0].stream == STREAM


def test_predictions_are_read_from_anywhere_to_anywhere(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(store.predictions(STREAM))
    assert [each.charge for each in whole] == [4, 6, 7, 9]
    for rows in (1, 1000):
        monkeypatch.setattr("littled.store.rows.STORE_READ_ROWS_MAX", rows)
        for after in range(-1, 5):
            for last in range(-1, 5):
                found = list(history(store).predictions.of(STREAM, after, last))
                assert found == whole[after + 1 : last + 1]


def test_a_request_is_found_by_its_name_and_learner(store: Store) -> None:
    for each in store.predictions(STREAM):
        assert store.prediction(NEAR, each.request) == each
        assert store.prediction("flights/late", each.request) is None
    assert store.prediction(NEAR, bytes(16)) is None
    with pytest.raises(KeyError):
        store.prediction("nowhere/near", bytes(16))


def test_answers_are_counted_by_window(store: Store) -> None:
    counts = {5: 4, 6: 3, 17: 7, 0: 0}
    assert {each: store.answers_given(NEAR, each) for each in counts} == counts
    assert {each: store.answers_counted(NEAR, each) for each in counts} == counts
    assert store.answers_given("flights/late", 5) == store.answers_counted("flights/late", 5) == 0


def test_the_record_at_a_position(store: Store) -> None:
    expected = [0] * 5 + [1] + [2] * 8 + [3] * 4 + [None, None]
    assert [store.record_at(STREAM, position) for position in range(20)] == expected
    assert store.record_at(STREAM, -1) is None


# --- The ledger in between ------------------------------------------------------------------------


def test_an_engine_need_not_know_what_was_asked(store: Store) -> None:
    """Its entries and releases arrive again with its own numbers, and are recognised."""
    entries = store.ledger(STREAM)
    assert [each.number for each in entries if each.window is not None] == [4, 6, 7, 9]
    own = without_answers(entries)
    before = [each.to_bytes() for each in entries], store.releases("flights/late")
    for each in own:
        store.charge(each)
    store.publish([release(3, charge=4, threshold=11)], own)
    assert ([e.to_bytes() for e in store.ledger(STREAM)], store.releases("flights/late")) == before
    assert store.releases("flights/late")[-1].charge == 5
    store.publish([release(4, charge=6, threshold=12)], [entry(6, position=17)])
    assert store.releases("flights/late")[-1].charge == 10
    assert store.ledger(STREAM)[-1].number == 10


@pytest.mark.parametrize("number", [3, 4, 5])
def test_another_entry_in_an_engines_place_is_a_mismatch(store: Store, number: int) -> None:
    with pytest.raises(StoreDamaged, match=f"entry {number} of flights came out different"):
        store.charge(entry(number, position=16))


def test_another_charge_of_a_release_is_a_mismatch(store: Store) -> None:
    with pytest.raises(StoreDamaged, match="release 3 of flights/late came out different"):
        store.publish([release(3, charge=3, threshold=11)], ())


def test_answers_do_not_count_as_spent(store: Store) -> None:
    own = without_answers(store.ledger(STREAM))
    season, spent, point = history(store).ledger.season_spent(STREAM)
    assert (season, spent.epsilon_pure) == (0, sum(each.price.epsilon_pure for each in own))
    assert point.number == 9
    mark = replace(store._marks[STREAM], numbers=None)
    assert mark == history(store).stream_mark(STREAM)


ORDERS = st.lists(st.booleans(), min_size=1, max_size=12)


@pytest.mark.long
@settings(max_examples=15)
@given(ORDERS)
def test_entries_keep_their_places_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, asks: list[bool]
) -> None:
    path = make_store(tmp_path_factory.mktemp("order") / "store")
    with Store.open(path) as store:
        feed(store, [3])
        store.charge(paid(0))
        own = 1
        for number, asked in enumerate(asks):
            if asked:
                answer(store, number, count=1)
            else:
                store.charge(entry(own, position=2))
                own += 1
        numbers = [each.number for each in store.ledger(STREAM) if each.window is None]
        assert [
            history(store).predictions.charge_number(STREAM, each) for each in range(own)
        ] == numbers
        for each in without_answers(store.ledger(STREAM)):
            store.charge(each)
        assert len(store.ledger(STREAM)) == len(asks) + 1
    assert verify(path).findings == ()


# --- What is refused ------------------------------------------------------------------------------


def wrong_head(new: Any) -> Any:
    return replace(new, question_head=bytes(32))


WRONG: dict[str, tuple[Any, str]] = {
    "a number": (lambda new: replace(new, number=5), "prediction 5 of flights came where 4 is due"),
    "the noise's place": (wrong_head, "does not follow from the stored history"),
    "a window": (lambda new: replace(new, window=8), "does not follow from the stored history"),
    "points": (lambda new: replace(new, x=bytes(24)), "does not follow from the stored history"),
    "a record": (lambda new: replace(new, record=9), "does not follow from the stored history"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_follow_is_fatal(store: Store, name: str) -> None:
    edit, sentence = WRONG[name]
    new = new_prediction(store, 5, window=9)
    with pytest.raises(StoreDamaged, match=sentence):
        store.answer(edit(new), answer_entry(new))
    with pytest.raises(StoreFailed, match="takes no more calls"):
        store.append([])


@pytest.mark.in_a_folder
def test_a_second_answer_to_one_request_is_fatal(store: Store) -> None:
    with pytest.raises(StoreDamaged, match="CONSTRAINT"):
        answer(store, 1, window=9)


def test_a_window_gives_no_more_than_it_may(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(path) as store:
        store._answers[NEAR] = 5
        answer(store, 5, window=5, count=1)
        with pytest.raises(
            StoreDamaged, match=r"prediction 5 .* exceed what window 5 was paid for"
        ):
            answer(store, 6, window=5, count=1)
    assert verify(path).findings == ()


def test_a_learner_that_answers_nobody_has_no_answers(store: Store) -> None:
    end = store.prediction_end(STREAM)
    new = new_prediction(store, 5, window=9)
    journal = list(store.records(STREAM))[new.record].chain_head
    question = question_head(
        end.head, journal, "flights/late", end.number + 1, 9, new.request, new.count, new.x
    )
    other = replace(new, learner="flights/late", question_head=question)
    with pytest.raises(StoreDamaged, match="exceed what window 9 was paid for"):
        store.answer(other, answer_entry(new))


# --- Checking -------------------------------------------------------------------------------------


def test_a_store_with_predictions_is_sound(path: Path) -> None:
    report = verify(path)
    assert report.findings == ()
    assert (report.streams[0].predictions, report.streams[0].entries) == (4, 10)


CHANGES = {
    "an answer": ("UPDATE predictions SET y = zeroblob(3) WHERE window = 6", "number 1"),
    "a point": ("UPDATE predictions SET x = zeroblob(24) WHERE window = 6", "number 1"),
    "a count": ("UPDATE predictions SET count = 4 WHERE window = 6", "number 1"),
    "a request": ("UPDATE predictions SET request = zeroblob(16) WHERE window = 6", "number 1"),
    "a window": ("UPDATE predictions SET window = 7 WHERE window = 6", "number 1"),
    "a record": ("UPDATE predictions SET record = 3 WHERE window = 6", "number 1"),
    "no record": ("UPDATE predictions SET record = 99 WHERE window = 6", "does not have"),
    "a learner": ("UPDATE predictions SET learner = 'flights/far' WHERE window = 6", "number 1"),
    "a head": ("UPDATE predictions SET head = zeroblob(32) WHERE window = 6", "number 1"),
    "a charge": (
        "UPDATE predictions SET charge = 9 WHERE window = 6",
        "prediction 1 of flights names a charge that does not pay for it",
    ),
    "the charge of an equal": (
        "UPDATE predictions SET charge = 4 WHERE window = 6",
        "prediction 1 of flights names a charge that does not pay for it",
    ),
    "a missing one": ("DELETE FROM predictions WHERE window = 6", "number 1"),
    "a missing last one": ("DELETE FROM predictions WHERE window = 17", "prediction 3 of flights"),
    "all of them": ("DELETE FROM predictions", "charges answers that nobody got"),
    "no table": ("DROP TABLE predictions", "charges answers that nobody got"),
    "a missing charge": ("DELETE FROM ledger WHERE number = 6", "entry 6"),
    "a missing last charge": ("DELETE FROM ledger WHERE number = 9", "entry 9"),
    "a record's label": ("UPDATE records SET head = zeroblob(32) WHERE count = 8", "number 1"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_found_and_says_where(path: Path, name: str) -> None:
    statement, sentence = CHANGES[name]
    change(path / "store.sqlite", statement)
    report = verify(path)
    assert not report.sound
    assert any(sentence in each for each in report.findings), report.findings


@pytest.mark.long
@pytest.mark.parametrize("column", ["x", "y", "request"])
def test_no_byte_of_a_prediction_can_be_changed(path: Path, tmp_path: Path, column: str) -> None:
    with Store.open(path, read_only=True) as store:
        values = [bytearray(getattr(each, column)) for each in store.predictions(STREAM)]
    for number, value in enumerate(values):
        for at in range(0, len(value), 3):
            copy = tmp_path / "copy"
            copy_store(path, copy)
            wrong = bytearray(value)
            wrong[at] ^= 0x80
            change(
                copy / "store.sqlite",
                f"UPDATE predictions SET {column} = ? WHERE key = ?",  # noqa: S608 - a test's own
                (bytes(wrong), record_key(1, number)),
            )
            damaged = pytest.raises(StoreDamaged, match=f"damaged at number {number}")
            with Store.open(copy, read_only=True) as store, damaged:
                list(store.predictions(STREAM))
            shutil.rmtree(copy)


def test_damage_where_it_is_read(path: Path) -> None:
    change(path / "store.sqlite", "UPDATE predictions SET y = zeroblob(3) WHERE window = 6")
    with Store.open(path) as store, pytest.raises(StoreDamaged, match="number 1"):
        store.prediction(NEAR, (2).to_bytes(16, "big"))
    with Store.open(path) as store, pytest.raises(StoreDamaged, match="number 1"):
        store.answers_given(NEAR, 5)


def said(store: Store) -> Any:
    """All that a store says of predictions and of what they cost."""
    return list(store.predictions(STREAM)), store.ledger(STREAM)


@pytest.mark.in_a_folder
def test_no_flipped_bit_goes_unnoticed(path: Path, tmp_path: Path) -> None:
    with Store.open(path, read_only=True) as store:
        sound = said(store)
    data = (path / "store.sqlite").read_bytes()
    used = [at for at in range(len(data)) if data[at]]
    chosen = random.Random(5)
    found = 0
    for _ in range(120):
        copy = tmp_path / "copy"
        copy_store(path, copy)
        wrong = bytearray(data)
        wrong[chosen.choice(used)] ^= 1 << chosen.randrange(8)
        (copy / "store.sqlite").write_bytes(wrong)
        if is_refused(copy):
            found += 1
        else:
            with Store.open(copy, read_only=True) as store:
                assert said(store) == sound
        shutil.rmtree(copy)
    assert found > 100


def is_refused(path: Path) -> bool:
    """Whether a check finds anything; nothing but an error of the store ever comes out."""
    try:
        return not verify(path).sound
    except StoreError:
        return True


def rechained(path: Path, edit: Any, stream: str = STREAM) -> None:
    """Rewrite all predictions with a consistent chain, as somebody with the file could."""
    with Store.open(path, read_only=True) as store:
        stored = list(store.predictions(stream))
        heads = [each.chain_head for each in store.records(stream)]
        head = prediction_genesis(store._facts.streams[stream].genesis)
    for number, each in enumerate(map(edit, stored)):
        question = question_head(
            *(head, heads[each.record], each.learner, number, each.window, each.request),
            *(each.count, each.x),
        )
        head = prediction_head(question, each.y)
        change(
            path / "store.sqlite",
            "UPDATE predictions SET learner = ?, window = ?, record = ?, count = ?, x = ?, y = ?, "
            "head = ? WHERE key = ?",
            (
                *(each.learner, each.window, each.record, each.count, each.x, each.y),
                *(head, record_key(1, number)),
            ),
        )


def other(stored: StoredPrediction, **changes: Any) -> StoredPrediction:
    return replace(stored, **changes) if stored.number == 1 else stored


EDITS: dict[str, tuple[dict[str, Any], str]] = {
    "labels": ({"y": b"\2\0\0"}, "prediction 1 of flights has columns that do not fit"),
    "a length": ({"y": b"\1\0"}, "prediction 1 of flights has columns that do not fit"),
    "a count": ({"count": 2, "y": b"\1\0"}, "prediction 1 of flights names a charge"),
    "a window": ({"window": 7}, "prediction 1 of flights names a charge"),
    "a record": ({"record": 3}, "does not name the record that ends its window"),
    "a learner": ({"learner": "flights/late"}, "a learner that does not answer requests"),
}


@pytest.mark.in_a_folder
@pytest.mark.parametrize("name", EDITS)
def test_rewritten_predictions_are_found_and_behind_their_mark(path: Path, name: str) -> None:
    changes, sentence = EDITS[name]
    rechained(path, lambda stored: other(stored, **changes))
    findings = verify(path).findings
    assert any(sentence in each for each in findings), findings
    assert any("prediction 3 of flights, which the high-water mark knows" in e for e in findings)
    with pytest.raises(StoreRefused, match="prediction 3 of flights"):
        Store.open(path)


def test_charges_for_answers_that_nobody_got_are_found(path: Path) -> None:
    with Store.open(path) as store:
        last = store.ledger(STREAM)[-1]
        extra = replace(last, number=last.number + 1, window=3, position=3)
        head = history(store).ledger.point(STREAM, last.number)
    assert head is not None
    change(
        path / "store.sqlite",
        "INSERT INTO ledger VALUES (1, 10, ?, ?)",
        (extra.to_bytes(), ledger_head(head, extra.to_bytes())),
    )
    (finding,) = verify(path).findings
    assert finding == "the ledger of flights charges answers that nobody got"


@pytest.mark.in_a_folder
def test_an_answer_rewritten_with_its_chain_and_mark_is_found_by_computing_it_again(
    tmp_path: Path,
) -> None:
    """Who has the file can make everything fit, except the noise, without its key."""
    path = predictions.make_store(tmp_path / "store")
    bench = predictions.Bench(Store.open(path))
    bench.feed(130)
    stored = [bench.answered(number, bytes([20])) for number in range(4)]
    bench.close()
    flipped = bytes([1 - stored[1].y[0]])
    rechained(path, lambda each: other(each, y=flipped), predictions.STREAM)
    with Store.open(path, read_only=True, mark_path=bent_mark(path)) as store:
        plan = StreamPlan.from_dict(store.plans[predictions.STREAM])
        found = list(differing(plan, KeyedNoise(store.noise_key), store, store.predictions("s")))
    # those after it had their noise from another chain
    assert found[0] == "prediction 1 of s is not what the journal leads to"


def bent_mark(path: Path) -> Path:
    """A mark that knows of no predictions, beside a store."""
    mark = read_mark(path / "high-water-mark")
    (stream,) = mark.streams.items()
    name, each = stream
    early = replace(each, predictions=no_predictions(each.genesis))
    bent = path.parent / "bent"
    bent.write_bytes(replace(mark, streams={name: early}).to_bytes())
    return bent


# --- The mark -------------------------------------------------------------------------------------


def test_the_mark_knows_every_answer(path: Path) -> None:
    with Store.open(path) as store:
        for request in (11, 12):
            answer(store, request, window=9)
            mark = read_mark(path / "high-water-mark").streams[STREAM]
            assert mark.predictions == store.prediction_end(STREAM)
            assert mark.ledger.number == store.ledger(STREAM)[-1].number


def test_a_store_that_forgot_an_answer_is_refused(path: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    shutil.copy(path / "high-water-mark", mark)
    old = copy_store(path, tmp_path / "old")
    with Store.open(path, mark_path=mark) as store:
        answer(store, 9, window=9)
    for read_only in (True, False):
        with pytest.raises(StoreRefused, match="behind its high-water mark: ledger entry 10"):
            Store.open(old, mark_path=mark, read_only=read_only)
    findings = verify(old, mark_path=mark).findings
    assert any("prediction 4 of flights, which the high-water mark" in e for e in findings)
    Store.open(path, mark_path=mark).close()


# --- Stores from before there were predictions ----------------------------------------------------


def early(path: Path) -> Path:
    """Make a store what it was before there were predictions."""
    change(path / "store.sqlite", "DROP TABLE predictions")
    connection = apsw.Connection(str(path / "store.sqlite"))
    connection.pragma("wal_checkpoint")
    connection.close()
    return path


def tables(path: Path) -> set[str]:
    connection = apsw.Connection(str(path / "store.sqlite"))
    found = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()
    return found


@pytest.mark.in_a_folder
def test_an_earlier_store_is_read_as_it_is_and_completed_when_it_is_served(
    tmp_path: Path,
) -> None:
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        fill(store)
    early(path)
    assert verify(path).findings == ()
    with Store.open(path, read_only=True) as store:
        assert list(store.predictions(STREAM)) == []
        assert store.prediction(NEAR, bytes(16)) is None
        assert store.answers_given(NEAR, 0) == store.answers_counted(NEAR, 0) == 0
    assert "predictions" not in tables(path)
    with Store.open(path) as store:
        assert {"predictions", "predictions_of_window"} <= tables(path)
        store.charge(paid(3, position=14))
        answer(store, 1)
    assert verify(path).findings == ()
    with Store.open(path, read_only=True) as store:
        assert [each.number for each in store.predictions(STREAM)] == [0]


def test_a_store_that_is_refused_is_not_completed(tmp_path: Path) -> None:
    path = early(make_store(tmp_path / "store"))
    older = make_store(tmp_path / "older")
    shutil.copy(older / "high-water-mark", path / "high-water-mark")
    with pytest.raises(StoreRefused, match="mark belongs to another store"):
        Store.open(path)
    assert "predictions" not in tables(path)


def test_the_ledgers_chain_is_as_before(store: Store) -> None:
    head = ledger_genesis(store._facts.streams[STREAM].genesis)
    for each in store.ledger(STREAM):
        head = ledger_head(head, each.to_bytes())
    assert store._marks[STREAM].ledger.head == head
