"""JSON in a body: a value in UTF-8, in which no key comes twice, and no NaN or Infinity."""

from __future__ import annotations

import json
from typing import Any

from littled_client.sources import TwiceError, once_each


class NotJson(Exception):
    """What holds no such value; the message is one sentence, which quotes nothing."""


def read_json(text: bytes, line: int | None = None) -> Any:
    """The value in a body, or in a line of one; raises NotJson."""
    where = "the body" if line is None else f"line {line}"
    try:
        # decoded first: from bytes the reader would guess UTF-16 and UTF-32
        return json.loads(text.decode(), object_pairs_hook=once_each, parse_constant=_no_number)
    except TwiceError:
        raise NotJson(f"{where} has an object in which a key comes twice") from None
    except _NoNumber:
        raise NotJson(f"{where} has NaN or Infinity, which JSON has no numbers for") from None
    except RecursionError:
        raise NotJson(f"{where} is nested too deep") from None
    except json.JSONDecodeError as error:
        # no column: it would say how long the cells before it are
        at = f" (line {error.lineno})" if line is None else ""
        raise NotJson(f"{where} is not JSON{at}") from None
    except ValueError:  # no UTF-8, or more digits than Python reads
        raise NotJson(f"{where} is not JSON that can be read") from None


class _NoNumber(Exception):
    """One of the constants that Python reads and JSON does not have."""


def _no_number(_: str) -> Any:
    raise _NoNumber
