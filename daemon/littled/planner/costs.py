"""Models of what one joint training takes, for people: measured on one core, not promised."""

from littled.classes.table import Table
from littled.planner.plans import LearnerPlan

# Seconds and bytes of one joint training, fitted to benchmarks/retrain.py.
FIXED_SECONDS = 0.002
RULE_SECONDS, RULE_BYTES = 20e-9, 35
# of a table, whose rows have to be gone through
CELL_SECONDS = 1e-9
CANDIDATE_SECONDS, CANDIDATE_BYTES = 0.15e-6, 130
# of what one teacher has of one epoch
SHARE_SECONDS, SHARE_BYTES = 60e-6, 2_000
# of the process in which the lists of teachers are made (littled.service.training)
PROCESS_BYTES = 50_000_000


def retrain_seconds(plan: LearnerPlan) -> float:
    """About how long one joint training takes when the season has kept all it may."""
    parameters = plan.parameters
    if parameters.selection == "dense":
        rules = plan.hypotheses.rule_count or 0
        cells = rules * plan.hypotheses.points if isinstance(plan.hypotheses, Table) else 0
        return FIXED_SECONDS + RULE_SECONDS * rules + CELL_SECONDS * cells
    if parameters.selection == "sparse" and parameters.teachers is not None:
        return FIXED_SECONDS + SHARE_SECONDS * parameters.teachers * _epochs(plan)
    return FIXED_SECONDS + CANDIDATE_SECONDS * _candidates(plan)


def retrain_memory_bytes(plan: LearnerPlan) -> int:
    """About how much memory one joint training takes at the most."""
    parameters = plan.parameters
    if parameters.selection == "dense":
        return RULE_BYTES * (plan.hypotheses.rule_count or 0)
    if parameters.selection == "sparse" and parameters.teachers is not None:
        return PROCESS_BYTES + SHARE_BYTES * parameters.teachers * _epochs(plan)
    return CANDIDATE_BYTES * _candidates(plan)


def _candidates(plan: LearnerPlan) -> int:
    """Candidates that all examples kept in a season can add up to."""
    parameters = plan.parameters
    kept = plan.learner("").mistakes_kept_max + _epochs(plan) * parameters.background_max
    return kept * (plan.hypotheses.proposals_per_example or 1)


def _epochs(plan: LearnerPlan) -> int:
    """Epochs of a season that the last of its trainings looks at."""
    return 1 if plan.parameters.fresh else plan.parameters.calls_max
