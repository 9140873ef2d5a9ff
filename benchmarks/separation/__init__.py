"""One-way sequences: how many examples a private learner needs, and what online learners do.

    python -m benchmarks.separation [--quick] [--runs N] [--json FILE] [--plots FOLDER]

*From a sample*: the least window of which nine of ten runs publish a rule that errs on at most a
tenth of further examples, at (1, 1e-6), replacing one example. A tenth of the examples are forged.
Indices are evenly spread, spread over all magnitudes, or within 97 steps of one another. On honest
positives all votes agree, so that what is published follows from indices and labels: the search
draws these alone, with the learner's own draws of an index and of a histogram. At the size that is
found the whole learner runs on real strings.

*In order*: mistakes of learners that follow 4,000 strings one after the other, from the first to
the last, in random order, and from the last to the first. *Halving*: the same by halving over 2^12
seeds, which is what takes 2^128 steps.
"""
