"""The noise key and its fingerprint."""

from pathlib import Path

import pytest

from littled.store.errors import StoreRefused
from littled.store.files import create_private
from littled.store.keys import (
    KEY_BYTES,
    check_fingerprint,
    fingerprint,
    key_text,
    new_key,
    read_key,
)

KEY = bytes(range(KEY_BYTES))


def test_keys_are_new_each_time() -> None:
    keys = {new_key() for _ in range(50)}
    assert len(keys) == 50
    assert {len(key) for key in keys} == {KEY_BYTES}


def test_a_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    create_private(tmp_path / "noise.key", key_text(KEY))
    assert (tmp_path / "noise.key").read_text() == KEY.hex() + "\n"
    assert read_key(tmp_path / "noise.key", handed_over=False) == KEY


@pytest.mark.parametrize(
    "text", [b"", b"00" * 31, b"00" * 33, b"0g" * 32, b"\xff" * 64, b"0" * 63], ids=repr
)
def test_anything_but_a_key_is_refused_without_being_shown(tmp_path: Path, text: bytes) -> None:
    create_private(tmp_path / "noise.key", text)
    with pytest.raises(StoreRefused, match="must hold 64 hexadecimal digits") as caught:
        read_key(tmp_path / "noise.key", handed_over=False)
    assert text == b"" or text.decode("latin-1") not in str(caught.value)


def test_an_endless_file_is_not_read(tmp_path: Path) -> None:
    create_private(tmp_path / "noise.key", b"0" * 100_000)
    with pytest.raises(StoreRefused, match="longer than"):
        read_key(tmp_path / "noise.key", handed_over=False)


def test_a_missing_key_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="is missing: put it back from its backup"):
        read_key(tmp_path / "noise.key", handed_over=False)


def test_a_folder_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "noise.key").mkdir(0o700)
    with pytest.raises(StoreRefused, match="cannot be read"):
        read_key(tmp_path / "noise.key", handed_over=False)


def test_only_a_key_that_was_handed_over_may_show_its_group(tmp_path: Path) -> None:
    create_private(tmp_path / "noise.key", key_text(KEY))
    (tmp_path / "noise.key").chmod(0o440)
    assert read_key(tmp_path / "noise.key", handed_over=True) == KEY
    with pytest.raises(StoreRefused, match="other users can reach"):
        read_key(tmp_path / "noise.key", handed_over=False)


def test_the_fingerprint_belongs_to_key_and_store(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    known = fingerprint(KEY, "one")
    assert known not in (fingerprint(KEY[::-1], "one"), fingerprint(KEY, "other"))
    assert KEY not in known
    check_fingerprint(KEY, "one", known, path)
    with pytest.raises(StoreRefused, match="belongs to another store"):
        check_fingerprint(KEY[::-1], "one", known, path)
