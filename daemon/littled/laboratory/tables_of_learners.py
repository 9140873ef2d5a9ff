"""Laboratory only: tables about learners of one sample, as docs/laboratory.md has them."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial

from littled.laboratory import lower_bound as lower
from littled.laboratory.agnostic import (
    AgnosticLearner,
    exact_ratio,
    expected_excess,
    subsampled,
    subset_ratio,
)
from littled.laboratory.global_stability import best_cut, check, observation_24, promised, rounds
from littled.laboratory.markdown import Lines, power, refusal, shown, table
from littled.laboratory.monte_carlo import algorithm_g, stopped_rounds
from littled.laboratory.pure_to_online import (
    dense_runs,
    dummy_chance,
    experts_for,
    experts_promised,
    mean_description,
    point_runs,
    random_sets,
    sample_size,
    smallest_ratio,
    uniform_experts,
)
from littled.laboratory.small_classes import (
    SmallClass,
    all_classes,
    all_rules,
    points,
    supports,
    thresholds,
)
from littled.laboratory.stable_learner import (
    PrivateLearner,
    demanded,
    exact_price,
    examples_for,
    practical_chunks,
)
from littled.laboratory.survey import Surveyed, survey

ALPHA, BETA, EPSILON, DELTA = 0.1, 0.1, 1.0, 1e-6

NAMED: Mapping[str, tuple[SmallClass, tuple[int, ...]]] = {
    "points over 6": (points(6), (0, 1, 2)),
    "thresholds on 3": (thresholds(3), (0, 1, 2)),
    "thresholds on 7": (thresholds(7), (0, 1)),
    "all rules on 3": (all_rules(3), (0, 1, 2)),
}


def frequencies() -> Lines:
    """The least best frequency of classes by name, over all targets; uniform points."""

    def row(name: str) -> Sequence[object]:
        rules, sizes = NAMED[name]
        d = rules.dimension
        least, n = min(
            (check(rules, target, [1] * rules.points, n).best, n)
            for n in sizes
            for target in rules.hypotheses
        )
        cut = shown(best_cut(d), 2)
        return name, d, n, least, shown(least, 2), shown(promised(d), 1), cut

    head = ("class", "d", "at n =", "least best frequency", "about", "promised", "best cut-off")
    yield from table(head, map(row, NAMED))


def every_class() -> Lines:
    """All classes of up to 8 rows over up to 4 points."""
    yield from _surveyed(survey(4, (1, 2), all_supports=True))


def five_points() -> Lines:
    """All classes of up to 8 rows over up to 5 points, points uniform, n = 1."""
    yield from _surveyed(survey(5, (1,), all_supports=False))


def _surveyed(found: Mapping[int, Surveyed]) -> Lines:
    head = ("d", "classes", "runs", "statements that failed", "least best frequency", "promised")
    yield from table(
        head,
        (
            (d, f"{s.classes:,}", f"{s.runs:,}", s.broken.total(), shown(s.least), _promised(d))
            for d, s in found.items()
        ),
    )


def _promised(dimension: int) -> str:
    return shown(promised(dimension), 1)


def observations() -> Lines:
    """Observation 24 on every sample of D_k, k up to 2, of every class over up to 3 points."""

    def row(n: int) -> Sequence[object]:
        verdicts = [
            observation_24(rules, target, support, n, k)
            for rules in all_classes(3)
            for target in rules.hypotheses
            for support in supports(3)
            for k in range(min(rules.dimension, 2) + 1)
        ]
        return n, f"{len(verdicts):,}", len(verdicts) - sum(verdicts)

    yield from table(("n", "runs", "runs in which it failed"), map(row, (0, 1)))


def stopped() -> Lines:
    """The Monte-Carlo variant and G on thresholds on 3 points, target x >= 1, n = 1."""
    rules, target, weights = thresholds(3), thresholds(3).hypotheses[1], [1, 1, 1]
    free = list(rounds(rules, target, weights, 1, rules.dimension))

    def row(units: int) -> Sequence[object]:
        cut = stopped_rounds(rules, target, weights, 1, units, rules.dimension)
        law = algorithm_g(rules, target, weights, 1, units)
        most = max((p for f, p in law.items() if f is not None), default=Fraction(0))
        fails = [shown(each.failed) for each in cut]
        markov = [shown(min(each.examples / units, Fraction(1))) for each in free]
        return units, *fails[1:], *markov[1:], shown(most), shown(law[None])

    head = ("N", "Fail in D_1", "in D_2", "Markov's bound, D_1", "D_2", "G's best", "G's Fail")
    yield from table(head, map(row, (8, 16, 32, 64)))


def demands() -> Lines:
    """What M demands with the constants of A."""

    def row(d: int) -> Sequence[object]:
        need = demanded(d, ALPHA, BETA, EPSILON, DELTA)
        return d, power(need.frequency), power(need.chunk), power(need.chunks), power(need.total)

    head = ("d", "frequency eta", "examples of a chunk", "chunks", "examples")
    yield from table(head, map(row, (1, 2, 3, 4)))
    yield ""
    yield refusal(partial(examples_for, 1, ALPHA, BETA, EPSILON, DELTA))


def exact_prices() -> Lines:
    """The exact delta of M on all inputs of its private steps: 3 chunks, 1 example, 2 points."""

    def row(learner: PrivateLearner) -> Sequence[object]:
        found = exact_price(learner, 3, 1, 2)
        e1, e2 = math.log(learner.counts), math.log(learner.errors)
        charged = shown(2 * e1 + 2 * e2)
        proven = shown(2 * max(e1, e2))
        return shown(e1), shown(e2), charged, proven, found.worst, found.claimed, f"{found.pairs:,}"

    head = ("e1", "e2", "charged by A", "proven here", "exact delta", "delta", "neighbours")
    learners = [
        PrivateLearner(Fraction(u), Fraction(w), least)
        for u, w, least in (("2", "2", 3), ("3/2", "2", 4), ("2", "3/2", 4), ("4", "2", 3))
    ]
    yield from table(head, map(row, learners))


def practical() -> Lines:
    """Examples that M takes where a class's own frequency is known; e1 = e2 = epsilon / 2."""

    def row(name: str, frequency: Fraction, n: int) -> Sequence[object]:
        rate = EPSILON / 2
        chunks, least = practical_chunks(float(frequency), BETA / 2, rate, DELTA)
        last = math.ceil(math.log(2 * chunks / BETA) / (-math.expm1(-rate) * ALPHA))
        return name, shown(frequency, 2), chunks, least, n, f"{chunks * n + last:,}"

    head = ("class", "frequency", "chunks", "least count", "examples of a chunk", "examples")
    found = (("points over 6", Fraction(25, 36), 2), ("thresholds on 3", Fraction(11, 18), 1),
             ("thresholds on 7", Fraction(3, 7), 1))  # fmt: skip
    yield from table(head, (row(*each) for each in found))


def relabelling() -> Lines:
    """The exact price of relabelling on all samples of 3 examples."""

    def row(name: str, rules: SmallClass, labels: str, votes: str) -> Sequence[object]:
        learner = AgnosticLearner(rules, Fraction(labels), Fraction(votes))
        exact, proven = exact_ratio(learner, 3), learner.price
        tenth = subsampled(math.log(proven), 0.1)
        return (
            name, labels, votes, shown(math.log(exact)), shown(math.log(proven)), shown(tenth),
            shown(subset_ratio(learner, 3)),
            shown(learner.dagan_feldman),
        )  # fmt: skip

    head = (
        "class",
        "exp(e)",
        "exp(v)",
        "exact epsilon",
        "proven",
        "on a tenth",
        "T against T - i",
        "DF's 1 + exp(e + 2v)",
    )
    classes = {"thresholds on 3": thresholds(3), "points over 3": points(3),
               "all rules on 2": all_rules(2)}  # fmt: skip
    rows = (
        row(name, rules, *rates)
        for name, rules in classes.items()
        for rates in (("2", "3/2"), ("3", "2"))
    )
    yield from table(head, rows)


def noisy_labels() -> Lines:
    """Expected loss beyond the best rule's, exact: thresholds on 2 points, exp(e) = exp(v) = 4."""
    learner = AgnosticLearner(thresholds(2), Fraction(4), Fraction(4))

    def row(size: int, noise: str) -> Sequence[object]:
        found = expected_excess(learner, 2, size, Fraction(noise))
        return size, noise, shown(found.relabelled), shown(found.direct)

    head = ("examples", "labels turned", "relabelled first", "realizable learner alone")
    yield from table(head, (row(n, noise) for n in (4, 8, 12) for noise in ("0", "1/10", "1/4")))


def identification() -> Lines:
    """Which of 254 neighbours: the audit on thresholds:256."""

    def row(rate: float) -> Sequence[object]:
        found = lower.identify(rate)
        return (
            shown(2 * rate), found.samples, f"{found.right:.4f}", f"{found.bound:.2f}",
            f"{found.exact:.2f}",
        )  # fmt: skip

    head = ("2 rate", "neighbours", "guess is right", "epsilon shown", "exact log-ratio")
    yield from table(head, map(row, (0.5, 1.0, 5.0)))


def homogeneous() -> Lines:
    """Homogeneous sets of 12 points, m = 2, and what accuracy there can be."""

    def row(epsilon: float) -> Sequence[object]:
        base = Fraction(math.exp(epsilon / 2)).limit_denominator(10**6)
        marginals = cache(lower.marginals_of(12, base))
        found = lower.largest_homogeneous(marginals, 12, 2)
        accurate = float(lower.accuracy(marginals, range(12), 2))
        gap = lower.claim_22_gap(lower.accuracy_max(epsilon), epsilon, 2)
        return epsilon, len(found), shown(accurate), shown(lower.accuracy_max(epsilon)), shown(gap)

    head = (
        "epsilon",
        "largest set",
        "accuracy",
        "at most, any learner",
        "gap that Claim 22 proves",
    )
    yield from table(head, map(row, (0.1, 1.0, 4.0, 8.0)))


def lemma_20() -> Lines:
    """Item 2 of Lemma 20 with r between p_(i-1) and p_i, and as printed: 12 points."""

    def row(text: str) -> Sequence[object]:
        p = [Fraction(each) for each in text.split()]
        verdict = ["no", "yes"]
        found = [lower.lemma_20(p, 12, printed=printed) for printed in (False, True)]
        return f"({', '.join(text.split())})", *(verdict[each] for each in found)

    head = ("p_0..p_m", "r between p_(i-1) and p_i", "r between p_i and p_(i+1), as printed")
    yield from table(head, map(row, ("1/8 5/8 7/8", "0 1/2 1", "1/3 1/3 2/3", "0 1/4 3/4 7/8 1")))
    yield ""
    yield f"Lemma 17 asks for {lower.ramsey_points(2, 5)} points for a set of 5 at m = 2."


def lemma_21() -> Lines:
    """The constants of the proof of Lemma 21."""

    def row(m: int) -> Sequence[object]:
        found = lower.lemma_21(m)
        verdict = ["no", "yes"]
        return (
            m, f"{found.steps:,.0f}", f"{found.draws:,.0f}", shown(found.failure),
            verdict[found.printed], verdict[found.repaired], shown(found.delta_needed),
        )  # fmt: skip

    head = ("m", "T", "D", "D delta", "2/3 - D delta >= 1/2", "1 - 1/T - D delta >= 1/2",
            "delta that suffices")  # fmt: skip
    yield from table(
        head, map(row, (2, 4, 8, lower.least_repaired() - 2, lower.least_repaired(), 1000))
    )


def searches() -> Lines:
    """The binary search of Lemma 21 on D draws of the exponential mechanism, 12 points, m = 2."""

    def row(epsilon: float, draws: int) -> Sequence[object]:
        found = lower.binary_search(epsilon / 2, 12, draws)
        return epsilon, draws, shown(found.right), shown(found.bound), shown(found.exact)

    head = ("2 rate", "draws", "guess is right", "epsilon shown", "exact log-ratio")
    yield from table(head, (row(e, draws) for e in (0.1, 1.0, 4.0) for draws in (1, 3, 5)))


def experts() -> Lines:
    """The reduction from pure private learners, at alpha = beta = 1/4, epsilon = 1."""

    def dense(name: str, rules: SmallClass) -> Sequence[object]:
        target = rules.hypotheses[len(rules.hypotheses) // 2]
        size = sample_size(len(rules.hypotheses), 0.25, 0.25, 1.0)
        chance = min(dummy_chance(rules, t, Fraction(1, 4)) for t in rules.hypotheses)
        found = dense_runs(rules, target, 64, 2000, 1)
        asked = power(experts_promised(1.0, size, 0.25, 0.05))
        return name, size, asked, shown(chance), found.experts, found.mistakes, found.best

    def sets(bits: int) -> Sequence[object]:
        size = sample_size(random_sets(0.25, 0.25), 0.125, 0.125, 1.0)
        found = point_runs(1 << bits, 0.25, 64, 2000, 1)
        asked = power(experts_promised(1.0, size, 0.25, 0.05))
        name = f"ids of {bits} bits, random sets"
        return name, size, asked, "1/16", found.experts, found.mistakes, found.best

    head = ("class", "m0", "experts asked for", "a run is good", "experts", "mistakes of 2,000",
            "best expert")  # fmt: skip
    classes = {"thresholds on 7": thresholds(7), "points over 7": points(7),
               "all rules on 3": all_rules(3)}  # fmt: skip
    rows = [dense(*each) for each in classes.items()] + [sets(bits) for bits in (8, 32, 60)]
    yield from table(head, rows)
    yield ""
    size = sample_size(8, 0.25, 0.25, 1.0)
    yield refusal(partial(experts_for, 1.0, size, 0.25, 0.05))
    yield ""
    yield refusal(partial(uniform_experts, "points"))


def dummies() -> Lines:
    """Least ratio of the laws on the dummy and a sample of 3 examples, and exp(-epsilon m0)."""
    base = Fraction(5, 3)

    def row(name: str, rules: SmallClass) -> Sequence[object]:
        return name, shown(smallest_ratio(rules, base, 3)), shown(float(base) ** -6)

    head = ("class", "least ratio", "exp(-epsilon m0)")
    classes = {"thresholds on 7": thresholds(7), "points over 7": points(7),
               "all rules on 3": all_rules(3)}  # fmt: skip
    yield from table(head, (row(*each) for each in classes.items()))


def descriptions() -> Lines:
    """Expected bits of a learned rule's description: points, 20 examples, epsilon = 1."""
    head = ("bits of an id", "expected bits of a rule")
    yield from table(head, ((b, shown(mean_description(b, 20, 1.0))) for b in (4, 8, 12, 16, 20)))
