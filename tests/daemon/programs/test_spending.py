"""What is spent by which position: the sums of the ledger, in epsilons, season by season."""

from fractions import Fraction

import numpy as np

from littled.classes.names import class_from_name
from littled.engine import Runner
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.programs.research import key_of, plan_of
from littled.programs.spending import spending_of

X = np.random.default_rng(2).integers(0, 256, 9000).astype(np.uint8)


def test_every_season_begins_anew() -> None:
    plan = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=4000, noise_rate=0.1)
    runner = Runner(plan, key_of(1))
    before = spending_of(runner)
    assert before.position == 0
    assert before.steps[0][1] == before.spent > 0
    runner.learn(X, (X >= 100).astype(np.uint8))
    found = spending_of(runner)
    assert found.position == 9000
    assert found.steps[0] == before.steps[0]
    starts = dict(found.steps)
    assert starts[0] == starts[4000] == starts[8000]
    assert all(0 < amount <= found.budget == 1 for _, amount in found.steps)
    seasons = [[a for p, a in found.steps if p // 4000 == s] for s in range(3)]
    assert all(season == sorted(season) for season in seasons)


def test_no_call_is_next_where_none_fits() -> None:
    plan = plan_of(
        "thresholds:256", epsilon=1, delta=1e-6, horizon=9000, noise_rate=0.3, selection="dense"
    )
    runner = Runner(plan, key_of(1))
    # labels that no rule explains, so that calls are asked for until none is left
    for start in range(0, 9000, 1000):
        x = X[start : start + 1000]
        runner.learn(x, ((x >= 100) ^ (start // 1000 % 2 == 1)).astype(np.uint8))
    found = spending_of(runner)
    halted = runner.status()["learners"]["rule"]["halted"]
    assert (found.next_call is None) == halted
    assert found.left >= 0


def test_charges_of_several_learners_are_added_in_the_order_of_positions() -> None:
    learners = tuple(
        OnlineRequest(name, class_from_name("thresholds:256"), noise_rate=Fraction(rate, 10))
        for name, rate in (("one", 1), ("two", 2))
    )
    plan = plan_stream(StreamRequest("s", Fraction(1), Fraction(1, 10**6), 8000, learners))
    runner = Runner(plan, key_of(1))
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, 16_000).astype(np.uint8)
    runner.learn(x, ((x >= 54) ^ (rng.random(16_000) < 0.08)).astype(np.uint8))
    positions = [entry.position for entry in runner.transcript.entries]
    assert positions != sorted(positions)
    steps = spending_of(runner).steps
    assert [position for position, _ in steps] == sorted(set(positions))
    for season in range(2):
        amounts = [amount for position, amount in steps if position // 8000 == season]
        assert amounts == sorted(amounts)
