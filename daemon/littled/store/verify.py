"""Checking a whole store, without changing anything in it.

Everything that the store claims is derived again from its rows: each record from the head before
it, each producer's sequence, each price from its recorded event, each season's events from the
parameters of its learners, each season's spend against the caps, the caps against what was
promised; each prediction from the one before it, its window and its charge, and what every window
has given against what was paid for. It may run next to a daemon; a long check then makes the
write-ahead log grow, so it is better made on a store at rest.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from littled.budget.charges import Charges, ChargesUnknown, wrong_charges
from littled.budget.conversion import guarantee
from littled.budget.ledger import LedgerEntry, rederive
from littled.budget.price import Price
from littled.store.database import Facts, Readers, plan_of, read_facts
from littled.store.errors import StoreDamaged, StoreError, StoreRefused
from littled.store.history import Extent, History
from littled.store.keys import check_fingerprint, read_key
from littled.store.mark import HighWaterMark, read_mark
from littled.store.place import Place
from littled.store.records import StoredPrediction
from littled_protocol.codec import decode
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Release

# A store that is damaged all over says the same over and over.
FINDINGS_PER_PART_MAX = 20


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What one stream holds. spent: the most that any season spent, part by part."""

    stream: str
    records: int
    examples: int
    entries: int
    releases: int
    predictions: int
    spent: Price


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found: one sentence for each finding, and what each readable stream holds."""

    findings: tuple[str, ...]
    streams: tuple[StreamReport, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(
    path: Path | str, key_path: Path | str | None = None, mark_path: Path | str | None = None
) -> Report:
    """Check the store in the folder `path`; see `Store.open` for the paths.

    Raises StoreRefused when there is no store of a format known here; whatever is wrong with one
    that is there is a finding.
    """
    place = Place.of(path, key_path, mark_path)
    if not place.database.exists():
        raise StoreRefused(f"there is no store in {place.folder}")
    check = _Check()
    # Before the database, which a daemon at work always has ahead of its mark.
    mark: HighWaterMark | None = None
    with check.part():
        mark = read_mark(place.mark)
    with closing(Readers(place.database)) as readers:
        try:
            with readers.lend() as connection:
                facts = read_facts(connection)
        except StoreDamaged as error:
            return Report((*check.findings, str(error)), ())
        with check.part():
            key = read_key(place.key, handed_over=place.key_given)
            check_fingerprint(key, facts.instance, facts.fingerprint, place.key)
        streams = tuple(_streams(check, facts, History(readers, facts), mark))
    return Report(tuple(check.findings), streams)


class _Part:
    """A context in which an error of the store is a finding and ends the part."""

    def __init__(self, findings: list[str]) -> None:
        self._findings = findings

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, StoreError):
            self._findings.append(str(error))
            return True
        return False


@dataclass(slots=True)
class _Check:
    """Findings as they come."""

    findings: list[str] = field(default_factory=list)

    def part(self) -> _Part:
        return _Part(self.findings)

    def add(self, sentences: list[str]) -> None:
        """Add the first of some sentences and how many more there are."""
        self.findings += sentences[:FINDINGS_PER_PART_MAX]
        if len(sentences) > FINDINGS_PER_PART_MAX:
            self.findings.append(f"and {len(sentences) - FINDINGS_PER_PART_MAX} more of this kind")


def _streams(
    check: _Check, facts: Facts, history: History, mark: HighWaterMark | None
) -> Iterator[StreamReport]:
    with check.part():
        check.add([f"SQLite's own check: {each}" for each in history.integrity()])
    if mark is not None:
        with check.part():
            check.add(history.behind(mark))
    extent = None
    with check.part():
        extent = history.extent()
        check.add(
            [
                f"learner {learner} has releases but no stream"
                for learner in extent.releases
                if learner.partition("/")[0] not in facts.streams
            ]
        )
    if extent is None:
        return
    for stream in facts.streams:
        with check.part():
            yield _stream(check, facts, history, stream, extent)


def _stream(
    check: _Check, facts: Facts, history: History, stream: str, extent: Extent
) -> StreamReport:
    plan = plan_of(facts, stream)
    examples = _journal(check, history, stream, extent)
    entries: list[LedgerEntry] = []
    with check.part():
        entries = list(history.ledger(stream, -1, extent.entries[stream]))
        check.add(_ledger(stream, plan, entries, examples))
    with check.part():
        check.add(
            [
                f"the snapshot of {stream} after record {number} is damaged and will not be used"
                for number in history.damaged_snapshots(stream)
            ]
        )
    releases = 0
    charges: set[int] = set()
    for learner in extent.releases:
        if learner.partition("/")[0] == stream:
            with check.part():
                check.add(_releases(history, learner, extent, entries, charges))
            releases += extent.releases[learner]
    with check.part():
        check.add(_predictions(history, stream, plan, entries, extent))
    return StreamReport(
        stream=stream,
        records=extent.records[stream] + 1,
        examples=examples,
        entries=extent.entries[stream] + 1,
        releases=releases,
        predictions=extent.predictions[stream] + 1,
        spent=_most_spent(entries),
    )


def _journal(check: _Check, history: History, stream: str, extent: Extent) -> int:
    """Check a journal to its end, or to the first break; return the number of examples so far."""
    following: dict[str, int] = {}
    findings: list[str] = []
    examples, number = 0, -1
    with check.part():
        for record in history.records(stream, -1, extent.records[stream]):
            if record.sequence != following.get(record.producer, 0):
                findings.append(
                    f"record {record.number} of {stream} does not continue its producer's sequence"
                )
            if record.count < 1 or len(record.y) != record.count:
                findings.append(f"record {record.number} of {stream} has columns that do not fit")
            following[record.producer] = record.sequence + record.count
            examples, number = record.first_position + record.count, record.number
        if number != extent.records[stream]:
            findings.append(f"the journal of {stream} breaks off after record {number}")
        known = {name: end for (each, name), end in extent.producers.items() if each == stream}
        if known != following:
            findings.append(f"the producers of {stream} are not where its journal ends for them")
    check.add(findings)
    return examples


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a plan promises for every season, and the caps that are to keep it."""

    epsilon: Fraction
    delta: Fraction
    delta_z: Fraction
    caps: Price
    horizon: int

    def broken(self) -> bool:
        """Whether the caps allow more than is promised."""
        epsilon, delta = guarantee(self.caps, self.delta_z)
        return epsilon > self.epsilon or delta > self.delta


def _promise(stream: str, plan: dict[str, Any]) -> _Promise:
    try:
        return _Promise(
            epsilon=Fraction(plan["epsilon"]),
            delta=Fraction(plan["delta"]),
            delta_z=Fraction(plan["delta_z"]),
            caps=Price.from_dict(plan["caps"]),
            horizon=int(plan["horizon"]),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise StoreDamaged(f"the plan of {stream} does not say what it promises") from error


def _ledger(
    stream: str, plan: dict[str, Any], entries: list[LedgerEntry], examples: int
) -> list[str]:
    """Derive the ledger again, and check for whom and where each charge was made."""
    promise = _promise(stream, plan)
    findings = []
    if promise.broken():
        findings.append(f"the caps of {stream} allow more than the epsilon and delta it promises")
    derived = rederive(entries, promise.caps, horizon=promise.horizon, epsilon=promise.epsilon)
    findings += [f"{stream}: {each}" for each in derived]
    learners = plan.get("learners", {})
    findings += _unplanned(stream, learners, entries, promise.caps)
    for entry in entries:
        where = f"ledger entry {entry.number} of {stream}"
        if entry.learner is not None and entry.learner not in learners:
            findings.append(f"{where} charges for a learner that the plan does not have")
        if entry.position > examples:
            findings.append(f"{where} was charged at a position that the journal does not have")
    return findings


def _unplanned(
    stream: str, learners: dict[str, Any], entries: list[LedgerEntry], caps: Price
) -> list[str]:
    """What was charged otherwise than the plan says: selections that nothing has paid for, say.

    Learners of which none has a class, which no daemon can run, are held to the caps alone.
    """
    if not any("hypotheses" in each for each in learners.values()):
        return []
    try:
        charges = {name: Charges.of(each) for name, each in learners.items()}
    except ChargesUnknown as error:
        raise StoreDamaged(f"the plan of {stream} is no plan: {error}") from error
    return [f"{stream}: {each}" for each in wrong_charges(entries, charges, caps)]


def _releases(
    history: History,
    learner: str,
    extent: Extent,
    entries: list[LedgerEntry],
    charges: set[int],
) -> list[str]:
    """Check a learner's releases; `charges` collects what has paid for one already."""
    findings = []
    last = extent.releases[learner]
    version = 0
    for release in history.releases(learner, 0, last):
        version = release.version
        where = f"release {version} of {learner}"
        if release.charge is not None:
            if not 0 <= release.charge < len(entries):
                findings.append(f"{where} names a charge that is not in the ledger")
            elif entries[release.charge].learner != learner.partition("/")[2]:
                findings.append(f"{where} names a charge of another learner")
            elif release.charge in charges:
                findings.append(f"{where} names a charge that paid for another release already")
            charges.add(release.charge)
        if not _decodes(release.body, learner, version):
            findings.append(f"{where} is not the message that it should be")
    if version != last:
        findings.append(f"the releases of {learner} break off after version {version}")
    return findings


def _predictions(
    history: History,
    stream: str,
    plan: dict[str, Any],
    entries: list[LedgerEntry],
    extent: Extent,
) -> list[str]:
    """Check a stream's predictions: their windows, their columns, and who paid for each."""
    findings: list[str] = []
    sizes = {
        f"{stream}/{name}": _window_size(each) for name, each in plan.get("learners", {}).items()
    }
    ends: dict[tuple[str, int], int | None] = {}
    last, number, charge = extent.predictions[stream], -1, -1
    for each in history.predictions(stream, -1, last):
        number = each.number
        where = f"prediction {number} of {stream}"
        size = sizes.get(each.learner)
        if size is None:
            findings.append(f"{where} is by a learner that does not answer requests")
            continue
        end = _window_end(each.window, size, plan["horizon"])
        if (each.learner, each.window) not in ends:
            ends[each.learner, each.window] = history.record_at(stream, end - 1)
        if ends[each.learner, each.window] != each.record:
            findings.append(f"{where} does not name the record that ends its window")
        if each.count < 1 or len(each.y) != each.count or each.y.translate(None, b"\0\1"):
            findings.append(f"{where} has columns that do not fit")
        if each.charge <= charge or not _pays(entries, each, end - 1):
            findings.append(f"{where} names a charge that does not pay for it")
        charge = each.charge
    if number != last:
        findings.append(f"the predictions of {stream} break off after number {number}")
    if sum(entry.window is not None for entry in entries) != last + 1:
        findings.append(f"the ledger of {stream} charges answers that nobody got")
    return findings


def _window_size(learner: dict[str, Any]) -> int | None:
    """Examples in a window of a learner that answers requests, by its plan; else None."""
    if learner.get("kind") != "prediction":
        return None
    size = learner["parameters"]["window"]
    assert isinstance(size, int)
    return size


def _window_end(window: int, size: int, horizon: int) -> int:
    """The position that follows the last example of a window."""
    season, inside = divmod(window, horizon // size)
    return season * horizon + (inside + 1) * size


def _pays(entries: list[LedgerEntry], prediction: StoredPrediction, position: int) -> bool:
    """Whether the charge of a prediction is for its answers; what it costs is checked before."""
    if not 0 <= prediction.charge < len(entries):
        return False
    entry = entries[prediction.charge]
    return (
        entry.window == prediction.window
        and f"{entry.stream}/{entry.learner}" == prediction.learner
        and entry.event.get("answers") == prediction.count
        and entry.position == position
    )


def _decodes(body: bytes, learner: str, version: int) -> bool:
    try:
        message = decode(body)
    except ProtocolError:
        return False
    return isinstance(message, Release) and (message.learner, message.version) == (learner, version)


def _most_spent(entries: list[LedgerEntry]) -> Price:
    """The most that any season spent, part by part."""
    seasons: dict[int, Price] = {}
    for entry in entries:
        if entry.window is not None:
            continue
        seasons[entry.season] = seasons.get(entry.season, Price.zero()) + entry.price
    return Price(
        *(
            max((getattr(each, part) for each in seasons.values()), default=Fraction(0))
            for part in ("epsilon_pure", "rho", "delta")
        )
    )
