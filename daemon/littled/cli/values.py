"""Values on a command line, or in the lines of standard input, as points."""

import csv
from collections.abc import Sequence

from littled.cli.failures import WRONG_USE, Failure, explained
from littled_client.conversions import BadRow, Column, Converter, Fields
from littled_client.encoder import rows
from littled_protocol.columns import Points
from littled_protocol.encodings import Reading
from littled_protocol.rules import Words


class Values:
    """Reads values as people write them: numbers, addresses, rows with commas between features.

    Failure, as for a wrong command line, for an offset or a clip that the points cannot have.
    """

    def __init__(self, x_type: str, offset: int, clip: tuple[int, int] | None) -> None:
        """Read points of type `x_type`: values are clipped, then `offset` is subtracted."""
        _, _, features = x_type.partition("u16x")
        self._features = int(features) if features else 0
        names = tuple(f"feature {i}" for i in range(self._features)) or "x"
        with explained(ValueError, status=WRONG_USE):
            fields = Fields(names, "y", offset=offset, clip=clip)
            self._converter = Converter(x_type, fields, exact=True)

    def points(self, values: Sequence[str], before: int = 0) -> Points:
        """The points of one value each; `before` values came earlier, for the sentence.

        Failure names the first value that is no point by its number, not by itself.
        """
        columns: list[Column] = [list(values)]
        if self._features:
            rows = [value.split(",") for value in values]
            for index, row in enumerate(rows):
                if len(row) != self._features:
                    raise Failure(
                        f"value {before + index + 1}: a row has {self._features} features, with "
                        "commas between them"
                    )
            columns = [list(column) for column in zip(*rows, strict=True)]
        try:
            return self._converter.points(columns)
        except BadRow as bad:
            raise Failure(f"value {before + bad.index + 1}: {bad.reason}") from None


class Cells:
    """Reads rows of a reading's columns, with commas between the cells as in CSV."""

    def __init__(self, reading: Reading) -> None:
        """Read cells of these columns, in their order."""
        self._reading = reading

    def points(self, values: Sequence[str], before: int = 0) -> Points:
        """The points of one row each; `before` rows came earlier, for the sentence.

        Failure names the first row that is none by its number, not by itself.
        """
        names = self._reading.names
        try:
            found = list(csv.reader(values, strict=True))
        except csv.Error:
            raise Failure("a value is no row of cells with commas between them") from None
        for index, row in enumerate(found):
            if len(row) != len(names):
                raise Failure(
                    f"value {before + index + 1}: a row has the cells {', '.join(names)}, with "
                    "commas between them"
                )
        columns = [list(column) for column in zip(*found, strict=True)]
        try:
            return self._reading.points(rows(self._reading.columns, columns))
        except BadRow as bad:
            raise Failure(f"value {before + bad.index + 1}: {bad.reason}") from None


def reader_of(
    x_type: str, words: Words, offset: int | None, clip: tuple[int, int] | None
) -> Values | Cells:
    """What reads values of a stream with these words; Failure for options that do not fit."""
    if words.reading is None:
        return Values(x_type, words.offset_of(x_type) if offset is None else offset, clip)
    if offset is not None or clip is not None:
        raise Failure("--offset and --clip are not for columns, which have ranges", WRONG_USE)
    return Cells(words.reading)
