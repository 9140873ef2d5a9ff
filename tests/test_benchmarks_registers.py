"""The benchmark of marks in a file; with etcd it is run by hand."""

from pathlib import Path

from benchmarks.registers import Writer, first_mark, measured
from littled.store.register import FileRegister


def test_one_stream_goes_on_with_each_write(tmp_path: Path) -> None:
    register = FileRegister(tmp_path / "mark")
    writer = Writer(register, first_mark(3))
    for turn in range(4):
        writer.write(turn)
    positions = [each.position for each in register.read()[0].streams.values()]
    assert positions == [4000, 2000, 3000]


def test_without_etcd_there_is_the_file_alone(tmp_path: Path) -> None:
    found = measured(tmp_path, 2, 3, None)
    assert found.keys() == {"streams", "writes", "file_ms"}
    assert found["file_ms"] > 0
