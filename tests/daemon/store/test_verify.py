"""Checking a store: what is sound is called so, and nothing else is."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from littled.budget.codec import event_to_dict
from littled.budget.conversion import guarantee
from littled.budget.events import PrepaidSelection, PrivacyEvent
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.names import class_from_name
from littled.learners.online.learner import OnlineLearner
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.store.errors import StoreError, StoreRefused
from littled.store.records import StoredRelease, ledger_genesis, ledger_head
from littled.store.store import Store
from littled.store.verify import verify
from support.marks import read_mark, write_mark
from support.stores import (
    HORIZON,
    LEARNER,
    STREAM,
    change,
    contents,
    copy_store,
    entry,
    feed,
    fill,
    make_store,
    plan_values,
    release,
)

pytestmark = pytest.mark.usefixtures("any_database")


def make_filled(path: Path) -> None:
    with Store.open(make_store(path)) as store:
        fill(store)


@pytest.fixture
def path(copy_of: Callable[..., Path]) -> Path:
    """A small closed store with a little of everything."""
    return copy_of(make_filled)


@pytest.mark.in_a_folder
def test_a_mark_below_a_producers_number_is_told(path: Path) -> None:
    """Restored from an older copy, the store would take examples of this producer once more."""
    place = path / "high-water-mark"
    mark = read_mark(place)
    stream = mark.streams[STREAM]
    assert stream.numbers is not None
    for name, number in stream.numbers.named.items():
        named = {**stream.numbers.named, name: number - 1}
        low = replace(stream, numbers=replace(stream.numbers, named=named))
        write_mark(place, replace(mark, streams={STREAM: low}))
        assert verify(path).findings == (
            f"the high-water mark bounds producer {name} of {STREAM} by {number - 1}, though it "
            f"has come to {number}: put back the newest mark, or serve the store once",
        )
    write_mark(place, mark)
    assert verify(path).findings == ()


def test_a_store_at_rest_is_sound(path: Path) -> None:
    report = verify(path)
    assert report.findings == ()
    assert report.sound
    (stream,) = report.streams
    assert (stream.stream, stream.records, stream.examples) == (STREAM, 3, 14)
    assert (stream.entries, stream.releases) == (3, 3)
    assert stream.spent == Price(Fraction(3, 8), Fraction(0), Fraction(0))


def test_an_empty_store_is_sound(tmp_path: Path) -> None:
    report = verify(make_store(tmp_path / "store", ["one", "other"]))
    assert report.sound
    assert [(each.stream, each.records) for each in report.streams] == [("one", 0), ("other", 0)]


def test_checking_changes_nothing(path: Path) -> None:
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    assert verify(path).sound
    after = {each.name: each.read_bytes() for each in path.iterdir()}
    assert {name: after[name] for name in before} == before
    assert all(not after[name] for name in after.keys() - before.keys() if name.endswith("-wal"))


def test_a_store_is_checked_next_to_its_daemon(path: Path) -> None:
    with Store.open(path) as store:
        for number in range(3, 8):
            feed(store, [1] * 5)
            assert verify(path).sound
            store.charge(entry(number, position=14))
            assert verify(path).sound


def test_the_spend_reported_is_the_most_of_any_season(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [2000])
        store.charge(entry(3, position=1000, rate=Fraction(1, 2)))
        store.charge(entry(4, position=2000, rate=Fraction(1, 4)))
    report = verify(path)
    assert report.sound
    assert report.streams[0].spent.epsilon_pure == Fraction(1, 2)


def test_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="there is no store"):
        verify(tmp_path)


def test_key_and_mark_elsewhere(tmp_path: Path) -> None:
    places: dict[str, Any] = {"key_path": tmp_path / "key", "mark_path": tmp_path / "mark"}
    path = make_store(tmp_path / "store", **places)
    assert verify(path, **places).sound
    findings = verify(path).findings
    assert len(findings) == 2
    assert "mark" in findings[0]
    assert "key" in findings[1]


CHANGES = {
    "a label": ("UPDATE records SET y = zeroblob(8) WHERE sequence = 0 AND count = 8", "record 2"),
    "a point": ("UPDATE records SET x = zeroblob(8) WHERE sequence = 5", "record 1"),
    "a head": ("UPDATE records SET head = zeroblob(32) WHERE sequence = 5", "record 1"),
    "a count": ("UPDATE records SET count = 2 WHERE sequence = 5", "record 1"),
    "a position": ("UPDATE records SET first_position = 6 WHERE sequence = 5", "record 1"),
    "a sequence": ("UPDATE records SET sequence = 6 WHERE sequence = 5", "record 1"),
    "a producer": ("UPDATE records SET producer = 2 WHERE sequence = 5", "record 1"),
    "a producer's name": ("UPDATE producers SET name = 'rader' WHERE name = 'radar'", "record 2"),
    "a producer's place": (
        "UPDATE producers SET next_sequence = 7 WHERE name = 'radar'",
        "producers of flights",
    ),
    "a missing producer": ("DELETE FROM producers WHERE name = 'radar'", "record 2"),
    "a missing first record": ("DELETE FROM records WHERE sequence = 0 AND count = 5", "record 0"),
    "a missing record": ("DELETE FROM records WHERE sequence = 5", "record 1"),
    "a missing last record": ("DELETE FROM records WHERE count = 8", "record 2"),
    "a charge": (
        """UPDATE ledger SET entry =
           CAST(replace(CAST(entry AS TEXT), '"position":4', '"position":3') AS BLOB)
           WHERE number = 1""",
        "entry 1",
    ),
    "a missing charge": ("DELETE FROM ledger WHERE number = 1", "entry 1"),
    "a missing last charge": ("DELETE FROM ledger WHERE number = 2", "entry 2"),
    "a ledger head": ("UPDATE ledger SET head = zeroblob(32) WHERE number = 1", "entry 1"),
    "a release": ("UPDATE releases SET body = x'80' WHERE version = 2", "version 2"),
    "a release's charge": ("UPDATE releases SET charge = 0 WHERE version = 2", "version 2"),
    "a missing release": ("DELETE FROM releases WHERE version = 2", "release 2"),
    "a learner's name": (
        "UPDATE releases SET learner = 'flights/lata' WHERE version = 2",
        "release 2 of flights/late",
    ),
    "a plan": (
        "UPDATE streams SET plan = CAST(replace(CAST(plan AS TEXT), '2/1', '9/1') AS BLOB)",
        "plan",
    ),
    "the configuration": ("UPDATE meta SET value = x'7B7D' WHERE name = 'configuration'", "plan"),
    "the salt": ("UPDATE meta SET value = zeroblob(32) WHERE name = 'salt'", "plan"),
    "the instance": ("UPDATE meta SET value = CAST('00' AS BLOB) WHERE name = 'instance'", "mark"),
    "the fingerprint": ("UPDATE meta SET value = x'00' WHERE name = 'fingerprint'", "noise key"),
    "a snapshot": ("UPDATE snapshots SET state = x'00'", "snapshot of flights after record 1"),
    "a stray stream": ("UPDATE streams SET id = 2", "stream that does not exist"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_found_and_says_where(path: Path, name: str) -> None:
    statement, sentence = CHANGES[name]
    change(path / "store.sqlite", statement)
    report = verify(path)
    assert not report.sound
    assert any(sentence in each for each in report.findings), report.findings


def rechained(path: Path, edit: Callable[[Any], Any]) -> None:
    """Rewrite the ledger with a consistent chain, as somebody with the file could."""
    with Store.open(path) as store:
        entries = [edit(each) for each in store.ledger(STREAM)]
        head = ledger_genesis(store._facts.streams[STREAM].genesis)
    for number, each in enumerate(entries):
        head = ledger_head(head, each.to_bytes())
        change(
            path / "store.sqlite",
            "UPDATE ledger SET entry = ?, head = ? WHERE number = ?",
            (each.to_bytes(), head, number),
        )


FREE = Price(Fraction(0), Fraction(0), Fraction(0))
EDITS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a price": (lambda each: replace(each, price=FREE), "ledger entry 1"),
    "a season": (lambda each: replace(each, season=1), "season 1"),
    "a learner": (
        lambda each: replace(each, learner="nobody"),
        "learner that the plan does not have",
    ),
    "a position": (lambda each: replace(each, position=999), "position that the journal does not"),
    "an event": (lambda each: replace(each, event={"event": "x"}), "cannot be priced"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_rewritten_ledger_is_derived_again_and_behind_its_mark(path: Path, name: str) -> None:
    edit, sentence = EDITS[name]
    rechained(path, lambda each: edit(each) if each.number == 1 else each)
    findings = verify(path).findings
    assert any(sentence in each for each in findings), findings
    assert any("high-water mark" in each for each in findings), findings


def test_an_overspent_season_is_found_even_if_every_price_is_right(path: Path) -> None:
    big = entry(1, position=4, rate=Fraction(3))
    rechained(path, lambda each: big if each.number == 1 else each)
    findings = verify(path).findings
    assert any("season 0 spends" in each and "more than its caps" in each for each in findings)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": "1/1"}, "allow more than the epsilon and delta it promises"),
        ({"caps": Price(Fraction(2), Fraction(0), Fraction(1, 1000)).to_dict()}, "allow more"),
        ({"caps": Price(Fraction(2), Fraction(1, 100), Fraction(0)).to_dict()}, "allow more"),
        ({"epsilon": None}, "does not say what it promises"),
    ],
)
def test_caps_that_break_the_promise_are_found(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    Store.create(tmp_path / "store", {}, {STREAM: plan_values() | changes})
    (finding,) = verify(tmp_path / "store").findings
    assert sentence in finding


def test_caps_that_just_keep_the_promise_are_sound(tmp_path: Path) -> None:
    caps, delta_z = Price(Fraction(1), Fraction(1, 100), Fraction(1, 10**8)), Fraction(1, 10**7)
    epsilon, delta = guarantee(caps, delta_z)
    changes = {
        "caps": caps.to_dict(),
        "delta_z": str(delta_z),
        "epsilon": str(epsilon),
        "delta": str(delta),
    }
    Store.create(tmp_path / "store", {}, {STREAM: plan_values() | changes})
    assert verify(tmp_path / "store").sound


# --- a ledger against the parameters of its plan --------------------------------------------------


def planned_store(path: Path) -> tuple[StreamPlan, Path]:
    """A new store with a plan of the planner's, whose selections are fresh."""
    learner = OnlineRequest("late", class_from_name("points:64"))
    asked = StreamRequest(STREAM, Fraction(1), Fraction(1, 10**6), HORIZON, (learner,))
    plan = plan_stream(asked)
    Store.create(path, {"streams": [STREAM]}, {STREAM: plan.to_dict()})
    return plan, path


def charged(number: int, event: PrivacyEvent) -> LedgerEntry:
    return LedgerEntry(number, STREAM, 0, "late", 0, event_to_dict(event), price(event))


def test_a_ledger_that_keeps_to_its_plan_is_sound(tmp_path: Path) -> None:
    plan, path = planned_store(tmp_path / "store")
    learner = plan.publishing[0].learner(STREAM)
    assert isinstance(learner, OnlineLearner)
    events = [*learner.season_events(), learner.call_event()]
    with Store.open(path) as store:
        feed(store, [3])
        store.publish([], [charged(number, event) for number, event in enumerate(events)])
    assert verify(path).findings == ()


def test_selections_that_nothing_has_paid_for_are_found(tmp_path: Path) -> None:
    _, path = planned_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [3])
        store.publish([], [charged(number, PrepaidSelection(1)) for number in range(2)])
    (finding,) = verify(path).findings
    assert finding == (
        "flights: season 0 of learner late does not begin with the charges that its plan names"
    )


def test_a_plan_that_does_not_say_what_to_charge_is_found(tmp_path: Path) -> None:
    plan = plan_values()
    plan["learners"]["late"] |= {"hypotheses": {}, "parameters": {"selection": "dense"}}
    Store.create(tmp_path / "store", {}, {STREAM: plan})
    (finding,) = verify(tmp_path / "store").findings
    assert "the parameters do not say what is to be charged" in finding


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (release(3, charge=2), "names a charge of another learner"),
        (release(3, charge=1), "paid for another release already"),
        (StoredRelease(LEARNER, 3, release(4).body, None), "is not the message that it should be"),
        (StoredRelease(LEARNER, 3, b"\x80", None), "is not the message that it should be"),
    ],
)
def test_a_wrong_release_is_found(path: Path, wrong: StoredRelease, sentence: str) -> None:
    with Store.open(path) as store:
        store.publish([wrong], ())
    (finding,) = verify(path).findings
    assert sentence in finding


def test_many_findings_of_one_kind_are_counted(path: Path) -> None:
    with Store.open(path) as store:
        for version in range(3, 43):
            store.publish([StoredRelease(LEARNER, version, b"", None)], ())
    findings = verify(path).findings
    assert len(findings) == 21
    assert findings[-1] == "and 20 more of this kind"


def test_a_missing_mark_and_a_missing_key_are_findings(path: Path) -> None:
    (path / "noise.key").unlink()
    (path / "high-water-mark").unlink()
    findings = verify(path).findings
    assert ["key" in findings[0], "mark" in findings[1], len(findings)] == [True, True, 2]


@pytest.mark.in_a_folder
def test_the_check_imports_nothing_that_learns(path: Path) -> None:
    """What derives the prices again must not take them from those who ask for them."""
    program = """
import sys
from littled.cli.entry import run

assert run(["verify", sys.argv[1]]) == 0
import littled.budget.charges, littled.budget.events, littled.store.restoring, littled.store.verify
ours = [name for name in sys.modules if name.startswith("littled.")]
# the names of all classes, and no class
of_classes = {name.removeprefix("littled.") for name in ours if "classes" in name}
assert of_classes == {"classes", "classes.registry"}
print(sorted({name.split(".")[1] for name in ours}))
"""
    arguments = [sys.executable, "-P", "-c", program, str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout.splitlines()[-1]
        == "['budget', 'classes', 'cli', 'kinds', 'limits', 'portable', 'store']"
    )


def outcome(path: Path, sound: tuple[Any, ...]) -> str:
    """ "refused" or "same"; anything else fails the test."""
    try:
        report = verify(path)
        found = bool(report.findings)
    except StoreError:
        return "refused"
    try:
        with Store.open(path, read_only=True) as store:
            same = contents(store) == sound
    except StoreError:
        assert found, "opening noticed what the check did not"
        return "refused"
    assert found or same, "a damage changed what the store says without being noticed"
    return "refused" if found else "same"


def damages(size: int, count: int) -> list[tuple[int, int]]:
    chosen = random.Random(7)
    return [(chosen.randrange(size), 1 << chosen.randrange(8)) for _ in range(count)]


@pytest.mark.long
@pytest.mark.in_a_folder
def test_no_flipped_bit_goes_unnoticed(path: Path, tmp_path: Path) -> None:
    """A bit may be unused; a used one is found, and nothing but a StoreError ever comes out."""
    with Store.open(path, read_only=True) as store:
        sound = contents(store)
    data = (path / "store.sqlite").read_bytes()
    used = [at for at in range(len(data)) if data[at]]
    outcomes = []
    for at, bit in damages(len(used), 400):
        copy = tmp_path / "copy"
        copy_store(path, copy)
        wrong = bytearray(data)
        wrong[used[at]] ^= bit
        (copy / "store.sqlite").write_bytes(wrong)
        outcomes.append(outcome(copy, sound))
        shutil.rmtree(copy)
    assert outcomes.count("refused") > 350


@pytest.mark.in_a_folder
def test_no_cut_goes_unnoticed(path: Path, tmp_path: Path) -> None:
    with Store.open(path, read_only=True) as store:
        sound = contents(store)
    data = (path / "store.sqlite").read_bytes()
    for length in range(0, len(data), len(data) // 40):
        copy = tmp_path / "copy"
        copy_store(path, copy)
        (copy / "store.sqlite").write_bytes(data[:length])
        assert outcome(copy, sound) == "refused"
        shutil.rmtree(copy)
