"""What no test may lean on: the caller's environment and the network.

The environment is emptied down to a short list, so that a key in somebody's shell never turns a test
into a real call. The network ends at this machine: a look-up or a connection that leaves it raises.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path

KEPT = frozenset({"CI", "LD_LIBRARY_PATH", "PATH", "TERM", "TMPDIR", "VIRTUAL_ENV"})
KEPT_PREFIXES = ("COVERAGE_", "COV_CORE_", "HYPOTHESIS_", "PYTEST_", "PYTHON")


def clean_environment(home: Path) -> None:
    """Drop what isn't on the list; give the tests a home of their own, one zone and one locale."""
    for name in set(os.environ):
        if name not in KEPT and not name.startswith(KEPT_PREFIXES):
            del os.environ[name]
    # Some tests start many processes, and each would compile all of the product again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Nor do they speak TLS with the world: the authority to trust is one that signs nothing. To read
    # the system's takes a twentieth of a second, twice in every process that imports aiohttp.
    trusted = str(Path(__file__).with_name("nobody.pem"))
    os.environ.update(HOME=str(home), LANG="C.UTF-8", TZ="UTC", SSL_CERT_FILE=trusted)


def forbid_network() -> None:
    """Make leaving this machine an error for the rest of the process (an audit hook is for good)."""
    sys.addaudithook(_guard)


def _guard(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not _is_local(host):
        raise RuntimeError(f"a test tried to reach {host!r}: use a fake or an emulator on loopback")


def _is_local(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name is None or name in {"", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(str(name))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
