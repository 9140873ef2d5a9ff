"""Values of windows: how many examples a robust minimum and a most frequent item need.

    python -m benchmarks.values [--quick] [--runs N]

*Minimum*: the least window of which nine of ten runs name an alpha-robust minimum (Bun, Definition
12), alpha 0.05, of the times of reports: evenly spread over all numbers, over all their magnitudes,
or within a hundred steps of one another. *Most frequent*: the least lead of one item over 1,000
reports of others, spread like 1/rank over 5,000 items, with which nine of ten runs name it. All at
(1, 1e-6), replacing one example.

Peers: OpenDP's private quantile, which needs a list of candidates (here 2^12 even ones), OpenDP's
noisy top-k, which needs a list of items (here the 5,000 themselves, which are public then), and a
stable histogram whose largest noisy count is reported if it passes (Balcer and Vadhan).
"""
