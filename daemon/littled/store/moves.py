"""What is noted of a store's move from one place to another, in both places."""

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Move:
    """A move; the same in what was moved away and in the copy.

    instance: of the store, as it was made. source, target: places, as messages call them. mark: the
    place of the copy's high-water mark.
    """

    instance: str
    source: str
    target: str
    mark: str

    def to_bytes(self) -> bytes:
        """JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` wrote; TypeError or ValueError otherwise."""
        values = json.loads(data)
        if not isinstance(values, dict) or not all(
            isinstance(each, str) for each in values.values()
        ):
            raise ValueError("it is not what is noted of a move")
        return cls(**values)
