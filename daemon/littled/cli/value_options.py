"""The options of `littled plan` that learners of values of windows share."""

from collections.abc import Mapping
from typing import ClassVar

from littled.cli.batch.options import BatchOptions
from littled.cli.kinds import Option, WordOption

# What the planner knows, in its order; it is not imported for that.
METHODS = ("auto", "exponential", "stable")


class ValueOptions(BatchOptions):
    """The window, or how good its value has to be."""

    options: ClassVar[Mapping[str, Option]] = {
        **{name: BatchOptions.options[name] for name in ("window", "alpha", "beta")},
        "method": WordOption("--method", METHODS, "Or a window's value."),
    }
