"""Laboratory only: `python -m littled.laboratory` prints the tables of docs/laboratory.md."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from littled.laboratory import tables_of_learners as learners
from littled.laboratory import tables_of_streams as streams
from littled.laboratory.markdown import Lines

# The tables of each part, each with the line above it.
PARTS: dict[str, Mapping[str, Callable[[], Lines]]] = {
    "stability": {
        "Least best frequency, over all targets and n": learners.frequencies,
        "Every class of up to 8 rows over up to 4 points": learners.every_class,
        "Observation 24 on every class over up to 3 points": learners.observations,
        "The Monte-Carlo variant: thresholds on 3 points, n = 1": learners.stopped,
    },
    "private": {
        "What the constants demand": learners.demands,
        "The exact law of M": learners.exact_prices,
        "Examples where the frequency is known": learners.practical,
    },
    "agnostic": {
        "The price of relabelling": learners.relabelling,
        "Loss beyond the best rule": learners.noisy_labels,
    },
    "lower-bound": {
        "Which of 254 neighbours": learners.identification,
        "Homogeneous sets of 12 points, m = 2": learners.homogeneous,
        "Lemma 20, item 2": learners.lemma_20,
        "The constants of Lemma 21": learners.lemma_21,
        "Binary search on D draws, 12 points, m = 2": learners.searches,
    },
    "experts": {
        "Runs on a dummy as experts": learners.experts,
        "The law on the dummy": learners.dummies,
        "Descriptions of rules": learners.descriptions,
    },
    "lyu": {
        "Constants at which the statements are proven": streams.lyu_constants,
        "Splits that keep to Claim 6.2, of 40": streams.splits,
        "Paper mode, call by call": streams.lyu_runs,
    },
    "adaptive": {
        "Draws for a majority": streams.remark,
        "Against somebody who sees each rule, T = 10^6": streams.evasions,
        "Proven against adaptive adversaries": streams.adaptive_bounds,
        "Regret on fair coins": streams.agnostic_regrets,
        "Regret of private experts": streams.expert_regrets,
    },
    "everlasting": {
        "Answers of one window": streams.windows,
        "The least first window": streams.everlasting_windows,
        "Errors of phases": streams.everlasting_runs,
    },
}
# Takes several minutes, and is printed only if it is asked for.
EXTRA: Mapping[str, Mapping[str, Callable[[], Lines]]] = {
    "five-points": {"Every class of up to 8 rows over up to 5 points": learners.five_points},
}
USAGE = "usage: python -m littled.laboratory [PART...]"


def lines_of(part: str) -> Lines:
    """Everything that one part prints."""
    yield f"## {part}"
    for title, made in {**PARTS, **EXTRA}[part].items():
        yield from ("", title, "")
        yield from made()
    yield ""


def main(arguments: Sequence[str]) -> int:
    """Print some parts, all but the long one if none is named; 2 for a part that there is not."""
    known = [*PARTS, *EXTRA]
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(f"{USAGE}\n\nLaboratory only: nothing here is served. Parts: ")
        sys.stdout.write(f"{', '.join(PARTS)}; and, if asked for, {', '.join(EXTRA)}.\n")
        return 0
    unknown = [each for each in arguments if each not in known]
    if unknown:
        sys.stderr.write(
            f"littled.laboratory: there is no part {unknown[0]!r}; parts are {', '.join(known)}\n"
        )
        return 2
    try:
        for part in arguments or PARTS:
            for line in lines_of(part):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    except BrokenPipeError:
        # the reader of a pipe has gone: nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
