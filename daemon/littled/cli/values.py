"""Values on a command line, or in the lines of standard input, as points."""

from collections.abc import Sequence

from littled.cli.failures import WRONG_USE, Failure, explained
from littled_client.conversions import BadRow, Column, Converter, Fields
from littled_protocol.columns import Points


class Values:
    """Reads values as people write them: numbers, addresses, rows with commas between features.

    Failure, as for a wrong command line, for an offset or a clip that the points cannot have.
    """

    def __init__(self, x_type: str, offset: int, clip: tuple[int, int] | None) -> None:
        """Read points of type `x_type`: values are clipped, then `offset` is subtracted."""
        _, _, features = x_type.partition("x")
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
