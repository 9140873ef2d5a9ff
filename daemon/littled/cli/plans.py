"""`littled plan`: what a budget buys, before anything is created.

Only the options are here. What plans is imported when they have been read: it takes its time, and
`--help` does not need it.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

import click

from littled.classes.registry import CLASSES
from littled.cli.decimals import DecimalParameter
from littled.cli.failures import WRONG_USE, Failure
from littled.cli.kinds import all_options, kinds_with, options_of
from littled.kinds import KINDS, kind_for

Command = TypeVar("Command", bound=Callable[..., None])

# What the planner knows; it is not imported for that.
UNITS = ("example", "user")
USER_EXAMPLES_MAX = 1_000_000


def _classes() -> str:
    """How each class is written, in a sentence."""
    *others, last = (entry.written for entry in CLASSES.values())
    return f"{', '.join(others)} or {last}."


def kind_options(command: Command) -> Command:
    """Give a command the options of all kinds of learners."""
    for option in reversed(all_options().values()):
        command = option(command)
    return command


@click.command()
@click.option("--class", "class_name", required=True, metavar="CLASS",
              help=_classes())  # fmt: skip
@click.option("--epsilon", required=True, type=DecimalParameter(), help="Budget of a season.")
@click.option("--delta", required=True, type=DecimalParameter(), help="Failure mass of a season.")
@click.option("--horizon", required=True, type=int, help="Examples in a season.")
@click.option("--kind", show_default="what the class needs", type=click.Choice(list(KINDS)),
              help=f"Whether {' or '.join(options_of(kind).does for kind in KINDS)}."
              )  # fmt: skip
@click.option("--unit", default="example", show_default=True, type=click.Choice(UNITS),
              help="What is protected: one example, or one user's examples together.")  # fmt: skip
@click.option("--user-examples-max", type=click.IntRange(1, USER_EXAMPLES_MAX), show_default="1",
              help="Examples of one user that a season uses, with --unit user.")  # fmt: skip
@click.option("--users-expected", type=click.IntRange(min=1),
              help="About how many users a season has, with --unit user.")  # fmt: skip
@click.option("--noise-rate", type=DecimalParameter(),
              help="Share of labels that may contradict the best rule; without it rules come at "
                   "public times if the class allows it, else it is 0.")  # fmt: skip
@click.option("--quality", type=DecimalParameter(), metavar="SHARE", show_default="0.025",
              help="Share of epsilon that tells how good the rules are, up to 0.5."
              )  # fmt: skip
@kind_options
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def plan(
    class_name: str,
    epsilon: Decimal,
    delta: Decimal,
    horizon: int,
    kind: str | None,
    unit: str,
    user_examples_max: int | None,
    users_expected: int | None,
    noise_rate: Decimal | None,
    quality: Decimal | None,
    as_json: bool,
    **more: Any,
) -> None:
    """Show what a learner could do with a budget: nothing is created, no data is needed.

    The guarantee of privacy holds whatever the data are. Numbers of mistakes are for a stream that
    some rule of the class fits (up to the noise rate, if it is given): "expected" on a stream that
    is bad for this way of selection, "at most" except with the failure probability. Errors of
    answers are how much more often they are wrong than the best rule, by a model of a bad stream.
    Where users are protected, both are for streams in which no user gives more examples than are
    used.
    """
    kind = kind or kind_for(class_name)
    stream = {
        "epsilon": epsilon,
        "delta": delta,
        "horizon": horizon,
        **users_table(unit, user_examples_max, users_expected, kind),
        **({} if quality is None else {"quality": quality}),
    }
    learner = learner_table(class_name, kind, more)
    if noise_rate is not None:
        learner["noise_rate"] = noise_rate
    from littled.cli.presenting import show_plan  # noqa: PLC0415 - imports the planner

    show_plan(stream, learner, as_json=as_json)


def users_table(
    unit: str, user_examples_max: int | None, users_expected: int | None, kind: str
) -> dict[str, Any]:
    """The options about users as keys of a stream in a configuration."""
    if unit == "example":
        for option, value in (
            ("--user-examples-max", user_examples_max),
            ("--users-expected", users_expected),
        ):
            if value is not None:
                raise Failure(f"{option} is for --unit user only", WRONG_USE)
        return {}
    if not options_of(kind).protects_users:
        raise Failure(f"--kind {kind} is for --unit example only", WRONG_USE)
    table = {"unit": unit, "user_examples_max": user_examples_max or 1}
    return table if users_expected is None else {**table, "users_expected": users_expected}


def learner_table(class_name: str, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given as the table of a learner in a configuration."""
    given = {name: value for name, value in options.items() if value is not None}
    own = options_of(kind)
    for name in given:
        if name not in own.options:
            others = " or ".join(kinds_with(name))
            raise Failure(f"--{name.replace('_', '-')} is for --kind {others} only", WRONG_USE)
    return {"class": class_name, "kind": kind, **own.table(given)}
