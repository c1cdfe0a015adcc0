"""What a refusing server or a failing connection says, in our words."""

from __future__ import annotations

import os
import socket
from typing import Any

from cli.errors import Cause, ServerRefused
from cli.terminal import safe

CONNECT_SECONDS = 2.5


def refusal(code: int, status: dict[str, Any]) -> ServerRefused:
    """What a Status object says."""
    details = status.get("details") or {}
    causes = [
        Cause(str(cause.get("field") or ""), str(cause.get("message") or ""), cause.get("document"))
        for cause in details.get("causes") or ()
    ]
    message = str(status.get("message") or f"the server answered {code}")
    return ServerRefused(code, str(status.get("reason") or ""), message, causes, hint=str(details.get("hint") or ""))


def why_of(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_SECONDS:g} s"
    if isinstance(error, socket.gaierror):
        return "no such host"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return safe(str(error)) or type(error).__name__
