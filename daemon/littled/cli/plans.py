"""`littled plan`: what a budget buys, before anything is created."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from littled.budget.conversion import guarantee
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.output import amount, number, print_json, print_pairs
from littled.configuration import ConfigurationError, checked_configuration
from littled.planner import LearnerPlan, PlanError, StreamPlan, plan_stream

STREAM, LEARNER = "stream", "learner"
WAYS = {"dense": "all rules of the class", "sparse": "rules that examples propose"}


class DecimalParameter(click.ParamType[Decimal]):
    """A number, digit for digit as it is written."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        """The number, or click's error."""
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)


@click.command()
@click.option("--class", "class_name", required=True, metavar="CLASS",
              help="thresholds:SIZE, points:BITS, prefixes:BITS or table:FILE.")  # fmt: skip
@click.option("--epsilon", required=True, type=DecimalParameter(), help="Budget of a season.")
@click.option("--delta", required=True, type=DecimalParameter(), help="Failure mass of a season.")
@click.option("--horizon", required=True, type=int, help="Examples in a season.")
@click.option("--noise-rate", type=DecimalParameter(), default="0", show_default=True,
              help="Share of labels that may contradict the best rule.")  # fmt: skip
@click.option("--selection", type=click.Choice(["auto", "dense", "sparse"]), default="auto",
              show_default=True, help="How the next rule is selected.")  # fmt: skip
@click.option("--teachers", type=int, help="Teachers of sparse selection; else one an example.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def plan(
    class_name: str,
    epsilon: Decimal,
    delta: Decimal,
    horizon: int,
    noise_rate: Decimal,
    selection: str,
    teachers: int | None,
    as_json: bool,
) -> None:
    """Show what a learner could do with a budget: nothing is created, no data is needed.

    The guarantee holds whatever the data are. The number of mistakes is a rough estimate for a
    stream that some rule of the class fits up to the noise rate.
    """
    learner: dict[str, Any] = {
        "class": class_name,
        "noise_rate": noise_rate,
        "selection": selection,
    }
    if teachers is not None:
        learner["teachers"] = teachers
    stream = {
        "epsilon": epsilon,
        "delta": delta,
        "horizon": horizon,
        "learners": {LEARNER: learner},
    }
    try:
        checked = checked_configuration({"streams": {STREAM: stream}}, Path())
    except ConfigurationError as error:
        raise Failure(as_option(str(error)), WRONG_USE) from None
    request = checked.streams[STREAM].request()
    with explained(PlanError, status=WRONG_USE):
        found = plan_stream(request)
    facts = plan_facts(found, found.plans[0])
    if as_json:
        print_json(facts, indent=2)
    else:
        print_pairs(facts_in_words(facts))


def as_option(sentence: str) -> str:
    """A sentence about a key of a configuration as one about an option."""
    stream = f"streams.{STREAM}."
    key, space, rest = sentence.partition(" ")
    name = key.removeprefix(f"{stream}learners.{LEARNER}.").removeprefix(stream)
    return f"--{name.replace('_', '-')}{space}{rest}"


def plan_facts(stream: StreamPlan, learner: LearnerPlan) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers as "numerator/denominator"."""
    parameters = learner.parameters
    epsilon, delta = guarantee(stream.caps, stream.delta_z)
    return {
        "class": learner.hypotheses.name,
        "littlestone_dimension": learner.hypotheses.littlestone_dimension,
        "epsilon": float(stream.epsilon),
        "delta": float(stream.delta),
        "horizon": stream.horizon,
        "noise_rate": float(parameters.noise_rate),
        "selection": parameters.selection,
        "accounting": parameters.selection_accounting,
        "rules_max": parameters.calls_max,
        "trigger_threshold": parameters.trigger_threshold,
        "trigger_rate": float(parameters.trigger_rate),
        "selection_rate": float(parameters.selection_rate),
        "mistakes_about": parameters.calls_max * parameters.trigger_threshold,
        "guarantee": {"epsilon": float(epsilon), "delta": float(delta)},
        "plan": stream.to_dict(),
    }


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
        f"private per example ({accounting})",
        "selection": f"{facts['selection']}: among {WAYS[facts['selection']]}",
        "new rules": f"at most {facts['rules_max']} in a season, each after about "
        f"{number(facts['trigger_threshold'])} mistakes{beyond}",
        "mistakes": f"about {number(facts['mistakes_about'])}{beyond} if every new rule is needed",
    }


def plan_table(stream: StreamPlan) -> Table:
    """A stream and what each of its learners may do, for people."""
    table = Table(
        title=f"{stream.stream}: epsilon {amount(float(stream.epsilon))}, delta "
        f"{amount(float(stream.delta))} for each season of {number(stream.horizon)} examples",
        title_justify="left",
        title_style="bold",
    )
    for column in ("learner", "class", "selection", "new rules at most", "first rule"):
        table.add_column(column)
    for each in stream.plans:
        parameters = each.parameters
        table.add_row(
            each.name,
            each.hypotheses.name,
            parameters.selection,
            str(parameters.calls_max),
            each.hypotheses.first_rule().describe(each.words),
        )
    return table
