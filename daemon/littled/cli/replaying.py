"""The journal of a store run again from its start, and compared with what was published."""

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

from littled.budget.ledger import own_numbers, without_answers
from littled.cli.comparing import Comparison
from littled.engine import Transcript, replay
from littled.engine.predictions import differing
from littled.mechanisms.noise import KeyedNoise
from littled.service.stored_plans import stored_plan
from littled.store.records import StoredRelease
from littled.store.store import Store
from littled_protocol.figures import measured_by


def compare_stream(store: Store, stream: str) -> Comparison:
    """Replay a stream's journal and compare every release, ledger entry and answer, byte for byte.

    What is stored is read before the journal: a daemon that serves the store meanwhile can only
    make the journal lead to more. Raises StoreError for a journal that cannot be read.
    """
    plan = stored_plan(store, stream)
    ledger = store.ledger(stream)
    entries = [entry.to_bytes() for entry in without_answers(ledger)]
    own = own_numbers(ledger)
    releases = {
        name: [
            release if release.charge is None else replace(release, charge=own.get(release.charge))
            for release in store.releases(name)
        ]
        for one in plan.publishing
        for name in one.chains(stream)
    }
    numbers = count()
    predictions = (
        prediction for prediction, _ in zip(store.predictions(stream), numbers, strict=False)
    )
    noise, records = KeyedNoise(store.noise_key), store.records(stream)
    with ThreadPoolExecutor(1) as executor:
        transcript = replay(plan, noise, records, executor)
    repeated = _by_learner(transcript)
    findings = _differences(
        f"ledger entry %d of {stream}",
        0,
        entries,
        [entry.to_bytes() for entry in transcript.entries],
    )
    for name, stored in releases.items():
        measured = measured_by(name)
        what = f"version %d of {name}" if measured is None else f"figure %d of {measured}"
        findings += _differences(what, 1, stored, repeated[name])
    findings += differing(plan, noise, store, predictions)
    released = sum(map(len, releases.values()))
    pending = max(sum(map(len, repeated.values())) - released, 0)
    return Comparison(
        stream, released, len(entries), tuple(findings), pending, predictions=next(numbers)
    )


def _by_learner(transcript: Transcript) -> dict[str, list[StoredRelease]]:
    found: dict[str, list[StoredRelease]] = defaultdict(list)
    for release in (*transcript.releases, *transcript.figures):
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
