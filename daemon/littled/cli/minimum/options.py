"""The options of `littled plan` that learners of robust minima have."""

from typing import ClassVar

from littled.cli.value_options import ValueOptions


class MinimumOptions(ValueOptions):
    """The window, or how good its value has to be."""

    does: ClassVar[str] = "a window says since when"
