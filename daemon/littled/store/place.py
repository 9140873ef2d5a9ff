"""Where the files of a store are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from littled.store.keys import KEY_NAME
from littled.store.mark import MARK_NAME

DATABASE_NAME = "store.sqlite"
LOCK_NAME = "lock"


@dataclass(frozen=True, slots=True)
class Place:
    """Paths of a store's files. key_given: the key's path was named by the operator."""

    folder: Path
    key: Path
    mark: Path
    key_given: bool

    @classmethod
    def of(
        cls, path: Path | str, key_path: Path | str | None, mark_path: Path | str | None
    ) -> Self:
        """The place of the store in the folder `path`; key and mark lie inside unless given."""
        folder = Path(path)
        return cls(
            folder=folder,
            key=folder / KEY_NAME if key_path is None else Path(key_path),
            mark=folder / MARK_NAME if mark_path is None else Path(mark_path),
            key_given=key_path is not None,
        )

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / DATABASE_NAME

    @property
    def lock(self) -> Path:
        """The file that the serving process locks."""
        return self.folder / LOCK_NAME
