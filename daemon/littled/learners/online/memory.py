"""Public memory: what a season's releases have said about the rules that are left.

Source: this project's; PRIVACY.md, section 4, "Public memory". Where rules form a chain, a rule
that has made too many mistakes is wrong on one side, and so are all rules beyond it. Which side it
was is seen from what is drawn next, and a draw is paid for and public. A memory is a function of
draws, bottoms, published rules and stored parameters alone, of nothing else that a learner has
seen; so it costs nothing.

Each way of selection with a memory has settings, which are parameters and never change, and the
memory itself, which is empty when a season opens and changes in calls of joint training only.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self


@dataclass(frozen=True, slots=True)
class PublicValues(ABC):
    """Integers, and lists of them, under a `word` that says of which way of selection they are.

    Fields that `came_later` are 0 where nothing is said of them, and left out then, so that what is
    stored is as it was before they came.
    """

    word: ClassVar[str]
    came_later: ClassVar[frozenset[str]] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Plain values; lists in place of tuples, and the word."""
        values = asdict(self)
        said = {name: v for name, v in values.items() if v or name not in self.came_later}
        return {"word": self.word, **{name: _lists(v) for name, v in said.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; ValueError if fields are missing or unknown, or no integers."""
        names = {field.name for field in fields(cls)}
        if set(values) | cls.came_later != names | {"word"} or values["word"] != cls.word:
            raise ValueError(f"a memory of {cls.word} selection has {', '.join(sorted(names))}")
        return cls(**{name: _tuples(values.get(name, 0)) for name in names})


@dataclass(frozen=True, slots=True)
class MemorySettings(PublicValues):
    """What a way of selection with a memory needs beside the other parameters.

    All of it is utility only: the memory that follows from it is public, whatever it is.
    """

    @abstractmethod
    def wrong(self) -> str | None:
        """The first thing that is wrong with these values alone, in one sentence."""


@dataclass(frozen=True, slots=True)
class Memory(PublicValues):
    """What the releases of a season have said so far."""


def _lists(value: Any) -> Any:
    return [_lists(one) for one in value] if isinstance(value, (list, tuple)) else value


def _tuples(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(one) for one in value)
    if type(value) is not int:
        raise ValueError("a memory has integers and lists of them")
    return value
