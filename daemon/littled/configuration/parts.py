"""What the configurations of all kinds of learners are made of."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from littled.budget.unit import Unit
from littled.classes.base import ClassError
from littled.classes.choices import fitting_classes
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name, class_of_reading, reads_columns
from littled.configuration.columns import columns_without_class, reading_of
from littled.kinds import KINDS, learns
from littled.planner.quality import QUALITY_SHARE
from littled.planner.requests import QUALITY_SHARE_MAX, Request
from littled.tables import TABLE_PREFIX, TableFileError, read_table
from littled_protocol.columns import point_type
from littled_protocol.encodings import Column, Reading
from littled_protocol.rules import Words

WORDS_CHARACTERS_MAX = 80  # a rule in words stays one line


def _decimal(value: Any) -> Decimal:
    """A number as it was written; texts and truth values are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PydanticCustomError("number", "must be a number")
    return Decimal(value)


def _printable(text: str) -> str:
    """Words stand in one line of a terminal, a page or a log."""
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


def _share_or_not(value: Any) -> Decimal:
    """A share as it was written; false for none, true for the usual one."""
    if isinstance(value, bool):
        return Decimal(str(float(QUALITY_SHARE))) if value else Decimal(0)
    return _decimal(value)


Number = Annotated[Decimal, BeforeValidator(_decimal)]
Share = Annotated[Number, Field(gt=0, lt=1)]
Quality = Annotated[
    Decimal,
    Field(ge=0, le=Decimal(str(float(QUALITY_SHARE_MAX)))),
    BeforeValidator(_share_or_not),
]
NoiseRate = Annotated[Decimal, Field(ge=0, lt=Decimal("0.5")), BeforeValidator(_decimal)]
Text = Annotated[str, Field(max_length=WORDS_CHARACTERS_MAX), AfterValidator(_printable)]
SomeText = Annotated[
    str, Field(min_length=1, max_length=WORDS_CHARACTERS_MAX), AfterValidator(_printable)
]


class Part(BaseModel):
    """What all parts of a configuration share: nothing unknown, nothing guessed, no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class LearnerPart(Part, ABC):
    """What learners of all kinds have: a class of rules, and the share of labels against it.

    What it means not to give `noise_rate` is up to the kind.

    `class_name` is written `class` in a file: a name that `class_from_name` knows, such as
    `thresholds:256`, or `table:FILE`, where a relative FILE is looked for beside the configuration.
    Without one the stream chooses among `choices`.
    """

    class_name: str | None = Field(
        default=None,
        alias="class",
        min_length=1,
        description="The class of rules; without one it is chosen for the columns.",
    )
    columns: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        strict=False,
        description="The columns that it reads; without them all that fit the class.",
    )
    noise_rate: NoiseRate | None = Field(
        default=None,
        description="The share of labels that may contradict the best rule, if it is known.",
    )

    _hypothesis_class: HypothesisClass = PrivateAttr()
    _reading: Reading | None = PrivateAttr(default=None)

    @field_validator("class_name", mode="after")
    @classmethod
    def _exists(cls, name: str | None, info: ValidationInfo) -> str | None:
        """Refuse a class that does not exist, here so that the error carries the key's name."""
        if name is not None and not reads_columns(name):
            find_class(name, folder_of(info))
        return name

    @model_validator(mode="after")
    def _remember_class(self, info: ValidationInfo) -> Self:
        """Keep the class that the name stands for, unless its sizes are those of columns."""
        if self.class_name is not None and not reads_columns(self.class_name):
            self._hypothesis_class = find_class(self.class_name, folder_of(info))
        return self

    def choices(self, columns: Sequence[Column]) -> "tuple[LearnerPart, ...]":
        """The same learner with each class that it may have, those that can say most first.

        `columns` are the stream's. ClassError where no class fits what the learner reads.
        """
        if not columns:
            raise ClassError("name one, as the stream has no columns to choose one for")
        read = columns_without_class(columns, self.columns)
        names = tuple(column.name for column in read)
        found, reason = [], "name one, as none that suits these columns is of the learner's kind"
        for name in fitting_classes(read):
            learner = self.with_class(name, names)
            if learner is None:
                continue
            try:
                learner.read(columns)
            except ClassError as error:
                reason = str(error)
            else:
                found.append(learner)
        if not found:
            raise ClassError(reason)
        return tuple(found)

    def with_class(self, name: str, columns: tuple[str, ...]) -> "LearnerPart | None":
        """The same learner with a class and what it reads; None if it cannot learn that class."""
        if not learns(vars(self)["kind"], name):
            return None
        return self.model_copy(update={"class_name": name, "columns": columns})

    def read(self, columns: Sequence[Column]) -> None:
        """Find the named class for what is read of a stream's columns; ClassError if none."""
        assert self.class_name is not None, "choices name one"
        if not columns:
            if self.columns is not None:
                raise ClassError("there are no columns to read; name them in the stream")
            if reads_columns(self.class_name):
                # which says what it lacks
                self._hypothesis_class = class_from_name(self.class_name)
            return
        reading = reading_of(self.class_name, columns, self.columns)
        if self.class_name.startswith(TABLE_PREFIX):
            cells, table = reading.size, self._hypothesis_class
            if table.point_type != reading.x_type or not _has_points(table, cells):
                raise ClassError(f"a table needs {cells} points, as the columns have cells")
        else:
            self._hypothesis_class = class_of_reading(self.class_name, reading)
        self._reading = reading

    @property
    def hypothesis_class(self) -> HypothesisClass:
        """The class itself, a table already read from its file."""
        return self._hypothesis_class

    @property
    def reading(self) -> Reading | None:
        """What the learner reads of the stream's columns; None where there are none."""
        return self._reading

    @abstractmethod
    def request(self, name: str, words: Words) -> Request:
        """What the planner is asked for."""

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """Why the learner of this name cannot be on a stream: sentences after the stream's name."""
        return iter(())


def _has_points(table: HypothesisClass, count: int) -> bool:
    """Whether the points of a table are 0 to count - 1."""
    dtype = point_type(table.point_type).dtype
    last = table.contains(np.array([count - 1], dtype=dtype))
    beyond = count <= np.iinfo(dtype).max and table.contains(np.array([count], dtype=dtype))
    return last and not beyond


def known_kind(kind: Any) -> Any:
    """Refuse a kind that does not exist: its learner is read as a usual one, and ends here."""
    if kind not in KINDS:
        *first, last = map(repr, KINDS)
        names = f"{', '.join(first)} or {last}"
        raise PydanticCustomError("kind", "must be {names}", {"names": names})
    return kind


def find_class(name: str, folder: Path) -> HypothesisClass:
    """The class that `name` stands for; a table's file is looked for in `folder`.

    Raises ValueError with one sentence for a class that does not exist.
    """
    try:
        if name.startswith(TABLE_PREFIX):
            return read_table(folder / name.removeprefix(TABLE_PREFIX))
        return class_from_name(name)
    except (ClassError, TableFileError) as error:
        # a sentence after the key's name: "streams.s.learners.l.class: there is no class ..."
        raise PydanticCustomError("class", ": {reason}", {"reason": str(error)}) from error


def folder_of(info: ValidationInfo) -> Path:
    """The folder of the configuration that is read, where its tables are looked for."""
    context = info.context
    return context["folder"] if isinstance(context, Mapping) else Path()
