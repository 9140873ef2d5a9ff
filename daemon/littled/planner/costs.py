"""Models of what one joint training takes, for people: measured on one core, not promised."""

from littled.planner.plans import LearnerPlan

# Seconds and bytes of one joint training, fitted to benchmarks/retrain.py.
FIXED_SECONDS = 0.002
RULE_SECONDS, RULE_BYTES = 60e-9, 40
CANDIDATE_SECONDS, CANDIDATE_BYTES = 0.4e-6, 70
TEACHER_SECONDS, TEACHER_BYTES = 150e-6, 2_000


def retrain_seconds(plan: LearnerPlan) -> float:
    """About how long one joint training takes when the season has kept all it may."""
    parameters = plan.parameters
    if parameters.selection == "dense":
        return FIXED_SECONDS + RULE_SECONDS * (plan.hypotheses.rule_count or 0)
    if parameters.selection == "sparse" and parameters.teachers is not None:
        return FIXED_SECONDS + TEACHER_SECONDS * parameters.teachers
    return FIXED_SECONDS + CANDIDATE_SECONDS * _candidates(plan)


def retrain_memory_bytes(plan: LearnerPlan) -> int:
    """About how much memory one joint training takes at the most."""
    parameters = plan.parameters
    if parameters.selection == "dense":
        return RULE_BYTES * (plan.hypotheses.rule_count or 0)
    if parameters.selection == "sparse" and parameters.teachers is not None:
        return TEACHER_BYTES * parameters.teachers
    return CANDIDATE_BYTES * _candidates(plan)


def _candidates(plan: LearnerPlan) -> int:
    """Candidates that all examples kept in a season can add up to."""
    parameters = plan.parameters
    epochs = 1 if parameters.fresh else parameters.calls_max
    kept = plan.learner("").mistakes_kept_max + epochs * parameters.background_max
    return kept * (plan.hypotheses.proposals_per_example or 1)
