"""The options of `littled plan` that learners of one-way sequences have."""

from typing import ClassVar

from littled.cli.value_options import ValueOptions


class SequencesOptions(ValueOptions):
    """The window, or how good its rule has to be."""

    does: ClassVar[str] = "a rule of proven error about a one-way sequence from each window"
