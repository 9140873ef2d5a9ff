"""What `littled plan` and `littled init` say about learners that answer questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from rich.table import Table

from littled.budget.conversion import guarantee
from littled.cli.output import amount, console, duration, number, print_json, print_pairs, size
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


class PredictionPresentation:
    """Plans of learners that answer questions, for people."""

    heading: ClassVar[str] = "answers"

    def show(self, request: StreamRequest, *, as_json: bool) -> None:
        """Print the plan of a learner alone on its stream."""
        found, methods = plan_stream(request), compare_predictions(request)
        (planned,) = found.of(PredictionPlan)
        facts = prediction_facts(found, planned, methods)
        if as_json:
            print_json(facts, indent=2)
            return
        print_pairs(prediction_in_words(facts))
        console().print()
        console().print(methods_table(methods))

    def table(self, stream: StreamPlan, title: str) -> Table:
        """The learners of a stream that answer questions."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in ("learner", "class", "method", "window", "answers a window"):
            table.add_column(column)
        for plan in stream.of(PredictionPlan):
            table.add_row(
                plan.name,
                plan.hypotheses.name,
                plan.parameters.method,
                f"{number(plan.parameters.window)} examples",
                number(plan.parameters.answers_max),
            )
        return table

    def comparisons(self, stream: StreamPlan, request: StreamRequest) -> Iterator[Table]:
        """None: `littled plan` compares methods for a learner alone."""
        return iter(())


def prediction_facts(
    stream: StreamPlan, learner: PredictionPlan, methods: Sequence[PredictionComparison]
) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers are in `plan`."""
    parameters, (chosen, *_, rule) = learner.parameters, methods
    epsilon, delta = guarantee(stream.caps, stream.delta_z)
    return {
        "class": learner.hypotheses.name,
        "vc_dimension": learner.hypotheses.vc_dimension,
        "epsilon": float(stream.epsilon),
        "delta": float(stream.delta),
        "horizon": stream.horizon,
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
        "guarantee": {"epsilon": float(epsilon), "delta": float(delta)},
        "methods": [asdict(method) for method in methods],
        "plan": stream.to_dict(),
    }


def prediction_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    proven = facts["guarantee"]
    accounting = "pure" if facts["accounting"] == "pure" else "zCDP, converted"
    words = {
        "class": f"{facts['class']}, VC dimension {facts['vc_dimension']}",
        "budget": f"epsilon {amount(facts['epsilon'])}, delta {amount(facts['delta'])} for each "
        f"season of {number(facts['horizon'])} examples",
        "guarantee": f"({amount(proven['epsilon'])}, {amount(proven['delta'])})-differentially "
        f"private per example ({accounting})",
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
    table = Table(title="methods", title_justify="left", title_style="bold")
    table.add_column("method")
    for column in ("answers a window", "epsilon each", "error", "prepare", "answer", "memory"):
        table.add_column(column, justify="right")
    table.add_column("remark")
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
