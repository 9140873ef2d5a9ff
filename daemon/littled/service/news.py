"""One stream of server-sent events for all learners that somebody may follow.

    GET /events?learner=STREAM/LEARNER&after=STREAM/LEARNER:VERSION

Both may be repeated, or left out. First comes `hello` with the store's instance; then, of each
learner, its releases after the version that `after` names, or else the newest one, and its last
figure of `quality`; then releases and figures as they come, and at most once a second, when one has
changed, a `tick` with the positions of streams that have changed; the first one has all.
Browsers allow six connections to a host, so one for each learner would not do.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from littled.limits import HTTP_HEARTBEAT_SECONDS, HTTP_TICK_SECONDS
from littled.service.changes import Changes
from littled.service.figures import Figures
from littled.service.http_errors import HttpError
from littled.service.http_numbers import number_in
from littled.service.subscribers import Releases
from littled_protocol import limits
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Release, check_learner

Write = Callable[[bytes], Awaitable[None]]
Turn = Callable[[], Awaitable[None]]
Shown = Callable[[Release], Awaitable[bytes]]


class Positions:
    """Positions of streams as of lately, for all who follow them."""

    def __init__(self, now: Callable[[], Mapping[str, int]]) -> None:
        """Look at what `now` returns: at most once in a tick, and for every newcomer."""
        self._now = now
        self._found: dict[str, int] = {}
        self._changes = Changes()
        self._looked_at = -math.inf

    def since(self, number: int) -> tuple[dict[str, int], int]:
        """Return positions that have changed since a number, 0 for all; and the number to go on."""
        time = asyncio.get_running_loop().time()
        if number == 0 or time - self._looked_at >= HTTP_TICK_SECONDS:
            self._looked_at = time
            for name, place in self._now().items():
                if self._found.get(name) != place:
                    self._found[name] = place
                    self._changes.note(name)
        changed = {name: self._found[name] for name in self._changes.since(number)}
        return changed, self._changes.number


class NewsError(HttpError):
    """A request for events that cannot be answered."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Full names of the learners that are followed, and the versions that are known of some."""

    learners: tuple[str, ...]
    after: Mapping[str, int]

    @classmethod
    def of(
        cls,
        learners: Sequence[str],
        after: Sequence[str],
        releases: Releases,
        may: Callable[[str], bool],
    ) -> Self:
        """Return what a query asks for; all that `may` be followed where it names no learner.

        may: whether a learner of this full name may be followed. Raises NewsError.
        """
        for learner in learners:
            # first, so that nobody is told which learners there are in streams of others
            if not may(learner):
                raise NewsError(403, "what you have shown does not allow this")
            if learner not in releases:
                raise NewsError(404, "there is no such learner")
        known = dict(map(_known, after))
        followed = tuple(dict.fromkeys(learners)) or tuple(filter(may, releases.learners))
        return cls(followed, known)


def _known(text: str) -> tuple[str, int]:
    learner, _, digits = text.rpartition(":")
    version = number_in(digits, limits.integer_max)
    if version is None or not _is_learner(learner):
        raise NewsError(400, "after must be STREAM/LEARNER:VERSION")
    return learner, version


def _is_learner(name: str) -> bool:
    try:
        check_learner(name, "after")
    except ProtocolError:
        return False
    return True


async def tell(
    wanted: Wanted,
    releases: Releases,
    origin: str,
    figures: Figures,
    instance: str,
    positions: Positions,
    sees: Callable[[str], bool],
    shown: Shown,
    write: Write,
    turn: Turn,
    stopping: asyncio.Event,
) -> None:
    """Write events until `stopping`; whatever `write` raises ends it.

    origin: where the reader comes from. positions: of all streams. sees: which of them are told.
    shown: a release as JSON. turn: waits for a turn of the loop to look for news, or to tell of a
    release: there may be many of both.
    """
    await write(event("hello", {"instance": instance}))
    followed = frozenset(wanted.learners)
    released, measured, moved = releases.changes.number, figures.changes.number, 0
    versions = {name: _start(releases, name, wanted.after.get(name)) for name in wanted.learners}
    told = {name: max(figures.number(name) - 1, 0) for name in wanted.learners}
    learners: Iterable[str] = wanted.learners
    loop = asyncio.get_running_loop()
    said_at = loop.time()
    while not stopping.is_set():
        news = releases.news
        await turn()
        for learner in learners:
            # a long history comes in parts
            while releases.version(learner) > versions[learner]:
                for release in await releases.after(learner, versions[learner], origin):
                    await turn()
                    data = await shown(release)
                    if stopping.is_set():  # also in the middle of a long history
                        return
                    await write(b"event: release\ndata: " + data + b"\n\n")
                    versions[learner] = release.version
                    said_at = loop.time()
            for facts in figures.after(learner, told[learner]):
                await write(event("quality", {"learner": learner, **facts}))
                told[learner], said_at = facts["number"], loop.time()
        found, moved = positions.since(moved)
        if seen := {name: place for name, place in found.items() if sees(name)}:
            await write(event("tick", {"positions": seen}))
            said_at = loop.time()
        elif loop.time() - said_at >= HTTP_HEARTBEAT_SECONDS:
            await write(b": still here\n\n")
            said_at = loop.time()
        await _first_of(news, stopping, HTTP_TICK_SECONDS)
        changed = {*releases.changes.since(released), *figures.changes.since(measured)}
        released, measured = releases.changes.number, figures.changes.number
        learners = sorted(changed & followed)


def event(name: str, value: Mapping[str, Any]) -> bytes:
    """Return a server-sent event with a JSON object."""
    return f"event: {name}\ndata: {json.dumps(value, sort_keys=True)}\n\n".encode()


def _start(releases: Releases, learner: str, known: int | None) -> int:
    """The version after which releases are told: the newest one itself is told to a newcomer."""
    return max(0, releases.version(learner) - 1) if known is None else known


async def _first_of(news: asyncio.Event, stopping: asyncio.Event, seconds: float) -> None:
    waits = [asyncio.ensure_future(one.wait()) for one in (news, stopping)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
