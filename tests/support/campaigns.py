"""How long campaigns are: `make campaign` runs them whole, anybody else a slice."""

import os

# What `make campaign` does whole: kills of processes, and images of a power cut. How many each part
# has: a part of kills is enough to reach every failpoint.
KILLS, PART_KILLS = 10_000, 200
IMAGES, PART_IMAGES = 100_000, 2_000


def campaign_parts(name: str, total: int, each: int) -> int:
    """In how many parts of `each` a campaign of `total` is run.

    LITTLED_CAMPAIGN_NAME is how many instead of `total`; a part is a test of its own, so that a run
    that was broken off goes on with the others, and a failing one is found again by its number.
    """
    wanted = int(os.environ.get(f"LITTLED_CAMPAIGN_{name}", total))
    return -(-wanted // each)
