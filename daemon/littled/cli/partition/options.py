"""The options of `littled plan` that partition learners have: none of their own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from littled.cli.kinds import Option


class PartitionOptions:
    """Nothing but the class."""

    does: ClassVar[str] = "labels are counted in blocks of addresses, finer where they are mixed"
    protects_users: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Option]] = {}

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """No keys of its own in a learner's table."""
        return dict(given)
