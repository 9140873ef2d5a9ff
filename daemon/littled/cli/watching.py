"""`littled watch` and `littled status`: what a daemon publishes and says about itself."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, ClassVar, Protocol

import click
from rich.table import Table

from littled.cli.failures import Failure, explained
from littled.cli.health import check_health
from littled.cli.options import DaemonChoice, daemon_options
from littled.cli.output import amount, console, number, print_json
from littled.cli.quality import quality_table
from littled.cli.spending import epsilon_spent
from littled.cli.tabling import print_table
from littled.kinds import KINDS, USUAL, UnknownKind, kind_of, load
from littled_client.conversation import newest_version
from littled_client.errors import ClientError
from littled_client.published import Published
from littled_protocol.errors import ProtocolError

# What a release says beside its rule.
RELEASES = {"rule": "", "halt": "budget spent, last rule: ", "season": "new season, still: "}
# With more streams each gets a line, and no table.
STREAMS_IN_FULL_MAX = 16
# What makes the name of a stream a pattern.
WILD = frozenset("*?[")


class KindStatus(Protocol):
    """How the public facts of one kind of learner are shown; `heading` says what they give."""

    heading: ClassVar[str]

    def table(self, title: str, learners: Mapping[str, Any]) -> Table:
        """Learners of this kind, by name, with their facts."""


@click.command()
@click.argument("learner", metavar="STREAM/LEARNER")
@click.option(
    "--since", type=click.IntRange(min=0), default=0, metavar="VERSION", show_default=True,
    help="Print what was published after this version.",
)  # fmt: skip
@click.option("--count", type=click.IntRange(min=1), help="Stop after so many lines.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@daemon_options
def watch(
    learner: str,
    since: int,
    count: int | None,
    as_json: bool,
    daemon: DaemonChoice,
) -> None:
    """Print a line for everything that a learner publishes, until interrupted.

    What is published is public: watching costs no budget, and rules can be kept and used anywhere.
    """
    with explained(ClientError, ProtocolError):
        with daemon.client() as client:
            facts = client.status(learner.partition("/")[0])
        newest_version(facts, learner)  # an unknown learner, or one without rules, is named here
        # Outside the block: the subscription has a connection of its own, and an idle one beside it
        # would keep a daemon that stops waiting for it.
        for published in islice(client.subscribe(learner, since), count):
            if as_json:
                print_json(published.to_dict())
            else:
                console().print(release_line(published))


def release_line(published: Published) -> str:
    """A release as a line for people."""
    what = RELEASES.get(published.kind, f"{published.kind}: ") + published.describe()
    return f"version {published.version:<4} after {published.position:>12,} examples   {what}"


@click.command()
@click.argument("pattern", metavar="[STREAM]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@click.option(
    "--healthz", metavar="URL",
    help="Print nothing, and only ask http://HOST:PORT or https://HOST:PORT, a daemon's --http, "
    "whether commits go through; exit status 1 if not.",
)  # fmt: skip
@daemon_options
def status(pattern: str | None, as_json: bool, healthz: str | None, daemon: DaemonChoice) -> None:
    """Show streams, learners, versions, rules and budgets of a daemon: public facts only.

    STREAM is the name of one, or a pattern such as 'shop-*'. More than a few streams get one line
    each.
    """
    if healthz is not None:
        check_health(healthz, daemon.tls)
        return
    with explained(ClientError, ProtocolError), daemon.client() as client:
        plain = pattern is not None and not WILD & set(pattern)
        body = client.status(pattern if plain else None)
    body = {**body, "streams": _matching(body["streams"], pattern)}
    if as_json:
        print_json(body, indent=2)
        return
    console().print(f"littled at {daemon.address}")
    if len(body["streams"]) > STREAMS_IN_FULL_MAX:
        print_table(streams_table(body["streams"]))
        return
    for name, stream in body["streams"].items():
        for table in stream_tables(name, stream):
            print_table(table)


def _matching(streams: dict[str, Any], pattern: str | None) -> dict[str, Any]:
    """The streams whose names match; Failure where there are none."""
    if pattern is None:
        return streams
    found = {name: facts for name, facts in streams.items() if fnmatchcase(name, pattern)}
    if not found:
        raise Failure(f"the daemon has no stream {pattern}")
    return found


def streams_table(streams: Mapping[str, Mapping[str, Any]]) -> Table:
    """A line for each stream."""
    closed = sum(bool(stream.get("closed")) for stream in streams.values())
    ended = f", {number(closed)} of them closed" if closed else ""
    title = f"{number(len(streams))} streams{ended}; littled status STREAM shows one with its rules"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("stream", "examples", "season", "epsilon spent", "of", "learners", "halted", ""):
        table.add_column(column, justify="left" if column in ("stream", "") else "right")
    for name, stream in streams.items():
        learners = stream["learners"].values()
        table.add_row(
            *(name, number(stream["position"]), str(stream["season"])),
            *(amount(epsilon_spent(stream)), amount(stream["epsilon"])),
            *(str(len(learners)), str(sum(bool(facts.get("halted")) for facts in learners))),
            "closed" if stream.get("closed") else "",
        )
    return table


def stream_tables(name: str, stream: Mapping[str, Any]) -> Iterator[Table]:
    """A stream and its learners, for people; a table for each kind of them."""
    spent, budget = amount(epsilon_spent(stream)), amount(stream["epsilon"])
    whose = " for each user" if stream.get("unit") == "user" else ""
    prepaid = stream.get("epsilon_prepaid", 0.0)
    paid = f"; {amount(prepaid)} of it is paid in advance for the whole season" if prepaid else ""
    title = (
        f"{name}: {number(stream['position'])} examples, season {stream['season']} of "
        f"{number(stream['horizon'])} examples each, epsilon {spent} of {budget} spent{whose} "
        f"(delta {amount(stream['delta'])}){paid}"
    )
    if stream.get("closed"):
        title += "; closed"
    if stream.get("restores"):
        title += f"; restored from a copy, {number(stream['restores'])} times in all"
    shown: dict[str, dict[str, Any]] = {}
    for learner, facts in stream["learners"].items():
        with explained(UnknownKind, before=f"{name}/{learner}: "):
            kind = kind_of(facts.get("kind", USUAL)).name
        shown.setdefault(kind, {})[learner] = facts
    first = True
    for kind, part in KINDS.items():
        if kind in shown:
            status: type[KindStatus] = load(part.status)
            table = status()
            yield table.table(title if first else f"{name}: {table.heading}", shown[kind])
            first = False
    measured = quality_table(name, stream["learners"])
    if measured is not None:
        yield measured
