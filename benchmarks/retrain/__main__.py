"""The command `python -m benchmarks.retrain`; see the package."""

import argparse
import sys

from benchmarks import retrain
from benchmarks.retrain.acknowledgements import acknowledge
from benchmarks.retrain.trainings import train
from benchmarks.retrain.workloads import WORKLOADS


def main() -> int:
    """Parse the command line, run, and say whether all goals are met."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.retrain", description=retrain.__doc__
    )
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--pace", type=float, default=1_000.0)
    parser.add_argument("--only", default="", help="workloads with this text in their title")
    parser.add_argument("--part", choices=("trainings", "acknowledgements"))
    arguments = parser.parse_args()
    chosen = [each for each in WORKLOADS if arguments.only in each.title]
    met = []
    if arguments.part != "acknowledgements":
        met += [train(each, arguments.runs) for each in chosen]
    if arguments.part != "trainings":
        met += [
            acknowledge(each, arguments.rounds, arguments.seconds, arguments.pace)
            for each in chosen
            if each.batch
        ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
