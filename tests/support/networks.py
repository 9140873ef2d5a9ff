"""What this machine has of networks."""

import socket

import pytest


def _has_version_six() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as here:
            here.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_version_six = pytest.mark.skipif(
    not _has_version_six(), reason="this machine has no IPv6 loopback"
)
