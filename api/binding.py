"""Where agents are served: gRPC bound to a socket of its user's own, or to a port."""

from __future__ import annotations

import os
from pathlib import Path

import grpc
from grpc import aio

from api.listening import AddressRefused, listener

SOCKET_PATH_BYTES = 107


def target(address: str) -> tuple[str, bool]:
    """What gRPC binds for an address, and whether with TLS. Raises AddressRefused."""
    if not address.startswith("unix:"):
        found = listener(address)
        return found.address, found.tls
    path = address.removeprefix("unix:").removeprefix("//")
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_BYTES:
        raise AddressRefused(f"socket path is {length} bytes, limit {SOCKET_PATH_BYTES}")
    return f"unix:{path}", False


def bind(server: aio.Server, address: str, credentials: grpc.ServerCredentials | None) -> int:
    """A socket is this user's alone from the moment it exists; the data folder's lock keeps other servers off it."""
    before = os.umask(0o177)
    try:
        if credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise AddressRefused(f"{address} cannot be bound") from error
    finally:
        os.umask(before)
    if address.startswith("unix:"):
        Path(address.removeprefix("unix:")).chmod(0o600)
    return port
