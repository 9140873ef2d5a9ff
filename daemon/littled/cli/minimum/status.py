"""The table of learners of robust minima in a status."""

from typing import ClassVar

from littled.cli.batch.status import BatchStatus


class MinimumStatus(BatchStatus):
    """The public facts of learners of robust minima, for people."""

    heading: ClassVar[str] = "robust minima of windows"
