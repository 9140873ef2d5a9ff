"""Mutated frames in this process: `python -m fuzzing.frames FIRST COUNT`, counted in inputs.

Every thousand inputs are a block with a chance of its own, so that a block can be run again alone:
"failing seed N" is the number of its first input. What failed is written to `fuzzing/failing`,
which every run of the tests repeats.
"""

import hashlib
import random
import resource
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzzing.targets import INPUT_BYTES_MAX, run, starting_points

FAILING = Path(__file__).parent / "failing"
BLOCK = 1_000
# The process may grow by so much over all blocks: nothing keeps what it was sent.
GROWTH_BYTES_MAX = 128 << 20
NUMBERS = (0, 1, 2, 127, 128, 255, 256, 65_535, 65_536, 2**31, 2**32 - 1)


def mutated(data: bytearray, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """A few changes, or none, of the kinds that parsers fail at."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 4, 8))):
        place = chance.randrange(len(data)) if data else 0
        match chance.randrange(7):
            case 0 if data:
                data[place] ^= 1 << chance.randrange(8)
            case 1 if data:
                data[place] = chance.choice((0, 1, 0x7F, 0x80, 0xC0, 0xC1, 0xD9, 0xDF, 0xFF))
            case 2:
                del data[place : place + chance.choice((1, 2, 4, 16))]
            case 3:
                data[place:place] = chance.randbytes(chance.choice((1, 2, 4, 16)))
            case 4:
                number = chance.choice(NUMBERS)
                size = chance.choice((1, 2, 4))
                data[place : place + size] = (number % 256**size).to_bytes(size, "big")
            case 5:
                other = chance.choice(others)
                start = chance.randrange(len(other))
                data[place:place] = other[start : start + chance.choice((4, 32, 512))]
            case 6:
                data[place:] = data[place:] * chance.choice((1, 2, 3))
    return bytes(data[:INPUT_BYTES_MAX])


def inputs(block: int) -> Iterator[bytes]:
    """The inputs of a block."""
    chance = random.Random(block)
    points = starting_points()
    for _ in range(BLOCK):
        start = chance.choice(points)
        # the target stays, so that most inputs are of the kind that it reads
        yield start[:1] + mutated(bytearray(start[1:]), chance, points)


def keep(data: bytes) -> None:
    """Write down an input that failed."""
    name = hashlib.blake2b(data, digest_size=8).hexdigest()
    (FAILING / f"{name}.bin").write_bytes(data)


def main(first: str = "0", count: str = "1000") -> int:
    """Run inputs; the status is 1 if any failed."""
    failed = False
    at_first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for block in range(int(first) // BLOCK, (int(first) + int(count)) // BLOCK):
        for data in inputs(block):
            try:
                run(data)
            except Exception:  # noqa: BLE001 - whatever it is, it is a finding
                traceback.print_exc()
                print(f"failing seed {block * BLOCK}", flush=True)
                keep(data)
                failed = True
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - at_first) << 10
    if growth > GROWTH_BYTES_MAX:
        print(f"the process grew by {growth:,} bytes\nfailing seed {first}")
        failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
