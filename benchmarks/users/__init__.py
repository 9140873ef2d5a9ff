"""What the protection of users costs beside that of examples: in mistakes, and in time.

    python -m benchmarks.users [--parts mistakes speed] [--output build/users]
        [--seeds 5] [--horizon 1000000] [--jobs 2] [--kept 1]
        [--classes thresholds:256 ...] [--each 1 10 100] [--streams uniform sorted ...]
        [--points u8 u16 ...] [--examples 3000000] [--rounds 2]

*Mistakes.* For every class, kind of stream (`benchmarks/learning/streams.py`, and if `--streams`
asks for them the orders that hurt of `benchmarks/learning/orders.py`) and seed: littled as
the daemon runs it, planned by itself, once with unit = "example" and then with unit = "user" at the
same (1, 1e-6), of whom each gives so many examples of a season (`--each`), at places that chance
chooses. `--kept` is user_examples_max. The streams are the same, except for whose examples they
are. Writes `users.md` and `users.jsonl` to the output folder.

*Speed.* How many examples a second a real daemon takes in (`ingest.py`), for every type of points;
best on a machine with nothing else to do. Writes `speed.md` and `speed.jsonl`.
"""
