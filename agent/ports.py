"""Whether a job's declared ports are free at the node's address: bound for a moment, and let go."""

from __future__ import annotations

import errno
import socket

KINDS = {
    "tcp": (socket.SOCK_STREAM, 0),
    "udp": (socket.SOCK_DGRAM, 0),
    "sctp": (socket.SOCK_STREAM, socket.IPPROTO_SCTP),
}
NOT_HERE = frozenset({errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EAFNOSUPPORT})
"""A protocol that this kernel does not speak is nobody's; the job's own bind will say so."""


def taken(ports: tuple[str, ...], address: str) -> str | None:
    """The first port that cannot be bound, with the reason, or None."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in ports:
        number, _, protocol = port.partition("/")
        reason = _bind(family, protocol, address, int(number))
        if reason is not None:
            return f"{port} at {address}: {reason}"
    return None


def _bind(family: socket.AddressFamily, protocol: str, address: str, number: int) -> str | None:
    kind, proto = KINDS[protocol]
    try:
        with socket.socket(family, kind, proto) as probe:
            if protocol != "udp":  # else the rest of a closed connection reads as taken; a listener still refuses us
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, number))
    except OSError as error:
        return None if error.errno in NOT_HERE else (error.strerror or str(error))
    return None
