"""Public memory: selections from one epoch each, and from what the releases before have said."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.chain_memory import OFFSET_MAX, ChainSettings
from littled.learners.online.length_search import LengthSettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.path_memory import PathSettings
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.chain import Chain
from littled.learners.online.selections.lengths import Lengths
from littled.learners.online.selections.path import Path
from littled.learners.online.values import EpochSettings
from littled.planner.bounds import calls_expected, fires_beyond
from littled.planner.online.chains import (
    direct_calls,
    drawn_calls,
    halving,
)
from littled.planner.online.lengths import LENGTHS_AT_ONCE, searched
from littled.planner.online.request import OnlineRequest
from littled.planner.online.warmup import ENDS_OF_CHAIN, warmup_ends
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import (
    BACKGROUND_OF_USERS,
    EXCEEDANCES,
    MARGINS,
    THRESHOLD_SHARE,
    Draft,
    TriggeredWay,
    short_rate,
)
from littled.portable import LN2, log

# Fires of noise alone in a season, if the examples between two of them tell rules apart so often.
CALLS_OF_NOISE, RESOLVED_TIMES = 30, 8
# Mistakes that a fire has seen nearly always, in multiples of U.
EVIDENCE = 0.58
# What all rules at the floor weigh together beside the best one: little enough to be ruled out,
# enough to come back after a jump.
AT_FLOOR = 0.25
# What a convicted block is left of its weight in one call.
CONVICTED = 0.03
# How likely a draw says that the right block is on no path of the published one, though it is.
ELSEWHERE = 0.008
# Of the trigger's shares of epsilon, the largest at which a draw still tells the sides apart.
PATH_TRIGGER_SHARE_MAX = 0.4
# Steps of a season whose noise alone may be expected to fire while a block is published.
PATH_EXCEEDANCES = 2.0
# False positives of a block, in multiples of its U, that speak for smaller ones inside it.
LONGER = 0.25
# The call from which on short epochs are answered by a median.
MEDIAN_AFTER = 4
# Of users an epoch keeps its mistakes and a sample. In a chain that the sample resolves draws are
# given as many calls as they nearly always need; in a longer one they find the right rule by luck
# alone. Then a median answers epochs of any length, and takes as much weight as few mistakes say.
MEDIAN_AFTER_OF_USERS = 12
RESOLVED = 2
EVIDENCE_OF_USERS = 0.45
# An epoch of up to so many times U examples has hardly been ended by noise.
FULL_LENGTH = 4

# Of what is expected of one rule, for each change: in a chain, and among the blocks of paths.
CHANGE_SHARE, PATH_CHANGE_SHARE = 0.25, 0.5

NO_CHAIN = "what a release says of other rules is known only where they form a chain"


class MemoryWay(TriggeredWay):
    """Rules are drawn by one epoch and by what was released; an interval is halved if need be."""

    name = "memory"
    selection = "chain"
    words = "among the rules of a chain, by each epoch and by what was released"
    small: ClassVar[Mapping[str, Small]] = {
        "memory": ("thresholds:2", {"selection": "memory"}),
        "memory-blocks": ("prefixes:8", {"selection": "memory"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """With calls that draw among all rules."""
        return isinstance(selection, Path) or (
            isinstance(selection, Chain) and selection.draws_rules
        )

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """What was released speaks for the old rule, but never for long."""
        in_chain = estimate.plan.hypotheses.nested is not None
        return (CHANGE_SHARE if in_chain else PATH_CHANGE_SHARE) * estimate.expected_mistakes

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class without chains."""
        return super().refusal(request) or no_chain(request, self.name)

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """No chain, noise, or a stream for which another way is made."""
        yield from reasons_against_memory(request)
        if request.adversary == "adaptive" and not request.asks_for(self.name):
            yield "halving has the smaller bound where rules are seen before examples are chosen"

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """In a chain, or among the blocks of paths."""
        if draft.request.hypotheses.nested is None:
            return _path(replace(draft, selection="path"))
        return _drawn(draft)


class HalvingWay(TriggeredWay):
    """An interval of a chain is halved, in so long epochs that no half is taken by mistake."""

    name = "halving"
    selection = "chain"
    trigger_share_max: ClassVar[float] = 0.6  # one bit a call takes little
    words = "the middle of an interval of a chain, which each call halves"
    small: ClassVar[Mapping[str, Small]] = {
        "halving": ("thresholds:2", {"selection": "halving"}),
        "halving-blocks": ("prefixes:8", {"selection": "halving"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Without calls that draw among all rules."""
        return isinstance(selection, Lengths) or (
            isinstance(selection, Chain) and not selection.draws_rules
        )

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class without chains."""
        return super().refusal(request) or no_chain(request, self.name)

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """No chain, noise, or a stream for which another way is made."""
        return reasons_against_memory(request)

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """Of a chain, or of the lengths of blocks."""
        if draft.request.hypotheses.nested is None:
            return _lengths(replace(draft, selection="lengths"))
        return _halved(draft)


def chain_parameters(
    draft: Draft, threshold: int, memory: ChainSettings, ladder: tuple[EpochSettings, ...]
) -> OnlineParameters:
    """Fresh selections in a chain: one is paid for, any number can be made.

    What is kept of a user is not used up by what no draw needs. Draws among all rules begin with a
    warm-up.
    """
    keep: dict[str, Any] = {"buffer": "examples"}
    if draft.budget.user_examples_max:
        keep = {"buffer": "mistakes"}
        if memory.direct_calls:
            keep = {"buffer": "both", "background_max": BACKGROUND_OF_USERS}
    rules = needed(draft.request.hypotheses.nested).rule_count
    ends = warmup_ends(rules, draft.budget, ENDS_OF_CHAIN) if memory.direct_calls else ()
    parameters = draft.parameters(1, threshold, fresh=True, memory=memory, ladder=ladder, **keep)
    return replace(parameters, calls_max=draft.fresh_calls, warmup_ends=ends)


def reasons_against_memory(request: OnlineRequest) -> Iterator[str]:
    """Why no public memory applies, whatever the budget."""
    if not _has_chains(request):
        yield NO_CHAIN
    if request.noise_rate:
        yield "where labels are noisy they convict the right rules as well"
    if request.adversary == "none":
        yield "where examples are independent a schedule needs no memory"


def no_chain(request: OnlineRequest, way: str) -> str | None:
    """What to say to somebody who asks for this way where rules are no chain."""
    if _has_chains(request):
        return None
    return f"the rules of {request.hypotheses.name} are no chain, so {way} does not apply"


def _has_chains(request: OnlineRequest) -> bool:
    return request.hypotheses.nested is not None or request.hypotheses.paths is not None


def _drawn(draft: Draft) -> Iterator[Estimate]:
    """Direct calls as many as somebody who sees each rule may need, then halving."""
    users = bool(draft.budget.user_examples_max)
    if users:
        draft = replace(draft, threshold_share=THRESHOLD_SHARE)
    rules = needed(draft.request.hypotheses.nested).rule_count
    rate = draft.budget.selection_rate(1)
    if rate <= 0:
        return
    calls, logarithm = direct_calls(rules), log(rules)
    tried = EXCEEDANCES if users else (*EXCEEDANCES, *resolved_exceedances(draft, rules, rate))
    for exceedances, margin in product(tried, MARGINS):
        direct = math.ceil(draft.trigger.reach(exceedances) + margin / float(rate))
        proven = halving(
            rules, draft.trigger, float(rate), draft.whole_failure, direct=direct, calls=calls
        )
        usual = fires_beyond(
            logarithm, short_rate(float(rate)), direct, draft.trigger.threshold_rate
        )
        memory = _of_users if users else _of_examples
        parameters = chain_parameters(
            draft, direct, memory(draft, rules, float(rate), calls, direct),
            (EpochSettings(proven.threshold),),
        )  # fmt: skip
        ends = parameters.warmup_ends
        expected = calls_expected(usual) * direct
        most = ends[-1] if ends else 0
        chosen = most + drawn_calls(rules) * direct
        yield draft.made(parameters, expected, proven.mistakes + most, chosen)


def resolved_exceedances(draft: Draft, rules: int, rate: Fraction) -> tuple[float, ...]:
    """Steps whose noise alone may be expected to fire where a draw then does no harm, or none.

    So it is if all rules are told apart, several times over, by what comes between two such fires.
    """
    resolved = draft.budget.horizon * rate >= CALLS_OF_NOISE * RESOLVED_TIMES * rules
    return (float(CALLS_OF_NOISE),) if resolved else ()


def _of_examples(draft: Draft, rules: int, rate: float, calls: int, direct: int) -> ChainSettings:
    """All examples of an epoch are counted; so the longer it is, the more a draw says."""
    return ChainSettings(
        direct_calls=calls,
        evidence=math.ceil(EVIDENCE * direct),
        fading=round(LN2 / draft.trigger.rate),
        full_length=FULL_LENGTH * direct,
        floor=_floor(rules, rate),
        median_after=MEDIAN_AFTER,
    )


def _of_users(draft: Draft, rules: int, rate: float, calls: int, direct: int) -> ChainSettings:
    """Long epochs say no more than short ones."""
    resolves = rules <= RESOLVED * BACKGROUND_OF_USERS * rate
    return ChainSettings(
        direct_calls=calls,
        evidence=math.ceil(EVIDENCE_OF_USERS * direct),
        fading=0,
        full_length=min(draft.budget.horizon, OFFSET_MAX),
        floor=_floor(rules, rate),
        median_after=MEDIAN_AFTER_OF_USERS if resolves else MEDIAN_AFTER,
    )


def _floor(rules: int, rate: float) -> int:
    return max(0, math.ceil(log(rules / AT_FLOOR) / rate))


def _halved(draft: Draft) -> Iterator[Estimate]:
    """The threshold that the bound needs."""
    rules = needed(draft.request.hypotheses.nested).rule_count
    rate = draft.budget.selection_rate(1)
    if rate <= 0:
        return
    found = halving(rules, draft.trigger, float(rate), draft.whole_failure)
    nothing = ChainSettings(
        direct_calls=0, evidence=0, fading=0, full_length=1, floor=0, median_after=0
    )
    parameters = chain_parameters(draft, found.threshold, nothing, ())
    expected = float((rules.bit_length() - 1) * found.threshold)
    yield draft.made(parameters, expected, found.mistakes, expected)


def _path(draft: Draft) -> Iterator[Estimate]:
    """A block is found among those that positive examples propose, then its path is searched."""
    if draft.budget.trigger_share > PATH_TRIGGER_SHARE_MAX:
        return
    cap = needed(draft.request.hypotheses.proposing).proposals_per_example
    rate = draft.budget.selection_rate(1)
    if rate <= 0:
        return
    bottom = draft.budget.bottom_score(cap, rate, 1, apart=True)
    up = math.ceil(bottom + 2 / rate + draft.early)
    down = math.ceil(draft.trigger.reach(PATH_EXCEEDANCES) + 2 / rate)
    usual = fires_beyond(log(cap), short_rate(float(rate)), down, draft.trigger.rate)
    memory = PathSettings(
        conviction=math.ceil(-log(CONVICTED) / float(rate)),
        floor=math.ceil(log((cap + 1) / AT_FLOOR) / float(rate)),
        bit=round(LN2 / float(rate)),
        longer=math.ceil(LONGER * down),
        full_length=FULL_LENGTH * down,
        leaves=1,
        elsewhere=math.ceil(-log(ELSEWHERE) / float(rate)),
    )
    ladder = tuple(map(EpochSettings, (down, 2 * up, 4 * up, 8 * up)))
    parameters = draft.fresh(up, bottom, ladder, cap, memory=memory)
    expected = up + (calls_expected(usual) - 1) * down
    yield draft.made(parameters, expected, None, up + drawn_calls(cap) * down)


def _lengths(draft: Draft) -> Iterator[Estimate]:
    """The thresholds, and the lists of lengths, that the bound needs."""
    rate = draft.budget.selection_rate(1)
    if rate <= 0:
        return
    bottom = draft.budget.bottom_score(LENGTHS_AT_ONCE, rate, 1, apart=True)
    longest = needed(draft.request.hypotheses.paths).longest
    found = searched(longest, draft.trigger, float(rate), bottom, draft.whole_failure)
    if found is None:
        return
    parameters = draft.fresh(
        found.up, bottom, (EpochSettings(found.down),), LENGTHS_AT_ONCE,
        keep="mistakes", memory=LengthSettings(step=found.step, cuts=found.plan.cuts),
    )  # fmt: skip
    expected = float(found.plan.worst_mistakes)
    yield draft.made(parameters, expected, found.mistakes, expected)
