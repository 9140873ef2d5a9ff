"""A high-water mark in etcd: compared and replaced at once, so that two copies never both go on.

    PREFIX/store            instance of the store, and the cluster that the mark was written to
    PREFIX/owner            who may replace the mark: an epoch, and a name drawn for it
    PREFIX/streams/STREAM   how far one stream and its learners had come

Every transaction compares the value of the owner's key and the revision of each key that it
replaces, and then puts them. Who serves the store claims the mark first: the epoch is raised, if no
key has changed since it was read. Whoever owned it before fails at the next comparison, before
anything is shown. Why then all that is ever shown is one history: PRIVACY.md, "Two copies and one
mark". The owner's value has a name that is drawn for it, and no revision would do: a cluster that
was restored from a backup counts the same revisions again.

A request that was lost may have been done. It is made again; where its comparison fails then, the
keys are read, and what stands there counts if it is what was to be written: a claim has a name that
nobody else draws, and what follows it is only written by its owner.

Every value is sealed with the noise key (`littled.store.sealing`): etcd is trusted to compare and
to remember, and with nothing else.

Only keys of streams that have changed are written. Beyond what one transaction may hold there are
several: each stream's key says by itself what the store must have, and all of them are durable
before anybody is shown anything.
"""

import base64
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from littled.limits import ETCD_OPERATIONS_MAX, ETCD_REQUEST_BYTES_MAX
from littled.store.errors import StoreFailed, StoreRefused, StoreUnreachable
from littled.store.etcd import Etcd, EtcdRefused, EtcdSilent, Waiting, encoded
from littled.store.etcd_place import MarkInEtcd
from littled.store.mark import (
    HighWaterMark,
    Point,
    StoreMoved,
    StreamMark,
    check_format,
    moved_values,
)
from littled.store.register import Revision, buried
from littled.store.sealing import Seal
from littled.store.witness import Witness

_FORMAT = 1
_STORE, _OWNER, _STREAMS = "store", "owner", "streams/"
_NAME_BYTES = 16
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
_WAY_ON = (
    "If STORE is the newest copy of it, littled restore lets it go on with a new season; nothing "
    "bounds what an older copy lacks"
)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class EtcdRevision:
    """What the keys of a mark held.

    revisions: by the name of a key below the prefix, the revision that changed it last. owner: the
    sealed value of the owner's key, empty before there is one. at: a revision at which nothing was
    newer. epoch: of the owner. cluster: who has answered. lost: a sentence where the mark is known
    to be older than what was shown, else nothing.
    """

    mark: HighWaterMark
    revisions: Mapping[str, int]
    owner: bytes
    at: int
    epoch: int
    cluster: str
    lost: str = ""


class EtcdRegister:
    """A mark in etcd, sealed. `witness` remembers beside the store what was last written there."""

    def __init__(self, place: MarkInEtcd, seal: Seal, witness: Witness, waiting: Waiting) -> None:
        """Ask nothing yet."""
        self._place = place
        self._seal = seal
        self._etcd = Etcd(place, waiting)
        self._witness = witness
        self._created: EtcdRevision | None = None

    def empty(self) -> bool:
        """See Register."""
        return not _refused_as(StoreFailed, self._range).values

    def moved_to(self) -> str | None:
        """See Register."""
        found = _refused_as(StoreFailed, self._range)
        try:
            check_format(json.loads(self._seal.open(_STORE, found.values[_STORE])))
        except StoreMoved as error:
            return str(error)
        except _UNREADABLE:
            pass  # whoever reads the mark says what is wrong
        return None

    def read(self) -> tuple[HighWaterMark, EtcdRevision]:
        """See Register."""
        # Before the keys: whoever serves the store writes them first.
        seen = self._witness.read()
        found = _refused_as(StoreRefused, self._range)
        if not found.values:
            raise StoreRefused(
                f"there is no high-water mark at {self._place}: see whether endpoints and prefix "
                "are right; without it nobody can tell whether this store is an older copy that "
                "hides spent budget"
            )
        try:
            opened = {name: self._seal.open(name, each) for name, each in found.values.items()}
            cluster, epoch, mark = _parsed(opened)
        except StoreMoved as error:
            raise buried(str(self._place), str(error)) from None
        except _UNREADABLE as error:
            raise StoreRefused(
                f"the high-water mark at {self._place} is damaged or another store's: see whether "
                "the prefix is right, and who else writes there"
            ) from error
        lost = ""
        if cluster != found.cluster:
            lost = (
                f"the high-water mark at {self._place} was written to cluster {cluster} of etcd, "
                f"and this is cluster {found.cluster}: it was restored from a backup, and its mark "
                f"may be older than what was shown. {_WAY_ON}"
            )
        elif seen is not None and seen.cluster == cluster and seen.revision > found.newest:
            lost = (
                f"the high-water mark at {self._place} is older than what was last written there "
                f"(revision {found.newest} after {seen.revision}): etcd was restored from a "
                f"backup. {_WAY_ON}"
            )
        owner = found.values[_OWNER]
        revision = EtcdRevision(mark, found.revisions, owner, found.at, epoch, found.cluster, lost)
        return mark, revision

    def create(self, mark: HighWaterMark) -> EtcdRevision:
        """See Register."""
        found = _refused_as(StoreRefused, self._range)
        if found.values:
            raise StoreRefused(
                f"{self._place} is the high-water mark of another store: keep it, and take another "
                "prefix"
            )
        empty = HighWaterMark(mark.instance, {}, {})
        nothing = EtcdRevision(empty, {}, b"", found.at, 0, found.cluster)
        # The owner's key last: until it is there, there is no mark.
        owner = {_STORE: _store_value(mark.instance, found.cluster), _OWNER: _owner_value(0)}
        self._created = self._put(mark, nothing, last=owner)
        return self._created

    def replace(self, mark: HighWaterMark, expected: Revision) -> EtcdRevision:
        """See Register."""
        assert isinstance(expected, EtcdRevision)
        written = self._put(mark, expected)
        self._witness.note(written.cluster, written.at)
        return written

    def claim(self, mark: HighWaterMark, expected: Revision) -> EtcdRevision:
        """See Register."""
        assert isinstance(expected, EtcdRevision)
        first = {_OWNER: _owner_value(expected.epoch + 1)}
        last: dict[str, bytes] | None = None
        if expected.lost:
            # Until all of it is there again it is still a lost one, as if written elsewhere.
            first[_STORE] = _store_value(mark.instance, "0")
            last = {_STORE: _store_value(mark.instance, expected.cluster)}
        owned = self._commit(first, expected, unchanged_since=expected.at)
        owned = self._put(mark, replace(owned, epoch=expected.epoch + 1, lost=""), last=last)
        self._witness.begin(owned.cluster, owned.at)
        return owned

    def bury(self, target: str, expected: Revision) -> None:
        """See Register; whoever owns the mark loses it."""
        assert isinstance(expected, EtcdRevision)
        values = moved_values(expected.mark.instance, target) | {"cluster": expected.cluster}
        last = {_STORE: _line(values), _OWNER: _owner_value(expected.epoch + 1)}
        self._commit(last, expected, unchanged_since=expected.at)

    def discard(self) -> None:
        """See Register."""
        assert self._created is not None, "nothing was created"
        body = {
            "compare": [self._compared(_OWNER, self._created)],
            "success": [{"request_delete_range": self._everything}],
        }
        _refused_as(StoreFailed, lambda: self._ask("txn", body))

    def close(self) -> None:
        """See Register."""
        self._etcd.close()
        self._witness.close()

    # -- inside ------------------------------------------------------------------------------

    @property
    def _everything(self) -> dict[str, str]:
        """Every key below the prefix, for a request; "0" follows "/"."""
        prefix = self._place.prefix
        return {"key": encoded(f"{prefix}/"), "range_end": encoded(f"{prefix}0")}

    def _ask(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._etcd.ask(f"/v3/kv/{what}", body)

    def _range(self) -> "_Found":
        answer = self._ask("range", self._everything)
        return _Found.of(answer, f"{self._place.prefix}/")

    def _put(
        self,
        mark: HighWaterMark,
        expected: EtcdRevision,
        last: Mapping[str, bytes] | None = None,
    ) -> EtcdRevision:
        """Replace the keys of the streams that are other ones now, and put `last` at the end.

        last: not sealed yet, by the names of keys.
        """
        parts = list(_parts(_changed(mark, expected.mark)))
        if last:
            parts = [*parts[:-1], {**(parts[-1] if parts else {}), **last}]
        revision = expected
        for part in parts:
            revision = self._commit(part, revision)
        return replace(revision, mark=mark)

    def _commit(
        self,
        wanted: Mapping[str, bytes],
        expected: EtcdRevision,
        unchanged_since: int | None = None,
    ) -> EtcdRevision:
        """One transaction; it fails if a key that it compares has changed. StoreFailed.

        wanted: not sealed yet, by the names of keys.
        """
        sealed = {name: self._seal.close(name, value) for name, value in wanted.items()}
        compared = [self._compared(name, expected) for name in sorted({_OWNER, *wanted})]
        if unchanged_since is not None:
            compared.append(
                self._everything
                | {"target": "MOD", "result": "LESS", "mod_revision": str(unchanged_since + 1)}
            )
        puts = [
            {"request_put": {"key": self._key(name), "value": encoded(value)}}
            for name, value in sealed.items()
        ]
        body = {"compare": compared, "success": puts}
        succeeded, at, cluster = _refused_as(StoreFailed, lambda: _outcome(self._ask("txn", body)))
        if cluster != expected.cluster:
            raise StoreFailed(
                f"the high-water mark at {self._place} answers from another cluster of etcd than "
                f"before: it was restored from a backup. {_WAY_ON}"
            )
        if not succeeded:
            return self._settled(sealed, expected)
        revisions = {**expected.revisions, **dict.fromkeys(wanted, at)}
        owner = sealed.get(_OWNER, expected.owner)
        return replace(expected, revisions=revisions, owner=owner, at=at)

    def _settled(self, wanted: Mapping[str, bytes], expected: EtcdRevision) -> EtcdRevision:
        """What is there after a comparison that failed, if an earlier try has written it."""
        found = _refused_as(StoreFailed, self._range)
        owner = wanted.get(_OWNER, expected.owner)
        ours = found.values.get(_OWNER) == owner
        if not ours or any(found.values.get(name) != value for name, value in wanted.items()):
            raise StoreFailed(
                f"the high-water mark at {self._place} was changed by another process: another "
                "daemon serves a copy of this store and owns the mark; this one shows nothing more"
            )
        revisions = {**expected.revisions, **{name: found.revisions[name] for name in wanted}}
        return replace(expected, revisions=revisions, owner=owner, at=found.at)

    def _compared(self, name: str, expected: EtcdRevision) -> dict[str, str]:
        """That a key is as it was, which may be missing."""
        compared = {"key": self._key(name), "result": "EQUAL"}
        if name == _OWNER and expected.owner:
            return compared | {"target": "VALUE", "value": encoded(expected.owner)}
        revision = str(expected.revisions.get(name, 0))
        return compared | {"target": "MOD", "mod_revision": revision}

    def _key(self, name: str) -> str:
        return encoded(f"{self._place.prefix}/{name}")


@dataclass(frozen=True, slots=True)
class _Found:
    """Keys below a prefix, by their names there. newest: the revision that changed one last."""

    values: Mapping[str, bytes]
    revisions: Mapping[str, int]
    at: int
    cluster: str

    @property
    def newest(self) -> int:
        return max(self.revisions.values(), default=0)

    @classmethod
    def of(cls, answer: Mapping[str, Any], prefix: str) -> "_Found":
        header = answer["header"]
        values, revisions = {}, {}
        for each in answer.get("kvs", ()):
            name = base64.b64decode(each["key"]).decode().removeprefix(prefix)
            values[name] = base64.b64decode(each.get("value", ""))
            revisions[name] = int(each["mod_revision"])
        return cls(values, revisions, int(header["revision"]), str(header["cluster_id"]))


def _refused_as(kind: type[StoreRefused | StoreFailed], ask: Callable[[], Answer]) -> Answer:
    """What was asked for; a refusal as an error of this kind, silence as StoreUnreachable."""
    try:
        return ask()
    except EtcdRefused as error:
        raise kind(str(error)) from None
    except EtcdSilent as error:
        raise StoreUnreachable(f"the high-water mark cannot be had: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise kind("what answers for the high-water mark is not etcd") from error


def _outcome(answer: Mapping[str, Any]) -> tuple[bool, int, str]:
    """Whether a transaction's comparisons held, its revision, and the cluster that answered."""
    header = answer["header"]
    return answer.get("succeeded") is True, int(header["revision"]), str(header["cluster_id"])


# --- what keys hold -------------------------------------------------------------------------------


def _changed(mark: HighWaterMark, before: HighWaterMark) -> dict[str, bytes]:
    """By the names of their keys, streams that are not as they were."""
    # Most values are the very objects that they were, so that is asked first.
    old, known = before.streams, before.releases
    streams = {
        stream
        for stream, found in mark.streams.items()
        if (was := old.get(stream)) is not found and was != found
    } | {
        learner.partition("/")[0]
        for learner, point in mark.releases.items()
        if (there := known.get(learner)) is not point and there != point
    }
    for other, _ in mark.versions.items() ^ before.versions.items():
        streams.add(other.partition("/")[0])
    if not streams:
        return {}
    own: dict[str, tuple[dict[str, Any], dict[str, int]]] = {each: ({}, {}) for each in streams}
    for learner, point in mark.releases.items():
        if (stream := learner.partition("/")[0]) in own:
            own[stream][0][learner] = point.to_list()
    for learner, version in mark.versions.items():
        if (stream := learner.partition("/")[0]) in own:
            own[stream][1][learner] = version
    return {
        f"{_STREAMS}{stream}": _line({
            "mark": mark.streams[stream].to_dict(),
            "releases": own[stream][0],
            "versions": own[stream][1],
        })
        for stream in sorted(streams)
    }  # fmt: skip


def _parts(values: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Values as many transactions hold them."""
    part: dict[str, bytes] = {}
    size = 0
    for name, value in values.items():
        # Sealed, in base64; the name comes twice.
        cost = 4 * (len(value) + 2 * len(name)) // 3 + 400
        if part and (len(part) >= ETCD_OPERATIONS_MAX - 2 or size + cost > ETCD_REQUEST_BYTES_MAX):
            yield part
            part, size = {}, 0
        part[name] = value
        size += cost
    if part:
        yield part


def _store_value(instance: str, cluster: str) -> bytes:
    return _line({"format": _FORMAT, "instance": instance, "cluster": cluster})


def _owner_value(epoch: int) -> bytes:
    return _line({"epoch": epoch, "name": secrets.token_hex(_NAME_BYTES)})


def _line(values: Mapping[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def _parsed(values: Mapping[str, bytes]) -> tuple[str, int, HighWaterMark]:
    """Cluster, epoch and mark; KeyError, ValueError or TypeError for anything else."""
    store, owner = json.loads(values[_STORE]), json.loads(values[_OWNER])
    check_format(store)
    streams: dict[str, StreamMark] = {}
    releases: dict[str, Point] = {}
    versions: dict[str, int] = {}
    for name, data in values.items():
        if name in (_STORE, _OWNER):
            continue
        if not name.startswith(_STREAMS):
            raise ValueError("a key is none of a mark")
        found = json.loads(data)
        streams[name.removeprefix(_STREAMS)] = StreamMark.from_dict(found["mark"])
        releases |= {learner: Point.from_list(at) for learner, at in found["releases"].items()}
        versions |= {learner: int(last) for learner, last in found["versions"].items()}
    mark = HighWaterMark(str(store["instance"]), streams, releases, versions)
    return str(store["cluster"]), int(owner["epoch"]), mark
