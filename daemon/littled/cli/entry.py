"""The entry point: finds the command, and turns whatever goes wrong into one sentence.

Exit status 0 means done, 1 that something failed, 2 that the command line or the configuration is
wrong, 3 that a store must not be used before somebody has looked at it, 130 an interruption.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from littled.cli.failures import FAILED, INTERRUPTED, Failure, fail

# Command -> (module, attribute, one line of help). Nothing is imported before it is asked for.
COMMANDS = {
    "init": ("stores", "init", "Create a store from a configuration."),
    "serve": ("serving", "serve", "Run the daemon on a store."),
    "feed": ("feeding", "feed", "Feed labelled examples from a file or standard input."),
    "watch": ("watching", "watch", "Print the rules of a learner as they are published."),
    "forward": ("forwarding", "forward", "Post what learners publish to a webhook."),
    "status": ("watching", "status", "Show what a daemon is doing, and what it has spent."),
    "rule": ("rules", "rule", "Show, evaluate and export a published rule."),
    "predict": ("predicting", "predict", "Ask a learner that answers questions."),
    "record": ("recordings", "record", "Write a recording from a file of examples."),
    "replay": ("recordings", "replay", "Feed a recording."),
    "plan": ("plans", "plan", "Show what a budget buys before anything is created."),
    "backtest": ("backtesting", "backtest", "Run learners over a file, and count their mistakes."),
    "columns": ("drafting", "columns", "Draft the columns of a stream from a public sample."),
    "check": ("checking", "check", "Check a configuration, and a file, before they are used."),
    "dim": ("dimensions", "dim", "Show the dimensions of a table of rules."),
    "verify": ("verifying", "verify", "Check a store offline: chain, ledger, budget."),
    "ledger": ("ledgers", "ledger", "Show what was charged, also for other accountants."),
    "stream": ("streams", "stream", "Add streams to a store, or close one for ever."),
    "group": ("group", "group", "Serve the streams of several stores on several machines."),
    "archive": ("archiving", "archive", "Move the oldest records of a store into files."),
    "copy": ("copying", "copy", "Move a store to another folder or database."),
    "restore": ("restoring", "restore", "Go on from an older copy of a store."),
    "monitoring": ("monitoring", "monitoring", "Print alerts, a dashboard, or how to scrape."),
    "systemd": ("units", "systemd", "Print units for systemd."),
    "completion": ("completion", "completion", "Print a script that completes for a shell."),
    "docs": ("documents", "docs", "Print a page of the documents."),
    "audit": ("auditing", "audit", "Try to disprove the claims of a plan, by running the engine."),
    "demo": ("demos", "demo", "Watch a daemon learn from a year of flights."),
}


class CommandGroup(click.Group):
    """A group whose commands live in modules that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(f"littled.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table above: help must not import every module."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="littled", message="%(package)s %(version)s")
def group() -> None:
    """Learn rules from private streams of labelled examples, under a hard privacy budget."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `littled` with `arguments` (those of the process when None) and exit."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; errors are printed as one sentence."""
    try:
        group.main(args=arguments, prog_name="littled", standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - whatever it was, it ends in a sentence
        return explain(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def explain(error: Exception) -> int:
    """Print the sentence of what ended a command, and return the exit status."""
    match error:
        case Failure():
            return fail(error.sentence, error.status)
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message())
            return error.exit_code
        case click.ClickException():
            return fail(usage_sentence(error), error.exit_code)
        case click.Abort():
            return INTERRUPTED
        case BrokenPipeError():
            # the reader of a pipe has gone (`littled watch | head`): nobody is left to tell
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
    # A defect. Its text may quote private values, so only its place is told.
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return fail(f"this is a defect of littled: {type(error).__name__} in {where}", FAILED)


def usage_sentence(error: click.ClickException) -> str:
    """What click says about a command line, as one sentence that ends in where to look."""
    sentence = error.format_message().rstrip(".").replace(". Did you mean", ", did you mean")
    if not isinstance(error, click.UsageError):
        return sentence
    command = error.ctx.command_path if error.ctx else "littled"
    return f"{sentence[:1].lower()}{sentence[1:]} (see {command} --help)"
