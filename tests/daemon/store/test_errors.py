"""The family of errors."""

import pytest

from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused


@pytest.mark.parametrize("kind", [StoreRefused, StoreFailed, StoreDamaged])
def test_every_error_is_one_of_the_store_and_says_its_sentence(kind: type[StoreError]) -> None:
    with pytest.raises(StoreError, match=r"^what is wrong$"):
        raise kind("what is wrong")


def test_refused_failed_and_damaged_call_for_different_actions() -> None:
    kinds = (StoreRefused, StoreFailed, StoreDamaged)
    assert not any(issubclass(one, other) for one in kinds for other in kinds if one is not other)
