"""Private mechanisms on integers, and the keyed stream that all their noise comes from.

Each is a value with public parameters, and its docstring says what it guarantees, for which change
of the data, and where that is proven. Noise comes in as uniform words, uint64, so that the same
words give the same outcome. Rates are exact: fractions, or floats as they are written.
"""

from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.flips import toss
from littled.mechanisms.noise import Address, KeyedNoise, NoiseSource
from littled.mechanisms.noisy_majority import NoisyMajority
from littled.mechanisms.set_sample import SetSample
from littled.mechanisms.sparse_sample import SparseSample
from littled.mechanisms.stable_histogram import StableHistogram
from littled.mechanisms.subset import BernoulliSubset
from littled.mechanisms.tallies import TallyTests
from littled.mechanisms.votes import VoteCoin

__all__ = [
    "AboveThreshold",
    "Address",
    "BernoulliSubset",
    "CohenLyuTest",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "KeyedNoise",
    "NoiseSource",
    "NoisyMajority",
    "SetSample",
    "SparseSample",
    "StableHistogram",
    "TallyTests",
    "VoteCoin",
    "toss",
]
