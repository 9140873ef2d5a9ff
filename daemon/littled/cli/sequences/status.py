"""The table of learners of one-way sequences in a status."""

from typing import ClassVar

from littled.cli.batch.status import BatchStatus


class SequencesStatus(BatchStatus):
    """The public facts of learners of one-way sequences, for people."""

    heading: ClassVar[str] = "one-way sequences"
