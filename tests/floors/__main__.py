"""`python -m floors GROUP`: whether every room of a group reaches its floor, by its last run."""

import json
import sys
from pathlib import Path

from floors.rooms import FLOORS, shares

REPORTS = Path()


def main(arguments: list[str]) -> int:
    """Print the share of every room; 1 when one of them is below its floor."""
    (group,) = arguments
    if group not in FLOORS:
        print(f"groups are {', '.join(FLOORS)}, not {group}", file=sys.stderr)
        return 2
    report = REPORTS / f".coverage.{group}.json"
    found = shares(group, json.loads(report.read_text(encoding="utf-8")))
    for share in found:
        verdict = "" if share.suffices else ", which is too little"
        print(f"{share.percent:5.1f} % of {share.room}, floor {share.floor} %{verdict}")
    return 0 if all(share.suffices for share in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
