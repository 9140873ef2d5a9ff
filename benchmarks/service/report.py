"""The samples as tables: the daemon beside the bare server with its goals, and beside the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from benchmarks.service.measuring import (
    BATCHES,
    CONNECTIONS,
    ON_ITS_LOOP,
    SAME_POINTS,
    STREAMS,
    SUBSCRIBERS,
    Sample,
)

Value = Callable[[Sample], float]
PEERS = ("Redis", "NATS", "Vowpal Wabbit", "SQLite", "River")
# Least ratios to the bare server by batch; and, for u64 points, of the largest.
GOALS = {1: 2.0, 100: 1.0, 1_000: 0.8, 10_000: 0.9}
GOAL_U64 = 0.6
# Most of the bare server's time for one example at a time; least share with users.
GOALS_ONE = {("disk", "p50"): 1.2, ("disk", "p99"): 1.2, ("memory", "p50"): 2.5}
GOAL_USERS = 0.5
GOAL_CLIENT_PER_SECOND = 0.8e6
_NONE = "-"


def chosen(samples: Iterable[Sample], **facts: object) -> list[Sample]:
    """The samples with these facts."""
    return [
        sample
        for sample in samples
        if all(getattr(sample, name) == value for name, value in facts.items())
    ]


def middle(samples: Sequence[Sample], value: Value) -> float | None:
    """The median of a value, None without samples."""
    return median(map(value, samples)) if samples else None


def ratio(above: Sequence[Sample], below: Sequence[Sample], value: Value) -> float | None:
    """The median over the turns of one's value by the other's in the same turn."""
    others = {sample.turn: value(sample) for sample in below}
    pairs = [(value(sample), others[sample.turn]) for sample in above if sample.turn in others]
    return median(a / b for a, b in pairs if b) if any(b for _, b in pairs) else None


def markdown(samples: Sequence[Sample], missing: Sequence[str]) -> str:
    """All tables, each with the rows of what was measured."""
    tables = [_table(heads, rows) for heads, rows in tables_of(samples) if rows]
    return "\n".join([*tables, *(f"Not measured: {sentence}.\n" for sentence in missing)])


Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def tables_of(samples: Sequence[Sample]) -> list[Table]:
    """Headings and rows of all tables."""
    heads = ("", "daemon", "bare server", "ratio", "goal", "CPU us a frame, daemon and bare")
    goals = [row for row in _goals(samples) if row[1] != _NONE]
    return [(heads, goals), _peers(samples), (("curve", "", ""), _curves(samples))]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "".join("| " + " | ".join(row) + " |\n" for row in (heads, rule, *rows))


def _goals(samples: Sequence[Sample]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for points in ("u8", "u64"):
        for batch in BATCHES:
            found = chosen(samples, part="batches", batch=batch, points=points)
            goal = GOALS[batch] if points == "u8" else GOAL_U64 if batch == BATCHES[-1] else None
            rows.append(_beside(f"{_size(batch)}, {points} points", found, goal))
    for place, base in (("disk", "bare server"), ("memory", ON_ITS_LOOP)):
        rows += _one_at_a_time(samples, place, base)
    rows += _users(samples)
    for name in ("blocking client", "asyncio client"):
        seen = middle(chosen(samples, part="clients", contender=name), _per_second)
        goal_text = f">= {_rate(GOAL_CLIENT_PER_SECOND)}"
        rows.append((f"`send_one` in a loop, {name}", _rate(seen), "", "", goal_text, ""))
    return rows


def _beside(title: str, found: Sequence[Sample], goal: float | None) -> Sequence[str]:
    ours = chosen(found, contender="daemon")
    bare = chosen(found, contender="bare server")
    cpu = [_number(middle(some, lambda sample: sample.cpu_us)) for some in (ours, bare)]
    rates = _rate(middle(ours, _per_second)), _rate(middle(bare, _per_second))
    times = _number(ratio(ours, bare, _per_second))
    return (title, *rates, times, _least(goal), " and ".join(cpu))


def _one_at_a_time(samples: Sequence[Sample], place: str, base: str) -> list[Sequence[str]]:
    found = chosen(samples, part="one", place=place)
    ours, bare = chosen(found, contender="daemon"), chosen(found, contender=base)
    rows: list[Sequence[str]] = []
    for percentile, value in (("p50", _p50), ("p99", _p99)):
        title = f"one at a time, {place}, {percentile}"
        times = _number(ratio(ours, bare, value))
        micros = _micros(middle(ours, value)), _micros(middle(bare, value))
        rows.append((title, *micros, times, _most(GOALS_ONE.get((place, percentile))), ""))
    sent = chosen(found, contender="blocking client")
    title = f"one at a time by `send_one`, {place}, p50, beside frames made before"
    times = _number(ratio(sent, ours, _p50))
    rows.append((title, *(_micros(middle(some, _p50)) for some in (sent, ours)), times, "", ""))
    return rows


def _users(samples: Sequence[Sample]) -> list[Sequence[str]]:
    found = chosen(samples, part="users")
    alone = chosen(found, users="")
    rows: list[Sequence[str]] = []
    for users in ("digests", "ids"):
        named = chosen(found, users=users)
        title = f"batches of 10,000 of a client, users as {users}, beside none"
        rates = _rate(middle(named, _per_second)), _rate(middle(alone, _per_second))
        times = _number(ratio(named, alone, _per_second))
        rows.append((title, *rates, times, _least(GOAL_USERS), ""))
    return rows


def _peers(samples: Sequence[Sample]) -> Table:
    """The daemon with one connection, and each peer with as many as suit it best."""
    names = [name for name in PEERS if chosen(samples, contender=name)]
    rows: list[Sequence[str]] = []
    for batch in BATCHES:
        ours = chosen(samples, part="batches", contender="daemon", batch=batch, points="u8")
        cells = [_peer(samples, name, batch) for name in names]
        if ours and cells:
            rows.append((_size(batch), _rate(middle(ours, _per_second)), *cells))
    one = chosen(samples, part="one", place="disk")
    cells = [_micros(middle(chosen(one, contender=name), _p50)) for name in names]
    if one and cells:
        micros = _micros(middle(chosen(one, contender="daemon"), _p50))
        rows.append(("one at a time, disk, p50", micros, *cells))
    return ("", "daemon", *names), rows


def _peer(samples: Sequence[Sample], name: str, batch: int) -> str:
    """A peer's rate at its best, and how many times that the daemon's is in the same turns."""
    best, times = 0.0, None
    for part, connections in (("batches", 1), *(("connections", some) for some in CONNECTIONS)):
        found = chosen(samples, part=part, batch=batch, points="u8")
        theirs = chosen(found, contender=name, connections=connections)
        ours = chosen(found, contender="daemon", connections=1)
        rate = middle(theirs, _per_second)
        if rate is not None and rate > best:
            best, times = rate, ratio(ours, theirs, _per_second)
    return f"{_rate(best)} ({_number(times)})" if best else _NONE


def _curves(samples: Sequence[Sample]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for batch in BATCHES:
        same = chosen(samples, part="batches", contender=SAME_POINTS, batch=batch)
        ours = chosen(samples, part="batches", contender="daemon", batch=batch, points="u8")
        if same:
            told = f"{_rate(middle(same, _per_second))} ({_number(ratio(ours, same, _per_second))})"
            rows.append(("bare server with u8 points (daemon by it)", _size(batch), told))
    for batch in (1, 1_000):
        for name in ("daemon", "bare server", "Redis", "NATS"):
            some = chosen(samples, part="connections", contender=name, batch=batch)
            rows += _curve(f"connections, {name}", batch, some, "connections", CONNECTIONS)
    for fact, numbers in (("subscribers", SUBSCRIBERS), ("streams", STREAMS)):
        rows += _curve(f"{fact}, daemon", 1_000, chosen(samples, part=fact), fact, numbers)
    long = chosen(samples, part="growth")
    if long:
        told = ", ".join(f"{sample.resident_mib:.0f}" for sample in long)
        rows.append(("memory along a long stream, daemon, MiB", _size(10_000), told))
    return rows


def _curve(
    title: str, batch: int, some: Sequence[Sample], fact: str, numbers: Sequence[int]
) -> list[Sequence[str]]:
    if not some:
        return []
    seen = {number: middle(chosen(some, **{fact: number}), _per_second) for number in numbers}
    told = ", ".join(f"{number}: {_rate(rate)}" for number, rate in seen.items())
    return [(title, _size(batch), told)]


def _per_second(sample: Sample) -> float:
    return sample.per_second


def _p50(sample: Sample) -> float:
    return sample.p50_us


def _p99(sample: Sample) -> float:
    return sample.p99_us


def _size(batch: int) -> str:
    return "single examples" if batch == 1 else f"batches of {batch:,}"


def _rate(per_second: float | None) -> str:
    if per_second is None:
        return _NONE
    return f"{per_second / 1e6:.3g} M/s" if per_second >= 1e4 else f"{per_second:,.0f}/s"


def _micros(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f} us"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def _least(goal: float | None) -> str:
    return "" if goal is None else f">= {goal}"


def _most(goal: float | None) -> str:
    return "" if goal is None else f"<= {goal}"
