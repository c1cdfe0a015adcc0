"""The workbench: a process of somebody who works on a definition, and runs its passes before their own eyes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from controllers.definitions.channel import Broken, Channel
from controllers.definitions.context import Cancellation, Clock
from controllers.definitions.executing import reconcile, resolve, schema
from controllers.definitions.loading import Unusable, load
from resources.canonical import Document

DEADLINE_SECONDS = 86_400.0
"""Whoever stops at a breakpoint is in no hurry."""
CONNECT_SECONDS = 5.0


class Workbench:
    """The server's end, for one pass. Raises OSError, Broken where nobody listens. `pid` is of who listens.

    A definition sees the environment there that it sees in a process of the server, and `secrets` are masked as there.
    """

    deadline = DEADLINE_SECONDS

    def __init__(self, path: Path, environment: Mapping[str, str], secrets: Iterable[str]) -> None:
        end = socket.socket(socket.AF_UNIX)
        try:
            end.settimeout(CONNECT_SECONDS)
            end.connect(str(path))
        except OSError:
            end.close()
            raise
        self.pid, _, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        self.channel = Channel(end, secrets=secrets)
        self.channel.send({"do": "see", "environment": dict(environment)})

    def ended(self) -> str:
        return "the workbench was left in mid-pass"

    def whereabouts(self) -> str:
        return ""

    def end(self, *, now: bool = False) -> None:  # noqa: ARG002  there is no process to hurry
        self.channel.close()


def serve(
    end: socket.socket,
    path: Path,
    clock: Clock,
    told: Callable[[Document, Document], None],
    see: Callable[[Mapping[str, str]], None],
) -> None:
    """The author's end, for one connection: the file is read anew each time.

    `told` gets questions and answers, `see` the environment in which they are answered.
    """
    channel = Channel(end)

    def ask(message: Document) -> Document:
        channel.send({"ask": message})
        answer = channel.receive()
        assert answer is not None
        return answer

    try:
        while (message := channel.receive()) is not None:
            if message.get("do") == "see":
                see(message["environment"])
                continue
            answer = _answered(path, message, ask, clock)
            told(message, answer)
            channel.send(answer)
    except Broken:
        return
    finally:
        channel.close()


def _answered(path: Path, message: Document, ask: Any, clock: Clock) -> Document:
    try:
        definition = load(path)
    except Unusable as error:
        problem = {"path": "", "message": str(error), "hint": "", "unknown": False}
        return {"failed": str(error), "proposals": [{"errors": [problem]}]}
    if message.get("do") == "resolve":
        return resolve(definition, message["specs"])
    if message.get("do") == "schema":
        return schema(definition)
    return reconcile(definition, message, ask, clock, Cancellation())
