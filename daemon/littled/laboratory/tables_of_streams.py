"""Laboratory only: tables about online learners and everlasting prediction."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from littled.classes.names import class_from_name
from littled.laboratory.adaptive import (
    agnostic_regret,
    draws_needed,
    evaded,
    misleading,
    proven_mistakes,
)
from littled.laboratory.everlasting_prediction import answers, least_window, phases
from littled.laboratory.markdown import Lines, shown, table
from littled.laboratory.paper_bounds import (
    Needed,
    constants_needed,
    follow,
    least_horizon,
    paper_learner,
    split,
)
from littled.laboratory.private_experts import (
    Adversary,
    Outcome,
    best_hold,
    coins,
    contrarian,
    experts_for,
    follow_capped,
    labels_of,
)
from littled.laboratory.private_experts import follow as follow_experts
from littled.laboratory.small_classes import SmallClass, all_rules, points, thresholds
from littled.planner.online.request import OnlineRequest, PaperConstants

# d and the longest list, which is the class: points of 2 bits, thresholds:3, thresholds:256.
DIMENSIONS = ((1, 5), (2, 4), (8, 257))


def lyu_constants() -> Lines:
    """The constants at which L's statements are proven, (1, 1e-6)."""

    def row(need: Needed) -> Sequence[object]:
        return (
            need.dimension, f"{need.horizon:.0e}".replace("e+", "e"), shown(need.claim_6_1, 2),
            f"{need.claim_6_2:,.0f}", shown(need.claim_6_4), shown(need.lists),
            f"{need.lemma_6_1:,.0f}", f"{need.mistakes:.1e}".replace("e+", "e"),
        )  # fmt: skip

    head = ("d", "T", "6.1: U", "6.2: U", "6.4: k", "lists hidden: k", "Lemma 6.1: K",
            "Lemma 6.2: mistakes")  # fmt: skip
    rows = []
    for d, cap in DIMENSIONS:
        rows += [row(constants_needed(d, 1e6, 1, 1e-6, cap)), row(least_horizon(d, 1, 1e-6, cap))]
    yield from table(head, rows)


def splits() -> Lines:
    """How often a random split among 20 teachers keeps to Claim 6.2, of 40 runs."""

    def row(share: int) -> Sequence[object]:
        rates = (Fraction(1, 10), Fraction(1, 100), Fraction(0))
        return f"{share:,}", *(split(share, 20, rate, 1, 40).kept for rate in rates)

    head = ("examples a teacher", "errs on 1/10", "on 1/100", "on one example")
    yield from table(head, map(row, (1_000, 4_000, 16_000, 64_000)))


# Class, horizon, constants, and the examples of a stream, each until it is learned.
RUNS = {
    "thresholds:2, C of U = 1": (
        "thresholds:2", PaperConstants(teachers=Fraction(40)), ((1, 1), (0, 1)),
    ),
    "thresholds:2, C of U = 10": (
        "thresholds:2", PaperConstants(teachers=Fraction(40), threshold=Fraction(10)),
        ((1, 1), (0, 1)),
    ),
    "thresholds:3, C of U = 1/2": (
        "thresholds:3",
        PaperConstants(calls=Fraction(1, 2), teachers=Fraction(9), threshold=Fraction(1, 2)),
        ((2, 1), (1, 1), (0, 1)),
    ),
}  # fmt: skip


def lyu_runs() -> Lines:
    """Runs of paper mode at T = 10^6, call by call."""

    def row(name: str) -> Sequence[object]:
        class_name, constants, stream = RUNS[name]
        learner = paper_learner(class_name, 10**6, constants)
        found = follow(learner, stream, 1, 10**6)
        verdict = ["no", "yes"]
        largest = max((call.bottom for call in found.calls), default=0.0)
        return (
            name, f"{learner.parameters.teachers:,}", f"{learner.parameters.trigger_threshold:,}",
            f"{len(found.calls)} of {learner.parameters.calls_max}", f"{found.mistakes:,}",
            f"{largest:.0e}", verdict[found.claim_6_1], verdict[found.claim_6_3],
            verdict[found.claim_6_4], verdict[found.lemma_6_1], verdict[found.lemma_6_2],
        )  # fmt: skip

    head = ("class", "k", "U", "calls", "mistakes", "p(u)", "6.1", "6.3", "6.4", "Lemma 6.1", "6.2")
    yield from table(head, map(row, RUNS))


def remark() -> Lines:
    """How many draws represent any law at every point (failure 0.05), and the proven number."""

    def row(name: str, rules: SmallClass) -> Sequence[object]:
        tried = (1, 3, 5, 7, 9, 11, 13, 15)
        found = draws_needed(rules, 0.05, tried)
        chances = [shown(misleading(rules, r), 2) for r in (1, 5, 15)]
        return name, found.dual_dimension, *chances, found.least, found.proven

    head = ("class", "dual VC", "R = 1 misleads", "R = 5", "R = 15", "least R", "proven R")
    classes = {"thresholds on 4": thresholds(4), "points over 4": points(4),
               "all rules on 2": all_rules(2)}  # fmt: skip
    yield from table(head, (row(*each) for each in classes.items()))


# Paper mode with the constants that hide its lists, and two calls a season.
OBLIVIOUS = PaperConstants(calls=Fraction(2), teachers=Fraction(60))
ADAPTIVE = PaperConstants(calls=Fraction(2), teachers=Fraction(150))


def evasions() -> Lines:
    """Learners of thresholds:2 against somebody who sees each rule; T = 10^6, mean of 3 runs."""

    def row(name: str, request: OnlineRequest, points: int) -> Sequence[object]:
        runs = [evaded(request, points, seed) for seed in range(3)]
        mistakes = sum(each.mistakes for each in runs) / len(runs)
        calls = sum(each.calls for each in runs) / len(runs)
        first = runs[0]
        return name, first.draws, f"{first.threshold:,}", f"{calls:.1f}", f"{mistakes:,.0f}"

    def asked(class_name: str, **settings: Any) -> OnlineRequest:
        return OnlineRequest("lab", class_from_name(class_name), **settings)

    two = partial(asked, "thresholds:2")
    rows = (
        ("thresholds:2, paper, oblivious R", two(selection="paper", paper=OBLIVIOUS), 2),
        (
            "thresholds:2, paper, adaptive R",
            two(selection="paper", paper=ADAPTIVE, adversary="adaptive"),
            2,
        ),
        ("thresholds:2, halving", two(adversary="adaptive"), 2),
        ("thresholds:256, halving", asked("thresholds:256", adversary="adaptive"), 256),
    )
    head = ("class and way", "R", "U", "calls", "mistakes")
    yield from table(head, (row(*each) for each in rows))


def adaptive_bounds() -> Lines:
    """Mistakes that are proven against an adaptive adversary, by T; (1, 1e-6), failing with 5 %."""

    def row(name: str) -> Sequence[object]:
        found = [proven_mistakes(name, 10**k) for k in (4, 6, 8)]
        return f"`{name}`", *("-" if b is None else f"{b:,.0f}" for b in found)

    head = ("class", "T = 10^4", "T = 10^6", "T = 10^8")
    names = ("points:64", "thresholds:256", "thresholds:65536", "prefixes:128",
             "sparse_sets:64:4", "conjunctions:8", "stumps:16:64")  # fmt: skip
    yield from table(head, map(row, names))


def agnostic_regrets() -> Lines:
    """Regret on fair coins: thresholds:64, nothing told, mean of 5 streams."""

    def row(length: int) -> Sequence[object]:
        found = agnostic_regret("thresholds:64", length, 5)
        return f"{length:,}", f"{found.regret:,.0f}", shown(found.root), shown(found.by_root, 2)

    head = ("T", "regret", "sqrt(T)", "regret / sqrt(T)")
    yield from table(head, map(row, (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18)))


def expert_regrets() -> Lines:
    """Regret of private experts and of the planned learner: thresholds:64, mean of 3 streams."""
    name = "thresholds:64"
    labels = labels_of(name)

    def mean(
        run: Callable[[Adversary, int], Outcome], against: Callable[..., Adversary], length: int
    ) -> str:
        made = [run(against(seed, length, labels.shape[1]), seed) for seed in range(3)]
        return f"{sum(each.regret for each in made) / len(made):,.0f}"

    def row(way: str, length: int) -> Sequence[object]:
        hold = 1 if way == "a draw an example" else best_hold(len(labels), length)
        plan = experts_for(len(labels), length, hold)
        run, bound = partial(follow_experts, labels, plan), f"{plan.bound:,.0f}"
        epsilon = shown(plan.guarantee[0])
        if way == "capped":
            run, bound, epsilon = partial(follow_capped, name, length), "-", "1"
        way = f"a draw in {hold}" if way == "held" else way
        found = [mean(run, against, length) for against in (coins, contrarian)]
        return f"{way}, T = {length:,}", epsilon, *found, bound, shown(length**0.5)

    head = ("learner", "epsilon", "fair coins", "contrarian", "proven at most", "sqrt(T)")
    ways = ("capped", "held", "a draw an example")
    rows = (row(way, length) for way in ways for length in (1 << 10, 1 << 12, 1 << 14))
    yield from table(head, rows)


def windows() -> Lines:
    """Answers of one window at an excess error of 0.05: thresholds:65536, (1, 1e-6)."""

    def row(window: int) -> Sequence[object]:
        return f"{window:,}", f"{answers('thresholds:65536', window, 'dense'):,}"

    yield from table(("window", "answers"), map(row, (20_000, 92_000, 1_000_000)))


def everlasting_windows() -> Lines:
    """The least n whose answers make the next window, twice as large."""

    def row(name: str, noise: str) -> Sequence[object]:
        least = partial(least_window, name, noise_rate=Fraction(noise))
        drawn, votes = least("dense"), least("majority")
        return f"`{name}`", noise, *("-" if n is None else f"{n:,}" for n in (drawn, votes))

    head = ("class", "labels wrong", "a rule drawn for each answer", "votes alone")
    rows = (row(n, noise) for n in ("thresholds:65536", "stumps:16:64") for noise in ("0", "1/20"))
    yield from table(head, rows)


def everlasting_runs() -> Lines:
    """Errors of five phases on made-up questions: thresholds:65536, mean of 5 runs."""

    def row(window: int) -> Sequence[object]:
        runs = [list(phases(65536, window, 5, seed)) for seed in range(5)]
        errors = [
            sum(phase.error for phase in each) / len(each) for each in zip(*runs, strict=True)
        ]
        return f"{window:,}", *(f"{error:.4f}" for error in errors)

    head = ("n", *(f"phase {r}" for r in range(5)))
    yield from table(head, map(row, (17_000, 20_000, 23_000, 26_000)))
