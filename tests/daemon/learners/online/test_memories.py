"""All memories by their words: what is stored of each is read again."""

from typing import Any

import pytest

from littled.learners.online.chain_memory import ChainMemory, ChainSettings
from littled.learners.online.memories import (
    MEMORIES,
    SETTINGS,
    memory_from_dict,
    settings_from_dict,
)

OF_A_CHAIN = ChainSettings(20, evidence=14, fading=0, full_length=1000, floor=28, median_after=4)
MEMORY = ChainMemory(3, (0, 2, 5), (-14, 0, -28), 0, 8)

WORDS = ("chain", "path", "lengths", "standing", "majority")


def test_every_word_stands_for_settings_and_a_memory() -> None:
    assert list(SETTINGS) == list(MEMORIES) == [*WORDS]
    for word in SETTINGS:
        assert SETTINGS[word].word == MEMORIES[word].word == word


def test_what_is_stored_is_read_again() -> None:
    assert OF_A_CHAIN.to_dict() == {
        "word": "chain", "direct_calls": 20, "evidence": 14, "fading": 0, "full_length": 1000,
        "floor": 28, "median_after": 4,
    }  # fmt: skip
    assert MEMORY.to_dict() == {
        "word": "chain", "fires": 3, "starts": [0, 2, 5], "offsets": [-14, 0, -28], "low": 0,
        "high": 8,
    }  # fmt: skip
    assert settings_from_dict(OF_A_CHAIN.to_dict()) == OF_A_CHAIN
    assert memory_from_dict(MEMORY.to_dict()) == MEMORY


@pytest.mark.parametrize("values", [None, [], "chain", {}, {"word": "odd"}, {"word": None}])
def test_a_word_that_is_unknown_is_refused(values: Any) -> None:
    for read in (settings_from_dict, memory_from_dict):
        with pytest.raises(ValueError, match=f"has one of the words {', '.join(WORDS)}"):
            read(values)


def test_settings_are_no_memory() -> None:
    with pytest.raises(ValueError, match="a memory of chain selection has"):
        memory_from_dict(OF_A_CHAIN.to_dict())
    with pytest.raises(ValueError, match="a memory of chain selection has"):
        settings_from_dict(MEMORY.to_dict())
