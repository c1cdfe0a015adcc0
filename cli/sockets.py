"""The sockets that a server listens on, bound before anything is served on them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil

from api.listening import Listener

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - to know them, not to bind them
BACKLOG = 512


def unix_socket(path: Path) -> socket.socket:
    """Bound under a mask of its own: only its owner may connect. The lock is held, so a file there is stale."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    finally:
        os.umask(before)
    made.listen(BACKLOG)
    return made


def tcp_socket(listener: Listener) -> socket.socket:
    """Raises OSError naming the address."""
    made = socket.socket(socket.AF_INET6 if ":" in listener.host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((listener.host, listener.port))
    except OSError as error:
        made.close()
        raise OSError(f"{listener.address}: {(error.strerror or str(error)).lower()}") from error
    made.listen(BACKLOG)
    return made


def names_of_this_machine(listeners: list[Listener]) -> tuple[str, ...]:
    """Names and addresses by which clients may know these listeners."""
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname()]
    for one in listeners:
        names += _own_addresses() if one.host in ANYWHERE else [one.host]
    return tuple(dict.fromkeys(name for name in names if name.isascii() and name))


def _own_addresses() -> list[str]:
    families = (socket.AF_INET, socket.AF_INET6)
    found = [
        one.address for all_of_one in psutil.net_if_addrs().values() for one in all_of_one if one.family in families
    ]
    return [address.partition("%")[0] for address in found]
