"""Options that several commands share; each group arrives at a command as one value."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled_client.addresses import Address, default_addresses, parse_addresses
from littled_client.blocking import Client
from littled_client.errors import AddressError
from littled_client.tls import Tls
from littled_client.waits import Waits

WAIT_SECONDS_MAX = 86_400.0
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class DaemonChoice:
    """Which daemon is meant, the token that opens it, and how long to wait for it to start.

    addresses: several where daemons share streams.
    """

    addresses: tuple[Address, ...]
    token: str | None
    wait_seconds: float
    tls: Tls | None = None

    @property
    def address(self) -> str:
        """The addresses, for people."""
        return " or ".join(map(str, self.addresses))

    def client(self, producer: str | None = None) -> Client:
        """A client of the daemon, not connected yet."""
        waits = Waits(connect_seconds=self.wait_seconds)
        with explained(AddressError, status=WRONG_USE):
            return Client(
                self.addresses, token=self.token, producer=producer, waits=waits, tls=self.tls
            )


class AddressParameter(click.ParamType[tuple[Address, ...]]):
    """`unix:PATH`, `HOST:PORT` or `tls://HOST:PORT`, or several with commas between them."""

    name = "address"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Address, ...]:
        """The addresses, or click's error with the sentence of AddressError."""
        try:
            return value if isinstance(value, tuple) else parse_addresses(value)
        except AddressError as error:
            self.fail(str(error), param, ctx)


def with_options(
    command: Callable[..., Any], *options: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """Add options, listed by help in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def daemon_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add how to reach a daemon; the command gets a DaemonChoice as `daemon`."""

    @functools.wraps(command)
    def wrapped(
        *,
        address: tuple[tuple[Address, ...], ...],
        token_file: Path | None,
        wait: float,
        tls_ca: Path | None,
        tls_cert: Path | None,
        tls_key: Path | None,
        tls_server_name: str | None,
        **others: Any,
    ) -> Any:
        asked = tls_ca, tls_cert, tls_key, tls_server_name
        tls = None if asked == (None,) * len(asked) else Tls(*asked)
        daemon = DaemonChoice(_chosen(address), read_token(token_file), wait, tls)
        return command(daemon=daemon, **others)

    return with_options(
        wrapped,
        click.option(
            "--address",
            "-a",
            type=AddressParameter(),
            multiple=True,
            metavar="ADDRESS",
            help="unix:PATH, HOST:PORT or tls://HOST:PORT of the daemon; else $LITTLED_ADDRESS or "
            "the usual socket. Several, where daemons share streams: each is asked for the stream.",
        ),
        token_option,
        click.option(
            "--tls-ca",
            type=EXISTING_FILE,
            envvar="LITTLED_TLS_CA",
            help="Authorities in PEM that vouch for the daemon; else those of the system.",
        ),
        click.option(
            "--tls-cert",
            type=EXISTING_FILE,
            envvar="LITTLED_TLS_CERT",
            help="Certificate in PEM to show, where the daemon asks for one.",
        ),
        click.option(
            "--tls-key",
            type=EXISTING_FILE,
            envvar="LITTLED_TLS_KEY",
            help="Its private key in PEM.",
        ),
        click.option(
            "--tls-server-name",
            metavar="NAME",
            envvar="LITTLED_TLS_SERVER_NAME",
            help="Name in the daemon's certificate, if not that of the address.",
        ),
        click.option(
            "--wait",
            type=click.FloatRange(0, WAIT_SECONDS_MAX),
            default=0.0,
            metavar="SECONDS",
            help="Keep trying for so long to reach a daemon that is just starting.",
        ),
    )


def token_option(command: Command) -> Command:
    """Add --token-file."""
    return click.option(
        "--token-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        envvar="LITTLED_TOKEN_FILE",
        help="File with the token that a daemon asks of peers on TCP.",
    )(command)


def read_token(path: Path | None) -> str | None:
    """The token in a file, without the line's end."""
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise Failure(f"cannot read the token file {path}") from None
    if not token:
        raise Failure(f"the token file {path} is empty")
    return token


def _chosen(given: tuple[tuple[Address, ...], ...]) -> tuple[Address, ...]:
    """The addresses given, or those that the environment suggests."""
    if given:
        return tuple(address for each in given for address in each)
    with explained(AddressError, status=WRONG_USE, before="LITTLED_ADDRESS: "):
        return default_addresses()
