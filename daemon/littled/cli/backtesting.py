"""`littled backtest`: what a daemon would have published on a file, without a daemon or a store."""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from littled.classes.hypothesis import HypothesisClass
from littled.cli.columns import SourceChoice, StreamInput, source_options
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.output import amount, notes, number, print_json, print_pairs
from littled.cli.presenting import chosen_notes
from littled.cli.quality import error_words
from littled.cli.spending import epsilon_spent
from littled.cli.stores import planned
from littled.configuration import ConfigurationError, StreamConfiguration, load_configuration
from littled.engine import Progress, Runner, progressive
from littled.engine.quality import figure_facts
from littled.planner import StreamPlan
from littled.planner.plans import PublishingPlan
from littled.programs.plots import NO_MATPLOTLIB, plot_budget, plot_mistakes, plot_rules
from littled.programs.spending import spending_of
from littled_client.errors import ClientError
from littled_client.sources import Batch
from littled_protocol.columns import Labels, Points
from littled_protocol.rules import Rule

SEED_MAX = 2**63 - 1
KEY_BYTES = 32
PLOT_SUFFIXES = (".png", ".svg", ".pdf")
# The keys of the last line of --json, for programs: neither more nor less.
LAST_LINE = (
    "examples",
    "progressive_error",
    "final_error",
    "majority_error",
    "releases",
    "halted",
    "epsilon",
    "epsilon_spent",
    "delta",
    "seconds",
    "rule",
)


@dataclass(slots=True)
class Kept:
    """The examples of a file, as they were read."""

    x: list[Points] = field(default_factory=list)
    y: list[Labels] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self.y))

    def majority_error(self) -> float:
        """How often the better one of the two constants is wrong."""
        positives = sum(int(np.count_nonzero(y)) for y in self.y)
        return min(positives, self.count - positives) / self.count

    def seen_by(self, view: Callable[[Points], Points] | None) -> "Kept":
        """The same as a learner sees them."""
        return self if view is None else Kept([view(x) for x in self.x], self.y)

    def error(self, rule: Rule) -> float:
        """How often a rule is wrong."""
        parts = zip(self.x, self.y, strict=True)
        wrong = sum(int(np.count_nonzero(rule.evaluate(x) != y)) for x, y in parts)
        return wrong / self.count

    def best(self, hypotheses: HypothesisClass) -> Rule | None:
        """The rule of a class that is wrong most seldom; None where they are too many to weigh."""
        dense = hypotheses.dense
        if dense is None:
            return None
        statistics = dense.empty_statistics()
        for x, y in zip(self.x, self.y, strict=True):
            statistics = dense.add(statistics, x, y)
        return dense.rule(int(dense.scores(statistics).argmax()))


@click.command()
@click.argument("stream")
@source_options
@click.option(
    "--config",
    "configuration",
    required=True,
    type=click.Path(path_type=Path),
    help="TOML file that names the stream, its budget and its learners.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, SEED_MAX),
    help="Draw the noise from this number, to see the same again; else it is new every time.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw mistakes, rules and budget into this new file (.png, .svg, .pdf); needs matplotlib.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for each learner, and last the figures of the best one.",
)
def backtest(
    stream: str,
    source: SourceChoice,
    configuration: Path,
    seed: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Run the learners of STREAM over FILE in this process, and say how good their rules were.

    Nothing is stored and no budget of any daemon is spent. What is printed is not private: it
    counts mistakes on the examples of FILE, which a daemon never does. Each example is judged by
    the rule that was published when it came (progressive error), and all of them by the last rule
    (final error).
    """
    with explained(ConfigurationError, status=WRONG_USE):
        streams = load_configuration(configuration).streams
    if stream not in streams:
        known = ", ".join(streams)
        raise Failure(f"{configuration} has no stream {stream}; it has {known}", WRONG_USE)
    _check(streams[stream], source, plot)
    plan = planned(streams[stream])
    if not plan.publishing:
        raise Failure(f"{stream} has no learner that publishes rules", WRONG_USE)
    for note in chosen_notes(streams[stream]):
        notes().print(f"note: {note}")
    notes().print("note: this is not private; it tells how often rules were wrong about the file")
    runner = Runner(plan, _key(seed))
    started = time.monotonic()
    kept = Kept()
    with explained(ClientError):
        found = progressive(runner, _read(source, plan, kept))
    seconds = time.monotonic() - started
    if not kept.count:
        raise Failure(f"{source.file} holds no example")
    facts = [_facts(runner, one, found[one.name], kept, seconds) for one in plan.publishing]
    if as_json:
        for fact in facts:
            print_json(fact)
        best = min(facts, key=lambda fact: float(fact["progressive_error"]))
        print_json({key: best[key] for key in LAST_LINE})
    else:
        for fact in facts:
            print_pairs(_said(fact))
    if plot is not None:
        draw(plot, stream, runner, found, kept.majority_error())
        notes().print(f"wrote {plot}")


def _check(stream: StreamConfiguration, source: SourceChoice, plot: Path | None) -> None:
    """Failure for what can be seen to be wrong before anything is planned or read."""
    names_users = source.names_users(StreamInput("", schema=stream.table_schema))
    if names_users is not None and names_users != (stream.unit == "user"):
        if names_users:
            raise Failure(f"{stream.name} protects single examples; leave --user away", WRONG_USE)
        raise Failure(f"{stream.name} protects users; name their column: --user COL", WRONG_USE)
    if plot is None:
        return
    if plot.suffix not in PLOT_SUFFIXES:
        raise Failure(f"--plot needs a file that ends in {', '.join(PLOT_SUFFIXES)}", WRONG_USE)
    if plot.exists():
        raise Failure(f"{plot} exists; name a new file", WRONG_USE)
    if find_spec("matplotlib") is None:
        raise Failure(NO_MATPLOTLIB)


def _key(seed: int | None) -> bytes:
    """The noise key of a seed."""
    if seed is None:
        return secrets.token_bytes(KEY_BYTES)
    return hashlib.blake2b(str(seed).encode(), digest_size=KEY_BYTES, person=b"backtest").digest()


def _read(source: SourceChoice, plan: StreamPlan, kept: Kept) -> Iterator[Batch]:
    """The batches of the file, remembered on the way."""
    for batch in source.open(StreamInput(plan.x_type, plan.plans[0].words, plan.schema)):
        kept.x.append(batch[0])
        kept.y.append(batch[1])
        yield batch


def _facts(
    runner: Runner, learner: PublishingPlan[Any], progress: Progress, kept: Kept, seconds: float
) -> dict[str, Any]:
    """What there is to say of one learner, JSON-able."""
    published, kept = runner.published(learner.name), kept.seen_by(runner.plan.view(learner))
    best = kept.best(learner.hypotheses)
    status = runner.status()
    return {
        "learner": f"{runner.plan.stream}/{learner.name}",
        "examples": kept.count,
        "progressive_error": progress.mistakes / kept.count,
        "final_error": kept.error(published[-1].rule),
        "majority_error": kept.majority_error(),
        "best_error": None if best is None else kept.error(best),
        "best_rule": None if best is None else best.describe(learner.words),
        "releases": sum(release.kind == "rule" for release in published),
        "halted": status["learners"][learner.name]["halted"],
        "epsilon": float(runner.plan.epsilon),
        "epsilon_spent": epsilon_spent(status),
        "delta": float(runner.plan.delta),
        "seconds": round(seconds, 3),
        "rule": published[-1].rule.describe(learner.words),
        **_measured(runner, learner),
    }


def _measured(runner: Runner, learner: PublishingPlan[Any]) -> dict[str, Any]:
    """What a daemon would have told of how good the rules are, where they are measured."""
    settings = learner.quality
    if settings is None:
        return {}
    figures = runner.figures(learner.name)
    return {"quality": [figure_facts(settings, figure) for figure in figures]}


def _said(fact: dict[str, Any]) -> dict[str, str]:
    """The same for people: what it is, and what there is to say."""
    return {
        "learner": fact["learner"],
        "examples": number(fact["examples"]),
        "progressive error": f"{_percent(fact['progressive_error'])} "
        "(of the rule that was published when an example came)",
        "final error": f"{_percent(fact['final_error'])} (of the last rule, on all examples)",
        "best rule": _best(fact),
        "majority error": f"{_percent(fact['majority_error'])} (of always the same label)",
        "releases": f"{number(fact['releases'])}{' and halted' if fact['halted'] else ''}",
        "budget": f"epsilon {amount(fact['epsilon_spent'])} of {amount(fact['epsilon'])} spent "
        f"by the stream's learners, delta {amount(fact['delta'])}",
        "seconds": f"{fact['seconds']:.1f}",
        "rule": fact["rule"],
        **({"quality": _told(fact["quality"])} if "quality" in fact else {}),
    }


def _told(figures: list[dict[str, Any]]) -> str:
    """The last of a learner's figures, which are private as the rules are."""
    if not figures:
        return "a daemon would have told nothing yet: no period is full"
    last = figures[-1]
    return (
        f"{error_words(last)} is what a daemon would tell of the rules in force from "
        f"{number(last['first_position'])} to {number(last['position'] - 1)}, the last of "
        f"{number(len(figures))} periods"
    )


def _best(fact: dict[str, Any]) -> str:
    if fact["best_rule"] is None:
        return "- (too many rules to weigh them all)"
    return f"{_percent(fact['best_error'])} ({fact['best_rule']}, in hindsight)"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def draw(
    file: Path, stream: str, runner: Runner, found: dict[str, Progress], majority: float
) -> None:
    """Draw mistakes over the positions, the rules of each learner, and the budget."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    rows = 2 + len(found)
    figure = Figure(figsize=(8, 3 * rows), layout="constrained")
    panels = figure.subplots(rows)
    figure.suptitle(stream)
    for index, (name, progress) in enumerate(found.items()):
        wrong = np.concatenate(progress.wrong)
        plot_mistakes(wrong, label=name, color=f"C{index}", axes=panels[0])
        learner = next(plan for plan in runner.plan.publishing if plan.name == name)
        rules = panels[1 + index]
        plot_rules(
            runner.published(name), words=learner.words, end=runner.position, axes=rules
        )  # fmt: skip
        if len(found) > 1:
            rules.set_title(f"{name}: {rules.get_title(loc='left')}", loc="left")
    top = panels[0].get_ylim()[1]
    panels[0].set_ylim(0, max(top, 120 * majority))
    panels[0].axhline(100 * majority, color="grey", linestyle="--", label="always the same")
    panels[0].legend(frameon=False)
    plot_budget(spending_of(runner), axes=panels[-1])
    figure.savefig(file)
