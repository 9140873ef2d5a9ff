"""Where heavy work runs that is not the daemon's: here, or on the workers of a Dask cluster.

Audits, plans and benchmarks are many pure functions of what they are given, so they come to the
same wherever they run. Nothing of a store leaves this machine with them: an audit makes up its
streams and has keys of its own. Still, a worker runs whatever a scheduler
sends it, so a cluster on other machines is spoken to over mutual TLS only. Trainings of a daemon
go there only where somebody wants it (`littled.service.training`).

Needs the package `distributed` (`pip install 'littled[dask]'`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

SCHEME: Final = "dask"
# A worker that does not answer for so long is given up.
CONNECT_SECONDS: Final = 10
# A task whose worker is lost is run once more on another one, so often.
RETRIES: Final = 3


class ExecutorError(Exception):
    """A cluster cannot be had, in one sentence."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files in PEM for mutual TLS: who vouches for the cluster, and who this process is."""

    authorities: Path
    certificate: Path
    key: Path


@contextmanager
def cluster(address: str, certificates: Certificates | None = None) -> Iterator[Executor]:
    """The workers behind `dask://HOST:PORT`, a Dask scheduler, as an executor.

    Without certificates the host has to be this machine. Raises ExecutorError for an address that
    is none, certificates that cannot be used, a scheduler that does not answer, and workers that
    are missing or run another version of this program or of Python.
    """
    host, port = _place(address)
    if certificates is None and not _is_here(host):
        raise ExecutorError(
            f"{address} is another machine, so it needs TLS: give --executor-ca, --executor-cert "
            "and --executor-key"
        )
    client = _connected(address, host, port, certificates)
    try:
        _check_workers(address, client)
        with client.get_executor(pure=False, retries=RETRIES) as executor:
            yield executor
    finally:
        client.close(timeout=CONNECT_SECONDS)


def _place(address: str) -> tuple[str, int]:
    """Host and port of an address. ExecutorError."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    bare = host and port and not (parts.path or parts.query or parts.fragment or parts.username)
    if not bare or parts.scheme != SCHEME or host is None or port is None:
        raise ExecutorError(f"{address!r} is no address of a cluster: write dask://HOST:PORT")
    return host, port


def _is_here(host: str) -> bool:
    """Whether a host is this machine by its name or address alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _connected(address: str, host: str, port: int, certificates: Certificates | None) -> Any:
    """A client of the scheduler. ExecutorError."""
    try:
        from distributed import Client  # noqa: PLC0415 - an extra, and slow to import
        from distributed.security import Security  # noqa: PLC0415 - the same
    except ModuleNotFoundError:
        raise ExecutorError(
            "a cluster needs the package distributed; install it with: pip install 'littled[dask]'"
        ) from None
    at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        security = None
        if certificates is not None:
            security = Security(  # type: ignore[no-untyped-call]
                require_encryption=True,
                tls_ca_file=str(certificates.authorities),
                tls_client_cert=str(certificates.certificate),
                tls_client_key=str(certificates.key),
            )
        scheme = "tcp" if certificates is None else "tls"
        return Client(  # type: ignore[no-untyped-call]
            f"{scheme}://{at}", security=security, timeout=CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError, TimeoutError) as error:
        why = (
            "a certificate or key cannot be read"
            if isinstance(error, FileNotFoundError)
            else "no scheduler answers there, or TLS is not what it expects"
        )
        raise ExecutorError(f"{address} cannot be reached: {why}") from None


def _check_workers(address: str, client: Any) -> None:
    """ExecutorError unless there are workers, and they run what runs here."""
    found: dict[str, tuple[str, str] | None] = client.run(_versions, on_error="return")
    if not found:
        raise ExecutorError(f"{address} has no workers: start some with dask worker")
    here = _versions()
    for worker, there in found.items():
        if there != here:
            told = "no littled"
            if isinstance(there, tuple):
                told = f"littled {there[0]} and numpy {there[1]}"
            raise ExecutorError(
                f"the worker {worker} has {told}, and here are littled {here[0]} and numpy "
                f"{here[1]}: install the same there"
            )


def _versions() -> tuple[str, str]:
    """What results may depend on."""
    return version("littled"), version("numpy")
