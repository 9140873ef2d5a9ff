"""`littled plan`: what a budget buys, before anything is created.

Only the options are here. What plans is imported when they have been read: it takes its time, and
`--help` does not need it.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure

CLASSES = (
    "thresholds:SIZE, points:BITS, sparse_sets:BITS:MEMBERS, prefixes:BITS, affine:BITS:DIMENSION, "
    "stumps:FEATURES:BUCKETS, conjunctions:BITS or table:FILE."
)
PAPER_CONSTANTS = ("calls", "teachers", "threshold", "draws")
# What the planner knows, in its order; it is not imported for that.
UNITS = ("example", "user")
METHODS = ("dense", "stability", "relabelling", "realizable", "averaging", "majority")
USER_EXAMPLES_MAX = 1_000_000
# Options that learners of one kind only have.
ONLINE = ("selection", "teachers", "adversary", "failure_probability")
PREDICTION = ("window", "excess_error", "answers", "method")


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
              help=CLASSES)  # fmt: skip
@click.option("--epsilon", required=True, type=DecimalParameter(), help="Budget of a season.")
@click.option("--delta", required=True, type=DecimalParameter(), help="Failure mass of a season.")
@click.option("--horizon", required=True, type=int, help="Examples in a season.")
@click.option("--kind", default="online", show_default=True,
              type=click.Choice(["online", "prediction"]),
              help="Whether rules are published or questions answered.")  # fmt: skip
@click.option("--unit", default="example", show_default=True, type=click.Choice(UNITS),
              help="What is protected: one example, or one user's examples together.")  # fmt: skip
@click.option("--user-examples-max", type=click.IntRange(1, USER_EXAMPLES_MAX), show_default="1",
              help="Examples of one user that a season uses, with --unit user.")  # fmt: skip
@click.option("--noise-rate", type=DecimalParameter(), default="0", show_default=True,
              help="Share of labels that may contradict the best rule.")  # fmt: skip
@click.option("--selection", show_default="auto",
              type=click.Choice([
                  "auto", "dense", "fresh", "sparse", "closure", "histogram", "paper",
              ]),
              help="How the next rule is selected.")  # fmt: skip
@click.option("--teachers", type=int, help="Teachers of sparse selection; else one an example.")
@click.option("--adversary", show_default="oblivious",
              type=click.Choice(["none", "oblivious", "adaptive"]),
              help="Whether somebody may choose the order, or after seeing rules.")  # fmt: skip
@click.option("--failure-probability", type=DecimalParameter(), show_default="0.05",
              help="Chance that a bound on mistakes does not hold.")  # fmt: skip
@click.option("--paper-calls", type=DecimalParameter(), help="C in K = C d^3 calls.")
@click.option("--paper-teachers", type=DecimalParameter(),
              help="C in k = C d^3.5 ln(T) ln(1/delta) / epsilon teachers.")  # fmt: skip
@click.option("--paper-threshold", type=DecimalParameter(), help="C in U = C d^3 ln(d ln T) k.")
@click.option("--paper-draws", type=DecimalParameter(), help="C in R = C ln(T) draws.")
@click.option("--window", type=int, help="Examples of a window that answers come from.")
@click.option("--excess-error", type=DecimalParameter(), show_default="0.05",
              help="As many answers as there can be at this error.")  # fmt: skip
@click.option("--answers", type=int, help="Answers a window, with the least error there can be.")
@click.option("--method", show_default="auto",
              type=click.Choice(["auto", *METHODS]), help="How answers are made.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def plan(
    class_name: str,
    epsilon: Decimal,
    delta: Decimal,
    horizon: int,
    kind: str,
    unit: str,
    user_examples_max: int | None,
    as_json: bool,
    **more: Any,
) -> None:
    """Show what a learner could do with a budget: nothing is created, no data is needed.

    The guarantee of privacy holds whatever the data are. Numbers of mistakes are for a stream that
    some rule of the class fits (up to the noise rate): "expected" on a stream that is bad for this
    way of selection, "at most" but for the failure probability. Errors of answers are how much more
    often they are wrong than the best rule, by a model of a bad stream. Where users are protected,
    both are for streams in which no user gives more examples than are used.
    """
    stream = {
        "epsilon": epsilon,
        "delta": delta,
        "horizon": horizon,
        **users_table(unit, user_examples_max, kind),
    }
    learner = learner_table(class_name, kind, more)
    from littled.cli.planning import show_plan  # noqa: PLC0415 - imports the planner

    show_plan(stream, learner, as_json=as_json)


def users_table(unit: str, user_examples_max: int | None, kind: str) -> dict[str, Any]:
    """The options about users as keys of a stream in a configuration."""
    if unit == "example":
        if user_examples_max is not None:
            raise Failure("--user-examples-max is for --unit user only", WRONG_USE)
        return {}
    if kind == "prediction":
        raise Failure("--kind prediction is for --unit example only", WRONG_USE)
    return {"unit": unit, "user_examples_max": user_examples_max or 1}


def learner_table(class_name: str, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given as the table of a learner in a configuration."""
    given = {name: value for name, value in options.items() if value is not None}
    constants = {
        name: given.pop(f"paper_{name}") for name in PAPER_CONSTANTS if f"paper_{name}" in given
    }
    if constants:
        given["paper"] = constants
    others = PREDICTION if kind == "online" else (*ONLINE, "paper")
    for name in others:
        if name in given:
            other = "prediction" if kind == "online" else "online"
            option = f"paper-{next(iter(constants))}" if name == "paper" else name
            raise Failure(f"--{option.replace('_', '-')} is for --kind {other} only", WRONG_USE)
    if "excess_error" in given and "answers" in given:
        raise Failure("give --excess-error or --answers, not both: the other follows", WRONG_USE)
    return {"class": class_name, "kind": kind, **given}
