"""Statuses: of which streams they tell, where there may be thousands, and how they are written.

What is told of a stream is written once, until it changes. So a status takes long only where much
has changed, and is then made a little at a time (`littled.service.turns.Making`). It tells of each
stream what was so when it was asked for, or later: of whatever was acknowledged before.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Generic, TypeVar

from littled.limits import (
    HTTP_UNITS_PER_STREAM,
    STATUS_STREAMS_MAX,
    STATUS_UNITS,
    STATUS_UNITS_PER_STREAM,
    STREAM_ANEW_UNITS,
)
from littled.service.access import Rights
from littled.service.turns import Making
from littled_protocol.codec import encode_status, frame, status_part
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Status, StatusRequest

Tell = Callable[[Sequence[str]], dict[str, Any]]
"""The body of a status that tells of the streams with these names.

What it tells of one is the same object until that changes.
"""
P = TypeVar("P")


class Names:
    """The names of all streams in their order, and the place of each."""

    def __init__(self, names: Iterable[str]) -> None:
        """Of so many there are as many looked at as are told of, and not all."""
        self.all = tuple(names)
        self.place = {name: place for place, name in enumerate(self.all)}


def status_page(
    names: Names,
    rights: Rights,
    *,
    only: Collection[str] | None = None,
    after: str | None = None,
    most: int | None = None,
) -> tuple[list[str], bool]:
    """The streams that a status tells of as far as `rights` let it, and whether there are more.

    only: those that are asked about. after: leave out the streams up to this one; all, if there is
    none of this name that may be seen. most: tell of so many.
    """
    first = 0
    if after is not None:
        place = names.place.get(after) if rights.sees(after) else None
        first = len(names.all) + 1 if place is None else place + 1
    some = _either(rights.streams, only)
    if some is None:
        chosen = list(names.all[first : None if most is None else first + most + 1])
    else:
        places = sorted(names.place[name] for name in some if name in names.place)
        chosen = [names.all[place] for place in places[bisect_left(places, first) :]]
    return chosen[:most], most is not None and len(chosen) > most


def _either(these: Collection[str] | None, those: Collection[str] | None) -> Collection[str] | None:
    """The names in both, None standing for all names."""
    if these is None or those is None:
        return those if these is None else these
    return set(these).intersection(those)


class _Written(Generic[P]):
    """What a status tells of each stream, as it was last written."""

    def __init__(self, tell: Tell, write: Callable[[str, Any], P]) -> None:
        self._tell = tell
        self._write = write
        self._known: dict[str, tuple[Any, P]] = {}

    def of(self, names: Iterable[str]) -> Making[dict[str, tuple[Any, P]]]:
        """For each name the facts and how they are written."""
        found: dict[str, tuple[Any, P]] = {}
        for name in names:
            facts = self._tell([name])["streams"][name]
            known = self._known.get(name)
            if known is None or known[0] is not facts:
                known = self._known[name] = facts, self._write(name, facts)
                yield STREAM_ANEW_UNITS
            found[name] = known
        return found

    def head(self, *, more: bool) -> dict[str, Any]:
        """What a status tells beside that."""
        head = {key: value for key, value in self._tell(()).items() if key != "streams"}
        return {**head, "more": True} if more else head


class StatusFrames:
    """Statuses as frames."""

    def __init__(self, tell: Tell, names: Collection[str]) -> None:
        """Tell of the streams with these names."""
        self._names = Names(names)
        self._written = _Written(tell, status_part)

    def answer(self, asked: StatusRequest, rights: Rights) -> Making[tuple[Status, bytes]]:
        """A status with as many streams as its frame has room for, and that frame.

        Raises ProtocolError where there is no room for one.
        """
        only = None if asked.stream is None else (asked.stream,)
        names, more = status_page(
            self._names, rights, only=only, after=asked.after, most=STATUS_STREAMS_MAX
        )
        yield STATUS_UNITS + STATUS_UNITS_PER_STREAM * len(names)
        while True:
            head = self._written.head(more=more)
            try:
                found = yield from self._written.of(names)
                payload = encode_status(head, [part for _, part in found.values()])
            except ProtocolError:
                if len(names) <= 1:
                    raise
                names, more = names[: len(names) // 2], True
            else:
                streams = {name: facts for name, (facts, _) in found.items()}
                return Status({**head, "streams": streams}), frame(payload)


class StatusTexts:
    """Statuses as JSON."""

    def __init__(self, tell: Tell) -> None:
        """Tell of any streams."""
        self._written = _Written(tell, _as_text)

    def answer(self, names: Sequence[str], *, more: bool) -> Making[str]:
        """A status of these streams, whose names are in the order of JSON."""
        yield HTTP_UNITS_PER_STREAM * len(names)
        found = yield from self._written.of(names)
        head = json_text({**self._written.head(more=more), "streams": {}})
        if not found:
            return head
        before, after = head[: -len("}\n}\n")], "\n  }\n}\n"
        return before + "\n" + ",\n".join(text for _, text in found.values()) + after


def json_text(value: Any) -> str:
    """An object as HTTP shows it."""
    return json.dumps(value, sort_keys=True, indent=2) + "\n"


def _as_text(stream: str, facts: Any) -> str:
    """A stream and its facts, as they stand in the text of a status."""
    text = f"{json.dumps(stream)}: {json.dumps(facts, sort_keys=True, indent=2)}"
    return "    " + text.replace("\n", "\n    ")
