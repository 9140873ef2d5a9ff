"""`littled serve`: the daemon in the foreground, as systemd or a person starts it."""

import asyncio
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from littled.cli.failures import STORE_NEEDS_ATTENTION, WRONG_USE, Failure, explained
from littled.cli.options import StoreFiles, archive_option, store_options
from littled.service.access import Access, AccessError
from littled.service.daemon import serve as serve_store
from littled.service.grants import read_access
from littled.service.listeners import ListenError
from littled.service.logs import guard_process, make_log
from littled.store.errors import StoreError
from littled.store.keys import KEY_NAME
from littled_client.addresses import UnixAddress, default_address
from littled_client.errors import AddressError


@click.command()
@click.argument("store", type=click.Path(file_okay=False, path_type=Path))
@click.option("--unix", type=click.Path(path_type=Path), metavar="PATH", help="Unix socket.")
@click.option("--tcp", metavar="HOST:PORT", help="TCP address; off this machine it needs a token.")
@click.option("--http", metavar="HOST:PORT", help="Read-only HTTP: status, metrics, rules, events.")
@click.option(
    "--http-name", "http_names", multiple=True, metavar="NAME",
    help="A name beside localhost by which HTTP on this machine may be called; may be repeated.",
)  # fmt: skip
@click.option(
    "--token-file", type=click.Path(dir_okay=False, path_type=Path), envvar="LITTLED_TOKEN_FILE",
    help="File with the token that peers show, or TOML that says who may do what.",
)  # fmt: skip
@click.option(
    "--log", "style", type=click.Choice(["auto", "console", "json"]), default="auto",
    show_default=True, help="Lines for people or for programs; auto looks for a terminal.",
)  # fmt: skip
@archive_option
@store_options
def serve(
    store: Path,
    unix: Path | None,
    tcp: str | None,
    http: str | None,
    http_names: tuple[str, ...],
    token_file: Path | None,
    style: str,
    archive: Path | None,
    files: StoreFiles,
) -> None:
    """Run the daemon on STORE until it is interrupted or terminated.

    Without an address it listens where clients look by default: $XDG_RUNTIME_DIR/littled.sock, or
    /run/littled/littled.sock. Under systemd it takes over the sockets of its socket unit, and the
    noise key from the credential noise.key.
    """
    plain = style == "console" or (style == "auto" and sys.stderr.isatty())
    log = make_log("console" if plain else "json")
    guard_process(log)
    if unix is None and tcp is None and "LISTEN_FDS" not in os.environ:
        unix = default_socket()
    with (
        explained(ListenError, AccessError, status=WRONG_USE),
        explained(StoreError, status=STORE_NEEDS_ATTENTION),
    ):
        asyncio.run(
            serve_store(
                store,
                unix,
                tcp,
                http,
                log=log,
                rules=Access if token_file is None else partial(read_access, token_file),
                http_names=http_names,
                key_path=files.key or handed_over_key(os.environ),
                mark_path=files.mark,
                archive=archive,
            )
        )


def default_socket() -> Path:
    """Where clients look for a daemon when nobody tells them."""
    with explained(AddressError, status=WRONG_USE, before="LITTLED_ADDRESS: "):
        address = default_address()
    if not isinstance(address, UnixAddress):
        raise Failure("LITTLED_ADDRESS names no Unix socket; say where to listen", WRONG_USE)
    return Path(address.path)


def handed_over_key(environment: Mapping[str, str]) -> Path | None:
    """The key that systemd keeps for the daemon, if there is one."""
    folder = environment.get("CREDENTIALS_DIRECTORY")
    path = Path(folder) / KEY_NAME if folder else None
    return path if path is not None and path.exists() else None
