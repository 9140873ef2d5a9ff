"""What is told of releases over HTTP, made once of each: large rules take tens of milliseconds.

It is made in turns (`littled.service.turns.Making`), and whoever asks first pays for it, by how
many values the rule has. What was made lately is kept, up to so many bytes of all learners.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeVar

from littled.limits import (
    HTTP_RELEASES_KEPT_BYTES,
    HTTP_UNITS_PER_STREAM,
    RELEASE_ANEW_UNITS,
    RELEASE_VALUE_UNITS,
)
from littled.service.history import short
from littled.service.statuses import json_text
from littled.service.turns import Making
from littled_client.published import Published
from littled_protocol.facts import ReleaseFacts, ShortRelease
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, Words, rule_from_dict

T = TypeVar("T")
_KEY_BYTES: Final = 256


class ReleaseTexts:
    """Makes and keeps what is told of releases; on the loop."""

    def __init__(self, words: Callable[[Release], Words]) -> None:
        """Tell of each in the words of its learner."""
        self._words = words
        # The one that was asked for last comes last; with its bytes.
        self._kept: dict[tuple[str, int, Hashable], tuple[Any, int]] = {}
        self._bytes = 0
        # The rule that was read last: it takes many times what is told of it.
        self._read: tuple[tuple[str, int], Rule] | None = None

    def text(self, release: Release) -> Making[str]:
        """A release as JSON."""
        return self._made(release, "json", lambda: json_text(self._facts(release)), len)

    def event(self, release: Release) -> Making[bytes]:
        """The same as the data of an event."""

        def data() -> bytes:
            return json.dumps(self._facts(release), sort_keys=True).encode()

        return self._made(release, "event", data, len)

    def short(self, release: Release) -> Making[ShortRelease]:
        """A release in short."""

        def made() -> ShortRelease:
            return short(release, self._rule(release), self._words(release))

        return self._made(release, "short", made, _text_bytes)

    def shorts(self, releases: Iterable[Release]) -> Making[list[ShortRelease]]:
        """Releases in short."""
        found: list[ShortRelease] = []
        for release in releases:
            found += [(yield from self.short(release))]
        return found

    def written(
        self, release: Release, form: tuple[str, ...], write: Callable[[Rule, Words], str]
    ) -> Making[str]:
        """The rule of a release, which has one, as `write` has it.

        form: all else that what is written depends on.
        """

        def text() -> str:
            rule = self._rule(release)
            assert rule is not None, "a release without a rule was to be written"
            return write(rule, self._words(release))

        return self._made(release, form, text, len)

    def _facts(self, release: Release) -> ReleaseFacts:
        found = Published.with_rule(release, self._rule(release), self._words(release))
        return found.to_dict()

    def _rule(self, release: Release) -> Rule | None:
        rule = release.rule
        if rule is None:
            return None
        key = release.learner, release.version
        if self._read is None or self._read[0] != key:
            self._read = key, rule_from_dict(rule)
        return self._read[1]

    def _made(
        self, release: Release, form: Hashable, make: Callable[[], T], size: Callable[[T], int]
    ) -> Making[T]:
        key = release.learner, release.version, form
        if key in self._kept:
            found: T
            found, _ = self._kept[key] = self._kept.pop(key)
            yield HTTP_UNITS_PER_STREAM
            return found
        # Made before others have their turn, who may want the same; what goes wrong costs as much.
        try:
            made = make()
            self._keep(key, made, size(made))
        finally:
            yield RELEASE_ANEW_UNITS + RELEASE_VALUE_UNITS * values_in(release.rule)
        return made

    def _keep(self, key: tuple[str, int, Hashable], made: Any, size: int) -> None:
        """Keep something new, in the place of what nobody has asked for the longest."""
        self._kept[key] = made, size + _KEY_BYTES
        self._bytes += size + _KEY_BYTES
        while self._bytes > HTTP_RELEASES_KEPT_BYTES and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._bytes -= self._kept.pop(oldest)[1]


def values_in(facts: Any) -> int:
    """How many values there are in lists and maps of any depth."""
    if isinstance(facts, Mapping):
        return sum(map(values_in, facts.values()))
    if isinstance(facts, list | tuple):
        return sum(map(values_in, facts))
    return 0 if facts is None else 1


def _text_bytes(release: ShortRelease) -> int:
    return len(release["text"] or "") + _KEY_BYTES
