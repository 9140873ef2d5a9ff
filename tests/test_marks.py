"""Files whose tests are all marked as what is not asked for are not even imported."""

from pathlib import Path
from types import SimpleNamespace

import pytest

LONG = "import pytest\n\npytestmark = pytest.mark.long\n"
QUOTED = f'TEXT = """\n{LONG}"""\n'


@pytest.mark.parametrize(
    ("text", "asked", "left_out"),
    [
        (LONG, "not long and not campaign", True),
        (LONG, "long and not campaign", None),
        (LONG, "", None),
        (QUOTED, "not long", None),
        ("def test_one() -> None: ...\n", "not long", None),
    ],
)
def test_a_file_is_left_out_by_its_mark(
    pytestconfig: pytest.Config, tmp_path: Path, text: str, asked: str, left_out: bool | None
) -> None:
    shared = pytestconfig.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    assert shared is not None
    file = tmp_path / "test_it.py"
    file.write_text(text, encoding="utf-8")
    config = SimpleNamespace(option=SimpleNamespace(markexpr=asked))
    assert shared.pytest_ignore_collect(file, config) is left_out
    assert shared.pytest_ignore_collect(tmp_path, config) is None
