"""JSON in a body: a value in UTF-8, in which no key comes twice, and no NaN or Infinity.

Python's reader holds the interpreter until it is done, 200 ms for a body of empty lists, and nobody
else is served meanwhile, on whichever thread that is. So a long body is read in pieces: of the list
that it is, or of the lists in the object that it is, some elements at a time.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from littled.limits import (
    HTTP_JSON_ELEMENT_CHARACTERS_MAX,
    HTTP_JSON_KEYS_MAX,
    HTTP_JSON_LISTS_MAX,
    HTTP_JSON_PIECE_CHARACTERS,
)
from littled_client.sources import TwiceError, once_each

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
# What ends an element, by what begins it, with the comma between two of them.
_ENDS: Final = {"[": "],", "{": "},", '"': '",'}
# Where brackets begin nothing.
_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_BETWEEN_LISTS: Final = re.compile(r"\],[ \t\n\r]*\[")


class NotJson(Exception):
    """What holds no such value; the message is one sentence, which quotes nothing."""


def read_json(text: bytes, line: int | None = None) -> Any:
    """The value in a body, or in a line of one; raises NotJson."""
    where = "the body" if line is None else f"line {line}"
    try:
        # decoded first: from bytes the reader would guess UTF-16 and UTF-32
        decoded = text.decode()
        if len(decoded) <= HTTP_JSON_PIECE_CHARACTERS:
            return _DECODER.decode(decoded)
        return _Pieces(decoded).value()
    except TwiceError:
        raise NotJson(f"{where} has an object in which a key comes twice") from None
    except _NoNumber:
        raise NotJson(f"{where} has NaN or Infinity, which JSON has no numbers for") from None
    except RecursionError:
        raise NotJson(f"{where} is nested too deep") from None
    except _TooMuch as error:
        raise NotJson(f"{where} {error}") from None
    except json.JSONDecodeError as error:
        # no column: it would say how long the cells before it are
        at = f" (line {error.lineno})" if line is None else ""
        raise NotJson(f"{where} is not JSON{at}") from None
    except ValueError:  # no UTF-8, or more digits than Python reads
        raise NotJson(f"{where} is not JSON that can be read") from None


class _NoNumber(Exception):
    """One of the constants that Python reads and JSON does not have."""


class _TooMuch(Exception):
    """What cannot be read in pieces; the message is the end of a sentence."""


def _no_number(_: str) -> Any:
    raise _NoNumber


_DECODER: Final = json.JSONDecoder(object_pairs_hook=once_each, parse_constant=_no_number)


class _Pieces:
    """A long text, and the place in it up to which it is read.

    Raises what the decoder does, with places of the whole text, and _TooMuch.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lists = 0

    def value(self) -> Any:
        """The value that the whole text is."""
        self._skip_blanks()
        found = self._object() if self._next == "{" else self._element()
        self._skip_blanks()
        if self._at < len(self._text):
            raise self._wrong(self._at)
        return found

    def _object(self) -> dict[str, Any]:
        pairs: list[tuple[str, Any]] = []
        while self._goes_on("}", is_first=not pairs):
            if len(pairs) == HTTP_JSON_KEYS_MAX:
                raise _TooMuch(f"has an object with more than {HTTP_JSON_KEYS_MAX} keys")
            if self._next != '"':
                raise self._wrong(self._at)
            key = self._one()
            self._skip_blanks()
            if self._next != ":":
                raise self._wrong(self._at)
            self._at += 1
            self._skip_blanks()
            pairs.append((key, self._element()))
        return once_each(pairs)

    def _element(self) -> Any:
        if self._next != "[":
            start, value = self._at, self._one()
            self._count_lists(start)
            return value
        found: list[Any] = []
        while self._goes_on("]", is_first=not found):
            start = self._at
            self._read_some(found)
            self._count_lists(start)
        return found

    def _count_lists(self, start: int) -> None:
        """Count the lists and objects in what was read from some place on."""
        read = _STRINGS.sub("", self._text[start : self._at])
        self._lists += sum(map(read.count, "[{"))
        if self._lists > HTTP_JSON_LISTS_MAX:
            raise _TooMuch(f"has more than {HTTP_JSON_LISTS_MAX} lists and objects")

    def _goes_on(self, end: str, *, is_first: bool) -> bool:
        """Pass over what stands before the next element; False, and beyond the end, if none is."""
        if is_first:
            self._at += 1
        self._skip_blanks()
        if self._next == end:
            self._at += 1
            return False
        if not is_first:
            if self._next != ",":
                raise self._wrong(self._at)
            self._at += 1
            self._skip_blanks()
        return True

    def _read_some(self, found: list[Any]) -> None:
        """Read one element of a list or more, up to the last one of a piece.

        If what is cut off reads as a list, it was cut off between two elements.
        """
        piece = self._text[self._at : self._at + HTTP_JSON_PIECE_CHARACTERS]
        is_last = self._at + len(piece) == len(self._text)
        cut = len(piece) if is_last else _cut(piece)
        try:
            some, end = _DECODER.raw_decode(f"[{piece[:cut]}]")
        except json.JSONDecodeError:
            some = []
        if some:
            found += some
            # the list itself may have ended before
            self._at += cut if end == cut + 2 else end - 2
        else:
            self._read_each(found, self._at + max(cut, 1))

    def _read_each(self, found: list[Any], until: int) -> None:
        """Read the elements of a list that begin before some place, one by one."""
        found.append(self._one())
        window_at = self._at
        window = self._text[window_at : until + HTTP_JSON_ELEMENT_CHARACTERS_MAX]
        while self._at < until:
            blanks = _BLANKS.match(window, self._at - window_at)
            assert blanks is not None, "no blanks are some as well"
            if window[blanks.end() : blanks.end() + 1] != ",":
                return
            blanks = _BLANKS.match(window, blanks.end() + 1)
            assert blanks is not None, "no blanks are some as well"
            value, end = self._scanned(window, window_at, blanks.end())
            found.append(value)
            self._at = window_at + end

    def _one(self) -> Any:
        """Read one value, which is not read in pieces."""
        start = self._at
        window = self._text[start : start + HTTP_JSON_ELEMENT_CHARACTERS_MAX]
        value, end = self._scanned(window, start, 0)
        self._at = start + end
        return value

    def _scanned(self, window: str, window_at: int, start: int) -> tuple[Any, int]:
        """A value in a part of the text, and where in this it ends."""
        try:
            value, end = _DECODER.raw_decode(window, start)
        except json.JSONDecodeError as wrong:
            error = self._wrong(window_at + wrong.pos)
        else:
            if end < len(window) or window_at + end == len(self._text):
                return value, end
            error = self._wrong(window_at + start)
        if window_at + len(window) < len(self._text):
            raise _TooMuch(
                f"is not JSON (line {error.lineno}), or has a value of more than "
                f"{HTTP_JSON_ELEMENT_CHARACTERS_MAX} characters in a list or an object"
            )
        raise error

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_blanks(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        assert blanks is not None, "no blanks are some as well"
        self._at = blanks.end()

    def _wrong(self, place: int) -> json.JSONDecodeError:
        return json.JSONDecodeError("", self._text, place)


def _cut(piece: str) -> int:
    """The place of a comma that seems to stand between two elements; 0 where there is none."""
    end = _ENDS.get(piece[0], ",")
    place = piece.rfind(end)
    while end == "]," and place > 0 and not _BETWEEN_LISTS.match(piece, place):
        place = piece.rfind(end, 0, place)
    return max(place + len(end) - 1, 0)
