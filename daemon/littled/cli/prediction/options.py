"""The options of `littled plan` that learners have which answer questions; nothing computes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from littled.cli.decimals import DecimalParameter
from littled.cli.failures import WRONG_USE, Failure
from littled.cli.kinds import Option, WordOption

# What the planner knows, in its order; it is not imported for that.
METHODS = ("auto", "dense", "stability", "relabelling", "realizable", "averaging", "majority")


class PredictionOptions:
    """The window that answers come from, and what is wanted of them."""

    does: ClassVar[str] = "questions answered"
    protects_users: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Option]] = {
        "window": click.option("--window", type=int, help="Examples of a window."),
        "excess_error": click.option(
            "--excess-error",
            type=DecimalParameter(),
            show_default="0.05",
            help="As many answers as there can be at this error.",
        ),
        "answers": click.option(
            "--answers", type=int, help="Answers a window, with the least error there can be."
        ),
        "method": WordOption("--method", METHODS, "How answers are made."),
    }

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that were given, as keys of a learner's table in a configuration."""
        if "excess_error" in given and "answers" in given:
            raise Failure(
                "give --excess-error or --answers, not both: the other follows", WRONG_USE
            )
        return dict(given)
