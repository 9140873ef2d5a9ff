"""Numbers on a command line, digit for digit."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click


class DecimalParameter(click.ParamType[Decimal]):
    """A number, digit for digit as it is written."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        """The number, or click's error."""
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)
