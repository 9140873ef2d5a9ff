"""The table of learners of most frequent items in a status."""

from typing import ClassVar

from littled.cli.batch.status import BatchStatus


class MostFrequentStatus(BatchStatus):
    """The public facts of learners of most frequent items, for people."""

    heading: ClassVar[str] = "most frequent items of windows"
