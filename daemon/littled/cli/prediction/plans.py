"""What `littled plan` and `littled init` say about learners that answer questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import amount, duration, number, size
from littled.cli.presentation import (
    KindPresentation,
    PlanReport,
    compared,
    stream_facts,
    stream_words,
)
from littled.planner import StreamPlan, StreamRequest, plan_stream
from littled.planner.prediction.plan import PredictionPlan
from littled.planner.prediction.search import PredictionComparison, compare_predictions

METHODS = {
    "dense": "a rule drawn from the whole class",
    "stability": "a rule drawn for a random subset, then a flip (Corollary 2)",
    "relabelling": "such a rule relabels the window, and chunks of it vote (Theorem 12)",
    "realizable": "chunks of the window vote, by the exponential mechanism (Lemma 9)",
    "averaging": "the rule of a random chunk of the window, then a flip",
    "majority": "chunks of the window vote, with noise on their lead",
    "rule": "one published rule a window, for comparison",
}


class PredictionPresentation(KindPresentation):
    """Plans of learners that answer questions, for people."""

    heading: ClassVar[str] = "answers"
    columns: ClassVar[Sequence[str]] = ("learner", "class", "method", "window", "answers a window")

    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of a learner alone on its stream."""
        found, methods = plan_stream(request), compare_predictions(request)
        (planned,) = found.of(PredictionPlan)
        facts = prediction_facts(found, planned, methods)
        return PlanReport(facts, prediction_in_words(facts), methods_table(methods))

    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """Of each learner that answers questions."""
        for plan in stream.of(PredictionPlan):
            yield (
                plan.name,
                plan.hypotheses.name,
                plan.parameters.method,
                f"{number(plan.parameters.window)} examples",
                number(plan.parameters.answers_max),
            )


def prediction_facts(
    stream: StreamPlan, learner: PredictionPlan, methods: Sequence[PredictionComparison]
) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers are in `plan`."""
    parameters, (chosen, *_, rule) = learner.parameters, methods
    return {
        "class": learner.hypotheses.name,
        "vc_dimension": learner.hypotheses.vc_dimension,
        **stream_facts(stream),
        "window": parameters.window,
        "windows_per_season": stream.horizon // parameters.window,
        "method": parameters.method,
        "accounting": parameters.accounting,
        "answers": parameters.answers_max,
        "epsilon_per_answer": chosen.epsilon_per_answer,
        "booked_per_answer": chosen.booked_per_answer,
        "excess_error_expected": chosen.expected_excess_error,
        "rule_excess_error_expected": rule.expected_excess_error,
        "rate": float(parameters.rate),
        "subset_rate": float(parameters.subset_rate),
        "flip": float(parameters.flip),
        "chunks": parameters.chunks,
        "vote_rate": float(parameters.vote_rate),
        "net": float(parameters.net),
        "methods": [asdict(method) for method in methods],
    }


def prediction_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    words = {
        "class": f"{facts['class']}, VC dimension {facts['vc_dimension']}",
        **stream_words(facts),
        "windows": f"{number(facts['window'])} examples each, "
        f"{number(facts['windows_per_season'])} in a season; answers come from the last full one",
        "method": f"{facts['method']}: {METHODS[facts['method']]}",
        "answers": f"{number(facts['answers'])} from each window, at {answer_price(facts)} each",
        "errors": f"about {amount_of_error(facts['excess_error_expected'])} more than the best "
        "rule on a bad stream, by a model",
    }
    rule = facts["rule_excess_error_expected"]
    if rule is not None and rule < facts["excess_error_expected"]:
        words["instead"] = (
            f"one published rule a window would err by about {amount_of_error(rule)} more, and "
            "answer any number of questions"
        )
    return words


def answer_price(facts: Mapping[str, Any]) -> str:
    """What one answer costs, and how it is booked."""
    epsilon, booked = facts["epsilon_per_answer"], facts["booked_per_answer"]
    if facts["accounting"] == "pure":
        return f"epsilon {amount(booked)}"
    if epsilon is None:
        return f"rho {amount(booked)}"
    return f"epsilon {amount(epsilon)} (booked as rho {amount(booked)})"


def amount_of_error(error: float | None) -> str:
    """An excess error for people: two digits say more than there is to know."""
    return "-" if error is None else f"{error:.2g}"


def methods_table(methods: Sequence[PredictionComparison]) -> Table:
    """What each method would do, the chosen one first, one published rule last."""
    figures = "answers a window", "epsilon each", "error", "prepare", "answer", "memory"
    table = compared("methods", "method", figures)
    for method in methods:
        unlimited = "-" if method.expected_excess_error is None else "any number"
        table.add_row(
            method.method,
            unlimited if method.answers is None else number(method.answers),
            "-" if method.epsilon_per_answer is None else amount(method.epsilon_per_answer),
            amount_of_error(method.expected_excess_error),
            duration(method.prepare_seconds),
            duration(method.answer_seconds),
            size(method.memory_bytes),
            method.remark or METHODS[method.method],
            style="bold" if method.chosen else "",
        )
    return table
