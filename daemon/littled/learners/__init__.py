"""Private learners as pure state machines: `step(state, event, noise)`; no I/O and no clock.

`OnlineLearner`, `BatchLearner`, `LeaderLearner`, `PartitionLearner`, `MinimumLearner`,
`MostFrequentLearner` and `SequencesLearner` publish rules: a season is opened by `SeasonOpened`,
`Examples` come in (`examples_of` makes them of arrays), and where a step asks for a call
(`CallRequested`) the caller pays for it and says so (`CallAdmitted`), or not (`CallRefused`). What
is published, and what has to be paid, are effects of steps. `PredictionLearner` answers single
questions.
"""

from littled.learners.batch import BatchLearner, BatchParameters, BatchState
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Examples,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
    Step,
)
from littled.learners.given import examples_of
from littled.learners.leader import LeaderLearner, LeaderParameters, LeaderState
from littled.learners.minimum import MinimumLearner, MinimumParameters
from littled.learners.most_frequent import MostFrequentLearner, MostFrequentParameters
from littled.learners.online import OnlineLearner, OnlineParameters, OnlineState
from littled.learners.partition import PartitionLearner, PartitionParameters, PartitionState
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.learners.sequences import SequencesLearner, SequencesParameters

__all__ = [
    "BatchLearner",
    "BatchParameters",
    "BatchState",
    "CallAdmitted",
    "CallRefused",
    "CallRequested",
    "Examples",
    "LeaderLearner",
    "LeaderParameters",
    "LeaderState",
    "MinimumLearner",
    "MinimumParameters",
    "MostFrequentLearner",
    "MostFrequentParameters",
    "OnlineLearner",
    "OnlineParameters",
    "OnlineState",
    "PartitionLearner",
    "PartitionParameters",
    "PartitionState",
    "Place",
    "PredictionLearner",
    "PredictionParameters",
    "Published",
    "SeasonOpened",
    "SeasonPriced",
    "SequencesLearner",
    "SequencesParameters",
    "Step",
    "examples_of",
]
