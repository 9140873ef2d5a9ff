"""What `littled plan` and `littled init` say about learners of one-way sequences."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from littled.classes.capabilities import needed
from littled.cli.output import amount, number
from littled.cli.window_values import PAPER_ERROR, ValuePresentation
from littled.planner.sequences.plan import SequencesPlan
from littled.planner.sequences.search import SequencesPlanning
from littled.planner.window_values import ValuePlan, ValueRequest
from littled.portable import log
from littled_protocol.rules.sequences import LABEL_BYTES


class SequencesPresentation(ValuePresentation):
    """Plans of learners of one-way sequences, for people."""

    heading: ClassVar[str] = "one-way sequences"
    plans: ClassVar[type[ValuePlan[Any]]] = SequencesPlan
    methods: ClassVar[Mapping[str, str]] = {
        "exponential": "an index among all of them, and a string that is named there",
        "stable": "an index by prefixes that examples share, and a string that is named there",
    }

    @property
    def planning(self) -> SequencesPlanning:
        """Its planning."""
        return SequencesPlanning()

    def promise(self, facts: Mapping[str, Any]) -> str:
        """The error of a rule on further examples."""
        alpha = facts["alpha_proven"] if facts["alpha"] is None else facts["alpha"]
        return f"a rule that errs on at most {amount(100 * alpha)} % of further examples"

    def papers(self, request: ValueRequest, epsilon: float, delta: float) -> Iterator[str]:
        """Theorem 16, which is not proven as printed, with what its algorithm needs."""
        alpha, beta = float(request.alpha or PAPER_ERROR), float(request.beta)
        bits = needed(request.hypotheses.sequences).index_bits
        strings = literal_examples(bits, 8 * LABEL_BYTES, alpha, beta, epsilon)
        yield (
            f"Theorem 16, pure: Freq_pure draws among 2^{bits * 8 * LABEL_BYTES + 1} strings, so "
            f"{number(strings)} examples for alpha {amount(alpha)} by its proof; not served"
        )
        yield (
            "Theorem 17: (log* d)^1.5 ln(1/delta)^1.5 ln(1/beta)/(alpha epsilon) times a constant "
            "and logarithms that are not given"
        )


def literal_examples(
    index_bits: int, label_bits: int, alpha: float, beta: float, epsilon: float
) -> int:
    """Least n for which step 5 of Bun's Algorithm 1, as printed, is sure to find its string.

    At least alpha n / 10 examples name it; each of the 2^(index_bits label_bits + 1) others has a
    weight of exp(-(epsilon / 6) alpha n / 10) of it, and together they may weigh beta / 6.
    """
    strings = (index_bits * label_bits + 1) * log(2.0)
    return int(60 * (strings + log(6 / beta)) / (alpha * epsilon)) + 1
