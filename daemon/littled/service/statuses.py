"""Which streams a status tells of, where there may be thousands: some by name, or a page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

from littled.limits import STATUS_STREAMS_MAX
from littled.service.access import Rights
from littled_protocol.codec import StatusPart, encode_status, frame, status_part
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Status, StatusRequest

Tell = Callable[[Sequence[str]], dict[str, Any]]
"""The body of a status that tells of the streams with these names."""


def status_page(
    tell: Tell,
    names: Collection[str],
    rights: Rights,
    *,
    only: Collection[str] | None = None,
    after: str | None = None,
    most: int | None = None,
) -> dict[str, Any]:
    """The body of a status, as far as `rights` let it be seen.

    names: of all streams, in their order. only: those that are asked about. after: leave out the
    streams up to this one; all, if there is none of this name. most: tell of so many, and with
    `more` that there are others.
    """
    seen = (name for name in names if rights.sees(name) and (only is None or name in only))
    if after is not None:
        place = {name: number for number, name in enumerate(names)}
        start = place.get(after, len(place))
        seen = (name for name in seen if place[name] > start)
    chosen = list(islice(seen, None if most is None else most + 1))
    body = tell(chosen[:most])
    if most is None or len(chosen) <= most:
        return body
    streams = body.pop("streams")
    return {**body, "more": True, "streams": streams}


class StatusFrames:
    """Statuses as frames: what they tell of a stream is encoded once, until it changes."""

    def __init__(self, tell: Tell, names: Collection[str]) -> None:
        """Tell of the streams with these names; the facts of one are the same object until then."""
        self._tell = tell
        self._names = names
        self._parts: dict[str, tuple[Any, StatusPart]] = {}

    def answer(self, asked: StatusRequest, rights: Rights) -> tuple[Status, bytes]:
        """A status with as many streams as its frame has room for, and that frame.

        Raises ProtocolError where there is no room for one.
        """
        only = None if asked.stream is None else (asked.stream,)
        most = STATUS_STREAMS_MAX
        while True:
            body = status_page(
                self._tell, self._names, rights, only=only, after=asked.after, most=most
            )
            head = {key: value for key, value in body.items() if key != "streams"}
            try:
                parts = [self._part(*stream) for stream in body["streams"].items()]
                return Status(body), frame(encode_status(head, parts))
            except ProtocolError:
                if most == 1:
                    raise
                most = max(1, min(most, len(body["streams"])) // 2)

    def _part(self, stream: str, facts: Any) -> StatusPart:
        known = self._parts.get(stream)
        if known is None or known[0] is not facts:
            known = self._parts[stream] = facts, status_part(stream, facts)
        return known[1]
