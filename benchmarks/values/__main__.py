"""The command `python -m benchmarks.values`; see the package."""

import argparse
from collections.abc import Callable, Sequence

from benchmarks import values
from benchmarks.values import items, minima

QUICK_RUNS = 20
NUMBERS = (32, 64, 128)


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (values.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.values", description=about)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--bits", type=int, nargs="+", default=list(NUMBERS), choices=NUMBERS)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    found = parser.parse_args(arguments)
    if found.quick:
        found.runs = QUICK_RUNS
    return found


def main() -> None:
    """Measure and print both tables in Markdown."""
    asked = parsed_arguments()
    print("| numbers | method | even | magnitudes | near | proven | Bun, Theorem 13 |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for bits in asked.bits:
        for name, method in minima.METHODS.items():
            found = [_least(minima, method, (bits, law), asked.runs) for law in minima.LAWS]
            proven, paper = minima.proven(bits, name)
            cells = " | ".join(map(_number, (*found, proven, paper)))
            print(f"| {bits} bits | {name} | {cells} |", flush=True)
    print("\n| items | method | least lead | proven |\n|---|---|---:|---:|")
    for bits in (64, 128):
        for name, method in items.METHODS.items():
            lead = _least(items, method, (bits,), asked.runs)
            cells = f"{_number(lead)} | {_number(items.proven(bits, name))}"
            print(f"| of {bits} bits | {name} | {cells} |", flush=True)


def _least(
    module: object, method: Callable[..., bool], setting: tuple[object, ...], runs: int
) -> int:
    """The least size of the grid at which nine of ten runs succeed, by bisection; 0 for none."""
    grid: list[int] = module.GRID  # type: ignore[attr-defined]
    low, high = -1, len(grid)
    while high > low + 1:
        middle = (low + high) // 2
        failed = 0
        for run in range(runs):
            failed += not method(*setting, grid[middle], run)
            if 10 * failed > runs:
                break
        low, high = (low, middle) if 10 * failed <= runs else (middle, high)
    return grid[high] if high < len(grid) else 0


def _number(value: int) -> str:
    return f"{value:,}" if value else "-"


if __name__ == "__main__":
    main()
