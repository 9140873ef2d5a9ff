"""Where an online learner finds its noise: addresses of words in the keyed stream.

An address is a function of the durable history alone, so a replay finds the same words. No two
draws have one address, or the words of one position twice.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from littled.learners.contract import Examples, Place
from littled.mechanisms.noise import Address, NoiseSource, Purpose, words_of_records


@dataclass(frozen=True, slots=True)
class LearnerNoise:
    """The noise of the learner with this name, which separates it from others on the stream."""

    name: str
    source: NoiseSource

    def address(self, place: Place, purpose: Purpose, draw: int = 0) -> Address:
        """The address of what is drawn at one position."""
        return Address(place.chain_head, self.name, purpose, place.position, draw)

    def draws(self, place: Place, count: int) -> list[Address]:
        """Addresses of so many draws of one call; no two calls are at one position."""
        return [self.address(place, "select", draw) for draw in range(count)]

    def of_positions(self, event: Examples, purpose: Purpose) -> NDArray[np.uint64]:
        """One word for each position (n,), whichever slice of its record asks for it."""
        place, count = event.place, len(event.y)
        offset, end = place.position - place.record_position, place.position + count
        if not event.further or event.further[0][1] >= end:
            address = Address(place.chain_head, self.name, purpose, place.record_position)
            return self.source.words(address, count, offset)
        last = bisect_left(event.further, end, key=lambda record: record[1])
        records = [(place.chain_head, place.record_position), *event.further[:last]]
        return words_of_records(self.source, self.name, purpose, records, end, offset)
