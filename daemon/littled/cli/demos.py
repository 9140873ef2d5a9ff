"""`littled demo`: a daemon, a feeder and two subscribers, live on a year of flights."""

from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from littled.cli.failures import explained
from littled.cli.flights import (
    DELTA,
    EPSILON,
    LATE_MINUTES,
    LATE_MINUTES_THEN,
    DemoError,
    Errors,
)
from littled.cli.output import amount, number, print_json
from littled.cli.playing import Outcome, Release, Sight, run_demo, write_demo

RELEASES_SHOWN = 6
CARDS_TOLD = 12
# In a terminal the year takes long enough to be watched.
RATE_TO_WATCH = 50_000.0
BAR_WIDTH = 28
VIEWS_PER_SECOND = 10


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object as the last line.")
@click.option(
    "--rate",
    type=click.FloatRange(min=1),
    help=f"Feed at most so many flights a second; in a terminal {RATE_TO_WATCH:,.0f}, to be seen.",
)
@click.option(
    "--export",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write the demo's configuration and stream to this folder, to be run by hand.",
)
def demo(as_json: bool, rate: float | None, folder: Path | None) -> None:
    """Watch a daemon learn privately which flights arrive late, from a year of real flights.

    One learner publishes a threshold of the departure's delay, another a scorecard, which adds up
    points for the delay, the hour, the carrier, the weather and more. Halfway through the year
    "late" becomes another thing, which they have to notice. Starts a daemon on a store in a
    temporary folder, a feeder and two subscribers, each a process of its own, over real sockets.
    The learners see every flight once and may together spend (1.0, 1e-6) of differential privacy
    per flight.
    """
    screen = Console(stderr=as_json, highlight=False, markup=False)
    with explained(DemoError):
        if folder is not None:
            for path in write_demo(folder):
                screen.print(f"wrote {path}", soft_wrap=True)
            return
        if screen.is_terminal:
            outcome = _watched(screen, rate or RATE_TO_WATCH)
        else:
            outcome = _told(screen, rate)
    screen.print(summary(outcome))
    if as_json:
        print_json(outcome.to_dict())


def _watched(screen: Console, rate: float | None) -> Outcome:
    """Run the demo with a live view."""
    start = Text("starting a daemon, and reading a year of flights ...", style="dim")
    with Live(start, console=screen, refresh_per_second=VIEWS_PER_SECOND, transient=True) as live:
        return run_demo(lambda sight: live.update(view(sight)), rate)


def _told(screen: Console, rate: float | None) -> Outcome:
    """Run the demo with lines for what is published: nobody watches a screen."""
    told, cards_told = 0, 0

    def show(sight: Sight) -> None:
        nonlocal told, cards_told
        lines = list(sight.releases[told:])
        told = len(sight.releases)
        # of thousands of scorecards one for each part of the year
        if sight.cards and sight.cards[-1].position * CARDS_TOLD >= sight.examples * cards_told:
            lines.append(sight.cards[-1])
            cards_told = sight.cards[-1].position * CARDS_TOLD // sight.examples + 1
        for release in lines:
            screen.print(release_line(release), soft_wrap=True)

    return run_demo(show, rate)


def view(sight: Sight) -> RenderableType:
    """Everything worth seeing at one moment."""
    bars = Table.grid(padding=(0, 2))
    bars.add_row(
        Text("flights", style="dim"),
        ProgressBar(sight.examples, sight.position, width=BAR_WIDTH),
        f"{number(sight.position)} of {number(sight.examples)}, {sight.rate:,.0f}/s",
    )
    bars.add_row(
        Text("budget", style="dim"),
        ProgressBar(EPSILON, sight.epsilon_spent, width=BAR_WIDTH),
        f"epsilon {amount(sight.epsilon_spent)} of {EPSILON} spent",
    )
    lines = [
        Text(release_line(release), style="dim") for release in sight.releases[-RELEASES_SHOWN:-1]
    ]
    if sight.releases:
        lines.append(Text(release_line(sight.releases[-1]), style="bold green"))
    if sight.cards:
        lines += [Text(), Text(release_line(sight.cards[-1]), style="bold cyan")]
    return Panel(Group(bars, Text(), *lines), title="littled demo", expand=False)


def release_line(release: Release) -> str:
    """A release in one line."""
    what = release.text if release.kind == "rule" else f"{release.kind}: {release.text}"
    return f"after {release.position:>9,} flights  version {release.version:<4} {what}"


def summary(outcome: Outcome) -> RenderableType:
    """What was learned, how good it was and what it cost."""
    last = outcome.last
    table = Table(title="How often rules erred", title_justify="left")
    table.add_column("rule")
    for period in ("until June", "from July", "the year"):
        table.add_column(period, justify="right")
    table.add_row('always "not late"', *percents(outcome.never_late))
    table.add_row(f"{outcome.best_rule}   (the best, in hindsight)", *percents(outcome.best))
    table.add_row("published thresholds   (learned privately)", *percents(outcome.published),
                  style="bold green")  # fmt: skip
    table.add_row("published scorecards   (learned privately)", *percents(outcome.cards),
                  style="bold cyan")  # fmt: skip
    change = (
        f"Late was more than {LATE_MINUTES} minutes, and more than {LATE_MINUTES_THEN} from July "
        f"on. Nobody told the learners. The last threshold: {outcome.rule.text}."
    )
    thresholds, cards = (
        sum(release.kind == "rule" for release in releases)
        for releases in (last.releases, last.cards)
    )
    facts = (
        f"{number(last.examples)} flights in {last.seconds:.1f} s ({last.rate:,.0f}/s), "
        f"{thresholds} thresholds and {number(cards)} scorecards published, epsilon "
        f"{amount(last.epsilon_spent)} of {EPSILON} spent, delta {DELTA:g}."
    )
    meaning = (
        "With any one flight replaced, whatever anybody could see of this would have been about as "
        "likely: within a factor of e to the epsilon, up to delta. The errors were computed here, "
        "from the published rules; what a daemon tells of that itself has noise, and is paid for."
    )
    return Group(
        *(table, Text(change), Text(), points_table(outcome), Text(), decision(outcome), Text()),
        *(Text(facts), Text(meaning, style="dim")),
    )


def points_table(outcome: Outcome) -> RenderableType:
    """The columns of the last scorecard that matter most."""
    table = Table(title="The last scorecard: the columns that matter most", title_justify="left")
    table.add_column("most points", justify="right")
    table.add_column("if")
    table.add_column("fewest", justify="right")
    table.add_column("if")
    for column in outcome.columns:
        table.add_row(*(f"{column.most:+}", column.most_if, f"{column.least:+}", column.least_if))
    return table


def decision(outcome: Outcome) -> RenderableType:
    """Why the last late flight of the year is said to be late, or is not."""
    heading = "The year's last flight that was late, as this scorecard has it:"
    return Group(Text(heading), Text(str(outcome.decision)))


def percents(errors: Errors) -> tuple[str, str, str]:
    """Shares before and after the change, and of the year."""
    return percent(errors.before), percent(errors.after), percent(errors.year)


def percent(share: float) -> str:
    """A share of the year: 10.04 %."""
    return f"{100 * share:.2f} %"
