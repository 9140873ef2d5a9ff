"""What the command line asks of every kind of learner, and of no kind by name.

Nothing that computes is imported here: `--help` has the options of all kinds.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from littled.kinds import KINDS, kind_of, load

# Puts an option on a command, as `click.option(...)` does.
Option = Callable[[Any], Any]


class KindOptions(Protocol):
    """The options of `littled plan` that learners of one kind have.

    - `does`: what a learner of the kind does, for help.
    - `options`: the options that it has, by the names of their parameters.
    - `protects_users`: whether it can be on a stream with unit "user".
    """

    does: ClassVar[str]
    options: ClassVar[Mapping[str, Option]]
    protects_users: ClassVar[bool]

    def table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that were given, as keys of a learner's table in a configuration.

        Raises Failure for options that do not go together.
        """


def options_of(kind: str) -> KindOptions:
    """The options of a kind."""
    options: type[KindOptions] = load(kind_of(kind).options)
    return options()


def all_options() -> dict[str, Option]:
    """The options of all kinds by the names of their parameters, those of the first kind first."""
    found: dict[str, Option] = {}
    for kind in KINDS:
        for name, option in options_of(kind).options.items():
            found.setdefault(name, option)
    return found


def kinds_with(option: str) -> list[str]:
    """The kinds that have an option of this name."""
    return [kind for kind in KINDS if option in options_of(kind).options]
