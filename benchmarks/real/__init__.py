"""Error on real streams of tables, beside other private methods and methods without privacy.

    python -m benchmarks.real [--quick] [--streams diamonds ...] [--methods dp-ftrl ...]
        [--epsilons 0.1 1 4] [--seeds 5] [--tuning-streams flights ...] [--again METHOD ...]
        [--jobs 2] [--json FILE] [--page docs/real-streams.md] [--output build/real]

Streams come from installed packages (extra `benchmarks`), in their order, with a configuration of
their columns and nothing else (`streams.py`). Every method predicts each example before it learns
from it; what is counted is how often it was wrong. Private methods keep (epsilon, 1e-6)-
differential privacy for the replacement of one example. A method with settings has, for each
stream and budget, the one with the least mean error on the tuning streams of other data; by default
these are all streams that do not change. The seeds of tuning are others than those that count.
Two streams change at half time, and have a table of how soon that was found. Writes to the folder
of output:

- `real.md`: the tables;
- `runs.jsonl`: every run, those of tuning included. Runs that are there already are not run again,
  so that what was broken off goes on; after a change of a method name it with `--again`;
- `over-time-EPSILON.png`: figures, if matplotlib is installed (extra `plots`).

`docs/real-streams.md` quotes the tables; `--page` writes them anew there. With `--quick` streams
have 4,000 rows, and there is one seed.
"""
