"""What to do next, as a command that works as it is printed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from littled.cli.storing import StoreFiles
from littled.store.place import StorePath
from littled_client.addresses import UnixAddress, default_address
from littled_client.errors import AddressError

SOCKET = "littled.sock"


def serve_command(store: StorePath, files: StoreFiles, archive: Path | None = None) -> str:
    """How to serve a store with its other files, for a shell in the present folder.

    It names a socket where there is no usual place for one.
    """
    words = ["littled", "serve", str(store)]
    others = (("--key", files.key), ("--mark", files.mark), ("--archive", archive))
    for option, path in others:
        if path is not None:
            words += [option, str(path)]
    if not has_usual_place():
        words += ["--unix", SOCKET]
    return shlex.join(words)


def has_usual_place() -> bool:
    """Whether a socket can be made where clients look when nobody tells them."""
    try:
        address = default_address()
    except AddressError:
        return False
    if not isinstance(address, UnixAddress):
        return False
    folder = Path(address.path).parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
