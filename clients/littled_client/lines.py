"""The lines of a text in UTF-8, counted, and a digest of all that were used."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import blake2b

from littled_client.blocks import Blocks
from littled_client.errors import SourceError

DIGEST_BYTES = 16


class Lines:
    """An iterator over lines with their ends; the last one may have none.

    number: lines handed out. bytes_done, digest: of those before the last `settle`. until: when to
    raise Pause in place of the next line, on the monotonic clock; None waits without end.

    Who has asked for some lines of a row when Pause comes gives them back with `give_back`.
    """

    def __init__(self, blocks: Blocks, name: str, expected: Sequence[tuple[int, str]] = ()) -> None:
        """Read `blocks`, which messages call `name`.

        expected: digests that the first so many bytes have to have, by rising numbers of bytes;
        `settle` raises SourceError where they have not.
        """
        self.number = 0
        self.taken: list[bytes] = []
        self.bytes_done = 0
        self.until: float | None = None
        self._blocks = blocks
        self._name = name
        self._ready: deque[bytes] = deque()
        self._rest: list[bytes] = []
        self._ended = False
        self._expected = deque(expected)
        self._hash = blake2b(digest_size=DIGEST_BYTES)

    def __iter__(self) -> Lines:
        """Return itself."""
        return self

    def __next__(self) -> str:
        """Return the next line. Raises Pause, and SourceError for a line that is no text."""
        if not self._ready:
            self._fetch()
        line = self._ready.popleft()
        self.number += 1
        self.taken.append(line)
        try:
            return line.decode() if self.number > 1 else line.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
        raise SourceError(f"line {self.number} of {self._name} is not UTF-8 text; save it as UTF-8")

    @property
    def digest(self) -> str:
        """The digest of the bytes of all lines before the last `settle`, in hexadecimal digits."""
        return self._hash.hexdigest()

    def give_back(self, count: int) -> None:
        """Hand out all lines but the first `count` of `taken` once more."""
        back = self.taken[count:]
        del self.taken[count:]
        self._ready.extendleft(reversed(back))
        self.number -= len(back)

    def settle(self) -> None:
        """Take note that the rows of all lines so far were used."""
        together = b"".join(self.taken)
        while self._expected and self._expected[0][0] <= self.bytes_done + len(together):
            length, digest = self._expected.popleft()
            found = self._hash.copy()
            found.update(together[: length - self.bytes_done])
            if found.hexdigest() != digest:
                raise SourceError(
                    f"{self._name} does not begin with what was fed under this producer's name; "
                    "give it from its beginning, or feed it under another name"
                )
        self._hash.update(together)
        self.bytes_done += len(together)
        self.taken.clear()

    def _fetch(self) -> None:
        while not self._ready:
            if self._ended:
                raise StopIteration
            block = self._blocks.read(self.until)
            if not block:
                self._ended = True
                # What was cut off there is a whole line in the file that was put aside.
                if self._rest and not self._blocks.ends_anywhere:
                    self._ready.append(b"".join(self._rest))
                self._rest.clear()
                continue
            self._rest.append(block)
            if b"\n" in block:
                *lines, rest = b"".join(self._rest).split(b"\n")
                self._ready.extend([line + b"\n" for line in lines])
                self._rest = [rest] if rest else []
