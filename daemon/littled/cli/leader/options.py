"""The options of `littled plan` that scorecard learners have: none of their own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from littled.cli.kinds import Option


class LeaderOptions:
    """Nothing but the columns."""

    does: ClassVar[str] = "points are learned for each column and followed through a season"
    protects_users: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Option]] = {}

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """No keys of its own in a learner's table."""
        return dict(given)
