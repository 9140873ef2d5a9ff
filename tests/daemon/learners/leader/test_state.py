"""States of scorecard learners as snapshots have them."""

from dataclasses import replace

import numpy as np
import pytest

from littled.learners.leader.columns import Columns
from littled.learners.leader.judging import Candidate, Judgement
from littled.learners.leader.state import (
    Base,
    LeaderState,
    Sequence,
    state_from_dict,
    state_to_dict,
)
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled_protocol.rules import ScorecardRule

CARD = ScorecardRule(-3, ((1, 2), (0, -4, 5)))
NUMBERS = np.array([1, -(1 << 40), 3], dtype=np.int64)
SEQUENCE = Sequence(Columns(3, NUMBERS[:, None]), Columns(3), NUMBERS, NUMBERS, NUMBERS, 900)
FIRST = LeaderState(CARD, NUMBERS, NUMBERS, SEQUENCE, version=3, season=1, batches=7)
# Numbers beyond 64 bits, as the standing of long seasons has them.
LATER = replace(
    FIRST, card=CARD, base=Base(5, 1 << 16), stump=2, judged=NUMBERS, cell_sums=NUMBERS,
    judgement=Judgement((1 << 70, -(1 << 70), 3), 1 << 80, 1 << 66, Candidate.NEVER),
)  # fmt: skip
DAMPED = replace(LATER, sequence=replace(SEQUENCE, level=NUMBERS))
FALLING = replace(LATER, sequence=replace(SEQUENCE, level=NUMBERS, since=3, recent=NUMBERS))
ADDED = {"card", "base", "stump", "judgement", "judged", "cell_sums"}


@pytest.mark.parametrize("state", [FIRST, LATER, DAMPED, FALLING])
def test_a_state_is_read_as_it_was(state: LeaderState) -> None:
    data = pack(state_to_dict(state))
    assert pack(state_to_dict(state_from_dict(unpack(data)))) == data
    assert state_from_dict(unpack(data)).judgement == state.judgement


def test_what_came_later_is_left_out_where_nothing_is_there() -> None:
    assert state_to_dict(LATER).keys() - state_to_dict(FIRST).keys() == ADDED
    sums = [state_to_dict(each)["sequence"].keys() for each in (DAMPED, LATER)]
    assert sums[0] - sums[1] == {"level"}
    assert state_to_dict(FALLING)["sequence"].keys() - sums[0] == {"since", "recent"}


def test_half_of_what_came_later_is_of_no_version() -> None:
    values = {name: value for name, value in state_to_dict(LATER).items() if name != "base"}
    with pytest.raises(SnapshotUnusable):
        state_from_dict(values)
