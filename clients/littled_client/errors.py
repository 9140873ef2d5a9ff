"""What goes wrong on a client's side, one exception for each thing a program may tell apart.

What the daemon refuses arrives as `littled_protocol.errors.RemoteProtocolError` with its code; the
exceptions here are the client's own. No message ever holds a point or a label.
"""

from __future__ import annotations


class ClientError(Exception):
    """Any failure of the client itself; the message is one sentence."""


class AddressError(ClientError, ValueError):
    """An address that cannot be understood."""


class UnreachableError(ClientError, ConnectionError):
    """No daemon answered in the time allowed, or a lost connection did not come back."""


class ChangedStoreError(ClientError):
    """The daemon came back with another store or an older one; two histories must not be mixed."""


class SourceError(ClientError, ValueError):
    """A source of examples holds something that is no example, or cannot be read."""


class RecordingError(SourceError):
    """A file is no recording, or a recording is damaged or cut off."""


class ExampleError(ClientError, ValueError):
    """Points or labels that cannot be sent as they are."""


class ConnectionLostError(ClientError, ConnectionError):
    """A connection ended, or its daemon fell silent; the clients come back by themselves."""
