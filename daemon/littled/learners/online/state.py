"""The state of an online learner, and the result of one of its steps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points
from littled.learners import contract
from littled.learners.online.buffer import Buffer
from littled.learners.online.closure_tallies import ClosureTallies
from littled.learners.online.memory import Memory
from littled.learners.online.pool import HeldRows, Pool
from littled.learners.online.tallies import Tallies
from littled.learners.users import UserCounts, Users
from littled_protocol.rules import Rule


@dataclass(frozen=True, slots=True)
class OnlineState:
    """Everything the learner knows. Public: the fields up to `kept`, and `memory`; the rest
    never leaves, and what `memory` holds leaves in releases only.

    Of the season: `calls` made, and how many of them in a row `kept` the rule. `archive` holds, for
    each earlier epoch of the season, its buffer; `statistics` the counts of a dense class, without
    the `pending` examples. `users_counted` are the mistakes of each user that the trigger has
    counted, `users_kept` the examples of each that were kept; None where examples are protected,
    and `users_kept` where exactly the counted mistakes are kept. `memory` is that of the season,
    None for ways of selection without one. `pool` is what was held back for later calls of the
    season, None for learners without one. `tallies` are those of the season, None for other ways
    and where nothing is tested.
    """

    rule: Rule
    version: int = 0
    season: int = -1
    epoch: int = 0
    epoch_position: int = 0
    halted: bool = False
    calls: int = 0
    kept: int = 0
    mistakes: int = 0
    threshold_noise: int | None = None
    stage: int = 1
    stage_noise: int | None = None
    buffer: Buffer | None = None
    archive: tuple[Buffer, ...] = ()
    statistics: NDArray[np.int64] | None = None
    pending: tuple[tuple[Points, Labels, Users | None], ...] = ()
    users_counted: UserCounts | None = None
    users_kept: UserCounts | None = None
    memory: Memory | None = None
    pool: Pool | HeldRows | None = None
    tallies: Tallies | ClosureTallies | None = None


@dataclass(frozen=True, slots=True)
class Step(contract.Step[OnlineState]):
    """Result of one step: the new state, the effects in order, and the examples consumed."""
