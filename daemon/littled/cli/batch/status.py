"""The table of window learners in a status."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import number


class BatchStatus:
    """The public facts of window learners, for people."""

    heading: ClassVar[str] = "rules of windows"

    def table(self, title: str, learners: Mapping[str, Any]) -> Table:
        """Learners that publish a rule from each window."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in ("learner", "method"):
            table.add_column(column)
        for column in ("window", "windows", "version"):
            table.add_column(column, justify="right")
        for column in ("rule", ""):
            table.add_column(column)
        for learner, facts in learners.items():
            table.add_row(
                learner,
                facts["method"],
                f"{number(facts['window_examples'])} examples",
                number(facts["epoch"]),
                str(facts["version"]),
                facts["rule"],
                "halted: the budget is spent" if facts["halted"] else "learning",
            )
        return table
