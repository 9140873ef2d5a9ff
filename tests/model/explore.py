"""Every state of the protocol within bounds, the nearest ones first; and long ways at random.

    python -m model.explore guards

switches off one guard after the other and prints the shortest way to what is then violated.

    python -m model.explore FIRST COUNT

takes random ways, one for each number, with many owners, commits and faults, and prints "failing
seed NUMBER" for each that leads to a violation: a campaign of `make campaign`.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from model.protocol import ALL, Bounds, State, steps, wrong

LONG = Bounds(openings=6, commits=9, faults=5)
WAYS_A_SEED = 100


def opened(number: int, database: int = 0) -> tuple[str, ...]:
    """The steps of an owner that opens a store without hindrance."""
    raised = f"owner {number} raises the epoch of {database}"
    rest = ("is told of its commit", "reads the mark", "reads the store", "claims the mark")
    shown = "puts the mark, and shows"
    sent = f"standby of {database} has everything"
    return raised, sent, *(f"owner {number} {each}" for each in (*rest, shown))


@dataclass(frozen=True, slots=True)
class Case:
    """Where a guard is looked for: bounds, the first steps, and what is violated without it."""

    guard: str
    bounds: Bounds
    violation: str
    start: tuple[str, ...] = ()


_LOST, _TWICE = "an acknowledged example is lost", "an example is learned twice"
_FORK = "two chains were shown"
_COPIED = ("the store is copied", *opened(1))
_BACKED_UP = (
    *("the mark is backed up", *opened(1), "owner 1 puts the mark, and shows"),
    *("the store is copied", "the mark goes back to its backup"),
)
CASES = (
    Case("barrier", Bounds(2, 2, 2), _LOST, (*opened(1), "owner 1 appends an example")),
    Case("epoch", Bounds(2, 2, 0), _TWICE),
    Case("warning", Bounds(2, 2, 2), _LOST),
    Case("unknown", Bounds(2, 2, 1), _TWICE),
    Case("behind", Bounds(2, 4, 1), _FORK, _COPIED),
    Case("swap", Bounds(2, 4, 1), _FORK, _COPIED),
    Case("name", Bounds(2, 5, 3), _FORK, _BACKED_UP),
    Case("order", Bounds(2, 4, 1), _FORK, _COPIED),
    Case("look", Bounds(3, 4, 1), _FORK, (*_COPIED, *opened(2))),
    Case("tell", Bounds(2, 2, 2), _LOST, (*opened(1), *opened(2))),
    Case("place", Bounds(2, 2, 0), "a source goes on behind examples that are not there"),
)


@dataclass(frozen=True, slots=True)
class Explored:
    """What came of it: how many states there are, and the shortest way to one that is wrong.

    violation: what is wrong there; nothing, and no way, where no state is.
    """

    states: int
    violation: str
    way: tuple[str, ...]


def explore(guards: frozenset[str], bounds: Bounds, start: Sequence[str] = ()) -> Explored:
    """Look at every state that steps lead to, or at those up to the first wrong one.

    start: steps by their names that come first.
    """
    first = State()
    for wanted in start:
        first = next(after for name, after in steps(first, guards, bounds) if name == wanted)
    came: dict[State, tuple[State, str] | None] = {first: None}
    front = [first]
    while front:
        found: list[State] = []
        for state in front:
            for name, after in steps(state, guards, bounds):
                if after in came:
                    continue
                came[after] = state, name
                if violation := wrong(after):
                    return Explored(len(came), violation, (*start, *_way(came, after)))
                found.append(after)
        front = found
    return Explored(len(came), "", ())


def _way(came: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    names: list[str] = []
    while (before := came[state]) is not None:
        state, name = before
        names.append(name)
    return tuple(reversed(names))


def wander(chance: random.Random, guards: frozenset[str], bounds: Bounds) -> Explored:
    """Take steps at random until none is left, or one leads to a violation."""
    state, names = State(), list[str]()
    while choices := list(steps(state, guards, bounds)):
        # Kills would end most ways soon.
        weights = [0.05 if name.endswith("is killed") else 1.0 for name, _ in choices]
        ((name, state),) = chance.choices(choices, weights)
        names.append(name)
        if violation := wrong(state):
            return Explored(len(names), violation, tuple(names))
    return Explored(len(names), "", ())


def without_guards() -> int:
    """Print, for each guard, the shortest way to what is violated without it."""
    for case in CASES:
        found = explore(ALL - {case.guard}, case.bounds, case.start)
        print(f"without {case.guard}: {found.violation}, after {len(found.way)} steps")
        print(*found.way, sep="\n  ", end="\n\n")
    return 0


def main(first: str = "0", count: str = "1") -> int:
    """Take ways at random; print those that lead to a violation, and one line in the end."""
    if first == "guards":
        return without_guards()
    failing, states = [], 0
    for seed in range(int(first), int(first) + int(count)):
        chance = random.Random(seed)
        for _ in range(WAYS_A_SEED):
            explored = wander(chance, ALL, LONG)
            states += explored.states
            if explored.violation:
                print(explored.violation, *explored.way, sep="\n  ")
                print(f"failing seed {seed}", flush=True)
                failing.append(seed)
                break
    print(f"{states:,} steps; failing seeds: {failing}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
