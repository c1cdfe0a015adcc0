"""The line between a server and a runner: one JSON document a line over a pair of sockets."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Any

from controllers.definitions.masking import mask, masked
from resources.canonical import Document, canonical

MAX_LINE = 8 * 1024 * 1024
CHUNK = 65536


class Broken(Exception):
    """The other side is gone, or said what is no message."""


class Garbled(Broken):
    """The other side is there, and said what is no message."""


class Stuck(Broken):
    """The other side is there, and takes nothing in."""


class Channel:
    """Blocking; whoever waits for an answer says for how long."""

    def __init__(self, end: socket.socket, *, secrets: Iterable[str] = (), patience: float = 0.0) -> None:
        """`secrets` are masked in whatever the other side says. `patience`: the seconds that it has to take some in."""
        self._socket = end
        if patience:
            seconds = struct.pack("@ll", int(patience), int(patience % 1 * 1e6))
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
        secrets = tuple(secrets)
        self._hide = mask(secrets) if secrets else None
        self._read = bytearray()

    def send(self, message: Document) -> None:
        """Raises Broken, Stuck."""
        try:
            self._socket.settimeout(None)
            self._socket.sendall(canonical(message).encode() + b"\n")
        except BlockingIOError as error:
            raise Stuck("took nothing in") from error
        except OSError as error:
            raise Broken(str(error)) from error

    def receive(self, timeout: float | None = None) -> Document | None:
        """The next message, or None when the seconds are over. Raises Broken."""
        while (end := self._read.find(b"\n")) < 0:
            if len(self._read) > MAX_LINE:
                raise Garbled(f"a message of more than {MAX_LINE} bytes")
            try:
                self._socket.settimeout(timeout)
                some = self._socket.recv(CHUNK)
            except TimeoutError:
                return None
            except OSError as error:
                raise Broken(str(error)) from error
            if not some:
                raise Broken("the other side is gone")
            self._read += some
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return _message(line, self._hide)

    @property
    def quiet(self) -> bool:
        """Nothing has come that nobody has read, and the other side is there."""
        try:
            self._socket.settimeout(0)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return not self._read
        except OSError:
            return False
        return False

    def listen(self, take: Callable[[Document], None]) -> None:
        """Hand over what comes; ends the process as soon as the other side is gone, whatever else it is at."""
        try:
            while (message := self.receive()) is not None:
                take(message)
        except Broken:
            os._exit(1)

    def close(self) -> None:
        self._socket.close()


def _message(line: bytes, hide: Callable[[str], str] | None) -> Document:
    try:
        message: Any = json.loads(line)
        if hide is not None:
            message = masked(message, hide)
    except (ValueError, RecursionError) as error:
        raise Garbled("what is not JSON") from error
    if not isinstance(message, dict):
        raise Garbled("what is no JSON object")
    return message
