"""What was done with private data, as values.

An event says which mechanism ran with which public parameters; what that costs is in
`littled.budget.prices`, how it is written in `littled.budget.codec`. The list of events is
append-only: a kind is never removed, its meaning never changes, new parameters are optional and
come last, and are written only where they differ from their default, so that an event is written as
it always was.

*Users.* An event with `user_examples_max` = c above 0 is priced for all examples of one user and
season instead of one example, of which a learner uses c at the most: neighbours are streams in
which one user's examples are another one's, with other contents, at the same positions (PRIVACY.md,
"User-level privacy"). With c = 0 it is one example, as everywhere else.
"""

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from littled.budget import predictions
from littled.budget.conversion import epsilon_of_gaussian
from littled.budget.normal import PI_UPPER
from littled.budget.rounding import exp_upper, round_up

Accounting = Literal["pure", "zcdp"]
# Of what has Gaussian noise: by Renyi divergences, or exactly.
NoiseAccounting = Literal["zcdp", "gaussian"]

# An epsilon beyond this promises nothing; a loss of precision then counts as certain failure.
EPSILON_MAX = 1000


@dataclass(frozen=True, slots=True)
class PrivacyEvent:
    """Base of all events; its fields are public parameters, validated when it is made."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        """TypeError or ValueError, with the field's name, for what no mechanism can have."""
        for field in fields(self):
            _check(f"{field.name} of {self.name}", field.type, getattr(self, field.name))

    def as_stored(self) -> "PrivacyEvent":
        """The event as far as parameters of a plan tell it, without what only its class does."""
        return self


@dataclass(frozen=True, slots=True)
class TriggerSeason(PrivacyEvent):
    """All retrain triggers of one season: `littled.mechanisms.above_threshold`, rate e.

    Pure e-DP by Lemma A, however many epochs the season has: one replaced example changes
    the queries of one epoch only. For a user whose first c mistakes are counted it is pure 2ce, by
    Lemma U; or c (d + e), if `threshold_rate` = d, which is not 0 then, is the rate of the noise on
    thresholds, and e that of the steps' only.
    """

    name: ClassVar[str] = "trigger_season"
    rate: Fraction
    user_examples_max: int = 0
    threshold_rate: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Also ValueError for two rates where no users are protected."""
        PrivacyEvent.__post_init__(self)
        if self.threshold_rate and not self.user_examples_max:
            raise ValueError(f"threshold_rate of {self.name} needs a user_examples_max")


@dataclass(frozen=True, slots=True)
class StageTest(PrivacyEvent):
    """One segment of stage tests, up to and with the first Below: pure e-DP, e = `rate`.

    AboveThreshold that halts on Below (Lyu, Algorithm 4, line 8), queries of sensitivity 1 in any
    direction, threshold noise discrete Laplace of rate e/2, query noise of rate e/4, both fresh in
    each segment. Lemma C (PRIVACY.md, section 4).
    """

    name: ClassVar[str] = "stage_test"
    rate: Fraction


@dataclass(frozen=True, slots=True)
class DenseSelection(PrivacyEvent):
    """Draws of `littled.mechanisms.exponential` with rate e from one score per rule.

    A draw has bounded range 2e: it is (e^2 / 2)-zCDP and pure 2e-DP; `accounting` chooses, before
    any data, under which of the two it is booked. For a user with c examples on either side e is ce
    in this; and so it is for all fresh selections of a season together, to which these examples are
    shared out: their ranges sum to at most 2ce, and the squares of them to the square of it.
    """

    name: ClassVar[str] = "dense_selection"
    rate: Fraction
    draws: int
    accounting: Accounting
    user_examples_max: int = 0


@dataclass(frozen=True, slots=True)
class SparseSelection(PrivacyEvent):
    """Draws of `littled.mechanisms.sparse_sample` (Lemma B).

    A draw costs (e^2 / 2)-zCDP or pure 2e, and `failure` in delta. For a user each of whose c
    examples, on either side, proposes or vetoes, e is ce in this, as for `DenseSelection`, also for
    all fresh selections of a season. `epochs`: of these, so many that may see the user's examples
    of one side and not of the other; 1 if the same ones see as many of both.
    """

    name: ClassVar[str] = "sparse_selection"
    rate: Fraction
    list_cap: int
    bottom_score: int
    draws: int
    accounting: Accounting
    user_examples_max: int = 0
    epochs: int = 1

    def __post_init__(self) -> None:
        """Also ValueError for what Lemma B does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_epochs(self.name, self.epochs, self.user_examples_max)

    @property
    def failure(self) -> Fraction:
        """Upper bound of delta_1 of one draw, rounded up.

        min(1, L exp(e (1 - B))); for a user L max(c exp(e), exp(c e)) exp(-e B) in place of the
        latter, twice that for several epochs, one side's in some and the other side's in others.
        """
        most = max(1, self.user_examples_max)
        if self.bottom_score <= most:
            return Fraction(min(1, self.list_cap))
        bound = self.list_cap * _votes_upper(self.rate, self.bottom_score, most)
        return min(Fraction(1), round_up(bound * min(2, self.epochs)))


@dataclass(frozen=True, slots=True)
class PrepaidSelection(PrivacyEvent):
    """A selection that was charged when its season opened: it costs nothing more.

    For learners whose calls see what their own epoch has kept and nothing older. Epochs have public
    limits, so one replaced example is in one selection at most, and all selections of a season
    together cost what one of them does (PRIVACY.md, "Fresh selections").
    """

    name: ClassVar[str] = "prepaid_selection"
    draws: int


@dataclass(frozen=True, slots=True)
class PrecisionLoss(PrivacyEvent):
    """Noise of finite precision in place of the ideal one, for everything of one season.

    If a transcript is within `total_variation` t of the ideal one on every input, and the ideal one
    is (epsilon, delta)-DP, then P[S] <= P_ideal[S] + t <= exp(epsilon) (P'[S] + t) + delta + t:
    it is (epsilon, delta + (1 + exp(epsilon)) t)-DP. `epsilon` must be at least what is promised
    for the whole season.
    """

    name: ClassVar[str] = "precision_loss"
    total_variation: Fraction
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class CohenLyuTrigger(PrivacyEvent):
    """All retrain triggers of one season: `littled.mechanisms.cohen_lyu`, rate e, failure f.

    Noise is fresh at every step, the threshold has none. By Lemma D it costs
    max(e, kappa(e) ln(1/f)) in pure epsilon and f in delta, however many epochs the season has.
    """

    name: ClassVar[str] = "cohen_lyu_trigger"
    rate: Fraction
    failure: Fraction

    def __post_init__(self) -> None:
        """Also ValueError for what Lemma D does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_cohen_lyu(self.name, self.rate, self.failure)


@dataclass(frozen=True, slots=True)
class CohenLyuStageTest(PrivacyEvent):
    """One segment of stage tests: `littled.mechanisms.cohen_lyu`, rate e, failure f.

    Up to and with the first Below; queries of sensitivity 1 in any direction, fresh noise at every
    test. By Lemma D it costs e + kappa(e) ln(1/f) in pure epsilon and f in delta.
    """

    name: ClassVar[str] = "cohen_lyu_stage_test"
    rate: Fraction
    failure: Fraction

    def __post_init__(self) -> None:
        """Also ValueError for what Lemma D does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_cohen_lyu(self.name, self.rate, self.failure)


@dataclass(frozen=True, slots=True)
class HistogramSelection(PrivacyEvent):
    """One histogram of `littled.mechanisms.stable_histogram` (Lemma E).

    Rate e, threshold B; `change` is the most by which one example changes one score: 1, or 2 where
    examples may veto. It costs pure 2e or (change * e^2)-zCDP, as `accounting` says, and `failure`
    in delta. For a user with c examples on either side e is ce in this, as for `DenseSelection`,
    also for all fresh histograms of a season; `epochs` as for `SparseSelection`.
    """

    name: ClassVar[str] = "histogram_selection"
    rate: Fraction
    threshold: int
    change: int
    accounting: Accounting
    user_examples_max: int = 0
    epochs: int = 1

    def __post_init__(self) -> None:
        """Also ValueError for what Lemma E does not cover."""
        PrivacyEvent.__post_init__(self)
        if self.change not in (1, 2):
            raise ValueError(f"change of {self.name} must be 1 or 2")
        _check_epochs(self.name, self.epochs, self.user_examples_max)

    @property
    def failure(self) -> Fraction:
        """Upper bound of delta_1, rounded up.

        exp(-e (B - 1)) / (1 + exp(-e)), and 1 for B <= 1; for a user max(c exp(e), exp(c e))
        exp(-e B) / (1 + exp(-e)), and 1 for B <= c, twice that for several epochs, one side's in
        some and the other side's in others.
        """
        most = max(1, self.user_examples_max)
        if self.threshold <= most:
            return Fraction(1)
        tail = _votes_upper(self.rate, self.threshold, most)
        if self.rate <= EPSILON_MAX:
            # E above exp(e) makes 1 / (1 + exp(-e)) at most E / (E + 1)
            bound = exp_upper(self.rate)
            tail *= bound / (bound + 1)
        return min(Fraction(1), round_up(tail * min(2, self.epochs)))


@dataclass(frozen=True, slots=True)
class TallySeason(PrivacyEvent):
    """All that passes in a season of `littled.mechanisms.tallies` (Lemma T).

    e_2 = `rate` of the tests, e_1 = `threshold_rate` of a spell's noise, B = `threshold`, after
    each of T = `steps` examples. It costs pure e_1 + e_2, and `failure` in delta, however many ids
    pass: one replaced example has a vote in one spell of one id, on either side.
    """

    name: ClassVar[str] = "tally_season"
    rate: Fraction
    threshold_rate: Fraction
    threshold: int
    steps: int

    def __post_init__(self) -> None:
        """Also ValueError for what Lemma T does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_rate(self.name, self.rate + self.threshold_rate)
        if not self.rate or not self.threshold_rate:
            raise ValueError(f"rates of {self.name} must be above 0")

    @property
    def failure(self) -> Fraction:
        """Upper bound of T m (1 + exp(-e_2)) exp(-e_2 (B - 1)), rounded up, and 1 for B <= 1.

        m = (1 - exp(-e_1)) / (1 - exp(-e_1 - e_2)).
        """
        if self.threshold <= 1:
            return Fraction(1)
        below = 1 / exp_upper(self.threshold_rate)  # below exp(-e_1)
        spread = 1 - exp_upper(-self.rate - self.threshold_rate)
        if spread <= 0:
            return Fraction(1)
        mean = (1 - below) / spread
        bound = mean * (1 + exp_upper(-self.rate)) * exp_upper(self.rate * (1 - self.threshold))
        return min(Fraction(1), round_up(self.steps * bound))


@dataclass(frozen=True, slots=True)
class ScorecardSeason(PrivacyEvent):
    """All that the scorecard learner releases in a season (PRIVACY.md, section 16).

    Squared lengths by which the rows of neighbours differ at the most, in all: `warmup` those of
    the warm-up's rows, `moments` of its mean, `rest` of the rows after it. Each entry of each row
    has discrete Gaussian noise of parameter `variance`. `judging`: those of the counts by which
    candidates are judged, in the warm-up and the rest. Before them stumps are drawn from other
    examples, with bounded range 2 `stump_rate`. It costs
    max(stump_rate^2, (max(warmup + moments, rest) + judging) / variance) / 2 in zCDP; or the same
    with stump_rate^2 pi / 2 for stump_rate^2 as mu^2 / 2 of GDP, as `accounting` says.

    With a `conversion_delta` above 0 what is drawn is pure 2 `stump_rate` instead, and has to be
    within the epsilon that all other parts have at this delta. The season costs as much as these,
    if nothing else that its stream is charged has a rho or is GDP (`not_alone`).
    """

    name: ClassVar[str] = "scorecard_season"
    warmup: int
    moments: int
    rest: int
    variance: int
    judging: int = 0
    stump_rate: Fraction = Fraction(0)
    accounting: NoiseAccounting = "zcdp"
    conversion_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Also ValueError without noise, and for draws that cost more than the rest converts to."""
        PrivacyEvent.__post_init__(self)
        if not self.variance:
            raise ValueError(f"variance of {self.name} must be above 0")
        if not self.conversion_delta:
            return
        if self.accounting != "gaussian" or self.conversion_delta >= 1:
            raise ValueError(f"conversion_delta of {self.name} is below 1, and for GDP only")
        if 2 * self.stump_rate > epsilon_of_gaussian(self.rows, self.conversion_delta):
            raise ValueError(f"stump_rate of {self.name} is above what its rows convert to")

    @property
    def rows(self) -> Fraction:
        """What all that is not drawn costs, in zCDP, or as mu^2 / 2 of GDP; rounded up."""
        most = max(self.warmup + self.moments, self.rest) + self.judging
        return round_up(Fraction(most, 2 * self.variance))

    @property
    def drawn(self) -> Fraction:
        """The same of what is drawn: of bounded range r = 2 stump_rate, (r sqrt(2 pi) / 4)-GDP."""
        squared = self.stump_rate**2
        gaussian = self.accounting == "gaussian"
        return round_up(squared * PI_UPPER / 4 if gaussian else squared / 2)


@dataclass(frozen=True, slots=True)
class CountsSeason(PrivacyEvent):
    """All noisy counts of a season's epochs, each with discrete Laplace noise of rate e = `rate`.

    An example is counted once, in one epoch. So one in its place changes two counts by 1: pure 2e,
    or e^2 in zCDP, as `accounting` says. For a user with c examples on either side e is ce in this
    (PRIVACY.md, section 17).
    """

    name: ClassVar[str] = "counts_season"
    rate: Fraction
    accounting: Accounting
    user_examples_max: int = 0


@dataclass(frozen=True, slots=True)
class MistakeCounts(PrivacyEvent):
    """All counts of mistakes of a season: `littled.mechanisms.noisy_counts`, rate e.

    An example is in one count. Pure e-DP, as a replaced one moves it by 1 at the most. For a user
    of whom c examples are counted, as wrong or as right, it is pure 2ce (PRIVACY.md, section 19).
    """

    name: ClassVar[str] = "mistake_counts"
    rate: Fraction
    user_examples_max: int = 0


@dataclass(frozen=True, slots=True)
class PredictionAnswersDense(PrivacyEvent):
    """Answers h(x), each with a fresh h drawn at rate e from one score per rule of the class.

    Bounded range 2e (`littled.mechanisms.exponential`): (e^2 / 2)-zCDP or pure 2e an answer.
    """

    name: ClassVar[str] = "prediction_answers_dense"
    rate: Fraction
    answers: int
    accounting: Accounting


@dataclass(frozen=True, slots=True)
class PredictionAnswersStability(PrivacyEvent):
    """Private answers by stability (Dagan and Feldman, Corollary 2), each with fresh noise.

    h is drawn at rate e from one rule for each labeling of a random subset, which holds every
    example with probability q = `subset_rate`; h(x) is turned over with probability a = `flip`.
    Pure ln(`predictions.stable_ratio`), or w^2 / 8 in zCDP, w the log of
    `predictions.stable_odds`; both are reached. Dense answers are the case q = 0, a = 0.
    """

    name: ClassVar[str] = "prediction_answers_stability"
    rate: Fraction
    subset_rate: Fraction
    flip: Fraction
    answers: int
    accounting: Accounting

    def __post_init__(self) -> None:
        """Also ValueError for what the proof does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_shares(self.name, self.subset_rate, self.flip)
        _check_rate(self.name, self.rate)
        if self.subset_rate and not self.flip:
            raise ValueError(f"flip of {self.name} must be above 0, as subset_rate is")


@dataclass(frozen=True, slots=True)
class PredictionAnswersRelabelling(PrivacyEvent):
    """Private answers by relabelling (Dagan and Feldman, Theorem 12), each with fresh noise.

    h is drawn as by stability; the window of n examples is relabelled by h, k public chunks of it
    vote, and the answer is drawn from the votes at rate v = `vote_rate`, then turned over with
    probability a = `flip`. `net` is eta; `labelings` bounds the labelings of n - 1 points. Without
    a flip pure ln(`predictions.relabelled_ratio`), and q `predictions.no_net` in delta; with one,
    pure ln(`predictions.flipped_ratio`). epsilon pure is epsilon^2 / 2 in zCDP.
    """

    name: ClassVar[str] = "prediction_answers_relabelling"
    rate: Fraction
    vote_rate: Fraction
    subset_rate: Fraction
    flip: Fraction
    net: Fraction
    window: int
    labelings: Fraction
    answers: int
    accounting: Accounting

    def __post_init__(self) -> None:
        """Also ValueError for what the proof does not cover, or what promises nothing."""
        PrivacyEvent.__post_init__(self)
        _check_shares(self.name, self.subset_rate, self.flip)
        if self.window < 1 or self.labelings < 1 or self.labelings.denominator != 1:
            raise ValueError(f"window and labelings of {self.name} must be integers of at least 1")
        differing = predictions.differing_max(self.window, self.net)
        if 2 * (self.rate + self.vote_rate) * (differing + 2) > EPSILON_MAX:
            raise ValueError(f"net and rates of {self.name} are too large to promise anything")

    def as_stored(self) -> PrivacyEvent:
        """The event with a single labeling: how many there are is a fact about the class."""
        return replace(self, labelings=Fraction(1))


@dataclass(frozen=True, slots=True)
class PredictionAnswersRealizable(PrivacyEvent):
    """Answers drawn from the votes of k public chunks at rate v, `littled.mechanisms.votes`.

    Bounded range 2v: (v^2 / 2)-zCDP or pure 2v an answer.
    """

    name: ClassVar[str] = "prediction_answers_realizable"
    vote_rate: Fraction
    answers: int
    accounting: Accounting


@dataclass(frozen=True, slots=True)
class PredictionAnswersAveraging(PrivacyEvent):
    """Answers of the rule of one random chunk of k, turned over with probability a = `flip`.

    Pure ln(`predictions.averaging_ratio`), or w^2 / 8 in zCDP, w the log of
    `predictions.averaging_odds`.
    """

    name: ClassVar[str] = "prediction_answers_averaging"
    chunks: int
    flip: Fraction
    answers: int
    accounting: Accounting

    def __post_init__(self) -> None:
        """Also ValueError for what the proof does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_shares(self.name, Fraction(0), self.flip)
        if not self.chunks or not self.flip:
            raise ValueError(f"chunks and flip of {self.name} must be above 0")


@dataclass(frozen=True, slots=True)
class PredictionAnswersMajority(PrivacyEvent):
    """Answers by the majority of votes with noise, `littled.mechanisms.noisy_majority`.

    Pure accounting: discrete Laplace noise of rate v on both counts, pure 2v an answer. zCDP
    accounting: the law that follows the lead as fast as v^2 an answer allows.
    """

    name: ClassVar[str] = "prediction_answers_majority"
    vote_rate: Fraction
    answers: int
    accounting: Accounting


@dataclass(frozen=True, slots=True)
class PredictionStableVoting(PrivacyEvent):
    """All answers of stable voting from one window; the daemon does not serve them.

    Up to and with the c-th unstable one, c = `unstable`: pure c (e + 2v), and c times
    `predictions.unstable_as_stable` in delta, however many stable ones there are. The proof is in
    PRIVACY.md, section 13.
    """

    name: ClassVar[str] = "prediction_stable_voting"
    rate: Fraction
    vote_rate: Fraction
    threshold: int
    unstable: int

    def __post_init__(self) -> None:
        """Also ValueError for what the proof does not cover."""
        PrivacyEvent.__post_init__(self)
        _check_rate(self.name, self.rate)
        if self.threshold < 1:
            raise ValueError(f"threshold of {self.name} must be at least 1")


@dataclass(frozen=True, slots=True)
class RestoredSeason(PrivacyEvent):
    """What releases that a store has lost may have cost the season that a restore closes.

    Nothing is drawn for it: the lost releases are out, and were charged where they were made. The
    season counts them as well, and is charged nothing more (PRIVACY.md, "Restoring").
    """

    name: ClassVar[str] = "restored_season"
    epsilon_pure: Fraction
    rho: Fraction
    delta: Fraction
    gaussian: Fraction = Fraction(0)


def _votes_upper(rate: Fraction, threshold: int, most: int) -> Fraction:
    """A bound of the sum of exp(e (m_i - B)) over integers m_i >= 1 that sum to at most c < B.

    Each m counts for exp(e m) / m a unit, which is largest at one end of 1..c, as its logarithm is
    convex: max(c exp(e), exp(c e)) exp(-e B).
    """
    apart = most * exp_upper(rate * (1 - threshold))
    return max(apart, exp_upper(rate * (most - threshold)))


def _check(what: str, kind: object, value: object) -> None:
    """Fractions and integers that are not negative, and one of two words."""
    if kind is Fraction or kind is int:
        if isinstance(value, bool) or not isinstance(value, kind):
            raise TypeError(f"{what} must be of type {kind.__name__}")
        if value < 0:
            raise ValueError(f"{what} must not be negative")
    elif value not in get_args(kind):
        raise ValueError(f"{what} must be one of {', '.join(get_args(kind))}")


def _check_epochs(what: str, epochs: int, user_examples_max: int) -> None:
    """One example is in one epoch; a user has c examples on either side to share out."""
    if not 1 <= epochs <= max(1, 2 * user_examples_max):
        raise ValueError(f"epochs of {what} must be from 1 to twice its user_examples_max")


def _check_cohen_lyu(what: str, rate: Fraction, failure: Fraction) -> None:
    """The tests with fresh noise cannot do without a failure mass."""
    if not 0 < failure < 1:
        raise ValueError(f"failure of {what} must be above 0 and below 1")
    if rate > EPSILON_MAX:
        raise ValueError(f"rate of {what} must be at most {EPSILON_MAX}")


def _check_shares(what: str, subset_rate: Fraction, flip: Fraction) -> None:
    """A subset may not be certain to hold an example, nor a flip certain to come out either way."""
    if subset_rate >= 1:
        raise ValueError(f"subset_rate of {what} must be below 1")
    if 2 * flip >= 1:
        raise ValueError(f"flip of {what} must be below 1/2")


def _check_rate(what: str, rate: Fraction) -> None:
    """A rate that promises something, and whose exponential can be computed with."""
    if rate > EPSILON_MAX:
        raise ValueError(f"rate of {what} must be at most {EPSILON_MAX}")
