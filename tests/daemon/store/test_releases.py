"""Reading the releases of a learner."""

from littled.store.history import History
from support.stores import LEARNER, release


def test_releases_are_read_from_anywhere_to_anywhere(history: History) -> None:
    releases = [release(1), release(2, charge=1, threshold=9)]
    for after in range(-1, 4):
        for last in range(-1, 4):
            found = list(history.releases.of(LEARNER, after + 1, last + 1))
            assert found == releases[after + 1 : last + 1]
    assert history.releases.learners() == ["flights/early", "flights/late"]
    assert history.releases.end(LEARNER).number == history.releases.last(LEARNER) == 2
    assert list(history.releases.of("flights/nobody")) == []
