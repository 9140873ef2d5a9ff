"""Which things have changed since somebody looked: against a log of all changes."""

from hypothesis import given
from hypothesis import strategies as st

from littled.service.changes import Changes


@given(st.lists(st.sampled_from("abcd")), st.integers(0, 20))
def test_what_has_changed_is_told_once_and_in_its_last_order(names: list[str], since: int) -> None:
    changes = Changes()
    for name in names:
        changes.note(name)
    assert changes.number == len(names)
    later = names[since:]
    assert changes.since(since) == list(dict.fromkeys(reversed(later)))[::-1]
