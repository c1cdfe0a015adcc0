"""HTTP/1.1 as uvicorn speaks it, with what the connection itself says of its caller handed to the application."""

from __future__ import annotations

import asyncio
import pwd
import socket
import struct
from typing import NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol

CREDENTIALS = struct.Struct("3i")


class Peer(NamedTuple):
    """Who holds the other end of a unix socket, as the kernel says."""

    uid: int
    pid: int
    name: str


class PeerProtocol(H11Protocol):
    """`state["peer"]` on a unix socket; `state["certificate"]` (DER) where the client has shown a valid one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        known = {"peer": peer_of(transport), "certificate": certificate_of(transport)}
        self.app_state = {**self.app_state, **{key: value for key, value in known.items() if value is not None}}


def peer_of(transport: asyncio.BaseTransport) -> Peer | None:
    """None on anything but a unix socket."""
    end = transport.get_extra_info("socket")
    if end is None or end.family != socket.AF_UNIX:
        return None
    pid, uid, _gid = CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    return Peer(uid, pid, user_named(uid))


def user_named(uid: int) -> str:
    """The user's name, or `uid N` for one that has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def certificate_of(transport: asyncio.BaseTransport) -> bytes | None:
    tls = transport.get_extra_info("ssl_object")
    shown: bytes | None = tls.getpeercert(binary_form=True) if tls is not None else None
    return shown
