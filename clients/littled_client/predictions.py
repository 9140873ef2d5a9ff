"""Questions to a learner of predictions, between the program and the daemon; no I/O.

A call's points are cut into requests that fit into a frame each, every request under a name of its
own, which stays the same for the same points, so that it can be sent again. Both clients share it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from littled_client.batches import points_array
from littled_client.errors import ExampleError, PredictionRefused
from littled_protocol import limits
from littled_protocol.columns import Labels, PointType, decode_labels
from littled_protocol.messages import Predict, Prediction, check_learner, check_request
from littled_protocol.messages import PredictionRefused as Refusal

# Everything of a predict frame that is not x: at most 208 bytes, rounded up.
_OVERHEAD_BYTES_MAX = 256
_PLACE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Predictions:
    """The answers to one call.

    labels: uint8 (m,), one for each point. window: number of the window that gave them, the last
    one if a new window became full meanwhile. left: answers left in it. repeated: whether all of
    them had been given before under the same request, so that nothing was charged now.
    """

    labels: Labels
    window: int
    left: int
    repeated: bool


class Questions:
    """One call: the requests for its points, and their answers in the same order."""

    def __init__(self, learner: str, request: bytes | None) -> None:
        """Begin. Raises ProtocolError (malformed_frame) for an ill-formed name.

        learner: "stream/learner". request: 16 bytes that name the call, None for random ones.
        """
        check_learner(learner, "learner")
        if request is None:
            request = secrets.token_bytes(limits.request_bytes)
        check_request(request, "request")
        self._learner = learner
        self._request = request
        self._answers: list[Prediction] = []

    @property
    def stream(self) -> str:
        """The name of the learner's stream."""
        return self._learner.partition("/")[0]

    def cut(self, kind: PointType, x: Any, frame_bytes_max: int) -> Iterator[Predict]:
        """Return the requests for points of this type, in frames of at most so many bytes.

        Everything is checked before the first one: raises ExampleError for points that do not fit
        and for none at all.
        """
        points = points_array(kind, x)
        count = len(points)
        if not count:
            raise ExampleError("x needs at least one point")
        room = (frame_bytes_max - _OVERHEAD_BYTES_MAX) // kind.itemsize_bytes
        most = max(1, min(limits.predict_points_max, room))
        parts = (slice(start, min(start + most, count)) for start in range(0, count, most))
        return (
            Predict(
                self._name(part, count),
                self._learner,
                part.stop - part.start,
                kind.encode(points[part]),
            )
            for part in parts
        )

    def take(self, answer: Prediction | Refusal) -> None:
        """Keep the answer to the next request; raise PredictionRefused for a refusal."""
        if isinstance(answer, Refusal):
            raise PredictionRefused(answer, self._labels())
        self._answers.append(answer)

    def result(self) -> Predictions:
        """Return all answers as one, when every request has been answered."""
        last = self._answers[-1]
        repeated = all(answer.repeated for answer in self._answers)
        return Predictions(self._labels(), last.window, last.left, repeated)

    def _labels(self) -> Labels:
        parts = [decode_labels(answer.y, len(answer.y)) for answer in self._answers]
        return np.concatenate([np.empty(0, dtype=np.uint8), *parts])

    def _name(self, part: slice, count: int) -> bytes:
        """Return the name of the request for some points: the call's own if they are all of them.

        Otherwise a digest of it and of their places, so that a call that is cut in another way, for
        a daemon with other limits, does not use a name for other points.
        """
        if part.stop - part.start == count:
            return self._request
        places = (part.start, part.stop, count)
        text = b"".join(place.to_bytes(_PLACE_BYTES, "big") for place in places)
        return hashlib.sha256(self._request + text).digest()[: limits.request_bytes]
