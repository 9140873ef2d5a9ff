"""All public memories, by the word that is stored with them: the one place that reads it."""

from collections.abc import Mapping
from typing import Any

from littled.learners.online.chain_memory import ChainMemory, ChainSettings
from littled.learners.online.length_search import LengthMemory, LengthSettings
from littled.learners.online.majority_memory import MajorityMemory, MajoritySettings
from littled.learners.online.memory import Memory, MemorySettings
from littled.learners.online.path_memory import PathMemory, PathSettings
from littled.learners.online.standing_memory import StandingMemory, StandingSettings

SETTINGS: Mapping[str, type[MemorySettings]] = {
    "chain": ChainSettings,
    "path": PathSettings,
    "lengths": LengthSettings,
    "standing": StandingSettings,
    "majority": MajoritySettings,
}
MEMORIES: Mapping[str, type[Memory]] = {
    "chain": ChainMemory,
    "path": PathMemory,
    "lengths": LengthMemory,
    "standing": StandingMemory,
    "majority": MajorityMemory,
}


def settings_from_dict(values: Any) -> MemorySettings:
    """The settings that `to_dict` wrote; ValueError, one sentence, for anything else."""
    return SETTINGS[_word(values)].from_dict(values)


def memory_from_dict(values: Any) -> Memory:
    """The memory that `to_dict` wrote; ValueError, one sentence, for anything else."""
    return MEMORIES[_word(values)].from_dict(values)


def _word(values: Any) -> str:
    word = values.get("word") if isinstance(values, dict) else None
    if word not in SETTINGS:
        raise ValueError(f"a memory has one of the words {', '.join(SETTINGS)}")
    return str(word)
