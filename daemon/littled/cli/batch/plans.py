"""What `littled plan` and `littled init` say about learners that draw a rule from each window."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import amount, duration, number
from littled.cli.presentation import (
    KindPresentation,
    PlanReport,
    compared,
    stream_facts,
    stream_words,
)
from littled.planner import StreamPlan, StreamRequest, plan_stream
from littled.planner.batch.costs import draw_seconds
from littled.planner.batch.paper import EssentialLists, PaperSize, essential_lists, paper_sizes
from littled.planner.batch.plan import BatchPlan
from littled.planner.batch.request import BatchRequest
from littled.planner.batch.search import BatchComparison, compare_batch

METHODS = {
    "dense": "among all rules of the class",
    "histogram": "every id whose noisy count of examples passes",
    "proposals": "among rules that examples propose",
    "closure": "among the smallest rules around chunks' examples",
    "teachers": "among essential rules of chunks (Lyu, Theorem 3)",
    "boosted": "a stump in each of several rounds, which add up to a scorecard",
}
# An error at which the papers' constants are shown where none is asked for.
PAPER_ERROR = 0.05


class BatchPresentation(KindPresentation):
    """Plans of window learners, for people."""

    heading: ClassVar[str] = "rules of windows"
    columns: ClassVar[Sequence[str]] = ("learner", "class", "method", "window", "first rule")

    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of a window learner alone on its stream."""
        found, methods = plan_stream(request), compare_batch(request)
        (planned,) = found.of(BatchPlan)
        (learner,) = request.learners
        assert isinstance(learner, BatchRequest)
        sizes = (
            ()
            if planned.parameters.method == "boosted"
            else paper_sizes(
                learner.hypotheses,
                float(learner.alpha or PAPER_ERROR),
                float(learner.beta),
                request.epsilon,
                request.delta,
            )
        )
        facts = batch_facts(found, planned, learner, methods, sizes)
        return PlanReport(facts, batch_in_words(facts), methods_table(facts))

    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """Of each window learner."""
        for plan in stream.of(BatchPlan):
            yield (
                plan.name,
                plan.hypotheses.name,
                plan.parameters.method,
                f"{number(plan.parameters.window)} examples",
                plan.hypotheses.first_rule().describe(plan.words),
            )


def batch_facts(
    stream: StreamPlan,
    learner: BatchPlan,
    request: BatchRequest,
    methods: Sequence[BatchComparison],
    papers: Sequence[PaperSize],
) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers are in `plan`."""
    parameters, chosen = learner.parameters, methods[0].estimate
    wanted = "window" if request.window is None else "alpha"
    return {
        "class": learner.hypotheses.name,
        "littlestone_dimension": learner.hypotheses.littlestone_dimension,
        **stream_facts(stream),
        "window": parameters.window,
        "windows_per_season": parameters.windows,
        "method": parameters.method,
        "accounting": parameters.accounting,
        "beta": float(request.beta),
        "alpha": None if request.alpha is None else float(request.alpha),
        f"{wanted}_proven": None if chosen is None else chosen.proven,
        f"{wanted}_estimated": None if chosen is None else chosen.expected,
        "noise_rate": float(request.noise_rate),
        "positives": float(request.positives),
        "rate": float(parameters.rate),
        "bottom_score": parameters.bottom_score,
        "list_cap": parameters.list_cap,
        "chunks": parameters.chunks,
        "stage_rate": None if parameters.stage_rate is None else float(parameters.stage_rate),
        "rounds": parameters.rounds,
        "step": parameters.step,
        "essential": _essential_facts(learner),
        "seconds": draw_seconds(learner),
        "solved_for": wanted,
        "methods": [_method_facts(method) for method in methods],
        "papers": [
            {"source": paper.source, "examples": paper.examples, "reason": paper.reason}
            for paper in papers
        ],
    }


def _essential_facts(learner: BatchPlan) -> dict[str, Any] | None:
    """The p of each stage's lists; None for methods without such lists."""
    p, hypotheses = learner.parameters, learner.hypotheses
    if p.method != "teachers":
        return None
    lists = essential_lists(hypotheses, p.window)
    stages = 1 if p.stage_rate is None else hypotheses.littlestone_dimension + 1
    return {
        "d": lists.dimension,
        "p": [lists.at(stage) for stage in range(1, stages + 1)],
        "always": lists.always,
        "remark": _essential_remark(lists),
    }


def _essential_remark(lists: EssentialLists) -> str:
    """Where the lists are not simply those of the theorem."""
    if not lists.always:
        return "only where the examples of a chunk allow it"
    if lists.first > lists.paper:
        return f"the theorem's 2 n d = {number(lists.paper)} is too small for this class"
    return ""


def _method_facts(method: BatchComparison) -> dict[str, Any]:
    found = method.estimate
    return {
        "method": method.method,
        "chosen": method.chosen,
        "proven": None if found is None else found.proven,
        "estimated": None if found is None else found.expected,
        "chunks": None if found is None else found.plan.parameters.chunks,
        "bottom_score": None if found is None else found.plan.parameters.bottom_score,
        "remark": method.remark,
    }


def batch_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    if facts["method"] == "boosted":
        return _boosted_words(facts)
    share = f"{amount(100 * (1 - facts['beta']))} % of the windows"
    beyond = " beyond the best rule's" if facts["noise_rate"] else ""
    if facts["solved_for"] == "window":
        error = f"at most {amount(facts['alpha'])}{beyond} in {share}"
        proven = _known(facts["window_proven"], "from {} examples on")
        estimated = _known(facts["window_estimated"], "from about {} examples on")
    else:
        error = f"the least one that holds in {share}{beyond}"
        proven = _known(facts["alpha_proven"], "{}")
        estimated = _known(facts["alpha_estimated"], "about {}")
    return {
        "class": f"{facts['class']}, Littlestone dimension {facts['littlestone_dimension']}",
        **_window_words(facts),
        **_essential_words(facts["essential"]),
        "error": error,
        "proven": proven,
        "estimated": f"{estimated}, where {amount(100 * facts['positives'])} % have label 1",
        "a rule takes": f"about {duration(facts['seconds'])}",
        **{
            paper["source"]: f"{paper['examples']} examples by its constants: refused, "
            f"{paper['reason']}"
            for paper in facts["papers"]
        },
    }


def _window_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is said of every window."""
    users = facts["user_examples_max"]
    return {
        **stream_words(facts),
        **({"users": f"the first {number(users)} examples of each and season"} if users else {}),
        "windows": f"{number(facts['window'])} examples each, "
        f"{number(facts['windows_per_season'])} in a season; all of them cost what one does",
        "method": f"{facts['method']}: {METHODS[facts['method']]}",
    }


def _boosted_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """Of a scorecard, whose error nobody knows beforehand."""
    points = 100 * facts["alpha_estimated"]
    return {
        "class": facts["class"],
        **_window_words(facts),
        "rounds": f"{number(facts['rounds'])}, each of which adds one stump",
        "error": "not known beforehand",
        "estimated": f"noise and few rounds cost about {points:.1f} points of it",
        "a rule takes": f"about {duration(facts['seconds'])}",
    }


def _essential_words(essential: Mapping[str, Any] | None) -> dict[str, str]:
    """The lists of chunks, in a line."""
    if essential is None:
        return {}
    first, *later = essential["p"]
    stages = f", doubled at each of {number(len(later) + 1)} stages" if later else ""
    remark = f"; {essential['remark']}" if essential["remark"] else ""
    return {"lists": f"(p, {essential['d']})-essential rules, p = {number(first)}{stages}{remark}"}


def _known(value: float | None, words: str) -> str:
    if value is None:
        return "nothing"
    return words.format(number(int(value)) if value >= 1 else f"{value:.2g}")


def methods_table(facts: Mapping[str, Any]) -> Table:
    """What each method would need or reach, the chosen one first."""
    solved = facts["solved_for"]
    figures = f"{solved} proven", f"{solved} estimated", "chunks", "bottom"
    table = compared("methods", "method", figures)
    for row in facts["methods"]:
        table.add_row(
            row["method"],
            _short(row["proven"]),
            _short(row["estimated"]),
            number(row["chunks"]) if row["chunks"] else "-",
            number(row["bottom_score"]) if row["bottom_score"] else "-",
            row["remark"] or METHODS[row["method"]],
            style="bold" if row["chosen"] else "",
        )
    return table


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return number(int(value)) if value >= 1 else f"{value:.2g}"
