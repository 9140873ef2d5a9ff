"""The options of `littled plan` that window learners have; nothing is imported that computes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from littled.cli.decimals import DecimalParameter
from littled.cli.failures import WRONG_USE, Failure
from littled.cli.kinds import Option

# What the planner knows, in its order; it is not imported for that.
METHODS = ("dense", "histogram", "proposals", "closure", "teachers")


class BatchOptions:
    """The window, or how good its rule has to be."""

    does: ClassVar[str] = "a rule is drawn from each window"
    protects_users: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Option]] = {
        "window": click.option("--window", type=int, help="Examples of a window."),
        "error": click.option(
            "--error",
            type=DecimalParameter(),
            help="Error of a window's rule beyond the best one; the window follows.",
        ),
        "failure": click.option(
            "--failure",
            type=DecimalParameter(),
            show_default="0.1",
            help="Chance that a window's rule has a greater error.",
        ),
        "draw": click.option(
            "--draw",
            show_default="auto",
            type=click.Choice(["auto", *METHODS]),
            help="How a window's rule is drawn.",
        ),
        "positives": click.option(
            "--positives",
            type=DecimalParameter(),
            show_default="0.1",
            help="About the share of examples with label 1, for estimates.",
        ),
    }

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that were given, as keys of a learner's table in a configuration."""
        if ("window" in given) == ("error" in given):
            raise Failure("give --window or --error: the other follows", WRONG_USE)
        return dict(given)
