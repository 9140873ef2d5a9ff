"""Black-box audits: what runs of the daemon's own code prove about its claims.

`bounds` turns counts into a lower bound of epsilon; `trials` makes them, by learning from some runs
what to believe in others; `online` and `prediction` run learners of both kinds, on the `streams`
and windows that are worst for them; `subjects` are what `littled audit` is about, and `controls`
what it must convict.
"""
