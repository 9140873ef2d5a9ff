"""What a status says of the calls that may still come, beside the calls that then came."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.price import Price
from littled.budget.spending import epsilon_of, next_call
from littled.engine import Engine, Transcript
from littled.mechanisms.noise import KeyedNoise
from littled_protocol.codec import decode
from littled_protocol.messages import Release
from support.learner_cases import HORIZON, case_of
from support.learning import Inline
from support.twins import random_stream, records_of, with_users

CASES = [
    "dense", "dense schedule", "dense draws", "a small budget", "one stream for all",
    "windows, dense", "minimum", "most frequent", "scorecard warm", "partition", "dense, users 1",
]  # fmt: skip
EXAMPLES = 2 * HORIZON + 7


def published(transcript: Transcript, learner: str, season: int) -> tuple[int, bool]:
    """How many calls a learner has published in a season, and whether it has halted there."""
    calls, halted = 0, False
    for stored in transcript.releases:
        message = decode(stored.body)
        assert isinstance(message, Release)
        if message.learner == learner and message.season == season:
            calls += stored.charge is not None
            halted = message.kind == "halt"
    return calls, halted


@pytest.mark.parametrize("name", CASES)
def test_calls_left_and_the_next_price_are_what_the_ledger_then_says(name: str) -> None:
    case = case_of(name)
    plan, random = case.plan, np.random.default_rng(CASES.index(name))
    stream = random_stream(case.points, EXAMPLES, random, noisy=0.4)
    stream = with_users(stream, random, 9) if "users" in name else stream
    transcript = Transcript()
    engine = Engine(plan, KeyedNoise(random.bytes(32)), transcript, Inline())
    engine.start()
    most = {one.name: one.learner(plan.stream).calls_max for one in plan.publishing}
    told, left = dict[str, Any](), set[int]()
    for record in records_of(stream, plan.x_type, range(1, EXAMPLES + 1)):
        before, entries = engine.status(), len(transcript.entries)
        engine.apply(record)
        status = engine.status()
        for learner, facts in status["learners"].items():
            calls, halted = published(transcript, f"{plan.stream}/{learner}", status["season"])
            assert facts["calls_left"] == (0 if halted else most[learner] - calls)
            assert (facts["next_call"] is None) == (facts["calls_left"] == 0)
            left.add(facts["calls_left"])
            told[learner] = before["learners"][learner]["next_call"]
        new = transcript.entries[entries:]
        if len(new) == 1 and new[0].season == before["season"]:
            (entry,) = new
            assert entry.learner is not None
            spent = [Price.from_dict(each["spent"]) for each in (before, status)]
            added = epsilon_of(spent[1], plan.delta_z) - epsilon_of(spent[0], plan.delta_z)
            assert told[entry.learner] == {"epsilon": max(0.0, added), "fits": True}
        elif any(not facts["fits"] for facts in told.values() if facts):
            assert all(entry.season != before["season"] for entry in new)
    assert len(left) > 1


def test_a_call_that_does_not_fit_is_said_not_to() -> None:
    one, caps = Price(Fraction(1, 3), Fraction(0), Fraction(0)), Price(*[Fraction(1, 2)] * 3)
    delta = Fraction(1, 10**6)
    first = next_call(Price.zero(), one, caps, delta)
    assert first["fits"]
    assert first["epsilon"] == pytest.approx(1 / 3)
    assert next_call(one, one, caps, delta)["fits"] is False
    assert next_call(one, Price.zero(), caps, delta) == {"epsilon": 0.0, "fits": True}
