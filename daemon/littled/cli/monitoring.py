"""`littled monitoring`: what is shipped for Prometheus and Grafana, to be put in its place."""

from __future__ import annotations

from importlib.resources import files

import click

FILES = {"alerts": "alerts.yml", "dashboard": "dashboard.json", "prometheus": "prometheus.yml"}


@click.command()
@click.argument("what", metavar="|".join(FILES), type=click.Choice(list(FILES)))
def monitoring(what: str) -> None:
    """Print alert rules for Prometheus, a dashboard for Grafana, or how to scrape the daemon.

    For example: littled monitoring alerts > alerts.yml
    """
    text = files("littled").joinpath("monitoring", FILES[what]).read_text(encoding="utf-8")
    click.echo(text, nl=False)
