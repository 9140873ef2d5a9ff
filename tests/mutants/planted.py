"""Faults to plant, each of which breaks a promise of PRIVACY.md or SPEC.md, and who must notice.

A fault is one piece of text of one file, named from `daemon/littled`, and what takes its place.
`tests` are the fewest that should notice: the whole suite has others that do. Wherever the fault
changes the law of what is released, they are enumerations, laws or twins that see the guarantee
itself broken, and no golden value of an address or a word.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: what it does, where `old` stands once and becomes `new`, and who must notice.

    `tests`: files in `tests`, or tests in them as pytest names them.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MECHANISMS = "daemon/mechanisms"
LEARNERS = "daemon/learners"
BUDGETS = "daemon/budget"
STORE = "daemon/store"
SERVICE = "daemon/service"
TELLING = "daemon/service/test_telling.py"
GROUPS = "daemon/groups"
GROUP = "daemon/cli/test_cli_group.py"
HTTP_CROWDS = f"{SERVICE}/test_http_crowds.py"
ENDS = f"{SERVICE}/test_session_ends.py"
PROTOCOL = "../../protocol/littled_protocol"
ORACLE = "../../tests/oracle"
BURSTS_ALONE = "protocol/test_bursts.py"
ENGINE = "daemon/engine/test_journal.py"
SHORT_CALLS = "daemon/engine/test_short_calls.py"
ANSWERING = "daemon/engine/test_predictions.py"
ROWS_FED = f"{SERVICE}/test_feeding.py"
FORWARDED = "daemon/cli/test_cli_forwarding.py"
ONLINE = f"{LEARNERS}/online/test_learner.py"
GROWING = f"{LEARNERS}/online/test_growing.py"
USER_LAWS = f"{LEARNERS}/online/test_user_laws.py"
ONLINE_TESTS = f"{LEARNERS}/online"
POOLED_USERS = f"{USER_LAWS}::test_seasons_with_a_pool_cost_at_most_what_they_are_charged"
LAWS = f"{ONLINE_TESTS}/test_laws.py"
SELECTIONS = f"{LAWS}::test_selections_cost_what_they_are_charged"
TRIGGERS = f"{LAWS}::test_learners_with_triggers_cost_what_they_are_charged"
TWO_STREAMS = "daemon/test_twins.py::test_twins_draw_the_same_and_ask_nearly_the_same"
WITHOUT_FAULT = f"{LAWS}::test_planted_faults_exceed_what_is_charged"
SEASONS = f"{LEARNERS}/online/test_transcripts.py::test_seasons_cost_what_they_are_charged"
POOL = f"{LEARNERS}/online/test_pool.py"
SPLITS = f"{LEARNERS}/online/test_transcripts.py::test_a_split_that_moves_other_examples_is_caught"
ANSWER_LAW = (
    f"{LEARNERS}/prediction/test_learner.py"
    "::test_every_outcome_of_the_noise_comes_to_the_law_of_the_definition"
)
TWO_LEARNERS = "daemon/test_stream_laws.py::test_two_online_learners_cost_what_both_are_charged"
BESIDE = "daemon/test_stream_laws.py::test_answers_beside_a_rule_cost_what_both_are_charged"
BOTH_LIBRARIES = "test_both_libraries_come_to_the_epsilon_of_every_season"
VOTING = f"{MECHANISMS}/test_noisy_majority.py"
TWIN_DAEMONS = f"{SERVICE}/test_twin_daemons.py::test_twin_daemons_show_the_same_bytes_everywhere"

BATCH = f"{LEARNERS}/batch"
WINDOWS_LAW = f"{BATCH}/test_laws.py::test_a_window_costs_what_it_is_charged"
WINDOWS_USERS = f"{BATCH}/test_laws.py::test_all_that_one_user_gives_costs_what_it_is_charged"

VALUES_LAW = f"{LEARNERS}/values/test_value_laws.py::test_a_value_costs_what_it_is_charged"

SEQUENCES = f"{LEARNERS}/sequences/test_sequence_laws.py"
SEQUENCES_LAW = f"{SEQUENCES}::test_a_sequence_costs_what_it_is_charged"

MEANING = "daemon/cli/test_cli_meanings.py"

CHAINS = f"{LEARNERS}/online/selections/test_chain.py"
MAJORITY_DRAWS = f"{LEARNERS}/online/selections/test_majority.py"
MAJORITIES = f"{LEARNERS}/online/test_majority_memory.py"
CHAIN_MEMORY = f"{LEARNERS}/online/test_chain_memory.py"

MEMORIES = (
    Mutant(
        "a memory that convicts by the examples",
        "learners/online/selections/chain.py",
        "published, conviction, count, too_low=drawn > published, floor=settings.floor",
        "published, conviction, count, floor=settings.floor, "
        "too_low=rules.mistakes(state.statistics, published)[0] > 0",
        (f"{CHAINS}::test_neighbours_that_say_the_same_remember_the_same[chain]",),
    ),
    Mutant(
        "a memory that counts the examples",
        "learners/online/selections/chain.py",
        "published, conviction, count, too_low=drawn > published, floor=settings.floor",
        "published, sum(rules.mistakes(state.statistics, published)), count, "
        "too_low=drawn > published, floor=settings.floor",
        (f"{CHAINS}::test_neighbours_that_say_the_same_remember_the_same[chain]",),
    ),
    Mutant(
        "rules convicted on the wrong side",
        "learners/online/chain_memory.py",
        "offsets[: published + 1] -= conviction if too_low else 0",
        "offsets[published:] -= conviction if too_low else 0",
        (f"{CHAIN_MEMORY}::test_offsets_by_runs_are_those_of_each_rule",),
    ),
    Mutant(
        "offsets without a floor",
        "learners/online/chain_memory.py",
        "offsets = np.maximum(offsets - offsets.max(), -floor)",
        "offsets = offsets - offsets.max()",
        (f"{CHAINS}::test_a_target_that_jumps_is_found_again",),
    ),
    Mutant(
        "a memory that outlives its season",
        "learners/online/learner.py",
        "memory=self._selection.opened(self.hypotheses, state.rule),",
        "memory=state.memory or self._selection.opened(self.hypotheses, state.rule),",
        (f"{CHAINS}::test_a_season_begins_with_nothing_known",),
    ),
    Mutant(
        "direct calls that forget the offsets",
        "learners/online/selections/chain.py",
        "return rules.scores(state.statistics) + memory.of_each(rules.rule_count)",
        "return rules.scores(state.statistics)",
        (f"{CHAINS}::test_direct_calls_draw_by_offsets_as_well",),
    ),
    Mutant(
        "a side by comparison in place of a draw",
        "learners/online/selections/chain.py",
        "[side] = self._drawn(mistakes, state, place, noise)",
        "side = int(np.argmax(mistakes))",
        (f"{TRIGGERS}[chain, halving]",),
    ),
    Mutant(
        "the wrong half of an interval",
        "learners/online/selections/chain.py",
        "return side == 0",
        "return side == 1",
        (f"{CHAINS}::test_no_evader_makes_more_mistakes_than_is_proven",),
    ),
    Mutant(
        "tests that are offered by what errs",
        "learners/online/selections/majority.py",
        "self._sets.sample(errors[label], odds, words)",
        "self._sets.sample(errors[label], np.where(errors[label] > 0, odds, 0), words)",
        (f"{TRIGGERS}[majority]",),
    ),
    Mutant(
        "sets of both labels drawn from all examples",
        "learners/online/selections/majority.py",
        "self._sets.sample(errors[label], odds, words)",
        "self._sets.sample(np.minimum(errors.sum(axis=0), settings.cap), odds, words)",
        (f"{MAJORITY_DRAWS}::test_a_draw_sees_the_mistakes_of_its_label_alone",),
    ),
    Mutant(
        "tests convicted by a look at the examples",
        "learners/online/selections/majority.py",
        "found.append((label, drawn))",
        "found.append((label, tuple(one for one in drawn if errors[label][one])))",
        (f"{TRIGGERS}[majority]",),
    ),
    Mutant(
        "stumps convicted on the wrong side",
        "learners/online/majority_memory.py",
        "upper = (direction == AT_LEAST) == (label == 1)",
        "upper = (direction == AT_LEAST) == (label == 0)",
        (f"{MAJORITIES}::test_whatever_errs_with_a_test_is_convicted_with_it",),
    ),
    Mutant(
        "a memory that comes back from a snapshot as lists",
        "learners/online/memory.py",
        "return tuple(_tuples(one) for one in value)",
        "return [_tuples(one) for one in value]",
        (f"{CHAINS}::test_a_snapshot_goes_on_as_the_learner_does[chain]",),
    ),
)

VALUES = (
    Mutant(
        "half the noise of a minimum's draw",
        "learners/minimum/draws.py",
        "return RangeDraw(self.parameters.rate, self._never + 1)",
        "return RangeDraw(2 * self.parameters.rate, self._never + 1)",
        (f"{VALUES_LAW}[minimum]",),
    ),
    Mutant(
        "distances of a minimum that count twice",
        "learners/minimum/draws.py",
        "add(value, value + 1, max(0, target - c, b - target))",
        "add(value, value + 1, 2 * max(0, target - c, b - target))",
        (f"{VALUES_LAW}[minimum]",),
    ),
    Mutant(
        "a length of prefixes that is not drawn",
        "learners/minimum/draws.py",
        'length = lengths.sample(self._scores(span), draw.words("select", lengths.WORDS, 0))',
        "length = int(np.argmax(self._scores(span)))",
        (f"{VALUES_LAW}[minimum, stable]",),
    ),
    Mutant(
        "a stable minimum that is not charged for its prefix",
        "learners/minimum/draws.py",
        "return (self._dense(p.length_rate), prefix, self._dense(p.rate))",
        "return (self._dense(p.length_rate), self._dense(p.rate))",
        (f"{VALUES_LAW}[minimum, stable]",),
    ),
    Mutant(
        "items that one example may show, with a bottom that hides nothing",
        "learners/most_frequent/draws.py",
        "return SparseSample(p.rate, list_cap=1, bottom_score=p.bottom_score)",
        "return SparseSample(p.rate, list_cap=1, bottom_score=0)",
        (f"{VALUES_LAW}[most frequent, stable]",),
    ),
    Mutant(
        "items that nobody reports, of which one alone is ever drawn",
        "learners/most_frequent/draws.py",
        "sizes = [1] * len(items) + [(1 << self._items.item_bits) - len(items)]",
        "sizes = [1] * len(items) + [1]",
        (f"{VALUES_LAW}[most frequent]",),
    ),
    Mutant(
        "a string that one example may show, with a threshold that is one too low",
        "learners/sequences/draws.py",
        "return StableHistogram(self.parameters.vote_rate, self.parameters.threshold)",
        "return StableHistogram(self.parameters.vote_rate, self.parameters.threshold - 1)",
        (f"{SEQUENCES_LAW}[three indices, two seeds]",),
    ),
    Mutant(
        "the string that came first in place of the least",
        "learners/sequences/draws.py",
        "named = sorted(votes)",
        "named = list(votes)",
        (f"{SEQUENCES}::test_the_order_of_examples_does_not_matter[little noise]",),
    ),
    Mutant(
        "examples that name a string twice",
        "classes/oneway.py",
        "found[named[0], named[1]] += times",
        "found[named[0], named[1]] += 2 * times",
        (f"{SEQUENCES_LAW}[three indices, two seeds]",),
    ),
    Mutant(
        "strings that are not formed and vote all the same",
        "classes/oneway.py",
        "if before > index or not is_formed(before, sigma, self.bits):",
        "if before > index:",
        (f"{SEQUENCES_LAW}[little noise]", "daemon/classes/test_oneway.py"),
    ),
    Mutant(
        "an index without never, where too few examples have label 1",
        "learners/minimum/draws.py",
        "add(self._never, self._never + 1, max(0, len(numbers) - target))",
        "pass",
        (f"{SEQUENCES_LAW}[three indices, two seeds]",),
    ),
    Mutant(
        "a histogram of strings with the words of the draw of an index",
        "learners/sequences/draws.py",
        "_HISTOGRAM = 3",
        "_HISTOGRAM = 0",
        (f"{SEQUENCES_LAW}[three indices, two seeds]",),
    ),
    Mutant(
        "a draw of an index that is not charged for",
        "learners/sequences/draws.py",
        "return (*self._minimum.season_events(), histogram)",
        "return (histogram,)",
        ("daemon/budget/charges/test_window_values.py",),
    ),
    Mutant(
        "a histogram of strings that is not charged for",
        "learners/sequences/draws.py",
        "return (*self._minimum.season_events(), histogram)",
        "return self._minimum.season_events()",
        (f"{SEQUENCES_LAW}[three indices, two seeds]",),
    ),
    Mutant(
        "seasons of sequences checked without their histogram",
        "budget/charges/sequences.py",
        "return replace(index, selection=(*index.selection, histogram))",
        "return index",
        ("daemon/budget/charges/test_window_values.py",),
    ),
)

WINDOWS = (
    Mutant(
        "half the noise of a window's draw",
        "learners/batch/methods.py",
        "return ExponentialMechanism(self.parameters.rate)",
        "return ExponentialMechanism(2 * self.parameters.rate)",
        (f"{WINDOWS_LAW}[dense, thresholds]",),
    ),
    Mutant(
        "a window that keeps the examples of the one before",
        "learners/batch/learner.py",
        "calls=state.calls + 1,\n            pieces=(),",
        "calls=state.calls + 1,",
        (f"{BATCH}/test_laws.py::test_a_window_knows_nothing_of_the_one_before",),
    ),
    Mutant(
        "lists of chunks that are not cut",
        "learners/batch/methods.py",
        "return [list(dict.fromkeys(listed[:cap])) for listed in lists]",
        "return [list(dict.fromkeys(listed)) for listed in lists]",
        (f"{WINDOWS_LAW}[teachers, lists that are too long]",),
    ),
    Mutant(
        "stage tests of windows without noise on their queries",
        "learners/batch/methods.py",
        "return 2 * (most + nu - rho) >= self.parameters.chunks",
        "return 2 * (most - rho) >= self.parameters.chunks",
        (f"{BATCH}/test_laws.py::test_stage_tests_cost_their_rate_once",),
    ),
    Mutant(
        "windows that count a user's examples anew",
        "learners/batch/learner.py",
        "epoch_position=place.position + 1,",
        "epoch_position=place.position + 1,\n"
        "            users_kept=state.users_kept and UserCounts(),",
        (f"{WINDOWS_USERS}[dense, one of each window]",),
    ),
    Mutant(
        "no draw from a window without examples",
        "learners/batch/learner.py",
        "rule = self._selection.select(self._window(state, noise), draw)",
        "window = self._window(state, noise)\n"
        "        rule = self._selection.select(window, draw) if len(window.y) else None",
        (f"{WINDOWS_USERS}[dense, everything]",),
    ),
    Mutant(
        "the examples of a user in several chunks",
        "learners/batch/learner.py",
        "words = user_words(users, self.name, state.season, noise)",
        "words = np.arange(len(y), dtype=np.uint64)",
        (f"{BATCH}/test_laws.py::test_a_user_in_several_chunks_exceeds_what_is_charged",),
    ),
    Mutant(
        "vetoes of windows that are not booked",
        "learners/batch/methods.py",
        "change, most = 2 if p.vetoes else 1, p.user_examples_max or 0",
        "change, most = 1, p.user_examples_max or 0",
        (f"{BATCH}/test_laws.py::test_vetoes_that_are_not_paid_for_exceed_what_is_charged",),
    ),
    Mutant(
        "residuals of more than a half",
        "learners/batch/boosting.py",
        "steps = RESIDUAL_STEPS - np.searchsorted",
        "steps = RESIDUAL_STEPS * (1 + (margins < 0)) - np.searchsorted",
        (f"{WINDOWS_LAW}[boosted, large steps]",),
    ),
    Mutant(
        "examples that count twice in a round of boosting",
        "learners/batch/boosting.py",
        "found += self.stumps.sums(cells[:, piece], residual[piece])",
        "found += 2 * self.stumps.sums(cells[:, piece], residual[piece])",
        (f"{WINDOWS_LAW}[boosted, small steps]",),
    ),
    Mutant(
        "a round of boosting that is not booked",
        "learners/batch/methods.py",
        "return (DenseSelection(p.rate, p.rounds, p.accounting,",
        "return (DenseSelection(p.rate, p.rounds - 1, p.accounting,",
        (f"{WINDOWS_LAW}[boosted, small steps]",),
    ),
    Mutant(
        "rounds of boosting with the same words",
        "learners/batch/methods.py",
        "first = number * ExponentialMechanism.WORDS",
        "first = 0",
        (f"{WINDOWS_LAW}[boosted, small steps]",),
    ),
    Mutant(
        "half the noise of a round of boosting",
        "learners/batch/methods.py",
        "return ExponentialMechanism(self.parameters.rate / RESIDUAL_STEPS)",
        "return ExponentialMechanism(2 * self.parameters.rate / RESIDUAL_STEPS)",
        (f"{WINDOWS_LAW}[boosted, small steps]",),
    ),
    Mutant(
        "windows of a user that are booked as one",
        "learners/batch/parameters.py",
        "return min(self.windows, self.user_examples_max or 1)",
        "return 1",
        (f"{BATCH}/test_methods.py::test_what_is_booked_grows_with_what_a_user_may_give",),
    ),
)

NOISE = (
    Mutant(
        "half the noise of the trigger",
        "mechanisms/above_threshold.py",
        "return DiscreteLaplace(self.rate)",
        "return DiscreteLaplace(2 * self.rate)",
        (
            f"{MECHANISMS}/test_above_threshold.py"
            "::test_fires_follow_their_exact_law_and_no_other_scale",
        ),
    ),
    Mutant(
        "half the noise of every table",
        "mechanisms/discrete_laplace.py",
        "tail = np.append(_upper_tail(self.rate), np.uint64(0))",
        "tail = np.append(_upper_tail(2 * self.rate), np.uint64(0))",
        (f"{TRIGGERS}[above threshold]",),
    ),
    Mutant(
        "half the noise of a selection",
        "mechanisms/exponential.py",
        "limbs = _weight_limbs(self.rate)\n        behind",
        "limbs = _weight_limbs(2 * self.rate)\n        behind",
        (f"{SELECTIONS}[dense, thresholds]",),
    ),
    Mutant(
        "half the noise of a majority",
        "mechanisms/noisy_majority.py",
        "return DiscreteLaplace(self.rate)",
        "return DiscreteLaplace(2 * self.rate)",
        (f"{ANSWER_LAW}[majority]",),
    ),
    Mutant(
        "a majority that follows the lead too fast",
        "mechanisms/noisy_majority.py",
        "isqrt(4 * _square(rate) * level",
        "isqrt(5 * _square(rate) * level",
        (f"{VOTING}::test_the_concentrated_law_costs_at_most_its_price_and_hardly_less",),
    ),
    Mutant(
        "a tie of votes counted for one side",
        "mechanisms/noisy_majority.py",
        "return 1 << (PROBABILITY_BITS - 1)",
        "return (1 << PROBABILITY_BITS) - 1",
        (f"{VOTING}::test_the_concentrated_law_costs_at_most_its_price_and_hardly_less",),
    ),
    Mutant(
        "a tie counted for the wrong side of a stable vote",
        f"{ORACLE}/learners/stable_voting.py",
        "    if ones > zeros:\n        return 1, (ones - zeros + 1) // 2 - 1",
        "    if ones >= zeros:\n        return 1, (ones - zeros) // 2",
        (
            f"{LEARNERS}/prediction/test_stable_voting.py"
            "::test_the_distance_is_the_number_of_changes_that_the_majority_stands",
        ),
    ),
    Mutant(
        "no noise at the steps of a trigger",
        "mechanisms/above_threshold.py",
        "fires = words < table[rows]",
        "fires = gaps <= 0",
        (
            f"{MECHANISMS}/test_above_threshold.py"
            "::test_fires_follow_their_exact_law_and_no_other_scale",
        ),
    ),
    Mutant(
        "a mistake that counts twice at its own step",
        "mechanisms/above_threshold.py",
        "gaps = self.before - counts\n",
        "gaps = self.before - counts - self.counted[steps]\n",
        (f"{TRIGGERS}[above threshold]",),
    ),
    Mutant(
        "a run of steps that is judged by its first gap",
        "mechanisms/above_threshold.py",
        "return self.before - int(np.count_nonzero(self.counted)) + self",
        "return self.before + self",
        (
            f"{MECHANISMS}/test_above_threshold.py"
            "::test_a_run_of_steps_fires_where_the_first_of_them_does",
        ),
    ),
    Mutant(
        "records that are learned together have the head of the first one",
        "mechanisms/noise.py",
        "heads = [records[number][0] for number in singles.tolist()]",
        "heads = [records[0][0] for _ in singles]",
        ("daemon/engine/test_together.py",),
    ),
    Mutant(
        "two turns of one stream at a time",
        "service/courses.py",
        "        if comes is None:\n            return course\n",
        "        if comes is None:\n            self._line_up(course)\n            return course\n",
        ("daemon/service/test_courses.py",),
    ),
    Mutant(
        "a training that holds a thread",
        "service/courses.py",
        "            comes.add_done_callback(lambda _: self._line_up(course))\n",
        "            comes.exception()\n            return course\n",
        ("daemon/service/test_courses.py",),
    ),
    Mutant(
        "a rest that was cut short ends the next one",
        "service/courses.py",
        "                    if resting.rest == number:\n",
        "                    if resting.rest is not None:\n",
        ("daemon/service/test_courses.py",),
    ),
    Mutant(
        "records of a full stream gather as long as single examples",
        "service/host.py",
        "        if self._gathers and before < ENGINE_MANY_EXAMPLES <= before + record.count:\n",
        "        if False:\n",
        ("daemon/service/test_host.py::test_a_long_record_ends_a_rest_by_itself",),
    ),
    Mutant(
        "a full stream learns in small gusts",
        "service/host.py",
        "        if self._gathers and before < ENGINE_MANY_EXAMPLES <= before + record.count:\n",
        "        if before < ENGINE_MANY_EXAMPLES <= before + record.count:\n",
        ("daemon/service/test_host.py::test_a_full_stream_gathers_as_long_as_it_is_told_to",),
    ),
    Mutant(
        "a gust is as long as its last turn",
        "service/host.py",
        "                learned = self._taken - rested\n",
        "                learned = _examples(turn)\n",
        ("daemon/service/test_host.py::test_a_full_stream_gathers_as_long_as_it_is_told_to",),
    ),
    Mutant(
        "who is hurried at work rests all the same",
        "service/courses.py",
        "                if comes.seconds and not course.hurried:\n",
        "                if comes.seconds:\n",
        ("daemon/service/test_courses.py",),
    ),
    Mutant(
        "records that are learned together go on behind a release",
        "engine/journal.py",
        "                if step.effects:\n",
        "                if len(step.effects) > 1:\n",
        ("daemon/engine/test_together.py",),
    ),
    Mutant(
        "threshold noise kept over epochs",
        "learners/online/learner.py",
        "            mistakes=0,\n            threshold_noise=None,\n        )\n"
        "        if self.parameters.fresh:",
        "            mistakes=0,\n        )\n        if self.parameters.fresh:",
        (f"{WITHOUT_FAULT}[threshold kept]",),
    ),
    Mutant(
        "no noise on the threshold",
        "learners/online/trigger.py",
        "return self.test.threshold_noise(noise.source.words(address, AboveThreshold.WORDS))",
        "return 0 * len(address.purpose)",
        (f"{TRIGGERS}[above threshold]",),
    ),
    Mutant(
        "no noise on the query of a stage test",
        "learners/online/selections/teachers.py",
        "nu = for_query.sample(noise.source.words(address, DiscreteLaplace.WORDS))",
        "nu = 0 * len(address.purpose)",
        (f"{LAWS}::test_a_segment_of_stage_tests_costs_its_rate",),
    ),
    Mutant(
        "no noise on a stage test that has fresh noise",
        "learners/online/selections/teachers.py",
        "return state, above is not None",
        "return state, gap <= 0",
        (f"{TRIGGERS}[stage tests of five teachers]",),
    ),
    Mutant(
        "the noise of a record is cut off with its slice",
        "learners/online/noise.py",
        "            return self.source.words(address, count, offset)\n",
        "            return self.source.words(address, count)\n",
        (f"{GROWING}::test_no_two_steps_of_a_trigger_share_a_word_however_long_a_record_is",),
    ),
    Mutant(
        "noise that does not depend on the history",
        "mechanisms/noise.py",
        'return b"".join((lengths, numbers, self.chain_head, names))',
        'return b"".join((lengths, numbers, names))',
        (
            f"{MECHANISMS}/test_noise.py"
            "::test_every_field_of_an_address_and_the_key_change_all_words",
        ),
    ),
    Mutant(
        "a float in the sampler",
        "mechanisms/exponential.py",
        "point = (uniform * _joined(self.sums[:, -1])) >> UNIFORM_BITS",
        "point = int(uniform / 2**UNIFORM_BITS * _joined(self.sums[:, -1]))",
        (
            f"{MECHANISMS}/test_exponential.py"
            "::test_the_law_of_a_draw_is_the_ideal_one_up_to_its_bound",
        ),
    ),
    Mutant(
        "a histogram passes what is one vote short",
        "mechanisms/stable_histogram.py",
        "rows += reach\n        return np.flatnonzero",
        "rows += reach - 1\n        return np.flatnonzero",
        (f"{MECHANISMS}/test_stable_histogram.py::test_bits_follow_their_law_and_no_other",),
    ),
    Mutant(
        "the threshold of a histogram is lower than booked",
        "learners/online/selections/histogram.py",
        "StableHistogram(self.parameters.selection_rate, self.parameters.bottom_score)",
        "StableHistogram(self.parameters.selection_rate, self.parameters.bottom_score - 1)",
        (f"{SELECTIONS}[histogram, points]",),
    ),
    Mutant(
        "an id passes with one vote too few",
        "learners/online/trigger.py",
        "gap -= 1\n",
        "gap -= 2\n",
        (
            f"{LAWS}::test_tallies_cost_what_they_are_charged[sets]",
            "daemon/learners/online/selections/test_tally.py"
            "::test_each_id_has_votes_of_its_own_and_keeps_them_when_others_pass",
        ),
    ),
    Mutant(
        "the noise of an id's spell is drawn anew with each vote",
        "learners/online/trigger.py",
        "        if watched is None:\n            gap =",
        "        if watched is None or watched.gap % 2:\n            gap =",
        (f"{LAWS}::test_tallies_cost_what_they_are_charged[sets]",),
    ),
    Mutant(
        "the threshold of a published id has no noise",
        "learners/online/tallies.py",
        "gap = threshold + tests.threshold_noise(words)",
        "gap = threshold",
        (f"{LAWS}::test_tallies_cost_what_they_are_charged[points, published]",),
    ),
    Mutant(
        "a published id is tested from its first vote on, at its lower threshold",
        "learners/online/tallies.py",
        "Watched(gap, passes_after(tests.wait(gap, words), position))",
        "Watched(gap, NEVER)",
        (
            f"{LAWS}::test_tallies_cost_what_they_are_charged[points, published]",
            "daemon/learners/online/selections/test_tally.py"
            "::test_a_published_id_is_tested_without_votes",
        ),
    ),
    Mutant(
        "the failure of tallies is booked for one step",
        "budget/events.py",
        "round_up(self.steps * bound)",
        "round_up(bound)",
        (
            f"{LAWS}::test_tallies_cost_what_they_are_charged[sets, hidden well]",
            f"{MECHANISMS}/test_tallies.py::test_the_failure_is_that_of_its_formula[5]",
        ),
    ),
    Mutant(
        "the noise of spells is not paid for",
        "budget/prices.py",
        "_pure(event.rate + event.threshold_rate) + Price",
        "_pure(event.rate) + Price",
        (
            f"{MECHANISMS}/test_tallies.py::test_no_neighbours_differ_by_more_than_is_charged[1.0-1.0-3]",
        ),
    ),
    Mutant(
        "an id that waits is tested with the digits of a shorter wait",
        "mechanisms/tallies.py",
        "return 1 + before if",
        "return 1 + before // 2 if",
        (f"{MECHANISMS}/test_tallies.py::test_the_words_of_a_wait_are_its_digits",),
    ),
    Mutant(
        "the spell of an id outlives the label that it votes against",
        "learners/online/selections/tally.py",
        "{*passing, *ended}",
        "{*passing}",
        (
            "daemon/learners/online/selections/test_tally.py"
            "::test_the_spell_of_an_id_ends_when_the_rule_changes_its_label",
        ),
    ),
    Mutant(
        "votes for closures that become one count twice",
        "learners/online/closure_tallies.py",
        "found[around] = found.get(around, 0) + left",
        "found[around] = found.get(around, 0) + 2 * left",
        (
            f"{ONLINE_TESTS}/test_closure_tallies.py"
            "::test_one_vote_more_leaves_at_most_one_more_for_one_rule",
        ),
    ),
    Mutant(
        "what noise has above the votes for a closure is passed on",
        "learners/online/closure_tallies.py",
        "left = min(0, one.gap - threshold(one) + forgotten)",
        "left = one.gap - threshold(one) + forgotten",
        (
            f"{ONLINE_TESTS}/test_closure_tallies.py"
            "::test_what_is_left_goes_to_the_rule_around_both",
        ),
    ),
    Mutant(
        "a group votes again for each closure that it comes to",
        "learners/online/closure_votes.py",
        "        if group.voted:\n            return group\n",
        "",
        (
            f"{ONLINE_TESTS}/test_closure_votes.py"
            "::test_a_group_votes_once_for_what_its_examples_agree_on",
        ),
    ),
    Mutant(
        "negative examples of a group vote beside it",
        "learners/online/closure_votes.py",
        "            if voter is None:\n",
        "            if voter is None or point is None:\n",
        (
            f"{ONLINE_TESTS}/test_closure_votes.py"
            "::test_a_group_votes_to_start_over_in_the_place_of_its_vote",
            f"{ONLINE_TESTS}/test_closure_votes.py::test_one_replaced_example_changes_one_vote",
        ),
    ),
    Mutant(
        "a group that has voted votes to start over as well",
        "learners/online/closure_votes.py",
        "        if group.voted:\n            return group\n        closure",
        "        if group.voted and point is not None:\n            return group\n        closure",
        (
            f"{ONLINE_TESTS}/test_closure_votes.py"
            "::test_a_group_votes_to_start_over_in_the_place_of_its_vote",
            f"{ONLINE_TESTS}/test_closure_votes.py::test_one_replaced_example_changes_one_vote",
        ),
    ),
    Mutant(
        "who votes alone is also counted in the group",
        "learners/online/groups.py",
        "        if number >= self.groups:\n            return None\n",
        "",
        (f"{ONLINE_TESTS}/test_groups.py::test_a_word_says_whose_an_example_is",),
    ),
    Mutant(
        "rules that come next are tested only where there are votes",
        "learners/online/closure_votes.py",
        "always = self._closed.next_rules(published)",
        "always = [r for r in self._closed.next_rules(published) if r in left]",
        (
            f"{ONLINE_TESTS}/test_closure_votes.py"
            "::test_rules_that_come_next_are_tested_without_votes",
        ),
    ),
    Mutant(
        "a closure is tested without noise of its own after a call",
        "learners/online/closure_votes.py",
        "gap = self._threshold(is_next=is_next) + self.tests.threshold_noise(row)\n",
        "gap = self._threshold(is_next=is_next)\n",
        (
            f"{ONLINE_TESTS}/test_closure_votes.py"
            "::test_noise_is_drawn_anew_for_each_rule_whenever_tests_begin",
        ),
    ),
    Mutant(
        "the tests of closures are charged for fewer than there are",
        "learners/online/selections/closure_tally.py",
        "steps=-(-p.horizon // p.groups.tested_every)",
        "steps=max(1, p.horizon // p.groups.tested_every // 8)",
        (
            f"{ONLINE_TESTS}/selections/test_closure_tally.py"
            "::test_a_season_costs_as_many_tests_as_there_can_be",
        ),
    ),
    Mutant(
        "a closure passes with one vote too few",
        "learners/online/closure_votes.py",
        "gap = watched.gap - 1\n",
        "gap = watched.gap - 2\n",
        (f"{LAWS}::test_tallies_of_closures_cost_what_they_are_charged[alone]",),
    ),
    Mutant(
        "the score of bottom is lower than booked",
        "learners/online/selections/proposals.py",
        "list_cap=p.list_cap, bottom_score=p.bottom_score)",
        "list_cap=p.list_cap, bottom_score=p.bottom_score - 1)",
        (f"{SELECTIONS}[proposals, prefixes]",),
    ),
    Mutant(
        "answers are not turned over",
        "learners/prediction/learner.py",
        "label = self._stable.label(prepared.labelings, point, draw)\n"
        '        return label != draw.toss("predict/flip", self.parameters.flip)',
        "label = self._stable.label(prepared.labelings, point, draw)\n        return label",
        (f"{ANSWER_LAW}[stability]",),
    ),
    Mutant(
        "answers by relabelling are not turned over",
        "learners/prediction/learner.py",
        '[0]), draw)\n        return label != draw.toss("predict/flip", self.parameters.flip)',
        "[0]), draw)\n        return label",
        (f"{ANSWER_LAW}[relabelling, flipped]",),
    ),
    Mutant(
        "twice the subset of a window",
        "learners/prediction/stable.py",
        "return BernoulliSubset(self.window, self.subset_rate)",
        "return BernoulliSubset(self.window, 2 * self.subset_rate)",
        (f"{ANSWER_LAW}[stability]",),
    ),
    Mutant(
        "answers of a request share their noise",
        "learners/prediction/parts.py",
        "return (Draw(noise, replace(address, draw=first + j)) for j in range(count))",
        "return (Draw(noise, replace(address, draw=first)) for j in range(count))",
        (
            f"{LEARNERS}/prediction/test_learner.py"
            "::test_answers_do_not_depend_on_their_batch_and_no_noise_is_used_twice",
        ),
    ),
    Mutant(
        "requests share their noise",
        "engine/predictions.py",
        'address = Address(question, self.learner.name, "predict", number)',
        "address = Address(\n"
        '            bytes(len(question)), self.learner.name, "predict", 0 * number\n        )',
        (f"{BESIDE}[realizable]",),
    ),
)

DATA = (
    Mutant(
        "teachers by the order of what is kept: an equal split",
        "learners/online/selections/teachers.py",
        "    teacher = _numbers(epoch.teacher, teachers)\n    order",
        "    teacher = np.arange(len(epoch)) % teachers\n    order",
        (f"{SPLITS}[essential lists]",),
    ),
    Mutant(
        "closures of an equal split",
        "learners/online/selections/teachers.py",
        "return _numbers(np.concatenate([epoch.teacher for epoch in archive]), teachers)",
        "return np.arange(sum(map(len, archive))) % teachers",
        (f"{SPLITS}[closures]",),
    ),
    Mutant(
        "an equal split after a shuffle",
        "learners/online/selections/teachers.py",
        "return (words % np.uint64(teachers)).astype(np.int64)",
        'return np.argsort(np.argsort(words, kind="stable")) % teachers',
        (f"{SPLITS}[closures]", f"{SPLITS}[essential lists]"),
    ),
    Mutant(
        "words of teachers that are drawn where there is a mistake",
        "learners/online/keeping.py",
        "[mistake] if votes else none",
        "[mistake] if votes and len(none) else none",
        (f"{ONLINE}::test_words_of_positions_are_drawn_where_they_decide_what_is_kept",),
    ),
    Mutant(
        "teachers of mistakes that are drawn by their number, and not by their position",
        "learners/online/keeping.py",
        'noise.of_positions(event, "teacher")[mistake] if votes',
        'noise.of_positions(event, "teacher")[: len(none)] if votes',
        (f"{ONLINE}::test_words_of_positions_are_drawn_where_they_decide_what_is_kept",),
    ),
    Mutant(
        "a background that looks at the labels",
        "learners/online/keeping.py",
        "arriving = Buffer(event.x, event.y, mistake, priority, teacher, event.users)",
        "arriving = Buffer(event.x, event.y, mistake, priority, teacher, event.users)\n"
        "        arriving = replace(arriving, priority=priority >> event.y.astype(np.uint64))",
        (f"{SELECTIONS}[background of teachers]",),
    ),
    Mutant(
        "lists longer than their cap",
        "learners/online/selections/teachers.py",
        "key for found in lists for key in dict.fromkeys(found[: self.parameters.list_cap])",
        "key for found in lists for key in dict.fromkeys(found)",
        (f"{TRIGGERS}[lists that are too long]",),
    ),
    Mutant(
        "a list that names a rule twice counts twice",
        "learners/online/selections/teachers.py",
        "key for found in lists for key in dict.fromkeys(found[: self.parameters.list_cap])",
        "key for found in lists for key in found[: self.parameters.list_cap]",
        (f"{TRIGGERS}[lists that are too long]",),
    ),
    Mutant(
        "an example that is held back and counted in its own epoch as well",
        "learners/online/keeping.py",
        'noise.of_positions(event, "pool")\n        held = self.settings.held(words, earlier)\n'
        "        assert isinstance(state.pool, Pool)\n",
        'noise.of_positions(event, "pool")\n        held = self.settings.held(words, earlier)\n'
        "        assert isinstance(state.pool, Pool)\n"
        "        state = super().keep(state, event.take(held), mistake[held], noise)\n",
        (f"{TRIGGERS}[dense, pool]", TWO_STREAMS),
    ),
    Mutant(
        "a slot of the pool that stays full when it is spent",
        "learners/online/pool.py",
        "        left[slot] = 0\n",
        "",
        (f"{TRIGGERS}[dense, one slot]", TWO_STREAMS),
    ),
    Mutant(
        "mistakes are not held back",
        "learners/online/keeping.py",
        "held = self.settings.held(words, earlier)\n        assert",
        "held = self.settings.held(words, earlier) & ~mistake\n        assert",
        (TWO_STREAMS,),
    ),
    Mutant(
        "a pool that stays when a season opens",
        "learners/online/keeping.py",
        "return replace(super().emptied(state), pool=Pool.empty(self.settings.slots, self.rules))",
        "full = state.pool or Pool.empty(self.settings.slots, self.rules)\n"
        "        return replace(super().emptied(state), pool=full)",
        (TWO_STREAMS,),
    ),
    Mutant(
        "an epoch with a cap that keeps the examples of the one before",
        "learners/online/learner.py",
        "        if self.parameters.fresh:\n"
        "            published = self._keeping.next_epoch(published)\n",
        "        if self.parameters.fresh and self.parameters.schedule_cap is None:\n"
        "            published = self._keeping.next_epoch(published)\n",
        (f"{SELECTIONS}[dense, three capped calls]", f"{SEASONS}[capped rules]", TWO_STREAMS),
    ),
    Mutant(
        "an offset that looks at the examples",
        "learners/online/selections/dense.py",
        "offsets[memory.number] = settings.offset",
        "offsets[memory.number] = settings.offset + scores[memory.number]",
        (f"{SEASONS}[rules that stand]", TWO_STREAMS),
    ),
    Mutant(
        "a cap that looks at the labels",
        "learners/online/trigger.py",
        "return Looked(mistake, len(part.y), len(part.y) == self._left(state, part))",
        "left = (self._left(state, part) or 0) - (self.parameters.schedule_cap is not None and "
        "bool(part.y[-1]))\n        return Looked(mistake, len(part.y), len(part.y) >= left)",
        (f"{SEASONS}[capped rules]", TWO_STREAMS),
    ),
    Mutant(
        "a draw of a warm-up at the whole rate of the trigger",
        "learners/online/values.py",
        "return self.trigger_rate / 2 + self.selection_rate",
        "return self.trigger_rate + self.selection_rate",
        (f"{TRIGGERS}[dense, warm-up]", f"{TRIGGERS}[chain, warm-up]"),
    ),
    Mutant(
        "the rate of a warm-up in the call behind it",
        "learners/online/selections/dense.py",
        "return self.parameters.warmup_length(state.season, state.calls) is not None",
        "calls = max(0, state.calls - 1)\n"
        "        return self.parameters.warmup_length(state.season, calls) is not None",
        (f"{TRIGGERS}[dense, warm-up of two]",),
    ),
    Mutant(
        "a trigger that looks at the examples of the warm-up",
        "learners/online/trigger.py",
        "return self._in_force(state).look(state, part, mistake, threshold, noise)",
        "found = self.behind.look(state, part, mistake, threshold, noise)\n"
        "        ends = self._in_force(state).look(state, part, mistake, threshold, noise)\n"
        "        last = ends.fires and found.consumed == ends.consumed\n"
        "        return replace(found, fires=found.fires or last)",
        (f"{TRIGGERS}[dense, warm-up]",),
    ),
    Mutant(
        "a fresh learner that remembers",
        "learners/online/learner.py",
        "        if self.parameters.fresh:\n"
        "            published = self._keeping.next_epoch(published)\n",
        "",
        (f"{SEASONS}[fresh closures]", f"{WITHOUT_FAULT}[fresh but remembering]"),
    ),
    Mutant(
        "a season that begins with the examples of the one before",
        "learners/online/learner.py",
        "            self._without_data(state),\n            version=state.version + 1,\n"
        "            season",
        "            state if event.season else self._without_data(state),\n"
        "            version=state.version + 1,\n            season",
        (f"{WITHOUT_FAULT}[older seasons]",),
    ),
    Mutant(
        "a repeated record is stored again",
        "store/staging.py",
        "if sequence != following:",
        "if sequence > following:",
        (f"{STORE}/test_store.py::test_a_refused_batch_changes_nothing",),
    ),
    Mutant(
        "a batch that comes again is learned again",
        "service/channels.py",
        "known = self._next - sequence",
        "known = 0 * sequence",
        (f"{SERVICE}/test_channels.py::test_repeated_examples_are_acknowledged_and_ignored",),
    ),
)

ELSEWHERE_TESTS = f"{SERVICE}/test_elsewhere.py"
CLIENT_PLACES = "../../clients/littled_client/places.py"
MOVED = "clients/test_moved.py"
ELSEWHERE = (
    Mutant(
        "a token that goes wherever a daemon says",
        CLIENT_PLACES,
        "if there not in _AS_SAFE[here] and not plain:",
        "if False:",
        (f"{MOVED}::test_a_token_is_never_sent_to_plain_tcp_because_a_daemon_says_so",),
    ),
    Mutant(
        "a new host whose certificate may be for the first one",
        CLIENT_PLACES,
        "replace(self._tls or Tls(), server_name=None)",
        "self._tls or Tls()",
        ("clients/test_places.py::test_a_certificate_has_to_be_for_the_new_host",),
    ),
    Mutant(
        "an end that came with an answer and is not seen before more is sent",
        "../../clients/littled_client/blocking.py",
        "        if self._failure is not None:\n"
        "            raise again(self._failure)\n"
        "        frame = self.conversation.send(message)",
        "        frame = self.conversation.send(message)",
        (
            "clients/test_both_clients.py"
            "::test_an_end_that_comes_together_with_an_answer_is_waited_out",
        ),
    ),
    Mutant(
        "half a line of a log that was put aside and counts as a row",
        "../../clients/littled_client/lines.py",
        "if self._rest and not self._blocks.ends_anywhere:",
        "if self._rest:",
        ("clients/test_lines.py::test_what_was_cut_off_in_a_line_is_no_line",),
    ),
    Mutant(
        "new messages that are left out for old ones that their broker has forgotten",
        "cli/brokers.py",
        "if (said.missing or said.forgets) and lane.left_out:",
        "if said.missing and lane.left_out:",
        (
            "daemon/cli/test_brokers.py"
            "::test_nothing_new_is_left_out_where_a_broker_keeps_nothing_old",
        ),
    ),
    Mutant(
        "examples that were not acknowledged and are not sent again at a new place",
        "../../clients/littled_client/outbox.py",
        "        self._again = deque(self._kept)\n",
        "",
        (f"{MOVED}::test_a_feeder_follows_and_every_example_is_learned_once",),
    ),
    Mutant(
        "a subscriber that takes another history for its own",
        "../../clients/littled_client/conversation.py",
        "if known and release != self._last:",
        "if False:",
        (f"{MOVED}::test_another_release_under_a_version_that_was_seen_is_refused",),
    ),
    Mutant(
        "examples for another store of the same stream",
        "../../clients/littled_client/conversation.py",
        "return known is not None and known != welcome.instance",
        "return False",
        (f"{MOVED}::test_another_store_of_the_stream_is_refused_before_anything_is_sent_there",),
    ),
    Mutant(
        "moved on a connection of version 1",
        "service/sessions.py",
        "        if self._connection.version < VERSION_OF_MOVED:\n            self.fail(",
        "        if self._connection.version < 0:\n            self.fail(",
        (f"{ELSEWHERE_TESTS}::test_an_older_client_is_told_in_its_own_words",),
    ),
    Mutant(
        "a place of a stream for who may not know of it",
        "service/sessions.py",
        "if stream is not None and self._rights.sees(stream) and self._say_where(stream):",
        "if stream is not None and self._say_where(stream):",
        (f"{ELSEWHERE_TESTS}::test_who_may_not_use_a_stream_is_not_told_where_it_is",),
    ),
    Mutant(
        "a page that says to everybody where a stream is",
        "service/http_watching.py",
        "check_here(surface, sorted(filter(rights.sees, only or ())))",
        "check_here(surface, sorted(only or ()))",
        (f"{ELSEWHERE_TESTS}::test_a_page_does_not_say_where_a_stream_is_to_who_may_not_use_it",),
    ),
)

PLACES = (
    Mutant(
        "a place that is stored before its examples",
        "store/store.py",
        "        with self._transaction() as connection:\n            if batch.beside:",
        "        with self._transaction() as connection:\n"
        "            put_places(connection, reached)\n"
        "        with self._transaction() as connection:\n            if batch.beside:",
        (f"{STORE}/test_source_places.py::test_examples_and_place_are_in_one_transaction",),
    ),
    Mutant(
        "a place that nobody hears of",
        "service/sessions.py",
        'return found or SourcePlace(0, b"")',
        'return SourcePlace(0, b"")',
        (f"{SERVICE}/test_channels.py::test_who_asks_hears_the_last_durable_place",),
    ),
    Mutant(
        "the place of a batch before all of it is stored",
        "service/queues.py",
        "is_first = place is not None and place.sequence <= middle",
        "is_first = place is not None",
        (f"{SERVICE}/test_queues.py"
         "::test_a_place_goes_with_the_part_whose_examples_are_before_it",),
    ),
    Mutant(
        "the place of a batch that is refused",
        "service/channels.py",
        "self._hand_over(first, *self._schema.cut(x, y, users, slice(good)))",
        "self._hand_over(first, *self._schema.cut(x, y, users, slice(good)), place)",
        (f"{SERVICE}/test_channels.py::test_a_batch_that_is_refused_has_no_place",),
    ),
    Mutant(
        "a broker that is told before its messages are durable",
        "cli/brokers.py",
        "while self.waiting and self.waiting[0][0] <= self.feeder.acknowledged:",
        "while self.waiting:",
        ("daemon/cli/test_brokers.py::test_a_broker_hears_of_no_message_before_it_is_durable",),
    ),
    Mutant(
        "examples that the daemon has fed again behind their place",
        "cli/brokers.py",
        "out = min(lane.left_out, count)",
        "out = 0",
        ("daemon/cli/test_brokers.py"
         "::test_examples_that_the_daemon_has_without_a_place_are_left_out",),
    ),
    Mutant(
        "a place beyond the examples believed",
        "store/source_places.py",
        "0 < sequence <= following",
        "0 < sequence",
        (f"{STORE}/test_source_places.py::test_damage_is_found",),
    ),
)  # fmt: skip

BUDGET = (
    Mutant(
        "the price of one draw for several",
        "budget/prices.py",
        "return _draw(_user_rate(event), event.accounting) * event.draws",
        "return _draw(_user_rate(event), event.accounting)",
        (f"{SELECTIONS}[dense, three draws]",),
    ),
    Mutant(
        "half the price of a draw",
        "budget/prices.py",
        "return _pure(2 * rate)\n    return Price(Fraction(0), round_up(rate * rate / 2)",
        "return _pure(rate)\n    return Price(Fraction(0), round_up(rate * rate / 8)",
        (f"{SELECTIONS}[dense, thresholds]",),
    ),
    Mutant(
        "vetoes are not paid for",
        "learners/online/selections/histogram.py",
        "change=2 if self._vetoes else 1,",
        "change=1,",
        (f"{LAWS}::test_every_order_is_bounded_where_candidates_are_the_same[histogram, vetoes]",),
    ),
    Mutant(
        "a learner that remembers pays like a fresh one",
        "learners/online/learner.py",
        "        if self.parameters.fresh:\n            return PrepaidSelection",
        "        if self.parameters.draws:\n            return PrepaidSelection",
        (f"{TRIGGERS}[dense]",),
    ),
    Mutant(
        "tests with fresh noise are paid for once",
        "budget/prices.py",
        "epsilon = max(event.rate, kappa_upper(event.rate) * ln_upper(1 / event.failure))",
        "epsilon = event.rate",
        (f"{TRIGGERS}[Cohen and Lyu]",),
    ),
    Mutant(
        "the subset of an answer is not paid for",
        "budget/prices.py",
        "_pure(ln_upper(predictions.stable_ratio(k, event.subset_rate, event.flip)))",
        "_pure(ln_upper(predictions.stable_ratio(k, Fraction(0), event.flip)))",
        (
            f"{LEARNERS}/prediction/test_audit.py"
            "::test_without_a_fault_the_same_games_prove_nothing[stability]",
        ),
    ),
    Mutant(
        "prices rounded down",
        "budget/rounding.py",
        "return Fraction(-(-value.numerator * GRID // value.denominator), GRID)",
        "return Fraction(value.numerator * GRID // value.denominator, GRID)",
        (f"{BUDGETS}/test_rounding.py",),
    ),
    Mutant(
        "mu^2 taken for half of it",
        "budget/normal.py",
        "mu = root_upper(2 * amount)",
        "mu = root_upper(amount)",
        (
            f"{BUDGETS}/test_normal.py",
            f"{BUDGETS}/test_conversion.py::test_no_epsilon_of_gdp_promises_too_much",
        ),
    ),
    Mutant(
        "a stump booked as GDP at its price in zCDP",
        "budget/events.py",
        "squared * PI_UPPER / 4 if gaussian else squared / 2",
        "squared / 2",
        (
            f"{LEARNERS}/leader/test_laws.py"
            "::test_all_releases_of_a_season_cost_what_is_charged[falling, GDP]",
        ),
    ),
    Mutant(
        "an epsilon of GDP rounded down",
        "budget/conversion.py",
        "if less >= epsilon or less < 0 or Pair.of(amount, less).delta > delta:",
        "less -= less / 10**9\n        if less >= epsilon or less < 0:",
        (f"{BUDGETS}/test_conversion.py::test_no_epsilon_of_gdp_promises_too_much",),
    ),
    Mutant(
        "zCDP and GDP converted each for itself at one delta",
        "budget/conversion.py",
        "epsilon = epsilon_of_rho(caps.rho + caps.gaussian, delta_z)",
        "epsilon = epsilon_of_rho(caps.rho, delta_z) + epsilon_of_gaussian(caps.gaussian, delta_z)",
        (
            f"{BUDGETS}/test_conversion.py"
            "::test_gdp_beside_zcdp_counts_as_zcdp_and_beside_pure_parts_as_itself",
        ),
    ),
    Mutant(
        "a season of GDP that does not pay for noise that is not normal",
        "learners/leader/learner.py",
        'gaussian = p.accounting == "gaussian"',
        "gaussian = p.epsilon < 0",
        (
            f"{LEARNERS}/leader/test_laws.py"
            "::test_a_season_of_gdp_pays_for_the_distance_from_normal_noise",
        ),
    ),
    Mutant(
        "a filter that forgets GDP",
        "budget/price.py",
        "            and self.gaussian <= other.gaussian\n",
        "",
        (f"{BUDGETS}/test_filter.py",),
    ),
    Mutant(
        "GDP that a store has lost not charged",
        "store/restoration.py",
        "max(counted.gaussian - spent.gaussian, nothing)",
        "nothing",
        (f"{STORE}/test_restoration.py",),
    ),
    Mutant(
        "a filter that forgets delta",
        "budget/price.py",
        "            and self.rho <= other.rho\n            and self.delta <= other.delta\n",
        "            and self.rho <= other.rho\n",
        (f"{BUDGETS}/test_filter.py",),
    ),
    Mutant(
        "a filter that admits and does not count",
        "budget/filter.py",
        "return PrivacyFilter(self.caps, spent)",
        "return PrivacyFilter(self.caps, self.spent)",
        (f"{TWO_LEARNERS}[one call for two]",),
    ),
    Mutant(
        "a halt that is ignored",
        "engine/journal.py",
        "step = learner.step(state, CallRefused(request.place), self._noise)",
        "step = learner.step(state, CallAdmitted(request.place), self._noise)",
        (f"{TWO_LEARNERS}[one call for two]",),
    ),
    Mutant(
        "a call is charged after it ran",
        "engine/journal.py",
        "        if not prepaid:\n            self._outlet.charge(entry)\n",
        "        if not prepaid:\n            learner.step(state, CallAdmitted(request.place), "
        "self._noise)\n            self._outlet.charge(entry)\n",
        (f"{ENGINE}::test_charges_are_durable_before_training_draws_noise",),
    ),
    Mutant(
        "a call that costs something is charged with its release",
        "engine/journal.py",
        "        prepaid = entry.price == Price.zero()\n",
        "        prepaid = True\n",
        (f"{ENGINE}::test_charges_are_durable_before_training_draws_noise",),
    ),
    Mutant(
        "a call that its season has paid for is not charged",
        "engine/journal.py",
        "            self._outlet.publish(waiting.releases, waiting.entries)\n",
        "            self._outlet.publish(waiting.releases, ())\n",
        (f"{SHORT_CALLS}::test_a_prepaid_call_is_charged_and_released_in_one_transaction",),
    ),
    Mutant(
        "calls that wait where the engine may be left",
        "engine/journal.py",
        "                if not self._short_calls.entries:\n                    yield None\n",
        "                yield None\n",
        (f"{SHORT_CALLS}::test_a_place_to_leave_is_one_where_nothing_waits",),
    ),
    Mutant(
        "a season that opens before what waits is durable",
        "engine/journal.py",
        "        course = self._course\n        self._settle()\n        position = season",
        "        course = self._course\n        position = season",
        (f"{SHORT_CALLS}::test_short_calls_wait_for_each_other_and_come_to_the_same",),
    ),
    Mutant(
        "a new budget where the old one is spent",
        "engine/journal.py",
        "        course.filter = course.filter.admit(cost)\n",
        "        if not (course.filter.spent + cost).fits_in(course.filter.caps):\n"
        "            course.filter = PrivacyFilter(self._plan.caps, Price.zero())\n"
        "        course.filter = course.filter.admit(cost)\n",
        (f"{TWO_LEARNERS}[one call for two]",),
    ),
    Mutant(
        "a new budget at every start",
        "engine/journal.py",
        "PrivacyFilter(caps=self._plan.caps, spent=Price.from_dict(spent))",
        "PrivacyFilter(caps=self._plan.caps, spent=Price.zero())",
        (f"{ENGINE}::test_snapshot_continues_exactly",),
    ),
    Mutant(
        "finite precision is not paid for",
        "learners/online/learner.py",
        "return (*trigger, *tests, *selections, loss)",
        "return (*trigger, *tests, *selections)",
        (f"{BUDGETS}/test_charges.py", ONLINE),
    ),
    Mutant(
        "windows are not paid for when a season opens",
        "engine/journal.py",
        "            entries += [self._charge(name, position, event) for event in events]\n"
        "        self._outlet.publish",
        "            _ = events\n        self._outlet.publish",
        (f"{ANSWERING}::test_a_season_pays_for_its_windows_when_it_opens",),
    ),
    Mutant(
        "a window that gives more answers than were paid for",
        "engine/predictions.py",
        "budget = standing.filter.admit(answerer.one * count)",
        "budget = standing.filter",
        ("daemon/test_stream_laws.py::test_a_window_that_is_spent_refuses_and_says_nothing_more",),
    ),
)

USERS = (
    Mutant(
        "every mistake of a user counts",
        "learners/online/keeping.py",
        "return counts.admitted(event.users, wanted, most)",
        "return wanted",
        (USER_LAWS,),
    ),
    Mutant(
        "every example of a user in the background is kept",
        "learners/online/keeping.py",
        "chosen = state.users_kept.admitted(final.users, ~mistakes, p.user_examples_max)",
        "chosen = ~mistakes",
        (USER_LAWS,),
    ),
    Mutant(
        "a dense learner counts every example of a user",
        "learners/online/keeping.py",
        "chosen = kept.admitted(whose, np.ones(waiting, dtype=np.bool_), most)",
        "chosen = np.ones(waiting, dtype=np.bool_)",
        (USER_LAWS,),
    ),
    Mutant(
        "one example of a user more than the cap",
        "learners/users.py",
        "left = most - self._of",
        "left = most + 1 - self._of",
        (USER_LAWS,),
    ),
    Mutant(
        "a cap for each epoch instead of the season",
        "learners/online/learner.py",
        "            mistakes=0,\n            threshold_noise=None,\n        )\n"
        "        if self.parameters.fresh:",
        "            mistakes=0,\n            threshold_noise=None,\n"
        "            users_counted=state.users_counted and UserCounts(),\n"
        "            users_kept=state.users_kept and UserCounts(),\n        )\n"
        "        if self.parameters.fresh:",
        (USER_LAWS,),
    ),
    Mutant(
        "a user's examples are shared out to teachers",
        "learners/online/keeping.py",
        "last = replace(last, teacher=words)",
        "last = replace(last, teacher=words + np.arange(len(words), dtype=np.uint64))",
        (USER_LAWS,),
    ),
    Mutant(
        "the price of one example for those of a user",
        "budget/prices.py",
        "return event.rate * max(1, event.user_examples_max)",
        "return event.rate",
        (USER_LAWS,),
    ),
    Mutant(
        "a trigger costs a user what it costs an example",
        "budget/prices.py",
        "_pure(event.user_examples_max * (event.rate + (event.threshold_rate or event.rate)))",
        "_pure(event.rate)",
        (USER_LAWS,),
    ),
    Mutant(
        "noise on the threshold costs a user nothing",
        "budget/prices.py",
        "(event.rate + (event.threshold_rate or event.rate))",
        "event.rate",
        (f"{USER_LAWS}::test_a_trigger_of_two_rates_costs_nearly_their_sum",),
    ),
    Mutant(
        "a threshold whose noise has the rate of the steps'",
        "mechanisms/above_threshold.py",
        "self._noise if self.threshold_rate is None else DiscreteLaplace(self.threshold_rate)",
        "self._noise",
        (f"{USER_LAWS}::test_a_trigger_of_two_rates_costs_nearly_their_sum",),
    ),
    Mutant(
        "a learner that charges two rates of its trigger as if they were one",
        "learners/online/trigger.py",
        "TriggerSeason(p.trigger_rate, p.user_examples_max or 0, p.threshold_rate or Fraction(0))",
        "TriggerSeason(min(p.trigger_rate, p.threshold_rate or 1), p.user_examples_max or 0)",
        (f"{USER_LAWS}::test_a_trigger_of_two_rates_costs_nearly_their_sum",),
    ),
    Mutant(
        "a check of charges that knows one rate of a trigger",
        "budget/charges/online.py",
        "Fraction(0) if threshold_rate is None else from_text(threshold_rate)",
        "Fraction(0)",
        ("daemon/budget/test_charges.py::test_a_trigger_of_two_rates_is_charged_for_both",),
    ),
    Mutant(
        "places of a background that users who are over their cap leave to others",
        "learners/online/keeping.py",
        "p, final = self.parameters, self._final(state.buffer)",
        "p, buffer = self.parameters, state.buffer.joined()\n"
        "        if state.users_kept is not None and buffer.users is not None:\n"
        "            left = state.users_kept.admitted(buffer.users, ~buffer.mistake, 1)\n"
        "            buffer = buffer.take(left | buffer.mistake)\n"
        "        final = self._final(buffer)",
        (f"{USER_LAWS}::test_a_place_that_is_given_to_somebody_else_is_caught",),
    ),
    Mutant(
        "what a call sees of a pool does not count as kept of its user",
        "learners/online/keeping.py",
        "return replace(state, archive=(*state.archive, found), users_kept=kept)",
        "return replace(state, archive=(*state.archive, found))",
        (f"{POOLED_USERS}[two slots]",),
    ),
    Mutant(
        "every example of a user in a slot is seen",
        "learners/online/keeping.py",
        "chosen = kept.admitted(found.users, np.ones(len(found), dtype=np.bool_), most)",
        "chosen = np.ones(len(found), dtype=np.bool_)",
        (f"{POOLED_USERS}[two calls of one slot]",),
    ),
    Mutant(
        "a slot of users that looks at what it ranks",
        "learners/online/pool.py",
        "            words,\n            np.zeros_like(words),\n",
        "            words + (event.x.astype(np.uint64) << np.uint64(4)),\n"
        "            np.zeros_like(words),\n",
        (f"{POOLED_USERS}[ranks]",),
    ),
    Mutant(
        "an example of a user that is held back and kept for its own epoch as well",
        "learners/online/keeping.py",
        "event, mistake, priority = event.take(~held), mistake[~held], priority[~held]",
        "pass",
        (f"{POOL}::test_a_position_is_for_one_call_only",),
    ),
    Mutant(
        "mistakes of users are not held back, and make room for others",
        "learners/online/keeping.py",
        "held = self.settings.held(words, earlier)\n            pool",
        "held = self.settings.held(words, earlier) & ~mistake\n            pool",
        (f"{POOL}::test_which_examples_of_users_are_held_is_said_by_words_alone",),
    ),
    Mutant(
        "a pool of users that stays when a season opens",
        "learners/online/keeping.py",
        "return replace(super().emptied(state), pool=HeldRows())",
        "return replace(super().emptied(state), pool=state.pool or HeldRows())",
        (f"{POOL}::test_seasons_and_halts_empty_the_pool_of_users",),
    ),
    Mutant(
        "a slot of users that stays full when it is spent",
        "learners/online/pool.py",
        "return rows.take(here), replace(self, rows=rows.take(~here))",
        "return rows.take(here), replace(self, rows=rows)",
        (f"{POOL}::test_a_position_is_for_one_call_only",),
    ),
    Mutant(
        "an epoch that empties the pool of users and sees it",
        "learners/online/keeping.py",
        "            return replace(state, pool=HeldRows())\n        found",
        "            pool = replace(pool, calls=0)\n        found",
        (f"{POOL}::test_short_epochs_and_many_calls_empty_the_pool_of_users",),
    ),
    Mutant(
        "a user proposes to start over with each of their examples",
        "learners/online/selections/closure.py",
        "    return np.isin(numbers, teachers), len(teachers)\n",
        "    return np.isin(numbers, teachers), int(wrong.sum())\n",
        (
            f"{ONLINE_TESTS}/selections/test_closure.py"
            "::test_who_has_an_example_that_no_rule_fits_proposes_the_smallest_one",
        ),
    ),
    Mutant(
        "who has no closure proposes to start over with each of their examples",
        "learners/online/selections/closure.py",
        "_proposing_anew(outside, others)[1] - ",
        "int(outside.sum()) - ",
        (f"{SELECTIONS}[closures that start over together]",),
    ),
    Mutant(
        "who has a closure proposes to start over as well",
        "learners/online/selections/closure.py",
        "_proposing_anew(outside, others)[1] - int(proposals.scores.sum())",
        "_proposing_anew(outside, others)[1]",
        (f"{SELECTIONS}[closures that start over together]",),
    ),
    Mutant(
        "fresh closures cost a user what they cost an example",
        "learners/online/selections/closure.py",
        "return sparse_event(self.parameters, self.parameters.draws * epochs)",
        "return sparse_event(self.parameters, self.parameters.draws)",
        (USER_LAWS,),
    ),
    Mutant(
        "digests of users are stored as they came",
        "service/channels.py",
        "self._schema.users.column(users)",
        "users",
        (f"{SERVICE}/test_user_streams.py::test_users_are_hashed_before_they_are_stored",),
    ),
    Mutant(
        "users are hashed without the key",
        "service/users.py",
        "digest_size=_SUBKEY_BYTES, key=key, person=_PERSON",
        "digest_size=_SUBKEY_BYTES, key=key[:0], person=_PERSON",
        (f"{SERVICE}/test_users.py::test_streams_and_keys_keep_users_apart",),
    ),
    Mutant(
        "ids that begin alike are one user",
        "../../clients/littled_client/user_table.py",
        "    for index in range(words.shape[1]):\n        same &=",
        "    for index in range(1):\n        same &=",
        ("clients/test_user_table.py::test_ids_that_begin_alike_are_told_apart",),
    ),
    Mutant(
        "ids taken for the one whose place they come to",
        "../../clients/littled_client/user_table.py",
        "same &= rows[:, 2 + index] == words[:, index]",
        "same |= rows[:, 2 + index] == words[:, index]",
        ("clients/test_user_table.py::test_what_is_found_is_what_was_put_in",),
    ),
)

RESTORES = (
    Mutant(
        "a restored copy that makes the jump of its last restore only",
        "store/staging.py",
        "version - 1 not in left_out:",
        "version - 1 != max(left_out, default=None):",
        (
            f"{STORE}/test_restoring.py"
            "::test_a_copy_of_a_restored_store_that_was_not_served_yet_makes_both_jumps",
        ),
    ),
    Mutant(
        "a restore that lets a producer go on where an older mark has it",
        "store/restoring.py",
        "numbers=numbers.raised(\n"
        "                self._history.producers.of(stream), restores.first_number(stream)\n"
        "            ),",
        "numbers=numbers,",
        (
            f"{STORE}/test_restoring.py"
            "::test_an_older_mark_lets_no_producer_go_on_below_an_earlier_restore",
        ),
    ),
    Mutant(
        "the name of a lost stream that its mark may forget",
        "store/store.py",
        "stream: mark.streams.get(stream, lost)\n"
        "            for stream, lost in lost_marks(self._facts).items()",
        "stream: mark.streams[stream] for stream in self._facts.lost if stream in mark.streams",
        (f"{STORE}/test_growth.py::test_the_name_of_a_lost_stream_outlives_its_mark",),
    ),
    Mutant(
        "the name of a lost stream that a restore forgets",
        "store/restoring.py",
        "lost_marks(self._facts) | self.gone",
        "dict(self.gone)",
        (f"{STORE}/test_growth.py::test_the_name_of_a_lost_stream_outlives_its_mark",),
    ),
    Mutant(
        "a restore that leaves its season open",
        "engine/journal.py",
        "self._open_season(record.first_position // plan.horizon, entry)",
        "self._outlet.publish([], [entry])\n"
        "        course.season = record.first_position // plan.horizon\n"
        "        course.position = record.first_position",
        (f"{STORE}/test_restoring.py::test_a_copy_goes_on_above_all_that_was_lost",),
    ),
    Mutant(
        "a restore that forgets what its mark says was spent",
        "store/restoration.py",
        "return self.spent if known else caps",
        "return Price.zero() if known else caps",
        (f"{STORE}/test_restoring.py::test_a_copy_goes_on_above_all_that_was_lost",),
    ),
    Mutant(
        "a restore that forgets how much a later season may have cost",
        "store/restoration.py",
        "return self.spent if known else caps",
        "return self.spent",
        (f"{STORE}/test_restoration.py::test_else_it_counts_all_that_it_may_spend",),
    ),
    Mutant(
        "producers send what was lost once more after a restore",
        "store/restoring.py",
        "        self._raise_producers(connection, identity, lost.marked.numbers)\n",
        "",
        (f"{STORE}/test_restoring.py::test_lost_examples_are_not_learned_again",),
    ),
    Mutant(
        "restores of one copy draw the same noise",
        "store/restoring.py",
        "self.instance = secrets.token_hex(_INSTANCE_BYTES)",
        'self.instance = "ab" * _INSTANCE_BYTES',
        (f"{STORE}/test_restoring.py::test_forked_histories_share_no_draw",),
    ),
    Mutant(
        "producers that share a number are bounded by nothing",
        "store/mark.py",
        "            max([self.others, *(named[name] for name in surplus)]),",
        "            self.others,",
        (f"{STORE}/test_reserving.py::test_whatever_copy_is_restored_nothing_is_taken_twice",),
    ),
    Mutant(
        "producers get a name below what they have sent",
        "store/reserving.py",
        "            bounds.setdefault(stream, {})[name] = following + ahead",
        "            first = 0 if (stream, name) in waiting else following\n"
        "            bounds.setdefault(stream, {})[name] = first + ahead",
        (f"{STORE}/test_reserving.py::test_whatever_copy_is_restored_nothing_is_taken_twice",),
    ),
    Mutant(
        "a store that is written to after its file was removed",
        "store/sqlite.py",
        "if identity(path) != opened or opened is None:",
        "if opened is None:",
        (f"{STORE}/test_places.py::test_a_pulse_notices",),
    ),
    Mutant(
        "who goes alone is acknowledged before its example is stored",
        "service/intake.py",
        "        self._committed(self._append((record,)), {queue: Taken([run], 1)})",
        "        if queue.feeder is not None:\n"
        "            end = run.sequence + run.count\n"
        "            queue.feeder.acknowledge(end, queue.stream.position)\n"
        "        self._committed(self._append((record,)), {queue: Taken([run], 1)})",
        (f"{SERVICE}/test_intake.py::test_a_failure_on_the_loop_is_the_writers_last_as_well",),
    ),
    Mutant(
        "a lone record that is not synced before it counts as stored",
        "store/tail.py",
        "            self._disk.sync(self._descriptor, self.path)\n"
        "        except OSError as error:",
        "        except OSError as error:",
        (
            f"{STORE}/test_store.py::test_a_lone_record_takes_one_write_and_one_sync",
            f"{STORE}/test_crashes.py::test_two_thousand_images_of_a_power_cut_lack_nothing",
        ),
    ),
    Mutant(
        "slots of a tail that share a page",
        "store/tail.py",
        "        start = self._next * TAIL_SLOT_BYTES",
        "        start = self._next * 64",
        (f"{STORE}/test_tail.py::test_what_was_put_is_read",),
    ),
    Mutant(
        "a commit that leaves what stands ahead of it in the tail",
        "store/sqlite.py",
        "token = self._put_waiting() if self._token is not None else None",
        "token = None",
        (f"{STORE}/test_tail.py::test_every_other_commit_brings_it_in",),
    ),
    Mutant(
        "a tail that goes on under a token that the database has forgotten",
        "store/sqlite.py",
        "                self._token, self._waiting = token, []\n"
        "                self._tail.begin(token)",
        "                self._token, self._waiting = token, []",
        (f"{STORE}/test_tail.py", f"{STORE}/test_crashes.py"),
    ),
    Mutant(
        "a commit that leaves the token as it was where nothing waits",
        "store/sqlite.py",
        "token = self._put_waiting() if self._token is not None else None",
        "token = self._put_waiting() if self._waiting else None",
        (
            f"{STORE}/test_tail.py::test_every_commit_draws_a_token_while_there_is_a_tail",
            f"{STORE}/test_tail.py"
            "::test_a_tail_put_back_beside_the_database_of_another_moment_is_refused",
        ),
    ),
    Mutant(
        "a copy without its tail that is served",
        "store/tail.py",
        "        if token is not None and len(slots) < TAIL_SLOTS:",
        "        if False:",
        (
            f"{STORE}/test_tail.py"
            "::test_a_copy_that_lacks_what_was_acknowledged_goes_on_as_a_restore",
        ),
    ),
    Mutant(
        "a mark that names a record which is only in the tail",
        "store/store.py",
        "                self._writing.bring_in()\n            self._advance_mark()",
        "                pass\n            self._advance_mark()",
        (f"{STORE}/test_tail.py::test_a_reader_finds_all_that_the_mark_names",),
    ),
    Mutant(
        "a reader that goes on without what was acknowledged",
        "store/sqlite.py",
        "                    raise self._not_brought_in(error) from error",
        "                    return",
        (
            f"{STORE}/test_tail.py::test_who_reads_does_not_go_on_without_what_was_acknowledged",
            f"{STORE}/test_tail.py::test_a_tail_where_nothing_can_be_written_is_told",
        ),
    ),
    Mutant(
        "a tail that ends where it cannot be read",
        "store/disks.py",
        "        while len(data) < size:",
        "        while not data and size:",
        (f"{STORE}/test_tail.py::test_a_part_that_cannot_be_read_is_no_end",),
    ),
    Mutant(
        "a daemon that is refused beside a reader that only brings in what a crash has left",
        "store/sqlite.py",
        "                if isinstance(error, HeldBriefly):",
        "                if False:",
        (f"{STORE}/test_tail.py::test_whoever_serves_waits_for_one_that_only_brings_in",),
    ),
    Mutant(
        "a tail that a crash has left and nobody brings in",
        "store/sqlite.py",
        "self._waiting = _held_by(self._tail, self._connection, incomplete=incomplete)",
        "self._waiting = []",
        (f"{STORE}/test_tail.py::test_whoever_comes_next_finds_the_tail",),
    ),
    Mutant(
        "a commit behind a record whose sync has failed",
        "store/sqlite.py",
        "            except BaseException:\n                self._failed = True\n",
        "            except BaseException:\n",
        (f"{STORE}/test_tail.py::test_a_record_whose_sync_failed_leaves_a_sound_store",),
    ),
    Mutant(
        "a restore that was killed and cannot be begun again",
        "store/restoring.py",
        "else history.journal.last_record(stream) >= len(history.restores.of(stream))",
        "else history.journal.last_record(stream) >= 0",
        (
            f"{STORE}/test_growth.py"
            "::test_a_restore_that_was_killed_is_begun_again_where_the_mark_lacks_a_stream",
        ),
    ),
    Mutant(
        "a tail that is removed beside an earlier database",
        "store/tail.py",
        "if over or later or not all(map(known, alien)):",
        "if over or later:",
        (
            f"{STORE}/test_tail.py"
            "::test_an_earlier_database_beside_the_tail_of_a_later_session_is_refused",
        ),
    ),
    Mutant(
        "a tail of a later moment that is removed before a restore is done",
        "store/sqlite.py",
        "            if not incomplete:  # else",
        "            if True:  # else",
        (
            f"{STORE}/test_tail.py"
            "::test_an_earlier_database_beside_the_tail_of_a_later_session_is_refused",
        ),
    ),
    Mutant(
        "a restore that does not look into its archive for what the mark names",
        "store/restoring.py",
        "        return bool(history.behind(mark))\n    except StoreArchived:\n        return True",
        "        return bool(history.behind(mark))\n    except StoreArchived:\n        raise",
        (
            f"{STORE}/test_archive.py"
            "::test_a_branch_that_was_given_up_goes_on_with_its_archive_and_without",
        ),
    ),
    Mutant(
        "a lost mark in etcd that counts as found before it is written again",
        "store/etcd_register.py",
        'first[_STORE] = _store_value(mark.instance, "0")',
        "first[_STORE] = _store_value(mark.instance, expected.cluster)",
        (f"{STORE}/test_etcd_register.py::test_a_restore_that_breaks_off_leaves_a_lost_mark_lost",),
    ),
    Mutant(
        "a copy that counts as a whole one once somebody has looked at it",
        "store/sqlite.py",
        "SqliteWriting(self.path, self._vfs, incomplete=lacks).close(failed=lacks)",
        "SqliteWriting(self.path, self._vfs, incomplete=lacks).close()",
        (
            f"{STORE}/test_tail.py"
            "::test_a_copy_that_lacks_what_was_acknowledged_goes_on_as_a_restore",
        ),
    ),
    Mutant(
        "a copy made while slots were written over that counts as one of one moment",
        "store/tail.py",
        "any(_is_later(each, token) for each in named)",
        "any(_is_later(each, token) for each in named[:1])",
        (
            f"{STORE}/test_tail.py"
            "::test_a_copy_that_was_made_while_slots_were_written_over_is_noticed",
        ),
    ),
    Mutant(
        "a commit under the tail of another process",
        "store/sqlite.py",
        "        if _token(self._connection) != self._token:",
        "        if False:",
        (
            f"{STORE}/test_tail.py"
            "::test_who_served_before_the_lock_was_removed_takes_nothing_from_the_next",
        ),
    ),
    Mutant(
        "packing that begins anew where all segments were archived",
        "store/journal.py",
        "return max(lasts, default=archived)",
        "return max(lasts, default=-1)",
        (
            f"{STORE}/test_archive.py"
            "::test_a_store_all_of_whose_segments_were_archived_is_packed_further",
        ),
    ),
    Mutant(
        "a damaged tail that counts as a torn one",
        "store/tail.py",
        "        if not lacking and any(found[len(alone) :]):",
        "        if False:",
        (f"{STORE}/test_tail.py::test_every_flipped_byte_is_noticed",),
    ),
    Mutant(
        "a reader that does not see what stands ahead of the database",
        "store/sqlite.py",
        "        self._bring_in()\n        return self._lending.lend()",
        "        return self._lending.lend()",
        (f"{STORE}/test_tail.py::test_a_lone_record_stands_in_the_tail_and_is_read_all_the_same",),
    ),
    Mutant(
        "a store with parameters of a newer version that is opened",
        "store/database.py",
        "            _refuse_newer(store, stream, plan)\n",
        "            pass\n",
        (f"{STORE}/test_store_versions.py",),
    ),
    Mutant(
        "a store with a class of a newer version that is called sound",
        "store/database.py",
        "(*_unknown_class(learner), *unknown_parameters(learner))",
        "unknown_parameters(learner)",
        (f"{STORE}/test_store_versions.py",),
    ),
    Mutant(
        "a store with a plan of a newer version that is moved or restored",
        "store/database.py",
        "        known(store, plans)\n",
        "",
        (f"{STORE}/test_store_versions.py",),
    ),
    Mutant(
        "a store of a newer version that is changed before it is refused",
        "store/store.py",
        "            seen = glance(place.database, known)\n",
        "            seen = None\n",
        (f"{STORE}/test_store_versions.py",),
    ),
    Mutant(
        "a copy of a newer version that is left with a log",
        "store/restoring.py",
        "            seen = glance(place.database, known)\n",
        "            seen = None\n",
        (f"{STORE}/test_store_versions.py",),
    ),
    Mutant(
        "a store that believes its table of producers",
        "store/store.py",
        "        if not check.agrees(progress):",
        "        if not check.has_checksum and not check.agrees(progress):",
        (f"{STORE}/test_producers.py::test_every_change_of_a_row_is_refused",),
    ),
    Mutant(
        "a checksum of producers that is never held against the records since",
        "store/producers.py",
        "if any(current.get(name) != number for name, number in since.following.items()):",
        "if not current:",
        (f"{STORE}/test_producers.py::test_every_change_of_a_row_is_refused",),
    ),
    Mutant(
        "an older mark beside a newer store says how far producers came",
        "store/store.py",
        "            numbers = ((known and known.numbers) or Numbers({})).raised(\n"
        "                self._history.producers.of(stream), self._firsts[stream]\n            )\n",
        "            numbers = (\n                (known and known.numbers)\n"
        "                or self._history.producers.numbers(stream)\n            )\n",
        (
            "daemon/cli/test_cli_restoring.py"
            "::test_a_store_served_beside_an_older_mark_lets_no_copy_learn_twice",
        ),
    ),
)

SURFACES = (
    Mutant(
        "the number of kept examples in the status",
        "learners/contract.py",
        '        "halted": state.halted,\n',
        '        "halted": state.halted,\n        "kept": sum(map(len, state.archive)),\n',
        (f"{ENGINE}::test_two_streams_that_are_told_the_same_have_the_same_status",),
    ),
    Mutant(
        "the number of mistakes in a metric",
        "service/daemon.py",
        'yield Sample("littled_learner_epoch", (learner,), last.epoch)',
        "engines = [host._engine for host in self._hosts]\n"
        "                known = [s for e in engines if e for s in e._course.states.values()]\n"
        '                mistakes = sum(getattr(state, "mistakes", 0) for state in known)\n'
        '                yield Sample("littled_learner_epoch", (learner,), last.epoch + mistakes)',
        (TWIN_DAEMONS,),
    ),
    Mutant(
        "a metric that is in no list",
        "service/samples.py",
        '    "littled_stream_spent": MetricName(',
        '    "littled_mistakes": MetricName("gauge", "Mistakes.", (), "published"),\n'
        '    "littled_stream_spent": MetricName(',
        ("test_privacy_surfaces.py",),
    ),
    Mutant(
        "noise other than that of stores made before",
        "mechanisms/noise.py",
        '_PERSON = b"littled noise 1"',
        '_PERSON = b"littled noise 2"',
        (f"{STORE}/test_old_stores.py",),
    ),
    Mutant(
        "what opening a store has read is read again",
        "store/store.py",
        "ahead = self._ahead.pop(stream, None)",
        "ahead = self._ahead.pop(stream, None) and None",
        (f"{SERVICE}/test_host.py",),
    ),
    Mutant(
        "snapshots however much there is to replay",
        "service/host.py",
        "if trained or self._replay_seconds >= max(self._replay_seconds_max, worth):",
        "if trained:",
        (f"{SERVICE}/test_host.py",),
    ),
    Mutant(
        "trainings that every start repeats",
        "service/host.py",
        "if trained or self._replay_seconds >= max(self._replay_seconds_max, worth):",
        "if self._replay_seconds >= max(self._replay_seconds_max, worth):",
        (f"{SERVICE}/test_host.py",),
    ),
    Mutant(
        "log lines with any key",
        "service/logs.py",
        "for key, value in event.items() if key in ALLOWED_KEYS}",
        "for key, value in event.items()}",
        (f"{SERVICE}/test_logs.py",),
    ),
    Mutant(
        "a store that does not look at its mark",
        "store/store.py",
        "findings = self._history.behind(mark)",
        "findings: list[str] = []",
        (f"{STORE}/test_rollback.py::test_a_hundred_old_copies_are_refused",),
    ),
    Mutant(
        "a mark in a file that is not compared before it is replaced",
        "store/register.py",
        "if found != expected.data:",
        "if not found:",
        (f"{STORE}/test_register.py",),
    ),
    Mutant(
        "a key of a mark in etcd that is not compared",
        "store/etcd_register.py",
        "for name in sorted({_OWNER, *wanted})]",
        "for name in [_OWNER]]",
        (f"{STORE}/test_etcd_register.py::test_a_key_that_changed_under_its_owner_is_fatal",),
    ),
    Mutant(
        "an owner of a mark in etcd whose epoch is not compared",
        "store/etcd_register.py",
        "for name in sorted({_OWNER, *wanted})]",
        "for name in sorted(wanted)]",
        (
            f"{STORE}/test_etcd_register.py::test_an_older_owner_replaces_nothing",
            f"{STORE}/test_etcd_register.py::test_many_owners_at_once_make_one_history",
        ),
    ),
    Mutant(
        "an owner of a mark in etcd that a backup of etcd makes the owner again",
        "store/etcd_register.py",
        "if name == _OWNER and expected.owner:",
        "if name == _OWNER and not expected.cluster:",
        (
            f"{STORE}/test_etcd_register.py"
            "::test_an_owner_from_before_a_backup_replaces_nothing_after_it",
        ),
    ),
    Mutant(
        "a mark in etcd that is claimed although it has moved since it was read",
        "store/etcd_register.py",
        "        if unchanged_since is not None:\n",
        "        if unchanged_since == -1:\n",
        (f"{STORE}/test_etcd_register.py::test_of_two_that_claim_at_once_one_is_refused",),
    ),
    Mutant(
        "a release that is shown before its mark is written",
        "store/store.py",
        "            self._releases.update(arriving.points)\n            self._advance_mark()\n",
        "            self._releases.update(arriving.points)\n",
        (
            f"{STORE}/test_store.py",
            "daemon/cli/test_cli_two_copies.py::test_two_daemons_at_once_show_one_history",
        ),
    ),
    Mutant(
        "a mark in etcd whose cluster is not held against the one it was written to",
        "store/etcd_register.py",
        "        if cluster != found.cluster:\n",
        "        if not cluster:\n",
        (f"{STORE}/test_etcd_register.py::test_a_restored_etcd_is_a_lost_mark",),
    ),
    Mutant(
        "values of a mark in etcd that anybody can read",
        "store/etcd_register.py",
        "sealed = {name: self._seal.close(name, value) for name, value in wanted.items()}",
        "sealed = dict(wanted)",
        (f"{STORE}/test_etcd_register.py::test_etcd_has_nothing_that_can_be_read",),
    ),
    Mutant(
        "HTTP on this machine asks for no token",
        "service/http_guard.py",
        "gate.rights(Shown.by(token, transport))",
        "type(gate.access)().rights(Shown.by(token, transport))",
        (f"{SERVICE}/test_daemon.py::test_the_token_is_asked_for_on_every_port_of_this_machine",),
    ),
    Mutant(
        "HTTP on this machine answers to any host's name",
        "service/daemon.py",
        "hosts = listener.host_names | self._http_names if listener.is_local else None",
        "hosts = None",
        (f"{SERVICE}/test_daemon.py::test_http_on_this_machine_goes_by_its_names",),
    ),
    Mutant(
        "pages of other sites may read",
        "service/http_guard.py",
        '_OWN_SITES = ("none", "same-origin")',
        '_OWN_SITES = ("none", "same-origin", "same-site", "cross-site")',
        (f"{SERVICE}/test_http.py::test_pages_of_other_sites_read_nothing",),
    ),
    Mutant(
        "a grant for one stream holds for all",
        "service/access.py",
        "return stream is None or grant.streams is None or stream in grant.streams",
        "return True",
        (f"{SERVICE}/test_roles.py::test_a_grant_is_for_its_streams",),
    ),
    Mutant(
        "messages are looked at before roles",
        "service/sessions.py",
        "self._connection.forbidden = rights.refused_types",
        "self._connection.forbidden = frozenset()",
        (f"{SERVICE}/test_roles.py::test_nothing_is_looked_at_but_the_kind_of_a_message",),
    ),
    Mutant(
        "pages need no role",
        "service/http_guard.py",
        "if permission is not None and not rights.may(",
        "if permission is None and not rights.may(",
        (f"{SERVICE}/test_roles.py::test_pages_need_a_role",),
    ),
    Mutant(
        "a user whom the kernel cannot name has a grant",
        "service/access.py",
        "elif shown.caller.user != OVERFLOW_ID:",
        "else:",
        (f"{SERVICE}/test_access.py::test_whom_the_kernel_cannot_name_has_no_grant",),
    ),
    Mutant(
        "certificates of clients are not asked for",
        "service/tls.py",
        "context.verify_mode = ssl.CERT_REQUIRED",
        "context.verify_mode = ssl.CERT_OPTIONAL",
        (f"{SERVICE}/test_tls.py::test_a_certificate_of_the_authority_is_needed_everywhere",),
    ),
    Mutant(
        "TLS is not needed beyond this machine",
        "service/access.py",
        "if not tls and not self.plaintext:",
        "if False:",
        (
            f"{SERVICE}/test_access.py"
            "::test_a_listener_off_the_loopback_interface_needs_a_token_and_tls",
        ),
    ),
    Mutant(
        "a second header that hides what a browser says",
        "service/http_guard.py",
        'request.headers.getall(_FETCH_SITE, ("none",))',
        '[request.headers.get(_FETCH_SITE, "none")]',
        (f"{SERVICE}/test_http.py::test_one_header_that_names_another_site_is_enough",),
    ),
    Mutant(
        "a host in the target that nobody looks at",
        "service/http_guard.py",
        "for name in (*named, *_authority(request))",
        "for name in named",
        (f"{SERVICE}/test_http.py::test_the_host_in_a_target_counts",),
    ),
    Mutant(
        "a bearer token of any bytes that is an error 500",
        "service/access.py",
        'token.encode("utf-8", "surrogateescape")',
        'token.encode("utf-8")',
        (f"{SERVICE}/test_http.py::test_a_token_of_any_bytes_is_a_wrong_guess",),
    ),
    Mutant(
        "tokens compared as texts are",
        "service/access.py",
        "if hmac.compare_digest(guess, digest):",
        "if guess == digest:",
        (f"{SERVICE}/test_access.py::test_every_guess_is_compared_with_every_token",),
    ),
    Mutant(
        "tokens compared up to the first that fits",
        "service/access.py",
        "                found = grant\n        return found",
        "                return grant\n        return found",
        (f"{SERVICE}/test_access.py::test_every_guess_is_compared_with_every_token",),
    ),
    Mutant(
        "a file of users that leaves the ports open",
        "service/access.py",
        "if not (self.tokens or self.certificates or self.from_file):",
        "if not (self.tokens or self.certificates):",
        (
            f"{SERVICE}/test_grants.py::test_a_file_without_a_token_lets_nobody_in_by_a_port",
            f"{SERVICE}/test_roles.py::test_a_file_without_a_token_closes_the_ports",
        ),
    ),
    Mutant(
        "points in a question that are not exact",
        "service/questions.py",
        'Fields("x", "y", offset=offset), exact=True',
        'Fields("x", "y", offset=offset)',
        (f"{SERVICE}/test_questions.py::test_what_cannot_be_asked_is_said_in_one_sentence",),
    ),
    Mutant(
        "texts in a question with more than their digits",
        "service/questions.py",
        "        _check_texts(values, key)\n",
        "        pass\n",
        (f"{SERVICE}/test_questions.py::test_texts_of_points_are_their_digits_alone",),
    ),
    Mutant(
        "points in rows over HTTP that are not exact",
        "service/rows.py",
        "fields, exact=True, greatest=self.greatest",
        "fields, greatest=self.greatest",
        (f"{SERVICE}/test_rows.py::test_points_that_are_integers_are_written_so",),
    ),
    Mutant(
        "bodies in which a key comes twice",
        "service/json_bodies.py",
        "object_pairs_hook=once_each, ",
        "",
        (f"{SERVICE}/test_json_bodies.py::test_what_is_no_value",),
    ),
    Mutant(
        "idle sessions that are never ended",
        "service/sessions.py",
        "return self._idle and now - self._heard_at > limits.idle_seconds",
        "return False",
        (
            f"{SERVICE}/test_sessions.py"
            "::test_an_idle_guest_is_dropped_after_a_time_unless_it_pings",
        ),
    ),
    Mutant(
        "a thread for every course",
        "service/courses.py",
        "if len(self._threads) < self._threads_max:",
        "if not self._closed:",
        (f"{SERVICE}/test_courses.py::test_many_courses_share_few_threads_and_run_in_order",),
    ),
    Mutant(
        "an engine thread for every stream",
        "service/daemon.py",
        'Courses(ENGINE_THREADS, "littled-engines"',
        'Courses(len(self._plans), "littled-engines"',
        (
            f"{SERVICE}/test_many_streams.py"
            "::test_six_hundred_streams_need_no_more_threads_than_the_unit_allows",
        ),
    ),
    Mutant(
        "a mark below a producer's number that verify passes over",
        "store/verify.py",
        "for name, least in numbers.missing(known, first).items():",
        "for name, least in numbers.missing({}, first).items():",
        (f"{STORE}/test_verify.py::test_a_mark_below_a_producers_number_is_told",),
    ),
    Mutant(
        "no slots kept for health and metrics",
        "service/http_connections.py",
        "self._connections.slots[path in WATCHED].ask(self)",
        "self._connections.slots[False].ask(self)",
        (f"{SERVICE}/test_http_connections.py::test_those_who_watch_have_slots_of_their_own",),
    ),
    Mutant(
        "a release is shown before it is durable",
        "service/host.py",
        "        self._writer.call(lambda: self._store.publish(releases, entries))\n"
        "        self._show(releases, entries)\n",
        "        self._show(releases, entries)\n"
        "        self._writer.call(lambda: self._store.publish(releases, entries))\n",
        (f"{SERVICE}/test_host.py::test_releases_are_shown_after_they_are_durable",),
    ),
)

LOOKED_AT_AGAIN = "test_a_segment_that_changes_after_it_was_unpacked_is_looked_at_again"
SEGMENTS = (
    Mutant(
        "a segment that is not held to the head at its end",
        "store/segments.py",
        "if head != segment.head:",
        "if False:",
        (f"{STORE}/test_segments.py::test_no_byte_of_a_segment_can_change_unnoticed",),
    ),
    Mutant(
        "records that go before their segment was read back",
        "store/segments.py",
        "if found != [(row.number, row.head) for row in rows]:",
        "if False:",
        (f"{STORE}/test_segments.py::test_rows_that_do_not_lead_to_their_heads_are_not_packed",),
    ),
    Mutant(
        "a segment that was unpacked is not looked at again",
        "store/journal.py",
        "read = (stream, segment, names, head)",
        "read = (stream, segment.first)",
        (f"{STORE}/test_segments.py::{LOOKED_AT_AGAIN}",),
    ),
    Mutant(
        "every look at a segment unpacks it",
        "store/journal.py",
        "if last_read != read:",
        "if True:",
        (f"{STORE}/test_segments.py::test_a_segment_is_unpacked_once_for_what_is_looked_up_in_it",),
    ),
    Mutant(
        "an archived record before the one that holds a position",
        "store/journal.py",
        "AND first_position <= ? AND end_position > ? ORDER",
        "AND first_position <= ? OR end_position > ? ORDER",
        (
            f"{STORE}/test_archive.py"
            "::test_what_is_kept_of_archived_records_is_found_without_the_archive",
        ),
    ),
    Mutant(
        "any file with the same records in the place of an archived one",
        "store/archive.py",
        "if checksum != stretch.checksum:",
        "if False:",
        (
            f"{STORE}/test_archive.py"
            "::test_what_is_kept_of_archived_records_is_held_against_the_rest",
        ),
    ),
    Mutant(
        "a window that still answers is archived",
        "store/archiving.py",
        "limit = min(limit, -1 if holds is None else holds - 1)",
        "limit = min(limit, -1 if holds is None else limit)",
        (f"{STORE}/test_archive.py::test_the_window_that_answers_stays",),
    ),
)

COLUMNS = (
    Mutant(
        "a transaction that names columns before they are synced",
        "store/columns.py",
        "            self._disk.sync(self._descriptor, path)\n",
        "",
        (
            f"{STORE}/test_columns.py"
            "::test_columns_and_names_are_durable_before_anything_names_them",
            f"{STORE}/test_crashes.py::test_two_thousand_images_of_a_power_cut_lack_nothing",
        ),
    ),
    Mutant(
        "a file of columns whose name may be lost",
        "store/columns.py",
        "            self._disk.sync_names(self._folder)\n",
        "",
        (f"{STORE}/test_crashes.py::test_two_thousand_images_of_a_power_cut_lack_nothing",),
    ),
    Mutant(
        "users beside the database that the chain does not cover",
        "store/records.py",
        "blake3(x).update(y).update(users)",
        "blake3(x).update(y)",
        (
            f"{STORE}/test_records.py"
            "::test_the_head_of_a_record_beside_the_database_is_the_documented_hash",
        ),
    ),
    Mutant(
        "columns that are overwritten after a start",
        "store/columns.py",
        "self._end = named.get(self._number, 0)",
        "self._end = 0",
        (f"{STORE}/test_columns.py::test_columns_of_large_records_stand_beside_the_database",),
    ),
    Mutant(
        "a start that does not look whether columns are there",
        "store/columns.py",
        "if path.stat().st_size < size:",
        "if False:",
        (
            f"{STORE}/test_columns.py"
            "::test_damage_before_the_last_snapshot_is_found_where_a_start_does_not_read",
        ),
    ),
    Mutant(
        "columns of a file removed before it is known that the store is the newest",
        "store/store.py",
        "        findings = self._history.behind(mark)\n",
        "        if self._writing is not None:\n"
        "            self._writing.settle_columns()\n"
        "        findings = self._history.behind(mark)\n",
        (
            f"{STORE}/test_columns.py"
            "::test_an_older_copy_keeps_what_it_does_not_name_until_it_may_go_on",
        ),
    ),
    Mutant(
        "a file of columns that may be moved while it is written",
        "store/sqlite.py",
        "others = (self.columns.opened, self._tail.opened, self._lock)",
        "others = (self._tail.opened, self._lock)",
        (f"{STORE}/test_places.py",),
    ),
    Mutant(
        "a tail that may be moved while it is written",
        "store/sqlite.py",
        "others = (self.columns.opened, self._tail.opened, self._lock)",
        "others = (self.columns.opened, self._lock)",
        (f"{STORE}/test_tail.py::test_a_tail_that_was_moved_is_noticed",),
    ),
)

BURSTS = (
    Mutant(
        "small records before large ones are never packed",
        "store/packing.py",
        "if self._looked[stream][0] == before.journal.number:",
        "if True:",
        (
            f"{STORE}/test_columns.py::test_a_journal_of_large_records_alone_is_never_looked_at_for_packing",
        ),
    ),
    Mutant(
        "examples that wait to be joined are forgotten",
        "learners/online/buffer.py",
        "whole = self.joined()",
        "whole = self",
        ("daemon/learners/online/test_buffer.py",),
    ),
    Mutant(
        "a long frame alone needs no credit",
        f"{PROTOCOL}/bursts.py",
        "frames = min(frames_max, (len(buffer) - start) // frame_bytes, _countable(form))",
        "frames = min(max(frames_max, 1), (len(buffer) - start) // frame_bytes, _countable(form))",
        (BURSTS_ALONE,),
    ),
    Mutant(
        "headers of a burst compared for the first frame alone",
        f"{PROTOCOL}/bursts.py",
        "rows = rows[: _leading((part == part[0]).all(axis=1))]",
        "pass",
        (BURSTS_ALONE,),
    ),
    Mutant(
        "a burst whose numbers need not go on",
        f"{PROTOCOL}/bursts.py",
        "return rows[: _leading(numbers == due)]",
        "return rows",
        (BURSTS_ALONE,),
    ),
    Mutant(
        "a batch that only begins like the last one is read like it",
        f"{PROTOCOL}/codec.py",
        "                and payload[number_end:x] == middle\n",
        "",
        ("protocol/test_codec.py::test_whatever_byte_differs_from_the_last_batch_is_seen",),
    ),
    Mutant(
        "a batch like the last one of who may feed no more",
        f"{PROTOCOL}/codec.py",
        "        if Examples.type_name in forbidden:\n",
        "        if Examples.type_name in forbidden and self._form is None:\n",
        ("protocol/test_codec.py::test_who_may_feed_no_more_is_refused_after_any_batch",),
    ),
    Mutant(
        "a part of a burst acknowledged as all of it",
        f"{PROTOCOL}/connection.py",
        "done = min(left, (message.next_sequence - end) // count + 1)",
        "done = left",
        (f"{BURSTS_ALONE}::test_an_acknowledgement_of_a_part_gives_back_the_credit_of_its_frames",),
    ),
    Mutant(
        "a burst for the credit of one frame",
        f"{PROTOCOL}/connection.py",
        "self._used_bytes += burst.frames * credit",
        "self._used_bytes += credit",
        (f"{BURSTS_ALONE}::test_credit_ends_a_burst",),
    ),
    Mutant(
        "labels that are not looked at",
        f"{PROTOCOL}/columns.py",
        "    if wrong:",
        "    if wrong and column is None:",
        (f"{SERVICE}/test_channels.py::test_a_wrong_batch_in_the_middle_of_a_burst",),
    ),
    Mutant(
        "a wrong batch stored with the rest of its burst",
        "service/channels.py",
        "good = self._good(x, y, batches)",
        "good = len(y)",
        (f"{SERVICE}/test_channels.py::test_a_wrong_batch_in_the_middle_of_a_burst",),
    ),
    Mutant(
        "a way to the acknowledgement that depends on labels",
        "service/channels.py",
        "        if y:\n",
        "        if y and (any(y) or all(y) or True):\n",
        (
            f"{SERVICE}/test_label_timing.py"
            "::test_every_label_takes_the_same_way_to_its_acknowledgement",
        ),
    ),
)

FAIRNESS = (
    Mutant(
        "a lobby without an end",
        "service/reception.py",
        "if len(self._lobby) >= LOBBY_MAX:",
        "if False:",
        (f"{SERVICE}/test_crowds.py::test_newcomers_who_say_nothing_make_room_for_others",),
    ),
    Mutant(
        "unsent bytes limited for each peer alone",
        "service/sessions.py",
        "if counters.unsent_bytes > UNSENT_BYTES_MAX:",
        "if False:",
        (f"{SERVICE}/test_crowds.py::test_unsent_bytes_of_all_peers_are_limited_together",),
    ),
    Mutant(
        "a buffer of a long frame that grows with each read",
        f"{PROTOCOL}/connection.py",
        "            self._put_aside(data)\n",
        "            self._buffer += data\n",
        (f"{SERVICE}/test_crowds.py::test_unfinished_frames_of_all_peers_have_their_place",),
    ),
    Mutant(
        "a crowd whose handshakes cut each other off",
        "service/handshakes.py",
        "return self._line.of(origin) < HANDSHAKES_WAITING_MAX",
        "return True",
        (f"{SERVICE}/test_handshakes.py::test_handshakes_go_on_one_in_a_turn_and_by_origin",),
    ),
    Mutant(
        "large pieces that count as much as small ones",
        "service/http_turns.py",
        "            self._had[origin] += took\n",
        "            self._had[origin] += 1.0\n",
        (
            f"{SERVICE}/test_http_turns.py"
            "::test_who_wants_large_pieces_keeps_nobody_waiting_who_wants_many_small_ones",
        ),
    ),
    Mutant(
        "a history that goes on after rights were lost",
        "service/news.py",
        "                    if stopping.is_set():  # also",
        "                    if False:  # also",
        (f"{SERVICE}/test_news.py::test_a_long_history_ends_where_its_reader_has_lost_its_rights",),
    ),
    Mutant(
        "all handshakes that have come in one turn",
        "service/handshakes.py",
        "        if self._incoming.pending:\n",
        "        if False:\n",
        (f"{SERVICE}/test_handshakes.py::test_handshakes_go_on_one_in_a_turn_and_by_origin",),
    ),
    Mutant(
        "nobody accepted behind some of one origin that wait",
        "service/reception.py",
        "most = min(self._at_once[number], ENTERING_MAX - len(self._speaking))",
        "most = min(self._at_once[number], 256 - len(self._speaking))",
        (
            f"{SERVICE}/test_reception.py::test_who_comes_from_elsewhere_does_not_wait_behind_a_crowd",
        ),
    ),
    Mutant(
        "a queue of connects as short as asyncio's",
        "service/reception.py",
        "listener.socket.listen(CONNECT_BACKLOG)",
        "listener.socket.listen(100)",
        (f"{SERVICE}/test_reception.py::test_a_flood_of_connects_finds_a_place_in_line",),
    ),
    Mutant(
        "a share of the connections for everybody together",
        "service/admission.py",
        "if self._from_origin[origin] >= self._origin_max:",
        "if len(self._guests) >= self._origin_max:",
        (f"{SERVICE}/test_crowds.py::test_each_user_has_a_share_of_the_connections",),
    ),
    Mutant(
        "as many accepted at once as come",
        "service/reception.py",
        "most = min(self._at_once[number], ENTERING_MAX - len(self._speaking))",
        "most = 1 << 30",
        (f"{SERVICE}/test_reception.py::test_few_of_a_flood_are_accepted_in_one_turn",),
    ),
    Mutant(
        "no line in front of the slots of HTTP",
        "service/http_connections.py",
        "if self._asked_at is not None:\n            transport.pause_reading()",
        "if self._asked_at is not None:\n            self.cut()",
        (f"{SERVICE}/test_http_connections.py::test_who_finds_no_slot_stands_in_line_for_one",),
    ),
    Mutant(
        "an origin that may have every slot of HTTP",
        "service/http_slots.py",
        "if self._origins[origin] >= self._share:",
        "if False:",
        (f"{HTTP_CROWDS}::test_one_origin_has_half_of_the_slots",),
    ),
    Mutant(
        "an origin that may hold everything that lasts",
        "service/http_slots.py",
        "if self._taken[origin] >= share_of(most) or",
        "if",
        (f"{HTTP_CROWDS}::test_one_origin_holds_a_part_of_what_lasts",),
    ),
    Mutant(
        "a line that one origin fills",
        "service/lines.py",
        "if origin in self._origins:  # the",
        "if False:  # the",
        (f"{SERVICE}/test_lines.py",),
    ),
    Mutant(
        "TLS that reads ahead of who does not read",
        "service/handshakes.py",
        "self._incoming_low_water = 1, 0",
        "self._incoming_low_water = 1 << 18, 1 << 16",
        (f"{SERVICE}/test_crowds.py::test_unfinished_frames_of_all_peers_have_their_place",),
    ),
    Mutant(
        "a connection with TLS that is closed twice and stays",
        "service/handshakes.py",
        "if not self._closed:",
        "if True:",
        (f"{SERVICE}/test_handshakes.py::test_a_connection_that_is_closed_twice_can_be_aborted",),
    ),
    Mutant(
        "unsent bytes beneath TLS not counted",
        "service/handshakes.py",
        "return unsent if beneath is None else unsent + beneath.get_write_buffer_size()",
        "return unsent",
        (f"{SERVICE}/test_handshakes.py::test_all_that_a_peer_has_not_taken_is_told",),
    ),
    Mutant(
        "answers cut off two seconds after they were written, with TLS",
        "service/handshakes.py",
        "if self._app_transport is not None and self._app_transport.get_write_buffer_size():",
        "if False:",
        (
            f"{SERVICE}/test_handshakes.py"
            "::test_who_takes_its_time_gets_all_that_was_written_before_the_goodbye",
        ),
    ),
    Mutant(
        "a connection with TLS for as long as its peer says no goodbye",
        "service/handshakes.py",
        "super()._check_shutdown_timeout()",
        "pass",
        (
            f"{SERVICE}/test_handshakes.py"
            "::test_who_takes_its_time_gets_all_that_was_written_before_the_goodbye",
        ),
    ),
    Mutant(
        "one broken newcomer that keeps all others",
        "service/reception.py",
        "except Exception as error:  # noqa: BLE001 - whatever it was, the others come in",
        "except OSError as error:",
        (
            f"{SERVICE}/test_http_connections.py"
            "::test_a_newcomer_that_fails_does_not_keep_the_others",
        ),
    ),
    Mutant(
        "one broken session that ends all looks at the others",
        "service/daemon.py",
        "except Exception as error:  # noqa: BLE001 - whatever it was, the others go on",
        "except OSError as error:",
        (f"{ENDS}::test_a_session_that_fails_does_not_end_the_looks_at_others",),
    ),
    Mutant(
        "one broken connection of HTTP that keeps all others",
        "service/http_connections.py",
        "except Exception as error:  # noqa: BLE001 - whatever it was, the others go on",
        "except OSError as error:",
        (
            f"{SERVICE}/test_http_connections.py"
            "::test_a_connection_that_fails_does_not_keep_the_others",
        ),
    ),
    Mutant(
        "an origin for each address of the loopback interface",
        "service/listeners.py",
        "if address.is_loopback:",
        "if False:",
        (f"{SERVICE}/test_crowds.py::test_the_loopback_interface_has_the_share_of_one_origin",),
    ),
    Mutant(
        "an allowance that is never spent",
        "service/turns.py",
        "self._left -= units",
        "self._left -= 0 * units",
        (f"{SERVICE}/test_turns.py",),
    ),
    Mutant(
        "facts of learners that answer made for every status",
        "service/daemon.py",
        "        self._facts[stream] = state, facts\n",
        "        if stream not in self._answering:\n"
        "            self._facts[stream] = state, facts\n",
        (f"{TELLING}::test_facts_are_made_anew_when_they_change_and_only_then",),
    ),
    Mutant(
        "a status that misses what was answered",
        "service/daemon.py",
        "given = () if answering is None else answering.given()",
        "given = ()",
        (f"{TELLING}::test_facts_are_made_anew_when_they_change_and_only_then",),
    ),
    Mutant(
        "a status made at once, however much has changed",
        "service/sessions.py",
        "left -= math.ceil(units)",
        "left -= 0",
        (f"{TELLING}::test_a_status_of_many_streams_is_made_a_little_at_a_time",),
    ),
    Mutant(
        "a status that costs the same, however much has changed",
        "service/statuses.py",
        "                yield STREAM_ANEW_UNITS\n",
        "                yield 0\n",
        (f"{SERVICE}/test_statuses.py::test_what_has_changed_is_charged_for",),
    ),
    Mutant(
        "metrics that stay as they were",
        "service/metrics.py",
        "if known is None or known[0] != state:",
        "if known is None:",
        (f"{SERVICE}/test_metrics.py",),
    ),
    Mutant(
        "HTTP without an allowance",
        "service/http_turns.py",
        "self.allowance.spend(took)",
        "self.allowance.spend(0 * took)",
        (f"{SERVICE}/test_http_turns.py",),
    ),
    Mutant(
        "a body of JSON that is read as a whole",
        "service/json_bodies.py",
        "if len(decoded) <= HTTP_JSON_PIECE_CHARACTERS:",
        "if len(decoded) >= 0:",
        (f"{SERVICE}/test_json_bodies.py::test_a_body_has_so_many_lists_and_objects",),
    ),
    Mutant(
        "a piece of JSON that is as long as its body",
        "service/json_bodies.py",
        "self._text[self._at : self._at + most]",
        "self._text[self._at :]",
        (f"{SERVICE}/test_json_bodies.py::test_no_call_of_the_reader_is_given_much",),
    ),
    Mutant(
        "an element of JSON that is left out between two pieces",
        "service/json_bodies.py",
        "self._at += cut if end == cut + 2 else end - 2",
        "self._at += cut",
        (f"{SERVICE}/test_json_bodies.py::test_pieces_come_to_what_the_whole_is",),
    ),
    Mutant(
        "brackets in texts that count as lists",
        "service/json_bodies.py",
        '_STRINGS.sub("", self._text[start : self._at])',
        "self._text[start : self._at]",
        (f"{SERVICE}/test_json_bodies.py::test_lists_and_objects_are_counted_wherever_they_are",),
    ),
    Mutant(
        "lists in objects of objects that do not count",
        "service/json_bodies.py",
        "            self._count_lists(start)\n            return value\n",
        "            return value\n",
        (f"{SERVICE}/test_json_bodies.py::test_lists_and_objects_are_counted_wherever_they_are",),
    ),
    Mutant(
        "keys of long JSON that come twice",
        "service/json_bodies.py",
        "        return once_each(pairs)\n",
        "        return dict(pairs)\n",
        (f"{SERVICE}/test_json_bodies.py::test_keys_of_what_is_read_in_pieces_come_once",),
    ),
    Mutant(
        "lines after one that is no row are read",
        "service/rows.py",
        "                raise RowsRefused(_NOT_ALIKE)\n            if",
        "                continue\n            if",
        (f"{SERVICE}/test_rows.py::test_no_line_is_read_after_the_first_that_is_no_row",),
    ),
    Mutant(
        "a long question that is read on the loop",
        "service/http_asking.py",
        "if len(body) <= HTTP_QUESTION_DIRECT_BYTES:",
        "if len(body) >= 0:",
        (f"{SERVICE}/test_http.py::test_a_long_question_is_read_beside_the_loop",),
    ),
    Mutant(
        "a long body that is read beside that of who has left",
        "service/http_readings.py",
        "        await asyncio.wait([reading])\n        return reading.result()\n",
        "        return await reading\n",
        (f"{SERVICE}/test_http_readings.py",),
    ),
    Mutant(
        "questions as long as any body",
        "service/questions.py",
        "    return min(needed, HTTP_QUESTION_BYTES_MAX)\n",
        "    return HTTP_QUESTION_BYTES_MAX\n",
        (f"{SERVICE}/test_questions.py::test_the_longest_question_is_short_enough",),
    ),
    Mutant(
        "what follows a head without a body is passed on",
        "service/http_connections.py",
        "del self._head[: head_bytes if self._has_body else None]",
        "del self._head[:head_bytes]",
        (
            f"{SERVICE}/test_http_connections.py::test_nothing_is_passed_on_behind_a_head_that_has_no_body",
        ),
    ),
    Mutant(
        "a body that is passed on as it comes",
        "service/http_connections.py",
        "transport.max_size = HTTP_READ_BYTES",
        "pass",
        (f"{SERVICE}/test_http_connections.py::test_a_body_is_passed_on_a_little_in_each_turn",),
    ),
    Mutant(
        "bodies in vain that nobody pays for",
        "service/http_connections.py",
        "            self._charge()\n",
        "",
        (f"{SERVICE}/test_http_connections.py::test_what_is_sent_in_vain_is_charged",),
    ),
    Mutant(
        "requests without rows that come before others",
        "service/http_connections.py",
        'return method == b"POST" and (',
        'return method != b"" and (',
        (
            f"{SERVICE}/test_http_connections.py::test_only_a_request_with_a_body_comes_before_others",
        ),
    ),
    Mutant(
        "an origin in debt that does not wait",
        "service/http_turns.py",
        "loop.call_later(seconds, self._feed, one)",
        "self._feeding.append(one)",
        (
            f"{SERVICE}/test_http_turns.py::test_an_origin_that_has_sent_in_vain_waits_and_no_other_does",
        ),
    ),
    Mutant(
        "watchers that wait for what is made for others",
        "service/http_turns.py",
        "return {lane: _Waiting(now) for lane in Lane}",
        "return dict.fromkeys(Lane, _Waiting(now))",
        (
            f"{SERVICE}/test_http_turns.py::test_who_watches_does_not_wait_for_what_is_made_for_others",
        ),
    ),
    Mutant(
        "metrics that are made among what others ask for",
        "service/http_watching.py",
        "self._turns.made(Lane.WATCHING, origin_in(request), making)",
        "self._turns.made(Lane.OTHERS, origin_in(request), making)",
        (f"{SERVICE}/test_http.py::test_health_and_metrics_wait_for_nothing_that_others_have_had",),
    ),
    Mutant(
        "all that is made for an origin before others have their turn",
        "service/http_turns.py",
        "origin = min(self._makings, key=self._had.__getitem__)",
        "origin = next(iter(self._makings))",
        (f"{SERVICE}/test_http_turns.py::test_origins_take_turns_with_what_is_made_for_them",),
    ),
    Mutant(
        "releases of events that are made beside the turns",
        "service/http_rules.py",
        "        return lambda release: self._made(request, self._texts.event(release))\n",
        "        async def shown(release: Release) -> bytes:\n"
        "            making = self._texts.event(release)\n"
        "            next(making)\n"
        "            try:\n"
        "                next(making)\n"
        "            except StopIteration as end:\n"
        "                return end.value\n\n"
        "        return shown\n",
        (f"{SERVICE}/test_http.py::test_releases_are_made_in_turns_for_events_too",),
    ),
    Mutant(
        "wrong requests for a rule that cost nothing",
        "service/release_texts.py",
        "        finally:\n            yield RELEASE",
        "        finally:\n            pass\n        if made:\n            yield RELEASE",
        (f"{SERVICE}/test_release_texts.py::test_what_goes_wrong_is_paid_for",),
    ),
    Mutant(
        "rules that are kept with what is told of them",
        "service/release_texts.py",
        "            self._read = key, rule_from_dict(rule)\n",
        "            self._read = key, rule_from_dict(rule)\n"
        '            self._keep((*key, "rule"), self._read, 64 * values_in(rule))\n',
        (f"{SERVICE}/test_release_texts.py::test_what_is_told_of_many_large_releases_is_kept",),
    ),
    Mutant(
        "a release that all who ask at a time pay for",
        "service/release_texts.py",
        "        try:\n            made = make()\n            self._keep(key, made, size(made))\n"
        "        finally:\n            yield",
        "        try:\n            made = make()\n        finally:\n            yield",
        (f"{SERVICE}/test_release_texts.py::test_what_two_ask_for_at_a_time_is_made_once",),
    ),
    Mutant(
        "requests that wait for all that is made",
        "service/http_turns.py",
        "self._makes_next = not makes",
        "self._makes_next = True",
        (f"{SERVICE}/test_http_turns.py::test_requests_are_begun_while_something_is_made",),
    ),
    Mutant(
        "releases that are made for everybody who asks",
        "service/release_texts.py",
        "        self._kept[key] = made, size + _KEY_BYTES\n        self._bytes",
        "        self._bytes",
        (f"{SERVICE}/test_release_texts.py",),
    ),
    Mutant(
        "a release whose rule costs nothing",
        "service/release_texts.py",
        "RELEASE_VALUE_UNITS * values_in(release.rule)",
        "0",
        (
            f"{SERVICE}/test_release_texts.py::test_a_release_is_made_once_and_paid_for_by_its_values",
        ),
    ),
    Mutant(
        "a status that tells the place of a stream that may not be seen",
        "service/statuses.py",
        "names.place.get(after) if rights.sees(after) else None",
        "names.place.get(after)",
        (
            f"{SERVICE}/test_statuses.py"
            "::test_what_comes_after_a_stream_that_may_not_be_seen_is_not_told",
        ),
    ),
    Mutant(
        "a status that looks at all streams",
        "service/statuses.py",
        "some = _either(rights.streams, only)",
        "some = _either(names.all, _either(rights.streams, only))",
        (f"{SERVICE}/test_statuses.py::test_as_many_names_are_looked_at_as_are_told",),
    ),
    Mutant(
        "positions that everybody looks at",
        "service/news.py",
        "if number == 0 or time",
        "if True or time",
        (f"{SERVICE}/test_news.py::test_only_what_has_changed_is_looked_at",),
    ),
    Mutant(
        "all learners that are looked at for news",
        "service/news.py",
        "learners = sorted(changed & followed)",
        "learners = wanted.learners",
        (f"{SERVICE}/test_news.py::test_only_what_has_changed_is_looked_at",),
    ),
    Mutant(
        "learners of others that events tell of",
        "service/news.py",
        "            if not may(learner):\n",
        "            if learner in releases and not may(learner):\n",
        (f"{SERVICE}/test_news.py::test_grants_choose_the_streams",),
    ),
    Mutant(
        "metrics of all streams for who operates one",
        "service/http_watching.py",
        "self._surface.metrics(accepted, sees)",
        "self._surface.metrics(accepted, lambda _: True)",
        (f"{SERVICE}/test_http.py::test_who_operates_one_stream_sees_the_metrics_of_that_one",),
    ),
    Mutant(
        "metrics that are written anew for each version of a type",
        "service/metrics.py",
        'choose_encoder(_ACCEPTED if _is_open(accepted) else "")',
        "choose_encoder(accepted)",
        (
            f"{SERVICE}/test_metrics.py::test_samples_of_a_stream_are_written_again_when_its_state_has_changed",
        ),
    ),
    Mutant(
        "files of the page that are looked for by any name",
        "service/page.py",
        "return _read(name) if name in _names() else None",
        "return _read(name)",
        (f"{SERVICE}/test_http.py::test_a_name_of_no_file_is_not_looked_for",),
    ),
    Mutant(
        "all requests of HTTP begun in one turn",
        "service/http_turns.py",
        "done += self._next_lane().go_on()",
        "self._next_lane().go_on()",
        (f"{SERVICE}/test_http_turns.py",),
    ),
    Mutant(
        "a peer whose turn lasts as long as its work",
        "service/turns.py",
        "done = worker.work(WORK_PER_PEER_UNITS)",
        "done = worker.work(10**9)",
        (f"{SERVICE}/test_turns.py::test_a_turn_has_so_much_work_and_each_peer_its_part",),
    ),
    Mutant(
        "a worker that fails and never has a turn again",
        "service/turns.py",
        "        except BaseException:\n            self._queued.discard(worker)\n",
        "        except BaseException:\n",
        (f"{SERVICE}/test_turns.py::test_a_worker_that_fails_is_dropped_and_the_others_go_on",),
    ),
    Mutant(
        "no more turns after one that failed",
        "service/turns.py",
        "        finally:\n            if self._queued or self._sending:",
        "        finally:\n            if self._sending:",
        (f"{SERVICE}/test_turns.py::test_a_worker_that_fails_is_dropped_and_the_others_go_on",),
    ),
    Mutant(
        "long frames of everybody at once",
        "service/receiving.py",
        "if wish.frame_bytes > self._free_bytes:",
        "if False:",
        (f"{SERVICE}/test_receiving.py",),
    ),
    Mutant(
        "a place in line for each time that somebody asks",
        "service/receiving.py",
        "known = self._grants.get(receiver) or self._wishes.get(receiver)",
        "known = self._grants.get(receiver)",
        (f"{SERVICE}/test_receiving.py::test_who_asks_again_while_waiting_is_granted_one_place",),
    ),
    Mutant(
        "memory of who waits for memory and is gone",
        "service/receiving.py",
        "        wish = self._wishes.pop(receiver, None)\n        if wish is not None:",
        "        wish = None\n        if wish is not None:",
        (f"{SERVICE}/test_receiving.py",),
    ),
    Mutant(
        "a frame of a session taken for the one before it, of the same length",
        "service/sessions.py",
        "if not is_long or self._placed_bytes != before:",
        "if not is_long:",
        (f"{ENDS}::test_who_sends_frame_after_frame_of_one_length_lets_others_have_their_turn",),
    ),
    Mutant(
        "a frame that is whole and has to grow",
        "service/sessions.py",
        "return None if is_whole or self._held_by",
        "return None if self._held_by",
        (f"{ENDS}::test_who_cannot_help_it_that_a_frame_does_not_come_on_goes_on",),
    ),
    Mutant(
        "a session that waits for memory which it does not need any more",
        "service/sessions.py",
        "or self._proven\n                self.release(receiving)\n",
        "or self._proven\n",
        (f"{ENDS}::test_who_waits_for_memory_with_a_whole_frame_is_read_on_once_that_is_taken",),
    ),
    Mutant(
        "a frame that has to have grown before it may",
        "service/receiving.py",
        "if before is not None and now is not None and now - before < FRAME_GROWTH_BYTES:",
        "if now is not None and now - (before or 0) < FRAME_GROWTH_BYTES:",
        (f"{SERVICE}/test_receiving.py::test_a_frame_has_its_time_from_when_it_may_come",),
    ),
    Mutant(
        "one receiver that fails and keeps its place",
        "service/receiving.py",
        "                self.give_back(receiver)\n                receiver.stalled()",
        "                receiver.stalled()",
        (
            f"{SERVICE}/test_receiving.py"
            "::test_a_receiver_that_fails_does_not_keep_its_place_or_others",
        ),
    ),
    Mutant(
        "an origin that may have all memory for long frames",
        "service/receiving.py",
        "return self._granted_bytes[origin] <= FRAMES_OF_ORIGIN_TIMES * self._free_bytes",
        "return True",
        (
            f"{SERVICE}/test_receiving.py"
            "::test_origins_that_take_all_they_get_leave_room_for_another",
        ),
    ),
    Mutant(
        "newcomers that wait for all who have finished a long frame",
        "service/receiving.py",
        "self._turn_of_proven = not wish.proven",
        "self._turn_of_proven = True",
        (
            f"{SERVICE}/test_receiving.py"
            "::test_those_who_have_finished_a_long_frame_take_turns_with_the_others",
        ),
    ),
    Mutant(
        "a connection for as long as a peer that has ended reads nothing",
        "service/sessions.py",
        "            self._abort_after(limits.send_seconds)\n",
        "",
        (f"{ENDS}::test_who_ends_and_does_not_take_the_rest_is_dropped",),
    ),
    Mutant(
        "a place that is given away while its connection stays",
        "service/sessions.py",
        "if has_had_its_moment or self._encrypted or self._transport.get_write_buffer_size():",
        "if False:",
        (f"{ENDS}::test_who_is_cut_leaves_nothing_behind",),
    ),
    Mutant(
        "a stop that waits for a peer that reads nothing",
        "service/daemon.py",
        "async with asyncio.timeout(2 * limits.close_seconds):",
        "async with asyncio.timeout(None):",
        (f"{ENDS}::test_a_stop_does_not_wait_for_ever",),
    ),
    Mutant(
        "every name that a peer makes up kept",
        "service/sessions.py",
        "if stream in self._context.schemas or self._where(stream) is not None:",
        "if True:",
        (f"{ENDS}::test_names_that_a_peer_makes_up_are_not_kept",),
    ),
    Mutant(
        "what is begun on a stream elsewhere not looked at again",
        "service/sessions.py",
        "if stream in self._context.schemas or self._where(stream) is not None:",
        "if stream in self._context.schemas:",
        (f"{ENDS}::test_names_that_a_peer_makes_up_are_not_kept",),
    ),
    Mutant(
        "an origin that may have every subscription",
        "service/sessions.py",
        " or its_own >= share_of(SUBSCRIPTIONS_MAX):",
        ":",
        (f"{ENDS}::test_each_origin_has_a_share_of_the_subscriptions",),
    ),
    Mutant(
        "an origin that may have every connection",
        "service/admission.py",
        "if self._from_origin[origin] >= self._origin_max:",
        "if False:",
        (f"{SERVICE}/test_admission.py",),
    ),
    Mutant(
        "a log without end",
        "service/logs.py",
        "if count[1] >= LOG_LINES_MAX:",
        "if False:",
        (f"{SERVICE}/test_logs.py::test_lines_of_one_kind_are_limited_and_the_others_counted",),
    ),
    Mutant(
        "who feeds at full speed never rests",
        "service/pace.py",
        "return 0 if self.rests else HURRIED_BYTES_MAX",
        "return HURRIED_BYTES_MAX",
        (f"{SERVICE}/test_intake.py::test_who_feeds_at_full_speed_rests_between_short_commits",),
    ),
    Mutant(
        "a loop of single examples that never rests",
        "service/queues.py",
        "len(self.pending) == 1 and self.pending_bytes <= PRODUCER_QUEUE_LITTLE_BYTES",
        "self.pending_bytes <= PRODUCER_QUEUE_LITTLE_BYTES",
        (
            f"{SERVICE}/test_queues.py"
            "::test_who_sends_on_before_the_acknowledgement_has_not_little",
            f"{SERVICE}/test_intake.py::test_a_loop_of_single_examples_rests_beside_who_waits",
        ),
    ),
    Mutant(
        "a reserve in front of engines for one message alone",
        "service/queues.py",
        "            if queue.pending_bytes <= PRODUCER_QUEUE_LITTLE_BYTES\n            and self",
        "            if queue.has_little\n            and self",
        (
            f"{SERVICE}/test_queues.py"
            "::test_the_engines_reserve_is_for_those_with_nothing_in_front_of_it",
        ),
    ),
    Mutant(
        "who waits on another stream does not count",
        "service/intake.py",
        "if self._underway and queue.waits >= WAITS_MIN:",
        "if stream.pending_bytes and queue.waits >= WAITS_MIN:",
        (f"{SERVICE}/test_intake.py::test_a_small_run_does_not_stand_behind_anothers_backlog",),
    ),
    Mutant(
        "short commits for the first stream alone",
        "service/queues.py",
        'ready.sort(key=attrgetter("turn"))',
        "pass",
        (f"{SERVICE}/test_intake.py::test_short_commits_are_shared_by_all_streams",),
    ),
    Mutant(
        "a small commit that overtakes the writer",
        "service/intake.py",
        "if self._heard < self._made:",
        "if False:",
        (f"{SERVICE}/test_intake.py::test_it_overtakes_none_either_while_others_rest",),
    ),
    Mutant(
        "the store read for every subscriber at once",
        "service/subscribers.py",
        "reading.add_done_callback(partial(self._end_turn, time.monotonic()))",
        "self._turn.give_back()",
        (f"{SERVICE}/test_subscribers.py",),
    ),
)

BLOCKS_LAW = f"{LAWS}::test_public_memory_of_blocks_costs_nothing"
BOTH_KINDS_LAW = f"{LAWS}::test_a_season_on_a_path_comes_to_both_kinds_of_calls"
LENGTHS_OF_BLOCKS = f"{LEARNERS}/online/test_length_search.py"
PATHS = f"{LEARNERS}/online/selections/test_path.py"
PATH_MEMORY = f"{LEARNERS}/online/test_path_memory.py"
BLOCKS = (
    Mutant(
        "a side that is looked up from the mistakes and not drawn",
        "learners/online/selections/lengths.py",
        "longer=side == 0)",
        "longer=bool(mistakes[0] > mistakes[1]))",
        (f"{BLOCKS_LAW}[lengths, on a path]",),
    ),
    Mutant(
        "a side of a path by comparison in place of a draw",
        "learners/online/selections/path.py",
        "self._convicted(hypotheses, state, self._moved(scores, place, noise))",
        "self._convicted(hypotheses, state, int(scores.argmax()))",
        (f"{BLOCKS_LAW}[path, on it]",),
    ),
    Mutant(
        "a path that is left for the mistakes of its epoch and not for a draw",
        "learners/online/selections/path.py",
        "        if side == ELSEWHERE:\n",
        "        if _mistakes(state, columns(state.archive)).min():\n",
        (f"{BLOCKS_LAW}[path, elsewhere]",),
    ),
    Mutant(
        "pairs of mistakes that count eight times for a block that is elsewhere",
        "learners/online/selections/path.py",
        "np.append(mistakes, mistakes.sum() - elsewhere)",
        "np.append(mistakes, 8 * mistakes.min() - elsewhere)",
        (f"{BLOCKS_LAW}[path, elsewhere]",),
    ),
    Mutant(
        "positive examples that count twice for sides beside blocks",
        "learners/online/selections/path.py",
        "holding = np.count_nonzero(examples[1]) - mistakes.sum()",
        "holding = 2 * np.count_nonzero(examples[1]) - mistakes.sum()",
        (f"{BLOCKS_LAW}[path, sides beside blocks]",),
    ),
    Mutant(
        "sides beside blocks that do not count as candidates",
        "learners/online/selections/path.py",
        "return super()._offered_max + (SIDES if self._memory.elsewhere else 0)",
        "return super()._offered_max",
        (f"{PATHS}::test_sides_beside_what_is_proposed_add_to_the_loss_of_precision",),
    ),
    Mutant(
        "a path that comes back though the search led elsewhere",
        "learners/online/path_memory.py",
        "return bool(self.offsets) and value >> (length - shared) == left",
        "return bool(self.offsets)",
        (f"{PATH_MEMORY}::test_a_search_that_leads_back_to_a_path_finds_what_was_known_of_it",),
    ),
    Mutant(
        "a path that goes on beyond the block that was drawn",
        "learners/online/selections/path.py",
        "return memory.found(value, length, self._memory), rule",
        "value = int(proposals.keys[drawn[0], 2])\n"
        "        return memory.found(value, paths.longest, self._memory), rule",
        (f"{BLOCKS_LAW}[path, of several addresses]",),
    ),
    Mutant(
        "offsets that prefer what is proposed to bottom",
        "learners/online/selections/lengths.py",
        "offsets = -settings.step * longer.astype(np.int64)\n        assert (offsets <= 0).all()",
        "offsets = settings.step * longer.astype(np.int64)",
        (f"{BLOCKS_LAW}[lengths]",),
    ),
    Mutant(
        "a path that goes on beyond the block that was found again",
        "learners/online/selections/path.py",
        "return memory.found_again(published[1], value, length, self._memory), rule",
        "value, longest = int(proposals.keys[drawn[0], 2]), paths.longest\n"
        "        return memory.found_again(published[1], value, longest, self._memory), rule",
        (f"{BLOCKS_LAW}[path, found again]",),
    ),
    Mutant(
        "offsets that prefer what is proposed on a path to bottom",
        "learners/online/selections/path.py",
        "assert not len(offsets) or offsets.max() <= 0  # Lemma B' needs it\n"
        "        scores = proposals.scores + offsets\n",
        "scores = proposals.scores - offsets\n",
        (f"{BOTH_KINDS_LAW}[path, long epochs-kinds0]",),
    ),
    Mutant(
        "blocks that are proposed on a path without their offsets",
        "learners/online/selections/path.py",
        "scores = proposals.scores + offsets\n",
        "scores = proposals.scores\n",
        (f"{PATHS}::test_what_is_proposed_has_the_offset_of_its_length",),
    ),
    Mutant(
        "a bottom on a path that is remembered only if something was proposed",
        "learners/online/selections/path.py",
        "return memory.bottom(), None",
        "return memory.bottom() if len(proposals.scores) else memory, None",
        (f"{BOTH_KINDS_LAW}[path, bottoms on it-kinds1]",),
    ),
    Mutant(
        "blocks that are proposed again right after a bottom on a path",
        "learners/online/path_memory.py",
        "return not self.bottoms and epoch_length > settings.full_length",
        "return epoch_length > settings.full_length",
        (f"{PATHS}::test_after_a_bottom_on_a_path_the_next_call_moves",),
    ),
    Mutant(
        "sides of a path by all examples that are kept",
        "learners/online/selections/path.py",
        "np.bincount(y[state.rule.evaluate(x) != y], minlength=2)",
        "np.bincount(y, minlength=2)",
        (f"{PATHS}::test_only_mistakes_of_the_published_block_are_of_a_side",),
    ),
    Mutant(
        "a path whose offsets have no floor",
        "learners/online/path_memory.py",
        "offsets = np.maximum(offsets - offsets.max(), -settings.floor)\n        sums",
        "offsets = offsets - offsets.max()\n        sums",
        (f"{PATH_MEMORY}::test_the_best_offset_is_0_and_none_is_below_the_floor",),
    ),
    Mutant(
        "a path found again whose offsets have no floor",
        "learners/online/path_memory.py",
        "offsets = np.maximum(offsets - offsets.max(), -settings.floor)\n        return",
        "offsets = offsets - offsets.max()\n        return",
        (f"{PATH_MEMORY}::test_blocks_are_found_again_as_the_definition_says",),
    ),
    Mutant(
        "examples that outlive a bottom",
        "learners/online/learner.py",
        "        if self.parameters.fresh:\n"
        "            published = self._keeping.next_epoch(published)\n",
        "        if self.parameters.fresh and rule is not None:\n"
        "            published = self._keeping.next_epoch(published)\n",
        (f"{BLOCKS_LAW}[path, two calls]",),
    ),
    Mutant(
        "a bottom that is remembered only if something was proposed",
        "learners/online/selections/lengths.py",
        "return memory.bottom(paths.longest, settings), None",
        "told = len(proposals.scores) > 0\n"
        "            return memory.bottom(paths.longest, settings) if told else memory, None",
        (f"{BLOCKS_LAW}[lengths, after a bottom]",),
    ),
    Mutant(
        "a length too many left below the next one that was proposed",
        "learners/online/length_search.py",
        "high = beyond[0] - 1 if beyond else self.high",
        "high = beyond[0] if beyond else self.high",
        (
            f"{LENGTHS_OF_BLOCKS}::test_a_block_that_was_found_bounds_the_length_by_the_next_one",
            "daemon/planner/online/test_lengths.py",
        ),
    ),
    Mutant(
        "a length too many left below the shortest one that was proposed",
        "learners/online/length_search.py",
        "high=self.proposed(settings)[0] - 1",
        "high=self.proposed(settings)[0]",
        (f"{LENGTHS_OF_BLOCKS}::test_after_a_bottom_shorter_lengths_are_left",),
    ),
    Mutant(
        "a path that is left the sooner for an epoch's false positives",
        "learners/online/selections/path.py",
        "        memory, following = memory.moved(",
        "        memory = replace(memory, back=memory.back + int(mistakes[0]))\n"
        "        memory, following = memory.moved(",
        (f"{BLOCKS_LAW}[path, left]",),
    ),
    Mutant(
        "a path that is never left",
        "learners/online/path_memory.py",
        "if front + back >= len(offsets):",
        "if front + back > 2 * len(offsets):",
        (f"{PATH_MEMORY}::test_a_path_is_left_when_every_candidate_was_convicted",),
    ),
    Mutant(
        "the wrong side of a path convicted",
        "learners/online/path_memory.py",
        "offsets[slice(published + 1) if longer else slice(published, None)]",
        "offsets[slice(published, None) if longer else slice(published + 1)]",
        (f"{PATH_MEMORY}::test_one_side_is_convicted",),
    ),
    Mutant(
        "a plan with a length too many above a block",
        "planner/online/lengths.py",
        "while left - 1 - places[-1] > above:",
        "while left - 1 - places[-1] > above + 1:",
        ("daemon/planner/online/test_lengths.py",),
    ),
)

MEANINGS = (
    Mutant(
        "points over HTTP in SQL of values",
        "service/http_rules.py",
        "rule.to_sql(words, column, dialect)",
        "rule.to_sql(Words(), column, dialect)",
        (f"{MEANING}::test_a_value_gets_one_label_whichever_way_its_rule_went",),
    ),
    Mutant(
        "values taken for points by both clients",
        "../../clients/littled_client/values.py",
        "offset=words.offset_of(x_type)",
        "offset=0",
        (f"{MEANING}::test_a_value_gets_one_label_whichever_way_its_rule_went",),
    ),
    Mutant(
        "words of a later version taken for plain ones",
        "../../clients/littled_client/conversation.py",
        "            words: Words | None = None\n",
        "            words: Words | None = Words()\n",
        ("clients/test_both_clients.py",),
    ),
    Mutant(
        "a file without words taken for one of values",
        "cli/rules.py",
        'said = facts.get("words")',
        'said = facts.get("words", {})',
        ("daemon/cli/test_cli_watching.py",),
    ),
    Mutant(
        "a function of a database over points",
        f"{PROTOCOL}/rules/functions.py",
        "expression = rule.to_sql(words, column, dialect)",
        "expression = rule.to_sql(Words(), column, dialect)",
        ("protocol/rules/test_functions.py",),
    ),
    Mutant(
        "nothing labeled 1 by a rule that is always 1",
        f"{PROTOCOL}/rules/writing.py",
        'return f"({is_known(column)})"',
        'return "(1 = 1)"',
        ("protocol/rules/test_kinds.py::test_nothing_has_no_label_in_sql",),
    ),
)

READING = "protocol/rules/test_readings.py::test_a_row_has_one_label"
TABLES = (
    Mutant(
        "a number at an edge in the bucket below it",
        "../../clients/littled_client/cells.py",
        'np.searchsorted(edges, values, side="right")',
        'np.searchsorted(edges, values, side="left")',
        ("clients/test_cells.py::test_numbers_are_those_made_by_hand", READING),
    ),
    Mutant(
        "what is missing in the first bucket of numbers",
        "../../clients/littled_client/cells.py",
        "        buckets[missing] = 0\n",
        "        buckets[missing] = 1\n",
        ("clients/test_cells.py::test_numbers_are_those_made_by_hand", READING),
    ),
    Mutant(
        "times with a zone read as if they had none",
        "../../clients/littled_client/cells.py",
        "cell = cell.astimezone(zone).replace(tzinfo=None)",
        "cell = cell.replace(tzinfo=None)",
        ("clients/test_cells.py::test_values_that_are_the_same",),
    ),
    Mutant(
        "SQL of a number that is beyond an edge",
        f"{PROTOCOL}/encodings/numbers.py",
        'bounds.append(f"{name} >= {write(',
        'bounds.append(f"{name} > {write(',
        (READING,),
    ),
    Mutant(
        "bits of features in each other's places",
        f"{PROTOCOL}/encodings/reading.py",
        "            first += len(feature.flags)\n",
        "            first += feature.size\n",
        ("protocol/encodings/test_reading.py::test_bits_are_the_answers_to_the_questions", READING),
    ),
    Mutant(
        "a learner that sees rows in place of its points",
        "engine/journal.py",
        "return examples if view is None else replace(examples, x=view(examples.x))",
        "return examples",
        ("daemon/engine/test_running.py::test_learners_see_points_of_their_columns",),
    ),
    Mutant(
        "buckets beyond the last one taken in",
        "service/daemon.py",
        "return ExampleSchema(points, plan.schema.contains, users)",
        "return ExampleSchema(points, None, users)",
        ("daemon/cli/test_cli_columns.py::test_rows_that_no_encoder_made_are_refused",),
    ),
)

LEADER = f"{LEARNERS}/leader"
LEADER_LAW = f"{LEADER}/test_laws.py"
ALL_RELEASES = f"{LEADER_LAW}::test_all_releases_of_a_season_cost_what_is_charged"
LEADER_USERS = f"{LEADER_LAW}::test_all_that_one_user_gives_costs_what_is_charged"
LEADERS = (
    Mutant(
        "short rows of a scorecard learner stretched, long ones not cut",
        "learners/leader/features.py",
        "return np.maximum(found, self.bound)",
        "return np.minimum(found, self.bound)",
        (ALL_RELEASES, f"{LEADER}/test_features.py::test_no_example_adds_more_than_its_limit"),
    ),
    Mutant(
        "lengths of a scorecard learner's rows rounded down",
        "learners/leader/features.py",
        "found += found * found < squares",
        "found += 0",
        (f"{LEADER}/test_features.py::test_sums_of_rows_are_those_of_each_row",),
    ),
    Mutant(
        "residuals that are not limited to a half",
        "learners/leader/features.py",
        "residual = RESIDUAL_STEPS - np.searchsorted",
        "residual = 2 * RESIDUAL_STEPS - np.searchsorted",
        (ALL_RELEASES,),
    ),
    Mutant(
        "only the first coefficient of a row paid for",
        "learners/leader/learner.py",
        "rest=apart * sum(c * c for c in p.coefficients),",
        "rest=apart * p.scale**2,",
        (ALL_RELEASES, "daemon/budget/charges/test_leader.py"),
    ),
    Mutant(
        "a batch's sum that stays in the next one",
        "learners/leader/working.py",
        "self.partial = np.zeros_like(self.partial)",
        "self.partial = self.partial * 1",
        (ALL_RELEASES,),
    ),
    Mutant(
        "the warm-up's sums used again after it",
        "learners/leader/working.py",
        "self.moments = None\n            self._begin(",
        "self.partial, self.moments = summed.cells[:, 0], None\n            self._begin(",
        (f"{LEADER_LAW}::test_the_warmup_and_the_rest_are_each_within_their_part",),
    ),
    Mutant(
        "a mean of rows that are not cut",
        "learners/leader/features.py",
        "cut = np.sign(rows) * (np.abs(rows) * usual // lengths)",
        "cut = rows",
        (f"{LEADER}/test_features.py::test_moments_of_one_row_are_within_their_limits",),
    ),
    Mutant(
        "all examples of a user learned from",
        "learners/leader/working.py",
        "multiples *= self.admitted[first:last]",
        "multiples *= 1",
        (LEADER_USERS,),
    ),
    Mutant(
        "a mean of all that a user gives",
        "learners/leader/working.py",
        "self._example.moments(cells[:, self.admitted[first:last]])",
        "self._example.moments(cells)",
        (LEADER_USERS,),
    ),
    Mutant(
        "prices of users that grow with their examples only, not with the square",
        "learners/leader/learner.py",
        "apart = (2 * LENGTH_MAX * most) ** 2",
        "apart = (2 * LENGTH_MAX) ** 2 * most",
        (LEADER_USERS,),
    ),
    Mutant(
        "weights that look at sums before noise",
        "learners/leader/working.py",
        "sequence.released.plus(released >> p.dropped_bits, kept)",
        "sequence.released.plus(row >> p.dropped_bits, kept)",
        (f"{LEADER_LAW}::test_what_is_published_follows_from_the_releases_alone",),
    ),
    Mutant(
        "decaying sums of batches before noise",
        "learners/leader/working.py",
        "learner.following(sequence, heard, batches)",
        "learner.following(sequence, summed, batches)",
        (f"{LEADER_LAW}::test_what_is_published_follows_from_the_releases_alone",),
    ),
    Mutant(
        "a change of a stream found in sums before noise",
        "learners/leader/learner.py",
        "if is_longer_than_noise(recent, self",
        "if is_longer_than_noise(recent + (sequence.summed.cells.sum(axis=1) << 9), self",
        (f"{LEADER_LAW}::test_what_is_published_follows_from_the_releases_alone",),
    ),
    Mutant(
        "rows in which older sums count as much as the newest",
        "learners/leader/learner.py",
        "return np.array(found[::-1], dtype=np.int64)",
        "return np.array([max(found, default=0) for _ in found], dtype=np.int64)",
        (ALL_RELEASES,),
    ),
    Mutant(
        "a charge of damped sequences that falls too fast",
        "budget/charges/leader.py",
        'decay *= 1 - from_text(parameters.get("damping", "0/1"))',
        'decay *= (1 - from_text(parameters.get("damping", "0/1"))) ** 2',
        ("daemon/budget/charges/test_leader.py",),
    ),
    Mutant(
        "columns of a scorecard chosen by sums before noise",
        "learners/leader/learner.py",
        "in narrow_columns(found, most):",
        "in narrow_columns("
        "self._whole_rule(state.sequence.summed.cells.sum(axis=1), state.sequence, base), most):",
        (f"{LEADER_LAW}::test_what_is_published_follows_from_the_releases_alone",),
    ),
    Mutant(
        "a scorecard published again when sums before noise have moved",
        "learners/leader/learner.py",
        "points = self._points(state.average, state.sequence, self._base_left(state))",
        "points = self._points("
        "state.sequence.summed.cells.sum(axis=1), state.sequence, self._base_left(state))",
        (f"{LEADER_LAW}::test_what_is_published_follows_from_the_releases_alone",),
    ),
    Mutant(
        "Gaussian noise with parts that are too narrow",
        "mechanisms/discrete_gaussian.py",
        "values = values * FACTOR + parts[:, part]",
        "values = values * (FACTOR // 2) + parts[:, part]",
        (f"{MECHANISMS}/test_discrete_gaussian.py",),
    ),
    Mutant(
        "a table of Gaussian noise by high words alone",
        "mechanisms/discrete_gaussian.py",
        "while found[index] < upper and low[found[index]] <= words[index, 1]:",
        "while False:",
        (f"{MECHANISMS}/test_discrete_gaussian.py",),
    ),
    Mutant(
        "the price of judging forgotten",
        "learners/leader/learner.py",
        "judging=COUNTED * (2 * p.judging_scale * most) ** 2,",
        "judging=0,",
        (ALL_RELEASES, "daemon/budget/charges/test_leader.py"),
    ),
    Mutant(
        "what is published chosen by counts before noise",
        "learners/leader/working.py",
        "                tuple(counts.tolist()),",
        "                tuple((p.judging_scale * self.judged).tolist()),",
        (f"{LEADER_LAW}::test_what_is_published_follows_from_the_releases_alone",),
    ),
    Mutant(
        "counts of a period that stay in the next one",
        "learners/leader/working.py",
        "self.judged = np.zeros_like(self.judged)",
        "self.judged = self.judged * 1",
        (
            f"{LEADER_LAW}::test_what_is_judged_and_what_a_stump_is_drawn_from_are_within_their_parts",
        ),
    ),
    Mutant(
        "scorecards judged that only the sums before noise tell",
        "learners/leader/learner.py",
        "return state.card.constant, points_of_cells",
        "return int(needed(state.sequence).summed.cells.sum()), points_of_cells",
        (
            f"{LEADER_LAW}::test_what_is_judged_and_what_a_stump_is_drawn_from_are_within_their_parts",
        ),
    ),
    Mutant(
        "a stump drawn twice from the same examples",
        "learners/leader/working.py",
        "self.cell_sums = None\n            if not",
        "self.cell_sums = self.cell_sums * 1\n            if not",
        (ALL_RELEASES,),
    ),
    Mutant(
        "the best stump taken, without chance",
        "learners/leader/learner.py",
        "mechanism.sample(self.stumps.scores(sums) + offset, words)",
        "int(self.stumps.scores(sums).argmax())",
        (f"{LEADER_LAW}::test_a_stump_is_drawn_by_chance_and_a_better_one_more_often",),
    ),
    Mutant(
        "the examples of a stump judged and learned from as well",
        "learners/leader/working.py",
        "self._count(self.learner.stumps.sums(self.cells[:, first:last], signs))\n"
        "            return",
        "self._count(self.learner.stumps.sums(self.cells[:, first:last], signs))",
        (
            f"{LEADER_LAW}::test_what_is_judged_and_what_a_stump_is_drawn_from_are_within_their_parts",
        ),
    ),
    Mutant(
        "all examples of a user judged beside a scorecard",
        "learners/leader/working.py",
        "np.where(ones, 1, -1) * self.admitted[first:last]",
        "np.where(ones, 1, -1)",
        (LEADER_USERS,),
    ),
    Mutant(
        "a stump's price of users that does not grow with their examples",
        "learners/leader/learner.py",
        "stump_rate=p.stump_rate * most,",
        "stump_rate=p.stump_rate,",
        (LEADER_USERS, "daemon/budget/charges/test_leader.py"),
    ),
    Mutant(
        "the examples of a trial learned from as well",
        "learners/leader/working.py",
        "self._count(self._right(first, last))\n            return",
        "self._count(self._right(first, last))",
        (f"{LEADER_LAW}::test_pure_draws_are_beside_the_rest_and_within_what_that_converts_to",),
    ),
    Mutant(
        "the best candidate of a trial taken, without chance",
        "learners/leader/learner.py",
        "mechanism.sample(scores, noise.words(address, mechanism.WORDS))",
        "int(scores.argmax())",
        (f"{LEADER_LAW}::test_a_candidate_is_drawn_by_chance_and_a_better_one_more_often",),
    ),
    Mutant(
        "right answers of a trial counted twice",
        "learners/leader/judging.py",
        "(np.append(sums, -never) - never) // 2",
        "(np.append(sums, -never) - never) // 1",
        (
            f"{LEADER}/test_judging.py",
            f"{LEADER_LAW}::test_pure_draws_are_beside_the_rest_and_within_what_that_converts_to",
        ),
    ),
    Mutant(
        "pure draws dearer than what the rest of a season converts to",
        "budget/events.py",
        "if 2 * self.stump_rate > epsilon_of_gaussian",
        "if self.stump_rate > epsilon_of_gaussian",
        ("daemon/budget/test_events.py",),
    ),
    Mutant(
        "draws that are beside the rest of a season charged to a stream that has more",
        "budget/prices.py",
        "if (caps.rho, caps.gaussian) == (own.rho, own.gaussian)",
        "if caps.rho == own.rho",
        ("daemon/budget/test_charges.py",),
    ),
    Mutant(
        "what is promised at one delta claimed at every one",
        "auditing/claims.py",
        "if delta <= delta_z]",
        "if delta <= 1]",
        ("daemon/auditing/test_claims.py",),
    ),
    Mutant(
        "draws that are beside the rest of a season forgotten for other accountants",
        "budget/prices.py",
        "event = replace(event, conversion_delta=Fraction(0))",
        "event = replace(event, conversion_delta=event.conversion_delta)",
        ("daemon/budget/test_events.py",),
    ),
)

PARTITION = f"{LEARNERS}/partition"
PARTITION_LAW = f"{PARTITION}/test_laws.py"
ALL_COUNTS = (
    f"{PARTITION_LAW}::"
    "test_all_counts_of_a_season_cost_what_is_charged_and_decide_what_is_published"
)
COUNTED_USERS = f"{PARTITION_LAW}::test_all_that_one_user_gives_costs_what_is_charged"
COUNTED_ONCE = f"{PARTITION_LAW}::test_an_example_is_counted_once_and_in_its_own_epoch"
EMPTY_PARTS = (
    f"{PARTITION}/test_learner.py::"
    "test_a_release_is_the_counts_and_a_sample_for_each_also_where_nothing_was_seen"
)
PARTITIONS = (
    Mutant(
        "counts of a partition without noise where nothing was seen",
        "learners/partition/learner.py",
        "return counts + drawn.reshape(counts.shape)",
        "return counts + drawn.reshape(counts.shape) * (counts > 0)",
        (EMPTY_PARTS,),
    ),
    Mutant(
        "counts of an epoch that stay in the next one",
        "learners/partition/learner.py",
        "            counts=np.zeros_like(memory),\n",
        "            counts=np.resize(state.counts, memory.shape),\n",
        (ALL_COUNTS, COUNTED_ONCE),
    ),
    Mutant(
        "counts of a season that stay in the next one",
        "learners/partition/learner.py",
        "            counts=np.zeros_like(state.counts),\n",
        "            counts=state.counts,\n",
        (f"{PARTITION}/test_learner.py::test_a_refused_call_halts_until_the_next_season",),
    ),
    Mutant(
        "an example counted for both labels",
        "learners/partition/learner.py",
        "cells = 2 * state.partition.places(x) + y",
        "cells = np.append(2 * state.partition.places(x) + y, 2 * state.partition.places(x))",
        (ALL_COUNTS,),
    ),
    Mutant(
        "a rule that looks at counts before noise",
        "learners/partition/learner.py",
        "gains = (memory[:, 1] - memory[:, 0]).tolist()",
        "gains = (state.counts[:, 1] - state.counts[:, 0]).tolist()",
        (ALL_COUNTS,),
    ),
    Mutant(
        "a partition that follows counts before noise",
        "learners/partition/learner.py",
        "partition, memory = followed(parts, memory,",
        "partition, memory = followed(parts, memory + 9 * state.counts,",
        (ALL_COUNTS,),
    ),
    Mutant(
        "all examples of a user counted",
        "learners/partition/learner.py",
        "x, y = x.take(places, axis=0), y.take(places)",
        "places = x",
        (COUNTED_USERS,),
    ),
    Mutant(
        "pure charges left out of what other accountants are told",
        "budget/statement.py",
        "rho, xi = _up(price.rho), _up(price.epsilon_pure)",
        "rho, xi = _up(price.rho), 0.0",
        (f"{STORE}/test_statement.py::{BOTH_LIBRARIES}[selections]",),
    ),
    Mutant(
        "equal charges told to other accountants once",
        "budget/statement.py",
        'distance": [_up(amount), mass], "count": charge.count}',
        'distance": [_up(amount), mass], "count": 1}',
        (f"{STORE}/test_statement.py::{BOTH_LIBRARIES}[selections]",),
    ),
    Mutant(
        "one of two counts that an example changes paid for",
        "budget/prices.py",
        '    rate = _user_rate(event)\n    if event.accounting == "pure":\n'
        "        return _pure(2 * rate)\n    return Price(Fraction(0), round_up(rate * rate), "
        "Fraction(0))\n\n\n@_prices(MistakeCounts)",
        '    rate = _user_rate(event) / 2\n    if event.accounting == "pure":\n'
        "        return _pure(2 * rate)\n    return Price(Fraction(0), round_up(rate * rate), "
        "Fraction(0))\n\n\n@_prices(MistakeCounts)",
        (ALL_COUNTS, COUNTED_USERS),
    ),
    Mutant(
        "noise of many counts by the highest words alone",
        "mechanisms/discrete_laplace.py",
        "np.flatnonzero((maybe < surely) | (high < 3) | (high == _LAST_WORD)).tolist()",
        "[]",
        (f"{MECHANISMS}/test_discrete_laplace.py::test_many_samples_are_those_of_single_ones",),
    ),
)

MEASURED_LAW = "daemon/test_measured_laws.py::test_figures_cost_what_they_are_charged"
MEASURED = f"{LEARNERS}/test_measured.py"
MEASURED_COUNTS = f"{MEASURED}::test_each_example_is_judged_once_by_the_rule_in_force"
QUALITY = (
    Mutant(
        "figures without noise",
        "mechanisms/noisy_counts.py",
        "return tuple(count + self._noise.sample(own) for count, own in drawn)",
        "return tuple(count for count, own in drawn)",
        (f"{MEASURED_LAW}[two periods]",),
    ),
    Mutant(
        "half the noise of figures",
        "learners/measured.py",
        "return NoisyCounts(self.quality.rate)",
        "return NoisyCounts(2 * self.quality.rate)",
        (f"{MEASURED_LAW}[two periods]",),
    ),
    Mutant(
        "one noise for both counts of users",
        "mechanisms/noisy_counts.py",
        "drawn = zip(counts, words, strict=True)",
        "drawn = zip(counts, [words[0]] * len(counts), strict=True)",
        (f"{MECHANISMS}/test_noisy_counts.py",),
    ),
    Mutant(
        "an example counted in two periods",
        "learners/measured.py",
        "after = replace(after, figures=figure.number, last=figure, counting=self._nothing)",
        "after = replace(after, figures=figure.number, last=figure, counting=self._counted("
        "replace(state, counting=self._nothing), period + 1, seen.take(slice(-1, None)), None))",
        (MEASURED_COUNTS,),
    ),
    Mutant(
        "a period's count that is not reset",
        "learners/measured.py",
        "after = replace(after, figures=figure.number, last=figure, counting=self._nothing)",
        "after = replace(after, figures=figure.number, last=figure, "
        "counting=replace(counting, first_version=None))",
        (f"{MEASURED_LAW}[two periods]", MEASURED_COUNTS),
    ),
    Mutant(
        "a count that outlives its season",
        "learners/measured.py",
        "season_position=event.position, counting=self._nothing",
        "season_position=event.position",
        (f"{MEASURED}::test_a_new_season_begins_with_nothing_counted",),
    ),
    Mutant(
        "figures that nothing is charged for",
        "learners/measured.py",
        "return (own, *events, replace(",
        "return (*events, replace(",
        (
            f"{MEASURED_LAW}[two periods]",
            "daemon/planner/test_quality.py::"
            "test_what_is_charged_is_derived_from_the_stored_plan_alone[capped]",
        ),
    ),
    Mutant(
        "users charged as examples are",
        "budget/prices.py",
        "return _pure(event.rate * (2 * event.user_examples_max or 1))",
        "return _pure(event.rate)",
        (f"{MEASURED_LAW}[users]",),
    ),
    Mutant(
        "all examples of a user judged",
        "learners/measured.py",
        "chosen = now.users.admitted(seen.users, own, USER_EXAMPLES)",
        "chosen = own",
        (f"{MEASURED_LAW}[users]", f"{MEASURED_COUNTS}[dense, users 1]"),
    ),
    Mutant(
        "users counted in every period",
        "learners/measured.py",
        "own = seen.users[:, 1] % np.uint64(self.quality.periods) == period",
        "own = np.ones(len(seen.users), dtype=np.bool_)",
        (f"{MEASURED_COUNTS}[dense, users 1]",),
    ),
    Mutant(
        "examples judged by the rule that comes next",
        "learners/measured.py",
        "counting = self._counted(state, period, seen, step.wrong)",
        "counting = self._counted(after, period, seen, None)",
        (f"{MEASURED}::test_a_learner_that_has_halted_is_measured_on", MEASURED_COUNTS),
    ),
    Mutant(
        "mistakes of other examples than those that were learned",
        "learners/online/learner.py",
        "wrong=mistake[: looked.consumed])",
        "wrong=mistake)",
        (MEASURED_COUNTS,),
    ),
    Mutant(
        "figures numbered anew after a restore",
        "engine/journal.py",
        "state = learner.with_figures(state, lost.get(figures_of(full_name), 0))",
        "state = learner.with_figures(state, 0)",
        ("daemon/store/test_figures.py::"
         "test_a_restore_goes_on_above_the_figures_that_were_lost",),
    ),
)  # fmt: skip

FEEDING = (
    Mutant(
        "rows over HTTP learned again when they are sent again",
        "service/feeding.py",
        "return max(0, end - queue.next_sequence)",
        "return end - feed.sequence",
        (f"{ROWS_FED}::test_rows_are_durable_once_however_often_they_are_sent",),
    ),
    Mutant(
        "rows over HTTP acknowledged before they are durable",
        "service/feeding.py",
        "position = await waiting.done",
        "position = queue.stream.position",
        (f"{ROWS_FED}::test_rows_wait_for_an_engine_that_is_behind",),
    ),
    Mutant(
        "users over HTTP stored under a digest without a key",
        "service/feeding.py",
        'hashed = b"" if schema.users is None else schema.users.column(part[2])',
        "hashed = part[2]",
        (f"{ROWS_FED}::test_users_are_hashed_before_they_are_stored",),
    ),
    Mutant(
        "web pages that feed",
        "service/http_bodies.py",
        'raise FeedError(403, "web pages may not feed")',
        "pass",
        (f"{ROWS_FED}::test_hostile_bodies_leave_the_daemon_as_it_was",),
    ),
    Mutant(
        "a sentence that quotes a wrong body",
        "service/json_bodies.py",
        'raise NotJson(f"{where} is not JSON{at}") from None',
        'raise NotJson(f"{where} is not JSON: {text!r}") from None',
        (f"{SERVICE}/test_rows.py::test_what_is_no_table",
         f"{SERVICE}/test_twin_daemons.py"
         "::test_twin_daemons_fed_over_http_show_the_same_bytes_everywhere"),
    ),
    Mutant(
        "a sentence that tells how long the cells before it are",
        "service/json_bodies.py",
        'at = f" (line {error.lineno})" if line is None else ""',
        'at = f" (line {error.lineno}, column {error.colno})" if line is None else ""',
        (f"{SERVICE}/test_twin_daemons.py"
         "::test_twin_daemons_fed_over_http_show_the_same_bytes_everywhere",),
    ),
    Mutant(
        "a sentence that names a user of the rows",
        "service/rows.py",
        'raise RowsRefused(f"row {bad.index + 1}: {reason}") from None',
        'raise RowsRefused(f"row {bad.index + 1}: {reason} {sorted(map(str, cells[-1]))[-1][:9]}")',
        (f"{SERVICE}/test_twin_daemons.py"
         "::test_twin_daemons_of_users_fed_over_http_show_the_same_bytes",),
    ),
)  # fmt: skip

CLOUD_EVENTS = "../../clients/littled_client/cloudevents.py"
POSTED = f"{FORWARDED}::test_what_is_posted_is_public_signed_and_read_by_others"
KILLED = f"{FORWARDED}::test_killed_again_and_again_it_sends_every_version_in_order"
TRIED_AGAIN = f"{FORWARDED}::test_a_failure_that_may_pass_is_tried_again"
FORWARDING = (
    Mutant(
        "an event whose id is another one each time",
        CLOUD_EVENTS,
        '"id": f"{published.learner}/{published.version}",',
        '"id": f"{published.learner}/{published.version}{id(published)}",',
        (KILLED,),
    ),
    Mutant(
        "an event that another store has too",
        CLOUD_EVENTS,
        '"source": f"urn:littled:{instance}",',
        '"source": "urn:littled",',
        (POSTED,),
    ),
    Mutant(
        "a delivery written down before it is acknowledged",
        "cli/forwarding.py",
        "headers = self._to.headers(body)\n",
        "headers = self._to.headers(body)\n        keep()\n",
        (TRIED_AGAIN,),
    ),
    Mutant(
        "a refusal that counts as a delivery",
        "cli/forwarding.py",
        "if 200 <= status < 300:",
        "if status:",
        (TRIED_AGAIN,),
    ),
    Mutant(
        "a release passed over where forwarding begins",
        "cli/forwarding.py",
        "client.subscribe(learner, delivered.version(learner))",
        "client.subscribe(learner, delivered.version(learner) + 1)",
        (KILLED,),
    ),
    Mutant(
        "a release passed over where the receiver fails",
        "cli/forwarding.py",
        'return f"answers {status}"',
        'return ""',
        (TRIED_AGAIN,),
    ),
    Mutant(
        "deliveries that are forgotten",
        "cli/delivered.py",
        "self._versions = {} if self.forgotten else dict(versions)",
        "self._versions = {}",
        (KILLED,),
    ),
    Mutant(
        "deliveries of another store taken for this one's",
        "cli/delivered.py",
        "self.forgotten = store != self._store",
        "self.forgotten = False",
        ("daemon/cli/test_cli_delivered.py"
         "::test_another_store_begins_anew_and_another_receiver_is_refused",),
    ),
    Mutant(
        "a signature of the beginning of a body",
        "cli/receivers.py",
        "mac = hmac.new(self.secret, body, hashlib.sha256)",
        "mac = hmac.new(self.secret, body[:64], hashlib.sha256)",
        (POSTED,),
    ),
)  # fmt: skip

GROWTH = (
    Mutant(
        "a stream is added and the mark does not know",
        "store/store.py",
        "            self._packing = Packing(grown, self._history.journal, self._marks)\n"
        "            self._advance_mark()\n",
        "            self._packing = Packing(grown, self._history.journal, self._marks)\n",
        (f"{STORE}/test_growth.py::test_a_copy_from_before_is_behind_its_mark",),
    ),
    Mutant(
        "a closed stream still learns",
        "store/staging.py",
        "if facts.closing is not None:",
        "if False:",
        (f"{STORE}/test_growth.py::test_a_closed_stream_takes_nothing_and_keeps_everything",),
    ),
    Mutant(
        "a closed stream still answers",
        "engine/predictions.py",
        "if stored is None and self._closed:",
        "if False:",
        (f"{SERVICE}/test_closed_streams.py::test_a_closed_stream_is_read_and_not_fed",),
    ),
    Mutant(
        "the name of a lost stream is used again",
        "store/store.py",
        "    if stream in facts.lost:",
        "    if False:",
        (f"{STORE}/test_growth.py::test_a_stream_that_a_restore_loses_leaves_its_name",),
    ),
    Mutant(
        "a copy in which a closed stream is open",
        "store/history.py",
        "if mark.closed and self._facts.streams[stream].closing is None:",
        "if False:",
        (f"{STORE}/test_growth.py::test_a_copy_in_which_a_closed_stream_is_open_is_refused",),
    ),
    Mutant(
        "a restore opens what was closed",
        "store/restoring.py",
        "if lost.stream in self.closed:",
        "if False:",
        (f"{STORE}/test_growth.py::test_a_restore_closes_again_what_was_closed",),
    ),
)

SHARING = (
    Mutant(
        "a member that says where a partition is which it has no longer",
        "groups/agreement.py",
        "value, lease, made_at=served.number)",
        "value, lease)",
        (f"{GROUPS}/test_agreement.py::test_only_who_has_a_partition_says_where_it_is_served",),
    ),
    Mutant(
        "a partition that is let go for another member",
        "groups/agreement.py",
        '{"compare": [self._made(name, number)], "success": [delete]}',
        '{"compare": [], "success": [delete]}',
        (f"{GROUPS}/test_agreement.py::test_only_who_has_a_partition_says_where_it_is_served",),
    ),
    Mutant(
        "a partition that is taken although a member has it",
        "groups/agreement.py",
        '{"member": member, "lease": lease}, lease, made_at=0)',
        '{"member": member, "lease": lease}, lease)',
        (f"{GROUPS}/test_agreement.py::test_a_partition_is_had_by_one_at_a_time",),
    ),
    Mutant(
        "daemons that go on when their member's lease is lost",
        "groups/membership.py",
        "            member, actions = _stopped(member, list(member.held), hurried=True)\n"
        "            member = replace(member, leased=False",
        "            member = replace(member, leased=False",
        (f"{GROUPS}/test_membership.py::test_without_a_lease_every_daemon_is_stopped_in_a_hurry",),
    ),
    Mutant(
        "a partition that is let go while its daemon runs",
        "groups/membership.py",
        "actions.append(StopDaemon(p, hurried))",
        "actions += [StopDaemon(p, hurried), Release(p, held[p].number)]",
        (
            f"{GROUPS}/test_membership.py"
            "::test_after_whatever_happened_each_partition_is_served_once_and_fairly",
        ),
    ),
    Mutant(
        "a member that takes more than its share",
        "groups/membership.py",
        "free[: max(most - len(member.held), 0)]",
        "free",
        (f"{GROUPS}/test_membership.py::test_nobody_takes_more_than_a_share_or_what_is_taken",),
    ),
    Mutant(
        "a stream in two partitions that is accepted",
        "groups/partitions.py",
        "if (right := partition_of(name, partitions)) != partition:",
        "if (right := partition_of(name, partitions)) < 0:",
        (f"{GROUPS}/test_partitions.py::test_a_stream_of_another_partition_is_refused",),
    ),
    Mutant(
        "a store that is served as another partition",
        "groups/partitions.py",
        "if group != told_to_store(partition, partitions, names):",
        "if group is None:",
        (f"{GROUPS}/test_partitions.py::test_a_store_is_held_against_what_etcd_says_of_it",),
    ),
    Mutant(
        "a daemon of a group that does not look at its store",
        "cli/serving.py",
        '"check": check,',
        '"check": lambda _: None,',
        (f"{GROUP}::test_no_stream_comes_to_be_in_two_partitions",),
    ),
    Mutant(
        "a stream that is added to another partition than its own",
        "cli/streams.py",
        'check_streams(new, opened.configuration.get("group"))',
        "check_streams(new, None)",
        (f"{GROUP}::test_no_stream_comes_to_be_in_two_partitions",),
    ),
    Mutant(
        "a daemon that outlives its member",
        "cli/serving.py",
        "target=end_with_standard_input",
        "target=float",
        (
            f"{GROUP}"
            "::test_daemons_end_with_a_member_that_is_killed_so_that_others_have_its_folders",
        ),
    ),
    Mutant(
        "a name that is given to a partition and not used up where its hash has it",
        "cli/adding.py",
        "            for former, its in names.items():\n                parts =",
        "            for former, its in names.items() - names.items():\n                parts =",
        (
            "daemon/cli/test_cli_adding.py"
            "::test_a_partition_is_added_while_members_run_and_served_without_a_restart",
        ),
    ),
    Mutant(
        "a name that has examples and is used up all the same",
        "cli/adding.py",
        "            if store.position(name):\n",
        "            if store.position(name) < 0:\n",
        (
            "daemon/cli/test_cli_adding.py"
            "::test_a_name_that_was_fed_before_it_was_used_up_stays_where_it_is",
        ),
    ),
    Mutant(
        "a stream that learns and whose name is given to another partition",
        "cli/adding.py",
        "known.get(name) != partition",
        "known.get(name, partition) != partition",
        (
            "daemon/cli/test_cli_adding.py"
            "::test_no_stream_of_an_added_partition_comes_to_be_in_another_one",
        ),
    ),
    Mutant(
        "a partition that was added and takes any stream",
        "groups/partitions.py",
        'if name not in group["streams"]:',
        'if not group["streams"]:',
        (
            f"{GROUPS}/test_partitions.py"
            "::test_a_partition_that_was_added_has_its_names_and_no_other_one",
        ),
    ),
    Mutant(
        "a partition that is served on while it is paused",
        "groups/membership.py",
        "[p for p in member.held if p in seen.paused]",
        "[]",
        (
            f"{GROUPS}/test_membership.py"
            "::test_after_whatever_happened_each_partition_is_served_once_and_fairly",
        ),
    ),
    Mutant(
        "a takeover that leaves a frozen owner its locks",
        "store/postgres.py",
        "            if take_over:\n",
        "            if take_over is None:\n",
        (
            f"{STORE}/test_postgres.py"
            "::test_who_takes_over_ends_the_connections_of_an_owner_in_the_middle_of_a_commit",
        ),
    ),
)

OWNERS = (
    Mutant(
        "an owner that was put off and stores on",
        "store/postgres.py",
        "if [row[0] for row in rows] != [self._epoch]:",
        "if False:",
        (f"{STORE}/test_postgres.py::test_the_sentence_of_an_owner_that_was_put_off",),
    ),
    Mutant(
        "one record of an owner that was put off",
        "store/postgres.py",
        "WHERE id = 1 AND epoch = ? FOR SHARE)",
        "WHERE id = 1 AND epoch >= ? FOR SHARE)",
        (f"{STORE}/test_postgres.py::test_the_sentence_of_an_owner_that_was_put_off",),
    ),
    Mutant(
        "one record that does not wait for who takes over",
        "store/postgres.py",
        "WHERE id = 1 AND epoch = ? FOR SHARE)",
        "WHERE id = 1 AND epoch = ?)",
        (f"{STORE}/test_postgres.py::test_one_record_waits_for_who_takes_over_and_is_not_stored",),
    ),
    Mutant(
        "an owner that was put off and shows what the next one has stored",
        "store/store.py",
        "                if not marked():\n",
        "                if marked() and not marked():\n",
        (
            f"{STORE}/test_postgres.py::test_an_owner_that_was_put_off_tells_nothing_of_the_next_one",
        ),
    ),
    Mutant(
        "an owner that was put off and acknowledges what the next one has stored",
        "store/store.py",
        "                with self._watched():\n                    self._writing.check_place()\n",
        "                pass\n",
        (
            f"{STORE}/test_postgres.py::test_an_owner_that_was_put_off_tells_nothing_of_the_next_one",
        ),
    ),
    Mutant(
        "a cancelled wait for standbys taken for a commit",
        "store/postgres.py",
        "if self._warnings:",
        "if False:",
        (f"{STORE}/test_standbys.py::test_a_cancelled_wait_is_fatal_and_shows_nothing",),
    ),
    Mutant(
        "a server that may keep its warnings to itself",
        "store/postgres.py",
        "SET client_min_messages = 'warning'",
        "SET client_min_messages = 'error'",
        (f"{STORE}/test_standbys.py::test_a_cancelled_wait_is_fatal_and_shows_nothing",),
    ),
    Mutant(
        "a commit of unknown outcome that is tried again",
        "store/store.py",
        "            self._writing.put_alone((producer, facts.identity, name, following), row)",
        "            put = producer, facts.identity, name, following\n"
        "            try:\n"
        "                self._writing.put_alone(put, row)\n"
        "            except StoreFailed:\n"
        "                self._writing = self._place.database.writing()\n"
        "                self._writing.put_alone(put, row)",
        (f"{STORE}/test_postgres.py::test_a_commit_whose_outcome_is_unknown_is_not_tried_again",),
    ),
    Mutant(
        "a store that is read before the standbys know its new owner",
        "store/postgres.py",
        "                rows = self._raw.execute(_TAKE_OVER).fetchall()",
        '                self._raw.execute("SET LOCAL synchronous_commit = local")\n'
        "                rows = self._raw.execute(_TAKE_OVER).fetchall()",
        (f"{STORE}/test_standbys.py::test_taking_over_waits_until_the_standbys_have_it",),
    ),
    Mutant(
        "a release that is shown before the mark has it",
        "store/store.py",
        "if found and found[-1].version > self._shown.get(learner, self._unseen):",
        "if False:",
        (f"{STORE}/test_store.py::test_nobody_is_shown_what_the_mark_does_not_have_yet",),
    ),
    Mutant(
        "an answer that is shown before the mark has it",
        "store/store.py",
        "number > self._answered.get(found.stream, self._unseen):",
        "number < 0:",
        (f"{STORE}/test_store.py::test_nobody_is_shown_what_the_mark_does_not_have_yet",),
    ),
    Mutant(
        "a standby without the last commits that is served behind its mark",
        "store/store.py",
        "        findings = self._history.behind(mark)\n        if findings:",
        "        findings = self._history.behind(mark)\n        if findings and not findings:",
        ("test_model_replayed.py::test_real_stores_go_the_ways_of_the_model[3-failovers]",),
    ),
    Mutant(
        "an error of the server that goes into a message",
        "store/postgres.py",
        "code = error.sqlstate or type(error).__name__",
        "code = str(error)",
        (f"{STORE}/test_postgres.py::test_what_psycopg_raises_becomes_an_error_of_the_store",),
    ),
)

MOVING = f"{STORE}/test_moving.py"
ONE_OF_TWO = f"{MOVING}::test_killed_anywhere_one_of_two_is_usable_at_the_most"
BACKUP = f"{MOVING}::test_a_backup_from_before_is_refused_wherever_it_names_the_old_mark"
MOVES = (
    Mutant(
        "a source that is not given up when it was copied",
        "store/moving.py",
        "            put_move(connection, self.move, FORMATS_MOVED + connection.format())\n",
        "            connection.format()\n",
        (f"{MOVING}::test_what_was_moved_is_refused_by_all_that_opens_it_with_any_mark",),
    ),
    Mutant(
        "a copy that may be used before its source is given up",
        "store/moving.py",
        "            self._receive()\n",
        "            self._receive()\n            self._let_go()\n",
        (ONE_OF_TWO,),
    ),
    Mutant(
        "marks that change hands before the source is given up",
        "store/moving.py",
        "            self._leave()\n            self._hand_over_the_mark()\n",
        "            self._hand_over_the_mark()\n            self._leave()\n",
        (ONE_OF_TWO,),
    ),
    Mutant(
        "a source on a server that another owner still has when it is given up",
        "store/moving.py",
        '        assert self._writing is not None, "the source is not owned"\n',
        "        self._writing = self._source.database.writing()\n",
        (f"{MOVING}::test_another_owner_keeps_a_source_on_a_server",),
    ),
    Mutant(
        "a copy that is not compared with its source",
        "store/moving.py",
        "            table = self._difference()\n",
        "            table = None\n",
        (
            f"{MOVING}::test_a_copy_that_is_another_one_is_noticed_before_the_source_is_given_up",
            f"{MOVING}::test_columns_beside_the_database_are_compared_as_well",
        ),
    ),
    Mutant(
        "columns of a copy that are not compared",
        "store/contents.py",
        "return (piece.whole() for piece in side.records())",
        "return (piece.row for piece in side.records())",
        (f"{MOVING}::test_columns_beside_the_database_are_compared_as_well",),
    ),
    Mutant(
        "a store that was moved away and is served",
        "store/database.py",
        "            if not moving:\n",
        "            if not moving and found < FORMATS_MOVED:\n",
        (f"{MOVING}::test_what_was_moved_is_refused_by_all_that_opens_it_with_any_mark",),
    ),
    Mutant(
        "an unfinished copy that is served",
        "store/database.py",
        "            if not moving:\n",
        "            if not moving and found >= FORMATS_MOVED:\n",
        (f"{MOVING}::test_an_unfinished_copy_is_used_by_nobody",),
    ),
    Mutant(
        "a mark that stays when its store is moved",
        "store/moving.py",
        "            self._register.bury(self.move.target, revision)\n",
        "",
        (BACKUP,),
    ),
    Mutant(
        "a source that is moved although its mark has gone on without it",
        "store/moving.py",
        "        findings = history.behind(mark)\n",
        "        findings: list[str] = []\n",
        (f"{MOVING}::test_whoever_uses_a_backup_meanwhile_keeps_the_copy_from_being_used",),
    ),
    Mutant(
        "a buried mark in etcd that its owner still has",
        "store/etcd_register.py",
        "last = {_STORE: _line(values), _OWNER: _owner_value(expected.epoch + 1)}",
        "last = {_STORE: _line(values)}",
        (
            f"{STORE}/test_moving_etcd.py"
            "::test_whoever_has_claimed_the_mark_since_loses_it_with_the_burial",
        ),
    ),
)

# The same guards as a cluster of real servers, daemons and peers sees them.
LIVES = "test_cluster.py::test_a_life_with_faults_keeps_the_promises"
CLUSTER = (
    Mutant(
        "a cluster whose new owner does not raise the epoch",
        "store/postgres.py",
        "SET epoch = epoch + 1 WHERE id = 1 RETURNING",
        "SET epoch = epoch WHERE id = 1 RETURNING",
        (f"{LIVES}[put_off_the_owner]",),
    ),
    Mutant(
        "a cluster whose owner acknowledges after a warning",
        "store/postgres.py",
        "if self._warnings:",
        "if self._warnings == [None]:",
        (f"{LIVES}[cancel_a_wait]",),
    ),
    Mutant(
        "a cluster whose new owner does not wait for the standbys",
        "store/postgres.py",
        "                rows = self._raw.execute(_TAKE_OVER).fetchall()\n",
        '                self._raw.execute("SET LOCAL synchronous_commit = local")\n'
        "                rows = self._raw.execute(_TAKE_OVER).fetchall()\n",
        (f"{LIVES}[show_what_no_standby_has]",),
    ),
    Mutant(
        "a cluster whose copies need not have what the mark has",
        "store/store.py",
        "findings = self._history.behind(mark)",
        "findings: list[str] = []",
        (f"{LIVES}[serve_an_old_copy]",),
    ),
    Mutant(
        "a cluster whose owner compares nothing before it replaces the mark",
        "store/etcd_register.py",
        "for name in sorted({_OWNER, *wanted})]",
        "for name in ()]",
        (f"{LIVES}[serve_a_copy_of_a_frozen_owner]",),
    ),
    Mutant(
        "a cluster whose places in sources are stored before their examples",
        "store/store.py",
        "        with self._transaction() as connection:\n            if batch.beside:",
        "        with self._transaction() as connection:\n"
        "            put_places(connection, reached)\n"
        "        with self._transaction() as connection:\n            if batch.beside:",
        (f"{LIVES}[keep_what_no_standby_had]",),
    ),
)

SCANNING = (
    Mutant(
        "feeders that stand still though their limit has risen",
        "service/intake.py",
        "            queue.feeder.pause()\n            self._look_soon()\n",
        "            queue.feeder.pause()\n",
        (f"{SERVICE}/test_intake.py::test_feeders_go_on_when_their_limit_rises_by_itself",),
    ),
    Mutant(
        "wrong messages of many values without a rest",
        "service/sessions.py",
        "            self._context.scanning.done(self, SCAN_UNITS_MAX)\n",
        "",
        (f"{SERVICE}/test_scanning.py::test_the_loop_rests_from_messages_that_are_wrong_as_well",),
    ),
    Mutant(
        "a session that ends with its peer's last word, before its turn",
        "service/sessions.py",
        "self.has_work or self in self._context.scanning\n",
        "self.has_work\n",
        (f"{SERVICE}/test_scanning.py::test_who_says_no_more_is_waited_for",),
    ),
    Mutant(
        "a stop that ends sessions before their examples are acknowledged",
        "service/daemon.py",
        "        await self.intake.drain()\n        # An",
        "        asyncio.get_running_loop().call_soon(lambda: None)\n        # An",
        (
            f"{SERVICE}/test_predicting_slowly.py"
            "::test_a_stop_acknowledges_what_came_beside_a_question_that_waits",
        ),
    ),
    Mutant(
        "a number that is cut at its point",
        "service/json_bodies.py",
        " and self._window[end : end + 1] not in _IN_NUMBERS",
        "",
        (f"{SERVICE}/test_json_bodies.py::test_elements_are_whole_wherever_a_window_ends",),
    ),
    Mutant(
        "a commit that takes nothing and is not begun again",
        "service/intake.py",
        "            self._loop.call_soon_threadsafe(self._begin_what_waits)\n",
        "",
        (
            f"{SERVICE}/test_intake.py"
            "::test_what_has_grown_before_its_commit_is_committed_after_the_rest",
        ),
    ),
    Mutant(
        "a length beyond all limits that waits for its place in memory",
        "service/sessions.py",
        "FRAME_SHORT_BYTES < frame_bytes <= connection.frame_bytes_max",
        "FRAME_SHORT_BYTES < frame_bytes",
        (f"{SERVICE}/test_crowds.py::test_a_length_beyond_all_limits_keeps_no_long_frame_waiting",),
    ),
    Mutant(
        "messages of many values that wait for nobody",
        "service/sessions.py",
        "connection.due_has_more_values(SCAN_VALUES_MIN) and not",
        "connection.due_has_more_values(1 << 30) and not",
        (f"{SERVICE}/test_scanning.py::test_the_loop_rests_between_messages_of_many_values",),
    ),
    Mutant(
        "a turn at many values that is never given back",
        "service/scanning.py",
        "        self.done(scanner)\n\n    def _schedule",
        "\n    def _schedule",
        (f"{SERVICE}/test_scanning.py::test_who_cannot_use_a_turn_passes_it_on_at_once",),
    ),
    Mutant(
        "origins without turns at many values",
        "service/scanning.py",
        "self._line.add(scanner, scanner.origin)",
        'self._line.add(scanner, "")',
        (f"{SERVICE}/test_scanning.py::test_turns_come_one_by_one_and_by_origin",),
    ),
    Mutant(
        "examples that come again and are acknowledged one by one",
        "service/channels.py",
        "self._take_again(burst.part(0, known))",
        "sum(map(self.take, burst.part(0, known).messages()))",
        (f"{SERVICE}/test_channels.py::test_a_burst_is_taken_like_its_messages",),
    ),
    Mutant(
        "examples that come again and are not looked at",
        "service/channels.py",
        "        self.flush()\n        self._schema.check(burst.x, burst.y, len(burst.y))\n",
        "        self.flush()\n",
        (f"{SERVICE}/test_channels.py::test_batches_that_come_again_are_looked_at_like_others",),
    ),
    Mutant(
        "requests about streams elsewhere that cost nothing",
        "service/sessions.py",
        "            self._allowance.spend(REFUSAL_UNITS)\n            return",
        "            return",
        (
            f"{SERVICE}/test_elsewhere.py"
            "::test_to_be_told_where_a_stream_is_comes_out_of_the_allowance",
        ),
    ),
)

HOST = f"{SERVICE}/test_host.py"
QUEUES = f"{SERVICE}/test_queues.py"
STARTS = (
    Mutant(
        "a daemon that listens before it has what was shown",
        "service/host.py",
        "position > self.shown",
        "True",
        (f"{HOST}::test_a_start_learns_what_may_be_known_of_in_any_case",),
    ),
    Mutant(
        "a start that leaves more for later than memory may hold",
        "service/host.py",
        "and bytes_left <= self.bytes_max",
        "and True",
        (f"{HOST}::test_a_start_leaves_no_more_than_memory_may_hold",),
    ),
    Mutant(
        "a start that passes the latest releases off as all of them",
        "service/subscribers.py",
        "self.forgotten = release.version - 1",
        "self.forgotten = 0",
        (
            f"{SERVICE}/test_subscribers.py"
            "::test_a_start_has_the_latest_and_leaves_the_others_in_the_store",
        ),
    ),
    Mutant(
        "records that a start leaves out",
        "service/host.py",
        "for record in chain(left, *turns):",
        "for record in left:",
        (f"{HOST}::test_a_start_leaves_for_later_what_nobody_knows_of",),
    ),
    Mutant(
        "a start that waits for trainings which nobody begins any more",
        "engine/journal.py",
        "    with suppress(Exception):\n        training.exception()",
        "    import concurrent.futures as futures\n    futures.wait((training,))",
        (
            f"{HOST}::test_a_replay_ends_whose_training_is_cancelled_while_it_waits_in_line",
            f"{HOST}::test_an_engine_ends_whose_training_is_cancelled_while_it_waits_in_line",
        ),
    ),
    Mutant(
        "facts that are told after a whole turn",
        "service/host.py",
        "                self._tell_status()\n                if self._stopping.is_set():\n"
        "                    return\n            yield training\n",
        "                if self._stopping.is_set():\n"
        "                    return\n            yield training\n        self._tell_status()\n",
        (f"{HOST}::test_facts_are_told_with_each_record_in_which_something_is_published",),
    ),
    Mutant(
        "facts that are told where nothing was published",
        "service/host.py",
        "        if self._outlet.published > self._told:\n",
        "        if True:\n",
        (f"{HOST}::test_what_is_shown_changes_only_with_a_release",),
    ),
    Mutant(
        "the newest version beside an older rule",
        "service/daemon.py",
        '        said = {**facts, "version": newest.version, "epoch": newest.epoch}\n'
        "        if newest.rule is not None:\n",
        '        said = {**facts, "version": newest.version, "epoch": newest.epoch}\n'
        "        if False:\n",
        (
            f"{SERVICE}/test_daemon.py"
            "::test_what_is_said_of_a_rule_is_of_its_version_between_two_trainings",
        ),
    ),
    Mutant(
        "a partition whose daemon could not be prepared and is kept",
        "groups/running.py",
        "        except (CannotServe, OSError) as error:\n",
        "        except CannotServe as error:\n",
        (f"{GROUPS}/test_running.py",),
    ),
    Mutant(
        "a replay that saves nothing on the way",
        "service/host.py",
        "        self._save_if_worth_it(known)\n",
        "",
        (f"{HOST}::test_a_start_that_is_killed_has_saved_what_took_long",),
    ),
    Mutant(
        "snapshots of later records that outlive the one that is saved",
        "store/store.py",
        "WHERE stream = ?1 AND record_number <= ?2\n    ORDER",
        "WHERE stream = ?1 AND ?2 = ?2\n    ORDER",
        (f"{STORE}/test_store.py::test_a_snapshot_leaves_none_of_later_records",),
    ),
    Mutant(
        "a start that leaves states which it cannot use to the archive",
        "service/host.py",
        "        if self._has_unusable:\n            self._put_snapshot",
        "        if False:\n            self._put_snapshot",
        (f"{HOST}::test_what_only_states_of_another_version_make_dispensable_is_not_archived",),
    ),
    Mutant(
        "states of another version that are dropped before the journal is at hand",
        "service/host.py",
        "        turns = in_turns(",
        "        self._forget_unusable()\n        turns = in_turns(",
        (f"{HOST}::test_states_of_another_version_stay_where_the_first_records_are_elsewhere",),
    ),
    Mutant(
        "a start that asks for the time after whole turns",
        "service/host.py",
        "        if training is None:\n            return\n        wait_for",
        "        if training is None:\n            continue\n        wait_for",
        (f"{HOST}::test_a_start_learns_no_longer_than_it_is_told_to_whatever_a_turn_has",),
    ),
    Mutant(
        "a stop that waits for whole turns of a replay",
        "service/host.py",
        "        if self._interrupted.is_set():\n            return True\n",
        "",
        (f"{HOST}::test_a_replay_is_interrupted_within_a_turn_and_not_in_vain",),
    ),
    Mutant(
        "a replay that is interrupted in vain",
        "service/host.py",
        "                self._save()\n                return []\n",
        "                return []\n",
        (f"{HOST}::test_a_replay_is_interrupted_within_a_turn_and_not_in_vain",),
    ),
    Mutant(
        "a turn whose end a start leaves out",
        "service/host.py",
        "        return records[known:]\n",
        "        return records[known + 1 :]\n",
        (f"{HOST}::test_a_start_learns_no_longer_than_it_is_told_to_whatever_a_turn_has",),
    ),
    Mutant(
        "positions that a restore has left out count as examples",
        "store/store.py",
        "            if record.number > number:  # it",
        "            if record.number < 0:  # it",
        (
            f"{STORE}/test_restoring.py"
            "::test_what_an_engine_has_still_to_learn_is_counted_by_examples",
        ),
    ),
    Mutant(
        "a daemon that listens before it tells of its restore",
        "service/daemon.py",
        "[store.charged_position(stream), store.restored_position(stream)]",
        "[store.charged_position(stream)]",
        (f"{SERVICE}/test_daemon.py::test_a_restore_is_told_as_soon_as_a_daemon_listens",),
    ),
    Mutant(
        "answers that keep a thread until a season opens",
        "service/answering.py",
        "            return awaited.news\n",
        "            awaited.news.result()\n"
        "            return self._answer(answer, asked, position)\n",
        (f"{SERVICE}/test_answering.py::test_who_waits_for_a_season_keeps_no_thread_from_others",),
    ),
    Mutant(
        "a stop that waits for who waits for a season",
        "service/daemon.py",
        "            answering.wait_no_longer()\n",
        "            pass\n",
        (
            f"{SERVICE}/test_predicting_slowly.py"
            "::test_a_stop_does_not_wait_for_who_waits_for_a_season",
        ),
    ),
    Mutant(
        "a start whose time to learn is over before it begins",
        "service/daemon.py",
        "zip(self._hosts, shown, strict=True)",
        "zip(self._hosts, self._shown_positions(), strict=True)",
        (
            f"{SERVICE}/test_daemon.py"
            "::test_the_time_to_learn_begins_when_it_is_known_what_was_shown",
        ),
    ),
    Mutant(
        "what a start leaves is not counted as memory",
        "service/intake.py",
        "        for record in unlearned:\n",
        "        for record in unlearned[:0]:\n",
        (
            f"{SERVICE}/test_intake.py"
            "::test_what_an_engine_left_for_later_counts_as_what_it_has_to_learn",
        ),
    ),
    Mutant(
        "engines that may be behind each by itself",
        "service/queues.py",
        "if self.unlearned_bytes < ENGINE_QUEUES_BYTES_MAX:",
        "if True:",
        (f"{QUEUES}::test_engines_of_all_streams_that_are_behind_share_the_memory",),
    ),
    Mutant(
        "streams that may have much waiting each by itself",
        "service/queues.py",
        "if self.pending_bytes <= PENDING_BYTES_MAX:",
        "if True:",
        (f"{QUEUES}::test_feeders_of_many_streams_are_held_up_by_their_part",),
    ),
    Mutant(
        "reserves without an end",
        "service/queues.py",
        " or self._held.has_no_reserve:",
        ":",
        (f"{QUEUES}::test_the_reserves_of_all_streams_have_a_limit_too",),
    ),
    Mutant(
        "an answer that quotes what could not be read",
        "service/http.py",
        "text=UNREADABLE",
        "text=message",
        (f"{SERVICE}/test_http.py::test_what_cannot_be_read_is_refused_without_a_word_of_it",),
    ),
)

TRAININGS = (
    Mutant(
        "a worker that gets the noise of the trigger",
        "service/training.py",
        "if found.purpose not in IN_CALLS or",
        "if",
        (f"{SERVICE}/test_trainings_elsewhere.py",),
    ),
    Mutant(
        "a worker that gets the key",
        "service/training.py",
        "sent = self._elsewhere.submit(step_with_grants, step, state, call, granted)",
        "sent = self._elsewhere.submit(step, state, call, noise)",
        (f"{SERVICE}/test_trainings_elsewhere.py",),
    ),
)

JSON_BODIES = f"{SERVICE}/test_json_bodies.py"
HTTP_WORK = (
    Mutant(
        "a window for each element of JSON",
        "service/json_bodies.py",
        "        if start < len(self._window):\n",
        "        if False:\n",
        (f"{JSON_BODIES}::test_no_part_of_a_body_is_read_often",),
    ),
    Mutant(
        "a long piece of JSON for each short list",
        "service/json_bodies.py",
        "most = HTTP_JSON_FIRST_PIECE_CHARACTERS",
        "most = HTTP_JSON_PIECE_CHARACTERS",
        (f"{JSON_BODIES}::test_no_part_of_a_body_is_read_often",),
    ),
    Mutant(
        "an element of JSON that is cut off where its window ends",
        "service/json_bodies.py",
        "return end < len(self._window) or self._window_at + end == len(self._text)",
        "return True",
        (
            f"{JSON_BODIES}::test_pieces_come_to_what_the_whole_is",
            f"{JSON_BODIES}::test_elements_are_whole_wherever_a_window_ends",
        ),
    ),
    Mutant(
        "a refused body that is as cheap as a question",
        "service/http_connections.py",
        "self._passed_bytes / HTTP_REFUSED_BYTES_PER_UNIT",
        "self._passed_bytes / HTTP_BODY_BYTES_PER_UNIT",
        (f"{SERVICE}/test_http_connections.py::test_what_is_sent_in_vain_is_charged",),
    ),
    Mutant(
        "metrics that fail for a version that is none",
        "service/metrics.py",
        "    except (TypeError, ValueError):",
        "    except ValueError:",
        (
            f"{SERVICE}/test_metrics.py::test_metrics_are_written_whatever_somebody_accepts",
            f"{SERVICE}/test_metrics.py::test_a_version_that_is_none_is_answered_as_no_version_is",
        ),
    ),
    Mutant(
        "a library that answers expectations before the guard",
        "service/http.py",
        "put_aside(server.request_factory)",
        "server.request_factory",
        (f"{SERVICE}/test_http_expecting.py::test_nobody_is_told_to_go_on_who_may_not_come_in",),
    ),
    Mutant(
        "an expectation that is quoted",
        "service/http_expecting.py",
        'text="a request may expect 100-continue and nothing else\\n"',
        "text=str(expected)",
        (f"{SERVICE}/test_http_expecting.py::test_what_is_expected_is_not_quoted",),
    ),
    Mutant(
        "a client that waits in vain to go on with its body",
        "service/http_expecting.py",
        "    if request.body_exists:\n",
        "    if False:\n",
        (f"{SERVICE}/test_http_expecting.py::test_who_waits_to_go_on_with_a_body_is_told_to",),
    ),
    Mutant(
        "old releases in the order in which they were asked for",
        "service/subscribers.py",
        "await self._turn.take(origin)",
        'await self._turn.take("")',
        (
            f"{SERVICE}/test_subscribers.py"
            "::test_old_releases_of_one_origin_are_read_behind_those_of_another_once",
        ),
    ),
    Mutant(
        "sessions that are all of one origin when they want old releases",
        "service/sessions.py",
        "releases.after(learner, version, self.origin)",
        'releases.after(learner, version, "")',
        (
            f"{SERVICE}/test_session_ends.py"
            "::test_old_releases_are_read_for_each_origin_in_its_turn",
        ),
    ),
    Mutant(
        "releases that are sent in the order of who wants them",
        "service/turns.py",
        "self._sending.add(turn, origin)",
        'self._sending.add(turn, "")',
        (
            f"{SERVICE}/test_turns.py"
            "::test_releases_of_one_origin_are_sent_in_turn_with_those_of_another",
        ),
    ),
    Mutant(
        "bodies of rows that are all of one origin",
        "service/feeding.py",
        "await self._readings.read(origin, read)",
        'await self._readings.read("", read)',
        (f"{SERVICE}/test_http_readings.py",),
    ),
    Mutant(
        "long questions that are all of one origin",
        "service/http_asking.py",
        "return await self._readings.read(origin_in(request), question)",
        'return await self._readings.read("", question)',
        (f"{SERVICE}/test_http_readings.py",),
    ),
    Mutant(
        "a turn that is lost with who leaves when it comes",
        "service/lines.py",
        "            if not mine.cancelled():",
        "            if False:",
        (f"{SERVICE}/test_lines.py::test_a_turn_is_not_lost_with_who_leaves",),
    ),
    Mutant(
        "a turn that is given to who has left",
        "service/lines.py",
        "if not waiting.done():",
        "if True:",
        (f"{SERVICE}/test_lines.py::test_a_turn_is_not_lost_with_who_leaves",),
    ),
)

BLOCKING = "../../clients/littled_client/blocking.py"
BLOCKING_TESTS = "clients/test_blocking.py"
ASYNCIO_TESTS = "clients/test_asynchronous.py"
BOTH = "clients/test_both_clients.py"
RECORDED = "daemon/cli/test_cli_recordings.py"
INTERRUPTIONS = "clients/test_interruptions.py"

CLIENT_FAULTS = (
    Mutant(
        "a refusal that is forgotten when the end of the data comes behind it",
        BLOCKING,
        "            if self._failure is not None:\n"
        "                raise again(self._failure)\n"
        "            # TLS takes",
        "            # TLS takes",
        (
            f"{BLOCKING_TESTS}"
            "::test_a_refusal_counts_that_came_before_the_end_of_a_stalled_connection",
        ),
    ),
    Mutant(
        "a link that is used on after an interruption in the middle of a call",
        BLOCKING,
        "if self._link.midway and self._broken is None:",
        "if False:",
        (f"{INTERRUPTIONS}::test_all_that_was_given_is_fed_once_wherever_a_call_is_interrupted",),
    ),
    Mutant(
        "a new link that counts as whole before its call is over",
        BLOCKING,
        "        self.midway = True\n",
        "        self.midway = False\n",
        (
            f"{INTERRUPTIONS}::test_a_feeder_that_is_interrupted_while_it_comes_back_comes_back_later",
        ),
    ),
    Mutant(
        "joined examples that have a frame and wait on, where a signal comes in between",
        "../../clients/littled_client/joining.py",
        "        frames += found\n",
        "        frames.append(frame)\n",
        (f"{INTERRUPTIONS}::test_all_that_was_given_is_fed_once_wherever_a_call_is_interrupted",),
    ),
    Mutant(
        "a half written frame that stays in a recording",
        "../../clients/littled_client/recordings.py",
        "        if self._begun:\n",
        "        if False:\n",
        (f"{INTERRUPTIONS}::test_all_that_was_given_is_fed_once_wherever_a_call_is_interrupted",),
    ),
    Mutant(
        "a recording that cannot be written and counts as a defect",
        "../../clients/littled_client/recordings.py",
        "            self._file.write(data)\n        except OSError as error:",
        "            self._file.write(data)\n        except KeyError as error:",
        (f"{RECORDED}::test_a_recording_that_cannot_be_written_is_said_to_be_one",),
    ),
    Mutant(
        "a recording that is not whole and is left there",
        "cli/recordings.py",
        "            recording.unlink()\n",
        "            pass\n",
        (f"{RECORDED}::test_a_recording_that_cannot_be_written_is_said_to_be_one",),
    ),
    Mutant(
        "a batch that waits for ever behind a limit which has become lower",
        BLOCKING,
        "elif not self._outbox.fits(piece):",
        "elif False:",
        (f"{BOTH}::test_a_batch_goes_on_where_the_daemon_comes_back_with_shorter_frames",),
    ),
    Mutant(
        "a batch of asyncio that waits for ever behind a limit which has become lower",
        "../../clients/littled_client/asynchronous.py",
        "or not self._outbox.fits(piece)",
        "",
        (f"{BOTH}::test_a_batch_goes_on_where_the_daemon_comes_back_with_shorter_frames",),
    ),
    Mutant(
        "a place of a source that comes before the end of its batch",
        "../../clients/littled_client/batches.py",
        "piece.resume if end == piece.count else None,",
        "piece.resume,",
        ("clients/test_batches.py::test_a_piece_is_cut_again_for_shorter_frames",),
    ),
    Mutant(
        "frames that an interruption keeps out of a recording",
        BLOCKING,
        "in self._outbox.since(self._recorder.next_sequence):",
        "in ():",
        (f"{INTERRUPTIONS}::test_all_that_was_given_is_fed_once_wherever_a_call_is_interrupted",),
    ),
    Mutant(
        "a link that a feeder gives up for every interrupted wait",
        BLOCKING,
        "midway, self.midway = self.midway, False",
        "midway = self.midway",
        (f"{INTERRUPTIONS}::test_an_interrupted_wait_keeps_its_connection",),
    ),
    Mutant(
        "a signal's handler that feeds in the middle of another call",
        BLOCKING,
        "            if self._busy:\n                raise",
        "            if False:\n                raise",
        (
            f"{INTERRUPTIONS}"
            "::test_the_handler_of_a_signal_cannot_call_a_feeder_that_it_has_interrupted",
        ),
    ),
    Mutant(
        "a thread that takes a repeated ring for its end",
        "../../clients/littled_client/tails.py",
        "if not bell.get(timeout=pause):",
        "if bell.get(timeout=pause) in (True, False):",
        ("clients/test_tails.py::test_a_ring_too_many_changes_nothing",),
    ),
    Mutant(
        "a thread that ends alone where an interruption has made two",
        "../../clients/littled_client/tails.py",
        "    bell.put(False)  # for",
        "    # for",
        ("clients/test_tails.py::test_a_ring_that_was_interrupted_can_be_repeated",),
    ),
    Mutant(
        "a live daemon that counts as dead where TLS takes nothing for once",
        BLOCKING,
        "            elif left <= 0:\n",
        "            else:\n",
        ("clients/test_tls.py::test_a_daemon_behind_a_narrow_line_is_fed_over_one_connection",),
    ),
    Mutant(
        "a flush that waits for what other tasks send meanwhile",
        "../../clients/littled_client/asynchronous.py",
        "partial(self._are_durable, self._outbox.next_sequence)",
        "self._is_settled",
        (f"{ASYNCIO_TESTS}::test_flush_waits_for_what_was_sent_before_it_alone",),
    ),
    Mutant(
        "a feeder that takes more examples while it is left",
        "../../clients/littled_client/asynchronous.py",
        "self._leaving = True",
        "self._leaving = False",
        (f"{ASYNCIO_TESTS}::test_a_feeder_that_is_left_takes_no_more_and_ends_what_it_has_begun",),
    ),
    Mutant(
        "a failure that remembers every call in which it was raised",
        "../../clients/littled_client/errors.py",
        "return error.with_traceback(None)",
        "return error",
        (f"{BOTH}::test_a_feeder_that_has_failed_keeps_nothing_of_later_calls",),
    ),
    Mutant(
        "a subscription that two processes read from one connection",
        BLOCKING,
        "            _subscribed.add(link)\n",
        "",
        (f"{BLOCKING_TESTS}::test_a_subscription_goes_on_in_a_forked_process_and_in_its_parent",),
    ),
    Mutant(
        "a feeder that is used again without a thread for its tail",
        BLOCKING,
        "self._tail, self._resting = Tail(self._tick, JOINED_SECONDS_MAX), True",
        "self._resting = True",
        ("clients/test_tails.py::test_a_feeder_that_is_used_again_has_a_tail_again",),
    ),
    Mutant(
        "a wait without an end that the system cannot be told",
        BLOCKING,
        "return min(seconds, _WAIT_SECONDS_MAX)",
        "return seconds",
        (f"{BOTH}::test_a_wait_may_have_no_end",),
    ),
)

ADDRESSES = (
    Mutant(
        "a start that takes the socket of a daemon that is still starting",
        "service/listeners.py",
        "                if _is_bound(path):\n",
        "                if False:\n",
        (f"{SERVICE}/test_listeners.py",),
    ),
    Mutant(
        "a host name that nothing can be asked about",
        "../../clients/littled_client/addresses.py",
        "    except UnicodeError:\n        return False\n    return bool(name)",
        "    except UnicodeError:\n        return True\n    return bool(name)",
        ("clients/test_addresses.py",),
    ),
)

HANDSHAKES = f"{SERVICE}/test_handshakes.py"

TLS_ENDS = (
    Mutant(
        "a session of TLS that goes on for a certificate that has expired",
        "service/handshakes.py",
        "if is_late and not is_in_time(",
        "if False and not is_in_time(",
        (
            f"{HANDSHAKES}"
            "::test_a_session_that_goes_on_opens_nothing_once_its_certificate_has_expired",
        ),
    ),
    Mutant(
        "a certificate of which only the end is looked at",
        "service/tls.py",
        "return begins <= now.timestamp() <= ends",
        "return now.timestamp() <= ends",
        (
            f"{HANDSHAKES}"
            "::test_a_session_that_goes_on_opens_nothing_once_its_certificate_has_expired",
        ),
    ),
    Mutant(
        "a peer with TLS that is cut, waited for and counted by nobody",
        "service/sessions.py",
        "if has_had_its_moment or self._encrypted or",
        "if has_had_its_moment or",
        (f"{ENDS}::test_who_is_cut_is_gone_though_it_says_no_goodbye",),
    ),
    Mutant(
        "a peer of HTTP that found no slot, open and counted by nobody",
        "service/http_connections.py",
        "                self._connections.leave_line(self)\n",
        "                self._connections.forget(self)\n",
        (
            f"{SERVICE}/test_http_connections.py"
            "::test_who_found_no_slot_and_says_no_goodbye_counts_and_makes_room",
        ),
    ),
    Mutant(
        "a goodbye of TLS that ends with what the peer still sends",
        "service/handshakes.py",
        "                while self._sslobj.read(TLS_READ_BYTES):\n",
        "                while False:\n",
        (f"{HANDSHAKES}::test_who_still_sends_is_told_why_it_ends",),
    ),
    Mutant(
        "a goodbye of TLS that is not read on for",
        "service/handshakes.py",
        "            self._control_ssl_reading()",
        "            ()",
        (f"{HANDSHAKES}::test_who_waits_to_be_read_is_read_on_for_its_goodbye",),
    ),
    Mutant(
        "changes of keys without an end",
        "service/handshakes.py",
        "        super()._do_read()  # type: ignore[misc]\n        self._check_records()",
        "        super()._do_read()  # type: ignore[misc]",
        (f"{HANDSHAKES}::test_records_that_hold_nothing_end_a_connection",),
    ),
    Mutant(
        "changes of keys without an end after a goodbye",
        "service/handshakes.py",
        "        super()._do_shutdown()  # type: ignore[misc]\n        self._check_records()",
        "        super()._do_shutdown()  # type: ignore[misc]",
        (f"{HANDSHAKES}::test_records_that_hold_nothing_end_a_connection",),
    ),
    Mutant(
        "changes of keys that are counted for ever",
        "service/tls_records.py",
        "TLS_EMPTY_RECORDS_MAX + reads // TLS_RECORDS_PER_EMPTY",
        "TLS_EMPTY_RECORDS_MAX",
        (f"{HANDSHAKES}::test_keys_may_change_now_and_then",),
    ),
    Mutant(
        "records of TLS that are lost count of where they come in pieces",
        "service/tls_records.py",
        "self._head + data, self._left_bytes,",
        "bytes(data), self._left_bytes,",
        (f"{SERVICE}/test_tls_records.py::test_records_are_counted_in_any_pieces",),
    ),
    Mutant(
        "hundreds of short records of TLS at once",
        "service/handshakes.py",
        "return self._ssl_buffer_view[: self._records.read_bytes]",
        "return self._ssl_buffer_view",
        (f"{HANDSHAKES}::test_few_short_records_are_read_at_once",),
    ),
    Mutant(
        "an error where a peer with TLS has just gone",
        "service/access.py",
        "        if peer is None:\n",
        "        if False:\n",
        (f"{HANDSHAKES}::test_a_peer_that_has_gone_shows_what_nobody_does",),
    ),
    Mutant(
        "an error for each peer of HTTP that hangs up before its answer begins",
        "service/http.py",
        "if isinstance(exc, ClientConnectionResetError):",
        "if False:",
        (
            f"{SERVICE}/test_http_connections.py"
            "::test_who_hangs_up_before_the_answer_begins_is_no_error_of_the_daemons",
        ),
    ),
)

SOURCE = "../../clients/littled_client/sources.py"
SOURCE_TESTS = "clients/test_sources.py"

SOURCES = (
    Mutant(
        "a file that is digested for each batch",
        SOURCE,
        "        if self._whole is None:\n",
        "        if True:\n",
        (f"{SOURCE_TESTS}::test_a_binary_file_is_digested_once_in_each_reading",),
    ),
    Mutant(
        "a digest that is kept for a file that is read again",
        SOURCE,
        "self._examples, self._whole = 0, None",
        "self._examples = 0",
        (f"{SOURCE_TESTS}::test_a_binary_file_is_digested_once_in_each_reading",),
    ),
    Mutant(
        "a recording from a pipe that is read a second time for its mark",
        SOURCE,
        "            elif not is_pipe(self.path):\n",
        "            elif self.path != STANDARD_INPUT:\n",
        (f"{SOURCE_TESTS}::test_a_pipe_is_read_once",),
    ),
    Mutant(
        "Parquet that is looked for in a pipe",
        SOURCE,
        "        if is_pipe(self.path):\n            raise",
        "        if False:\n            raise",
        (f"{SOURCE_TESTS}::test_parquet_that_comes_by_a_pipe_is_refused",),
    ),
    Mutant(
        "a pipe that is replayed, and read twice",
        "cli/recordings.py",
        "    if is_pipe(file):\n",
        "    if False:\n",
        (f"{RECORDED}::test_a_pipe_is_fed_and_not_replayed",),
    ),
    Mutant(
        "a pipe that is drafted from, and read twice",
        "cli/drafting.py",
        "    if is_pipe(file):\n",
        "    if False:\n",
        ("daemon/cli/test_cli_drafting.py::test_a_pipe_is_not_drafted_from",),
    ),
    Mutant(
        "a recording that is counted from its first example under its producer's name",
        "cli/feeding.py",
        "source.after(before, numbered=numbered)",
        "source.after(before)",
        (f"{RECORDED}::test_a_recording_goes_on_by_its_numbers_under_its_producers_name",),
    ),
    Mutant(
        "a recording that is fed where examples before it are missing",
        SOURCE,
        "        if first > before:\n",
        "        if False:\n",
        (f"{RECORDED}::test_a_recording_is_refused_where_examples_before_it_are_missing",),
    ),
    Mutant(
        "a recording that goes by its numbers although it was fed as a file",
        "cli/feeding.py",
        "(None, usual) or chosen.is_known",
        "(None, usual)",
        (f"{RECORDED}::test_a_recording_that_was_fed_under_a_name_goes_on_as_it_began",),
    ),
    Mutant(
        "what lies under a mask taken for a value",
        "../../clients/littled_client/arrays.py",
        "    if _is_masked(values):\n",
        "    if False:\n",
        ("clients/test_batches.py::test_masked_values_are_refused_and_those_without_a_mask_taken",),
    ),
    Mutant(
        "masked users that are hashed",
        "../../clients/littled_client/users.py",
        'users = as_given("users", users)',
        "pass",
        ("clients/test_users.py::test_masked_users_are_refused",),
    ),
    Mutant(
        "masked values that are asked about",
        "../../clients/littled_client/values.py",
        'values = as_given("values", values)',
        "pass",
        ("clients/test_values.py::test_what_is_no_value_is_refused_by_its_number",),
    ),
    Mutant(
        "a memory of rows that is gone through by Python",
        "../../clients/littled_client/arrays.py",
        "if isinstance(values, memoryview) and values.ndim != 1:",
        "if False:",
        ("clients/test_batches.py::test_a_memory_of_rows_is_taken_as_its_array",),
    ),
)

MUTANTS = (
    *(*NOISE, *DATA, *BUDGET, *USERS, *RESTORES, *SEGMENTS, *COLUMNS, *SURFACES, *OWNERS),
    *CLUSTER,
    *(*BURSTS, *FAIRNESS, *MEMORIES, *WINDOWS, *VALUES, *BLOCKS, *MEANINGS, *TABLES, *LEADERS),
    *(*PARTITIONS, *SHARING),
    *QUALITY,
    *FEEDING,
    *FORWARDING,
    *ELSEWHERE,
    *PLACES,
    *GROWTH,
    *MOVES,
    *STARTS,
    *ADDRESSES,
    *SCANNING,
    *TRAININGS,
    *HTTP_WORK,
    *CLIENT_FAULTS,
    *TLS_ENDS,
    *SOURCES,
)
