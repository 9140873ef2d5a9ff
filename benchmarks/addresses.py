"""Addresses and the country that they are in: sets of blocks beside one block, and without privacy.

    python -m benchmarks.addresses [--countries CN US ...] [--addresses N] [--page FILE]

Addresses are drawn uniformly from the IPv4 space that `geoip2fast` knows a country of, and come in
that order, which is none. A label says whether an address is in one country. All figures are
progressive: each address is answered by the rule that is published when it comes, and a season is
the whole stream. `one block` is told its noise rate in two digits, and sets of blocks nothing.
"""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.block_unions import best_union
from littled.classes.names import class_from_name
from littled.classes.prefixes import Prefixes
from littled.planner import OnlineRequest, PlanError, StreamRequest, plan_stream
from littled.planner.partition.request import PartitionRequest
from littled.programs.research import run

PUBLIC_SEED = 1
DELTA = Fraction(1, 10**6)
# Settings of the planner were chosen on the first four; the others were kept for the page.
CHOSEN_ON, KEPT = ("CN", "US", "BR", "GB"), ("JP", "DE", "KR", "FR", "IT")
MOVING = "CN>JP"
BLOCKS = (32, 128, 256)
# Blocks that are the best in hindsight are looked for down to /16.
HINDSIGHT_BITS = 16
TABLE = re.compile(r"(?<=^<!-- addresses -->\n).*?(?=\n\n)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, eq=False)
class Stream:
    """Addresses uint32 (n,), and whether each is in the country, uint8 (n,)."""

    name: str
    x: NDArray[np.uint32]
    y: NDArray[np.uint8]

    @property
    def never(self) -> float:
        """The error of the rule that is always 0."""
        return float(self.y.mean())


@cache
def addresses(count: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Addresses of known countries, each as likely as any other, and the countries' codes."""
    from geoip2fast import GeoIP2Fast  # noqa: PLC0415 - of an extra

    table = GeoIP2Fast(geoip2fast_data_file="geoip2fast.dat.gz")
    generator = np.random.default_rng(PUBLIC_SEED)
    x: list[int] = []
    codes: list[str] = []
    while len(x) < count:
        drawn = generator.integers(0, 1 << 32, count).tolist()
        for address in drawn:
            text = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
            code = table.lookup(text).country_code
            if len(code) == 2 and code.isalpha():
                x.append(address)
                codes.append(code)
    return np.array(x[:count], dtype=np.uint32), np.array(codes[:count])


def stream_of(name: str, count: int) -> Stream:
    """The stream of a country, or of one until half time and another one after it."""
    x, codes = addresses(count)
    first, _, second = name.partition(">")
    later = np.arange(count) >= count // 2
    y = np.where(later & bool(second), codes == second, codes == first)
    return Stream(name, x, y.astype(np.uint8))


def littled_error(stream: Stream, epsilon: Fraction, request: Any) -> float | None:
    """The error of what is published when each address comes; None where there is no plan."""
    try:
        plan = plan_stream(StreamRequest("a", epsilon, DELTA, len(stream.y), (request,)))
    except PlanError:
        return None
    return float(run(plan, [(stream.x, stream.y)], PUBLIC_SEED).wrong.mean())


def one_block(stream: Stream, epsilon: Fraction) -> float | None:
    """A learner of prefixes that is told how often the best block errs."""
    told = Fraction(round(100 * block_in_hindsight(stream)), 100)
    request = OnlineRequest("one", class_from_name("prefixes:32"), noise_rate=told)
    return littled_error(stream, epsilon, request)


def sets(stream: Stream, epsilon: Fraction, blocks: int) -> float | None:
    """A learner of up to so many blocks, told nothing."""
    request = PartitionRequest("sets", class_from_name(f"prefix_sets:32:{blocks}"))
    return littled_error(stream, epsilon, request)


def block_in_hindsight(stream: Stream) -> float:
    """The least error of one block."""
    rule = Prefixes(32).empirical_rule(stream.x, stream.y)
    return float((rule.evaluate(stream.x) != stream.y).mean())


def sets_in_hindsight(stream: Stream, blocks: int) -> float:
    """The least error of so many blocks, none of fewer addresses than a /16."""
    shift = 32 - HINDSIGHT_BITS
    signed = np.bincount(stream.x >> shift, 2.0 * stream.y - 1, 1 << HINDSIGHT_BITS)
    parts = [(start << shift, HINDSIGHT_BITS) for start in range(1 << HINDSIGHT_BITS)]
    gains = signed.astype(np.int64).tolist()
    gained, starts = 0, np.concatenate(([0], np.cumsum(signed))).astype(np.int64)
    for start, length in best_union(32, parts, gains, blocks):
        first, last = start >> shift, (start + (1 << (32 - length))) >> shift
        gained += int(starts[last] - starts[first])
    return stream.never - gained / len(stream.y)


def hoeffding_tree(stream: Stream) -> float:
    """River's tree over the four numbers of an address, without privacy."""
    from river import tree  # noqa: PLC0415 - of an extra

    model, wrong = tree.HoeffdingTreeClassifier(), 0
    for address, label in zip(stream.x.tolist(), stream.y.tolist(), strict=True):
        numbers = {str(shift): address >> shift & 255 for shift in (24, 16, 8, 0)}
        wrong += bool(model.predict_one(numbers)) != bool(label)
        model.learn_one(numbers, bool(label))
    return wrong / len(stream.y)


def figures(name: str, count: int, epsilon: Fraction, *, peers: bool) -> dict[str, Any]:
    """Everything that a row of the table shows; errors as shares."""
    stream = stream_of(name, count)
    found: dict[str, Any] = {
        "stream": name,
        "never": stream.never,
        "one block": one_block(stream, epsilon),
        "one block in hindsight": block_in_hindsight(stream),
    }
    for blocks in BLOCKS:
        found[f"{blocks} blocks"] = sets(stream, epsilon, blocks)
    found["128 blocks in hindsight"] = sets_in_hindsight(stream, 128)
    found["Hoeffding tree"] = hoeffding_tree(stream) if peers else None
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures in Markdown, in %."""
    every = [name for name in rows[0] if name != "stream"]
    names = [name for name in every if any(row[name] is not None for row in rows)]
    lines = [f"| | {' | '.join(names)} | won back |", f"|---|{'---:|' * (len(names) + 1)}"]
    for row in rows:
        errors = ["-" if row[name] is None else f"{100 * row[name]:.2f}" for name in names]
        won = 1 - row["128 blocks"] / row["never"]
        lines.append(f"| {row['stream']} | {' | '.join(errors)} | {100 * won:.0f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and renew a page."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.addresses", description=about)
    parser.add_argument("--countries", nargs="+", default=[*CHOSEN_ON, *KEPT, MOVING])
    parser.add_argument("--addresses", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--no-peers", action="store_true", help="without the tree, which is slow")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--page", type=Path, help="the page that quotes the table, to be renewed")
    asked = parser.parse_args(arguments)
    rows = []
    for name in asked.countries:
        rows.append(figures(name, asked.addresses, asked.epsilon, peers=not asked.no_peers))
        print(table(rows[-1:]), flush=True)
    print(table(rows))
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if asked.page:
        text = asked.page.read_text(encoding="utf-8")
        asked.page.write_text(TABLE.sub(lambda _: table(rows), text), encoding="utf-8")


if __name__ == "__main__":
    main()
