"""Mistakes of the online learner against whoever writes the stream while it runs.

    python -m benchmarks.evasion [--quick] [--seeds 8] [--horizon 1000000] [--jobs 2]
        [--classes thresholds:256 ...] [--policies middle tree ...] [--search N]
        [--plans default adaptive dense ...] [--most 50000] [--output build/evasion]

An *evader* sees every release: the published rule, and whether a call kept it. It then writes the
examples up to the next release, and chooses the target last: it keeps a set of rules that fit all
it has shown, which is never empty, so that one rule of the class fits the whole stream. How it
plays is a *policy* (`policies.py`): on which side of the published rule the target is kept, one
mistake in how many examples, and what correct examples come between. What a policy means for each
family of classes is in `thresholds.py`, `prefixes.py`, `ids.py`, `finite.py` and `closed.py`; none
of them knows how the learner selects. Beside them run streams that are fixed beforehand
(`fixed.py`).

The learner is the engine's own, with every call admitted and noise of the run's seed, as it is
planned at (1, 1e-6). `--plans` names plans: `default`, `adaptive` (the adversary that is asked
for), a way of selection, `users` (whom it protects, each with one example), or some of these,
`adaptive/users`. A run ends at `--most` mistakes, as an evader
whom nothing stops errs to the end of the stream; its figures are then shown with ">=".

`--search N` tries N policies whose parameters are chosen at random, seeded, for each class and
plan. The one with the most mistakes is run again on other seeds, so that its figures are no lucky
draw.

Writes to the output folder:

- `evasion.md`: for each class, plan and policy the median, the 95th percentile and the most
  mistakes over the seeds, the epochs, and what the planner expects and guarantees;
- `evasion.jsonl`: the same figures, one JSON object a line;
- `runs.jsonl`: every single run;
- `evasion.png`: a figure, if matplotlib is installed (extra `plots`).
"""
