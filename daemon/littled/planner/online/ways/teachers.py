"""Sparse selection with k teachers: Algorithm 4 without its stage tests."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.teachers import Teachers
from littled.planner.online.request import OnlineRequest
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import CALLS, Draft, TriggeredWay
from littled.portable import log

TEACHER_LIST_CAP = 256


class TeachersWay(TriggeredWay):
    """Teachers list essential hypotheses."""

    name, selection = "teachers", "sparse"
    words = "among essential hypotheses of teachers (Algorithm 4)"
    small: ClassVar[Mapping[str, Small]] = {
        "teachers": ("points:8", {"selection": "sparse", "teachers": 2}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Where teachers list, and nothing is tested with the paper's tests."""
        return isinstance(selection, Teachers) and selection.parameters.tests != "cohen_lyu"

    def is_open(self, request: OnlineRequest) -> bool:
        """To a request that has a number of teachers."""
        asked = request.leaves_open or request.asks_for(self.selection)
        return asked and request.teachers is not None

    def refusal(self, request: OnlineRequest) -> str | None:
        """Nothing."""
        return None

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """No number of teachers, or a class without lists for them."""
        if request.hypotheses.version_spaces is None:
            yield "the class has no lists of essential rules"
        if request.teachers is None:
            yield "needs to be asked for, by a number of teachers"

    def supposed(self, request: OnlineRequest) -> OnlineRequest:
        """The request as it is: how many teachers is not for the planner to say."""
        return request

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """Algorithm 4 with Lemma B and bottom taken as Below; estimates are rough."""
        hypotheses, teachers = draft.request.hypotheses, draft.request.teachers or 2
        choices = 1 << min(hypotheses.littlestone_dimension, 60)
        list_cap = TEACHER_LIST_CAP
        if hypotheses.dense is not None:
            choices = hypotheses.dense.rule_count
            list_cap = min(TEACHER_LIST_CAP, choices)
        for calls in CALLS:
            rate = draft.budget.list_rate(calls)
            if rate <= 0:
                break
            bottom = draft.budget.list_bottom_score(rate, 1, list_cap * calls)
            margin = log(list_cap / draft.failure) / float(rate)
            # a teacher's list is short once it holds a few examples, so all k need some
            seen = max(3.0 * teachers, bottom + margin)
            parameters = draft.sparse(
                calls,
                1,
                list_cap,
                bottom,
                keep="mistakes",
                teachers=teachers,
                selection_rate=rate,
            )
            yield from draft.by_calls(parameters, seen, choices, spare=1.0)
