"""What is sealed is opened by the same key under the same name, and by nothing else."""

import pytest

from littled.store.errors import StoreRefused
from littled.store.sealing import Seal

KEY = bytes(range(32))


def test_what_is_sealed_is_opened() -> None:
    for value in (b"", b"a", bytes(10_000)):
        sealed = Seal(KEY).close("name", value)
        assert len(sealed) == len(value) + 32
        assert Seal(KEY).open("name", sealed) == value


def test_nothing_of_it_can_be_seen_and_it_never_looks_the_same() -> None:
    seal, value = Seal(KEY), b"flights" * 9
    sealed = {seal.close("name", value) for _ in range(100)}
    assert len(sealed) == 100
    assert not any(b"flights" in each for each in sealed)


def test_everything_else_is_refused() -> None:
    sealed = Seal(KEY).close("name", b"value")
    wrong = [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in range(len(sealed))]
    wrong += [sealed[:at] for at in range(len(sealed))] + [sealed + b"\0"]
    for each in wrong:
        with pytest.raises(ValueError, match="was not sealed"):
            Seal(KEY).open("name", each)
    for key, name in ((KEY, "nam"), (KEY[::-1], "name")):
        with pytest.raises(ValueError, match="was not sealed"):
            Seal(key).open(name, sealed)


def test_without_the_key_nothing_can_be_read() -> None:
    with pytest.raises(StoreRefused, match="without the noise key"):
        Seal(None).open("name", bytes(40))
