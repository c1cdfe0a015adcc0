"""What an agent trusts on another machine: the server's CA, known by the digest that the join token carries."""

from __future__ import annotations

import hashlib
import socket
import ssl
from pathlib import Path
from typing import Any

import grpc

from agent.errors import JoinRefused, SettingsRefused
from agent.files import replace

SERVER_NAME = "server.rmctl"
"""Stands in every server certificate, whatever the address is."""
CONNECT_SECONDS = 10.0
DER = 2
"""The number of that encoding in the ssl module of 3.11 and 3.12, which has no name for it."""


class Trust:
    """The CA's certificate, kept in the agent's folder once it has been seen and its digest was right."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self._digest = digest

    def credentials(self, host: str, port: int) -> grpc.ChannelCredentials:
        """Asks the server for its CA the first time, and blocks. Raises JoinRefused, SettingsRefused or OSError."""
        return grpc.ssl_channel_credentials(self._authority(host, port))

    def _authority(self, host: str, port: int) -> bytes:
        try:
            known = self._path.read_bytes()
        except FileNotFoundError:
            known = b""
        if known and self._digest in ("", _digest(ssl.PEM_cert_to_DER_cert(known.decode()))):
            return known
        if not self._digest:
            raise SettingsRefused(f"--server: {host} is another machine: a join token that names its CA is needed once")
        found = next((der for der in shown_by(host, port) if _digest(der) == self._digest), None)
        if found is None:
            raise JoinRefused(f"{host}:{port} is not the server that issued the join token: its CA is another one")
        pem = ssl.DER_cert_to_PEM_cert(found).encode()
        replace(self._path, pem)
        return pem


def shown_by(host: str, port: int) -> list[bytes]:
    """The certificates of a server's chain (DER), not verified: nothing is said to it. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection((host, port), CONNECT_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=SERVER_NAME) as tls,
    ):
        return _chain(tls)


def _chain(tls: Any) -> list[bytes]:
    """Public since 3.13; before, the same under a private name."""
    if hasattr(tls, "get_unverified_chain"):
        return list(tls.get_unverified_chain())
    return [one.public_bytes(DER) for one in tls._sslobj.get_unverified_chain()]  # noqa: SLF001


def _digest(der: bytes) -> str:
    return hashlib.sha256(der).hexdigest()
