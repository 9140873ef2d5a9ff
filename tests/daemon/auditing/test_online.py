"""Runs of an audit are those of the daemon's engine, and audits find what is planted in them."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.auditing import online
from littled.auditing.bounds import Claim
from littled.auditing.noise import derived_key, key_of_seed
from littled.auditing.online import EngineTrial, online_subject
from littled.auditing.subjects import small_plan
from littled.auditing.subjects.online import PUBLISHING
from littled.auditing.trials import Auditor
from littled.engine import AtOnce, Transcript, replay
from littled.mechanisms.noise import Address, KeyedNoise, NoiseSource
from littled.planner import OnlinePlan
from littled_protocol.codec import decode
from littled_protocol.messages import Release

KEY = key_of_seed(1)


def trials(name: str) -> list[EngineTrial]:
    plan = small_plan(name)
    found = online_subject(plan, plan.of(OnlinePlan)[0], name).trials
    engine = [trial for trial in found if isinstance(trial, EngineTrial)]
    assert len(engine) == len(found)
    return engine


def replayed(trial: EngineTrial, side: int, key: bytes) -> Transcript:
    """The transcript of the whole stream from its very start, by the engine that replays."""
    record = trial._record(side)
    return replay(trial.plan, KeyedNoise(key), [record], AtOnce())


@pytest.mark.parametrize("name", PUBLISHING)
def test_a_run_is_what_the_engine_makes_of_the_stream(name: str) -> None:
    """Started from a snapshot or from nothing, with a learner made once or anew: all the same."""
    trial, runs, counted = trials(name)[0], 4, Counter[Any]()
    for run in range(runs):
        transcript = replayed(trial, 1, derived_key(KEY, run))
        items: list[tuple[str, int]] = []
        for release in transcript.releases[1:]:
            message = decode(release.body)
            assert isinstance(message, Release)
            items += [("charge", -1)] * (release.charge is not None)
            items.append((message.kind, message.position))
        counted[tuple(items)] += 1
    seen: Counter[Any] = Counter()
    for outcome, count in trial.counts(1, runs, KEY).items():
        assert isinstance(outcome, tuple)
        seen[tuple((kind, -1 if kind == "charge" else at) for kind, at, _ in outcome)] += count
    assert seen == counted


def test_sides_runs_and_keys_are_told_apart() -> None:
    trial = trials("fresh")[0]
    here = trial.counts(0, 60, KEY)
    assert here.total() == 60
    assert here == trial.counts(0, 60, KEY)
    assert here != trial.counts(0, 60, key_of_seed(2))
    assert here != trial.counts(1, 60, KEY)
    assert len(here) > 3


def test_views_look_at_what_was_published() -> None:
    transcript = (
        ("charge", 3, b""), ("rule", 4, b"\x01"), ("charge", 9, b""), ("rule", 10, b"\x00"),
        ("halt", 15, b"\x00"),
    )  # fmt: skip
    assert online.whole(transcript) == transcript
    assert online.first_release(transcript) == ("rule", 4, b"\x01")
    assert online.first_position(transcript) == 4
    assert online.two_positions(transcript) == (4, 10)
    assert online.later_length(transcript) == (4, 6)
    assert online.last_labels(transcript) == (3, b"\x00")
    assert [view(()) for view in online.VIEWS] == [(), None, None, (), (None, None), (0, b"")]


@dataclass(frozen=True)
class NoSelectionNoise:
    """Every selection is the likeliest that it can be."""

    source: NoiseSource

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        if address.purpose == "select":
            return np.full(count, 1 << 63, dtype=np.uint64)
        return self.source.words(address, count, offset)


@pytest.mark.long
def test_a_selection_without_noise_is_found() -> None:
    plan = small_plan("fresh-scheduled")
    asked = online_subject(plan, plan.of(OnlinePlan)[0], "l", NoSelectionNoise)
    (even,) = (each for each in asked.trials if each.name == "3 mistakes of 5")
    finding = Auditor(KEY).audit(0, replace(asked, trials=[even]), 600)
    assert finding.exceeded


@pytest.mark.long
def test_a_learner_with_other_parameters_than_its_claim_is_found() -> None:
    """As planned nothing is found; of a tenth of the epsilon everything is."""
    plan = small_plan("histogram-scheduled")
    asked = online_subject(plan, plan.of(OnlinePlan)[0], "l")
    few = replace(asked, trials=[each for each in asked.trials if each.name == "4 votes and 3"])
    finding = Auditor(KEY).audit(0, few, 250)
    assert not finding.exceeded
    assert finding.epsilon > 0.3 * finding.claim.epsilon
    assert Auditor(KEY).audit(0, replace(few, claims=(Claim(0.4, 0.0),)), 250).exceeded
