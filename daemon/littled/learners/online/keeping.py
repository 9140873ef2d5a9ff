"""What a season keeps of its examples for the next joint training: counts of them, or themselves.

Source: Lyu, Algorithm 3, lines 7, 13, 20 and 22 (the sets E and S), and PRIVACY.md, section 4.

Where users are protected, of each at most c examples of a season are kept: the first ones that
would be, of mistakes when they come, of the background at the end of its epoch, and of what is held
back when a call sees it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from littled.classes.capabilities import NumberedRules
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Examples, Place
from littled.learners.online.buffer import Buffer
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.pool import HeldRows, Pool, PoolSettings
from littled.learners.online.state import OnlineState
from littled.learners.online.values import ParameterValues
from littled.learners.users import UserCounts, user_words
from littled_protocol.columns import point_type

Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]

# Examples whose counting is put off until it is worth a pass over the statistics.
PENDING_EXAMPLES_MAX = 1 << 16
# And so many pieces, since each step looks at all of them.
PENDING_PIECES_MAX = 64
# What is stored of batches that are not counted yet, with what their columns need beside the data.
PENDING_BATCHES, PENDING_BATCH_BYTES = 256, 256
# Of a kept example: its label and whether it is a mistake; its priority and its teacher's word.
LABEL_BYTES, FLAG_BYTES, WORDS_BYTES = 1, 1, 8 + 8
# And its user, where users are protected.
USER_BYTES = 16
# The slot of an example that waits for the pool.
SLOT_BYTES = 1
# Names, types and shapes of the columns of an epoch.
EPOCH_BYTES = 512
# Beside the first, the background may hold so many examples more until it is cut again.
BACKGROUND_SLACK = 1024


@dataclass(frozen=True)
class Keeping(ABC):
    """What is kept of a season's examples; `parameters` and class are public."""

    hypotheses: HypothesisClass
    parameters: ParameterValues

    @abstractmethod
    def emptied(self, state: OnlineState) -> OnlineState:
        """The state without anything that the epochs so far have kept."""

    @abstractmethod
    def keep(
        self, state: OnlineState, event: Examples, mistake: Flags, noise: LearnerNoise
    ) -> OnlineState:
        """Keep what the next joint training may use of the examples; `mistake` (n,)."""

    @abstractmethod
    def settled(self, state: OnlineState) -> OnlineState:
        """The same state in a form that does not show how its examples came in batches."""

    @abstractmethod
    def closed(self, state: OnlineState) -> OnlineState:
        """The state at the end of an epoch, ready for a joint training."""

    def recalled(self, state: OnlineState, place: Place) -> OnlineState:
        """The closed state with what earlier epochs have held back for the call at this place."""
        return state

    def next_epoch(self, state: OnlineState) -> OnlineState:
        """The state after a call that sees its own epoch only: nothing that was kept stays."""
        return self.emptied(state)

    @abstractmethod
    def with_user_words(self, state: OnlineState, noise: LearnerNoise) -> OnlineState:
        """The closed state with the secret word of each user, where these choose teachers."""

    @abstractmethod
    def stored_bytes(self, rows: int) -> int:
        """Most bytes in a snapshot of what is kept, of so many examples at the most."""

    @property
    def row_bytes(self) -> int:
        """Bytes of one kept example: its point, its label, its words, and its user if it counts."""
        return self._example_bytes + FLAG_BYTES + WORDS_BYTES

    @property
    def _example_bytes(self) -> int:
        """Bytes of a point with its label, and its user where users count."""
        users = 0 if self.parameters.user_examples_max is None else USER_BYTES
        return point_type(self.hypotheses.point_type).itemsize_bytes + LABEL_BYTES + users


@dataclass(frozen=True)
class Counts(Keeping):
    """Statistics of a class whose rules are all weighed; nothing else of an example is kept."""

    rules: NumberedRules

    def emptied(self, state: OnlineState) -> OnlineState:
        """Statistics of no examples."""
        none = self.rules.empty_statistics()
        return replace(state, buffer=None, archive=(), statistics=none, pending=())

    def keep(
        self, state: OnlineState, event: Examples, mistake: Flags, noise: LearnerNoise
    ) -> OnlineState:
        """Count the examples, or the mistakes, soon."""
        if self.parameters.buffer == "mistakes":
            event = event.take(mistake)
        if not len(event.y):
            return state
        pending = (*state.pending, (event.x, event.y, event.users))
        return self._count(replace(state, pending=pending))

    def settled(self, state: OnlineState) -> OnlineState:
        """With everything counted."""
        return self._count(state, now=True) if state.pending else state

    def closed(self, state: OnlineState) -> OnlineState:
        """With everything counted."""
        return self._count(state, now=True)

    def with_user_words(self, state: OnlineState, noise: LearnerNoise) -> OnlineState:
        """The same state, as no teachers are chosen."""
        return state

    def _count(self, state: OnlineState, *, now: bool = False) -> OnlineState:
        """Fold the pending examples into the statistics, now or when there are enough of them.

        Which of them are within their users' caps can wait until then: it depends on no release.
        """
        waiting = sum(len(y) for _, y, _ in state.pending)
        if not (now or waiting >= PENDING_EXAMPLES_MAX or len(state.pending) >= PENDING_PIECES_MAX):
            return state
        statistics, kept = state.statistics, state.users_kept
        most = self.parameters.user_examples_max
        assert statistics is not None
        if waiting:
            x = np.concatenate([x for x, _, _ in state.pending])
            y = np.concatenate([y for _, y, _ in state.pending])
            users = [column for _, _, column in state.pending if column is not None]
            if kept is not None and most is not None:
                whose = np.concatenate(users)
                chosen = kept.admitted(whose, np.ones(waiting, dtype=np.bool_), most)
                x, y, kept = x[chosen], y[chosen], kept.plus(whose[chosen])
            statistics = self.rules.add(statistics, x, y)
        return replace(state, statistics=statistics, pending=(), users_kept=kept)

    def stored_bytes(self, rows: int) -> int:
        """The statistics, and the examples that they do not hold yet."""
        pending = PENDING_EXAMPLES_MAX * self._example_bytes + PENDING_BATCHES * PENDING_BATCH_BYTES
        return self.rules.empty_statistics().nbytes + pending


@dataclass(frozen=True)
class PooledCounts(Counts):
    """Statistics of an epoch, and a pool of examples that it holds back for later calls."""

    settings: PoolSettings

    def emptied(self, state: OnlineState) -> OnlineState:
        """Nothing held back either."""
        return replace(super().emptied(state), pool=Pool.empty(self.settings.slots, self.rules))

    def next_epoch(self, state: OnlineState) -> OnlineState:
        """What is held back for calls to come stays."""
        return replace(super().emptied(state), pool=state.pool)

    def keep(
        self, state: OnlineState, event: Examples, mistake: Flags, noise: LearnerNoise
    ) -> OnlineState:
        """Count each example soon: for the call to come, or in a slot of the pool."""
        earlier = event.place.position - state.epoch_position
        if earlier + len(event.y) <= self.settings.own:
            return super().keep(state, event, mistake, noise)
        words = noise.of_positions(event, "pool")
        held = self.settings.held(words, earlier)
        assert isinstance(state.pool, Pool)
        pool = state.pool.plus(event.x[held], event.y[held], self.settings.slots_of(words[held]))
        state = super().keep(replace(state, pool=pool), event.take(~held), mistake[~held], noise)
        waiting = sum(len(y) for _, y, _ in pool.waiting)
        many = waiting >= PENDING_EXAMPLES_MAX or len(pool.waiting) >= PENDING_PIECES_MAX
        return self._pool_counted(state) if many else state

    def settled(self, state: OnlineState) -> OnlineState:
        """With everything counted, in the pool as well."""
        return self._pool_counted(super().settled(state))

    def closed(self, state: OnlineState) -> OnlineState:
        """With everything counted, in the pool as well."""
        return self._pool_counted(super().closed(state))

    def recalled(self, state: OnlineState, place: Place) -> OnlineState:
        """Count the call's slot of the pool, which is empty then; or empty the whole pool.

        The epoch's length and the number of calls say which: both are public.
        """
        assert isinstance(state.pool, Pool)
        assert state.statistics is not None
        pool = replace(state.pool, calls=state.pool.calls + 1)
        if self.settings.empties(place.position + 1 - state.epoch_position, pool.calls):
            return replace(state, pool=Pool.empty(self.settings.slots, self.rules))
        found, left = pool.spent(state.calls)
        return replace(state, statistics=state.statistics + found, pool=left)

    def _pool_counted(self, state: OnlineState) -> OnlineState:
        assert isinstance(state.pool, Pool)
        return replace(state, pool=state.pool.counted(self.rules))

    def stored_bytes(self, rows: int) -> int:
        """The statistics of the pool, and what they do not hold yet."""
        pool = self.settings.slots * self.rules.empty_statistics().nbytes
        waiting = PENDING_EXAMPLES_MAX * (self._example_bytes + SLOT_BYTES)
        waiting += PENDING_BATCHES * PENDING_BATCH_BYTES
        return super().stored_bytes(rows) + pool + waiting


@dataclass(frozen=True)
class Buffers(Keeping):
    """Examples themselves: a buffer for each epoch, with a background, mistakes, or both."""

    def emptied(self, state: OnlineState) -> OnlineState:
        """No buffers."""
        return replace(state, buffer=None, archive=(), statistics=None, pending=())

    def keep(
        self, state: OnlineState, event: Examples, mistake: Flags, noise: LearnerNoise
    ) -> OnlineState:
        """Draw the words that decide something, and keep what can belong to the buffer."""
        p = self.parameters
        # a user's word is drawn later
        votes = p.chooses_teachers and event.users is None
        if p.background_max or p.mistakes_max:
            priority = noise.of_positions(event, "buffer")
            teacher = noise.of_positions(event, "teacher") if votes else np.zeros_like(priority)
            return self._keep(state, event, mistake, priority, teacher)
        # Mistakes are kept and nothing else, whatever the priorities would be. Parameters alone say
        # what is drawn: words of teachers also where there is no mistake.
        none = np.zeros(int(np.count_nonzero(mistake)), dtype=np.uint64)
        teacher = noise.of_positions(event, "teacher")[mistake] if votes else none
        return self._keep(state, event.take(mistake), mistake[mistake], none, teacher)

    def _keep(
        self, state: OnlineState, event: Examples, mistake: Flags, priority: Words, teacher: Words
    ) -> OnlineState:
        """Keep what can belong to the buffer; `priority`, `teacher` (n,) are the positions' own."""
        p = self.parameters
        if p.mistakes_max:
            mistake = mistake & (priority <= self._mistakes_limit(state))
        if p.keeps_mistakes:
            mistake = admitted(state.users_kept, event, mistake, p.user_examples_max)
            state = replace(state, users_kept=plus(state.users_kept, event, mistake))
        arriving = Buffer(event.x, event.y, mistake, priority, teacher, event.users)
        buffer = Buffer.empty(event.x, event.users) if state.buffer is None else state.buffer
        buffer = buffer.extend(
            arriving, background_max=p.background_max, keep_mistakes=p.keeps_mistakes
        )
        return replace(state, buffer=buffer)

    def _mistakes_limit(self, state: OnlineState) -> np.uint64:
        """Highest priority of a position of this epoch that may keep a mistake; public.

        It is fixed before the epoch begins, so whether a position may keep one depends on nothing
        that was seen, and no mistake pushes out another.
        """
        p = self.parameters
        length = p.epoch_length(state.calls) or 1
        share = min(p.mistakes_max, length)
        return np.uint64((share << 64) // length - 1)

    def settled(self, state: OnlineState) -> OnlineState:
        """With a buffer that holds exactly what is kept."""
        return state if state.buffer is None else replace(state, buffer=self._final(state.buffer))

    def closed(self, state: OnlineState) -> OnlineState:
        """Move the epoch's buffer to the archive (line 20: S^(i) with A_i added)."""
        if state.buffer is None:
            return state
        p, final = self.parameters, self._final(state.buffer)
        if final.users is not None and state.users_kept is not None and p.user_examples_max:
            # which positions are the background's was not known before; mistakes were admitted then
            mistakes = final.mistake & p.keeps_mistakes
            chosen = state.users_kept.admitted(final.users, ~mistakes, p.user_examples_max)
            state = replace(state, users_kept=state.users_kept.plus(final.users[chosen]))
            final = final.take(chosen | mistakes)
        return replace(state, buffer=None, archive=(*state.archive, final))

    def _final(self, buffer: Buffer) -> Buffer:
        p = self.parameters
        return buffer.final(background_max=p.background_max, keep_mistakes=p.keeps_mistakes)

    def with_user_words(self, state: OnlineState, noise: LearnerNoise) -> OnlineState:
        """The secret word of each user in the epoch just closed, the same in the whole season."""
        if not state.archive or not self.parameters.chooses_teachers:
            return state
        last = state.archive[-1]
        if last.users is None:
            return state
        words = user_words(last.users, noise.name, state.season, noise.source)
        last = replace(last, teacher=words)
        return replace(state, archive=(*state.archive[:-1], last))

    def stored_bytes(self, rows: int) -> int:
        """The examples, and the columns of every epoch that is remembered."""
        epochs = 1 if self.parameters.fresh else self.parameters.calls_max
        return rows * self.row_bytes + (epochs + 1) * EPOCH_BYTES


@dataclass(frozen=True)
class PooledBuffers(Buffers):
    """Buffers where users are protected, and a pool of positions held back for later calls."""

    settings: PoolSettings

    def emptied(self, state: OnlineState) -> OnlineState:
        """Nothing held back either."""
        return replace(super().emptied(state), pool=HeldRows())

    def next_epoch(self, state: OnlineState) -> OnlineState:
        """What is held back for calls to come stays."""
        return replace(super().emptied(state), pool=state.pool)

    def keep(
        self, state: OnlineState, event: Examples, mistake: Flags, noise: LearnerNoise
    ) -> OnlineState:
        """Keep each example for the call to come, or in a slot of the pool: its word says which."""
        priority = noise.of_positions(event, "buffer")
        earlier = event.place.position - state.epoch_position
        if earlier + len(event.y) > self.settings.own:
            words = noise.of_positions(event, "pool")
            held = self.settings.held(words, earlier)
            pool = self._pool(state).plus(event.take(held), words[held], self.settings)
            state = replace(state, pool=pool)
            event, mistake, priority = event.take(~held), mistake[~held], priority[~held]
        return self._keep(state, event, mistake, priority, np.zeros_like(priority))

    def settled(self, state: OnlineState) -> OnlineState:
        """With a pool that holds exactly what is held back."""
        return replace(super().settled(state), pool=self._pool(state).cut(self.settings))

    def recalled(self, state: OnlineState, place: Place) -> OnlineState:
        """Admit what users have in the call's slot, which is empty then; or empty the whole pool.

        A user's examples count when a call sees them, after those of the call's own epoch.
        """
        pool = self._pool(state)
        pool = replace(pool, calls=pool.calls + 1)
        if self.settings.empties(place.position + 1 - state.epoch_position, pool.calls):
            return replace(state, pool=HeldRows())
        found, left = pool.spent(state.calls, self.settings)
        state = replace(state, pool=left)
        if found is None:
            return state
        most, kept = self.parameters.user_examples_max, state.users_kept
        assert most is not None
        assert kept is not None
        assert found.users is not None
        chosen = kept.admitted(found.users, np.ones(len(found), dtype=np.bool_), most)
        found = found.take(chosen)
        assert found.users is not None
        kept = kept.plus(found.users)
        return replace(state, archive=(*state.archive, found), users_kept=kept)

    def _pool(self, state: OnlineState) -> HeldRows:
        assert isinstance(state.pool, HeldRows)
        return state.pool

    def stored_bytes(self, rows: int) -> int:
        """The rows of the pool as well."""
        return super().stored_bytes(rows) + self.settings.rows_max * self.row_bytes + EPOCH_BYTES


@dataclass(frozen=True)
class Nothing(Keeping):
    """No examples: of a way whose trigger has counted what its calls see."""

    def emptied(self, state: OnlineState) -> OnlineState:
        """The same state."""
        return state

    def keep(
        self, state: OnlineState, event: Examples, mistake: Flags, noise: LearnerNoise
    ) -> OnlineState:
        """The same state."""
        return state

    def settled(self, state: OnlineState) -> OnlineState:
        """The same state."""
        return state

    def closed(self, state: OnlineState) -> OnlineState:
        """The same state."""
        return state

    def with_user_words(self, state: OnlineState, noise: LearnerNoise) -> OnlineState:
        """The same state."""
        return state

    def stored_bytes(self, rows: int) -> int:
        """What is watched, an id for each example of a season: the id, its gap, when it passes."""
        return self.parameters.horizon * (16 + 8 + 8) + EPOCH_BYTES


def admitted(counts: UserCounts | None, event: Examples, wanted: Flags, most: int | None) -> Flags:
    """Which of the wanted examples are among the first c of their users; all of them without c.

    This depends on the user's own examples and on public state: on nobody else's.
    """
    if counts is None or event.users is None or most is None:
        return wanted
    return counts.admitted(event.users, wanted, most)


def plus(counts: UserCounts | None, event: Examples, chosen: Flags) -> UserCounts | None:
    """The counts, where users are counted, with those of the chosen examples."""
    if counts is None or event.users is None:
        return None
    places = np.flatnonzero(chosen)  # many times as fast for rows as the flags themselves
    return counts.plus(event.users.take(places, axis=0)) if len(places) else counts
