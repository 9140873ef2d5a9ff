"""How good published rules were: the figures of every learner whose rules are measured.

One `Figures` per daemon, used on the event loop alone. A season has few figures, so the latest of
many seasons are at hand; older ones are in the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Self

from littled.engine.quality import figure_facts
from littled.learners.measured import QualitySettings
from littled.limits import FIGURES_IN_MEMORY_MAX
from littled.planner import StreamPlan
from littled.service.changes import Changes
from littled.store.records import StoredRelease
from littled_protocol.facts import FigureFacts
from littled_protocol.figures import Figure, measured_by


class Figures:
    """The latest figures of every learner that is measured."""

    def __init__(self, learners: Mapping[str, QualitySettings]) -> None:
        """Start with none; `learners` by full name, "stream/learner"."""
        self._settings = dict(learners)
        self._recent: dict[str, deque[Figure]] = {
            learner: deque(maxlen=FIGURES_IN_MEMORY_MAX) for learner in learners
        }
        self._news = asyncio.Event()
        self.changes = Changes()
        """Which learners have new figures."""

    @classmethod
    def of(cls, plans: Iterable[StreamPlan]) -> Self:
        """Those of all learners that these plans measure."""
        return cls(
            {
                f"{plan.stream}/{one.name}": one.quality
                for plan in plans
                for one in plan.publishing
                if one.quality is not None
            }
        )

    @property
    def learners(self) -> tuple[str, ...]:
        """Full names of all learners that are measured."""
        return tuple(self._recent)

    def announce(self, stored: Iterable[StoredRelease]) -> list[tuple[str, Figure]]:
        """Take durable figures, in their order; returns those that were news, by learner."""
        news = []
        for each in stored:
            learner, figure = measured_by(each.learner), Figure.from_bytes(each.body)
            if learner is not None and figure.number > self.number(learner):
                self._recent[learner].append(figure)
                self.changes.note(learner)
                news.append((learner, figure))
        if news:
            self._news.set()
            self._news = asyncio.Event()
        return news

    def number(self, learner: str) -> int:
        """The number of a learner's last figure; 0 without one."""
        recent = self._recent.get(learner)
        return recent[-1].number if recent else 0

    def end(self, learner: str) -> int:
        """The position that followed the period of a learner's last figure; -1 without one."""
        recent = self._recent.get(learner)
        return recent[-1].end if recent else -1

    def after(self, learner: str, number: int) -> list[FigureFacts]:
        """What the learner's figures after this number say, as far as they are at hand."""
        recent = self._recent.get(learner, ())
        settings = self._settings.get(learner)
        if settings is None:
            return []
        return [figure_facts(settings, each) for each in recent if each.number > number]

    def latest(self, learner: str) -> FigureFacts | None:
        """What the learner's last figure says; None without one."""
        return next(iter(self.after(learner, self.number(learner) - 1)), None)

    async def beyond(self, learner: str, number: int) -> None:
        """Wait until there is a figure of the learner after this number."""
        while self.number(learner) <= number:
            await self._news.wait()
