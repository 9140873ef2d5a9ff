"""Which producer a file belongs to, by what it holds and where it is."""

from pathlib import Path

import pytest

from littled.cli.failures import Failure
from littled.cli.resuming import Chosen, Resuming, check_held, producer_name
from littled_client.fed import FedFiles
from littled_client.sources import Fields, Source

ROWS = "x,y\n1,0\n2,1\n3,1\n"


class Feeders:
    """Feeds files to nobody, and keeps what was fed."""

    def __init__(self, folder: Path) -> None:
        self.files = FedFiles(folder)

    def choose(self, path: Path, producer: str | None = None) -> Chosen:
        return Resuming("store", "s", self.files).choose(str(path), producer)

    def feed(self, path: Path, producer: str | None = None) -> Chosen:
        resuming = Resuming("store", "s", self.files)
        chosen = resuming.choose(str(path), producer)
        keeper = resuming.keeper(chosen)
        source, count = Source(path, "u8", Fields("x", "y"), batch_examples=1), 0
        for batch in source:
            count += len(batch[1])
            keeper.read(source.mark(), count - len(batch[1]))
        keeper.end(count)
        return chosen


@pytest.fixture
def feeders(tmp_path: Path) -> Feeders:
    """Nothing was fed yet."""
    return Feeders(tmp_path / "fed")


def write(path: Path, text: str = ROWS) -> Path:
    path.write_text(text)
    return path


def test_a_file_is_found_again_by_its_path_and_by_its_content(
    feeders: Feeders, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv")
    name = producer_name("s", str(path))
    first = feeders.feed(path)
    assert (first.producer, first.record, first.elsewhere) == (name, None, None)
    again = feeders.choose(path)
    assert (again.producer, again.elsewhere, again.holds(3)) == (name, None, True)
    moved = feeders.choose(write(tmp_path / "b.csv", ROWS + "4,0\n"))
    assert (moved.producer, moved.elsewhere, moved.holds(3)) == (name, str(path), True)
    write(path, ROWS.replace("3,1", "3,0"))
    changed = feeders.choose(path)
    assert (changed.producer, changed.holds(3)) == (name, False)
    with pytest.raises(Failure, match=r"^it has changed in what was fed of it, 3 examples"):
        check_held(changed, 3, "it")
    check_held(changed, 0, "it")  # another store, that has none of it


def test_the_longest_content_decides(feeders: Feeders, tmp_path: Path) -> None:
    feeders.feed(write(tmp_path / "a.csv"), "short")
    feeders.feed(write(tmp_path / "b.csv", ROWS + "4,0\n5,1\n"), "long")
    assert feeders.choose(write(tmp_path / "c.csv", ROWS + "4,0\n5,1\n6,1\n")).producer == "long"
    assert feeders.choose(write(tmp_path / "d.csv", ROWS + "4,1\n")).producer == "short"


def test_a_name_that_was_given_is_the_name(feeders: Feeders, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    feeders.feed(path)
    other = feeders.choose(path, "other")
    assert (other.producer, other.record, other.holds(9)) == ("other", None, True)
    feeders.feed(path, "other")
    assert feeders.choose(write(path, "x,y\n9,9\n"), "other").holds(3) is False


def test_a_path_whose_file_has_moved_on_gets_a_new_name(feeders: Feeders, tmp_path: Path) -> None:
    path, moved = write(tmp_path / "a.csv"), tmp_path / "a.csv.1"
    feeders.feed(path)
    path.rename(moved)
    feeders.feed(moved)
    write(path, "x,y\n7,1\n")
    new = feeders.feed(path)
    assert new.producer.startswith(producer_name("s", str(path)) + "-")
    assert feeders.choose(path).producer == new.producer
    assert feeders.choose(moved).producer == producer_name("s", str(path))


def test_a_file_is_known_where_it_was_fed_first_after_a_copy_was_fed(
    feeders: Feeders, tmp_path: Path
) -> None:
    path, copy = write(tmp_path / "a.csv"), write(tmp_path / "b.csv")
    name = feeders.feed(path).producer
    assert feeders.feed(copy).elsewhere == str(path)
    assert feeders.choose(path).elsewhere is None
    for changed, other in ((path, copy), (copy, path)):
        write(changed, ROWS.replace("3,1", "3,0"))
        chosen = feeders.choose(changed)
        assert (chosen.producer, chosen.holds(3)) == (name, False)
        write(changed)
        assert feeders.feed(other).producer == name
    copy.unlink()
    feeders.feed(write(tmp_path / "c.csv"))
    new = feeders.feed(write(copy, "x,y\n7,1\n"))
    assert new.producer.startswith("b.csv-"), "the copy is gone, so this is another file"


def test_standard_input_is_looked_at_while_it_is_read(feeders: Feeders, tmp_path: Path) -> None:
    feeders.feed(write(tmp_path / "a.csv"), "p")
    chosen = feeders.choose(Path("-"), "p")
    assert chosen.holds(3), "nobody can know yet"
    assert [mark.examples for mark in chosen.expected(3)] == [3]
    assert chosen.expected(0) == []
    assert feeders.choose(Path("-")).producer.startswith("stdin-")
