"""Records learned together come to the same bytes as one by one, in the plain form of each step."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest

from littled.budget.price import Price
from littled.engine import Engine, OutOfOrder, Transcript
from littled.engine import journal as engine_module
from littled.mechanisms import noise as noise_module
from littled.mechanisms.noise import Address, KeyedNoise, Words
from littled.planner import StreamPlan
from littled.store.mark import Numbers
from littled.store.records import Record
from littled.store.restoration import RESTORER, Restoration
from support.learner_cases import (
    BATCH,
    BATCH_USERS,
    HORIZON,
    ONLINE,
    PARTITION_USERS,
    PARTITIONS,
    POOL_USERS,
    POOLS,
    SCORECARD_USERS,
    SCORECARDS,
    USERS,
    Case,
    case_of,
)
from support.learning import Inline
from support.plain import use_plain_forms
from support.twins import random_stream, records_of, with_users

pytestmark = pytest.mark.long

EXAMPLES = 4 * HORIZON + 7
CASES = [*ONLINE, *USERS, "a small budget", "one stream for all", *POOLS]
CASES += [*BATCH, *BATCH_USERS, *SCORECARDS, *SCORECARD_USERS, *PARTITIONS, *PARTITION_USERS]
CASES += [*POOL_USERS]


class OneByOne:
    """A source that gives each request its words from a cipher of its own."""

    def __init__(self, source: KeyedNoise) -> None:
        self.source = source

    def words(self, address: Address, count: int, offset: int = 0) -> Words:
        return self.source.words(address, count, offset)


def random_records(case: Case, random: np.random.Generator, users: bool) -> list[Record]:
    """A stream of some seasons in records of mostly one example."""
    stream = random_stream(case.points, EXAMPLES, random, noisy=0.2)
    stream = with_users(stream, random, 9) if users else stream
    sizes = np.where(random.random(EXAMPLES) < 0.9, 1, random.integers(1, 40, EXAMPLES))
    cuts = np.cumsum(sizes)
    return records_of(stream, case.plan.x_type, [*cuts[cuts < EXAMPLES].tolist(), EXAMPLES])


def plain_run(plan: StreamPlan, records: Sequence[Record], key: bytes) -> tuple[Transcript, Any]:
    """What an engine says that takes one record after the other, and its last snapshot."""
    transcript = Transcript()
    with pytest.MonkeyPatch.context() as patch:
        use_plain_forms(patch)
        engine = Engine(plan, OneByOne(KeyedNoise(key)), transcript, Inline())
        for record in records:
            engine.apply(record)
        return transcript, engine.snapshot()


@pytest.mark.parametrize("name", CASES)
def test_records_together_come_to_the_same_bytes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(name)
    for seed, least in enumerate((1, 40)):  # words of single examples side by side, or by ciphers
        monkeypatch.setattr(noise_module, "SINGLE_WORDS_MIN", least)
        random = np.random.default_rng((seed, CASES.index(name)))
        records, key = random_records(case, random, "users" in name), random.bytes(32)
        transcript, state = plain_run(case.plan, records, key)
        monkeypatch.setattr(engine_module, "EXAMPLES_AT_ONCE", int(random.integers(3, 64)))
        together = Transcript()
        engine = Engine(case.plan, KeyedNoise(key), together, Inline())
        done = 0
        while done < len(records):
            number = int(random.integers(1, 50))
            engine.apply_all(records[done : done + number])
            done += number
            if random.random() < 0.3:
                before = engine.snapshot()
                engine = Engine(case.plan, KeyedNoise(key), together, Inline(), before)
                assert engine.snapshot() == before
        assert together == transcript
        assert len(transcript.releases) > len(case.plan.publishing)
        assert engine.snapshot() == state
        assert (engine.position, engine.record_number) == (EXAMPLES, len(records) - 1)


def test_many_waiting_records_cost_one_step() -> None:
    """The work for records that wait: one step for as many as there are, not one for each."""
    case = case_of("dense schedule")
    stream = random_stream(case.points, EXAMPLES, np.random.default_rng(1), noisy=0.0)
    records = records_of(stream, case.plan.x_type, range(1, EXAMPLES + 1))
    engine = Engine(case.plan, KeyedNoise(bytes(32)), Transcript(), Inline())
    sizes = noted_steps(engine, "dense_schedule")
    engine.apply_all(records[:3])
    assert sizes == [0, 3]  # the opening of the season
    engine.apply_all(records[3:HORIZON])
    assert len(sizes) < 30
    assert max(sizes) >= HORIZON - 16  # what comes after the last call of the season


@pytest.mark.parametrize("name", ["scorecard", "windows, dense", "partition"])
def test_no_example_is_stepped_over_twice_where_it_is_public_when_rules_come(name: str) -> None:
    case = case_of(name)
    stream = random_stream(case.points, HORIZON, np.random.default_rng(1), noisy=0.0)
    records = records_of(stream, case.plan.x_type, range(1, HORIZON + 1))
    together = Transcript()
    engine = Engine(case.plan, KeyedNoise(bytes(32)), together, Inline())
    sizes = noted_steps(engine, case.plan.publishing[0].name)
    engine.apply_all(records)
    assert sum(sizes) == HORIZON
    rules = len(together.releases) - 1
    assert 1 < rules < HORIZON // 2
    # a run up to the record in which each rule comes, that record, and the rest of the season
    assert 0 < sum(size > 0 for size in sizes) <= 2 * rules + 1


def noted_steps(engine: Engine, name: str) -> list[int]:
    """The numbers of examples of all steps that the learner of an engine takes from now on."""
    learner, sizes = engine._learners[name], list[int]()

    class Noting:
        def __getattr__(self, name: str) -> Any:
            return getattr(learner, name)

        def step(self, state: Any, event: Any, noise: Any) -> Any:
            sizes.append(len(getattr(event, "y", ())))
            return learner.step(state, event, noise)

    engine._learners[name] = Noting()
    return sizes


def test_records_before_one_that_is_out_of_order_are_learned() -> None:
    case = case_of("dense")
    stream = random_stream(case.points, 9, np.random.default_rng(1), noisy=0.0)
    records = records_of(stream, case.plan.x_type, range(1, 10))
    engine = Engine(case.plan, KeyedNoise(bytes(32)), Transcript(), Inline())
    engine.apply_all(records[:4])
    engine.apply_all(records[:4])  # known already
    with pytest.raises(OutOfOrder, match="record 7 of stream s cannot follow record 5"):
        engine.apply_all([*records[4:6], records[7]])
    assert (engine.record_number, engine.position) == (5, 6)
    engine.apply_all(records[2:])
    assert engine.record_number == 8


def test_a_restore_between_records_is_applied_in_its_place() -> None:
    case, later = case_of("dense"), 3 * HORIZON
    stream = random_stream(case.points, 40, np.random.default_rng(1), noisy=0.2)
    records = records_of(stream, case.plan.x_type, range(1, 41))
    said = Restoration("name", 0, Price.zero(), 20, 2, 0, 0, {}, Numbers({}))
    restore = Record(
        "s", 20, later, RESTORER, 0, 0, said.to_bytes(), b"", blake2b(digest_size=32).digest()
    )
    behind = [
        replace(each, number=each.number + 1, first_position=later + each.first_position - 20)
        for each in records[20:]
    ]
    journal, key = [*records[:20], restore, *behind], bytes(32)
    transcript, state = plain_run(case.plan, journal, key)
    together = Transcript()
    engine = Engine(case.plan, KeyedNoise(key), together, Inline())
    engine.apply_all(journal)
    assert (together, engine.snapshot()) == (transcript, state)
    assert engine.status()["restores"] == 1
