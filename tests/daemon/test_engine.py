"""The engine: seasons, charges, replay, snapshots; deterministic down to the bytes."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.events import event_from_dict, price
from littled.budget.price import Price
from littled.classes import class_from_name
from littled.engine import Engine, OutOfOrder, Transcript, replay
from littled.learners.snapshot import SnapshotUnusable, pack
from littled.mechanisms.noise import KeyedNoise
from littled.planner import LearnerRequest, StreamPlan, StreamRequest, plan_stream
from littled.store.records import Record
from littled_protocol.codec import decode
from littled_protocol.columns import encode_labels
from littled_protocol.messages import Release

NOISE = KeyedNoise(bytes(range(32)))
PLAN = plan_stream(
    StreamRequest(
        "s",
        Fraction(2),
        Fraction(1, 10**6),
        3000,
        (
            LearnerRequest("first", class_from_name("thresholds:64")),
            LearnerRequest("second", class_from_name("thresholds:32")),
        ),
    )
)


def journal(count: int, size: int = 500, seed: int = 0, noisy: float = 0.0) -> list[Record]:
    """Records of points below 32, label 1 from 20 on."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 32, count).astype(np.uint8)
    y = ((x >= 20) ^ (rng.random(count) < noisy)).astype(np.uint8)
    head, out = bytes(32), []
    for number, first in enumerate(range(0, count, size)):
        part = slice(first, first + size)
        head = hashlib.blake2b(
            head + x[part].tobytes() + y[part].tobytes(), digest_size=32
        ).digest()
        n = len(x[part])
        out.append(
            Record(
                "s", number, first, "p", first, n, x[part].tobytes(), encode_labels(y[part]), head
            )
        )
    return out


@pytest.fixture
def executor() -> Any:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def run(plan: StreamPlan, records: list[Record], executor: Any) -> Transcript:
    return replay(plan, NOISE, records, executor)


def messages(transcript: Transcript) -> list[Release]:
    found = [decode(each.body) for each in transcript.releases]
    assert all(isinstance(each, Release) for each in found)
    return found  # type: ignore[return-value]


def test_two_learners_learn_within_one_budget(executor: Any) -> None:
    transcript = run(PLAN, journal(3000), executor)
    last = {each.learner: each for each in messages(transcript)}
    assert {each.rule["threshold"] for each in last.values() if each.rule} == {20}
    spent = sum((each.price for each in transcript.entries), Price.zero())
    assert spent.fits_in(PLAN.caps)
    assert [each.number for each in transcript.entries] == list(range(len(transcript.entries)))
    assert all(price(event_from_dict(e.event)) == e.price for e in transcript.entries)


def test_every_rule_after_the_first_points_to_its_charge(executor: Any) -> None:
    transcript = run(PLAN, journal(3000), executor)
    numbers = {each.number for each in transcript.entries}
    for stored, message in zip(transcript.releases, messages(transcript), strict=True):
        paid = message.kind == "rule" and message.version > 1
        assert (stored.charge in numbers) == paid


def test_first_rules_are_published_before_any_data(executor: Any) -> None:
    transcript = Transcript()
    engine = Engine(PLAN, NOISE, transcript, executor)
    engine.start()
    engine.start()
    assert [(m.learner, m.version, m.position) for m in messages(transcript)] == [
        ("s/first", 1, 0),
        ("s/second", 1, 0),
    ]


def test_replay_gives_the_same_bytes(executor: Any) -> None:
    records = journal(9000)
    assert run(PLAN, records, executor) == run(PLAN, records, executor)


def test_another_key_or_history_gives_other_noise(executor: Any) -> None:
    noisy = journal(3000, noisy=0.3)
    other = replay(PLAN, KeyedNoise(bytes(32)), noisy, executor)
    assert other != run(PLAN, noisy, executor)
    assert run(PLAN, journal(3000, 499, noisy=0.3), executor) != run(PLAN, noisy, executor)


@pytest.mark.parametrize("stop", [1, 3, 7, 11])
def test_snapshot_continues_exactly(stop: int, executor: Any) -> None:
    records = journal(9000, noisy=0.2)
    whole = run(PLAN, records, executor)
    before, after = Transcript(), Transcript()
    engine = Engine(PLAN, NOISE, before, executor)
    for record in records[:stop]:
        engine.apply(record)
    state = engine.snapshot()
    again = Engine(PLAN, NOISE, after, executor, state)
    assert again.record_number == stop - 1
    assert again.snapshot() == state
    assert again.status() == engine.status()
    for record in records:  # those before the snapshot are ignored
        again.apply(record)
    assert before.releases + after.releases == whole.releases
    assert before.entries + after.entries == whole.entries


def test_a_gap_in_the_journal_is_refused_before_anything_is_drawn(executor: Any) -> None:
    records = journal(3000)
    engine = Engine(PLAN, NOISE, Transcript(), executor)
    engine.apply(records[0])
    state = engine.snapshot()
    with pytest.raises(OutOfOrder, match="record 2 of stream s cannot follow record 0"):
        engine.apply(records[2])
    assert engine.snapshot() == state


def test_unusable_snapshots_are_refused(executor: Any) -> None:
    state = Engine(PLAN, NOISE, Transcript(), executor).snapshot()
    other = replace(PLAN, plans=PLAN.plans[:1])
    with pytest.raises(SnapshotUnusable):
        Engine(other, NOISE, Transcript(), executor, state)
    with pytest.raises(SnapshotUnusable):
        Engine(PLAN, NOISE, Transcript(), executor, pack({"format": 99}))


def test_seasons_begin_with_their_first_example_and_a_new_budget(executor: Any) -> None:
    records = journal(9000, size=700)
    transcript = run(PLAN, records, executor)
    seasons = [m for m in messages(transcript) if m.kind == "season"]
    assert [(m.learner, m.season, m.position) for m in seasons] == [
        ("s/first", 1, 3000),
        ("s/second", 1, 3000),
        ("s/first", 2, 6000),
        ("s/second", 2, 6000),
    ]
    by_season: dict[int, Price] = {}
    for entry in transcript.entries:
        by_season[entry.season] = by_season.get(entry.season, Price.zero()) + entry.price
        assert entry.season == entry.position // 3000
    assert sorted(by_season) == [0, 1, 2]
    assert all(each.fits_in(PLAN.caps) for each in by_season.values())


def test_a_season_that_is_full_but_has_no_successor_does_not_end(executor: Any) -> None:
    transcript = run(PLAN, journal(3000), executor)
    assert all(m.kind == "rule" for m in messages(transcript))


def test_hopeless_streams_halt_within_the_budget(executor: Any) -> None:
    transcript = run(PLAN, journal(3000, noisy=0.5), executor)
    halts = [m for m in messages(transcript) if m.kind == "halt"]
    assert {m.learner for m in halts} == {"s/first", "s/second"}
    assert sum((e.price for e in transcript.entries), Price.zero()).fits_in(PLAN.caps)


def test_a_cap_below_the_plan_refuses_and_halts(executor: Any) -> None:
    """Whatever the plan promised, the filter has the last word."""
    fixed = Transcript()
    Engine(PLAN, NOISE, fixed, executor).start()
    caps = sum((each.price for each in fixed.entries), Price.zero())
    transcript = run(replace(PLAN, caps=caps), journal(3000), executor)
    assert len(transcript.entries) == len(fixed.entries)
    kinds = [(m.learner, m.kind) for m in messages(transcript)]
    assert kinds[2:] == [("s/first", "halt"), ("s/second", "halt")] or sorted(kinds[2:]) == [
        ("s/first", "halt"),
        ("s/second", "halt"),
    ]


def test_charges_are_durable_before_training_draws_noise(executor: Any) -> None:
    order: list[str] = []

    class Spy(KeyedNoise):
        def words(self, address: Any, count: int, offset: int = 0) -> Any:
            if address.purpose == "select":
                order.append("noise")
            return super().words(address, count, offset)

    class Watching(Transcript):
        def charge(self, entry: Any) -> None:
            order.append("charge")

        def publish(self, releases: Any, entries: Any) -> None:
            order.extend("release" for each in releases if each.charge is not None)

    replayed = Engine(PLAN, Spy(bytes(range(32))), Watching(), executor)
    for record in journal(3000):
        replayed.apply(record)
    assert len(order) >= 6
    assert order == ["charge", "noise", "release"] * (len(order) // 3)


def test_status_shows_public_facts_only(executor: Any) -> None:
    engine = Engine(PLAN, NOISE, Transcript(), executor)
    for record in journal(1500):
        engine.apply(record)
    status = engine.status()
    assert set(status) == {
        "stream", "position", "season", "horizon", "epsilon", "delta", "spent", "caps", "learners",
    }  # fmt: skip
    assert set(status["learners"]["first"]) == {"version", "epoch", "halted", "rule", "words"}
    assert status["position"] == engine.position == 1500
