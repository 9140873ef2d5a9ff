"""The engine: seasons, charges, replay, snapshots; deterministic down to the bytes."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from littled.budget.codec import event_from_dict
from littled.budget.filter import BudgetRefused
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.engine import Engine, OutOfOrder, Transcript, replay
from littled.learners.contract import Examples
from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms.noise import KeyedNoise
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    StreamPlan,
    StreamRequest,
    plan_stream,
)
from littled.store.records import Record, StoredRelease
from littled_protocol.codec import decode
from littled_protocol.columns import decode_users, encode_labels
from littled_protocol.messages import Release
from littled_protocol.rules import Words
from support.predictions import HORIZON, examples, stream_plan
from support.small_classes import Cubes, Sets
from support.tape import TapeNoise

NOISE = KeyedNoise(bytes(range(32)))


@cache
def two_learners() -> StreamPlan:
    """A plan, once it is asked for: every process of a run imports this."""
    return plan_stream(
        StreamRequest(
            "s",
            Fraction(2),
            Fraction(1, 10**6),
            3000,
            (
                OnlineRequest("first", class_from_name("thresholds:64"), selection="dense"),
                OnlineRequest("second", class_from_name("thresholds:32"), selection="dense"),
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


def release_of(stored: StoredRelease) -> Release:
    message = decode(stored.body)
    assert isinstance(message, Release)
    return message


def messages(transcript: Transcript) -> list[Release]:
    return [release_of(stored) for stored in transcript.releases]


def test_two_learners_learn_within_one_budget(executor: Any) -> None:
    transcript = run(two_learners(), journal(3000), executor)
    last = {each.learner: each for each in messages(transcript)}
    assert {each.rule["threshold"] for each in last.values() if each.rule} == {20}
    spent = sum((each.price for each in transcript.entries), Price.zero())
    assert spent.fits_in(two_learners().caps)
    assert [each.number for each in transcript.entries] == list(range(len(transcript.entries)))
    assert all(price(event_from_dict(e.event)) == e.price for e in transcript.entries)


def test_every_rule_after_the_first_points_to_its_charge(executor: Any) -> None:
    transcript = run(two_learners(), journal(3000), executor)
    numbers = {each.number for each in transcript.entries}
    for stored, message in zip(transcript.releases, messages(transcript), strict=True):
        paid = message.kind == "rule" and message.version > 1
        assert (stored.charge in numbers) == paid


def test_first_rules_are_published_before_any_data(executor: Any) -> None:
    transcript = Transcript()
    engine = Engine(two_learners(), NOISE, transcript, executor)
    engine.start()
    engine.start()
    assert [(m.learner, m.version, m.position) for m in messages(transcript)] == [
        ("s/first", 1, 0),
        ("s/second", 1, 0),
    ]


def test_replay_gives_the_same_bytes(executor: Any) -> None:
    records = journal(9000)
    assert run(two_learners(), records, executor) == run(two_learners(), records, executor)


def test_another_key_or_history_gives_other_noise(executor: Any) -> None:
    noisy = journal(3000, noisy=0.3)
    other = replay(two_learners(), KeyedNoise(bytes(32)), noisy, executor)
    assert other != run(two_learners(), noisy, executor)
    assert run(two_learners(), journal(3000, 499, noisy=0.3), executor) != run(
        two_learners(), noisy, executor
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("stop", [1, 3, 7, 11])
def test_snapshot_continues_exactly(stop: int, executor: Any) -> None:
    records = journal(9000, noisy=0.2)
    whole = run(two_learners(), records, executor)
    before, after = Transcript(), Transcript()
    engine = Engine(two_learners(), NOISE, before, executor)
    for record in records[:stop]:
        engine.apply(record)
    state = engine.snapshot()
    again = Engine(two_learners(), NOISE, after, executor, state)
    assert again.record_number == stop - 1
    assert again.snapshot() == state
    assert again.status() == engine.status()
    for record in records:  # those before the snapshot are ignored
        again.apply(record)
    assert before.releases + after.releases == whole.releases
    assert before.entries + after.entries == whole.entries


def test_a_gap_in_the_journal_is_refused_before_anything_is_drawn(executor: Any) -> None:
    records = journal(3000)
    engine = Engine(two_learners(), NOISE, Transcript(), executor)
    engine.apply(records[0])
    state = engine.snapshot()
    with pytest.raises(OutOfOrder, match="record 2 of stream s cannot follow record 0"):
        engine.apply(records[2])
    assert engine.snapshot() == state


def test_unusable_snapshots_are_refused(executor: Any) -> None:
    state = Engine(two_learners(), NOISE, Transcript(), executor).snapshot()
    other = replace(two_learners(), plans=two_learners().plans[:1])
    with pytest.raises(SnapshotUnusable):
        Engine(other, NOISE, Transcript(), executor, state)
    with pytest.raises(SnapshotUnusable):
        Engine(two_learners(), NOISE, Transcript(), executor, pack({"format": 99}))


def test_seasons_begin_with_their_first_example_and_a_new_budget(executor: Any) -> None:
    records = journal(9000, size=700)
    transcript = run(two_learners(), records, executor)
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
    assert all(each.fits_in(two_learners().caps) for each in by_season.values())


def test_a_season_is_over_when_its_last_example_is_learned_and_not_before(executor: Any) -> None:
    """With one example a record: no cut of the stream may open a budget too early or too late."""
    plan = stream_plan()
    transcript = Transcript()
    seasons: list[int] = []
    engine = Engine(plan, NOISE, transcript, executor)
    for record in journal(2 * HORIZON + 1, size=1):
        engine.apply(record)
        seasons += [record.first_position] * (engine.status()["season"] - len(seasons))
    assert seasons == [HORIZON, 2 * HORIZON]
    assert {e.season == e.position // HORIZON for e in transcript.entries} == {True}


def test_a_season_that_is_full_but_has_no_successor_does_not_end(executor: Any) -> None:
    transcript = run(two_learners(), journal(3000), executor)
    assert all(m.kind == "rule" for m in messages(transcript))


def test_hopeless_streams_halt_within_the_budget(executor: Any) -> None:
    transcript = run(two_learners(), journal(3000, noisy=0.5), executor)
    halts = [m for m in messages(transcript) if m.kind == "halt"]
    assert {m.learner for m in halts} == {"s/first", "s/second"}
    assert sum((e.price for e in transcript.entries), Price.zero()).fits_in(two_learners().caps)


def test_a_cap_below_the_plan_refuses_and_halts(executor: Any) -> None:
    """Whatever the plan promised, the filter has the last word."""
    fixed = Transcript()
    Engine(two_learners(), NOISE, fixed, executor).start()
    caps = sum((each.price for each in fixed.entries), Price.zero())
    transcript = run(replace(two_learners(), caps=caps), journal(3000), executor)
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

    replayed = Engine(two_learners(), Spy(bytes(range(32))), Watching(), executor)
    for record in journal(3000):
        replayed.apply(record)
    assert len(order) >= 6
    assert order == ["charge", "noise", "release"] * (len(order) // 3)


def test_status_shows_public_facts_only(executor: Any) -> None:
    engine = Engine(two_learners(), NOISE, Transcript(), executor)
    for record in journal(1500):
        engine.apply(record)
    status = engine.status()
    assert set(status) == {
        "stream", "position", "season", "horizon", "epsilon", "delta", "spent", "caps", "learners",
    }  # fmt: skip
    assert set(status["learners"]["first"]) == {
        *("version", "epoch", "halted", "rule", "words"),
        *("calls_left", "next_call"),
    }
    assert status["position"] == engine.position == 1500


# --- rules that grow by several calls -------------------------------------------------------------

TARGET = {20, 21, 22, 23}
CUBES = OnlineParameters(
    epsilon=Fraction(60),
    horizon=1500,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=25,
    selection="closure",
    selection_rate=Fraction(1),
    selection_accounting="pure",
    draws=1,
    calls_max=6,
    buffer="mistakes",
    list_cap=1,
    bottom_score=12,
    ladder=(EpochSettings(30, 12), EpochSettings(40, None)),
)
SETS = replace(CUBES, selection="histogram", list_cap=0, ladder=(), calls_max=7)


def growing_plan() -> StreamPlan:
    """Two learners whose rules grow by several calls."""
    plans = (
        OnlinePlan("cubes", Cubes(5), CUBES, Words()),
        OnlinePlan("sets", Sets(5), SETS, Words()),
    )
    learners = [each.learner("s") for each in plans]
    caps = sum(
        (price(event) for each in learners for event in each.season_events()), Price.zero()
    ) + sum(
        (price(each.call_event()) * each.parameters.calls_max for each in learners), Price.zero()
    )
    return StreamPlan("s", Fraction(60), Fraction(1, 10), Fraction(0), 1500, caps, plans)


GROWING = growing_plan()


def growing_journal(size: int, count: int = 2600) -> list[Record]:
    """Two seasons of points below 32, label 1 in the target, with a few wrong labels."""
    records = journal(count, size, seed=4)
    rng = np.random.default_rng(5)
    out = []
    for each in records:
        x = np.frombuffer(each.x, dtype=np.uint8)
        y = np.isin(x, sorted(TARGET)) ^ (rng.random(len(x)) < 0.01)
        out.append(replace(each, y=encode_labels(y.astype(np.uint8))))
    return out


def test_two_streams_that_are_told_the_same_have_the_same_status(executor: Any) -> None:
    """With one label changed and the same noise, for as long as charges and releases are equal."""
    records, same, hidden = growing_journal(50, 600), 0, 0
    for changed in range(0, 600, 37):
        number, place = divmod(changed, 50)
        y = bytearray(records[number].y)
        y[place] ^= 1
        other = [*records[:number], replace(records[number], y=bytes(y)), *records[number + 1 :]]
        said = Transcript(), Transcript()
        here, there = (Engine(GROWING, TapeNoise(), each, executor) for each in said)
        for one, two in zip(records, other, strict=True):
            here.apply(one)
            there.apply(two)
            if said[0] != said[1]:
                break
            assert here.status() == there.status()
            same, hidden = same + 1, hidden + (here.snapshot() != there.snapshot())
    assert same > 50
    assert hidden > 20


def test_calls_are_each_charged_before_they_draw(executor: Any) -> None:
    order: list[tuple[Any, ...]] = []

    class Spy(KeyedNoise):
        def words(self, address: Any, count: int, offset: int = 0) -> Any:
            if address.purpose == "select":
                order.append(("noise", address.learner, address.position, address.draw))
            return super().words(address, count, offset)

    class Watching(Transcript):
        def charge(self, entry: Any) -> None:
            order.append(("charge", f"s/{entry.learner}", entry.position, entry.number))

        def publish(self, releases: Any, entries: Any) -> None:
            assert len([each for each in releases if each.charge is not None]) <= 1
            order.extend(
                ("release", each.learner, release_of(each).position - 1, each.charge)
                for each in releases
                if each.charge is not None
            )

    engine = Engine(GROWING, Spy(bytes(range(32))), Watching(), executor)
    for record in growing_journal(400):
        engine.apply(record)
    calls = [order[i : i + 3] for i in range(0, len(order), 3)]
    for charge, noise, release in calls:
        assert (charge[0], noise[0], release[0]) == ("charge", "noise", "release")
        assert charge[1:3] == noise[1:3] == release[1:3]
        assert charge[3] == release[3]
    places = [noise[1:] for _, noise, _ in calls]
    assert len(set(places)) == len(places) >= 8


def test_each_call_has_one_release_and_an_epoch_of_its_own(executor: Any) -> None:
    transcript = replay(GROWING, NOISE, growing_journal(400), executor)
    said = messages(transcript)
    for learner in ("s/cubes", "s/sets"):
        mine = [each for each in said if each.learner == learner]
        assert [each.version for each in mine] == list(range(1, len(mine) + 1))
        paid = [each for each in mine if each.kind == "rule" and each.version > 1]
        assert all(b.position > a.position for a, b in pairwise(paid))
        assert {b.epoch - a.epoch for a, b in pairwise(mine)} <= {0, 1}
    charges = [each.charge for each in transcript.releases if each.charge is not None]
    kinds = {"sparse_selection", "histogram_selection"}
    assert charges == [e.number for e in transcript.entries if e.event["type"] in kinds]
    late = [release.rule or {} for release in said if release.position > 1000]
    assert {frozenset(rule["members"]) for rule in late} == {frozenset(TARGET)}


def test_calls_do_not_depend_on_how_the_journal_is_cut(executor: Any) -> None:
    """Each learner's releases and charges; only how learners take turns follows the records."""

    def courses(size: int) -> dict[str, Any]:
        transcript = replay(GROWING, TapeNoise(3), growing_journal(size), executor)
        return {
            name: (
                [each for each in messages(transcript) if each.learner == f"s/{name}"],
                [(e.position, e.event) for e in transcript.entries if e.learner == name],
            )
            for name in GROWING.learners
        }

    whole = courses(2600)
    assert all(courses(size) == whole for size in (1, 37, 400))


def test_snapshots_after_every_record_continue_exactly(executor: Any) -> None:
    records = growing_journal(53)
    whole = replay(GROWING, NOISE, records, executor)
    transcript, state = Transcript(), None
    for record in records:
        engine = Engine(GROWING, NOISE, transcript, executor, state)
        engine.apply(record)
        state = engine.snapshot()
    assert transcript == whole


class Crash(Exception):
    """The daemon died."""


class Durable(Transcript):
    """What is on the disk: what is written again must be identical; dies at one of its writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes_left = writes

    def _write(self) -> None:
        self.writes_left -= 1
        if self.writes_left == 0:
            raise Crash

    def charge(self, entry: Any) -> None:
        self._write()  # before it is durable
        if entry.number < len(self.entries):
            assert self.entries[entry.number] == entry
        else:
            super().charge(entry)
        self._write()  # after it is durable, before the call

    def publish(self, releases: Any, entries: Any) -> None:
        self._write()
        known = {(each.learner, each.version): each for each in self.releases}
        assert all(known.get((e.learner, e.version), e) == e for e in releases)
        new = [each for each in releases if (each.learner, each.version) not in known]
        super().publish(new, [each for each in entries if each.number >= len(self.entries)])
        self._write()


def crashed(records: list[Record], writes: int, every: int, executor: Any) -> tuple[Durable, bool]:
    """The disk after a run that died at its write number `writes` and was started again."""
    disk, state, died = Durable(writes), None, False
    engine = Engine(GROWING, NOISE, disk, executor)
    try:
        engine.start()
        for number, record in enumerate(records):
            engine.apply(record)
            state = engine.snapshot() if number % every == every - 1 else state
    except Crash:
        died = True
        engine = Engine(GROWING, NOISE, disk, executor, state)
        engine.start()
        for record in records:
            engine.apply(record)
    return disk, died


@pytest.mark.no_cover
@pytest.mark.parametrize("every", [1, pytest.param(1000, marks=pytest.mark.long)])
def test_a_crash_at_any_write_changes_nothing(every: int, executor: Any) -> None:
    """With a snapshot after every record, or none at all."""
    records = growing_journal(400)
    whole = replay(GROWING, NOISE, records, executor)
    for writes in range(1, 1000):
        disk, died = crashed(records, writes, every, executor)
        assert disk.entries == whole.entries
        assert disk.releases == whole.releases
        if not died:
            break
    # a charge and a release for each of some calls, each write twice: before and after
    assert writes > 4 * 8


def test_a_cap_that_is_reached_between_two_calls_halts(executor: Any) -> None:
    """The first call fits, the second does not: one charge, one release, and a halt."""
    learners = [each.learner("s") for each in GROWING.publishing]
    fixed = sum((price(event) for event in learners[1].season_events()), Price.zero())
    caps = fixed + price(learners[1].call_event())
    only_sets = replace(GROWING, caps=caps, plans=GROWING.plans[1:])
    transcript = replay(only_sets, NOISE, growing_journal(400, 1200), executor)
    first, call, halt = messages(transcript)
    assert (first.kind, call.kind, halt.kind) == ("rule", "rule", "halt")
    assert halt.position > call.position
    assert halt.rule == call.rule
    calls = [e for e in transcript.entries if e.event["type"] == "histogram_selection"]
    assert len(calls) == 1


def test_a_snapshot_of_the_first_format_is_not_used(executor: Any) -> None:
    values = unpack(Engine(two_learners(), NOISE, Transcript(), executor).snapshot())
    assert values["format"] == 2
    with pytest.raises(SnapshotUnusable):
        Engine(two_learners(), NOISE, Transcript(), executor, pack({**values, "format": 1}))


# --- learners that answer requests ----------------------------------------------------------------

ANSWERING = stream_plan()


def answering_journal(size: int, count: int = 800) -> list[Record]:
    """Two seasons and a bit."""
    x, y = examples(count)
    return [
        replace(each, x=x[first : first + each.count], y=y[first : first + each.count])
        for each in journal(count, size)
        for first in (each.first_position,)
    ]


def test_what_windows_cost_is_charged_when_a_season_opens(executor: Any) -> None:
    transcript = run(ANSWERING, answering_journal(70), executor)
    expected = [
        (name, type(event).name)
        for name, learner in (("late", ANSWERING.publishing[0].learner("s").season_events()),)
        for event in learner
    ] + [
        (each.name, type(event).name)
        for each in ANSWERING.answering
        for event in each.learner("s").window_events()
    ]
    for season in range(3):
        opening = [e for e in transcript.entries if e.position == season * HORIZON]
        assert [(e.learner, e.event["type"]) for e in opening] == expected
        assert {e.season for e in opening} == {season}
        assert sum((e.price for e in opening), Price.zero()) == ANSWERING.prepaid
    spent = Price.zero()
    for entry in transcript.entries:
        spent = spent + entry.price if entry.season == 1 else spent
    assert spent.fits_in(ANSWERING.caps)
    assert all(e.window is None for e in transcript.entries)


def test_only_learners_of_rules_step_and_publish(executor: Any) -> None:
    transcript = run(ANSWERING, answering_journal(70), executor)
    assert {each.learner for each in messages(transcript)} == {"s/late"}
    engine = Engine(ANSWERING, NOISE, Transcript(), executor)
    engine.start()
    assert set(engine.status()["learners"]) == {"late"}
    only = replace(ANSWERING, plans=ANSWERING.answering)
    alone = run(only, answering_journal(70), executor)
    assert alone.releases == []
    assert [e.position for e in alone.entries] == [0] * 4 + [HORIZON] * 4 + [2 * HORIZON] * 4


def test_caps_without_room_for_windows_open_no_season(executor: Any) -> None:
    poor = replace(ANSWERING, caps=replace(ANSWERING.caps, epsilon_pure=Fraction(4)))
    with pytest.raises(BudgetRefused):
        Engine(poor, NOISE, Transcript(), executor).start()


def test_snapshots_continue_next_to_learners_that_answer(executor: Any) -> None:
    records = answering_journal(90)
    whole = run(ANSWERING, records, executor)
    transcript, state = Transcript(), None
    for record in records:
        engine = Engine(ANSWERING, NOISE, transcript, executor, state)
        engine.apply(record)
        state = engine.snapshot()
    assert transcript == whole


def test_learners_get_the_users_of_their_examples(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[tuple[Examples, int]]] = {"s/first": [], "s/second": []}
    step = OnlineLearner.step

    def watched(learner: OnlineLearner, state: Any, event: Any, noise: Any) -> Any:
        result = step(learner, state, event, noise)
        if isinstance(event, Examples):
            seen[learner.name].append((event, result.consumed))
        return result

    monkeypatch.setattr(OnlineLearner, "step", watched)
    records = [
        replace(each, users=hashlib.shake_128(each.chain_head).digest(16 * each.count))
        for each in journal(4000)  # beyond a season's end
    ]
    users = np.concatenate([decode_users(each.users, each.count) for each in records])
    learners = tuple(
        OnlineRequest(name, class_from_name("thresholds:64"), selection="dense")
        for name in ("first", "second")
    )
    budget = Fraction(2), Fraction(1, 10**6)
    plan = plan_stream(StreamRequest("s", *budget, 3000, learners, Unit(2)))
    engine = Engine(plan, NOISE, Transcript(), executor)
    for record in records:
        engine.apply(record)
    for events in seen.values():
        assert len(events) > len(records)
        for event, _ in events:
            assert event.users is not None
            first = event.place.position
            assert np.array_equal(event.users, users[first : first + len(event.y)])
        assert sum(consumed for _, consumed in events) == 4000
