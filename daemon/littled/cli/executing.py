"""Options that say where heavy work runs: here, or on a cluster."""

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import EXISTING_FILE, with_options
from littled.executors import Certificates, ExecutorError, cluster


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """Where heavy work runs: on a cluster, or here."""

    address: str | None
    certificates: Certificates | None

    @contextmanager
    def running(self, *, of_examples: bool = False) -> Iterator[Executor | None]:
        """The cluster; None for here. Failure where it cannot be had.

        of_examples: whether examples are sent, for which even this machine's network is not enough.
        """
        if self.address is None:
            yield None
            return
        if of_examples and self.certificates is None:
            raise Failure(
                "trainings send examples, so --executor needs TLS here: give --executor-ca, "
                "--executor-cert and --executor-key",
                WRONG_USE,
            )
        with ExitStack() as stack:
            with explained(ExecutorError):
                executor = stack.enter_context(cluster(self.address, self.certificates))
            yield executor


def executor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where heavy work runs; the command gets `executor`."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        executor: str | None,
        executor_ca: Path | None,
        executor_cert: Path | None,
        executor_key: Path | None,
        **kwargs: Any,
    ) -> Any:
        files = (executor_ca, executor_cert, executor_key)
        if any(files) and (executor is None or None in files):
            raise Failure(
                "--executor-ca, --executor-cert and --executor-key go together with --executor",
                WRONG_USE,
            )
        certificates = None
        if executor_ca is not None and executor_cert is not None and executor_key is not None:
            certificates = Certificates(executor_ca, executor_cert, executor_key)
        return command(*args, executor=ExecutorChoice(executor, certificates), **kwargs)

    return with_options(
        wrapped,
        click.option(
            "--executor",
            metavar="dask://HOST:PORT",
            help="Run on the workers of this Dask scheduler, in place of processes here.",
        ),
        click.option(
            "--executor-ca",
            type=EXISTING_FILE,
            help="Authorities in PEM that vouch for the cluster.",
        ),
        click.option(
            "--executor-cert", type=EXISTING_FILE, help="Certificate in PEM to show to the cluster."
        ),
        click.option("--executor-key", type=EXISTING_FILE, help="Its private key in PEM."),
    )
