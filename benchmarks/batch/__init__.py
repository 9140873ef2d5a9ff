"""How many examples a window needs for a good rule, and how good rules of real windows are.

    python -m benchmarks.batch [--quick] [--runs 100] [--jobs 2] [--output build/batch]

Two measurements, each at (1, 1e-6) for one example.

- *Least windows:* the least n, on a grid of ratio 1.03, with which at least nine of ten runs come
  to an error of at most 0.05, on the worst of two or three laws of a class: the window learner as
  the planner plans it, by each of its methods. The method "dense" is the exponential mechanism.
- *Flights:* a rule from each window of the demo's stream, and its error on the 5,000 flights after
  it, beside logistic regression by DP gradient descent (the best of eight settings, known in
  hindsight) and the window's best rule without privacy.
"""
