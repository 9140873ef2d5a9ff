"""The table of learners that answer questions in a status."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import number


class PredictionStatus:
    """The public facts of learners that answer questions, for people."""

    heading: ClassVar[str] = "answers"

    def table(self, title: str, learners: Mapping[str, Any]) -> Table:
        """Learners that answer questions."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in ("learner", "method"):
            table.add_column(column)
        for column in ("window", "examples", "answers left", "next window after"):
            table.add_column(column, justify="right")
        for learner, facts in learners.items():
            none = facts["window"] is None
            first, last = facts["window_first"], facts["window_last"]
            left, given = facts["answers_left"], facts["answers_given"]
            table.add_row(
                learner,
                facts["method"],
                "none is full yet" if none else str(facts["window"]),
                "-" if none else f"{number(first)} to {number(last)}",
                "-" if none else f"{number(left)} of {number(left + given)}",
                f"{number(facts['next_window'])} examples",
            )
        return table
