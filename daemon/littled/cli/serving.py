"""`littled serve`: the daemon in the foreground, as systemd or a person starts it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from littled.cli.executing import ExecutorChoice, executor_options
from littled.cli.failures import STORE_NEEDS_ATTENTION, WRONG_USE, Failure, explained
from littled.cli.grouping import GroupParameter, group_explained
from littled.cli.hints import SOCKET
from littled.cli.output import notes
from littled.cli.storing import StoreFiles, archive_option, store_argument, store_options
from littled.groups.agreement import Agreement
from littled.groups.daemons import end_with_standard_input
from littled.groups.directory import LiveDirectory
from littled.groups.partitions import GroupRefused, check_store, names_given
from littled.limits import GROUP_ORPHAN_SECONDS
from littled.service.access import Access, AccessError
from littled.service.daemon import serve as serve_store
from littled.service.grants import read_access
from littled.service.listeners import ListenError
from littled.service.logs import Log, guard_process, make_log
from littled.service.tls import TlsFiles
from littled.store.errors import StoreError, StoreUnreachable
from littled.store.etcd_place import MarkInEtcd
from littled.store.keys import KEY_NAME
from littled.store.place import Place, StorePath
from littled.store.store import Store
from littled_client.addresses import UnixAddress, default_address
from littled_client.errors import AddressError

FILE = click.Path(dir_okay=False, path_type=Path)
log_option = click.option(
    "--log",
    "style",
    type=click.Choice(["auto", "console", "json"]),
    default="auto",
    show_default=True,
    help="Lines for people or for programs; auto looks for a terminal.",
)


@click.command()
@store_argument
@click.option("--unix", type=click.Path(path_type=Path), metavar="PATH", help="Unix socket.")
@click.option("--tcp", metavar="HOST:PORT", help="TCP address; beyond this machine needs TLS.")
@click.option("--http", metavar="HOST:PORT", help="Read-only HTTP: status, metrics, rules, events.")
@click.option(
    "--http-name", "http_names", multiple=True, metavar="NAME",
    help="A name beside localhost by which HTTP on this machine may be called; may be repeated.",
)  # fmt: skip
@click.option(
    "--page/--no-page", default=None,
    help="The operator's page at / of HTTP; without either, where only this machine comes in.",
)  # fmt: skip
@click.option(
    "--token-file", type=click.Path(dir_okay=False, path_type=Path), envvar="LITTLED_TOKEN_FILE",
    help="File with the token that peers show, or TOML that says who may do what.",
)  # fmt: skip
@click.option(
    "--tls-cert", type=FILE,
    help="Certificate in PEM, with its chain: TCP and HTTP speak TLS.",
)  # fmt: skip
@click.option("--tls-key", type=FILE, help="Its private key in PEM, without a password.")
@click.option(
    "--tls-client-ca", type=FILE,
    help="Authorities in PEM: whoever comes by TCP or HTTP needs a certificate of theirs.",
)  # fmt: skip
@click.option(
    "--plaintext-beyond-loopback", "plaintext", is_flag=True,
    help="Let other machines in without TLS: whoever listens on the way reads tokens and examples.",
)  # fmt: skip
@click.option(
    "--learn-first", is_flag=True,
    help="Let nobody in before the whole journal is learned, however long that takes.",
)  # fmt: skip
@log_option
@click.option(
    "--group", "group", type=GroupParameter(), metavar="GROUP",
    help="The group that STORE is a partition of; as littled group member says it.",
)  # fmt: skip
@click.option(
    "--partition", type=click.IntRange(0), metavar="NUMBER",
    help="Which one: who serves it already is put off, and this ends with standard input.",
)  # fmt: skip
@archive_option
@executor_options
@store_options
def serve(
    store: StorePath,
    unix: Path | None,
    tcp: str | None,
    http: str | None,
    http_names: tuple[str, ...],
    page: bool | None,
    token_file: Path | None,
    style: str,
    archive: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    plaintext: bool,
    learn_first: bool,
    group: MarkInEtcd | None,
    partition: int | None,
    files: StoreFiles,
    executor: ExecutorChoice,
) -> None:
    """Run the daemon on STORE until it is interrupted or terminated.

    Without an address it listens where clients look by default: on the socket that
    $LITTLED_ADDRESS names (unix:PATH), else $XDG_RUNTIME_DIR/littled.sock, or without a session
    /run/littled/littled.sock. Under systemd it takes over the sockets of its socket unit, and
    credentials: noise.key, and tokens, tls.crt, tls.key and tls-client-ca.crt for the options of
    the same meaning that are not given. On SIGHUP it reads tokens and its certificate again.

    With --executor the joint trainings of streams that protect examples are done on a Dask cluster,
    which then sees examples, and never the noise key.
    """
    log = chosen_log(style)
    if isinstance(store, Path) and not store.is_dir():
        raise Failure(
            f"there is no store in {store}: make one with littled init", STORE_NEEDS_ATTENTION
        )
    hint = ""
    if unix is None and tcp is None and "LISTEN_FDS" not in os.environ:
        unix, hint = default_socket(), f"; say where to listen, such as --unix {SOCKET}"
    tokens, cert, cert_key, authority = _credentials(token_file, tls_cert, tls_key, tls_client_ca)
    with (
        explained(ListenError, status=WRONG_USE, after=hint),
        explained(AccessError, status=WRONG_USE),
        explained(StoreError, status=STORE_NEEDS_ATTENTION),
        explained(StoreUnreachable),
        explained(GroupRefused, status=STORE_NEEDS_ATTENTION),
        executor.running(of_examples=True) as trainings,
    ):
        key = files.key or handed_over(os.environ, KEY_NAME)
        _print_notes(Place.of(store, key, files.mark))
        asyncio.run(
            serve_store(
                store,
                unix,
                tcp,
                http,
                log=log,
                rules=partial(_rules, tokens, client_ca=authority is not None, plaintext=plaintext),
                tls=_tls_files(cert, cert_key, authority),
                http_names=http_names,
                page=page,
                key_path=key,
                mark_path=files.mark,
                archive=archive,
                learn_first=learn_first,
                trainings=trainings,
                **_as_part_of(group, partition),
            )
        )


def _credentials(*given: Path | None) -> list[Path | None]:
    """The files that were given, or that the service manager hands over in their place."""
    names = ("tokens", "tls.crt", "tls.key", "tls-client-ca.crt")
    return [path or handed_over(os.environ, name) for path, name in zip(given, names, strict=True)]


def _print_notes(place: Place) -> None:
    for note in place.database.notes():
        notes().print(f"note: {note}")


def _as_part_of(group: MarkInEtcd | None, partition: int | None) -> dict[str, Any]:
    """What the daemon of a partition does besides; Failure unless both are given, or neither."""
    if group is None or partition is None:
        if (group, partition) != (None, None):
            raise Failure("--group and --partition belong together", WRONG_USE)
        return {}
    with group_explained(), closing(Agreement(group)) as agreement:
        directory = agreement.directory()
    if partition >= directory.partitions:
        raise Failure(
            f"the group has {directory.partitions} partitions, and none of number {partition}",
            WRONG_USE,
        )
    threading.Thread(
        target=end_with_standard_input, args=(GROUP_ORPHAN_SECONDS,), daemon=True
    ).start()

    def check(store: Store) -> Collection[str]:
        configuration, names = store.configuration, directory.names(partition)
        told = configuration.get("group")
        check_store(store.plans, told, partition, directory.first, names)
        return names_given(configuration)

    return {
        "elsewhere": LiveDirectory(group, partition, directory),
        "take_over": True,
        "check": check,
    }


def chosen_log(style: str) -> Log:
    """The log of this process, by the option."""
    plain = style == "console" or (style == "auto" and sys.stderr.isatty())
    log = make_log("console" if plain else "json")
    guard_process(log)
    return log


def _rules(token_file: Path | None, *, client_ca: bool, plaintext: bool) -> Access:
    """Who may do what, by the options and the token file as it is now."""
    access = Access() if token_file is None else read_access(token_file)
    return replace(access, client_ca=client_ca, plaintext=plaintext)


def _tls_files(cert: Path | None, key: Path | None, client_ca: Path | None) -> TlsFiles | None:
    """The files of TLS; Failure when only some of them are given."""
    if cert is None or key is None:
        if (cert, key, client_ca) != (None, None, None):
            raise Failure("TLS needs both --tls-cert and --tls-key", WRONG_USE)
        return None
    return TlsFiles(cert, key, client_ca)


def default_socket() -> Path:
    """Where clients look for a daemon when nobody tells them."""
    with explained(AddressError, status=WRONG_USE, before="LITTLED_ADDRESS: "):
        address = default_address()
    if not isinstance(address, UnixAddress):
        raise Failure("LITTLED_ADDRESS names no Unix socket; say where to listen", WRONG_USE)
    return Path(address.path)


def handed_over(environment: Mapping[str, str], name: str) -> Path | None:
    """The file that systemd keeps for the daemon under this name, if there is one."""
    folder = environment.get("CREDENTIALS_DIRECTORY")
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None
