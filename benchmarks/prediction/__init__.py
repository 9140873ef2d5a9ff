"""Private answers from windows of examples: errors, numbers of answers, time, and the lower bound.

    python -m benchmarks.prediction [--quick] [--jobs 2] [--parts answers errors times bound]
        [--output build/prediction]

Four measurements, all at (1, 1e-6)-differential privacy for one example:

- *errors*: excess error of every method against the price of an answer, for windows of 10,000 and
  100,000 examples of six classes, with and without wrong labels, and the flights of the demo;
- *answers*: how many answers a window gives at an excess error of 0.05;
- *times*: of the learner itself with windows of 1,000,000 examples;
- *bound*: the uniformly stable learner on the instance of Theorem 11's proof.

Writes `prediction.md`, `prediction.jsonl`, and figures if matplotlib is installed (extra `plots`).
The windows are those of `windows.py`, what is measured how is in
`errors.py`, and what each method may choose in `choices.py`.
"""
