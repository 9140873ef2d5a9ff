"""How far releases were delivered, and when a receiver wants the next one."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.cli.delivered import Delivered, usual_file
from littled.cli.failures import Failure
from littled.cli.receivers import RETRY_AFTER_SECONDS_MAX, retry_after


def test_what_was_delivered_is_known_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "p.json"
    with Delivered(path, "store", "url") as first:
        assert first.version("s/a") == 0
        first.keep("s/a", 3)
        first.keep("s/b", 1)
        first.keep("s/a", 4)
    with Delivered(path, "store", "url") as second:
        assert (second.version("s/a"), second.version("s/b")) == (4, 1)
        assert not second.forgotten
        second.check("s/a", 4)
        with pytest.raises(Failure, match=r"version 4 of s/a .* newest is 3"):
            second.check("s/a", 3)
    assert {each.name for each in path.parent.iterdir()} == {"p.json", "p.json.lock"}


def test_only_one_uses_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with (
        Delivered(path, "store", "url"),
        pytest.raises(Failure, match="another littled forward uses"),
        Delivered(path, "store", "url"),
    ):
        pass
    with Delivered(path, "store", "url"):
        pass


def test_another_store_begins_anew_and_another_receiver_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with Delivered(path, "store", "url") as kept:
        kept.keep("s/a", 3)
    with Delivered(path, "other", "url") as found:
        assert found.forgotten
        assert found.version("s/a") == 0
    before = path.read_bytes()
    with pytest.raises(Failure, match="counts what another URL"), Delivered(path, "store", "u"):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "no", "\xff", '{"store": "s", "receiver": "u", "delivered": []}',
     '{"store": "s", "receiver": "u", "delivered": {"a/b": 0}}',
     '{"store": "s", "receiver": "u", "delivered": {"a/b": true}}'],
)  # fmt: skip
def test_what_is_no_progress_is_never_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(Failure, match="is no progress"), Delivered(path, "s", "u"):
        pass
    assert path.read_text(encoding="latin-1") == text


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(Failure, match="cannot keep progress"),
        Delivered(tmp_path / "file" / "p.json", "s", "u"),
    ):
        pass


def test_the_usual_file_is_the_users(tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path), "HOME": "/h"}
    assert usual_file("n", state) == tmp_path / "littled" / "forwarded" / "n.json"
    home = {"XDG_STATE_HOME": "relative", "HOME": "/h"}
    assert usual_file("n", home) == Path("/h/.local/state/littled/forwarded/n.json")
    with pytest.raises(Failure, match="set XDG_STATE_HOME"):
        usual_file("n", {})


NOW = datetime(2026, 11, 24, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, 0.0),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 400, RETRY_AFTER_SECONDS_MAX),
        ("Tue, 24 Nov 2026 12:01:30 GMT", 90.0),
        ("Tue, 24 Nov 2026 11:00:00 GMT", 0.0),
        ("Tue, 24 Nov 2099 11:00:00 GMT", RETRY_AFTER_SECONDS_MAX),
        ("-5", 0.0),
        ("1.5", 0.0),
        ("soon", 0.0),
    ],
)
def test_a_pause_that_is_asked_for_is_read(said: str | None, seconds: float) -> None:
    assert retry_after({} if said is None else {"Retry-After": said}, NOW) == seconds


@pytest.mark.long
@settings(max_examples=50)
@given(st.text())
def test_nothing_that_is_asked_for_stops_it(said: str) -> None:
    assert 0 <= retry_after({"Retry-After": said}, NOW) <= RETRY_AFTER_SECONDS_MAX


def test_the_file_holds_nothing_of_the_address(tmp_path: Path) -> None:
    with Delivered(tmp_path / "p.json", "store", "digest") as kept:
        kept.keep("s/a", 1)
    assert json.loads((tmp_path / "p.json").read_text()) == {
        "store": "store",
        "receiver": "digest",
        "delivered": {"s/a": 1},
    }
