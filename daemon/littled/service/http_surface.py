"""What the HTTP side shows: public facts, and what takes questions and rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from aiohttp import web

from littled.service.elsewhere import Elsewhere
from littled.service.feeding import Feed
from littled.service.figures import Figures
from littled.service.subscribers import Releases
from littled.service.turns import Making
from littled_protocol.messages import Predict, Prediction, PredictionRefused
from littled_protocol.rules import Words

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
"""What answers a request."""


class Feeds(Protocol):
    """What takes rows in; raises FeedError, and WriterStopped when the daemon ends."""

    async def next_sequence(self, feed: Feed) -> Mapping[str, Any]:
        """Say where a producer goes on."""

    async def feed(self, feed: Feed, body: bytes, *, lines: bool, origin: str) -> Mapping[str, Any]:
        """Make rows durable, and say so."""


class Surface(Protocol):
    """The public facts that HTTP shows."""

    @property
    def instance(self) -> str:
        """What the store is called, which no other is."""

    @property
    def releases(self) -> Releases:
        """All learners' releases."""

    @property
    def figures(self) -> Figures:
        """How good the rules of learners were, where these are measured."""

    @property
    def words(self) -> Mapping[str, Words]:
        """For each learner's full name the words that its rules are told in."""

    def healthy(self) -> bool:
        """Return whether commits go through."""

    @property
    def x_types(self) -> Mapping[str, str]:
        """The type of the points of every stream."""

    def status(self, streams: Sequence[str]) -> dict[str, Any]:
        """Return the body of a status message that tells of these streams.

        What it tells of one is the same object until that changes.
        """

    def positions(self) -> dict[str, int]:
        """Return of every stream how many of its examples are durable."""

    def metrics(self, accepted: str, sees: Callable[[str], bool]) -> Making[tuple[bytes, str]]:
        """Make metrics in a format that is accepted, and the type of the content.

        sees: of which streams they tell, beside the daemon as a whole.
        """

    @property
    def elsewhere(self) -> Elsewhere:
        """Who serves other streams."""

    @property
    def feeding(self) -> Feeds:
        """What takes rows in."""

    async def predict(self, asked: Predict) -> Prediction | PredictionRefused:
        """Answer a request; raises WriterStopped when the daemon ends before there is an answer."""
