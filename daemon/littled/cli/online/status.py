"""The table of online learners in a status."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.table import Table


class OnlineStatus:
    """The public facts of online learners, for people."""

    heading: ClassVar[str] = "rules"

    def table(self, title: str, learners: Mapping[str, Any]) -> Table:
        """Learners that publish rules."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in ("learner", "version", "epoch", "rule", ""):
            table.add_column(column, justify="right" if column in ("version", "epoch") else "left")
        for learner, facts in learners.items():
            state = "halted: the budget is spent" if facts["halted"] else "learning"
            table.add_row(learner, str(facts["version"]), str(facts["epoch"]), facts["rule"], state)
        return table
