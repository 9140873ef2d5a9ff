"""Where a mark is named decides what keeps it."""

from pathlib import Path

from littled.store.etcd_register import EtcdRegister
from littled.store.place import Place
from littled.store.register import FileRegister
from littled.store.registers import open_register


def test_a_path_is_a_file_and_a_url_is_etcd(tmp_path: Path) -> None:
    """Nobody is asked anything yet."""
    for named, kind in (
        (None, FileRegister),
        (tmp_path / "mark", FileRegister),
        ("etcd://127.0.0.1:1/mark", EtcdRegister),
    ):
        register = open_register(Place.of(tmp_path / "store", None, named), bytes(32))
        assert isinstance(register, kind)
        register.close()
    assert list(tmp_path.iterdir()) == []
