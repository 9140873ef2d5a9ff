"""The journal of a store run again from its start, and compared with what was published."""

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from littled.engine import Transcript, replay
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.store.records import StoredRelease
from littled.store.store import Store


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a replay of one stream came to.

    releases, entries: how many stored ones were compared. findings: one sentence for each that
    differs. pending: releases that the journal leads to and that are not published yet, since the
    daemon was stopped before it had learned the journal's end.
    """

    stream: str
    releases: int
    entries: int
    findings: tuple[str, ...]
    pending: int


def compare_stream(store: Store, stream: str) -> Comparison:
    """Replay a stream's journal and compare every release and ledger entry, byte for byte.

    What is stored is read before the journal: a daemon that serves the store meanwhile can only
    make the journal lead to more. Raises StoreError for a journal that cannot be read.
    """
    plan = StreamPlan.from_dict(store.plans[stream])
    entries = [entry.to_bytes() for entry in store.ledger(stream)]
    releases = {
        f"{stream}/{name}": store.releases(f"{stream}/{name}") for name in sorted(plan.learners)
    }
    noise, records = KeyedNoise(store.noise_key), store.records(stream)
    with ThreadPoolExecutor(1) as executor:
        transcript = replay(plan, noise, records, executor)
    repeated = _by_learner(transcript)
    findings = _differences(
        f"ledger entry %d of {stream}", 0, entries, [each.to_bytes() for each in transcript.entries]
    )
    for learner, stored in releases.items():
        findings += _differences(f"version %d of {learner}", 1, stored, repeated[learner])
    count = sum(map(len, releases.values()))
    pending = max(sum(map(len, repeated.values())) - count, 0)
    return Comparison(stream, count, len(entries), tuple(findings), pending)


def _by_learner(transcript: Transcript) -> dict[str, list[StoredRelease]]:
    found: dict[str, list[StoredRelease]] = defaultdict(list)
    for release in transcript.releases:
        found[release.learner].append(release)
    return found


def _differences(
    name: str, first: int, stored: Sequence[object], repeated: Sequence[object]
) -> list[str]:
    """Sentences about what is stored but not what the journal leads to; `name` takes a number."""
    return [
        f"{name % number} is not what the journal leads to"
        for number, value in enumerate(stored, first)
        if number - first >= len(repeated) or repeated[number - first] != value
    ]
