"""Checking a whole store, without changing anything in it but where a crash has left records.

Everything that the store claims is derived again from its rows: each record from the head before
it, each producer's sequence, each price from its recorded event, each season's events from the
parameters of its learners, each season's spend against the caps, the caps against what was
promised; each prediction from the one before it, its window and its charge, and what every window
has given against what was paid for. It may run next to a daemon; a long check then makes the
write-ahead log grow, so it is better made on a store at rest.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from littled.budget.charges import Charges, ChargesUnknown, wrong_charges
from littled.budget.conversion import guarantee
from littled.budget.events import RestoredSeason
from littled.budget.ledger import LedgerEntry, rederive
from littled.budget.price import AMOUNTS, Price
from littled.store.archive import Archive
from littled.store.database import (
    Facts,
    KnownPlans,
    all_known,
    answer_windows,
    glance,
    plan_of,
    read_facts,
)
from littled.store.errors import StoreDamaged, StoreError, StoreRefused
from littled.store.figures import wrong_figures
from littled.store.history import Extent, History
from littled.store.keys import check_fingerprint, read_key
from littled.store.mark import HighWaterMark
from littled.store.place import MarkPlace, Place
from littled.store.producers import ProducerCheck, Sequences, TrustedSequences
from littled.store.records import Record, StoredPrediction
from littled.store.register import Register, current
from littled.store.registers import open_register
from littled.store.restoration import RESTORER, Restoration, closing_position
from littled_protocol.codec import decode
from littled_protocol.errors import ProtocolError
from littled_protocol.figures import measured_by
from littled_protocol.messages import Release

# A store that is damaged all over says the same over and over.
FINDINGS_PER_PART_MAX = 20


@dataclass(frozen=True, slots=True)
class Restored:
    """A public event: a stream went on from an older copy of itself.

    season: the one that it closed; counted: what that one counts as having spent; None for both
    while the daemon has not started since. position: where the stream went on.
    """

    position: int
    season: int | None
    counted: Price | None


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What one stream holds. spent: the most that any season spent, part by part.

    archived: how many of the records are in an archive. unchecked: how many of these could not be
    checked, as no archive was given: the head after them and where their producers stood then are
    believed. closed: whether nothing comes any more.
    """

    stream: str
    records: int
    examples: int
    entries: int
    releases: int
    predictions: int
    spent: Price
    restored: tuple[Restored, ...] = ()
    archived: int = 0
    unchecked: int = 0
    closed: bool = False


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
    path: Path | str,
    key_path: Path | str | None = None,
    mark_path: MarkPlace | Path | str | None = None,
    *,
    alone: bool = False,
    archive: Path | None = None,
    known: KnownPlans = all_known,
) -> Report:
    """Check the store in the folder `path`; see `Store.open` for the paths.

    alone: by itself, without its high-water mark. archive: the folder with what was moved out of
    the store; without it that is not checked, and the report says how much it is. known: is asked
    about all plans before anything is checked. Raises StoreRefused when there is no store, or one
    of a newer version, with a format, a class or parameters that are not known here; whatever is
    wrong with one that is there is a finding.
    """
    place = Place.of(path, key_path, mark_path)
    if not place.database.exists():
        raise StoreRefused(f"there is no store in {place.name}")
    glance(place.database, known)
    check = _Check()
    with check.part():
        place.database.recover()
    # Before the database, which a daemon at work always has ahead of its mark.
    mark: HighWaterMark | None = None
    key: bytes | None = None
    with check.part():
        key = read_key(place.key, handed_over=place.key_given)
    register = open_register(place, key)
    with closing(register), closing(place.database.readers()) as readers:
        if not alone:
            with check.part():
                mark = current(register)[0]
        try:
            facts = read_facts(readers)
        except StoreDamaged as error:
            return Report((*check.findings, str(error)), ())
        with check.part():
            if key is not None:
                check_fingerprint(key, facts.instance, facts.fingerprint, place.key)
        history = History(readers, facts, None if archive is None else Archive(archive, facts))
        streams = tuple(_streams(check, facts, history, register, mark))
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
    check: _Check,
    facts: Facts,
    history: History,
    register: Register,
    mark: HighWaterMark | None,
) -> Iterator[StreamReport]:
    with check.part():
        check.add(history.integrity())
    with check.part():
        check.add(history.strays())
    if mark is not None:
        with check.part():
            check.add(history.behind(mark))
    extent = None
    with check.part():
        extent = history.extent()
        check.add(
            [
                f"learner {learner} has releases but no stream"
                for stream, learners in extent.releases.items()
                for learner in learners
                if stream not in facts.streams
            ]
        )
    if extent is None:
        return
    if mark is not None:
        with check.part():
            # Once more: a daemon at work has it ahead of what it acknowledges.
            check.add(list(_unbounded(facts, history, extent, current(register)[0])))
    for stream in facts.streams:
        with check.part():
            yield _stream(check, facts, history, stream, extent)


def _unbounded(
    facts: Facts, history: History, extent: Extent, mark: HighWaterMark
) -> Iterator[str]:
    """Producers whose durable examples the mark does not bound; a restore might repeat them."""
    for stream in facts.streams:
        numbers = mark.streams[stream].numbers if stream in mark.streams else None
        if numbers is None:
            continue  # written before marks knew producers, or another store's
        known = dict(extent.producers[stream])
        known.pop(RESTORER, None)
        first = history.restores.first_number(stream)
        for name, least in numbers.missing(known, first).items():
            yield (
                f"the high-water mark bounds producer {name} of {stream} by {numbers.bound(name)}, "
                f"though it has come to {least}: put back the newest mark, or serve the store once"
            )
        if numbers.others < first:
            yield (
                f"the high-water mark bounds new producers of {stream} by {numbers.others}, though "
                f"they begin at {first}: put back the newest mark, or serve the store once"
            )


def _stream(
    check: _Check, facts: Facts, history: History, stream: str, extent: Extent
) -> StreamReport:
    plan = plan_of(facts, stream)
    journal = _journal(check, history, stream, extent)
    entries: list[LedgerEntry] = []
    with check.part():
        entries = list(history.ledger.entries(stream, -1, extent.entries[stream]))
        check.add(_ledger(stream, plan, entries, journal))
    with check.part():
        check.add(
            [
                f"the snapshot of {stream} after record {number} is damaged and will not be used"
                for number in history.snapshots.damaged(stream)
            ]
        )
    releases = 0
    charges: set[int] = set()
    for learner, last in extent.releases[stream].items():
        with check.part():
            measured = measured_by(learner)
            if measured is None:
                check.add(_releases(history, learner, last, entries, charges))
            else:
                end = journal.position
                check.add([*wrong_figures(history, measured, learner, last, plan, end)])
        releases += last
    with check.part():
        producers = ProducerCheck(history, stream, facts.streams[stream].identity)
        if producers.has_checksum and not producers.fits():
            check.add([f"the checksum of the producers of {stream} is not that of its producers"])
    with check.part():
        check.add(history.producers.wrong_places(stream))
    with check.part():
        check.add(_predictions(history, stream, plan, entries, extent))
    with check.part():
        check.add(history.after_closing(stream))
    return StreamReport(
        stream=stream,
        records=extent.records[stream] + 1,
        examples=journal.examples,
        entries=extent.entries[stream] + 1,
        releases=releases,
        predictions=extent.predictions[stream] + 1,
        spent=_most_spent(entries),
        restored=tuple(_restored(journal, entries)),
        archived=history.journal.archived_end(stream) + 1,
        unchecked=journal.unchecked,
        closed=facts.streams[stream].closing is not None,
    )


@dataclass(slots=True)
class _Journal:
    """A journal as far as it is sound.

    records, examples: how many. position: what the next example's would be. sequences: where each
    producer stands. restores: each with the position before it. unchecked: how many records were
    left out at the start, as they are in an archive that was not given.
    """

    records: int = 0
    examples: int = 0
    position: int = 0
    sequences: Sequences = field(default_factory=Sequences)
    restores: list[tuple[int, Record, Restoration]] = field(default_factory=list)
    unchecked: int = 0

    @classmethod
    def after_archived(cls, history: History, stream: str) -> Self:
        """What a journal is known to be before the first record that is in the store."""
        stretches = history.journal.archived(stream)
        end = stretches[-1]
        restores = []
        for record, restoration in history.restores.of(stream):
            point = history.journal.record_point(stream, record.number - 1)
            if record.number <= end.last and point is not None:
                restores.append((point[1], record, restoration))
        return cls(
            records=end.last + 1,
            examples=sum(stretch.examples for stretch in stretches),
            position=end.end_position,
            sequences=TrustedSequences(restores=len(restores)),
            restores=restores,
            unchecked=end.last + 1,
        )

    def add(self, record: Record) -> Iterator[str]:
        """Take the next record; yield what is wrong with it."""
        where = f"record {record.number} of {record.stream}"
        if not self.sequences.add(record):
            yield f"{where} does not continue its producer's sequence"
        if len(record.y) != record.count:
            yield f"{where} has columns that do not fit"
        self.records += 1
        self.examples += record.count
        self.position = record.first_position + record.count

    def restore(self, record: Record, restoration: Restoration) -> Iterator[str]:
        """Take a restore; yield what is wrong with it."""
        where = f"record {record.number} of {record.stream}"
        if record.sequence != len(self.restores):
            yield f"{where} does not count the restores"
        self.restores.append((self.position, record, restoration))
        self.sequences.restore(restoration)
        self.records += 1
        self.position = record.first_position


def _journal(check: _Check, history: History, stream: str, extent: Extent) -> _Journal:
    """Check a journal to its end, or to the first break; return what there is so far."""
    journal = _Journal()
    findings: list[str] = []
    with check.part():
        noted = {record.number: restoration for record, restoration in history.restores.of(stream)}
        if history.journal.archived(stream) and not history.journal.has_archive:
            journal = _Journal.after_archived(history, stream)
        points = history.journal.archived_points(stream)
        if max(points, default=-1) > history.journal.archived_end(stream):
            findings.append(f"a place of archived records of {stream} is of none in the archive")
        for record in history.journal.records(stream, journal.records - 1, extent.records[stream]):
            if not _as_noted(record, points):
                findings.append(
                    f"the place of archived record {record.number} of {stream} is wrong"
                )
            if not record.restores:
                findings += journal.add(record)
            elif record.number in noted:
                findings += journal.restore(record, noted[record.number])
            else:
                findings.append(f"record {record.number} of {stream} is a restore nobody noted")
                break
        last = journal.records - 1
        if last != extent.records[stream]:
            findings.append(f"the journal of {stream} breaks off after record {last}")
        known = extent.producers[stream]
        if not journal.sequences.agrees(known):
            findings.append(f"the producers of {stream} are not where its journal ends for them")
    check.add(findings)
    return journal


def _as_noted(record: Record, points: Mapping[int, tuple[int, int, bytes]]) -> bool:
    """Whether a record is what the store has kept of it, if it was archived and anything was."""
    first = record.first_position
    found = first, first + record.count, record.chain_head
    return points.get(record.number, found) == found


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
    stream: str, plan: dict[str, Any], entries: list[LedgerEntry], journal: _Journal
) -> list[str]:
    """Derive the ledger again, and check for whom and where each charge was made."""
    promise = _promise(stream, plan)
    findings = []
    if promise.broken():
        findings.append(f"the caps of {stream} allow more than the epsilon and delta it promises")
    derived = rederive(entries, promise.caps, horizon=promise.horizon, epsilon=promise.epsilon)
    findings += [f"{stream}: {problem}" for problem in derived]
    learners = plan.get("learners", {})
    findings += _unplanned(stream, learners, entries, promise)
    findings += _unclosed(stream, promise, entries, journal)
    for entry in entries:
        where = f"ledger entry {entry.number} of {stream}"
        if entry.learner is not None and entry.learner not in learners:
            findings.append(f"{where} charges for a learner that the plan does not have")
        if entry.position > journal.position:
            findings.append(f"{where} was charged at a position that the journal does not have")
    return findings


def _closings(entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """The entries by which restores have closed seasons."""
    return [entry for entry in entries if entry.event.get("type") == RestoredSeason.name]


def _unclosed(
    stream: str, promise: _Promise, entries: list[LedgerEntry], journal: _Journal
) -> Iterator[str]:
    """What the ledger makes of the journal's restores otherwise than they say."""
    closings = _closings(entries)
    if len(closings) > len(journal.restores):
        yield f"the ledger of {stream} closes seasons for restores that the journal does not have"
    for entry, (position, _, restoration) in zip(closings, journal.restores, strict=False):
        spent = _season_spent(entries[: entry.number], entry.season)
        charge = restoration.charge(entry.season, spent, promise.caps, promise.horizon)
        place = closing_position(position, entry.season, promise.horizon)
        if (entry.price, entry.position, entry.learner) != (charge, place, None):
            yield f"ledger entry {entry.number} of {stream} is not what its restore says"
    opened = max((entry.season for entry in entries), default=0)
    for _, record, _ in journal.restores[len(closings) :]:
        if opened >= record.first_position // promise.horizon:
            yield f"the restore in record {record.number} of {stream} has not closed its season"


def _season_spent(entries: list[LedgerEntry], season: int) -> Price:
    """The sum of what a season was charged; it has paid for the answers from its windows."""
    own = (entry.price for entry in entries if entry.window is None and entry.season == season)
    return sum(own, Price.zero())


def _restored(journal: _Journal, entries: list[LedgerEntry]) -> Iterator[Restored]:
    """The restores of a stream, as far as they were charged."""
    closings: list[LedgerEntry | None] = [*_closings(entries)]
    pending = [None] * len(journal.restores)
    for (_, record, _), entry in zip(journal.restores, [*closings, *pending], strict=False):
        season = None if entry is None else entry.season
        counted = None if season is None else _season_spent(entries, season)
        yield Restored(record.first_position, season, counted)


def _unplanned(
    stream: str, learners: dict[str, Any], entries: list[LedgerEntry], promise: "_Promise"
) -> list[str]:
    """What was charged otherwise than the plan says: selections that nothing has paid for, say.

    Learners of which none has a class, which no daemon can run, are held to the caps alone.
    """
    if not any("hypotheses" in learner for learner in learners.values()):
        return []
    try:
        charges = {name: Charges.of(learner) for name, learner in learners.items()}
    except ChargesUnknown as error:
        raise StoreDamaged(f"the plan of {stream} is no plan: {error}") from error
    problems = wrong_charges(entries, charges, promise.caps, promise.delta_z)
    return [f"{stream}: {problem}" for problem in problems]


def _releases(
    history: History,
    learner: str,
    last: int,
    entries: list[LedgerEntry],
    charges: set[int],
) -> list[str]:
    """Check a learner's releases up to version `last`; `charges`: what has paid for one already."""
    findings = []
    version = 0
    for release in history.releases.of(learner, 0, last):
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
        f"{stream}/{name}": windows.size for name, windows in answer_windows(stream, plan).items()
    }
    ends: dict[tuple[str, int], int | None] = {}
    last, number, charge = extent.predictions[stream], -1, -1
    for prediction in history.predictions.of(stream, -1, last):
        number = prediction.number
        where = f"prediction {number} of {stream}"
        size = sizes.get(prediction.learner)
        if size is None:
            findings.append(f"{where} is by a learner that does not answer requests")
            continue
        end = _window_end(prediction.window, size, plan["horizon"])
        if (prediction.learner, prediction.window) not in ends:
            ends[prediction.learner, prediction.window] = history.journal.record_at(stream, end - 1)
        if ends[prediction.learner, prediction.window] != prediction.record:
            findings.append(f"{where} does not name the record that ends its window")
        if (
            prediction.count < 1
            or len(prediction.y) != prediction.count
            or prediction.y.translate(None, b"\0\1")
        ):
            findings.append(f"{where} has columns that do not fit")
        if prediction.charge <= charge or not _pays(entries, prediction, end - 1):
            findings.append(f"{where} names a charge that does not pay for it")
        charge = prediction.charge
    if number != last:
        findings.append(f"the predictions of {stream} break off after number {number}")
    if sum(entry.window is not None for entry in entries) != last + 1:
        findings.append(f"the ledger of {stream} charges answers that nobody got")
    return findings


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
            max((getattr(price, part) for price in seasons.values()), default=Fraction(0))
            for part in AMOUNTS
        )
    )
