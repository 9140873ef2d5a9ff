"""The bare server: decode, step, sync the log, acknowledge, and nothing else; a ceiling.

    python -m benchmarks.service.bare PATH thread|loop

It listens on the Unix socket PATH and appends to PATH.log, which is laid out before so that a sync
writes no metadata. With `thread` a thread writes and syncs what has come meanwhile, as a server
must that keeps its event loop free; with `loop` the loop does it, which is quicker where a sync is.
One fixed rule, one draw of noise for each example; no retraining, subscribers, users or recovery.

A frame is four bytes of length (little-endian) and a map of MessagePack: x, y columns of points of
1 or 8 bytes or of rows of numbers of 2 bytes, and of labels, or one integer each. An
acknowledgement has 12 bytes.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from benchmarks.service.work import POINT, THRESHOLD

packed: Any = msgpack.packb
unpacked: Any = msgpack.unpackb
with suppress(ImportError):  # twice as fast for single examples
    import msgspec.msgpack

    packed, unpacked = msgspec.msgpack.encode, msgspec.msgpack.decode

ACK_BYTES = 12
_BUFFER_BYTES = 1 << 20
_LOG_BYTES = 64 << 20
_NOISE_BELOW = np.uint64((1 << 64) // 1000)
_ACK = struct.Struct("<IQ")


def frames(batches: Any) -> list[bytes]:
    """The frames of some batches, given as columns; single examples as integers."""
    found = []
    for x, y in batches:
        if len(y) == 1 and len(x) <= 8:
            body = packed({"x": int.from_bytes(x, "little"), "y": y[0]})
        else:
            body = packed({"x": x, "y": y})
        found.append(len(body).to_bytes(4, "little") + body)
    return found


class Log:
    """A file of a fixed size, written again and again."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        for _ in range(_LOG_BYTES >> 20):
            os.write(self._file, bytes(1 << 20))
        os.fsync(self._file)
        self._used = _LOG_BYTES

    def append(self, data: bytes) -> None:
        """Write and sync."""
        if self._used + len(data) > _LOG_BYTES:
            os.lseek(self._file, 0, os.SEEK_SET)
            self._used = 0
        self._used += os.write(self._file, data)
        os.fdatasync(self._file)


class Step:
    """A learner's step without learning: its mistakes, and a draw of noise for each example."""

    def __init__(self) -> None:
        stream = Cipher(algorithms.ChaCha20(os.urandom(32), os.urandom(16)), None)
        self._keystream = stream.encryptor()

    def take(self, x: bytes, y: bytes) -> int:
        """How many mistakes, and how many draws below the bound."""
        count = len(y)
        if len(x) == count:
            said = np.frombuffer(x, np.uint8) >= THRESHOLD
        elif len(x) != 8 * count:  # rows of numbers of 2 bytes, of which the first decides
            said = np.frombuffer(x, np.uint16).reshape(count, -1)[:, 0] >= THRESHOLD
        else:
            said = np.frombuffer(x, np.uint64) == np.uint64(POINT)
        wrong = np.flatnonzero(said.view(np.uint8) != np.frombuffer(y, np.uint8))
        words = np.frombuffer(self._keystream.update(bytes(8 * count)), np.uint64)
        return len(wrong) + len(np.flatnonzero(words < _NOISE_BELOW))


class Peer(asyncio.BufferedProtocol):
    """One connection."""

    def __init__(self, log: Log, step: Step, *, threaded: bool) -> None:
        self._log = log
        self._step = step
        self._threaded = threaded
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._end = 0
        self._number = 0
        self._records: list[bytes] = []
        self._acks: list[bytes] = []
        self._committing: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room after what waits."""
        return self._buffer[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        """Take all whole frames as one record."""
        buffer, start, end = self._buffer, 0, self._end + nbytes
        xs, ys, single_x, single_y, acks = [], [], [], [], []
        while end - start >= 4:
            stop = start + 4 + int.from_bytes(buffer[start : start + 4], "little")
            if stop > end:
                break
            body = unpacked(buffer[start + 4 : stop])
            if body["x"].__class__ is bytes:
                xs.append(body["x"])
                ys.append(body["y"])
            else:
                single_x.append(body["x"])
                single_y.append(body["y"])
            acks.append(_ACK.pack(8, self._number))
            self._number += 1
            start = stop
        buffer[: end - start] = bytes(buffer[start:end])
        self._end = end - start
        if not acks:
            return
        if single_x:
            xs.append(np.array(single_x, np.uint64).tobytes())
            ys.append(bytes(single_y))
        self._take(b"".join(xs), b"".join(ys), acks)

    def _take(self, x: bytes, y: bytes, acks: list[bytes]) -> None:
        self._step.take(x, y)
        head = struct.pack("<IIQ", len(y), zlib.crc32(y, zlib.crc32(x)), self._number)
        if not self._threaded:
            self._log.append(b"".join((head, x, y)))
            self._transport.write(b"".join(acks))
            return
        self._records += (head, x, y)
        self._acks += acks
        if self._committing is None:
            self._committing = asyncio.ensure_future(self._commit())

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        while self._acks:
            records, acks, self._records, self._acks = self._records, self._acks, [], []
            await loop.run_in_executor(None, self._log.append, b"".join(records))
            self._transport.write(b"".join(acks))
        self._committing = None


async def serve(path: str, *, threaded: bool) -> None:
    """Serve until the process is ended."""
    log, step = Log(path + ".log"), Step()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: Peer(log, step, threaded=threaded), path)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(str(Path(sys.argv[1])), threaded=sys.argv[2] == "thread"))
