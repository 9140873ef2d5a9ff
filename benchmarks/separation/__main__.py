"""The command `python -m benchmarks.separation`; see the package."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import separation
from benchmarks.separation.literal import least
from benchmarks.separation.ordering import ORDERS, Followed, follow, halving
from benchmarks.separation.sampling import LAWS, METHODS, Needed, needed

BITS = (16, 64, 128)
# Freq_pure draws among pairs of k kappa + 1 bits, k = kappa = 16; Theorem 16 counts k of them.
LITERAL_BITS = (16 * 16 + 1, 16)
QUICK_RUNS, QUICK_REAL, QUICK_ROUNDS = 20, 2, 400
QUICK_SEEDS_BITS, SEEDS_BITS = 8, 12


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (separation.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.separation", description=about)
    parser.add_argument("--bits", type=int, nargs="+", default=list(BITS), choices=BITS)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--real", type=int, default=20, help="runs of the whole learner")
    parser.add_argument("--rounds", type=int, default=4_000, help="strings shown in order")
    parser.add_argument("--quick", action="store_true", help="fewer runs, strings and seeds")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--plots", type=Path, help="draw separation.png into this folder")
    found = parser.parse_args(arguments)
    found.seeds_bits = SEEDS_BITS
    if found.quick:
        found.runs, found.real, found.rounds = QUICK_RUNS, QUICK_REAL, QUICK_ROUNDS
        found.seeds_bits = QUICK_SEEDS_BITS
    return found


def main() -> None:
    """Measure and print both tables in Markdown."""
    asked = parsed_arguments()
    laws = " | ".join(LAWS)
    print(f"| class | method | {laws} | proven | real strings: failed |")
    print(f"|---|---|{'---:|' * (len(LAWS) + 2)}")
    found = []
    for bits in asked.bits:
        for method in METHODS:
            row = needed(bits, method, asked.runs, asked.real)
            found.append(row)
            print(_line(row), flush=True)
    print(f"\nMistakes of {asked.rounds:,}:\n")
    followed = list[Followed]()
    for bits in asked.bits:
        for order in ORDERS:
            one = follow(bits, order, asked.rounds)
            if not followed:
                print(f"| class | order | {' | '.join(one.mistakes)} |")
                print(f"|---|---|{'---:|' * len(one.mistakes)}")
            followed.append(one)
            cells = " | ".join(f"{count:,}" for count in one.mistakes.values())
            print(f"| oneway:{bits} | {order} | {cells} |", flush=True)
    halved = halving(asked.seeds_bits)
    print(
        f"\nHalving over {halved.seeds:,} seeds, reverse order, {halved.rounds} strings: "
        f"{halved.mean:.1f} mistakes in the mean, {halved.most} at the most."
    )
    literal = {bits: least(16, bits) for bits in LITERAL_BITS}
    for bits, n in literal.items():
        print(
            f"Bun's Algorithm 1 as printed, index of 16 bits, {bits} bits of pairs: {n:,} examples"
        )
    if asked.json is not None:
        figures = {
            "literal": literal,
            "samples": [asdict(row) for row in found],
            "orders": [asdict(one) for one in followed],
            "halving": asdict(halved),
        }
        asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if asked.plots is not None:
        # matplotlib is optional
        from benchmarks.separation.plots import overview  # noqa: PLC0415

        asked.plots.mkdir(parents=True, exist_ok=True)
        overview(asked.plots / "separation.png", found, followed)


def _line(row: Needed) -> str:
    cells = " | ".join(f"{row.by_law[law]:,}" for law in LAWS)
    tried = f"{row.real_failed} of {row.real_runs}"
    return f"| oneway:{row.bits} | {row.method} | {cells} | {row.proven:,} | {tried} |"


if __name__ == "__main__":
    main()
