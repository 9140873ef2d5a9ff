"""Audits of learners that answer questions, and small ones of every method."""

from collections.abc import Mapping

from littled.auditing.prediction import ANSWERS, prediction_subject
from littled.auditing.subjects.small import alone
from littled.auditing.trials import Subject
from littled.classes.names import class_from_name
from littled.learners.prediction import Method
from littled.planner import StreamPlan, StreamRequest
from littled.planner.prediction.plan import PredictionPlan
from littled.planner.prediction.request import PredictionRequest

WINDOW = 24

# Small learners by name: how they answer.
ANSWERING: dict[str, Method] = {
    "answers-dense": "dense",
    "answers-stability": "stability",
    "answers-realizable": "realizable",
    "answers-averaging": "averaging",
    "answers-majority": "majority",
}


class PredictionAudits:
    """The audits of learners that answer questions."""

    def small(self) -> Mapping[str, StreamRequest]:
        """The learners of `ANSWERING`."""
        return {
            name: alone(
                PredictionRequest(
                    name,
                    class_from_name("thresholds:2"),
                    WINDOW,
                    excess_error=None,
                    answers=ANSWERS,
                    method=method,
                )
            )
            for name, method in ANSWERING.items()
        }

    def subject(self, stream: StreamPlan, plan: PredictionPlan, name: str) -> Subject:
        """The audit of one learner of a stream."""
        return prediction_subject(stream, plan, name)
