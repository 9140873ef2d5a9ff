"""The table of partition learners in a status."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import number


class PartitionStatus:
    """The public facts of partition learners, for people."""

    heading: ClassVar[str] = "sets of blocks"

    def table(self, title: str, learners: Mapping[str, Any]) -> Table:
        """Learners that publish sets of blocks."""
        table = Table(title=title, title_justify="left", title_style="bold")
        table.add_column("learner")
        for column in ("each epoch", "version"):
            table.add_column(column, justify="right")
        for column in ("rule", ""):
            table.add_column(column)
        for learner, facts in learners.items():
            table.add_row(
                learner,
                f"{number(facts['epoch_examples'])} examples",
                str(facts["version"]),
                facts["rule"],
                "halted: the budget is spent" if facts["halted"] else "learning",
            )
        return table
