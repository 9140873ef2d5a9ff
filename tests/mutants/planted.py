"""Faults to plant, each of which breaks a promise of PRIVACY.md, and the tests that must notice.

A fault is one piece of text of one file of `daemon/littled` and what takes its place. `tests` are
the fewest that should notice: the whole suite has others that do.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: what it does, where `old` stands once and becomes `new`, and who must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MECHANISMS = "daemon/mechanisms"
LEARNERS = "daemon/learners"
TRANSCRIPTS = f"{LEARNERS}/test_online_transcripts.py"
ONLINE = f"{LEARNERS}/test_online.py"
GROWING = f"{LEARNERS}/test_online_growing.py"
PREDICTION = f"{LEARNERS}/prediction"
ENGINE = "daemon/test_engine.py"

NOISE = (
    Mutant(
        "half the noise of the trigger",
        "mechanisms/above_threshold.py",
        "return DiscreteLaplace(self.rate)",
        "return DiscreteLaplace(2 * self.rate)",
        (f"{MECHANISMS}/test_above_threshold.py",),
    ),
    Mutant(
        "half the noise of every table",
        "mechanisms/discrete_laplace.py",
        "return int(tail[gap - 1]) if gap <= len(tail) else 0",
        "return int(tail[2 * gap - 1]) if 2 * gap <= len(tail) else 0",
        (f"{MECHANISMS}/test_discrete_laplace.py",),
    ),
    Mutant(
        "half the noise of a selection",
        "mechanisms/exponential.py",
        "limbs = _weight_limbs(self.rate)\n        behind",
        "limbs = _weight_limbs(2 * self.rate)\n        behind",
        (f"{MECHANISMS}/test_exponential.py",),
    ),
    Mutant(
        "no noise at the steps of a trigger",
        "mechanisms/above_threshold.py",
        "fires = words < noise.survival_table[rows]",
        "fires = gaps <= 0",
        (f"{MECHANISMS}/test_above_threshold.py",),
    ),
    Mutant(
        "a tie counted on the wrong side",
        "mechanisms/above_threshold.py",
        "fires = words < noise.survival_table[rows]",
        "fires = words <= noise.survival_table[rows + 1]",
        (f"{MECHANISMS}/test_above_threshold.py",),
    ),
    Mutant(
        "threshold noise kept over epochs",
        "learners/online.py",
        "            mistakes=0,\n            threshold_noise=None,\n        )\n"
        "        if self.parameters.fresh:",
        "            mistakes=0,\n        )\n        if self.parameters.fresh:",
        (TRANSCRIPTS, ONLINE),
    ),
    Mutant(
        "no noise on the threshold",
        "learners/online.py",
        "if not isinstance(self._trigger, AboveThreshold):",
        "if isinstance(self._trigger, AboveThreshold):",
        (TRANSCRIPTS, ONLINE),
    ),
    Mutant(
        "the noise of a record is cut off with its slice",
        "learners/online.py",
        "return noise.words(address, count, place.position - place.record_position)",
        "return noise.words(address, count)",
        (ONLINE,),
    ),
    Mutant(
        "noise that does not depend on the history",
        "mechanisms/noise.py",
        'return b"".join((lengths, numbers, self.chain_head, learner, purpose))',
        'return b"".join((lengths, numbers, learner, purpose))',
        (f"{MECHANISMS}/test_noise.py",),
    ),
    Mutant(
        "a float in the sampler",
        "mechanisms/exponential.py",
        "point = (uniform * _joined(self.sums[:, -1])) >> UNIFORM_BITS",
        "point = int(uniform / 2**UNIFORM_BITS * _joined(self.sums[:, -1]))",
        (f"{MECHANISMS}/test_exponential.py", "test_tidy.py"),
    ),
    Mutant(
        "a histogram passes what is one vote short",
        "mechanisms/stable_histogram.py",
        "rows += reach\n        return np.flatnonzero",
        "rows += reach - 1\n        return np.flatnonzero",
        (f"{MECHANISMS}/test_stable_histogram.py",),
    ),
    Mutant(
        "answers are not turned over",
        "learners/prediction/learner.py",
        "label = self._stable.label(prepared.labelings, point, draw)\n"
        '        return label != draw.toss("predict/flip", self.parameters.flip)',
        "label = self._stable.label(prepared.labelings, point, draw)\n        return label",
        (f"{PREDICTION}/test_learner.py",),
    ),
    Mutant(
        "answers of a request share their noise",
        "learners/prediction/parts.py",
        "return (Draw(noise, replace(address, draw=first + j)) for j in range(count))",
        "return (Draw(noise, replace(address, draw=first)) for j in range(count))",
        (f"{PREDICTION}/test_learner.py",),
    ),
)

DATA = (
    Mutant(
        "teachers by the order of what is kept: an equal split",
        "learners/online.py",
        "    teacher = _numbers(epoch.teacher, teachers)\n    order",
        "    teacher = np.arange(len(epoch)) % teachers\n    order",
        (TRANSCRIPTS,),
    ),
    Mutant(
        "closures of an equal split",
        "learners/online.py",
        "return _numbers(np.concatenate([epoch.teacher for epoch in archive]), teachers)",
        "return np.arange(sum(map(len, archive))) % teachers",
        (TRANSCRIPTS,),
    ),
    Mutant(
        "a background that looks at the labels",
        "learners/online.py",
        "            mistake,\n            priority,\n",
        "            mistake,\n            priority >> event.y.astype(np.uint64),\n",
        (TRANSCRIPTS, ONLINE),
    ),
    Mutant(
        "lists longer than their cap",
        "learners/online.py",
        "key for each in lists for key in dict.fromkeys(each[: self.parameters.list_cap])",
        "key for each in lists for key in dict.fromkeys(each)",
        (GROWING,),
    ),
    Mutant(
        "a list that names a rule twice counts twice",
        "learners/online.py",
        "key for each in lists for key in dict.fromkeys(each[: self.parameters.list_cap])",
        "key for each in lists for key in each[: self.parameters.list_cap]",
        (GROWING,),
    ),
    Mutant(
        "a fresh learner that remembers",
        "learners/online.py",
        "        if self.parameters.fresh:\n            published = self._forgetful(published)\n",
        "",
        (TRANSCRIPTS, ONLINE),
    ),
    Mutant(
        "a season that begins with the examples of the one before",
        "learners/online.py",
        "            self._without_data(state),\n            version=state.version + 1,\n"
        "            season",
        "            state,\n            version=state.version + 1,\n            season",
        (ONLINE, ENGINE),
    ),
    Mutant(
        "twice the subset of a window",
        "learners/prediction/stable.py",
        "return BernoulliSubset(self.window, self.subset_rate)",
        "return BernoulliSubset(self.window, 2 * self.subset_rate)",
        (f"{PREDICTION}/test_learner.py",),
    ),
    Mutant(
        "a repeated batch is learned again",
        "store/staging.py",
        "if sequence != following:",
        "if sequence > following:",
        ("daemon/store/test_store.py",),
    ),
)

BUDGET = (
    Mutant(
        "the price of one draw for several",
        "budget/events.py",
        "return _draw(_user_rate(event), event.accounting) * event.draws",
        "return _draw(_user_rate(event), event.accounting)",
        ("daemon/budget/test_events.py",),
    ),
    Mutant(
        "half the price of a draw",
        "budget/events.py",
        "return _pure(2 * rate)\n    return Price(Fraction(0), round_up(rate * rate / 2)",
        "return _pure(rate)\n    return Price(Fraction(0), round_up(rate * rate / 8)",
        ("daemon/budget/test_events.py",),
    ),
    Mutant(
        "prices rounded down",
        "budget/rounding.py",
        "return Fraction(-(-value.numerator * GRID // value.denominator), GRID)",
        "return Fraction(value.numerator * GRID // value.denominator, GRID)",
        ("daemon/budget/test_rounding.py",),
    ),
    Mutant(
        "a filter that forgets delta",
        "budget/price.py",
        "            and self.rho <= other.rho\n            and self.delta <= other.delta\n",
        "            and self.rho <= other.rho\n",
        ("daemon/budget/test_price.py", "daemon/budget/test_filter.py"),
    ),
    Mutant(
        "a filter that admits and does not count",
        "budget/filter.py",
        "return PrivacyFilter(self.caps, spent)",
        "return PrivacyFilter(self.caps, self.spent)",
        ("daemon/budget/test_filter.py",),
    ),
    Mutant(
        "the score of bottom for lists of one rule",
        "planner/budgets.py",
        "candidates = list_cap * draws * self._sides(apart) / float(self.failure)",
        "candidates = draws * self._sides(apart) / float(self.failure)",
        ("daemon/planner/test_search.py",),
    ),
    Mutant(
        "a halt that is ignored",
        "engine.py",
        "            step = learner.step(state, CallRefused(request.place), self._noise)\n"
        "            self._publish(name, step, charge=None)\n            return\n"
        "        self._outlet.charge(entry)\n",
        "            entry = None\n        else:\n            self._outlet.charge(entry)\n",
        (ENGINE,),
    ),
    Mutant(
        "a call is charged after it ran",
        "engine.py",
        "        self._outlet.charge(entry)\n        step = self._executor.submit(\n"
        "            learner.step, state, CallAdmitted(request.place), self._noise\n"
        "        ).result()\n",
        "        step = self._executor.submit(\n"
        "            learner.step, state, CallAdmitted(request.place), self._noise\n"
        "        ).result()\n        self._outlet.charge(entry)\n",
        (ENGINE,),
    ),
    Mutant(
        "a new budget before there are new examples",
        "engine.py",
        "season = position // self._plan.horizon",
        "season = (position + 1) // self._plan.horizon",
        (ENGINE,),
    ),
    Mutant(
        "finite precision is not paid for",
        "learners/online.py",
        "return (*trigger, *segments, *selections, loss)",
        "return (*trigger, *segments, *selections)",
        (ONLINE, "daemon/budget/test_charges.py"),
    ),
    Mutant(
        "windows are not paid for when a season opens",
        "engine.py",
        "            entries += [self._charge(name, position, event) for event in events]\n"
        "        self._outlet.publish",
        "            _ = events\n        self._outlet.publish",
        ("daemon/test_predictions.py",),
    ),
    Mutant(
        "a window that gives more answers than were paid for",
        "predictions.py",
        "budget = standing.filter.admit(counter.one * count)",
        "budget = standing.filter",
        ("daemon/test_predictions.py",),
    ),
    Mutant(
        "a request that is repeated is answered anew",
        "predictions.py",
        "        if stored is None:\n            return self._answer_new",
        "        if True:\n            return self._answer_new",
        ("daemon/test_predictions.py",),
    ),
)

SURFACES = (
    Mutant(
        "the number of mistakes in the status",
        "engine.py",
        '        "halted": state.halted,\n',
        '        "halted": state.halted,\n        "mistakes": state.mistakes,\n',
        ("test_privacy_surfaces.py",),
    ),
    Mutant(
        "the number of mistakes in a metric",
        "service/metrics.py",
        '    "littled_stream_spent": MetricName(',
        '    "littled_mistakes": MetricName("gauge", "Mistakes.", (), "published"),\n'
        '    "littled_stream_spent": MetricName(',
        ("test_privacy_surfaces.py",),
    ),
    Mutant(
        "log lines with any key",
        "service/logs.py",
        "for key, value in event.items() if key in ALLOWED_KEYS}",
        "for key, value in event.items()}",
        ("daemon/service/test_logs.py",),
    ),
    Mutant(
        "a store that does not look at its mark",
        "store/store.py",
        "findings = self._history.behind(mark)",
        "findings: list[str] = []",
        ("daemon/store/test_store.py",),
    ),
    Mutant(
        "a release is shown before it is durable",
        "service/host.py",
        "        self._writer.call(lambda: self._store.publish(releases, entries))\n"
        "        self.published = True\n        self._show.releases(releases)\n",
        "        self._show.releases(releases)\n"
        "        self._writer.call(lambda: self._store.publish(releases, entries))\n"
        "        self.published = True\n",
        ("daemon/service/test_host.py",),
    ),
)

MUTANTS = (*NOISE, *DATA, *BUDGET, *SURFACES)
