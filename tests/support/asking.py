"""Questions over HTTP as a daemon reads them, in one step."""

from collections.abc import Mapping

from littled.service.questions import asked_in, learner_asked, question_of
from littled_protocol.messages import Predict
from littled_protocol.rules import PLAIN, Words


def read_question(body: bytes, x_types: Mapping[str, str], words: Mapping[str, Words]) -> Predict:
    """The request in a body, from a peer that may ask all learners; raises QuestionError.

    words: of every learner, by full name; one that is not there is refused by its name.
    """
    asked = asked_in(body)
    learner, x_type = learner_asked(asked, x_types)
    return question_of(asked, learner, x_type, words.get(learner, PLAIN))
