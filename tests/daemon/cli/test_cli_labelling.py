"""Examples of one label are held back until the other has come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.cli.failures import Failure
from littled.cli.labelling import both_labels
from littled_client.sources import Batch, Fields, Source


def source_of(path: Path, labels: str, batch: int) -> Source:
    path.write_text("x,y\n" + "".join(f"1,{label}\n" for label in labels))
    return Source(path, "u8", Fields("x", "y"), batch_examples=batch)


@pytest.mark.parametrize("labels", ["01", "10", "0011000", "1101"])
def test_nothing_is_lost_where_both_labels_come(tmp_path: Path, labels: str) -> None:
    source = source_of(tmp_path / "a.csv", labels, 4)
    found = [str(label) for batch in both_labels(iter(source), source) for label in batch[1]]
    assert "".join(found) == labels


@pytest.mark.parametrize(("labels", "count"), [("0000", 4), ("11", 2), ("00001", 4)])
def test_one_label_alone_is_refused(tmp_path: Path, labels: str, count: int) -> None:
    source = source_of(tmp_path / "a.csv", labels, 4)
    with pytest.raises(Failure, match=f"^the first {count} examples of .* have the same label"):
        next(both_labels(iter(source), source))


def test_no_examples_are_no_mistake(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a.csv", "", 4)
    assert list(both_labels(iter(source), source)) == []


def test_what_is_held_back_at_a_stop_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = source_of(tmp_path / "a.csv", "000", 4)

    def stopped() -> Iterator[Batch]:
        yield from source
        source.stop()

    assert list(both_labels(stopped(), source)) == []
    assert "note: 3 examples of one label were held back, not sent" in capsys.readouterr().err
