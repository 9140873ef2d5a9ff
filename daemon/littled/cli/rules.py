"""`littled rule`: published rules in words, as predictions, as JSON and as SQL."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import DaemonChoice, daemon_options
from littled.cli.output import console, print_json
from littled.cli.values import Values
from littled.cli.watching import release_facts, words_of
from littled_client.errors import ClientError
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import Rule, Words, rule_from_dict

LINES_PER_BATCH = 10_000
RULE_BYTES_MAX = 4 << 20  # four times the largest frame that can carry a rule


@click.group()
def rule() -> None:
    """Show, evaluate and export a published rule.

    LEARNER is STREAM/LEARNER at a running daemon, or a JSON file that `rule export` wrote: a rule
    needs no daemon to be used.
    """


@rule.command()
@click.argument("learner")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@daemon_options
def show(learner: str, as_json: bool, daemon: DaemonChoice) -> None:
    """Say the current rule of LEARNER in words."""
    found, words, facts = find_rule(learner, daemon)
    if as_json:
        print_json(facts, indent=2)
        return
    console().print(found.describe(words))
    if "version" in facts:
        console().print(
            f"version {facts['version']} of {learner}, after {facts['position']:,} examples"
        )


@rule.command()
@click.argument("learner")
@click.option(
    "--format", "form", type=click.Choice(["json", "sql", "text"]), default="json",
    show_default=True, help="What to write.",
)  # fmt: skip
@click.option("--column", default="x", show_default=True, help="Name of the SQL column.")
@daemon_options
def export(learner: str, form: str, column: str, daemon: DaemonChoice) -> None:
    """Write the current rule of LEARNER to standard output, to be used without a daemon."""
    found, words, facts = find_rule(learner, daemon)
    if form == "json":
        print_json({**facts, "words": words.to_dict()})
    elif form == "sql":
        with explained(ValueError, status=WRONG_USE):
            click.echo(found.to_sql(words, column))
    else:
        click.echo(found.describe(words))


@rule.command("eval")
@click.argument("learner")
@click.argument("values", nargs=-1)
@click.option("--offset", type=int, help="The number that point 0 stands for; else the stream's.")
@click.option("--clip", type=int, nargs=2, default=None, metavar="LEAST MOST",
              help="Move every value into this range first.")  # fmt: skip
@click.option("--words", "in_words", is_flag=True, help="Print the labels' names, not 0 and 1.")
@daemon_options
def evaluate(
    learner: str,
    values: tuple[str, ...],
    offset: int | None,
    clip: tuple[int, int] | None,
    in_words: bool,
    daemon: DaemonChoice,
) -> None:
    """Apply the current rule of LEARNER to VALUES, or to the lines of standard input.

    Prints one label a line. Values are the numbers that people read: the stream's offset is
    subtracted. Addresses are written as usual, features of a row with commas between them. The
    values stay here: a published rule is evaluated by whoever asks. Put -- before negative values.
    """
    found, words, _ = find_rule(learner, daemon)
    shift = words.offset_of(found.x_type) if offset is None else offset
    values_of = Values(found.x_type, shift, clip)
    names = (words.negative, words.positive) if in_words else ("0", "1")
    lines: Iterable[str] = values or (line.strip() for line in sys.stdin)
    number = 0
    for batch in _batches(lines):
        labels = found.evaluate(values_of.points(batch, number))
        click.echo("\n".join(names[int(label)] for label in labels))
        number += len(batch)


def find_rule(learner: str, daemon: DaemonChoice) -> tuple[Rule, Words, dict[str, Any]]:
    """A rule, its words and what is known about it, from a file or from a daemon."""
    if learner.endswith(".json"):
        return read_rule(Path(learner))
    with explained(ClientError, ProtocolError), daemon.client() as client:
        published = client.latest(learner)
        words = words_of(client.status(), learner)
    if published is None or published.rule is None:
        raise Failure(f"{learner} has published no rule yet")
    return published.rule, words, release_facts(published, words)


def read_rule(path: Path) -> tuple[Rule, Words, dict[str, Any]]:
    """The rule in a file that `rule export` wrote."""
    try:
        with path.open("rb") as file:
            data = file.read(RULE_BYTES_MAX + 1)
        facts: dict[str, Any] = json.loads(data if len(data) <= RULE_BYTES_MAX else b"")
        found = rule_from_dict(facts.get("rule", facts))
        words = Words.from_dict(facts.get("words", {}))
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, AttributeError, RecursionError, ProtocolError):
        raise Failure(f"{path} is no rule as `littled rule export` writes it") from None
    return found, words, facts


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines in lists; one by one from a person, who waits for the answer."""
    remaining, count = iter(lines), 1 if sys.stdin.isatty() else LINES_PER_BATCH
    while batch := list(islice(remaining, count)):
        yield batch
