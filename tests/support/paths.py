"""Learners of blocks whose season begins on a path, so that few examples show what a path costs."""

from dataclasses import replace

from littled.classes.capabilities import needed
from littled.learners.contract import Place, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState, Step
from littled.learners.online.length_search import FOUND, LengthMemory
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.path_memory import ON_PATH, PathMemory


class OnAPath(OnlineLearner):
    """Begins where a season is that has drawn the block of the point 1 alone."""

    def _open(self, state: OnlineState, event: SeasonOpened) -> Step:
        step, blocks = super()._open(state, event), needed(self.hypotheses.paths)
        longest, memory = blocks.longest, step.state.memory
        if isinstance(memory, PathMemory):
            memory = PathMemory(
                ON_PATH, length=longest, value=(0, 1), offsets=(-1, *(0,) * (longest + 1))
            )
        else:
            memory = LengthMemory(FOUND, 0, longest, longest, (0, 1))
        known = replace(step.state, rule=blocks.block(1, longest), memory=memory)
        return replace(step, state=known)


class LongEpochs(OnAPath):
    """Also takes every epoch for one example longer than it is, which depends on nothing private.

    An epoch of one example is then a long one where those of up to one are short.
    """

    def _open(self, state: OnlineState, event: SeasonOpened) -> Step:
        return _longer(super()._open(state, event))

    def _train(self, state: OnlineState, place: Place, noise: LearnerNoise) -> Step:
        return _longer(super()._train(state, place, noise))


def _longer(step: Step) -> Step:
    state = replace(step.state, epoch_position=step.state.epoch_position - 1)
    return replace(step, state=state)
