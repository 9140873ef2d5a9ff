"""A learner's releases in short, page by page: what charts and tables of versions are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from littled.service.subscribers import Releases
from littled_protocol.encodings import NumberColumn
from littled_protocol.facts import HistoryFacts, ShortRelease
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, ThresholdRule, Words

Shorten = Callable[[Iterable[Release]], Awaitable[list[ShortRelease]]]
"""Returns releases in short."""


async def history(
    releases: Releases, learner: str, after: int, origin: str, shorten: Shorten
) -> HistoryFacts:
    """Return releases after a version, oldest first, and whether there are more.

    origin: where the question for them comes from.
    """
    found = await releases.after(learner, after, origin)
    last = found[-1].version if found else releases.version(learner)
    return {
        "learner": learner,
        "releases": await shorten(found),
        "more": last < releases.version(learner),
    }


def short(release: Release, rule: Rule | None, words: Words) -> ShortRelease:
    """A release without its rule: in words, and as the number where its one cut is."""
    return {
        "version": release.version,
        "kind": release.kind,
        "season": release.season,
        "epoch": release.epoch,
        "position": release.position,
        "text": None if rule is None else rule.describe(words),
        "cut": _cut(rule, words) if isinstance(rule, ThresholdRule) else None,
    }


def _cut(rule: ThresholdRule, words: Words) -> float | None:
    """From which number on the label is 1, in the stream's unit; None for always and never."""
    if rule.threshold in (0, rule.size):
        return None
    if words.reading is None:
        return rule.threshold + words.offset
    (column,) = words.reading.columns
    if not isinstance(column, NumberColumn):
        return None
    place = rule.threshold - 1 - (column.missing == "bucket")
    return float(column.edges[place]) if place >= 0 else None
