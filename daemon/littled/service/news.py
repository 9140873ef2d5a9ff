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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from littled.limits import HTTP_HEARTBEAT_SECONDS, HTTP_TICK_SECONDS
from littled.service.figures import Figures
from littled.service.http_errors import HttpError
from littled.service.http_numbers import number_in
from littled.service.subscribers import Releases
from littled_protocol import limits
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import check_learner

Write = Callable[[bytes], Awaitable[None]]
Turn = Callable[[], Awaitable[None]]
Positions = Mapping[str, int]


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
            if learner not in releases:
                raise NewsError(404, "there is no such learner")
            if not may(learner):
                raise NewsError(403, "what you have shown does not allow this")
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
    figures: Figures,
    instance: str,
    positions: Callable[[], Positions],
    shown: Callable[[Any], Mapping[str, Any]],
    write: Write,
    turn: Turn,
    stopping: asyncio.Event,
) -> None:
    """Write events until `stopping`; whatever `write` raises ends it.

    positions: of the streams that may be seen. shown: a release as JSON. turn: waits for a turn of
    the loop to look for news, or to tell of a release: there may be many of both.
    """
    await write(event("hello", {"instance": instance}))
    versions = {name: _start(releases, name, wanted.after.get(name)) for name in wanted.learners}
    told = {name: max(figures.number(name) - 1, 0) for name in wanted.learners}
    ticked: Positions = {}
    loop = asyncio.get_running_loop()
    said_at = loop.time()
    while not stopping.is_set():
        news = releases.news
        await turn()
        for learner in wanted.learners:
            # a long history comes in parts
            while releases.version(learner) > versions[learner]:
                for release in await releases.after(learner, versions[learner]):
                    await turn()
                    await write(event("release", shown(release)))
                    versions[learner] = release.version
                    said_at = loop.time()
            for facts in figures.after(learner, told[learner]):
                await write(event("quality", {"learner": learner, **facts}))
                told[learner], said_at = facts["number"], loop.time()
        now = positions()
        if now != ticked:
            moved = {name: found for name, found in now.items() if ticked.get(name) != found}
            await write(event("tick", {"positions": moved}))
            ticked, said_at = now, loop.time()
        elif loop.time() - said_at >= HTTP_HEARTBEAT_SECONDS:
            await write(b": still here\n\n")
            said_at = loop.time()
        await _first_of(news, stopping, HTTP_TICK_SECONDS)


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
