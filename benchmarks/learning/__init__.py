"""Mistakes of the online learner and of other methods, on realizable streams at a fixed budget.

    python -m benchmarks.learning [--quick] [--seeds 12] [--horizon 1000000] [--jobs 2]
        [--kinds uniform clustered adversarial] [--streams near-misses jump ...]
        [--classes thresholds:256 ...] [--no-baselines] [--output build/learning]

For every class, kind of stream (`streams.py`) and seed: littled as the daemon runs it, without
sockets and disk (`runs.py`), and all baselines that apply (`baselines.py`) on the same examples,
at the same (1, 1e-6)-differential privacy. littled runs three times: as it is planned by itself, as
it is planned for independent examples, and as it is planned to protect users, of whom each has ten
examples (`benchmarks.users` has more). Baselines with free parameters are first tuned on streams
of their own, in two ways: once for all kinds of streams, by the worst kind's mean, as littled's
plan is one for all of them; and for each kind separately. With `--streams` littled alone also runs
on further kinds, orders that are known to hurt and targets that move (`orders.py`), which have a
table of their own. Writes to the output folder:

- `learning.md`: the tables;
- `learning.jsonl`: the same figures and the plans, one JSON object a line;
- `runs.jsonl`: every single run;
- `mistakes.png`, `over-time-CLASS.png`: figures, if matplotlib is installed (extra `plots`).

Seconds are those of the processor. With the defaults all of it takes minutes on two cores.
"""
