"""Addresses that a server listens on: plain on loopback, TLS everywhere else."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

SECURE = ("https://", "tls://")
PLAIN = ("http://",)


class AddressRefused(Exception):
    """An address that must not be served on, or cannot be."""


class Listener(NamedTuple):
    """`host` without brackets; port 0 is any free one."""

    host: str
    port: int
    tls: bool

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listener(text: str) -> Listener:
    """`HOST:PORT`, `https://HOST:PORT` or `tls://HOST:PORT`. Raises AddressRefused."""
    tls, rest = False, text
    for prefix in (*SECURE, *PLAIN):
        if text.startswith(prefix):
            tls, rest = prefix in SECURE, text.removeprefix(prefix)
    host, _, port = rest.rstrip("/").rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    wrong = not bare or not port.isascii() or not port.isdigit() or int(port) > 65535
    if wrong or any(c in bare for c in "/@[]% ") or (":" in bare and bare == host):
        raise AddressRefused(f'"{text}" is not HOST:PORT with a port of 1 to 65535')
    if text.startswith(PLAIN) and not is_loopback(bare):
        raise AddressRefused(f'"{text}": plain HTTP is spoken on loopback only')
    return Listener(bare, int(port), tls or not is_loopback(bare))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
