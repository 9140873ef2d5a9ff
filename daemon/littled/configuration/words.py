"""The words of a stream in a configuration: for its points, its labels and its users."""

from typing import Self

from pydantic import Field, model_validator

from littled.configuration.parts import Part, SomeText, Text

OFFSET_MAX = 2**63  # numbers that people read fit into 64 bits


class XWords(Part):
    """How the points of a stream are spoken about: name, unit, and what point 0 stands for."""

    name: SomeText = Field(default="x", description="What x is called in rules.")
    unit: Text = Field(default="", description="Said after numbers, such as `EUR`.")
    offset: int = Field(
        default=0, gt=-OFFSET_MAX, lt=OFFSET_MAX, description="The number that point 0 stands for."
    )


class YWords(Part):
    """How the labels 1 and 0 of a stream are spoken about."""

    positive: SomeText = Field(default="1", description="The word for label 1.")
    negative: SomeText = Field(default="0", description="The word for label 0.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        """Two labels with one name could not be told apart."""
        if self.positive == self.negative:
            raise ValueError("must name the labels 1 and 0 differently")
        return self


class LabelWords(Part):
    """The column with the labels of a stream's tables, and its words for 1 and 0."""

    column: SomeText = Field(description="The column with the labels.")
    positive: SomeText = Field(default="1", description="The cell that means label 1.")
    negative: SomeText = Field(default="0", description="The cell that means label 0.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        """Two labels with one name could not be told apart."""
        if self.positive == self.negative:
            raise ValueError("must name the labels 1 and 0 differently")
        return self


class UserWords(Part):
    """The column with the users of a stream's tables."""

    column: SomeText = Field(description="The column with the user of each row.")
