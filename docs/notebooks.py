"""Run the notebooks in docs/notebooks, and keep what they show in them.

    .venv/bin/python docs/notebooks.py [NAME ...]

The outputs are kept in the files, so that whoever only reads them, here or on the site, sees what
comes out and needs neither Jupyter nor a minute. What a daemon publishes has new noise in every
run, and seconds are those of the machine; so no test compares outputs byte by byte.
`tests/test_notebooks.py` runs each notebook as a whole and looks at what it shows.
"""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CELL_SECONDS_MAX = 60


def executed(path: Path) -> Any:
    """The notebook with what its cells show now; CellExecutionError where one of them fails.

    Commands are those of the Python that runs this.
    """
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS_MAX, kernel_name="python3", coalesce_streams=True,
        record_timing=False,
    )  # fmt: skip
    folder = Path(sys.executable).parent
    commands = f"{folder}{os.pathsep}{os.environ['PATH']}"
    client.execute(env=os.environ | {"PATH": commands, "NO_COLOR": "1"})
    notebook.metadata.language_info = {"name": "python"}  # its version would change by itself
    return notebook


def main(names: list[str]) -> None:
    """Run the notebooks that are named, or all."""
    for path in NOTEBOOKS:
        if not names or path.stem in names:
            text = nbformat.writes(executed(path), indent=1)  # type: ignore[no-untyped-call]
            path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
