"""Where streams are that this daemon does not serve, as far as somebody knows.

Several daemons may share streams, each of which is served by one of them at a time. Who is asked
about a stream of another one says where it is, from public facts alone: the name of the stream, and
who serves it now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from littled.limits import MOVED_AGAIN_MS, NOBODY_AGAIN_MS
from littled_protocol import limits
from littled_protocol.messages import Moved


class Elsewhere(Protocol):
    """What knows who serves which stream."""

    def where(self, stream: str) -> tuple[str, ...] | None:
        """Return the addresses at which clients find a stream that is not served here; at once.

        They are in the grammar of clients (`unix:PATH`, `HOST:PORT`, `tls://HOST:PORT`), the best
        one first. None are said of a stream that is known and that nobody serves at this moment;
        the answer is None for a stream that is not known. Called on the loop: it must not block.
        """


class Nowhere:
    """No stream is anywhere else: a daemon by itself."""

    def where(self, stream: str) -> tuple[str, ...] | None:
        """Return None."""


def moved(
    stream: str,
    addresses: Sequence[str],
    *,
    channel: int | None = None,
    learner: str | None = None,
    request: bytes | None = None,
) -> Moved:
    """Return the message that says where a stream is, as the answer to one request."""
    again = MOVED_AGAIN_MS if addresses else NOBODY_AGAIN_MS
    found = list(addresses[: limits.moved_addresses_max])
    return Moved(stream, found, again, channel, learner, request)
