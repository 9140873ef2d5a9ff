"""How far releases were delivered: a small file that survives whatever ends the program."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from littled.cli.failures import Failure, sentence_of
from littled.store.files import PRIVATE_FILE, PRIVATE_FOLDER, replace_private
from littled_client.fed import state_folder

_BYTES_MAX = 16 * 1024 * 1024


def usual_file(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return where progress is kept if nobody says: under $XDG_STATE_HOME, or the user's home.

    Failure where nothing says where that is.
    """
    folder = state_folder(environment)
    if folder is None:
        raise Failure("nothing says where progress is kept: set XDG_STATE_HOME, or use --progress")
    return folder / "forwarded" / f"{name}.json"


class Delivered:
    """The last version of each learner that a receiver has taken; a context manager.

    While it is entered nobody else uses the file. `forgotten` says whether the file was of another
    store, whose versions say nothing about this one's.
    """

    def __init__(self, path: Path, store: str, receiver: str) -> None:
        """Prepare; nothing is read yet.

        store: the public name of the daemon's store. receiver: what tells the address from others.
        """
        self._path, self._store, self._receiver = path, store, receiver
        self._versions: dict[str, int] = {}
        self._lock: int | None = None
        self.forgotten = False

    def __enter__(self) -> Self:
        """Lock and read the file; Failure where that cannot be, or it counts something else."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        try:
            self._path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError:
            self._unlock()
            raise Failure(
                f"another littled forward uses {self._path}: stop it, or give each a file of its "
                "own with --progress"
            ) from None
        except OSError as error:
            self._unlock()
            raise Failure(f"cannot keep progress: {sentence_of(error)}") from None
        except BaseException:
            self._unlock()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Let others use the file."""
        self._unlock()

    def version(self, learner: str) -> int:
        """Return the last version that was delivered, 0 for none."""
        return self._versions.get(learner, 0)

    def check(self, learner: str, newest: int) -> None:
        """Failure if more was delivered than the daemon has, whose newest version is given."""
        if self.version(learner) > newest:
            raise Failure(
                f"{self._path} says that version {self.version(learner)} of {learner} was "
                f"delivered, and the daemon's newest is {newest}: delete the file to send all again"
            )

    def keep(self, learner: str, version: int) -> None:
        """Write down a delivery and wait until it is on the disk; Failure when it cannot be."""
        self._versions[learner] = version
        facts = {
            "store": self._store,
            "receiver": self._receiver,
            "delivered": dict(sorted(self._versions.items())),
        }
        try:
            replace_private(self._path, f"{json.dumps(facts, indent=2)}\n".encode())
        except OSError as error:
            raise Failure(
                f"cannot keep progress in {self._path}: {error.strerror}; what was not kept is "
                "sent again"
            ) from None

    def _read(self) -> None:
        try:
            with self._path.open("rb") as file:
                facts = json.loads(file.read(_BYTES_MAX))
            store, receiver, versions = (facts[name] for name in ("store", "receiver", "delivered"))
            known = all(
                isinstance(name, str) and type(version) is int and version > 0
                for name, version in versions.items()
            )
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError, AttributeError):
            known = False
        if not known:
            raise Failure(
                f"{self._path} is no progress of littled forward: name another file, or delete it "
                "to send everything again"
            )
        if receiver != self._receiver:
            raise Failure(
                f"{self._path} counts what another URL was sent: name another file, or delete it "
                "to send everything to this one"
            )
        self.forgotten = store != self._store
        self._versions = {} if self.forgotten else dict(versions)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
