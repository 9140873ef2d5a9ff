"""Parameters of the partition learner: epochs, what is refused, and how they are stored."""

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pytest

from littled.learners.partition import PartitionParameters

F = Fraction
USUAL = PartitionParameters(
    epsilon=F(1), horizon=1_000, rate=F(1, 2), accounting="pure", schedule_first=16,
    schedule_cap=40, decay=F(7, 8), divided_from=4,
)  # fmt: skip


@pytest.mark.parametrize(("first", "cap", "horizon"), [(16, 40, 1_000), (1, 1, 5), (7, 7, 7)])
def test_epochs_double_up_to_the_cap_and_end_before_the_season(
    first: int, cap: int, horizon: int
) -> None:
    p = replace(USUAL, schedule_first=first, schedule_cap=cap, horizon=horizon)
    lengths = [p.epoch_length(call) or 0 for call in range(p.calls_max)]
    assert lengths == [min(first << max(call - 1, 0), cap) for call in range(p.calls_max)]
    ends = list(accumulate(lengths))
    assert all(end < horizon for end in ends)
    assert p.epoch_length(p.calls_max) is None
    assert (ends or [0])[-1] + min(first << max(p.calls_max - 1, 0), cap) >= horizon
    assert p.epoch_length(10**9) is None


def test_parameters_are_stored_and_read_again() -> None:
    for parameters in (USUAL, replace(USUAL, user_examples_max=3, accounting="zcdp")):
        assert PartitionParameters.from_dict(parameters.to_dict()) == parameters
    assert USUAL.to_dict()["rate"] == "1/2"
    with pytest.raises(ValueError, match="rate"):
        PartitionParameters.from_dict({k: v for k, v in USUAL.to_dict().items() if k != "rate"})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": F(0)}, "epsilon and rate must be above 0"),
        ({"rate": F(0)}, "epsilon and rate must be above 0"),
        ({"rate": "1/2"}, "rate must be a Fraction"),
        ({"accounting": "renyi"}, "accounting must be one of pure, zcdp"),
        ({"decay": F(1)}, "decay must be from 0 to 127/128"),
        ({"horizon": 1 << 41}, "horizon must be at most"),
        ({"horizon": 0}, "horizon must be an integer of at least 1"),
        ({"schedule_first": 41}, "schedule_first must be at most schedule_cap"),
        ({"divided_from": 0}, "divided_from must be an integer of at least 1"),
        ({"divided_from": 1 << 31}, "divided_from must be at most"),
        ({"parts_max": 1 << 14}, "and parts_max 8,192"),
        ({"block_cost": -1}, "block_cost must be an integer from 0"),
        ({"user_examples_max": 0}, "user_examples_max must be an integer from 1"),
    ],
)
def test_what_no_learner_can_have_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(USUAL, **changes)
