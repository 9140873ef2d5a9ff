"""Window learners that break a promise, each in one way: what laws of windows must notice."""

from dataclasses import replace

from littled.learners.batch import BatchLearner, BatchState
from littled.learners.contract import Place, Step
from littled.learners.users import UserCounts
from littled.mechanisms.noise import NoiseSource


class Remembering(BatchLearner):
    """Keeps the examples of earlier windows."""

    def _train(self, state: BatchState, place: Place, noise: NoiseSource) -> Step[BatchState]:
        step = super()._train(state, place, noise)
        return replace(step, state=replace(step.state, pieces=state.pieces))


class Uncapped(BatchLearner):
    """Forgets at each window how many examples a user has given."""

    def _train(self, state: BatchState, place: Place, noise: NoiseSource) -> Step[BatchState]:
        step = super()._train(state, place, noise)
        return replace(step, state=replace(step.state, users_kept=UserCounts()))
