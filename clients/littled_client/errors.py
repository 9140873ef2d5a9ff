"""What goes wrong on a client's side, one exception for each thing a program may tell apart.

What ends a connection arrives as `littled_protocol.errors.RemoteProtocolError` with its code; the
exceptions here are the client's own, and refused predictions. No message ever holds a point or a
label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from littled_protocol.columns import Labels
from littled_protocol.messages import Moved
from littled_protocol.messages import PredictionRefused as Refusal

_Raised = TypeVar("_Raised", bound=BaseException)


class ClientError(Exception):
    """Any failure of the client itself; the message is one sentence."""


class AddressError(ClientError, ValueError):
    """An address that cannot be understood."""


class UnreachableError(ClientError, ConnectionError):
    """No daemon answered in the time allowed, or a lost connection did not come back."""


class StreamElsewhereError(ClientError):
    """A stream is not served where daemons say that it is, or nowhere, or where it is not safe.

    stream: its name. addresses: those that were named, as they were written.
    """

    def __init__(self, stream: str, addresses: Sequence[str], sentence: str) -> None:
        """Keep them; the sentence names the addresses."""
        super().__init__(sentence)
        self.stream = stream
        self.addresses = tuple(addresses)


class RedirectedError(ClientError):
    """A daemon says where a stream is; the clients go there by themselves."""

    def __init__(self, moved: Moved) -> None:
        """Keep what the daemon said."""
        super().__init__(f"{moved.stream} is served elsewhere")
        self.moved = moved


class TlsError(ClientError):
    """TLS with the daemon cannot be: a file, its certificate, or what it thinks of ours."""


class ChangedStoreError(ClientError):
    """The daemon came back with another store or an older one; two histories must not be mixed."""


class SourceError(ClientError, ValueError):
    """A source of examples holds something that is no example, or cannot be read."""


class RecordingError(SourceError):
    """A file is no recording, or a recording is damaged or cut off."""


class ExampleError(ClientError, ValueError):
    """Points or labels that cannot be sent as they are."""


class PredictionRefused(ClientError):
    """A learner gave no predictions; nothing was charged for those that are missing.

    learner: "stream/learner". code: a `littled_protocol.RefusalCode`, or a later daemon's. message:
    one sentence. asked, spent, left: answers that the refused request asked for, that the present
    window has given, and that are left in it. window: its number, None without one. next_window:
    position of the stream at which the next window is full, None when there is none to wait for.
    labels: uint8 (k,), those of the call's first k points, which requests before the refused one
    had answered.
    """

    def __init__(self, refusal: Refusal, labels: Labels) -> None:
        """Keep what the daemon said and what it had answered before."""
        super().__init__(refusal, labels)
        self.learner = refusal.learner
        self.code = refusal.code
        self.message = refusal.message
        self.asked = refusal.asked
        self.spent = refusal.spent
        self.left = refusal.left
        self.window = refusal.window
        self.next_window = refusal.next_window
        self.labels = labels

    def __str__(self) -> str:
        """Return `code: sentence`."""
        return f"{self.code}: {self.message}"


class ConnectionLostError(ClientError, ConnectionError):
    """A connection ended, or its daemon fell silent; the clients come back by themselves."""


def again(error: _Raised) -> _Raised:
    """Return an error to be raised once more, without the traceback of the times before.

    Every time adds to that otherwise, which keeps the frames of all callers and what they hold.
    """
    return error.with_traceback(None)
