"""What `littled plan` and `littled init` say about online learners."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import amount, duration, number, size
from littled.cli.presentation import (
    KindPresentation,
    PlanReport,
    compared,
    stream_facts,
    stream_words,
)
from littled.planner import (
    Comparison,
    OnlinePlan,
    OnlineRequest,
    StreamPlan,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.online.experts import EXPERTS_WORDS
from littled.planner.online.paper import threshold_needed
from littled.planner.online.users import users_needed
from littled.planner.online.ways.register import WAYS, way_of

WORDS = {**{way.name: way.words for way in WAYS.values()}, "experts": EXPERTS_WORDS}


# One in so many examples may be a mistake before somebody is told.
HOPELESS_SHARE = 10


class OnlinePresentation(KindPresentation):
    """Plans of online learners for people."""

    heading: ClassVar[str] = "rules"
    columns: ClassVar[Sequence[str]] = (
        *("learner", "class", "selection", "new rules at most"),
        "first rule",
    )

    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of an online learner alone on its stream."""
        found, ways, (learner,) = plan_stream(request), compare_ways(request), request.learners
        (planned,) = found.of(OnlinePlan)
        facts = plan_facts(found, planned, ways[0])
        facts["users_expected"] = request.users_expected
        assert isinstance(learner, OnlineRequest)
        facts["failure_probability"] = float(learner.failure_probability)
        facts["nothing_told"] = learner.nothing_told and learner.leaves_open
        if WAYS[ways[0].way].is_usual(learner):
            facts["noise_rate"] = None
        facts["ways"] = [asdict(way) for way in ways]
        return PlanReport(facts, facts_in_words(facts), ways_table(ways))

    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """Of each online learner."""
        for plan in stream.of(OnlinePlan):
            yield (
                plan.name,
                plan.hypotheses.name,
                way_of(plan.selection).name,
                str(plan.parameters.calls_max),
                plan.hypotheses.first_rule().describe(plan.words),
            )

    def notes(self, stream: StreamPlan, request: StreamRequest) -> Iterator[str]:
        """For each learner whether users may run out, where users are protected."""
        for plan in stream.of(OnlinePlan) if stream.unit.is_user else ():
            chosen = compare_ways(request, plan.name)[0]
            needed, expected = needed_by(plan, chosen), request.users_expected
            if needed is not None and expected is not None and expected < needed:
                yield (
                    f"{stream.stream}/{plan.name} needs about {rounded(needed)} users, and "
                    f"users_expected is {number(expected)}: they may run out, and later mistakes "
                    "teach nothing"
                )

    def hopeless(self, stream: StreamPlan, request: StreamRequest) -> Iterator[str]:
        """Each learner that is expected to be wrong on more than a tenth of the examples."""
        for plan in stream.of(OnlinePlan):
            expected = compare_ways(request, plan.name)[0].expected_mistakes
            if expected is not None and expected * HOPELESS_SHARE > stream.horizon:
                yield (
                    f"{stream.stream}/{plan.name} is expected to make about {rounded(expected)} "
                    f"mistakes on a bad stream of {number(stream.horizon)} examples; give it a "
                    "longer season, a larger epsilon or a smaller class"
                )

    def comparisons(self, stream: StreamPlan, request: StreamRequest) -> Iterator[Table]:
        """For each learner, what other ways of selection would do, if they are possible."""
        for plan in stream.of(OnlinePlan):
            possible = [
                way for way in compare_ways(request, plan.name) if way.calls_max is not None
            ]
            yield ways_table(possible, f"{stream.stream}/{plan.name}")


def plan_facts(stream: StreamPlan, learner: OnlinePlan, chosen: Comparison) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers as "numerator/denominator"."""
    parameters = learner.parameters
    return {
        "class": learner.hypotheses.name,
        "littlestone_dimension": learner.hypotheses.littlestone_dimension,
        **stream_facts(stream),
        "noise_rate": float(parameters.noise_rate),
        "selection": chosen.way,
        "accounting": parameters.selection_accounting,
        "rules_max": parameters.calls_max,
        "trigger_threshold": parameters.trigger_threshold,
        "trigger_rate": float(parameters.trigger_rate),
        "threshold_rate": float(parameters.threshold_rate or parameters.trigger_rate),
        "schedule_first": parameters.schedule_first,
        "schedule_cap": parameters.schedule_cap,
        "warmup_ends": list(parameters.warmup_ends),
        "selection_rate": float(parameters.selection_rate),
        "teachers": [
            settings.teachers for settings in parameters.all_settings if settings.teachers
        ],
        "draws": parameters.draws,
        "list_cap": parameters.list_cap,
        "bottom_score": parameters.bottom_score,
        "mistakes_expected": chosen.expected_mistakes,
        "mistakes_guaranteed": chosen.guaranteed_mistakes,
        "mistakes_if_chosen": chosen.mistakes_if_chosen,
        "mistakes_a_change": chosen.mistakes_a_change,
        "users_needed": needed_by(learner, chosen),
        "paper_threshold_needed": threshold_needed_by(stream, learner),
    }


def needed_by(learner: OnlinePlan, chosen: Comparison) -> int | None:
    """About how many users the plan needs, where users are protected."""
    if learner.parameters.user_examples_max is None or chosen.expected_mistakes is None:
        return None
    return users_needed(learner, chosen.expected_mistakes)


def threshold_needed_by(stream: StreamPlan, learner: OnlinePlan) -> int | None:
    """In paper mode the least `paper.threshold` for which Claim 6.2 can hold; else None."""
    if way_of(learner.selection).name != "paper":
        return None
    return threshold_needed(learner.hypotheses.littlestone_dimension, stream.horizon)


def facts_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    noise = facts["noise_rate"] or 0
    beyond = f" beyond {amount(100 * noise)} % of the examples" if noise else ""
    return {
        "class": f"{facts['class']}, Littlestone dimension {facts['littlestone_dimension']}",
        **stream_words(facts),
        **users_in_words(facts),
        "selection": f"{facts['selection']}: {WORDS[facts['selection']]}",
        "new rules": f"at most {number(facts['rules_max'])} in a season, "
        f"{occasions(facts, beyond)}",
        "mistakes": f"about {mistakes(facts['mistakes_expected'])}{beyond} {on_which(facts)}, "
        f"{bound(facts['mistakes_guaranteed'], facts['failure_probability'])}"
        f"{lemma_of_the_paper(facts['paper_threshold_needed'])}",
        **changes_in_words(facts),
        **adversary_in_words(facts),
        **told_in_words(facts),
    }


def on_which(facts: Mapping[str, Any]) -> str:
    """What a stream has to be for the number of mistakes that is expected."""
    if facts["schedule_cap"] is not None:
        return "if one rule fits independent examples, else those of the best rules besides"
    independent = "" if facts["schedule_first"] is None else " of independent examples"
    return f"on a bad stream{independent}"


def told_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What it means that nothing is told of the stream; nothing where something is."""
    if not facts["nothing_told"]:
        return {}
    if facts["selection"] == "capped":
        means = ": nothing is tested, so labels may contradict every rule, and the best may change"
    else:
        means = ", so 0: one rule has to fit all labels"
    return {"noise": f"no rate is given{means}"}


def changes_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What to expect where the rule that fits becomes another one; nothing if not known."""
    count = facts["mistakes_a_change"]
    if count is None:
        return {}
    if count >= facts["horizon"]:
        return {
            "a change": "mistakes may not end before the season does if another rule fits later"
        }
    tally = facts["selection"] == "tally"
    when = "for each id that comes or goes" if tally else "each time another rule fits from then on"
    return {"a change": f"about {mistakes(count)} more mistakes {when}"}


def adversary_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What to expect where examples are chosen after the rules are seen; nothing if not known."""
    count = facts["mistakes_if_chosen"]
    if count is None:
        return {}
    if count >= facts["horizon"]:
        return {
            "adversary": "mistakes may never end if examples are chosen after each rule is seen"
        }
    return {"adversary": f"about {mistakes(count)} if examples are chosen after each rule is seen"}


def lemma_of_the_paper(needed: int | None) -> str:
    """What Lemma 6.2 takes before it bounds the mistakes of paper mode."""
    if needed is None:
        return ""
    return f": Lemma 6.2 takes paper.threshold = {number(needed)} at the least"


def users_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is used of each user, where users are protected."""
    most = facts["user_examples_max"]
    if most is None:
        return {}
    mistakes, examples = ("mistake", "example") if most == 1 else ("mistakes", "examples")
    return {
        "users": f"of each, {number(most)} {examples} kept and {number(most)} {mistakes} counted "
        "in a season at the most; the numbers below are for users who give no more"
        f"{enough_users(facts['users_needed'], facts['users_expected'])}"
    }


def enough_users(needed: int | None, expected: int | None) -> str:
    """How many users a plan needs, and whether they may run out."""
    if needed is None:
        return ""
    if expected is None or expected >= needed:
        return f"; needs about {rounded(needed)} users"
    return (
        f"; needs about {rounded(needed)} users, more than the {number(expected)} expected: they "
        "may run out, and later mistakes teach nothing"
    )


def warmup_in_words(ends: Sequence[int]) -> str:
    """When the rules of a warm-up come; "" where there is none."""
    if not ends:
        return ""
    *before, last = map(number, ends)
    words = f"{', '.join(before)} and {last}" if before else last
    return f"at first after {words} examples, then "


def occasions(facts: Mapping[str, Any], beyond: str) -> str:
    """When new rules come."""
    first = facts["schedule_first"]
    if facts["selection"] == "tally":
        return f"each after about {number(facts['bottom_score'])} mistakes on one id"
    if facts["selection"] == "closure-tally":
        return f"each after about {number(facts['bottom_score'])} votes for one rule"
    if first is None:
        later = f"each after about {number(facts['trigger_threshold'])} mistakes{beyond}"
        return f"{warmup_in_words(facts['warmup_ends'])}{later}"
    cap = facts["schedule_cap"]
    if cap is None:
        return f"after {number(first)} examples, {number(2 * first)}, {number(4 * first)} and so on"
    return (
        f"after {number(first)} examples, {number(2 * first)} and so on, then every {number(cap)}"
    )


def mistakes(count: float | None) -> str:
    """A number of mistakes for people."""
    return "-" if count is None else rounded(count)


def rounded(count: float) -> str:
    """A rough number for people: two digits say all there is to know."""
    digits = max(0, len(str(int(count))) - 2)
    return number(round(count / 10**digits) * 10**digits)


def bound(count: float | None, failure: float) -> str:
    """What is proven about the number of mistakes."""
    if count is None:
        return "no bound is proven"
    return f"at most {mistakes(count)} except with probability {amount(100 * failure)} %"


def ways_table(ways: Sequence[Comparison], learner: str = "") -> Table:
    """What each way of selection would do for a learner, the chosen one first."""
    title = f"ways of selection for {learner}" if learner else "ways of selection"
    table = compared(title, "way", ("expected mistakes", "at most", "calls", "retrain", "memory"))
    for way in ways:
        table.add_row(
            way.way,
            mistakes(way.expected_mistakes),
            mistakes(way.guaranteed_mistakes),
            "-" if way.calls_max is None else number(way.calls_max),
            duration(way.retrain_seconds),
            size(way.memory_bytes),
            way.remark or WORDS[way.way],
            style="bold" if way.chosen else "",
        )
    return table
