"""The options of `littled plan` that learners of most frequent items have."""

from typing import ClassVar

from littled.cli.value_options import ValueOptions


class MostFrequentOptions(ValueOptions):
    """The window, or how good its value has to be."""

    does: ClassVar[str] = "a window says which one"
