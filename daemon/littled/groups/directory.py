"""Where the streams of other partitions are: asked of etcd in the background, known at once."""

import threading
from collections.abc import Mapping
from contextlib import suppress

from littled.groups.agreement import Agreement, Directory, GroupUnreachable, Served
from littled.groups.partitions import GroupRefused
from littled.limits import GROUP_DIRECTORY_SECONDS
from littled.store.etcd_place import MarkInEtcd


class LiveDirectory:
    """What one partition's daemon knows of the others (`littled.service.elsewhere.Elsewhere`).

    As old as `GROUP_DIRECTORY_SECONDS`, or as the last answer where etcd gives none.
    """

    def __init__(self, place: MarkInEtcd, partition: int, directory: Directory) -> None:
        """Begin to ask."""
        self._partition, self._directory = partition, directory
        self._agreement = Agreement(place)
        self._tenures: Mapping[int, Served] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="littled-group", daemon=True)
        self._thread.start()

    def where(self, stream: str) -> tuple[str, ...] | None:
        """Where a stream is served that this daemon does not have; None if it were here."""
        partition = self._directory.partition_of(stream)
        if partition == self._partition:
            return None
        served = self._tenures.get(partition)
        return () if served is None else served.addresses

    def close(self) -> None:
        """Ask no more."""
        self._over.set()

    def _ask(self) -> None:
        while not self._over.is_set():
            with suppress(GroupUnreachable, GroupRefused):
                present = self._agreement.present()
                if present.added > len(self._directory.added):
                    self._directory = self._agreement.directory()
                self._tenures = present.tenures
            self._over.wait(GROUP_DIRECTORY_SECONDS)
        self._agreement.close()
