"""Hypothesis classes: everything that a learner has to know about the rules it may publish.

`registry` has a row for each; `names` makes one from a name or from a stored description.
"""
