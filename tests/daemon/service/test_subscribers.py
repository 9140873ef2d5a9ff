"""Releases in memory and from the store, at every subscriber's own pace."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from littled.limits import RELEASES_IN_MEMORY_MAX, RELEASES_READ_MAX
from littled.service.subscribers import Releases, release_message
from littled.store.records import StoredRelease
from littled.store.store import Store
from littled_protocol.codec import encode, encode_frame
from littled_protocol.messages import Ping, Release
from littled_protocol.rules import ThresholdRule

LEARNER = "flights/late"


def stored(version: int, learner: str = LEARNER) -> StoredRelease:
    """A release of some rule."""
    rule = ThresholdRule(256, version % 257).to_dict()
    message = Release(learner, version, "rule", 0, version, 10 * version, rule)
    return StoredRelease(learner, version, encode(message), None)


@pytest.fixture
def opened(store: Path) -> Iterator[Store]:
    with Store.open(store) as found:
        yield found


class Counted:
    """Counts the reads of a store."""

    def __init__(self, store: Store) -> None:
        self.reads = 0
        self._store = store

    def __call__(self, learner: str, since: int) -> Sequence[StoredRelease]:
        self.reads += 1
        return self._store.releases(learner, since)


async def versions_after(releases: Releases, version: int) -> list[int]:
    return [each.version for each in await releases.after(LEARNER, version, "here")]


async def test_a_learner_without_releases(opened: Store) -> None:
    releases = Releases([LEARNER, "flights/early"], opened.releases)
    assert releases.learners == (LEARNER, "flights/early")
    assert LEARNER in releases
    assert "flights/never" not in releases
    assert releases.latest(LEARNER) is None
    assert releases.version(LEARNER) == 0
    assert await versions_after(releases, 0) == []


async def test_releases_are_told_once_and_in_order(opened: Store) -> None:
    releases = Releases([LEARNER], opened.releases)
    news = releases.announce([stored(1), stored(2)])
    assert [each.version for each in news] == [1, 2]
    assert releases.announce([stored(1), stored(2), stored(3)]) == [release_message(stored(3))]
    latest = releases.latest(LEARNER)
    assert latest is not None
    assert latest.version == releases.version(LEARNER) == 3
    for version in range(5):
        assert await versions_after(releases, version) == list(range(version + 1, 4))


async def test_old_releases_come_from_the_store(opened: Store) -> None:
    read = Counted(opened)
    releases = Releases([LEARNER], read)
    count = 3 * RELEASES_IN_MEMORY_MAX
    for version in range(1, count + 1):
        opened.publish([stored(version)], [])
        releases.announce([stored(version)])
    assert count < RELEASES_READ_MAX
    for version in (0, 1, count - RELEASES_IN_MEMORY_MAX - 1):
        assert await versions_after(releases, version) == list(range(version + 1, count + 1))
    assert read.reads == 3
    for version in (count - RELEASES_IN_MEMORY_MAX, count - 1, count, count + 7):
        assert await versions_after(releases, version) == list(range(version + 1, count + 1))
    assert read.reads == 3


async def test_a_start_has_the_latest_and_leaves_the_others_in_the_store(opened: Store) -> None:
    count = RELEASES_IN_MEMORY_MAX + 40
    opened.publish([stored(version) for version in range(1, count + 1)], [])
    read = Counted(opened)
    releases = Releases([LEARNER, "flights/early"], read)
    for learner in releases.learners:
        releases.announce(opened.latest_releases(learner, RELEASES_IN_MEMORY_MAX))
    assert releases.version(LEARNER) == count
    for version in (40, 41, count - 1, count):
        assert await versions_after(releases, version) == list(range(version + 1, count + 1))
    assert read.reads == 0
    for version in (0, 1, 39):
        assert await versions_after(releases, version) == list(range(version + 1, count + 1))
    assert read.reads == 3


async def test_a_long_history_comes_in_parts() -> None:
    count = 2 * RELEASES_READ_MAX + 10
    every = [stored(version) for version in range(1, count + 1)]
    releases = Releases([LEARNER], lambda _, since: every[since:])
    releases.announce(every)
    seen, parts = 0, []
    while part := await versions_after(releases, seen):
        assert part == list(range(seen + 1, seen + 1 + len(part)))
        seen = part[-1]
        parts.append(len(part))
    assert seen == count
    assert parts == [RELEASES_READ_MAX, RELEASES_READ_MAX, 10]


async def test_the_store_is_read_for_one_subscriber_at_a_time() -> None:
    every = [stored(version) for version in range(1, 3 * RELEASES_IN_MEMORY_MAX)]
    reading, reads, most = 0, 0, 0

    def read(_learner: str, since: int) -> list[StoredRelease]:
        nonlocal reading, reads, most
        reading, reads = reading + 1, reads + 1
        most = max(most, reading)
        time.sleep(0.002)
        reading -= 1
        return every[since : since + 10]

    releases = Releases([LEARNER], read)
    releases.announce(every)
    given_up = [asyncio.ensure_future(releases.after(LEARNER, 0, "here")) for _ in range(10)]
    parts = [asyncio.ensure_future(releases.after(LEARNER, 5, "here")) for _ in range(10)]
    await asyncio.sleep(0.001)
    for asking in given_up:
        asking.cancel()
    assert [len(part) for part in await asyncio.gather(*parts)] == [10] * 10
    assert most == 1
    assert reads <= 11


async def test_old_releases_of_one_origin_are_read_behind_those_of_another_once() -> None:
    every = [stored(version) for version in range(1, 3 * RELEASES_IN_MEMORY_MAX)]
    releases = Releases([LEARNER], lambda _, since: every[since : since + 10])
    releases.announce(every)
    served: list[str] = []

    async def walk(origin: str) -> None:
        """Has two parts of the history."""
        for version in (0, 10):
            assert await releases.after(LEARNER, version, origin)
            served.append(origin)

    await asyncio.gather(*(walk("crowd") for _ in range(20)), walk("alone"))
    # one of the crowd is read for at once, and one may be between the two of who is alone
    assert [at for at, origin in enumerate(served) if origin == "alone"] == [2, 4]


async def test_the_newest_release_becomes_bytes_once() -> None:
    releases = Releases([LEARNER], lambda *_: [])
    releases.announce([stored(1), stored(2)])
    older, newest = await releases.after(LEARNER, 0, "here")
    frame = releases.frame_of(newest)
    assert frame == encode_frame(newest)
    assert releases.frame_of(newest) is frame
    assert releases.frame_of(older) is None
    releases.announce([stored(3)])
    assert releases.frame_of(newest) is None
    (newest,) = await releases.after(LEARNER, 2, "here")
    assert releases.frame_of(newest) == encode_frame(newest)


def test_a_read_of_the_store_is_bounded_in_bytes(opened: Store) -> None:
    every = [stored(version) for version in range(1, 30)]
    for release in every:
        opened.publish([release], [])
    size = len(every[0].body)
    assert [found.version for found in opened.releases(LEARNER, 3, 5 * size)] == list(range(4, 9))
    assert len(opened.releases(LEARNER, 0, 1)) == 1
    assert opened.releases(LEARNER, 29, 1) == []


async def test_a_store_that_lost_releases_is_noticed() -> None:
    releases = Releases([LEARNER], lambda *_: [])
    releases.announce([stored(version) for version in range(1, 2 * RELEASES_IN_MEMORY_MAX)])
    with pytest.raises(AssertionError, match="lost releases"):
        await releases.after(LEARNER, 0, "here")


async def test_everybody_who_waits_is_woken(opened: Store) -> None:
    releases = Releases([LEARNER, "flights/early"], opened.releases)
    waiting = [asyncio.ensure_future(releases.beyond(LEARNER, 1)) for _ in range(100)]
    await asyncio.sleep(0)
    releases.announce([stored(1), stored(1, "flights/early"), stored(2, "flights/early")])
    await asyncio.sleep(0.01)
    assert not any(each.done() for each in waiting)
    releases.announce([stored(2)])
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    await asyncio.wait_for(releases.beyond(LEARNER, 0), 5)


def test_only_a_release_is_a_release() -> None:
    with pytest.raises(TypeError, match="a Ping where a release should be"):
        release_message(StoredRelease(LEARNER, 1, encode(Ping(1)), None))
