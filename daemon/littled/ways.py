"""The words for ways of selection, in configurations and options; nothing is imported here.

`littled.planner.online.ways` has the ways themselves.
"""

from typing import Literal

Asked = Literal[
    "auto",
    "dense",
    "fresh",
    "capped",
    "memory",
    "halving",
    "majority",
    "sparse",
    "closure",
    "histogram",
    "tally",
    "closure-tally",
    "paper",
]
