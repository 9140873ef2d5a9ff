"""Options of commands about groups, and how such a command says that it failed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from littled.cli.failures import STORE_NEEDS_ATTENTION, WRONG_USE, explained
from littled.groups.agreement import GroupUnreachable
from littled.groups.partitions import GroupRefused, label
from littled.store.errors import StoreError, StoreRefused
from littled.store.etcd_place import MarkInEtcd

Command = TypeVar("Command", bound=Callable[..., Any])


class GroupParameter(click.ParamType[MarkInEtcd]):
    """What a group has in etcd: the URL of a prefix."""

    name = "group"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> MarkInEtcd:
        """The place, or click's error with the sentence of StoreRefused."""
        try:
            return MarkInEtcd.parse(value, "group")
        except StoreRefused as error:
            self.fail(str(error), param, ctx)


def group_argument(command: Command) -> Command:
    """Add GROUP, which the command gets as `place`."""
    return click.argument("place", metavar="GROUP", type=GroupParameter())(command)


def keys_option(command: Command) -> Command:
    """Add --keys."""
    return click.option(
        "--keys",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder with the noise keys, one for each partition: 00.key, 01.key and so on.",
    )(command)


def key_of(keys: Path | None, partition: int) -> Path | None:
    """The file of a partition's noise key; None where no folder is named."""
    return None if keys is None else keys / f"{label(partition)}.key"


@contextmanager
def group_explained() -> Iterator[None]:
    """Turn what goes wrong with a group into a Failure."""
    with (
        explained(StoreError, status=STORE_NEEDS_ATTENTION),
        explained(StoreRefused, GroupRefused, status=WRONG_USE),
        explained(GroupUnreachable),
    ):
        yield
