"""What an audit is about: the learners of a configuration, or one small learner of each sort."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from littled.auditing.trials import Subject
from littled.kinds import KINDS, kind_of, load
from littled.planner import StreamPlan, StreamRequest, plan_stream


class KindAudits(Protocol):
    """What is audited of one kind of learner."""

    def small(self) -> Mapping[str, StreamRequest]:
        """Small learners of the kind by name, each alone on the stream that is asked for."""

    def subject(self, stream: StreamPlan, plan: Any, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams for one that cannot be audited."""


def _audits_of(kind: str) -> KindAudits:
    audits: type[KindAudits] = load(kind_of(kind).audits)
    return audits()


_SMALL = {name: request for kind in KINDS for name, request in _audits_of(kind).small().items()}
SMALL = tuple(_SMALL)


@cache
def small_plan(name: str) -> StreamPlan:
    """The plan of one of the `SMALL` learners, alone on its stream."""
    return plan_stream(_SMALL[name])


def subjects_of(stream: StreamPlan, learner: str | None = None) -> Iterator[Subject]:
    """The audits of a stream: one for each learner, or for the one of this name.

    NoStreams for a learner that cannot be audited.
    """
    for plan in stream.plans:
        if learner in (None, plan.name):
            yield _audits_of(plan.kind).subject(stream, plan, f"{stream.stream}/{plan.name}")
