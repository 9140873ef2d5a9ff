"""What the command line asks of every kind of learner, and of no kind by name.

Nothing that computes is imported here: `--help` has the options of all kinds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import click

from littled.kinds import KINDS, kind_of, load

# Puts an option on a command, as `click.option(...)` does.
Option = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class WordOption:
    """An option that takes one of some words, the first unless it is given.

    Kinds that have it may know different words.
    """

    name: str
    words: tuple[str, ...]
    help: str

    def __call__(self, command: Any) -> Any:
        """Put the option on a command."""
        words = click.Choice(self.words)
        option = click.option(self.name, show_default=self.words[0], type=words, help=self.help)
        return option(command)

    def also(self, other: "WordOption") -> "WordOption":
        """The option of both kinds; what no kind knows is refused, and by its kind the rest."""
        words = tuple(dict.fromkeys((*self.words, *other.words)))
        added = "" if other.help in self.help else f" {other.help}"
        return WordOption(self.name, words, self.help + added)


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
            known = found.setdefault(name, option)
            if isinstance(known, WordOption) and isinstance(option, WordOption):
                found[name] = known if known is option else known.also(option)
    return found


def kinds_with(option: str) -> list[str]:
    """The kinds that have an option of this name."""
    return [kind for kind in KINDS if option in options_of(kind).options]
