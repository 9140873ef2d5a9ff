"""Clients of the littled daemon: asyncio and blocking, recordings, sources."""

from littled_client.addresses import default_address, parse_address
from littled_client.asynchronous import AsyncClient, AsyncFeeder
from littled_client.blocking import Client, Feeder
from littled_client.encoder import Encoder, points_of
from littled_client.errors import (
    AddressError,
    ChangedStoreError,
    ClientError,
    ConnectionLostError,
    ExampleError,
    PredictionRefused,
    RecordingError,
    SourceError,
    StreamElsewhereError,
    TlsError,
    UnreachableError,
)
from littled_client.predictions import Predictions
from littled_client.published import Published
from littled_client.recordings import RecordingReader, RecordingWriter
from littled_client.rule import Rule
from littled_client.sources import Fields, Source
from littled_client.tls import Tls
from littled_client.users import hash_users
from littled_client.waits import Waits

__all__ = [
    "AddressError",
    "AsyncClient",
    "AsyncFeeder",
    "ChangedStoreError",
    "Client",
    "ClientError",
    "ConnectionLostError",
    "Encoder",
    "ExampleError",
    "Feeder",
    "Fields",
    "PredictionRefused",
    "Predictions",
    "Published",
    "RecordingError",
    "RecordingReader",
    "RecordingWriter",
    "Rule",
    "Source",
    "SourceError",
    "StreamElsewhereError",
    "Tls",
    "TlsError",
    "UnreachableError",
    "Waits",
    "default_address",
    "hash_users",
    "parse_address",
    "points_of",
]
