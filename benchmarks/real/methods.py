"""All methods, in the order of the tables."""

from benchmarks.real.hindsight import BestStump, Majority
from benchmarks.real.learners import Littled
from benchmarks.real.method import Method
from benchmarks.real.peers import RiverLogistic, RiverTree, VowpalWabbit
from benchmarks.real.private import (
    AggregatedStumps,
    PeriodicStumps,
    PrivateDescent,
    PrivateLeader,
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Majority(),
        BestStump(),
        Littled("scorecard", "littled, scorecards", "scorecard"),
        Littled("stumps", "littled, stumps", "stumps"),
        Littled("stumps-told", "littled, stumps, told", "stumps", told=True),
        PrivateLeader(),
        PrivateDescent(),
        PeriodicStumps(),
        AggregatedStumps(),
        RiverLogistic(),
        RiverTree(),
        VowpalWabbit(),
    )
}
