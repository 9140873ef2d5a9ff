"""The options of `littled plan` that online learners have; nothing is imported that computes."""

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import click

from littled.cli.decimals import DecimalParameter
from littled.cli.kinds import Option
from littled.ways import Asked

PAPER_CONSTANTS = ("calls", "teachers", "threshold", "draws")


class OnlineOptions:
    """How the next rule is selected, against whom, and the constants of paper mode."""

    does: ClassVar[str] = "rules are published"
    protects_users: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Option]] = {
        "selection": click.option(
            "--selection",
            show_default="auto",
            type=click.Choice(get_args(Asked)),
            help="How the next rule is selected.",
        ),
        "teachers": click.option(
            "--teachers", type=int, help="Teachers of sparse selection; else one an example."
        ),
        "adversary": click.option(
            "--adversary",
            show_default="oblivious",
            type=click.Choice(["none", "oblivious", "adaptive"]),
            help="Whether somebody may choose the order, or after seeing rules.",
        ),
        "failure_probability": click.option(
            "--failure-probability",
            type=DecimalParameter(),
            show_default="0.05",
            help="Chance that a bound on mistakes does not hold.",
        ),
        "paper_calls": click.option(
            "--paper-calls", type=DecimalParameter(), help="C in K = C d^3 calls."
        ),
        "paper_teachers": click.option(
            "--paper-teachers",
            type=DecimalParameter(),
            help="C in k = C d^3.5 ln(T) ln(1/delta) / epsilon teachers.",
        ),
        "paper_threshold": click.option(
            "--paper-threshold", type=DecimalParameter(), help="C in U = C d^3 ln(d ln T) k."
        ),
        "paper_draws": click.option(
            "--paper-draws", type=DecimalParameter(), help="C in R = C ln(T) draws."
        ),
    }

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that were given, as keys of a learner's table in a configuration."""
        own = dict(given)
        constants = {
            name: own.pop(f"paper_{name}") for name in PAPER_CONSTANTS if f"paper_{name}" in own
        }
        return {**own, "paper": constants} if constants else own
