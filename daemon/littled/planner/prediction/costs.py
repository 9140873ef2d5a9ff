"""Models of what windows and answers take, for people: measured on one core, not promised."""

from littled.learners.prediction import StablePredictor
from littled.planner.prediction.plan import PredictionPlan

# Seconds and bytes of learners of all classes, at windows of 10,000 and 300,000 examples.
FIXED_SECONDS = 0.001
# an example that is sorted or put into a chunk
EXAMPLE_SECONDS, EXAMPLE_BYTES = 1e-6, 80
RULE_SECONDS, RULE_BYTES = 20e-9, 120
# the rule of a chunk: learned once, asked at every request, together with those that are like it
CHUNK_SECONDS, CHUNK_BYTES, VOTE_SECONDS = 30e-6, 700, 1e-6
# an answer with a subset of its own, and each example of it
SUBSET_SECONDS, MEMBER_SECONDS = 1.5e-3, 1.5e-6
# a labeling of a subset, with its share of the subset
LABELING_BYTES = 170


def prepare_seconds(plan: PredictionPlan) -> float:
    """About how long the work takes that is done once for a window."""
    if plan.parameters.chunks and plan.parameters.method != "relabelling":
        return FIXED_SECONDS + _relearning_seconds(plan)
    if plan.hypotheses.dense is None:
        return FIXED_SECONDS + EXAMPLE_SECONDS * plan.parameters.window
    return FIXED_SECONDS + RULE_SECONDS * _rules(plan)


def answer_seconds(plan: PredictionPlan) -> float:
    """About how long the answer to a single question takes."""
    parameters = plan.parameters
    votes = VOTE_SECONDS * (parameters.chunks or 0)
    if parameters.method == "dense":
        return FIXED_SECONDS + RULE_SECONDS * _rules(plan)
    if not parameters.subset_rate:
        return FIXED_SECONDS / 4 + votes
    members = float(parameters.subset_rate) * parameters.window
    once = SUBSET_SECONDS + MEMBER_SECONDS * members + RULE_SECONDS * _rules(plan)
    if parameters.method == "relabelling":
        once += _relearning_seconds(plan) + votes
    return once


def memory_bytes(plan: PredictionPlan) -> int:
    """About how much memory a window and its answers take at the most, whatever the examples."""
    parameters = plan.parameters
    window = EXAMPLE_BYTES * parameters.window + CHUNK_BYTES * (parameters.chunks or 0)
    return window + RULE_BYTES * _rules(plan) + LABELING_BYTES * _labelings_max(plan)


def _rules(plan: PredictionPlan) -> int:
    """Rules that are scored; none where they are too many."""
    return 0 if plan.hypotheses.dense is None else plan.hypotheses.dense.rule_count


def _labelings_max(plan: PredictionPlan) -> int:
    """Most labelings that are listed for an answer."""
    parameters = plan.parameters
    if not parameters.subset_rate:
        return 0
    stable = StablePredictor(
        "", plan.hypotheses, parameters.window, parameters.rate, parameters.subset_rate
    )
    return stable.candidates_max


def _relearning_seconds(plan: PredictionPlan) -> float:
    """Time for learning the rules of all chunks."""
    parameters = plan.parameters
    return EXAMPLE_SECONDS * parameters.window + CHUNK_SECONDS * (parameters.chunks or 0)
