"""Commands that stand on a page, run as a reader would run them."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """What commands of a page find: this program, and no daemon of somebody else."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LITTLED_", "XDG_RUNTIME"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PATH": path, "NO_COLOR": "1"} | more


def run_scripts(
    scripts: Sequence[tuple[str, bool]], folder: Path, seconds_max: float
) -> list[tuple[int, list[str]]]:
    """The exit status and the lines of each script, all run in one shell in this folder.

    scripts: each with whether it ends, and all after it, where one of its commands fails.
    """
    # Whatever happens, the daemon in the background ends with the shell.
    script = "exec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
    for each, is_strict in scripts:
        strict = "set -euo pipefail" if is_strict else "set +e"
        script += f'{strict}\n{each}echo "@@ $?"\n'
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=folder,
        env=environment(XDG_STATE_HOME=str(folder)),
        capture_output=True,
        text=True,
        timeout=seconds_max,
        check=False,
    )
    parts = re.split(r"^@@ (\d+)\n", done.stdout, flags=re.MULTILINE)
    return [
        (int(status), said.splitlines())
        for said, status in zip(parts[::2], [*parts[1::2], done.returncode], strict=True)
        if said or status  # nothing is said after the last block
    ]
