"""`python -m floors`: whether every room reaches its floor, by what `make rooms` has measured."""

import json
import sys
from pathlib import Path

from floors.rooms import FLOORS, shares

REPORT = Path(".coverage.rooms.json")


def main() -> int:
    """Print the share of every room; 1 when one of them is below its floor."""
    found = shares(json.loads(REPORT.read_text(encoding="utf-8")))
    for share in found:
        verdict = "" if share.suffices else ", which is too little"
        print(f"{share.percent:5.1f} % of {share.room}, floor {FLOORS[share.room]} %{verdict}")
    return 0 if all(share.suffices for share in found) else 1


if __name__ == "__main__":
    sys.exit(main())
