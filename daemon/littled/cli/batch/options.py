"""The options of `littled plan` that window learners have; nothing is imported that computes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from littled.cli.decimals import DecimalParameter
from littled.cli.failures import WRONG_USE, Failure
from littled.cli.kinds import Option, WordOption

# What the planner knows, in its order; it is not imported for that.
METHODS = ("auto", "dense", "histogram", "proposals", "closure", "teachers", "boosted")


class BatchOptions:
    """The window, or how good its rule has to be."""

    does: ClassVar[str] = "a rule is drawn from each window"
    protects_users: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Option]] = {
        "window": click.option("--window", type=int, help="Examples of a window."),
        "alpha": click.option(
            "--alpha",
            type=DecimalParameter(),
            help="Error of a window's rule beyond the best one; the window follows.",
        ),
        "beta": click.option(
            "--beta",
            type=DecimalParameter(),
            show_default="0.1",
            help="Chance that a window's rule has a greater error.",
        ),
        "method": WordOption("--method", METHODS, "How a window's rule is drawn."),
        "positives": click.option(
            "--positives",
            type=DecimalParameter(),
            show_default="0.1",
            help="About the share of examples with label 1, for estimates.",
        ),
    }

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that were given, as keys of a learner's table in a configuration."""
        if ("window" in given) == ("alpha" in given):
            raise Failure("give --window or --alpha: the other follows", WRONG_USE)
        return dict(given)
