"""What `littled plan` and `littled init` say about plans, most of all of learners with rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from littled.budget.conversion import guarantee
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.output import (
    amount,
    console,
    duration,
    number,
    print_json,
    print_pairs,
    size,
)
from littled.cli.prediction_plans import (
    answering_table,
    methods_table,
    prediction_facts,
    prediction_in_words,
)
from littled.configuration import ConfigurationError, checked_configuration
from littled.learners.online.parameters import OnlineParameters
from littled.planner import (
    Comparison,
    LearnerPlan,
    LearnerRequest,
    PlanError,
    StreamPlan,
    StreamRequest,
    compare_predictions,
    compare_ways,
    plan_stream,
)
from littled.planner.online.paper import threshold_needed

STREAM, LEARNER = "stream", "learner"
WAYS = {
    "dense": "among all rules of the class, remembering the season",
    "fresh": "among all rules of the class, by each epoch alone",
    "sparse": "among rules that examples propose",
    "closure": "among the smallest rules around teachers' examples",
    "histogram": "every id whose noisy count of mistakes passes",
    "teachers": "among essential hypotheses of teachers (Algorithm 4)",
    "paper": "Algorithms 1 to 4 with the paper's parameters",
    "experts": "baseline of Asi et al. 2023",
}


def show_plan(stream: Mapping[str, Any], learner: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the plan of one learner alone on a stream, both given as tables of a configuration.

    Failure, in the words of the options of `littled plan`, where there is none.
    """
    table = {**stream, "learners": {LEARNER: learner}}
    try:
        checked = checked_configuration({"streams": {STREAM: table}}, Path())
    except ConfigurationError as error:
        raise Failure(as_option(str(error)), WRONG_USE) from None
    request = checked.streams[STREAM].request()
    with explained(PlanError, status=WRONG_USE, cut=f"learner {LEARNER}: "):
        show = show_prediction_plan if learner["kind"] == "prediction" else show_online_plan
        show(request, as_json=as_json)


def show_online_plan(request: StreamRequest, *, as_json: bool) -> None:
    """Print the plan of a learner that publishes rules."""
    found, ways, (learner,) = plan_stream(request), compare_ways(request), request.learners
    (planned,) = found.online
    facts = plan_facts(found, planned, ways[0])
    assert isinstance(learner, LearnerRequest)
    facts["failure_probability"] = float(learner.failure_probability)
    if as_json:
        print_json({**facts, "ways": [asdict(each) for each in ways]}, indent=2)
        return
    print_pairs(facts_in_words(facts))
    console().print()
    console().print(ways_table(ways))


def show_prediction_plan(request: StreamRequest, *, as_json: bool) -> None:
    """Print the plan of a learner that answers questions."""
    found, methods = plan_stream(request), compare_predictions(request)
    (planned,) = found.predictions
    facts = prediction_facts(found, planned, methods)
    if as_json:
        print_json(facts, indent=2)
        return
    print_pairs(prediction_in_words(facts))
    console().print()
    console().print(methods_table(methods))


def as_option(sentence: str) -> str:
    """A sentence about a key of a configuration as one about an option."""
    stream = f"streams.{STREAM}."
    if "learners.learner.window must" in sentence:
        return f"--window{sentence.partition('.window')[2]}"
    key, space, rest = sentence.partition(" ")
    name = key.removeprefix(f"{stream}learners.{LEARNER}.").removeprefix(stream)
    return f"--{name.replace('_', '-').replace('.', '-')}{space}{rest}"


def plan_facts(stream: StreamPlan, learner: LearnerPlan, chosen: Comparison) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers as "numerator/denominator"."""
    parameters = learner.parameters
    epsilon, delta = guarantee(stream.caps, stream.delta_z)
    return {
        "class": learner.hypotheses.name,
        "littlestone_dimension": learner.hypotheses.littlestone_dimension,
        "epsilon": float(stream.epsilon),
        "delta": float(stream.delta),
        "horizon": stream.horizon,
        "unit": stream.unit,
        "user_examples_max": stream.user_examples_max if stream.unit == "user" else None,
        "noise_rate": float(parameters.noise_rate),
        "selection": chosen.way,
        "accounting": parameters.selection_accounting,
        "rules_max": parameters.calls_max,
        "trigger_threshold": parameters.trigger_threshold,
        "trigger_rate": float(parameters.trigger_rate),
        "schedule_first": parameters.schedule_first,
        "selection_rate": float(parameters.selection_rate),
        "teachers": [rung.teachers for rung in parameters.rungs if rung.teachers],
        "draws": parameters.draws,
        "list_cap": parameters.list_cap,
        "bottom_score": parameters.bottom_score,
        "mistakes_expected": chosen.expected_mistakes,
        "mistakes_guaranteed": chosen.guaranteed_mistakes,
        "paper_threshold_needed": threshold_needed_by(stream, learner),
        "guarantee": {"epsilon": float(epsilon), "delta": float(delta)},
        "plan": stream.to_dict(),
    }


def threshold_needed_by(stream: StreamPlan, learner: LearnerPlan) -> int | None:
    """In paper mode the least `paper.threshold` for which Claim 6.2 can hold; else None."""
    if way_of(learner.parameters) != "paper":
        return None
    return threshold_needed(learner.hypotheses.littlestone_dimension, stream.horizon)


def facts_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    proven = facts["guarantee"]
    accounting = "pure" if facts["accounting"] == "pure" else "zCDP, converted"
    noise = facts["noise_rate"]
    beyond = f" beyond {amount(100 * noise)} % of the examples" if noise else ""
    return {
        "class": f"{facts['class']}, Littlestone dimension {facts['littlestone_dimension']}",
        "budget": f"epsilon {amount(facts['epsilon'])}, delta {amount(facts['delta'])} for each "
        f"season of {number(facts['horizon'])} examples",
        "guarantee": f"({amount(proven['epsilon'])}, {amount(proven['delta'])})-differentially "
        f"private per {facts['unit']} ({accounting})",
        **users_in_words(facts),
        "selection": f"{facts['selection']}: {WAYS[facts['selection']]}",
        "new rules": f"at most {number(facts['rules_max'])} in a season, "
        f"{occasions(facts, beyond)}",
        "mistakes": f"about {mistakes(facts['mistakes_expected'])}{beyond} on a bad stream"
        f"{'' if facts['schedule_first'] is None else ' of independent examples'}, "
        f"{bound(facts['mistakes_guaranteed'], facts['failure_probability'])}"
        f"{lemma_of_the_paper(facts['paper_threshold_needed'])}",
    }


def lemma_of_the_paper(needed: int | None) -> str:
    """What Lemma 6.2 takes before it bounds the mistakes of paper mode."""
    if needed is None:
        return ""
    return f": Lemma 6.2 takes paper.threshold = {number(needed)} at the least"


def users_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is used of each user, where users are protected."""
    most = facts["user_examples_max"]
    if most is None:
        return {}
    mistakes, examples = ("mistake", "example") if most == 1 else ("mistakes", "examples")
    return {
        "users": f"of each, {number(most)} {examples} kept and {number(most)} {mistakes} counted "
        "in a season at the most; the numbers below are for users who give no more"
    }


def occasions(facts: Mapping[str, Any], beyond: str) -> str:
    """When new rules come."""
    first = facts["schedule_first"]
    if first is None:
        return f"each after about {number(facts['trigger_threshold'])} mistakes{beyond}"
    return f"after {number(first)} examples, {number(2 * first)}, {number(4 * first)} and so on"


def mistakes(count: float | None) -> str:
    """A number of mistakes for people: two digits say all there is to know."""
    if count is None:
        return "-"
    digits = max(0, len(str(int(count))) - 2)
    return number(round(count / 10**digits) * 10**digits)


def bound(count: float | None, failure: float) -> str:
    """What is proven about the number of mistakes."""
    if count is None:
        return "no bound is proven"
    return f"at most {mistakes(count)} but for a chance of {amount(100 * failure)} %"


def ways_table(ways: Sequence[Comparison], learner: str = "") -> Table:
    """What each way of selection would do for a learner, the chosen one first."""
    title = f"ways of selection for {learner}" if learner else "ways of selection"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("way")
    for column in ("expected mistakes", "at most", "calls", "retrain", "memory"):
        table.add_column(column, justify="right")
    table.add_column("remark")
    for each in ways:
        table.add_row(
            each.way,
            mistakes(each.expected_mistakes),
            mistakes(each.guaranteed_mistakes),
            "-" if each.calls_max is None else number(each.calls_max),
            duration(each.retrain_seconds),
            size(each.memory_bytes),
            each.remark or WAYS[each.way],
            style="bold" if each.chosen else "",
        )
    return table


def way_of(parameters: OnlineParameters) -> str:
    """The way of selection that a plan's parameters are of, as in the table of ways."""
    if parameters.tests == "cohen_lyu":
        return "paper"
    if parameters.selection == "sparse" and parameters.teachers is not None:
        return "teachers"
    return "fresh" if parameters.selection == "dense" and parameters.fresh else parameters.selection


def plan_tables(stream: StreamPlan) -> Iterator[Table]:
    """A stream and what each of its learners may do, for people; a table for each kind."""
    title = (
        f"{stream.stream}: epsilon {amount(float(stream.epsilon))}, delta "
        f"{amount(float(stream.delta))} for each season of {number(stream.horizon)} examples"
    )
    if stream.unit == "user":
        title += f", per user with {number(stream.user_examples_max)} of theirs"
    if stream.online:
        yield publishing_table(stream, title)
    if stream.predictions:
        yield answering_table(stream, f"{stream.stream}: answers" if stream.online else title)


def publishing_table(stream: StreamPlan, title: str) -> Table:
    """The learners of a stream that publish rules, for people."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("learner", "class", "selection", "new rules at most", "first rule"):
        table.add_column(column)
    for each in stream.online:
        parameters = each.parameters
        table.add_row(
            each.name,
            each.hypotheses.name,
            way_of(parameters),
            str(parameters.calls_max),
            each.hypotheses.first_rule().describe(each.words),
        )
    return table
