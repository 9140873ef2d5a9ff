"""JSON in a body: a value in UTF-8, in which no key comes twice, and no NaN or Infinity.

Python's reader holds the interpreter until it is done, 200 ms for a body of empty lists, and nobody
else is served meanwhile, on whichever thread that is. So a long body is read in pieces: of the list
that it is, or of the lists in the object that it is, some elements at a time. What that takes is
as much as the body is long, wherever blanks stand in it and whatever its elements are.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from littled.limits import (
    HTTP_JSON_ELEMENT_CHARACTERS_MAX,
    HTTP_JSON_FIRST_PIECE_CHARACTERS,
    HTTP_JSON_KEYS_MAX,
    HTTP_JSON_LISTS_MAX,
    HTTP_JSON_PIECE_CHARACTERS,
)
from littled_client.sources import TwiceError, once_each

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_COMMA: Final = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
# All up to the last comma that seems to stand between two elements, by what begins the first one.
_CUTS: Final = {
    begin: re.compile(rf"(?s:.*){end}(?=,{after})")
    for begin, end, after in (
        ("[", r"\][ \t\n\r]*", r"[ \t\n\r]*\["),
        ("{", r"\}[ \t\n\r]*", ""),
        ('"', r'"[ \t\n\r]*', ""),
    )
}
_ANY_CUT: Final = re.compile(r"(?s:.*)(?=,)")
# What may follow the digits of a number.
_IN_NUMBERS: Final = frozenset(".eE")
# Where brackets begin nothing.
_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


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
        # A part of it, in which some elements are read one by one, and where it begins.
        self._window = ""
        self._window_at = 0

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
        # Of each list a little at first: there may be many short ones.
        most = HTTP_JSON_FIRST_PIECE_CHARACTERS
        while self._goes_on("]", is_first=not found):
            start = self._at
            most = min(most, HTTP_JSON_PIECE_CHARACTERS)
            self._read_some(found, most)
            self._count_lists(start)
            most *= 2
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

    def _read_some(self, found: list[Any], most: int) -> None:
        """Read elements of a list: those that begin in the first half of a piece, or more.

        If what is cut off reads as a list, it was cut off between two elements. Otherwise all that
        begins in the piece is read one by one: no piece is tried twice.
        """
        piece = self._text[self._at : self._at + most]
        is_last = self._at + len(piece) == len(self._text)
        cut = len(piece) if is_last else _cut(piece)
        some: list[Any] = []
        if is_last or 2 * cut >= len(piece):
            try:
                some, end = _DECODER.raw_decode(f"[{piece[:cut]}]")
            except json.JSONDecodeError:
                some = []
        if some:
            found += some
            # the list itself may have ended before
            self._at += cut if end == cut + 2 else end - 2
        else:
            self._read_each(found, self._at + len(piece))

    def _read_each(self, found: list[Any], until: int) -> None:
        """Read the elements of a list that begin before some place, one by one."""
        found.append(self._one())
        while self._at < until and (comma := _COMMA.match(self._text, self._at)) is not None:
            self._at = comma.end()
            found.append(self._one())

    def _one(self) -> Any:
        """Read one value, which is not read in pieces: in the window that is there, or a new one.

        A window is as long as a value may be, so what is cut off at the end of one may be whole in
        its own; and that one reaches beyond the one before.
        """
        start = self._at - self._window_at
        if start < len(self._window):
            try:
                value, end = _DECODER.raw_decode(self._window, start)
            except json.JSONDecodeError:
                pass
            else:
                # A number is read up to a point or an exponent that the window cuts off.
                if self._is_whole(end) and self._window[end : end + 1] not in _IN_NUMBERS:
                    self._at = self._window_at + end
                    return value
        self._window_at = self._at
        self._window = self._text[self._at : self._at + HTTP_JSON_ELEMENT_CHARACTERS_MAX]
        return self._first_in_window()

    def _first_in_window(self) -> Any:
        """Read the value with which the window begins."""
        try:
            value, end = _DECODER.raw_decode(self._window)
        except json.JSONDecodeError as wrong:
            error = self._wrong(self._window_at + wrong.pos)
        else:
            if self._is_whole(end):
                self._at = self._window_at + end
                return value
            error = self._wrong(self._window_at)
        if self._window_at + len(self._window) < len(self._text):
            raise _TooMuch(
                f"is not JSON (line {error.lineno}), or has a value of more than "
                f"{HTTP_JSON_ELEMENT_CHARACTERS_MAX} characters in a list or an object"
            )
        raise error

    def _is_whole(self, end: int) -> bool:
        """Whether a value that ends there in the window does not go on behind it."""
        return end < len(self._window) or self._window_at + end == len(self._text)

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
    found = _CUTS.get(piece[0], _ANY_CUT).match(piece)
    return 0 if found is None else found.end()
