"""`littled ledger`: what a store was charged, for people and for other accountants."""

from typing import Any, cast

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from littled.budget.price import Price
from littled.budget.rounding import in_words
from littled.budget.statement import Form
from littled.cli.failures import WRONG_USE, explained
from littled.cli.output import amount, console, number, print_json
from littled.cli.storing import StoreFiles, store_argument, store_options
from littled.store.errors import StoreError
from littled.store.place import StorePath
from littled.store.statement import FORMS, NoSuchStream, ledger_of


@click.command()
@store_argument
@click.option("--stream", metavar="NAME", help="This stream only.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", *FORMS]),
    default="text",
    show_default=True,
    help="For people, or one JSON object: with charges, and with what dp_accounting or OpenDP "
    "compose as well.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@store_options
def ledger(
    store: StorePath, stream: str | None, form: str, as_json: bool, files: StoreFiles
) -> None:
    """Show what every season of STORE was charged, offline; nothing is changed.

    docs/ledger.md has the few lines of Python with which dp_accounting and OpenDP come to the same
    epsilon from the JSON. That every charge is the price of what was done is checked by littled
    verify.
    """
    for_people = form == "text" and not as_json
    chosen = cast("Form", "json" if form == "text" else form)
    with explained(NoSuchStream, status=WRONG_USE), explained(StoreError):
        found = ledger_of(
            store, form=chosen, stream=stream, key_path=files.key, mark_path=files.mark
        )
    if for_people:
        for name, facts in found["streams"].items():
            print_stream(name, facts)
    else:
        print_json(found, indent=2)


def print_stream(name: str, facts: dict[str, Any]) -> None:
    """The seasons of a stream, for people."""
    screen = console()
    budget = facts["budget"]
    of = f"of {amount(budget['epsilon'])} at delta {amount(budget['delta'])}"
    if not facts["seasons"]:
        screen.print(f"{name}: nothing was charged yet, {of}")
    for season in facts["seasons"]:
        screen.print(
            f"{name}, season {season['season']}: epsilon {amount(season['epsilon'])} {of}, "
            f"for each {facts['unit']}"
        )
        screen.print(charges_table(season))
        if season["answered"]["requests"]:
            screen.print(f"paid for by this season: {answered_line(**season['answered'])}")


def answered_line(requests: int, answers: int) -> str:
    """How much was answered."""
    return (
        f"{number(answers)} {'answer' if answers == 1 else 'answers'} to "
        f"{number(requests)} {'request' if requests == 1 else 'requests'}"
    )


def charges_table(season: dict[str, Any]) -> Table:
    """The charges of a season, equal ones in one row, with their sum."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("learner")
    table.add_column("charge")
    total = Price.from_dict(season["spent"])
    for heading in ("times", *total.told):
        table.add_column(heading, justify="right")
    for charge in season["charges"]:
        price = Price.from_dict(charge["price"]) * charge["count"]
        kind = str(charge["event"].get("type", "-"))
        amounts = (in_words(getattr(price, name)) for name in total.told)
        table.add_row(charge["learner"] or "-", kind, number(charge["count"]), *amounts)
    table.add_section()
    table.add_row("all", "", "", *(in_words(getattr(total, name)) for name in total.told))
    return table
