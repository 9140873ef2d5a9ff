"""`littled systemd print`: the units that are shipped, to be put in their place."""

from __future__ import annotations

from importlib.resources import files

import click

UNITS = (
    "littled.service",
    "littled.socket",
    "littled-http.socket",
    "littled-feed@.service",
    "littled-forward@.service",
    "littled-member.service",
    "littled.conf",
)


@click.group()
def systemd() -> None:
    """Units for systemd: a service with a tight sandbox, its sockets, and a group for clients."""


@systemd.command("print")
@click.argument("unit", type=click.Choice(UNITS))
def print_unit(unit: str) -> None:
    """Print a unit; littled.conf is for sysusers.d. The service's first lines say how to set it up.

    For example: littled systemd print littled.service > /etc/systemd/system/littled.service
    """
    text = files("littled").joinpath("systemd", unit).read_text(encoding="utf-8")
    click.echo(text, nl=False)
