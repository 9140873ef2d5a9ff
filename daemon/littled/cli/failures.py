"""How a command says that it failed: one sentence on standard error, and an exit status."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

FAILED = 1
WRONG_USE = 2
STORE_NEEDS_ATTENTION = 3
INTERRUPTED = 130


class Failure(Exception):
    """The command cannot go on; `sentence` says why and what would be right."""

    def __init__(self, sentence: str, status: int = FAILED) -> None:
        """Fail with this sentence and this exit status."""
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


@contextmanager
def explained(
    *kinds: type[Exception],
    status: int = FAILED,
    before: str = "",
    cut: str = "",
    after: str = "",
) -> Iterator[None]:
    """Turn exceptions of these kinds, whose text is a sentence, into a Failure.

    `before` is put in front of the sentence, once `cut` is taken from its beginning; `after` behind
    it.
    """
    try:
        yield
    except kinds as error:
        sentence = before + sentence_of(error).removeprefix(cut) + after
        raise Failure(sentence, status) from None


def sentence_of(error: Exception) -> str:
    """The sentence of an exception; system errors lose their number and keep their file."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}"
    return str(error)


def fail(sentence: str, status: int) -> int:
    """Print the sentence on standard error and return the exit status."""
    click.echo(f"{click.style('littled:', fg='red', bold=True)} {sentence}", file=sys.stderr)
    return status
