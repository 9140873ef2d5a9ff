"""What a way of selection is: what it keeps, selects, costs and takes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from littled.budget.events import PrivacyEvent, SparseSelection
from littled.classes.base import DataSet
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.buffer import Buffer
from littled.learners.online.keeping import Buffers, Keeping
from littled.learners.online.memory import Memory
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.state import OnlineState
from littled.learners.online.values import EpochSettings, ParameterValues
from littled_protocol.rules import MajorityRule, Rule

# A joint training copies what a season has kept: into one column each, and to a snapshot.
ROW_COPIES = 6
# Where users are protected: of a kept example, to number the users of all of them.
USER_NUMBER_BYTES = 64


@dataclass(frozen=True, slots=True)
class Load:
    """What one joint training of a season meets at the most, whatever the examples are.

    `examples` that it learns from, in so many `epochs`; `rows`, the examples that the learner holds
    at a time.
    """

    examples: int
    rows: int
    epochs: int


@dataclass(frozen=True, slots=True)
class Work:
    """What one joint training does, in units that its duration is a sum over.

    `rules` that are weighed, and `cells` that are read for it; `candidates` that examples propose;
    `teachers` whose lists are made in each of so many `epochs`.
    """

    rules: int = 0
    cells: int = 0
    candidates: int = 0
    teachers: int = 0
    epochs: int = 0


@dataclass(frozen=True)
class Selection(ABC):
    """One way to select the next rule, with the parameters of a learner that selects in it.

    All methods are functions of public values, except `select`. To be asked for anything beside
    `wrong`, the parameters have to go together.
    """

    parameters: ParameterValues

    # -- what it goes with -------------------------------------------------------------------

    @property
    @abstractmethod
    def words(self) -> str:
        """For people, in a few words."""

    def wrong(self) -> Iterator[str]:
        """What other parameters may not be with this way; the first one is said."""
        if any(settings.teachers is not None for settings in self.parameters.ladder):
            yield "only closure selection changes its teachers on a ladder"
        yield from self._wrong_memory()
        yield from self._wrong_stages()

    def _wrong_memory(self) -> Iterator[str]:
        if self.parameters.memory is not None:
            yield f"{self.parameters.selection} selection has no memory of releases"

    def wrong_pool(self) -> Iterator[str]:
        """What a pool of held-back examples does not go with; the first one is said."""
        if self.parameters.pool is not None:
            yield f"{self.parameters.selection} selection has no pool of held-back examples"

    def wrong_groups(self) -> Iterator[str]:
        """What voters in groups do not go with; the first one is said."""
        if self.parameters.groups is not None:
            yield f"{self.parameters.selection} selection has no voters in groups"

    def wrong_published_score(self) -> Iterator[str]:
        """What a threshold of its own for what is published does not go with."""
        if self.parameters.published_score is not None:
            yield "only tallies of ids have a published_score"

    def wrong_start(self) -> Iterator[str]:
        """What cannot start over from the smallest rule."""
        if self.parameters.starts_over:
            yield "only closures, of fresh selections, can have starts_over"
        yield from self._wrong_start_together()

    def _wrong_start_together(self) -> Iterator[str]:
        if self.parameters.starts_over_together:
            yield "only closure selection that starts_over can have starts_over_together"

    def wrong_warmup(self) -> Iterator[str]:
        """What has no warm-up; the first one is said."""
        if self.parameters.warmup_ends:
            yield f"{self.parameters.selection} selection has no warm-up; leave out warmup_ends"

    def _wrong_stages(self) -> Iterator[str]:
        if self.parameters.stage_rate is not None:
            yield "a stage test needs sparse selection with a number of teachers"

    @abstractmethod
    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """What this way needs and the class does not have."""

    # -- what it costs -----------------------------------------------------------------------

    def season_events(self, hypotheses: HypothesisClass) -> list[PrivacyEvent]:
        """What is charged when a season opens, whatever is selected in it."""
        return []

    @abstractmethod
    def event(self, epochs: int = 1) -> PrivacyEvent:
        """What one selection costs an example or user in it; or fresh ones of so many epochs.

        Where teachers propose, one teacher's list is replaced in each of these epochs. Elsewhere a
        user's examples are shared out to the epochs, and count together as they would in one; but
        lists fail to hide on either side, if these can be in different epochs.
        """

    @abstractmethod
    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """Its part of the total variation distance of a season from ideal real-valued noise."""

    @property
    def _user_examples_max(self) -> int:
        return self.parameters.user_examples_max or 0

    def _apart(self, epochs: int) -> int:
        """In how many of the epochs what one side has in one of them can be on the other."""
        return epochs if self.parameters.keeps_mistakes else 1

    # -- a season ----------------------------------------------------------------------------

    def opened(self, hypotheses: HypothesisClass, published: Rule) -> Memory | None:
        """The public memory that a season begins with; None for a way without one.

        The `published` rule is that of the season before, which stays in force.
        """
        return None

    def settings(self, state: OnlineState) -> EpochSettings:
        """The settings of the ladder in force; a public function of public state."""
        return self.parameters.settings(state.kept)

    @property
    def keeps_rows(self) -> bool:
        """Whether the examples themselves are kept, and not only counted."""
        return True

    def keeping(self, hypotheses: HypothesisClass) -> Keeping:
        """What its epochs remember."""
        return Buffers(hypotheses, self.parameters)

    @abstractmethod
    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The rule of one call, None for bottom; Algorithm 4 and public memories change the state.

        `state` is closed (`Keeping.closed`). Draws from the addresses of `place` alone.
        """

    def _majority(self, rules: Sequence[Rule]) -> Rule | None:
        """The majority vote of the rules that the draws came to; None if most were bottom."""
        if 2 * len(rules) <= self.parameters.draws:
            return None
        return MajorityRule(members=tuple(rules)) if len(rules) > 1 else rules[0]

    # -- what it takes -----------------------------------------------------------------------

    @property
    def lists_by_teacher(self) -> bool:
        """Whether a training makes the essential list of each of a number of teachers."""
        return False

    @abstractmethod
    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """Most candidates of one selection from so many examples; 0 where all rules are weighed."""

    @abstractmethod
    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """What one joint training does."""

    @abstractmethod
    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """The most memory that keeping, storing and training take at once.

        Without what is counted of users.
        """

    def _rows_bytes(self, hypotheses: HypothesisClass, rows: int, copies: int = ROW_COPIES) -> int:
        """Bytes of so many kept examples, with all copies of them."""
        numbered = 0 if self.parameters.user_examples_max is None else USER_NUMBER_BYTES
        return rows * (copies * self.keeping(hypotheses).row_bytes + numbered)


def columns(archive: Sequence[Buffer]) -> DataSet:
    """Points and labels of all that a season has kept."""
    x, y = zip(*(epoch.data_set() for epoch in archive), strict=True)
    return np.concatenate(x), np.concatenate(y)


def sparse_event(
    p: ParameterValues, draws: int, *, user_examples_max: int = 0, epochs: int = 1
) -> PrivacyEvent:
    """So many draws of Lemma B with the rate, list cap and bottom score of these parameters."""
    return SparseSelection(
        rate=p.selection_rate,
        list_cap=p.list_cap,
        bottom_score=p.bottom_score,
        draws=draws,
        accounting=p.selection_accounting,
        user_examples_max=user_examples_max,
        epochs=epochs,
    )
