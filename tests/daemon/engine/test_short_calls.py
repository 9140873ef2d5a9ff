"""Calls that a season has paid for: entry and release in one transaction, short ones together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from littled.budget.ledger import LedgerEntry
from littled.engine import Engine, OutOfOrder, Transcript, replay
from littled.engine import journal as engine_module
from littled.mechanisms.noise import KeyedNoise
from littled.store.records import Record, StoredRelease
from support.learner_cases import HORIZON, case_of
from support.learning import Inline
from support.twins import random_stream, records_of

NOISE = KeyedNoise(bytes(32))
CARD, SLOW = case_of("scorecard"), case_of("dense fresh")
SIZE = 5


def records(case: Any, size: int = SIZE, count: int = 2 * HORIZON) -> list[Record]:
    """Two seasons."""
    stream = random_stream(case.points, count, np.random.default_rng(1), noisy=0.0)
    cuts = [*range(size, count, size), count]
    return records_of(stream, case.plan.x_type, cuts)


class Disk(Transcript):
    """What is durable, transaction by transaction; dies at one of its writes, before or after it.

    What is written again must be the same.
    """

    def __init__(self, writes: int = -1) -> None:
        super().__init__()
        self.writes_left = writes
        self.transactions: list[tuple[list[StoredRelease], list[LedgerEntry]]] = []

    def _write(self) -> None:
        self.writes_left -= 1
        if self.writes_left == 0:
            raise Crash

    def charge(self, entry: LedgerEntry) -> None:
        self.publish((), (entry,))

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        self._write()
        known = {(each.learner, each.version): each for each in self.releases}
        assert all(known.get((each.learner, each.version), each) == each for each in releases)
        kept = [entry for entry in entries if entry.number < len(self.entries)]
        assert kept == [self.entries[entry.number] for entry in kept]
        new = [each for each in releases if (each.learner, each.version) not in known]
        super().publish(new, [entry for entry in entries if entry not in kept])
        self.transactions.append((new, list(entries)))
        self._write()


class Crash(Exception):
    """The daemon died."""


def learned(case: Any, parts: Sequence[Record]) -> Disk:
    """What becomes durable when all these wait at once."""
    disk = Disk()
    Engine(case.plan, NOISE, disk, Inline()).apply_all(parts)
    return disk


@pytest.mark.parametrize("case", [CARD, SLOW], ids=["scorecard", "fresh selections"])
def test_a_prepaid_call_is_charged_and_released_in_one_transaction(case: Any) -> None:
    """Each release with its own entry, and no entry without one, whatever has been trained."""
    disk = learned(case, records(case))
    calls = [found for found in disk.transactions if any(r.charge is not None for r in found[0])]
    assert len(calls) >= 2
    for releases, entries in calls:
        assert [each.charge for each in releases] == [entry.number for entry in entries]
        assert {entry.event["type"] for entry in entries} == {"prepaid_selection"}
    others = [entry for found in disk.transactions if found not in calls for entry in found[1]]
    assert "prepaid_selection" not in {entry.event["type"] for entry in others}


def test_short_calls_wait_for_each_other_and_come_to_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "SHORT_CALLS_AT_ONCE", 3)
    alone, parts = Transcript(), records(CARD)
    engine = Engine(CARD.plan, NOISE, alone, Inline())
    for record in parts:
        engine.apply(record)
        assert engine.snapshot()  # nothing waits between two records
    disk = learned(CARD, parts)
    assert (disk.releases, disk.entries) == (alone.releases, alone.entries)
    sizes = [
        len(releases) for releases, entries in disk.transactions if len(releases) == len(entries)
    ]
    assert max(sizes) == 3
    assert len(disk.transactions) < len(alone.releases)


def test_a_place_to_leave_is_one_where_nothing_waits() -> None:
    """Whoever leaves at one can take a snapshot, and everything up to there is durable."""
    parts, disk = records(CARD), Disk()
    engine = Engine(CARD.plan, NOISE, disk, Inline())
    places = 0
    for training in engine.learning(parts):
        assert training is None  # short calls are not waited for
        assert engine.snapshot()
        (state,) = engine._course.states.values()
        assert len(disk.releases) == state.version
        places += 1
    assert 0 < places < len(disk.releases)


def test_what_waits_is_durable_before_a_record_that_does_not_follow_is_refused() -> None:
    parts, disk = records(CARD), Disk()
    engine = Engine(CARD.plan, NOISE, disk, Inline())
    with pytest.raises(OutOfOrder):
        engine.apply_all([*parts[:8], parts[9]])
    assert disk.releases == replay(CARD.plan, NOISE, parts[:8], Inline()).releases


@pytest.mark.no_cover
@pytest.mark.parametrize("together", [1, 4, 1000])
def test_a_crash_at_any_write_changes_nothing(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a transaction, or after it; by itself, or with those of other calls."""
    monkeypatch.setattr(engine_module, "SHORT_CALLS_AT_ONCE", together)
    parts = records(CARD)
    whole = replay(CARD.plan, NOISE, parts, Inline())
    for writes in range(1, 1000):
        disk = Disk(writes)
        try:
            Engine(CARD.plan, NOISE, disk, Inline()).apply_all(parts)
        except Crash:
            assert disk.releases == whole.releases[: len(disk.releases)]
            Engine(CARD.plan, NOISE, disk, Inline()).apply_all(parts)
            died = True
        else:
            died = False
        assert (disk.entries, disk.releases) == (whole.entries, whole.releases)
        if not died:
            break
    assert writes > 4
