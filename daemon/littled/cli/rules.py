"""`littled rule`: published rules in words, as predictions, as JSON and as SQL."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import DaemonChoice, daemon_options
from littled.cli.output import console, print_json
from littled.cli.values import reader_of
from littled_client.errors import ClientError
from littled_protocol.columns import Points
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import (
    DIALECTS,
    Dialect,
    Rule,
    RuleError,
    Words,
    rule_from_dict,
    sql_function,
)

LINES_PER_BATCH = 10_000
FORMATS = ("json", "sql", "sql-function", "text")
RULE_BYTES_MAX = 4 << 20  # four times the largest frame that can carry a rule


@dataclass(frozen=True, slots=True)
class Found:
    """A rule, what its points and labels stand for, and what else is known about it."""

    rule: Rule
    words: Words
    facts: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The rule in one line."""
        return self.rule.describe(self.words)

    def to_dict(self) -> dict[str, Any]:
        """The same as a JSON object, as files of rules have it."""
        said = {
            "text": self.text,
            "words": self.words.to_dict(),
            "rule": self.rule.to_dict(),
        }
        return {**self.facts, **said}


@click.group()
def rule() -> None:
    """Show, evaluate and export a published rule.

    LEARNER is STREAM/LEARNER at a running daemon, or a JSON file that `rule export` wrote or that
    came over HTTP: a rule needs no daemon to be used. A file says what its points and labels stand
    for; one that does not is refused unless --raw is given.
    """


raw_option = click.option(
    "--raw", is_flag=True, help="Leave the words aside: values are points, and labels 0 and 1."
)


@rule.command()
@click.argument("learner")
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@raw_option
@daemon_options
def show(learner: str, as_json: bool, raw: bool, daemon: DaemonChoice) -> None:
    """Say the current rule of LEARNER in words."""
    found = find_rule(learner, daemon, raw=raw)
    if as_json:
        print_json(found.to_dict(), indent=2)
        return
    console().print(found.text)
    if {"version", "position"} <= found.facts.keys():
        version, position = found.facts["version"], found.facts["position"]
        console().print(f"version {version} of {learner}, after {position:,} examples")


@rule.command()
@click.argument("learner")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="json", show_default=True,
    help="What to write.",
)  # fmt: skip
@click.option("--column", default="x", show_default=True,
              help="Name of the SQL column, or of the function's argument.")  # fmt: skip
@click.option("--name", help="Name of the SQL function; else the learner's.")
@click.option("--dialect", type=click.Choice(DIALECTS), default="postgresql", show_default=True,
              help="The database that the SQL is for.")  # fmt: skip
@raw_option
@daemon_options
def export(
    learner: str,
    form: str,
    column: str,
    name: str | None,
    dialect: Dialect,
    raw: bool,
    daemon: DaemonChoice,
) -> None:
    """Write the current rule of LEARNER to standard output, to be used without a daemon.

    `sql` is an expression over a column that holds values as people read them: numbers in the
    stream's unit, IPv4 addresses as numbers, values of 128 bits as text of 32 small hexadecimal
    digits. `sql-function` is the statement that makes a function of such a value. NULL is never
    labeled 1.
    """
    found = find_rule(learner, daemon, raw=raw)
    if form == "json":
        print_json(found.to_dict())
    elif form == "text":
        click.echo(found.text)
    else:
        with explained(ValueError, status=WRONG_USE):
            if form == "sql":
                click.echo(found.rule.to_sql(found.words, column, dialect))
                return
            usual = str(found.facts.get("learner", "rule")).rpartition("/")[2]
            named = usual if name is None else name
            click.echo(sql_function(found.rule, found.words, named, dialect, column))


@rule.command("eval")
@click.argument("learner")
@click.argument("values", nargs=-1)
@click.option("--offset", type=int, help="The number that point 0 stands for; else the stream's.")
@click.option("--clip", type=int, nargs=2, default=None, metavar="LEAST MOST",
              help="Move every value into this range first.")  # fmt: skip
@click.option("--words", "in_words", is_flag=True, help="Print the labels' names, not 0 and 1.")
@click.option("--explain", is_flag=True,
              help="Of a scorecard: print the points of each column as well.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True,
              help="With --explain: one JSON object a line for each value.")  # fmt: skip
@raw_option
@daemon_options
def evaluate(
    learner: str,
    values: tuple[str, ...],
    offset: int | None,
    clip: tuple[int, int] | None,
    in_words: bool,
    explain: bool,
    as_json: bool,
    raw: bool,
    daemon: DaemonChoice,
) -> None:
    """Apply the current rule of LEARNER to VALUES, or to the lines of standard input.

    Prints one label a line. Values are the numbers that people read: the stream's offset is
    subtracted. Addresses are written as usual, features or columns of a row with commas between
    them. The
    values stay here: a published rule is evaluated by whoever asks. Put -- before negative values.

    With --explain it prints for each value the label's name, what each column adds, the constant
    and their sum.
    """
    if as_json and not explain:
        raise Failure("--json needs --explain; labels are a line each", WRONG_USE)
    found = find_rule(learner, daemon, raw=raw)
    rule, words = found.rule, found.words
    values_of = reader_of(rule.x_type, words, offset, clip)
    if offset is not None:
        words = replace(words, offset=offset)
    names = (words.negative, words.positive) if in_words else ("0", "1")
    lines: Iterable[str] = values or (line.strip() for line in sys.stdin)
    number = 0
    for batch in _batches(lines):
        points = values_of.points(batch, number)
        if explain:
            _print_explanations(rule, points, words, as_json=as_json)
        else:
            click.echo("\n".join(names[int(label)] for label in rule.evaluate(points)))
        number += len(batch)


def _print_explanations(rule: Rule, points: Points, words: Words, *, as_json: bool) -> None:
    """Why each point has its label; Failure for a rule that has no points to add up."""
    with explained(RuleError):
        found = rule.explain(points, words)
    for each in found:
        if as_json:
            print_json(each.to_dict())
        else:
            click.echo(str(each))


def find_rule(learner: str, daemon: DaemonChoice, *, raw: bool) -> Found:
    """A rule with its words from a file or from a daemon; the plain ones for `raw`.

    Failure where there is no rule, or nothing says what its points stand for.
    """
    if learner.endswith(".json"):
        rule, words, facts = read_rule(Path(learner))
    else:
        with explained(ClientError, ProtocolError), daemon.client() as client:
            published = client.latest(learner)
        if published is None or published.rule is None:
            raise Failure(f"{learner} has published no rule yet")
        rule, words, facts = published.rule, published.words, {**published.to_dict()}
    if raw:
        return Found(rule, Words(), facts)
    if words is None:
        raise Failure(f"{learner} does not say what its points stand for; use --raw to give points")
    return Found(rule, words, facts)


def read_rule(path: Path) -> tuple[Rule, Words | None, dict[str, Any]]:
    """The rule in a file, its words if it has any, and what else the file says."""
    try:
        with path.open("rb") as file:
            data = file.read(RULE_BYTES_MAX + 1)
        facts: dict[str, Any] = json.loads(data if len(data) <= RULE_BYTES_MAX else b"")
        if "rule" not in facts:  # a rule on its own, as `Rule.to_json` writes it
            return rule_from_dict(facts), None, {}
        found = rule_from_dict(facts["rule"])
        said = facts.get("words")
        words = None if said is None else Words.from_dict(said)
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
