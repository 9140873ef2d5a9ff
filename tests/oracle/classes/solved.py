"""Version spaces whose dimension and standard optimal rule are known."""

from abc import abstractmethod

from littled.classes.base import VersionSpace
from littled_protocol.rules import Rule


class Solved(VersionSpace):
    """What the definitions of Lyu, section 4, say of a version space."""

    @property
    @abstractmethod
    def littlestone_dimension(self) -> int:
        """Littlestone dimension, -1 when empty; exact, or an upper bound where a class says so."""

    @abstractmethod
    def standard_optimal_rule(self) -> Rule:
        """The SOA of the version space (Lyu, section 4); ClassError when it is empty."""
